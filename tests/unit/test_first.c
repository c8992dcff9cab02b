/* test_first.c - a daemon dies during a client's first connect: the client goes on to a successor
 * announced in the same address file; without one, error and time-out are as before.
 *
 * Daemons are rigs, as in test_heal.c.  The moment of death is when the endpoint is opened: the
 * address file has been read, and nothing was sent.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "rig.h"
#include "zc_clock_sim.h"
#include "zc_connect.h"
#include "zc_store_remote.h"
#include "zc_tp_fault.h"

enum { DAEMONS = 4, LONG_MS = 20000, SHORT_MS = 1000 };

static struct rig rigs[DAEMONS];
static struct zc_tp *endpoints[DAEMONS];
static unsigned started;              /* rigs, the last of which is announced ... */
static const char *provider = "loop"; /* ... with this provider */
static char opened_with[64];          /* what the last endpoint of the job was opened with */
static struct zc_store *shared, *store;
static char path[80];
static void (*moment)(void); /* called at that moment, once */
static bool refuses;         /* sends of the next endpoint fail */
static uint64_t took;        /* ns, to connect */

static void announce(long pid)
{
    rig_announce(&rigs[started - 1], path, provider, pid);
}

static void start_as(long pid)
{
    rig_boot_id += 1000;
    rig_secret.bytes[31]++; /* a new one each time, as with real daemons */
    rig_transport = zc_tp_fault_open;
    rig_up(&rigs[started], NULL, borrow(shared));
    endpoints[started++] = zc_tp_fault_last();
    announce(pid);
}

static void start(void)
{
    start_as(getpid());
}

static void up(void)
{
    strcpy(path, "/tmp/zc-first-XXXXXX");
    close(mkstemp(path));
    ck_assert_int_eq(zc_store_mem_create(&shared), 0);
    started = 0;
    store = NULL;
    start();
}

static void down(void)
{
    if (store)
        zc_store_destroy(store);
    for (unsigned i = 0; i < started; i++)
        rig_down(&rigs[i]);
    zc_store_destroy(shared);
    unlink(path);
}

static int open_and(const struct zc_tp_config *cfg, struct zc_tp **out)
{
    void (*now)(void) = moment;
    int rc;

    moment = NULL;
    refuses = false;
    if (now)
        now();
    snprintf(opened_with, sizeof opened_with, "%s", cfg->provider);
    rc = zc_tp_fault_open(cfg, out);
    if (rc == 0 && refuses)
        zc_tp_fault_set(*out, ZC_TP_FAULT_SEND, ZC_TP_FAULT_BREAK, 1, UINT64_MAX);
    return rc;
}

static int connect_when(void (*what)(void), uint64_t timeout_ms)
{
    struct zc_net_config cfg = {
        .open_transport = open_and, .timeout_ms = timeout_ms, .name = "job"};
    uint64_t began = zc_now();
    int rc;

    moment = what;
    rc = zc_store_remote_create(path, &cfg, &store);
    took = zc_now() - began;
    ck_assert_ptr_null(moment);
    return rc;
}

/* The client reaches the daemon started last. */
static void goes_to_the_next(int rc)
{
    struct zc_net *net = rig_net(LONG_MS);
    struct zc_client *c = rig_connect(&rigs[started - 1], net);

    ck_assert_msg(rc == 0, "connect: %s", rc ? zc_error_text(rc) : "");
    ck_assert_int_eq(zc_store_ping(store), 0);
    ck_assert_uint_eq(rig_stat(c, "sessions"), 2); /* including this one */
    zc_client_disconnect(c);
    zc_net_destroy(net);
}

static void silent(void)
{
    zc_tp_fault_kill(endpoints[started - 1]);
}

/* The connecting client gets an error at once. */
static void refusing(void)
{
    refuses = true;
}

static void silent_and_replaced(void)
{
    silent();
    start();
}

static void refusing_and_replaced(void)
{
    refusing();
    start();
}

static void replaced_over_another_provider(void)
{
    silent();
    provider = "another";
    start();
}

static void silent_twice(void)
{
    silent();
    start();
    moment = silent_and_replaced;
}

/* The successor has ended meanwhile, too. */
static void replaced_in_vain(void)
{
    silent();
    start_as(1 << 30);
}

static void announced_again(void)
{
    silent();
    announce(getpid());
}

START_TEST(silent_and_started_again)
{
    up();
    goes_to_the_next(connect_when(silent_and_replaced, LONG_MS));
    ck_assert_uint_lt(took, LONG_MS / 2 * ZC_NS_PER_MS);
    down();
}
END_TEST

START_TEST(refusing_and_started_again)
{
    up();
    goes_to_the_next(connect_when(refusing_and_replaced, LONG_MS));
    down();
}
END_TEST

START_TEST(twice)
{
    up();
    goes_to_the_next(connect_when(silent_twice, LONG_MS));
    ck_assert_uint_eq(started, 3);
    down();
}
END_TEST

/* The successor may use another provider than the job's first daemon. */
START_TEST(started_again_over_another_provider)
{
    up();
    goes_to_the_next(connect_when(replaced_over_another_provider, LONG_MS));
    ck_assert_str_eq(opened_with, "another");
    ck_assert_uint_lt(took, LONG_MS / 2 * ZC_NS_PER_MS);
    down();
}
END_TEST

static void fails_as_ever(void (*what)(void))
{
    up();
    ck_assert_int_eq(connect_when(what, SHORT_MS), -ETIMEDOUT);
    ck_assert_msg(strstr(zc_error_text(-ETIMEDOUT), "no sign of life for 1.0 s"), "%s",
                  zc_error_text(-ETIMEDOUT));
    ck_assert_uint_ge(took, SHORT_MS * ZC_NS_PER_MS);
    down();
}

START_TEST(without_a_successor)
{
    fails_as_ever(silent);
}
END_TEST

START_TEST(a_late_successor)
{
    up();
    ck_assert_int_eq(connect_when(refusing, LONG_MS), -EIO);
    ck_assert_uint_lt(took, LONG_MS / 2 * ZC_NS_PER_MS);
    down();
}
END_TEST

/* A daemon known not to run is not waited for; the next open finds its successor. */
START_TEST(a_daemon_that_is_not_running)
{
    up();
    announce(1 << 30);
    ck_assert_int_eq(connect_when(NULL, LONG_MS), -ECONNREFUSED);
    ck_assert_msg(strstr(zc_error_text(-ECONNREFUSED), "is not running; start it again"), "%s",
                  zc_error_text(-ECONNREFUSED));
    ck_assert_uint_lt(took, LONG_MS / 2 * ZC_NS_PER_MS);
    start();
    goes_to_the_next(connect_when(NULL, LONG_MS));
    down();
}
END_TEST

START_TEST(the_successor_is_gone)
{
    fails_as_ever(replaced_in_vain);
}
END_TEST

START_TEST(the_same_is_announced_again)
{
    fails_as_ever(announced_again);
}
END_TEST

/* ---- one connection ---- */

static struct zc_net *tried[2]; /* endpoints that were announced to trying() */
static unsigned tries;

static void trying(void *arg, struct zc_net *net)
{
    ck_assert_ptr_eq(arg, tried);
    tried[tries++ % 2] = net;
}

static void expect_another(const struct zc_connect *to)
{
    struct zc_client *c;

    ck_assert_int_eq(zc_connect(to, &c), -ESTALE);
    ck_assert_ptr_null(c);
    ck_assert_msg(strstr(zc_error_text(ESTALE), "another daemon answers at the address in /tmp/"),
                  "%s", zc_error_text(ESTALE));
}

static void expect_the_daemon(const struct zc_connect *to)
{
    struct zc_client *c;

    ck_assert_int_eq(zc_connect(to, &c), 0);
    ck_assert_int_eq(zc_client_ping(c), 0);
    ck_assert_ptr_nonnull(strstr(zc_client_label(c), "zcached on "));
    zc_client_disconnect(c);
}

/* A daemon is known by its secret and its boot id; its client has an endpoint of its own, or leaves
 * one that is shared to others. */
START_TEST(the_daemon_of_an_address_file)
{
    struct zc_net *net = rig_net(LONG_MS);
    struct zc_connect to = {
        .own = {.open_transport = open_and, .timeout_ms = LONG_MS}, .trying = trying, .arg = tried};
    struct zc_addrfile a;

    up();
    ck_assert_int_eq(zc_addrfile_read(path, &a), 0);
    zc_connect_daemon(&to, path, &a, false);
    expect_the_daemon(&to);
    ck_assert_uint_eq(tries, 2);
    ck_assert_ptr_nonnull(tried[0]);
    ck_assert_ptr_null(tried[1]);
    a.boot_id++;
    expect_another(&to);
    to.net = net;
    expect_another(&to);
    a.boot_id--;
    expect_the_daemon(&to);
    a.secret.bytes[0] ^= 1;
    expect_another(&to);
    to.net = NULL;
    expect_another(&to);
    ck_assert_uint_eq(tries, 12);
    zc_net_destroy(net);
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("first");

    zc_log_init(NULL);
    zc_clock = zc_clock_sim();
    CASE(s, "a successor", 60, silent_and_started_again, refusing_and_started_again, twice,
         started_again_over_another_provider);
    CASE(s, "none", 60, without_a_successor, a_late_successor, the_successor_is_gone,
         the_same_is_announced_again, a_daemon_that_is_not_running);
    CASE(s, "a connection", 60, the_daemon_of_an_address_file);
    return run_suite(s);
}
