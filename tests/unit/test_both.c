/* test_both.c - an endpoint that is reached over libfabric and locally at the same time. */
#include "config.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "rig.h"
#include "zc_clock_sim.h"
#include "zc_fabric.h"
#include "zc_tp_both.h"
#include "zc_tp_ofi.h"
#include "zc_tp_start.h"

/* What libfabric leaves, and the C library's allocation for a thread that is ending. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfabric.so\nleak:_dlerror_run\n";
}

enum { LEN = 200000, ROUNDS = 20 };

/* An endpoint without traffic must sleep, whatever standard input is. */
START_TEST(an_idle_endpoint_sleeps)
{
    struct zc_tp_config cfg = {.max_msg = 1000, .nrecv = 4};
    struct zc_tp *tp;
    uint64_t began;
    int null = open("/dev/null", O_RDONLY);

    ck_assert_int_eq(dup2(null, 0), 0);
    ck_assert_int_eq((_i ? zc_tp_both_open : zc_tp_ofi_open)(&cfg, &tp), 0);
    began = zc_now();
    ck_assert_int_eq(zc_tp_progress(tp, 300), 0);
    ck_assert_uint_ge(zc_now() - began, 250 * ZC_NS_PER_MS);
    zc_tp_close(tp);
}
END_TEST

static unsigned naps; /* how often the endpoint has slept */

static int count_nap(struct pollfd *fds, unsigned n, uint64_t ns)
{
    naps++;
    return zc_clock_sim()->poll(fds, n, ns);
}

/* An endpoint without traffic for seconds is polled less often: idleness costs little. */
START_TEST(a_quiet_endpoint_is_looked_at_seldom)
{
    struct zc_tp_config cfg = {.max_msg = 1000, .nrecv = 4};
    static struct zc_clock counting;
    struct zc_tp *tp;

    counting = *zc_clock_sim();
    counting.poll = count_nap;
    zc_clock = &counting;
    ck_assert_int_eq((_i ? zc_tp_both_open : zc_tp_ofi_open)(&cfg, &tp), 0);
    ck_assert_int_eq(zc_tp_progress(tp, 2500), 0);
    ck_assert_uint_gt(naps, 100); /* peers may have waited for it */
    naps = 0;
    ck_assert_int_eq(zc_tp_progress(tp, 1000), 0);
    ck_assert_uint_lt(naps, 40);
    zc_tp_close(tp);
}
END_TEST

struct user {
    struct zc_client *client;
    uint64_t handle;
    unsigned number;
};

static void *use(void *arg)
{
    struct user *u = arg;
    unsigned char *out = malloc(LEN), *in = malloc(LEN);

    for (unsigned i = 0; i < ROUNDS; i++) {
        fill(out, LEN, 0, u->number * 100 + i);
        ck_assert_int_eq(zc_client_write(u->client, u->handle, out, LEN, i * 31), LEN);
        memset(in, 0, LEN);
        ck_assert_int_eq(zc_client_read(u->client, u->handle, in, LEN, i * 31), LEN);
        ck_assert(!memcmp(in, out, LEN));
    }
    free(out);
    free(in);
    return NULL;
}

static void connect_user(struct user *u, struct zc_net **net, const void *addr, size_t len)
{
    struct zc_net_config cfg = {
        .toward = addr, .toward_len = len, .timeout_ms = 60000, .name = "test"};
    struct zc_attr attr = {.block_size = 8192};
    char path[16];

    snprintf(path, sizeof path, "/%u", u->number);
    ck_assert_int_eq(zc_net_create(&cfg, net), 0);
    ck_assert_int_eq(zc_client_connect(*net, addr, len, &rig_secret, "the server", &u->client), 0);
    ck_assert_int_eq(zc_client_open(u->client, path, ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE,
                                    0644, &u->handle, &attr),
                     0);
}

static int open_early(const struct zc_tp_config *cfg, struct zc_tp **out)
{
    struct zc_tp_config c = *cfg;

    c.early = true;
    c.listen = "127.0.0.1";
    return zc_tp_both_open(&c, out);
}

/* The second round is before libfabric has started, or soon after. */
START_TEST(both_kinds_of_clients_are_served)
{
    unsigned char local[ZC_MAX_ADDRESS];
    size_t len = sizeof local;
    struct user users[2] = {{.number = 1}, {.number = 2}};
    struct zc_net *nets[2];
    pthread_t threads[2];
    struct rig rig;

    rig_transport = _i ? open_early : zc_tp_both_open;
    rig_up(&rig, NULL, NULL);
    ck_assert_int_eq(zc_server_local_address(rig.server, local, &len), 0);
    ck_assert_uint_gt(len, 0);
    connect_user(&users[0], &nets[0], rig.addr, rig.addr_len);
    connect_user(&users[1], &nets[1], local, len);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, use, &users[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(zc_client_close(users[i].client, users[i].handle, ZC_LEVEL_STORED), 0);
        zc_client_disconnect(users[i].client);
        zc_net_destroy(nets[i]);
    }
    rig_down(&rig);
}
END_TEST

/* A wake-up between the driver's last check and its wait is not lost, even if it is the first wait
 * with libfabric. */
START_TEST(a_wake_is_heard_as_libfabric_takes_over)
{
    struct zc_tp_config cfg = {.max_msg = 1000, .nrecv = 4};
    struct zc_tp *tp;
    uint64_t began;

    ck_assert_int_eq(open_early(&cfg, &tp), 0);
    while (_i && zc_tp_start_under_way())
        usleep(1000);
    zc_tp_wake(tp);
    began = zc_now();
    zc_tp_progress(tp, 20000);
    ck_assert_uint_lt(zc_now() - began, (uint64_t)stretched(10000) * ZC_NS_PER_MS);
    zc_tp_close(tp);
    while (zc_tp_start_under_way())
        usleep(1000);
}
END_TEST

/* Memory registered early is known to libfabric once that starts, and can be released before. */
START_TEST(an_early_one_may_go_before_libfabric_is_there)
{
    static unsigned char memory[4][LEN];
    unsigned char before[64], after[64];

    for (int round = 0; round < 20; round++) {
        struct zc_tp_config cfg = {.max_msg = 1000, .nrecv = 4};
        size_t len = sizeof before, len_after = sizeof after;
        struct zc_mr mrs[4];
        struct zc_tp *tp;

        ck_assert_int_eq(open_early(&cfg, &tp), 0);
        ck_assert_int_eq(zc_tp_address(tp, before, &len), 0);
        for (int i = 0; i < 4; i++) {
            ck_assert_int_eq(zc_tp_reg(tp, memory[i], LEN, &mrs[i]), 0);
            if (round % 4 > 1)
                zc_tp_progress(tp, i * round);
        }
        ck_assert_int_eq(zc_tp_address(tp, after, &len_after), 0);
        ck_assert_uint_eq(len, len_after);
        ck_assert(!memcmp(before, after, len));
        for (int i = 0; i < 4; i++) {
            zc_tp_dereg(tp, &mrs[i]);
            if (round % 2)
                zc_tp_progress(tp, i * round);
        }
        zc_tp_close(tp);
    }
    while (zc_tp_start_under_way())
        usleep(1000);
}
END_TEST

int main(void)
{
    const struct zc_fabric *lib;
    Suite *s = suite_create("both");
    TCase *idle = tcase_create("idle"), *service = tcase_create("service");

    if (zc_fabric_load(&lib)) {
        printf("skipped: %s\n", zc_error_text(ENOENT));
        return 77;
    }
    tcase_set_timeout(idle, stretched(120));
    tcase_add_loop_test(idle, an_idle_endpoint_sleeps, 0, 2);
    tcase_add_loop_test(idle, a_quiet_endpoint_is_looked_at_seldom, 0, 2);
    suite_add_tcase(s, idle);
    tcase_set_timeout(service, stretched(120));
    tcase_add_loop_test(service, both_kinds_of_clients_are_served, 0, 2);
    tcase_add_loop_test(service, a_wake_is_heard_as_libfabric_takes_over, 0, 2);
    tcase_add_test(service, an_early_one_may_go_before_libfabric_is_there);
    suite_add_tcase(s, service);
    return run_suite(s);
}
