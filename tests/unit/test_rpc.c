/* test_rpc.c - client and server over the loop transport: no network, no MPI. */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "raw_peer.h"
#include "rig.h"
#include "zc_clock_sim.h"
#include "zc_store_remote.h"

static struct rig rig;
static struct zc_net *net;
static struct zc_client *client;

static void up(void)
{
    rig_up(&rig, NULL, NULL);
    net = rig_net(60000);
    client = rig_connect(&rig, net);
}

static void down(void)
{
    zc_client_disconnect(client);
    zc_net_destroy(net);
    rig_down(&rig);
}

START_TEST(hello_and_ping)
{
    up();
    ck_assert_uint_eq(zc_client_boot_id(client), 42);
    ck_assert_uint_eq(zc_client_page_size(client), 4096);
    ck_assert_int_eq(zc_client_ping(client), 0);
    ck_assert_uint_eq(rig_stat(client, "sessions"), 1);
    down();
}
END_TEST

/* Sizes around every limit: one byte, a page, inline and RMA, at odd offsets. */
START_TEST(write_and_read)
{
    static const size_t sizes[] = {1,     7,     4095,  4096,           4097,          10000,
                                   16000, 16128, 16129, ZC_MAX_MESSAGE, 5 * 4096 + 13, 200001};
    static unsigned char out[200001], in[200001];
    uint64_t h;

    up();
    h = rig_open(client, "/f");
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint64_t off = 0; off < 9000; off += 2999) {
            fill(out, sizes[i], off, i);
            ck_assert_int_eq(zc_client_write(client, h, out, sizes[i], off), (ssize_t)sizes[i]);
            memset(in, 0xee, sizeof in);
            ck_assert_int_eq(zc_client_read(client, h, in, sizes[i], off), (ssize_t)sizes[i]);
            expect(in, sizes[i], off, i);
            ck_assert(sizes[i] == sizeof in || in[sizes[i]] == 0xee);
        }
    ck_assert_uint_gt(rig_stat(client, "rma_in_bytes"), 0);
    ck_assert_uint_gt(rig_stat(client, "inline_out_bytes"), 0);
    ck_assert_int_eq(zc_client_close(client, h, ZC_LEVEL_STORED), 0);
    down();
}
END_TEST

START_TEST(end_of_file_and_holes)
{
    unsigned char buf[40000];
    struct zc_attr attr;
    uint64_t h;

    up();
    h = rig_open(client, "/f");
    ck_assert_int_eq(zc_client_read(client, h, buf, 10, 0), 0);
    ck_assert_int_eq(zc_client_write(client, h, "x", 1, 30000), 1);
    memset(buf, 1, sizeof buf);
    ck_assert_int_eq(zc_client_read(client, h, buf, sizeof buf, 0), 30001); /* by RMA */
    expect_all(buf, 30000, 0, "hole");
    ck_assert_uint_eq(buf[30000], 'x');
    ck_assert_int_eq(zc_client_read(client, h, buf, 100, 29990), 11); /* inline */
    ck_assert_int_eq(zc_client_read(client, h, buf, 100, 30001), 0);
    ck_assert_int_eq(zc_client_read(client, h, buf, 0, 5), 0);
    ck_assert_int_eq(zc_client_getattr(client, h, &attr), 0);
    ck_assert_uint_eq(attr.size, 30001);
    ck_assert_int_eq(zc_client_truncate(client, h, 100), 0);
    ck_assert_int_eq(zc_client_getattr(client, h, &attr), 0);
    ck_assert_uint_eq(attr.size, 100);
    ck_assert_int_eq(zc_client_read(client, h, buf, sizeof buf, 0), 100);
    ck_assert_int_eq(zc_client_close(client, h, ZC_LEVEL_DURABLE), 0);
    ck_assert_int_eq(zc_client_stat(client, "/f", &attr), 0);
    ck_assert_uint_eq(attr.size, 100);
    ck_assert_int_eq(zc_client_unlink(client, "/f"), 0);
    ck_assert_int_eq(zc_client_stat(client, "/f", &attr), -ENOENT);
    down();
}
END_TEST

START_TEST(errors_say_what)
{
    struct zc_attr attr = {0};
    uint64_t h, old;
    char big[ZC_MAX_PATH + 10];

    up();
    ck_assert_int_eq(zc_client_open(client, "/none", ZC_OPEN_READ, 0, &h, &attr), -ENOENT);
    ck_assert_msg(strstr(zc_error_text(ENOENT), "the server: ") != NULL, "%s",
                  zc_error_text(ENOENT));
    ck_assert_msg(strstr(zc_error_text(ENOENT), "/none") != NULL, "%s", zc_error_text(ENOENT));
    ck_assert_int_eq(zc_client_write(client, 77, "x", 1, 0), -EBADF);
    h = rig_open(client, "/f");
    ck_assert_int_eq(zc_client_write(client, h, "x", 1, INT64_MAX), -EFBIG);
    ck_assert_int_eq(zc_client_close(client, h, ZC_LEVEL_STORED), 0);
    old = h;
    h = rig_open(client, "/f"); /* takes the same slot: the old number must not reach it */
    ck_assert_int_eq(zc_client_write(client, old, "x", 1, 0), -EBADF);
    ck_assert_int_eq(zc_client_close(client, old, ZC_LEVEL_STORED), -EBADF);
    ck_assert_int_eq(zc_client_flush(client, h, 17), -EINVAL);
    ck_assert_int_eq(zc_client_open(client, "/f", ZC_OPEN_CREATE, 0644, &h, &attr), -EINVAL);
    ck_assert_int_eq(zc_client_control(client, 99, NULL), -EINVAL);
    memset(big, 'a', sizeof big);
    big[0] = '/';
    big[sizeof big - 1] = 0;
    ck_assert_int_eq(zc_client_unlink(client, big), -ENAMETOOLONG);
    down();
}
END_TEST

START_TEST(store_errors_reach_the_client)
{
    static unsigned char buf[20000];
    uint64_t h;

    up();
    h = rig_open(client, "/f");
    zc_store_fault_set(rig.store, ZC_FAULT_READ, 1, UINT32_MAX, EIO);
    ck_assert_int_eq(zc_client_write(client, h, "x", 1, 20000), 1);
    ck_assert_int_eq(zc_client_read(client, h, buf, sizeof buf, 0), -EIO);
    zc_store_fault_set(rig.store, ZC_FAULT_WRITE, 1, UINT32_MAX, ENOSPC);
    fill(buf, sizeof buf, 0, 1);
    ck_assert_int_eq(zc_client_write(client, h, buf, sizeof buf, 0), (ssize_t)sizeof buf);
    ck_assert_int_eq(zc_client_flush(client, h, ZC_LEVEL_STORED), -ENOSPC);
    ck_assert_msg(strstr(zc_error_text(ENOSPC), "/f") != NULL, "%s", zc_error_text(ENOSPC));
    zc_store_fault_set(rig.store, 0, 0, 0, 0); /* room again: nothing was lost */
    ck_assert_int_eq(zc_client_flush(client, h, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_client_close(client, h, ZC_LEVEL_STORED), 0);
    h = rig_open(client, "/f");
    ck_assert_int_eq(zc_client_read(client, h, buf, sizeof buf, 0), (ssize_t)sizeof buf);
    expect(buf, sizeof buf, 0, 1);
    down();
}
END_TEST

/* ---- many at once ---- */

enum { THREADS = 6, ROUNDS = 60, LEN = 3000 };

static void *hammer(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg, seed = me;
    unsigned char out[LEN * 9], in[LEN * 9];
    uint64_t h = rig_open(client, "/shared");

    for (unsigned i = 0; i < ROUNDS; i++) {
        size_t len = LEN * (1 + (size_t)rand_r(&seed) % 9);
        uint64_t off = (uint64_t)me * 1000003 + (uint64_t)rand_r(&seed) % 50000;

        fill(out, len, off, i);
        ck_assert_int_eq(zc_client_write(client, h, out, len, off), (ssize_t)len);
        ck_assert_int_eq(zc_client_read(client, h, in, len, off), (ssize_t)len);
        expect(in, len, off, i);
    }
    ck_assert_int_eq(zc_client_close(client, h, ZC_LEVEL_STORED), 0);
    return NULL;
}

START_TEST(threads_share_a_client)
{
    pthread_t t[THREADS];

    zc_clock = NULL; /* write-back is to meet them at any moment */
    up();
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, hammer, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    down();
}
END_TEST

/* Progress that lets the threads it woke run before it returns. */
static struct zc_tp_ops lingering;
static const struct zc_tp_ops *brisk;

static int linger(struct zc_tp *tp, int timeout_ms)
{
    int n = brisk->progress(tp, timeout_ms);

    for (int i = 0; n > 0 && i < 100; i++)
        sched_yield();
    return n;
}

static int lingering_transport(const struct zc_tp_config *cfg, struct zc_tp **out)
{
    int rc = rig_transport(cfg, out);

    if (rc == 0) {
        brisk = (*out)->ops;
        lingering = *brisk;
        lingering.progress = linger;
        (*out)->ops = &lingering;
    }
    return rc;
}

/* The process is stopped in its first progress, and finds what arrived meanwhile in the next. */
static atomic_bool stop_now;

static int stopped(struct zc_tp *tp, int timeout_ms)
{
    if (!atomic_exchange(&stop_now, false))
        return brisk->progress(tp, timeout_ms);
    zc_clock_sleep(1500 * ZC_NS_PER_MS);
    return 0;
}

static int stopped_transport(const struct zc_tp_config *cfg, struct zc_tp **out)
{
    int rc = lingering_transport(cfg, out);

    lingering.progress = stopped;
    return rc;
}

START_TEST(a_stopped_client_finds_its_server_alive)
{
    struct zc_net_config cfg = {
        .open_transport = stopped_transport, .timeout_ms = 500, .name = "test"};

    rig_up_silence(&rig, NULL, NULL, 60000);
    ck_assert_int_eq(zc_net_create(&cfg, &net), 0);
    client = rig_connect(&rig, net);
    stop_now = true;
    ck_assert_int_eq(zc_client_ping(client), 0);
    ck_assert(!stop_now);
    down();
}
END_TEST

static void *ask(void *arg)
{
    (void)arg;
    for (int i = 0; i < 500; i++)
        ck_assert_int_eq(zc_client_ping(client), 0);
    return NULL;
}

/* One thread drives for all; when it has its reply, another takes over at once, or this test does
 * not end. */
START_TEST(a_leaving_driver_is_replaced)
{
    struct zc_net_config cfg = {
        .open_transport = lingering_transport, .timeout_ms = 60000, .name = "test"};
    pthread_t t[3];

    rig_up(&rig, NULL, NULL);
    ck_assert_int_eq(zc_net_create(&cfg, &net), 0);
    client = rig_connect(&rig, net);
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, ask, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    down();
}
END_TEST

START_TEST(more_requests_than_credits)
{
    static unsigned char buf[100][300];
    struct zc_io io[100];
    uint64_t h;

    up();
    h = rig_open(client, "/f");
    for (unsigned i = 0; i < 100; i++) {
        fill(buf[i], sizeof buf[i], i * 300, 3);
        io[i] = (struct zc_io){
            .write = true, .handle = h, .buf = buf[i], .len = sizeof buf[i], .off = i * 300};
        zc_io_start(client, &io[i]);
    }
    for (unsigned i = 0; i < 100; i++)
        ck_assert_int_eq(zc_io_wait(client, &io[i]), 300);
    down();
}
END_TEST

/* ---- slow, silent, dead ---- */

START_TEST(pending_keeps_a_slow_request_alive)
{
    struct zc_client *watch;
    struct zc_later later;
    struct zc_net *n2;
    uint64_t h;

    rig_up(&rig, NULL, NULL);
    net = rig_net(4000);
    n2 = rig_net(10000);
    client = rig_connect(&rig, net);
    watch = rig_connect(&rig, n2);
    h = rig_open(client, "/f");
    zc_store_fault_hold(rig.store, ZC_FAULT_WRITE);
    ck_assert_int_eq(zc_client_write(client, h, "abc", 3, 0), 3);
    zc_client_flush_start(client, h, ZC_LEVEL_STORED, &later);
    /* six notices at a quarter of the time-out are one and a half time-outs */
    WAIT_FOR(rig_stat(watch, "pending_sent") >= 6);
    zc_store_fault_release(rig.store);
    ck_assert_int_eq(zc_client_wait(client, &later), 0);
    zc_client_disconnect(watch);
    zc_net_destroy(n2);
    down();
}
END_TEST

/* An idle client sends heartbeats at the server's interval, not its own. */
START_TEST(idle_client_is_kept)
{
    struct zc_client *watch;
    uint64_t h, until;

    rig_up_silence(&rig, NULL, NULL, 3000);
    net = rig_net(60000);
    client = rig_connect(&rig, net);
    h = rig_open(client, "/f");
    watch = rig_connect(&rig, net);
    until = zc_now() + 2 * 3000 * ZC_NS_PER_MS;
    WAIT_FOR((zc_client_ping(watch), zc_now() > until));
    ck_assert_int_eq(zc_client_write(client, h, "abc", 3, 0), 3);
    ck_assert_uint_eq(rig_stat(watch, "sessions_lost"), 0);
    zc_client_disconnect(watch);
    down();
}
END_TEST

START_TEST(silent_server)
{
    struct zc_tp_config tp = {.max_msg = ZC_MAX_MESSAGE, .nrecv = 4};
    struct zc_tp *deaf; /* an endpoint that no thread drives: a hung server */
    unsigned char addr[64];
    size_t len = sizeof addr;
    uint64_t start = zc_now();
    struct zc_client *c;

    ck_assert_int_eq(zc_tp_loop_open(&tp, &deaf), 0);
    ck_assert_int_eq(zc_tp_address(deaf, addr, &len), 0);
    net = rig_net(300);
    ck_assert_int_eq(zc_client_connect(net, addr, len, &rig_secret, "deaf", &c), -ETIMEDOUT);
    ck_assert_uint_ge(zc_now() - start, 300 * ZC_NS_PER_MS);
    ck_assert_uint_lt(zc_now() - start, 20000 * ZC_NS_PER_MS);
    ck_assert_msg(strstr(zc_error_text(ETIMEDOUT), "deaf: no sign of life") != NULL, "%s",
                  zc_error_text(ETIMEDOUT));
    zc_net_destroy(net);
    zc_tp_close(deaf);
}
END_TEST

static void *late_write(void *arg)
{
    static unsigned char buf[100000];
    ssize_t *rc = arg;

    *rc = zc_client_write(client, 1ull << 32 | 1, buf, sizeof buf, 0);
    return NULL;
}

/* The server dies with several requests under way: all fail, later ones at once. */
START_TEST(server_dies)
{
    pthread_t t[3];
    ssize_t rc[3];
    uint64_t h, start;

    rig_up(&rig, NULL, NULL);
    net = rig_net(4000);
    client = rig_connect(&rig, net);
    h = rig_open(client, "/f");
    zc_store_fault_hold(rig.store, ZC_FAULT_READ);
    ck_assert_int_eq(zc_client_write(client, h, "z", 1, 50000), 1);
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, late_write, &rc[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(rc[i], 100000);
    zc_store_fault_release(rig.store);
    ck_assert_int_eq(rig_stop(&rig), 0); /* its endpoint is not driven any more */
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, late_write, &rc[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(rc[i], -ETIMEDOUT);
    start = zc_now();
    ck_assert_int_eq(zc_client_ping(client), -ETIMEDOUT);
    ck_assert_uint_lt(zc_now() - start, 3500 * ZC_NS_PER_MS); /* a wait would take 4000 */
    zc_client_disconnect(client);
    zc_net_destroy(net);
    rig_free(&rig);
}
END_TEST

/* ---- a raw peer: raw_peer.h ---- */

START_TEST(other_version_is_refused_with_a_reason)
{
    struct raw r;

    up();
    raw_up(&r, &rig);
    ck_assert_uint_eq(raw_hello(&r, 1000, ZC_PROTOCOL + 5), 0);
    ck_assert_int_eq(r.last.status, -EPROTONOSUPPORT);
    ck_assert_uint_eq(r.last.version_max, ZC_PROTOCOL);
    ck_assert_msg(strstr(r.text, "protocol") != NULL, "%s", r.text);
    zc_tp_close(r.tp);
    down();
}
END_TEST

START_TEST(rubbish_does_no_harm)
{
    unsigned char buf[2000];
    unsigned seed = 5;
    uint64_t session, h;
    struct raw r;

    up();
    h = rig_open(client, "/f");
    ck_assert_int_eq(zc_client_write(client, h, "good", 4, 0), 4);
    raw_up(&r, &rig);
    session = raw_hello(&r, 60000, ZC_PROTOCOL);
    ck_assert_uint_ne(session, 0);
    for (int i = 0; i < 20000; i++) {
        size_t n = (size_t)rand_r(&seed) % sizeof buf;
        struct zc_msg m = {.type = (uint8_t)(rand_r(&seed) % 40),
                           .tag = zc_tag(1, ++r.count),
                           .session = i % 3 ? session : (uint64_t)rand_r(&seed),
                           .handle = (uint64_t)rand_r(&seed),
                           .off = (uint64_t)rand_r(&seed) << 33,
                           .len = (uint64_t)rand_r(&seed),
                           .raddr = (uint64_t)rand_r(&seed)};
        int len;

        for (size_t k = 0; k < n; k++)
            buf[k] = (unsigned char)rand_r(&seed);
        if (m.type == ZC_T_BYE || m.type == ZC_T_CONTROL) /* the server would obey those */
            continue;
        len = i % 2 ? zc_msg_encode(&m, buf, sizeof buf) : (int)n;
        if (len >= ZC_HEADER_SIZE + ZC_MAC_SIZE && i % 4) /* some without */
            zc_mac_put(&r.keys, buf, (size_t)len);
        if (len > 0)
            ck_assert_int_eq(zc_tp_send(r.tp, r.peer, buf, (size_t)len), 0);
        zc_tp_progress(r.tp, 0);
    }
    ck_assert_uint_gt(rig_stat(client, "malformed"), 1000);
    memset(buf, 0, 4);
    ck_assert_int_eq(zc_client_read(client, h, buf, 4, 0), 4);
    ck_assert_mem_eq(buf, "good", 4);
    zc_tp_close(r.tp);
    down();
}
END_TEST

/* RMA keys that grant nothing: an error for this request, and the page is released. */
START_TEST(bad_rma_key)
{
    struct raw r;
    struct zc_msg m = {.type = ZC_T_OPEN,
                       .open_flags = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE,
                       .mode = 0600,
                       .path = {"/f", 2}};
    uint64_t session, h;

    up();
    raw_up(&r, &rig);
    session = m.session = raw_hello(&r, 60000, ZC_PROTOCOL);
    raw_call(&r, &m);
    h = r.last.handle;
    m = (struct zc_msg){.type = ZC_T_WRITE,
                        .flags = ZC_F_RMA,
                        .session = session,
                        .handle = h,
                        .len = 100000,
                        .raddr = 4096,
                        .rkey = 1};
    raw_call(&r, &m);
    ck_assert_int_lt(r.last.status, 0);
    WAIT_FOR(rig_stat(client, "pinned_pages") == 0);
    ck_assert_uint_gt(rig_stat(client, "rma_failed"), 0);
    zc_tp_close(r.tp);
    down();
}
END_TEST

/* A client vanishes: its session ends, its bytes are written back, and it counts among those that
 * may have had more, unless it has synced. */
static void die_having_written(bool synced)
{
    struct zc_msg m = {.type = ZC_T_OPEN,
                       .open_flags = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE,
                       .mode = 0600,
                       .path = {"/f", 2}};
    unsigned char buf[5];
    uint64_t session, h;
    struct raw r;

    up();
    raw_up(&r, &rig);
    session = m.session = raw_hello(&r, 2000, ZC_PROTOCOL);
    raw_call(&r, &m);
    m = (struct zc_msg){.type = ZC_T_WRITE,
                        .session = session,
                        .handle = r.last.handle,
                        .len = 5,
                        .data = {"hello", 5}};
    raw_call(&r, &m);
    ck_assert_int_eq(r.last.status, 0);
    ck_assert_uint_eq(rig_stat(client, "sessions"), 2);
    ck_assert_uint_eq(rig_stat(client, "handles"), 1);
    m = (struct zc_msg){
        .type = ZC_T_FLUSH, .session = session, .handle = m.handle, .level = ZC_LEVEL_STORED};
    if (synced) {
        raw_call(&r, &m);
        ck_assert_int_eq(r.last.status, 0);
    }
    zc_tp_close(r.tp);
    WAIT_FOR(rig_stat(client, "sessions") == 1 && rig_stat(client, "handles") == 0);
    ck_assert_uint_eq(rig_stat(client, "sessions_lost"), 1);
    ck_assert_uint_eq(rig_stat(client, "sessions_unsynced"), !synced);
    ck_assert_int_eq(zc_client_control(client, ZC_CONTROL_FLUSH, NULL), 0);
    h = rig_open(client, "/f");
    ck_assert_int_eq(zc_client_read(client, h, buf, 5, 0), 5);
    ck_assert_mem_eq(buf, "hello", 5);
    down();
}

START_TEST(client_dies)
{
    die_having_written(false);
}
END_TEST

START_TEST(client_dies_in_sync)
{
    die_having_written(true);
}
END_TEST

/* A client vanishes while the server reads its data: the request ends, nothing stays pinned. */
START_TEST(client_dies_in_a_write)
{
    struct zc_msg m = {.type = ZC_T_OPEN,
                       .open_flags = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE,
                       .mode = 0600,
                       .path = {"/f", 2}};
    uint64_t session;
    struct raw r;

    up();
    raw_up(&r, &rig);
    session = m.session = raw_hello(&r, 2000, ZC_PROTOCOL);
    raw_call(&r, &m);
    zc_store_fault_hold(rig.store, ZC_FAULT_READ);
    m = (struct zc_msg){.type = ZC_T_WRITE,
                        .flags = ZC_F_RMA,
                        .session = session,
                        .handle = r.last.handle,
                        .len = 1 << 20,
                        .raddr = 1,
                        .rkey = 1};
    raw_send(&r, &m);
    zc_tp_close(r.tp);
    zc_store_fault_release(rig.store);
    WAIT_FOR(rig_stat(client, "sessions") == 1 && rig_stat(client, "pinned_pages") == 0 &&
             rig_stat(client, "handles") == 0);
    down();
}
END_TEST

/* Requests for a file whose close is writing back come too late. */
START_TEST(nothing_begins_on_what_is_being_closed)
{
    struct zc_msg m = {.type = ZC_T_OPEN,
                       .open_flags = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE,
                       .mode = 0600,
                       .path = {"/f", 2}};
    uint64_t session, h;
    struct raw r;

    up();
    raw_up(&r, &rig);
    session = m.session = raw_hello(&r, 60000, ZC_PROTOCOL);
    raw_call(&r, &m);
    h = r.last.handle;
    m = (struct zc_msg){
        .type = ZC_T_WRITE, .session = session, .handle = h, .len = 5, .data = {"hello", 5}};
    raw_call(&r, &m);
    ck_assert_int_eq(r.last.status, 0);
    zc_store_fault_hold(rig.store, ZC_FAULT_WRITE | ZC_FAULT_READ);
    m = (struct zc_msg){
        .type = ZC_T_CLOSE, .tag = 7, .session = session, .handle = h, .level = ZC_LEVEL_STORED};
    raw_send(&r, &m);
    m = (struct zc_msg){
        .type = ZC_T_READ, .tag = 8, .session = session, .handle = h, .off = 3, .len = 10};
    raw_send(&r, &m);
    WAIT_FOR((zc_tp_progress(r.tp, 10), r.last.tag == 8));
    ck_assert_int_eq(r.last.status, -EBADF);
    zc_store_fault_release(rig.store);
    WAIT_FOR((zc_tp_progress(r.tp, 10), r.last.tag == 7));
    ck_assert_int_eq(r.last.status, 0);
    WAIT_FOR(rig_stat(client, "handles") == 0);
    zc_tp_close(r.tp);
    down();
}
END_TEST

/* ---- the server itself ---- */

START_TEST(information_in_pieces)
{
    char *text, path[200];
    int n = 0;

    up();
    for (int i = 0; i < 200; i++) {
        snprintf(path, sizeof path, "/%0150d", i);
        rig_open(client, path);
    }
    ck_assert_int_eq(zc_client_info(client, ZC_INFO_FILES, &text), 0);
    for (char *p = text; (p = strstr(p, "\"path\":")); p++)
        n++;
    ck_assert_int_eq(n, 200);
    ck_assert_uint_gt(strlen(text), ZC_MAX_INLINE);
    free(text);
    down();
}
END_TEST

/* All counters are there, described, and named after their units. */
static void check_counter(const char *text, const char *name, const char *kind, const char *unit)
{
    const char *row = zc_json_find(zc_json_find(text, "counters"), name), *end = strrchr(name, '_');
    bool named = end && strstr(" _bytes _ns _ms _s ", end);
    char its[16];

    ck_assert_ptr_nonnull(zc_json_find(zc_json_find(text, "stats"), name));
    zc_json_to_text(zc_json_find(row, "kind"), its, sizeof its);
    ck_assert_int_eq(strcasecmp(its, kind), 0);
    zc_json_to_text(zc_json_find(row, "unit"), its, sizeof its);
    ck_assert_int_eq(strcasecmp(its, strcmp(unit, "NONE") ? unit : ""), 0);
    ck_assert_msg(named == (strcmp(unit, "NONE") != 0), "%s counts %s", name, unit);
    ck_assert_str_ne(zc_json_to_text(zc_json_find(row, "help"), its, sizeof its), "");
}

START_TEST(counters_are_described)
{
    char *text;

    up();
    ck_assert_int_eq(zc_client_info(client, ZC_INFO_STATS | ZC_INFO_COUNTERS, &text), 0);
#define X(name, kind, unit, help) check_counter(text, #name, #kind, #unit);
    ZC_SERVER_STATS(X)
    ZC_CACHE_STATS(X)
    ZC_JOURNAL_STATS(X)
#undef X
    ck_assert_ptr_null(zc_json_find(text, "files"));
    ck_assert_ptr_null(zc_json_find(text, "status"));
    free(text);
    down();
}
END_TEST

START_TEST(stop_drains)
{
    struct zc_store *mem;
    unsigned char buf[5];
    struct iovec iov = {buf, 5};
    struct zc_attr attr = {0};
    struct zc_sfile *f;
    uint64_t h;

    up();
    h = rig_open(client, "/f");
    ck_assert_int_eq(zc_client_write(client, h, "12345", 5, 0), 5);
    ck_assert_int_eq(rig_stop(&rig), 0);
    mem = rig.store;
    ck_assert_int_eq(zc_store_open_file(mem, "/f", ZC_OPEN_READ, 0, &f, &attr), 0);
    ck_assert_int_eq(zc_store_preadv(f, &iov, 1, 0), 5);
    ck_assert_mem_eq(buf, "12345", 5);
    zc_store_close_file(f, ZC_LEVEL_VISIBLE);
    /* its clients still exist and notice by themselves */
    rig_free(&rig);
    zc_net_destroy((zc_client_disconnect(client), net));
}
END_TEST

/* A flush under way delays the server's end: meanwhile files may be closed, and nothing else. */
START_TEST(stopping_lets_files_be_closed)
{
    struct zc_later later;
    uint64_t h, other;

    up();
    h = rig_open(client, "/f");
    other = rig_open(client, "/g");
    zc_store_fault_hold(rig.store, ZC_FAULT_WRITE);
    ck_assert_int_eq(zc_client_write(client, h, "12345", 5, 0), 5);
    zc_client_flush_start(client, h, ZC_LEVEL_STORED, &later);
    zc_server_stop(rig.server);
    while (zc_client_write(client, other, "1", 1, 0) > 0)
        ; /* until it knows that it has to stop */
    ck_assert_int_eq(zc_client_close(client, other, ZC_LEVEL_VISIBLE), 0);
    zc_store_fault_release(rig.store);
    ck_assert_int_eq(zc_client_wait(client, &later), 0);
    ck_assert_int_eq(rig_stop(&rig), 0);
    rig_free(&rig);
    zc_net_destroy((zc_client_disconnect(client), net));
}
END_TEST

START_TEST(stop_says_what_cannot_be_stored)
{
    uint64_t h;

    up();
    h = rig_open(client, "/precious");
    zc_store_fault_set(rig.store, ZC_FAULT_WRITE, 1, UINT32_MAX, EDQUOT);
    ck_assert_int_eq(zc_client_write(client, h, "12345", 5, 0), 5);
    ck_assert_int_eq(rig_stop(&rig), -EDQUOT);
    ck_assert_msg(strstr(rig.text, "/precious") != NULL, "%s", rig.text);
    rig_free(&rig);
    zc_net_destroy((zc_client_disconnect(client), net));
}
END_TEST

START_TEST(stopping_refuses)
{
    struct zc_attr attr = {0};
    uint64_t h;

    up();
    ck_assert_int_eq(zc_client_control(client, ZC_CONTROL_DRAIN, NULL), 0);
    ck_assert_int_eq(zc_client_open(client, "/f", ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE,
                                    0600, &h, &attr),
                     -ESHUTDOWN);
    ck_assert_int_eq(zc_client_ping(client), 0);
    down();
}
END_TEST

/* ---- three servers behind one store ---- */

START_TEST(blocks_over_three_servers)
{
    static unsigned char model[400000], in[400000];
    struct rig rigs[3];
    struct zc_client *clients[3];
    struct zc_store *mem, *remote;
    struct zc_sfile *f;
    struct zc_attr attr = {.block_size = 8192};
    struct iovec iov[2];
    unsigned seed = 9;
    uint64_t size = 0;

    ck_assert_int_eq(zc_store_mem_create(&mem), 0);
    net = rig_net(60000);
    for (int i = 0; i < 3; i++) {
        rig_up(&rigs[i], NULL, borrow(mem));
        clients[i] = rig_connect(&rigs[i], net);
    }
    ck_assert_int_eq(zc_store_remote_over(net, clients, 3, &remote), 0);
    ck_assert_int_eq(zc_store_open_file(
                         remote, "/f", ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE | ZC_OPEN_EXCL,
                         0600, &f, &attr),
                     0);
    ck_assert_uint_eq(attr.block_size, 8192);
    ck_assert(attr.created);
    for (unsigned i = 0; i < 400; i++) {
        size_t len = 1 + (size_t)rand_r(&seed) % 60000, cut = (size_t)rand_r(&seed) % len;
        uint64_t off = (uint64_t)rand_r(&seed) % (sizeof model - 60000);
        ssize_t want;

        switch (rand_r(&seed) % 4) {
        case 0:
        case 1:
            fill(model + off, len, off, i);
            iov[0] = (struct iovec){model + off, cut};
            iov[1] = (struct iovec){model + off + cut, len - cut};
            ck_assert_int_eq(zc_store_pwritev(f, iov, 2, off), (ssize_t)len);
            if (off + len > size)
                size = off + len;
            break;
        case 2:
            want = off >= size ? 0 : (ssize_t)(off + len > size ? size - off : len);
            memset(in, 0xaa, len);
            iov[0] = (struct iovec){in, cut};
            iov[1] = (struct iovec){in + cut, len - cut};
            ck_assert_int_eq(zc_store_preadv(f, iov, 2, off), want);
            ck_assert_mem_eq(in, model + off, (size_t)want);
            break;
        default:
            if (i % 5 == 0) {
                uint64_t to = (uint64_t)rand_r(&seed) % sizeof model;

                ck_assert_int_eq(zc_store_truncate(f, to), 0);
                if (to < size)
                    memset(model + to, 0, size - to);
                size = to;
            }
            ck_assert_int_eq(zc_store_getattr(f, &attr), 0);
            ck_assert_uint_eq(attr.size, size);
        }
    }
    ck_assert_int_eq(zc_store_close_file(f, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_store_open_file(mem, "/f", ZC_OPEN_READ, 0, &f, &attr), 0);
    iov[0] = (struct iovec){in, sizeof in};
    ck_assert_int_eq(zc_store_preadv(f, iov, 1, 0), (ssize_t)size);
    ck_assert_mem_eq(in, model, size);
    zc_store_close_file(f, ZC_LEVEL_VISIBLE);
    zc_store_destroy(remote);
    for (int i = 0; i < 3; i++)
        rig_down(&rigs[i]);
    zc_store_destroy(mem);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rpc");

    zc_log_init(NULL);
    zc_clock = zc_clock_sim();
    CASE(s, "calls", 60, hello_and_ping, write_and_read, end_of_file_and_holes, errors_say_what,
         store_errors_reach_the_client);
    CASE(s, "many", 300, threads_share_a_client, a_leaving_driver_is_replaced,
         a_stopped_client_finds_its_server_alive, more_requests_than_credits);
    CASE(s, "failure", 120, pending_keeps_a_slow_request_alive, idle_client_is_kept, silent_server,
         server_dies, other_version_is_refused_with_a_reason, rubbish_does_no_harm, bad_rma_key,
         client_dies, client_dies_in_sync, client_dies_in_a_write,
         nothing_begins_on_what_is_being_closed);
    CASE(s, "server", 60, information_in_pieces, counters_are_described, stop_drains,
         stopping_lets_files_be_closed, stop_says_what_cannot_be_stored, stopping_refuses);
    CASE(s, "remote", 120, blocks_over_three_servers);
    return run_suite(s);
}
