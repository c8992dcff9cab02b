/* test_ofi_threads.c - one endpoint of libfabric that many threads use at a time, and one whose
 * peer is gone. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "rig.h"
#include "zc_fabric.h"
#include "zc_tp_ofi.h"

/* "net" of libfabric 1.17 keeps some memory of every endpoint that was closed; what we ought to
 * have freed, test_both.c finds with the usual provider. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfabric.so\n";
}

enum { THREADS = 8, TURNS = 150, MOST = 40000 };

/* The one that needs care (ofi_enter()), and the usual one. */
static const char *const providers[] = {"net", "tcp;ofi_rxm"};
static const char *provider;

static int open_provider(const struct zc_tp_config *cfg, struct zc_tp **out)
{
    struct zc_tp_config mine = *cfg;

    mine.provider = provider;
    return zc_tp_ofi_open(&mine, out);
}

static struct {
    struct zc_client *client;
    uint64_t handle;
} shared;

/* Every access registers memory, and takes that back while others' bytes are moved. */
static void *press(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg, seed = me;
    unsigned char *out = malloc(MOST), *in = malloc(MOST);
    uint64_t off = (uint64_t)me * MOST;

    for (unsigned i = 0; i < TURNS; i++) {
        size_t len = 10000 + (size_t)rand_r(&seed) % (MOST - 10000);

        fill(out, len, off, i);
        ck_assert_int_eq(zc_client_write(shared.client, shared.handle, out, len, off),
                         (ssize_t)len);
        ck_assert_int_eq(zc_client_read(shared.client, shared.handle, in, len, off), (ssize_t)len);
        expect(in, len, off, i);
    }
    free(out);
    free(in);
    return NULL;
}

START_TEST(threads_share_an_endpoint)
{
    struct zc_net *net;
    pthread_t threads[THREADS];
    struct rig rig;
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;

    provider = providers[_i];
    rig_transport = open_provider;
    cfg.capacity = 1 << 22;
    cfg.page_size = 1 << 16;
    rig_up(&rig, &cfg, NULL);
    net = rig_net(60000);
    shared.client = rig_connect(&rig, net);
    shared.handle = rig_open(shared.client, "/shared");
    for (uintptr_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, press, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(zc_client_close(shared.client, shared.handle, ZC_LEVEL_STORED), 0);
    zc_client_disconnect(shared.client);
    zc_net_destroy(net);
    rig_down(&rig);
}
END_TEST

static unsigned heard;

static void hear(void *arg, const void *msg, size_t len)
{
    (void)arg;
    (void)msg;
    (void)len;
    heard++;
}

/* Returns the processor time that `ns` of progress take. */
static uint64_t cost_of_waiting(struct zc_tp *tp, uint64_t ns)
{
    uint64_t used = zc_now_of(CLOCK_PROCESS_CPUTIME_ID), until = zc_now() + ns;

    while (zc_now() < until)
        ck_assert_int_ge(zc_tp_progress(tp, 100), 0);
    return zc_now_of(CLOCK_PROCESS_CPUTIME_ID) - used;
}

/* Waits until waiting is cheap, and stays so: at first the connections that are refused come back
 * one after the other, for as long as the kernel takes to refuse them. */
static void wait_cheaply(struct zc_tp *tp)
{
    const uint64_t window = 200 * ZC_NS_PER_MS;

    for (unsigned cheap = 0, windows = 0; cheap < 2; windows++) {
        uint64_t cost = cost_of_waiting(tp, window);

        cheap = cost < window / 2 ? cheap + 1 : 0;
        ck_assert_msg(windows < 25, "of %" PRIu64 " ns %" PRIu64, window, cost);
    }
}

/* Messages to a peer whose port is closed wait, as the peer may come back: libfabric, or this
 * endpoint, connects again and again, and is refused.  Waiting takes little of a processor, whether
 * the peer was connected before or not. */
START_TEST(a_peer_that_is_gone_costs_little)
{
    struct zc_tp_config cfg = {.listen = "127.0.0.1",
                               .provider = providers[_i % 2],
                               .max_msg = 1000,
                               .nrecv = 4,
                               .recv = hear};
    bool connected = _i / 2;
    struct zc_tp *gone, *tp;
    unsigned char address[64];
    size_t len = sizeof address;
    zc_peer peer;

    ck_assert_int_eq(zc_tp_ofi_open(&cfg, &gone), 0);
    ck_assert_int_eq(zc_tp_ofi_open(&cfg, &tp), 0);
    ck_assert_int_eq(zc_tp_address(gone, address, &len), 0);
    ck_assert_int_eq(zc_tp_peer_add(tp, address, len, &peer), 0);
    heard = 0;
    if (connected)
        ck_assert_int_eq(zc_tp_send(tp, peer, "hello", 5), 0);
    while (connected && heard == 0) {
        ck_assert_int_ge(zc_tp_progress(tp, 1), 0);
        ck_assert_int_ge(zc_tp_progress(gone, 1), 0);
    }
    zc_tp_close(gone);
    ck_assert_int_eq(zc_tp_send(tp, peer, "hello", 5), 0);
    ck_assert_int_eq(zc_tp_send(tp, peer, "again", 5), 0);
    wait_cheaply(tp);
    zc_tp_peer_remove(tp, peer);
    wait_cheaply(tp);
    zc_tp_close(tp);
}
END_TEST

int main(void)
{
    const struct zc_fabric *lib;
    Suite *s = suite_create("threads on an endpoint");
    TCase *threads = tcase_create("threads");

    if (zc_fabric_load(&lib)) {
        printf("skipped: %s\n", zc_error_text(ENOENT));
        return 77;
    }
    tcase_set_timeout(threads, stretched(300));
    tcase_add_loop_test(threads, threads_share_an_endpoint, 0, 2);
    tcase_add_loop_test(threads, a_peer_that_is_gone_costs_little, 0, 4);
    suite_add_tcase(s, threads);
    return run_suite(s);
}
