/* test_commit_notify.c - a server numbers the writes it accepts, and notifies its clients of
 * commits. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>

#include "rig.h"
#include "zc_clock_sim.h"
#include "zc_store_remote.h"

static struct rig rig;
static struct zc_net *net;
static struct zc_client *client;
static uint64_t file;
static atomic_ullong told; /* the last COMMITTED of `file` */

static void on_stored(void *arg, struct zc_client *c, uint64_t handle, uint64_t stored)
{
    ck_assert_ptr_eq(arg, &rig);
    ck_assert_ptr_eq(c, client);
    ck_assert_uint_eq(handle, file);
    ck_assert_uint_gt(stored, atomic_load(&told));
    atomic_store(&told, stored);
}

static void up(void)
{
    rig_up(&rig, NULL, NULL);
    net = rig_net(800); /* ten heartbeats a second, which find messages that have arrived */
    client = rig_connect(&rig, net);
    zc_client_on_committed(client, on_stored, &rig);
    file = rig_open(client, "/f");
    atomic_store(&told, 0);
}

static void down(void)
{
    zc_store_fault_set(rig.store, 0, 0, 0, 0);
    zc_store_fault_release(rig.store);
    zc_client_close(client, file, ZC_LEVEL_STORED);
    zc_client_disconnect(client);
    zc_net_destroy(net);
    rig_down(&rig);
}

static void hold(void)
{
    zc_store_fault_hold(rig.store, ZC_FAULT_WRITE);
}

/* Writes; returns the reply's numbers. */
static struct zc_io put(size_t len, uint64_t off)
{
    char buf[8192] = {0};
    struct zc_io io = {.write = true, .handle = file, .buf = buf, .len = len, .off = off};

    zc_io_start(client, &io);
    ck_assert_int_eq(zc_io_wait(client, &io), (ssize_t)len);
    return io;
}

/* Waits without a call: the client's heartbeat is enough. */
static void await_told(uint64_t number)
{
    WAIT_FOR(atomic_load(&told) >= number);
}

/* The number that the server would send. */
static uint64_t stored_now(void)
{
    struct zc_attr attr = {0};
    struct zc_handle *h;
    uint64_t taken, stored;

    ck_assert_int_eq(zc_cache_open(rig.cache, "/f", ZC_OPEN_READ, 0, &h, &attr), 0);
    zc_cache_progress(h, false, &taken, &stored);
    zc_cache_close(h);
    return stored;
}

/* ---- numbers ---- */

START_TEST(not_before_it_is_stored)
{
    struct zc_io io;

    up();
    hold();
    io = put(10, 0);
    ck_assert_uint_gt(io.unstable_seq, 0);
    ck_assert_uint_lt(io.committed_seq, io.unstable_seq);
    WAIT_FOR(zc_store_fault_held(rig.store) == 1);
    ck_assert_uint_lt(stored_now(), io.unstable_seq);
    ck_assert_uint_lt(atomic_load(&told), io.unstable_seq);
    zc_store_fault_release(rig.store);
    await_told(io.unstable_seq);
    down();
}
END_TEST

/* A write during a store write is not stored by it, even in the same page. */
START_TEST(during_a_store_write)
{
    struct zc_io first, second;

    up();
    hold();
    first = put(10, 0);
    WAIT_FOR(zc_store_fault_held(rig.store) == 1);
    WAIT_FOR(rig_stat(client, "stored_sent") == 0);
    second = put(10, 5);
    ck_assert_uint_ge(second.unstable_seq, first.unstable_seq);
    ck_assert_uint_lt(second.committed_seq, second.unstable_seq);
    zc_store_fault_release(rig.store);
    await_told(second.unstable_seq);
    down();
}
END_TEST

START_TEST(the_first_and_not_the_second)
{
    struct zc_io first, second;

    up();
    first = put(10, 0);
    await_told(first.unstable_seq);
    hold();
    second = put(10, 4096);
    ck_assert_uint_gt(second.unstable_seq, atomic_load(&told));
    ck_assert_uint_lt(second.committed_seq, second.unstable_seq);
    WAIT_FOR(zc_store_fault_held(rig.store) == 1);
    ck_assert_uint_lt(atomic_load(&told), second.unstable_seq);
    zc_store_fault_release(rig.store);
    await_told(second.unstable_seq);
    down();
}
END_TEST

/* A page that is written all the time does not prevent the commit of another. */
START_TEST(although_others_go_on_writing)
{
    struct zc_io first, last = {0};

    up();
    first = put(10, 0);
    for (int i = 0;
         last.committed_seq < first.unstable_seq && atomic_load(&told) < first.unstable_seq; i++) {
        last = put(10, 4096);
        zc_clock_sleep(1 * ZC_NS_PER_MS);
        ck_assert_int_lt(i, 20000);
    }
    await_told(last.unstable_seq);
    down();
}
END_TEST

START_TEST(what_is_refused_is_not_stored)
{
    struct zc_io io;

    up();
    zc_store_fault_set(rig.store, ZC_FAULT_WRITE, 1, UINT32_MAX, ENOSPC);
    io = put(10, 0);
    ck_assert_int_eq(zc_client_flush(client, file, ZC_LEVEL_STORED), -ENOSPC);
    ck_assert_uint_lt(put(10, 4096).committed_seq, io.unstable_seq);
    ck_assert_uint_lt(atomic_load(&told), io.unstable_seq);
    zc_store_fault_set(rig.store, 0, 0, 0, 0);
    ck_assert_int_eq(zc_client_flush(client, file, ZC_LEVEL_STORED), 0);
    await_told(io.unstable_seq);
    down();
}
END_TEST

START_TEST(truncated_bytes_are_forgotten)
{
    struct zc_io io;

    up();
    zc_store_fault_set(rig.store, ZC_FAULT_WRITE, 1, UINT32_MAX, ENOSPC);
    io = put(10, 8192);
    ck_assert_int_eq(zc_client_flush(client, file, ZC_LEVEL_STORED), -ENOSPC);
    ck_assert_uint_lt(atomic_load(&told), io.unstable_seq);
    ck_assert_int_eq(zc_client_truncate(client, file, 100), 0);
    await_told(io.unstable_seq);
    down();
}
END_TEST

/* Numbers go on even if the file was dropped from the cache meanwhile: a client compares them after
 * a reconnect. */
START_TEST(they_go_on_when_it_is_opened_again)
{
    struct zc_io before, after;

    up();
    before = put(10, 0);
    await_told(before.unstable_seq);
    ck_assert_int_eq(zc_client_close(client, file, ZC_LEVEL_STORED), 0);
    WAIT_FOR(rig_stat(client, "handles") == 0);
    zc_cache_evict(rig.cache);
    WAIT_FOR(rig_stat(client, "files") == 0);
    atomic_store(&told, 0);
    file = rig_open(client, "/f");
    after = put(10, 0);
    ck_assert_uint_gt(after.unstable_seq, before.unstable_seq);
    ck_assert_uint_ge(after.committed_seq, before.unstable_seq);
    await_told(after.unstable_seq);
    down();
}
END_TEST

/* ---- notifications ---- */

/* A client gets a notification of its previous session's writes without a call of its own. */
START_TEST(after_a_reconnect)
{
    struct zc_client *before;
    struct zc_net *again;
    struct zc_past past;
    struct zc_io io;

    up();
    hold();
    io = put(10, 0);
    WAIT_FOR(zc_store_fault_held(rig.store) == 1);
    past = zc_client_past(client);
    before = client;
    again = rig_net(800);
    ck_assert_int_eq(zc_client_connect_again(again, rig.addr, rig.addr_len, &rig_secret,
                                             "the server", &past, 20000, &client),
                     0);
    zc_client_on_committed(client, on_stored, &rig);
    file = rig_open(client, "/f");
    zc_store_fault_release(rig.store);
    await_told(io.unstable_seq);
    zc_client_disconnect(before);
    zc_net_destroy(net);
    net = again;
    down();
}
END_TEST

START_TEST(not_for_each_write)
{
    uint64_t began = zc_now(), ticks;
    struct zc_io io;

    up();
    for (int i = 0; i < 2000; i++)
        io = put(10, (uint64_t)(i % 60) * 4096);
    await_told(io.unstable_seq);
    ticks = (zc_now() - began) / (100 * ZC_NS_PER_MS) + 1;
    ck_assert_uint_le(rig_stat(client, "stored_sent"), ticks);
    ck_assert_uint_ge(rig_stat(client, "stored_sent"), 1);
    down();
}
END_TEST

START_TEST(writes_through_are_stored_by_their_reply)
{
    char buf[10] = {0};
    struct zc_attr attr = {.block_size = 8192};
    struct zc_io io = {.write = true, .buf = buf, .len = sizeof buf};
    uint64_t through;

    up();
    ck_assert_int_eq(zc_client_open(client, "/t",
                                    ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE | ZC_OPEN_THROUGH,
                                    0644, &through, &attr),
                     0);
    io.handle = through;
    zc_io_start(client, &io);
    ck_assert_int_eq(zc_io_wait(client, &io), sizeof buf);
    ck_assert_uint_gt(io.unstable_seq, 0);
    ck_assert_uint_eq(io.committed_seq, io.unstable_seq);
    ck_assert_int_eq(zc_client_close(client, through, ZC_LEVEL_STORED), 0);
    down();
}
END_TEST

/* ---- an aggregator's cache over it ---- */

START_TEST(a_cache_lets_go_without_asking)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT, daemon = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_attr attr = {.block_size = 8192};
    struct zc_cache_stats st;
    struct zc_cache *cache;
    struct zc_handle *h;
    struct zc_store *store;
    char buf[8192] = {1};

    daemon.page_size = 4096;
    daemon.capacity = 64 * 4096;
    daemon.level = ZC_LEVEL_STAGED;
    rig_up(&rig, &daemon, NULL);
    net = rig_net(800);
    client = rig_connect(&rig, net);
    ck_assert_int_eq(zc_store_remote_over(net, &client, 1, &store), 0);
    cfg.page_size = 4096;
    cfg.capacity = 64 * 4096;
    cfg.idle_ms = 0;
    cfg.transient = true;
    cfg.replay = ZC_REPLAY_ON;
    ck_assert_int_eq(zc_cache_create(&cfg, store, &cache), 0);
    ck_assert_int_eq(
        zc_cache_open(cache, "/f", ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE, 0644, &h, &attr),
        0);
    hold();
    ck_assert_int_eq(zc_cache_write(h, buf, sizeof buf, 0), sizeof buf);
    ck_assert_int_eq(zc_cache_flush(h, ZC_LEVEL_STAGED), 0);
    zc_cache_stats(cache, &st);
    ck_assert_uint_eq(st.retained_bytes, sizeof buf);
    zc_store_fault_release(rig.store);
    WAIT_FOR((zc_cache_stats(cache, &st), st.retained_bytes == 0));
    ck_assert_int_eq(zc_cache_close(h), 0);
    zc_cache_destroy(cache);
    zc_store_destroy(store);
    rig_down(&rig);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("stored");

    zc_log_init(NULL);
    if (!getenv("ZCACHE_LOG"))
        zc_log_to_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    CASE(s, "numbers", 60, not_before_it_is_stored, during_a_store_write,
         the_first_and_not_the_second, although_others_go_on_writing, what_is_refused_is_not_stored,
         truncated_bytes_are_forgotten, they_go_on_when_it_is_opened_again);
    CASE(s, "told", 60, after_a_reconnect, not_for_each_write,
         writes_through_are_stored_by_their_reply);
    CASE(s, "cache", 60, a_cache_lets_go_without_asking);
    zc_clock = zc_clock_sim();
    return run_suite(s);
}
