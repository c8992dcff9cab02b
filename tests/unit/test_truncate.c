/* test_truncate.c - truncation of a file that several daemons cache, when some of them fail. */
#include "config.h"

#include <errno.h>

#include "rig.h"
#include "zc_clock_sim.h"
#include "zc_store_remote.h"
#include "zc_tp_fault.h"

enum {
    DAEMONS = 3,
    PAGE = 4096,
    BLOCK = 8192,
    SIZE = 12 * BLOCK,
    CUT = BLOCK + 100,
    TIMEOUT_MS = 1500
};
enum { RW = ZC_OPEN_READ | ZC_OPEN_WRITE };

static struct zc_store *mem, *remote;
static struct rig rigs[DAEMONS];
static struct zc_tp *endpoints[DAEMONS]; /* theirs */
static struct zc_cache *owner;           /* an aggregator's */
static struct zc_handle *file;

/* Writes are at `level`, and go further only on request. */
static struct zc_cache_config lazy(enum zc_level level)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;

    cfg.capacity = 64 * PAGE;
    cfg.page_size = PAGE;
    cfg.idle_ms = 0;
    cfg.high_watermark = 100;
    cfg.retry_ms = 1000000;
    cfg.level = level;
    return cfg;
}

/* Writes SIZE bytes: half of each block is with the daemons, the rest with the owner alone. */
static void start(void)
{
    static unsigned char buf[SIZE];
    struct zc_cache_config cfg = lazy(ZC_LEVEL_VISIBLE), theirs = lazy(ZC_LEVEL_STAGED);
    struct zc_client *clients[DAEMONS];
    struct zc_attr attr = {.block_size = BLOCK};
    struct zc_net *net;

    rig_transport = zc_tp_fault_open;
    net = rig_net(TIMEOUT_MS);
    ck_assert_int_eq(zc_store_mem_create(&mem), 0);
    for (int i = 0; i < DAEMONS; i++) {
        rig_up(&rigs[i], &theirs, borrow(mem));
        endpoints[i] = zc_tp_fault_last();
        clients[i] = rig_connect(&rigs[i], net);
    }
    ck_assert_int_eq(zc_store_remote_over(net, clients, DAEMONS, &remote), 0);
    ck_assert_int_eq(zc_cache_create(&cfg, remote, &owner), 0);
    ck_assert_int_eq(zc_cache_open(owner, "/f", RW | ZC_OPEN_CREATE, 0600, &file, &attr), 0);
    fill(buf, sizeof buf, 0, 1);
    for (int part = 0; part < 2; part++) {
        for (uint64_t at = (uint64_t)part * PAGE; at < SIZE; at += BLOCK)
            ck_assert_int_eq(zc_cache_write(file, buf + at, PAGE, at), PAGE);
        if (part == 0)
            ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STAGED), 0);
    }
    ck_assert_uint_eq(zc_cache_backlog(file), SIZE / 2);
}

/* Cuts off the daemon. */
static void lose_daemon(int i)
{
    zc_tp_fault_set(endpoints[i], ZC_TP_FAULT_ALL, ZC_TP_FAULT_DROP, 1, UINT64_MAX);
}

static void stop(void)
{
    zc_cache_close(file);
    zc_cache_destroy(owner);
    zc_store_destroy(remote);
    for (int i = 0; i < DAEMONS; i++) {
        zc_tp_fault_set(endpoints[i], 0, ZC_TP_FAULT_DROP, 0, 0);
        rig_down(&rigs[i]);
    }
    zc_store_destroy(mem);
}

static uint64_t stored_size(void)
{
    struct zc_attr attr;

    ck_assert_int_eq(zc_store_stat(mem, "/f", &attr), 0);
    return attr.size;
}

/* Checks that the file has `size` bytes: the first `written` as written, then zeros. */
static void sees(struct zc_handle *h, uint64_t size, uint64_t written)
{
    static unsigned char in[SIZE + 1];

    ck_assert_uint_eq(zc_cache_size(h), size);
    ck_assert_int_eq(zc_cache_read(h, in, sizeof in, 0), (ssize_t)size);
    expect(in, written, 0, 1);
    for (uint64_t i = written; i < size; i++)
        ck_assert_msg(!in[i], "byte %llu has come back", (unsigned long long)i);
}

/* Checks the owner's view, and, after its flush, that of a client without a cache. */
static void all_see(uint64_t size, uint64_t written)
{
    struct zc_cache_config cfg = lazy(ZC_LEVEL_VISIBLE);
    struct zc_attr attr = {.block_size = BLOCK};
    struct zc_store *below = borrow(remote);
    struct zc_cache *another;
    struct zc_handle *h;

    sees(file, size, written);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), 0);
    ck_assert_uint_eq(stored_size(), size);
    ck_assert_int_eq(zc_cache_create(&cfg, below, &another), 0);
    ck_assert_int_eq(zc_cache_open(another, "/f", ZC_OPEN_READ, 0, &h, &attr), 0);
    sees(h, size, written);
    zc_cache_close(h);
    zc_cache_destroy(another);
    zc_store_destroy(below);
}

/* Nothing behind CUT returns: not from the owner, a daemon or the store. */
static void is_cut(void)
{
    ck_assert_uint_eq(stored_size(), CUT);
    all_see(CUT, CUT);
    ck_assert_int_eq(zc_cache_truncate(file, SIZE), 0);
    all_see(SIZE, CUT);
}

static void cut_fails_at(int daemon, int err)
{
    zc_store_fault_set(rigs[daemon].store, ZC_FAULT_TRUNCATE, 1, 1, err);
}

/* The first daemon asked refuses: nothing has been cut. */
START_TEST(refused_by_the_store)
{
    start();
    for (int i = 0; i < DAEMONS; i++)
        cut_fails_at(i, EPERM);
    ck_assert_int_eq(zc_cache_truncate(file, CUT), -EPERM);
    for (int i = 0; i < DAEMONS; i++)
        zc_store_fault_set(rigs[i].store, 0, 0, 0, 0);
    all_see(SIZE, SIZE);
    ck_assert_int_eq(zc_cache_truncate(file, CUT), 0);
    is_cut();
    stop();
}
END_TEST

START_TEST(refused_at_the_first_daemon_alone)
{
    start();
    cut_fails_at(0, EIO);
    ck_assert_int_eq(zc_cache_truncate(file, CUT), -EIO);
    all_see(SIZE, SIZE);
    stop();
}
END_TEST

/* The file is truncated then: so are all caches, and the error says so. */
START_TEST(refused_at_another_daemon)
{
    const char *text;

    start();
    cut_fails_at(1, EIO);
    ck_assert_int_eq(zc_cache_truncate(file, CUT), -EREMOTEIO);
    text = zc_error_text(-EREMOTEIO);
    ck_assert_msg(strstr(text, "8292 bytes") && strstr(text, "truncate"), "%s", text);
    is_cut();
    stop();
}
END_TEST

START_TEST(grown_at_one_daemon_alone)
{
    start();
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), 0);
    cut_fails_at(2, EIO);
    ck_assert_int_eq(zc_cache_truncate(file, 2 * SIZE), -EREMOTEIO);
    ck_assert_uint_eq(zc_cache_size(file), 2 * SIZE);
    ck_assert_uint_eq(stored_size(), 2 * SIZE);
    stop();
}
END_TEST

/* A missing daemon is noticed before anything is cut. */
START_TEST(a_daemon_is_gone)
{
    start();
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), 0);
    lose_daemon(2);
    ck_assert_int_lt(zc_cache_truncate(file, CUT), 0);
    ck_assert_uint_eq(zc_cache_size(file), SIZE);
    ck_assert_uint_eq(stored_size(), SIZE);
    stop();
}
END_TEST

static void *truncate_it(void *rc)
{
    *(int *)rc = zc_cache_truncate(file, CUT);
    return NULL;
}

/* A daemon dies while the first one truncates the file: that cannot be undone. */
START_TEST(a_daemon_goes_meanwhile)
{
    pthread_t t;
    int rc = 0;

    start();
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), 0);
    zc_store_fault_hold(rigs[0].store, ZC_FAULT_TRUNCATE);
    pthread_create(&t, NULL, truncate_it, &rc);
    WAIT_FOR(zc_store_fault_held(rigs[0].store) == 1);
    lose_daemon(1);
    zc_store_fault_release(rigs[0].store);
    pthread_join(t, NULL);
    ck_assert_int_eq(rc, -EREMOTEIO);
    ck_assert_uint_eq(zc_cache_size(file), CUT);
    ck_assert_uint_eq(stored_size(), CUT);
    stop();
}
END_TEST

/* As with several owners of a file: the second finds it truncated, and cuts its cache, whatever the
 * store returns. */
START_TEST(after_another_owner)
{
    start();
    cut_fails_at(0, EIO);
    ck_assert_int_eq(zc_cache_cut(file, CUT), -EIO);
    ck_assert_uint_eq(zc_cache_size(file), CUT);
    ck_assert_int_eq(zc_cache_cut(file, CUT), 0);
    is_cut();
    stop();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("truncate");

    zc_log_init(NULL);
    CASE(s, "refused", 60, refused_by_the_store, refused_at_the_first_daemon_alone,
         refused_at_another_daemon, grown_at_one_daemon_alone);
    CASE(s, "gone", 60, a_daemon_is_gone, a_daemon_goes_meanwhile);
    CASE(s, "owners", 60, after_another_owner);
    zc_clock = zc_clock_sim();
    return run_suite(s);
}
