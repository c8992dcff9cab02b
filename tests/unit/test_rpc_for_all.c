/* test_rpc_for_all.c - a file that one client opens for all of them. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "raw_peer.h"
#include "zc_clock_sim.h"
#include "zc_coord.h"

static struct rig rig;
static struct zc_net *net;
static struct zc_client *opener, *user;

static void up_with(enum zc_server_exports exports)
{
    rig_exports = exports;
    rig_up(&rig, NULL, NULL);
    net = rig_net(60000);
    opener = rig_connect(&rig, net);
    user = rig_connect(&rig, net);
}

static void up(void)
{
    up_with(ZC_EXPORTS_OF_OPENER);
}

static void down(void)
{
    if (opener)
        zc_client_disconnect(opener);
    zc_client_disconnect(user);
    zc_net_destroy(net);
    rig_down(&rig);
}

static uint64_t open_exported(struct zc_client *c)
{
    struct zc_attr attr = {.block_size = 8192};
    uint64_t h = 0;

    ck_assert_int_eq(
        zc_client_open(c, "/f", ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE | ZC_OPEN_EXPORTED,
                       0644, &h, &attr),
        0);
    ck_assert_uint_ne(h, 0);
    return h;
}

static void has(struct zc_client *c, uint64_t h, const char *want)
{
    char is[8] = "";

    ck_assert_int_eq(zc_client_read(c, h, is, strlen(want), 0), (ssize_t)strlen(want));
    ck_assert_str_eq(is, want);
}

/* ---- */

START_TEST(daemons_refuse_it)
{
    struct zc_attr attr = {.block_size = 8192};
    uint64_t h;

    rig_exports = ZC_EXPORTS_NONE;
    rig_up(&rig, NULL, NULL);
    net = rig_net(60000);
    user = rig_connect(&rig, net);
    opener = NULL;
    ck_assert_int_eq(
        zc_client_open(user, "/f", ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE | ZC_OPEN_EXPORTED,
                       0644, &h, &attr),
        -EINVAL);
    down();
}
END_TEST

START_TEST(all_use_it)
{
    uint64_t h, other, was;

    up();
    h = open_exported(opener);
    other = open_exported(opener);
    ck_assert_uint_ne(h, other);
    ck_assert_int_eq(zc_client_write(user, h, "bytes", 5, 0), 5);
    has(opener, h, "bytes");
    has(user, other, "bytes");
    /* each open has a pointer of its own */
    ck_assert_int_eq(zc_client_pointer(user, h, ZC_POINTER_ADD, 0, 7, &was), 0);
    ck_assert_int_eq(zc_client_pointer(opener, h, ZC_POINTER_ADD, 0, 1, &was), 0);
    ck_assert_uint_eq(was, 7);
    ck_assert_int_eq(zc_client_pointer(user, other, ZC_POINTER_ADD, 0, 1, &was), 0);
    ck_assert_uint_eq(was, 0);
    /* only its opener may close it */
    ck_assert_int_eq(zc_client_close(user, h, ZC_LEVEL_VISIBLE), -EBADF);
    has(user, h, "bytes");
    ck_assert_int_eq(zc_client_close(opener, h, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_client_close(opener, h, ZC_LEVEL_VISIBLE), -EBADF);
    ck_assert_int_eq(zc_client_write(user, h, "x", 1, 0), -EBADF);
    has(user, other, "bytes");
    ck_assert_uint_eq(rig_stat(user, "handles"), 1);
    ck_assert_int_eq(zc_client_close(opener, other, ZC_LEVEL_VISIBLE), 0);
    ck_assert_uint_eq(rig_stat(user, "handles"), 0);
    down();
}
END_TEST

static void *wait_for_lock(void *arg)
{
    uint64_t number;

    return (void *)(intptr_t)zc_client_lock(user, *(uint64_t *)arg, true, 0, 10, &number);
}

/* A client that was told of a failure by a sync is not told again by the close. */
START_TEST(a_close_does_not_repeat)
{
    uint64_t h;

    up();
    h = open_exported(opener);
    ck_assert_int_eq(zc_client_write(opener, h, "bytes", 5, 0), 5);
    zc_store_fault_set(rig.store, ZC_FAULT_WRITE, 1, UINT32_MAX, ENOSPC);
    ck_assert_int_eq(zc_client_flush(opener, h, ZC_LEVEL_STORED), -ENOSPC);
    zc_store_fault_set(rig.store, 0, 0, 0, 0);
    ck_assert_int_eq(zc_client_flush(opener, h, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_client_close(opener, h, ZC_LEVEL_STORED), 0);
    down();
}
END_TEST

/* The opener goes: what it had opened is closed, although others hold locks and wait for some. */
START_TEST(opener_goes)
{
    uint64_t h, mine, number;
    pthread_t waiter[2];
    void *rc;

    up();
    h = open_exported(opener);
    mine = open_exported(user);
    ck_assert_int_eq(zc_client_write(user, h, "bytes", 5, 0), 5);
    ck_assert_int_eq(zc_client_lock(user, h, true, 0, 10, &number), 0);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&waiter[i], NULL, wait_for_lock, &h), 0);
    WAIT_FOR(rig_stat(user, "requests_active") == 3); /* includes that of rig_stat() itself */
    zc_client_disconnect(opener);
    opener = NULL;
    for (int i = 0; i < 2; i++) {
        pthread_join(waiter[i], &rc);
        ck_assert_ptr_null(rc);
    }
    WAIT_FOR(rig_stat(user, "handles") == 1);
    ck_assert_int_eq(zc_client_write(user, h, "x", 1, 0), -EBADF);
    has(user, mine, "bytes");
    ck_assert_int_eq(zc_client_close(user, mine, ZC_LEVEL_STORED), 0);
    ck_assert_uint_eq(rig_stat(user, "handles"), 0);
    down();
}
END_TEST

/* With ZC_EXPORTS_STAY others go on with it, and it ends with the last session. */
START_TEST(opener_goes_and_others_stay)
{
    struct zc_client *last;
    uint64_t h;

    up_with(ZC_EXPORTS_STAY);
    h = open_exported(opener);
    zc_client_disconnect(opener);
    opener = NULL;
    WAIT_FOR(rig_stat(user, "sessions") == 1);
    ck_assert_int_eq(zc_client_write(user, h, "bytes", 5, 0), 5);
    has(user, h, "bytes");
    ck_assert_uint_eq(rig_stat(user, "handles"), 1);
    zc_client_disconnect(user);
    WAIT_FOR((last = rig_connect(&rig, net),
              rig_stat(last, "handles") == 0 || (zc_client_disconnect(last), false)));
    user = last;
    h = open_exported(user);
    has(user, h, "bytes");
    down();
}
END_TEST

/* Its number becomes free, and old numbers are not mistaken for the new file's. */
START_TEST(numbers_are_not_used_again)
{
    uint64_t before = 0;

    up();
    for (int i = 0; i < 5; i++) {
        uint64_t h = open_exported(opener);

        ck_assert_uint_ne(h, before);
        if (before)
            ck_assert_int_eq(zc_client_write(user, before, "x", 1, 0), -EBADF);
        ck_assert_int_eq(zc_client_close(opener, h, ZC_LEVEL_VISIBLE), 0);
        before = h;
    }
    down();
}
END_TEST

/* ---- a client that is killed ---- */

static struct zc_msg asks_to_open(uint64_t session)
{
    return (struct zc_msg){.type = ZC_T_OPEN,
                           .version = ZC_PROTOCOL,
                           .session = session,
                           .open_flags =
                               ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE | ZC_OPEN_EXPORTED,
                           .mode = 0644,
                           .block_size = 8192,
                           .path = {"/f", 2}};
}

/* It is gone when its open completes: the server has to close that. */
START_TEST(opener_is_gone_before)
{
    struct zc_msg m;
    struct raw raw;

    up();
    raw_up(&raw, &rig);
    m = asks_to_open(raw_hello(&raw, 500, ZC_PROTOCOL));
    zc_store_fault_hold(rig.store, ZC_FAULT_OPEN);
    raw_send(&raw, &m);
    WAIT_FOR(zc_store_fault_held(rig.store) == 1);
    WAIT_FOR(rig_stat(user, "sessions_lost") == 1);
    zc_store_fault_release(rig.store);
    WAIT_FOR(rig_stat(user, "requests_active") == 1); /* includes that of rig_stat() itself */
    WAIT_FOR(rig_stat(user, "handles") == 0);
    zc_tp_close(raw.tp);
    down();
}
END_TEST

/* Other clients leave at the same time, while the pool is busy: it is closed once. */
START_TEST(all_go_at_once)
{
    enum { POOL = 4, CLIENTS = 3 };
    static const char *const paths[POOL] = {"/0", "/1", "/2", "/3"};
    struct raw raw[CLIENTS];
    struct zc_msg m, other;

    up();
    for (int i = 0; i < CLIENTS; i++) {
        raw_up(&raw[i], &rig);
        raw[i].id = 5000 + (uint64_t)i;
        m = asks_to_open(raw_hello(&raw[i], 1000, ZC_PROTOCOL));
        raw_call(&raw[i], &m);
        ck_assert_int_eq(raw[i].last.status, 0);
    }
    zc_store_fault_hold(rig.store, ZC_FAULT_OPEN);
    other = asks_to_open(m.session);
    for (int i = 0; i < POOL; i++) { /* a path each: not all of one path are admitted */
        other.path.p = paths[i];
        raw_send(&raw[CLIENTS - 1], &other);
    }
    WAIT_FOR(zc_store_fault_held(rig.store) == POOL);
    WAIT_FOR(rig_stat(user, "sessions_lost") == CLIENTS);
    zc_store_fault_release(rig.store);
    WAIT_FOR(rig_stat(user, "handles") == 0);
    for (int i = 0; i < CLIENTS; i++)
        zc_tp_close(raw[i].tp);
    down();
}
END_TEST

/* Clients leave while a file opened for all is closed: releasing their locks and closing access the
 * same shared state. */
START_TEST(others_go_as_it_is_closed)
{
    enum { ROUNDS = 1000 };
    uint64_t h, number;

    up();
    for (unsigned i = 0; i < cases(ROUNDS); i++) {
        struct raw raw;
        struct zc_msg bye = {.type = ZC_T_BYE};
        struct zc_later close;

        h = open_exported(opener);
        raw_up(&raw, &rig);
        raw.id = 6000 + i;
        bye.session = raw_hello(&raw, 60000, ZC_PROTOCOL);
        ck_assert_int_eq(zc_client_lock(user, h, true, 0, 10, &number), 0);
        zc_client_close_start(opener, h, ZC_LEVEL_VISIBLE, &close);
        raw_send(&raw, &bye);
        ck_assert_int_eq(zc_client_wait(opener, &close), 0);
        WAIT_FOR(rig_stat(user, "sessions") == 2);
        zc_tp_close(raw.tp);
    }
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("files for all");

    CASE(s, "open", 60, daemons_refuse_it, all_use_it, a_close_does_not_repeat,
         numbers_are_not_used_again);
    CASE(s, "ends", 60, opener_goes, opener_goes_and_others_stay, opener_is_gone_before,
         all_go_at_once, others_go_as_it_is_closed);
    zc_clock = zc_clock_sim();
    return run_suite(s);
}
