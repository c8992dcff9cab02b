/* test_readahead.c - readahead and merged reads, over a store that is held or fails.
 *
 * Pages of 4 KiB, each of the file /f filled with its number.  Tests wait on counters.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "check_main.h"
#include "zc_cache.h"
#include "zc_log.h"
#include "zc_store_fault.h"
#include "zc_store_mem.h"
#include "zc_view_test.h"

enum { PAGE = 4096, RW = ZC_OPEN_READ | ZC_OPEN_WRITE, NEW = RW | ZC_OPEN_CREATE, FILE_PAGES = 64 };

static struct zc_cache_config cfg;
static struct zc_store *store;
static struct zc_cache *cache;
static struct zc_handle *file;

/* ---- a store whose reads can be held after they were made ---- */

static struct zc_store_ops gate_ops;
static ssize_t (*read_below)(struct zc_sfile *, const struct iovec *, int, uint64_t);
static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_open = PTHREAD_COND_INITIALIZER;
static bool gate_shut;
static atomic_uint gate_waiting;

static ssize_t gated_read(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off)
{
    ssize_t got = read_below(f, iov, n, off);

    pthread_mutex_lock(&gate_lock);
    gate_waiting++;
    while (gate_shut)
        pthread_cond_wait(&gate_open, &gate_lock);
    gate_waiting--;
    pthread_mutex_unlock(&gate_lock);
    return got;
}

static void shut_gate(bool shut)
{
    pthread_mutex_lock(&gate_lock);
    gate_shut = shut;
    pthread_cond_broadcast(&gate_open);
    pthread_mutex_unlock(&gate_lock);
}

static void wait_gate(unsigned n)
{
    while (gate_waiting != n)
        sched_yield();
}

/* ---- helpers ---- */

static void store_fill(const char *path, unsigned first, unsigned pages, int add)
{
    struct zc_attr attr = {0};
    struct zc_sfile *sf;
    char buf[PAGE];

    ck_assert_int_eq(zc_store_open_file(store, path, NEW, 0644, &sf, &attr), 0);
    for (unsigned i = first; i < first + pages; i++) {
        struct iovec iov = {buf, PAGE};

        memset(buf, (int)i + add, PAGE);
        ck_assert_int_eq(zc_store_pwritev(sf, &iov, 1, (uint64_t)i * PAGE), PAGE);
    }
    zc_store_close_file(sf, ZC_LEVEL_VISIBLE);
}

static void setup(void)
{
    struct zc_store *mem;

    cfg = (struct zc_cache_config)ZC_CACHE_CONFIG_DEFAULT;
    cfg.page_size = PAGE;
    cfg.capacity = 64 * PAGE;
    cfg.high_watermark = 100;
    cfg.low_watermark = 50;
    cfg.idle_ms = 0;
    cfg.retry_ms = 1;
    cfg.prefetch = 8;
    cfg.max_read = PAGE;
    ck_assert_int_eq(zc_store_mem_create(&mem), 0);
    ck_assert_int_eq(zc_store_fault_create(mem, &store), 0);
    gate_ops = *store->ops;
    read_below = gate_ops.preadv;
    gate_ops.preadv = gated_read;
    store->ops = &gate_ops;
    store_fill("/f", 0, FILE_PAGES, 0);
}

static struct zc_handle *open_as(const char *path, uint64_t block_pages, uint64_t stride)
{
    struct zc_attr attr = {.block_size = block_pages * PAGE, .stride = stride};
    struct zc_handle *h;

    ck_assert_int_eq(zc_cache_open(cache, path, NEW, 0644, &h, &attr), 0);
    return h;
}

static void start(void)
{
    ck_assert_int_eq(zc_cache_create(&cfg, store, &cache), 0);
    file = open_as("/f", 1, 1);
}

static void stop(void)
{
    struct zc_cache_stats st;

    shut_gate(false);
    zc_store_fault_set(store, 0, 0, 0, 0);
    zc_store_fault_release(store);
    if (file)
        zc_cache_close(file);
    file = NULL;
    zc_cache_stats(cache, &st);
    ck_assert_uint_eq(st.prefetch_waiting_pages, 0);
    ck_assert_uint_eq(st.reading_pages, 0);
    ck_assert_uint_eq(st.prefetched_pages, st.prefetch_used_pages + st.prefetch_wasted_pages);
    ck_assert_uint_eq(st.prefetched_bytes, st.prefetch_used_bytes + st.prefetch_wasted_bytes);
    zc_cache_drain(cache);
    zc_cache_destroy(cache);
    zc_store_destroy(store);
}

static struct zc_cache_stats stats(void)
{
    struct zc_cache_stats st;

    zc_cache_stats(cache, &st);
    return st;
}

/* Waits until the statistics fulfil a condition; Check's time-out limits it. */
#define WAIT_FOR(cond)                                                                             \
    do {                                                                                           \
        struct zc_cache_stats st = stats();                                                        \
        if (cond)                                                                                  \
            break;                                                                                 \
        sched_yield();                                                                             \
    } while (1)

static void quiet(void)
{
    WAIT_FOR(st.reading_pages == 0);
}

static void wait_held(unsigned n)
{
    while (zc_store_fault_held(store) != n)
        sched_yield();
}

static void expect_page(struct zc_handle *h, unsigned page, int c)
{
    char buf[PAGE];

    ck_assert_int_eq(zc_cache_read(h, buf, PAGE, (uint64_t)page * PAGE), PAGE);
    expect_all(buf, PAGE, c, "page");
}

static void read_page(unsigned page)
{
    expect_page(file, page, (int)page);
}

/* Reads in order, each page after the readahead of the one before has ended. */
static void read_calmly(unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        read_page(i);
        quiet();
    }
}

/* An access under way; `ready` is set by its callback. */
struct acc {
    struct zc_access a;
    atomic_bool ready;
};

static void note_ready(struct zc_access *a)
{
    atomic_store(&((struct acc *)a)->ready, true);
}

static int begin(struct acc *x, enum zc_dir dir, unsigned page)
{
    memset(x, 0, sizeof *x);
    x->a.handle = file;
    x->a.dir = dir;
    x->a.off = (uint64_t)page * PAGE;
    x->a.len = PAGE;
    x->a.ready = note_ready;
    return zc_cache_begin(&x->a);
}

static void await(struct acc *x)
{
    while (!atomic_load(&x->ready))
        sched_yield();
}

/* Checks that a read that waited has the right bytes. */
static void finish_read(struct acc *x, int c)
{
    await(x);
    ck_assert_int_eq(x->a.status, 0);
    ck_assert_int_eq(((unsigned char *)x->a.data)[100], (unsigned char)c);
    zc_cache_end(&x->a, 0);
}

/* ---- the window ---- */

START_TEST(reads_in_order_are_hits)
{
    struct zc_cache_stats st;

    setup();
    start();
    read_calmly(0, 40);
    st = stats();
    ck_assert_uint_eq(st.read_misses, 1);
    ck_assert_uint_eq(st.read_hits, 39);
    ck_assert_uint_eq(st.missed_bytes, PAGE);
    ck_assert_uint_eq(st.prefetch_used_pages, 39);
    ck_assert_uint_eq(st.prefetch_used_bytes, 39 * PAGE);
    ck_assert_uint_eq(st.prefetch_waiting_pages, 8); /* the depth: bounded */
    ck_assert_uint_eq(st.store_reads, 48);
    stop();
}
END_TEST

START_TEST(random_reads_are_left_alone)
{
    setup();
    start();
    for (unsigned i = 0; i < 40; i++)
        read_page(i * 23 % FILE_PAGES);
    quiet();
    ck_assert_uint_le(stats().prefetched_pages, 8);
    stop();
}
END_TEST

START_TEST(waste_shuts_the_window)
{
    setup();
    start();
    read_calmly(0, 6);
    ck_assert_uint_eq(stats().prefetch_waiting_pages, 8);
    for (int i = 0; i < 6; i++) { /* each time what was read ahead is dropped */
        zc_cache_evict(cache);
        read_page(6 + (unsigned)i);
        quiet();
    }
    ck_assert_uint_eq(stats().prefetch_waiting_pages, 0);
    ck_assert_uint_ge(stats().prefetch_wasted_pages, 8);
    stop();
}
END_TEST

START_TEST(a_quarter_of_the_cache_at_most)
{
    static const unsigned pages[] = {2, 4, 8, 12};

    for (unsigned i = 0; i < 4; i++) {
        setup();
        cfg.capacity = pages[i] * PAGE;
        cfg.prefetch = 64;
        start();
        for (unsigned at = 0; at < FILE_PAGES; at++) {
            read_page(at);
            ck_assert_uint_le(stats().prefetch_waiting_pages, pages[i] / 4);
        }
        ck_assert((stats().prefetched_pages > 0) == (pages[i] >= 4));
        stop();
    }
}
END_TEST

START_TEST(depth_is_set_for_each_open)
{
    setup();
    start();
    zc_cache_prefetch(file, 0);
    read_calmly(0, 10);
    ck_assert_uint_eq(stats().prefetched_pages, 0);
    zc_cache_prefetch(file, 2);
    read_calmly(10, 20);
    ck_assert_uint_eq(stats().prefetch_waiting_pages, 2);
    zc_cache_prefetch(file, 0);
    ck_assert_uint_eq(stats().prefetch_waiting_pages, 0);
    stop();
}
END_TEST

START_TEST(along_the_stride_of_an_aggregator)
{
    setup();
    start();
    zc_cache_close(file);
    store_fill("/g", 0, FILE_PAGES, 0);
    file = open_as("/g", 2, 3);
    read_page(2); /* blocks 1, 4, 7, ... of two pages each */
    quiet();
    read_page(3);
    quiet();
    read_page(8);
    quiet();
    read_page(9);
    quiet();
    ck_assert_uint_eq(stats().read_misses, 1);
    read_page(4);
    ck_assert_uint_eq(stats().read_misses, 2);
    stop();
}
END_TEST

START_TEST(through_a_view_without_its_gaps)
{
    static const int64_t off[] = {0, 3 * PAGE, 4 * PAGE, 17 * PAGE, 31 * PAGE};
    static const int64_t len[] = {100, 100, 100, 100, 100};
    static const unsigned touched[] = {0, 3, 4, 17, 31, 50, 53, 54};
    struct zc_cache_stats st;
    struct zc_view *v;
    char buf[100];

    setup();
    start();
    ck_assert_int_eq(zc_view_create(off, len, 5, 50 * PAGE, &v), 0);
    for (unsigned i = 0; i < 8; i++) {
        ck_assert_int_eq(zc_cache_vread(file, v, 0, buf, 100, (int64_t)i * 100), 100);
        ck_assert_int_eq(buf[99], (char)touched[i]);
        quiet();
    }
    st = stats();
    ck_assert_uint_eq(st.read_misses, 1);
    ck_assert_uint_eq(st.prefetch_used_pages, 7);
    ck_assert_uint_eq(st.prefetch_wasted_pages, 0);
    ck_assert_uint_eq(st.store_reads, 8); /* the view goes on beyond the end of the file */
    zc_view_put(v);
    stop();
}
END_TEST

/* ---- in flight ---- */

START_TEST(late_readers_wait_and_hits_pass)
{
    struct acc demand, late, again, hit;

    setup();
    start();
    read_page(40);
    quiet();
    zc_store_fault_hold(store, ZC_FAULT_READ);
    ck_assert_int_eq(begin(&demand, ZC_READ, 0), -EINPROGRESS);
    wait_held(2); /* with page 1 ahead */
    ck_assert_int_eq(begin(&late, ZC_READ, 1), -EINPROGRESS);
    ck_assert_int_eq(begin(&again, ZC_READ, 1), -EINPROGRESS);
    ck_assert_int_eq(begin(&hit, ZC_READ, 40), 0);
    zc_cache_end(&hit.a, 0);
    ck_assert_uint_eq(stats().prefetch_late_pages, 1);
    ck_assert_uint_eq(stats().prefetch_late_bytes, PAGE);
    ck_assert_uint_eq(stats().read_late, 2);
    zc_store_fault_release(store);
    finish_read(&demand, 0);
    finish_read(&late, 1);
    finish_read(&again, 1);
    stop();
}
END_TEST

/* A requested read does not wait behind readahead. */
START_TEST(demand_goes_first)
{
    struct acc first, second;

    setup();
    cfg.readers = 1;
    start();
    zc_store_fault_hold(store, ZC_FAULT_READ);
    ck_assert_int_eq(begin(&first, ZC_READ, 0), -EINPROGRESS);
    wait_held(1);
    ck_assert_uint_eq(stats().reading_pages, 2); /* page 1 is queued for readahead */
    ck_assert_int_eq(begin(&second, ZC_READ, 50), -EINPROGRESS);
    zc_store_fault_set(store, ZC_FAULT_READ, 2, 1, EIO);
    zc_store_fault_release(store);
    finish_read(&first, 0);
    await(&second);
    ck_assert_int_eq(second.a.status, -EIO); /* the second store call was its own */
    quiet();
    stop();
}
END_TEST

/* While a read of the file is waited for, one readahead of it runs at a time; otherwise several. */
START_TEST(readahead_leaves_the_store_to_demand)
{
    struct acc demand, hit;

    setup();
    cfg.readers = 6;
    start();
    read_calmly(20, 32); /* 32 to 39 are there */
    zc_store_fault_hold(store, ZC_FAULT_READ);
    ck_assert_int_eq(begin(&demand, ZC_READ, 3), -EINPROGRESS);
    wait_held(1);
    for (unsigned i = 32; i < 36; i++) {
        ck_assert_int_eq(begin(&hit, ZC_READ, i), 0);
        zc_cache_end(&hit.a, 0);
    }
    ck_assert_uint_eq(stats().reading_pages, 5); /* 40 to 43, too */
    wait_held(2);
    usleep(20000);
    ck_assert_uint_eq(zc_store_fault_held(store), 2);
    zc_store_fault_release(store);
    finish_read(&demand, 3);
    quiet();
    zc_store_fault_hold(store, ZC_FAULT_READ);
    for (unsigned i = 36; i < 40; i++)
        read_page(i);
    wait_held(4); /* no access waits for any of them */
    zc_store_fault_release(store);
    quiet();
    stop();
}
END_TEST

START_TEST(queued_pages_hurry_when_asked_for)
{
    struct acc first, second;
    uint64_t ahead;

    setup();
    cfg.readers = 1;
    start();
    zc_store_fault_hold(store, ZC_FAULT_READ);
    ck_assert_int_eq(begin(&first, ZC_READ, 0), -EINPROGRESS);
    wait_held(1);
    ck_assert_uint_eq(stats().reading_pages, 2); /* page 1 is queued */
    ahead = stats().prefetched_pages;
    ck_assert_uint_eq(ahead, 0);
    ck_assert_int_eq(begin(&second, ZC_READ, 1), -EINPROGRESS);
    zc_store_fault_release(store);
    finish_read(&first, 0);
    finish_read(&second, 1);
    ck_assert_uint_eq(stats().prefetch_late_pages, 0); /* it was a miss like any other */
    ck_assert_uint_eq(stats().read_misses, 2);
    stop();
}
END_TEST

START_TEST(writers_take_back_what_is_queued)
{
    struct acc first, write;

    setup();
    cfg.readers = 1;
    start();
    zc_store_fault_hold(store, ZC_FAULT_READ);
    ck_assert_int_eq(begin(&first, ZC_READ, 0), -EINPROGRESS);
    wait_held(1);
    ck_assert_int_eq(begin(&write, ZC_WRITE, 1), 0);
    memset(write.a.data, 'w', PAGE);
    zc_cache_end(&write.a, PAGE);
    zc_store_fault_release(store);
    finish_read(&first, 0);
    expect_page(file, 1, 'w');
    stop();
}
END_TEST

/* ---- room ---- */

START_TEST(dirty_pages_stay)
{
    char buf[PAGE];

    setup();
    cfg.capacity = 16 * PAGE;
    start();
    memset(buf, 'd', sizeof buf);
    for (unsigned i = 0; i < 12; i++)
        ck_assert_int_eq(zc_cache_write(file, buf, PAGE, (40 + i) * (uint64_t)PAGE), PAGE);
    read_calmly(0, 30);
    ck_assert_uint_eq(stats().dirty_bytes, 12 * PAGE);
    for (unsigned i = 0; i < 12; i++)
        expect_page(file, 40 + i, 'd');
    ck_assert_uint_eq(stats().store_writes, 0);
    stop();
}
END_TEST

START_TEST(newly_written_pages_stay)
{
    struct zc_cache_stats st;
    char buf[PAGE];

    setup();
    cfg.capacity = 16 * PAGE;
    start();
    memset(buf, 'n', sizeof buf);
    for (unsigned i = 0; i < 16; i++) /* the whole cache */
        ck_assert_int_eq(zc_cache_write(file, buf, PAGE, (40 + i) * (uint64_t)PAGE), PAGE);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), 0);
    for (unsigned i = 0; i < 8; i++) /* rewrite the older half, then the newer */
        ck_assert_int_eq(zc_cache_write(file, buf, PAGE, (40 + i) * (uint64_t)PAGE), PAGE);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), 0);
    for (unsigned i = 0; i < 16; i++)
        expect_page(file, 40 + i, 'n');
    st = stats();
    ck_assert_uint_eq(st.written_hits, 16);
    ck_assert_uint_eq(st.read_hits, 16);
    read_page(0); /* takes the place of one */
    read_page(1);
    quiet();
    ck_assert_uint_eq(stats().prefetched_pages, 0);
    ck_assert_uint_eq(stats().evictions, 2);
    read_calmly(2, 20); /* old after half a cache of others */
    ck_assert_uint_gt(stats().prefetched_pages, 0);
    stop();
}
END_TEST

/* ---- overtaken ---- */

START_TEST(truncation_overtakes_reads)
{
    struct acc demand, beyond;

    setup();
    start();
    shut_gate(true);
    ck_assert_int_eq(begin(&demand, ZC_READ, 0), -EINPROGRESS);
    ck_assert_int_eq(begin(&beyond, ZC_READ, 30), -EINPROGRESS);
    wait_gate(3);                                       /* with page 1 ahead */
    ck_assert_int_eq(zc_cache_truncate(file, PAGE), 0); /* waits for none of them */
    ck_assert_int_eq(zc_cache_write(file, "x", 1, 60 * PAGE), 1);
    shut_gate(false);
    finish_read(&demand, 0);
    finish_read(&beyond, 0); /* a hole now, not the store's old bytes */
    quiet();
    expect_page(file, 1, 0);
    expect_page(file, 31, 0);
    stop();
}
END_TEST

START_TEST(truncation_takes_back_what_is_queued)
{
    struct acc demand;

    setup();
    cfg.readers = 1;
    start();
    zc_store_fault_hold(store, ZC_FAULT_READ);
    ck_assert_int_eq(begin(&demand, ZC_READ, 0), -EINPROGRESS);
    wait_held(1);
    ck_assert_uint_eq(stats().reading_pages, 2);
    ck_assert_int_eq(zc_cache_truncate(file, PAGE), 0);
    ck_assert_uint_eq(stats().reading_pages, 1);
    zc_store_fault_release(store);
    finish_read(&demand, 0);
    ck_assert_uint_eq(stats().store_reads, 1);
    stop();
}
END_TEST

START_TEST(deletion_takes_back_what_is_queued)
{
    struct acc demand;

    setup();
    cfg.readers = 1;
    start();
    zc_store_fault_hold(store, ZC_FAULT_READ);
    ck_assert_int_eq(begin(&demand, ZC_READ, 0), -EINPROGRESS);
    wait_held(1);
    ck_assert_int_eq(zc_cache_unlink(cache, "/f"), 0);
    ck_assert_uint_eq(stats().reading_pages, 1);
    zc_store_fault_release(store);
    finish_read(&demand, 0);
    read_page(1); /* still there for open handles, and read on demand */
    quiet();
    ck_assert_uint_eq(stats().prefetched_pages, 0);
    zc_cache_close(file);
    store_fill("/f", 0, 4, 100);
    file = open_as("/f", 1, 1);
    expect_page(file, 0, 100);
    expect_page(file, 1, 101);
    stop();
}
END_TEST

START_TEST(sync_overtakes_reads)
{
    struct acc demand, after;

    setup();
    start();
    shut_gate(true);
    ck_assert_int_eq(begin(&demand, ZC_READ, 0), -EINPROGRESS);
    wait_gate(2); /* page 1 is read, and still with the reader thread */
    store_fill("/f", 0, 2, 100);
    ck_assert_int_eq(zc_cache_refresh(file), 0);
    ck_assert_int_eq(begin(&after, ZC_READ, 1), -EINPROGRESS);
    shut_gate(false);
    finish_read(&demand, 100);
    finish_read(&after, 101);
    stop();
}
END_TEST

START_TEST(close_takes_back_what_is_queued)
{
    struct acc demand;

    setup();
    cfg.readers = 1;
    start();
    zc_store_fault_hold(store, ZC_FAULT_READ);
    ck_assert_int_eq(begin(&demand, ZC_READ, 0), -EINPROGRESS);
    wait_held(1);
    zc_store_fault_release(store);
    finish_read(&demand, 0);
    zc_cache_close(file);
    file = NULL;
    ck_assert_uint_le(stats().store_reads, 2);
    ck_assert_uint_eq(stats().reading_pages, 0);
    stop();
}
END_TEST

/* ---- store reads ---- */

/* One read is held; three pages behind it wait for the only reader. */
static void queue_three(struct acc *x, uint32_t max_read)
{
    setup();
    cfg.readers = 1;
    cfg.prefetch = 0;
    cfg.max_read = max_read;
    start();
    zc_store_fault_hold(store, ZC_FAULT_READ);
    ck_assert_int_eq(begin(&x[0], ZC_READ, 20), -EINPROGRESS);
    wait_held(1);
    ck_assert_int_eq(begin(&x[1], ZC_READ, 2), -EINPROGRESS);
    ck_assert_int_eq(begin(&x[2], ZC_READ, 1), -EINPROGRESS); /* in any order */
    ck_assert_int_eq(begin(&x[3], ZC_READ, 3), -EINPROGRESS);
}

static void finish_three(struct acc *x)
{
    zc_store_fault_release(store);
    finish_read(&x[0], 20);
    finish_read(&x[1], 2);
    finish_read(&x[2], 1);
    finish_read(&x[3], 3);
    ck_assert_uint_eq(stats().store_read_bytes, 4 * PAGE);
}

START_TEST(neighbours_are_read_together)
{
    struct acc x[4];

    queue_three(x, 4 * PAGE);
    finish_three(x);
    ck_assert_uint_eq(stats().store_reads, 2);
    stop();
    queue_three(x, 2 * PAGE); /* the largest read */
    finish_three(x);
    ck_assert_uint_eq(stats().store_reads, 3);
    stop();
}
END_TEST

/* The read of three pages fails, then that of the first alone: the others are read. */
START_TEST(one_bad_page_does_not_spoil_its_neighbours)
{
    struct acc x[4];

    queue_three(x, 4 * PAGE);
    zc_store_fault_set(store, ZC_FAULT_READ, 2, 2, EIO); /* the held one is the first */
    zc_store_fault_release(store);
    finish_read(&x[0], 20);
    await(&x[2]);
    ck_assert_int_eq(x[2].a.status, -EIO);
    finish_read(&x[1], 2);
    finish_read(&x[3], 3);
    read_page(1); /* and now that one, too */
    stop();
}
END_TEST

START_TEST(a_failed_readahead_is_no_error)
{
    setup();
    start();
    zc_cache_prefetch(file, 0);
    read_page(0);
    zc_cache_prefetch(file, 8);
    zc_store_fault_set(store, ZC_FAULT_READ, 1, 1, EIO);
    read_page(0); /* a hit, and page 1 is read ahead */
    quiet();
    ck_assert_uint_eq(stats().store_errors, 1);
    ck_assert_uint_eq(stats().prefetch_wasted_pages, 1);
    read_page(1);
    read_calmly(2, 20);
    stop();
}
END_TEST

/* Two pages are being read ahead, one of which is requested by then: when the read fails, that page
 * is read on demand. */
START_TEST(a_failed_readahead_is_read_on_demand)
{
    struct acc late;

    setup();
    cfg.readers = 1;
    cfg.max_read = 4 * PAGE;
    start();
    read_page(0);
    quiet();
    zc_store_fault_hold(store, ZC_FAULT_READ);
    read_page(1); /* a hit: pages 2 and 3 are read ahead */
    wait_held(1);
    ck_assert_uint_eq(stats().reading_pages, 2);
    ck_assert_int_eq(begin(&late, ZC_READ, 3), -EINPROGRESS);
    zc_store_fault_set(store, ZC_FAULT_READ, 1, 1, EIO);
    zc_store_fault_release(store);
    finish_read(&late, 3);
    read_calmly(2, 20);
    stop();
}
END_TEST

enum { THREADS = 8, ROUNDS = 3 };

static void *read_all(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < FILE_PAGES; i++)
        read_page(i);
    return NULL;
}

START_TEST(many_readers_one_store_read)
{
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t t[THREADS];

        setup();
        cfg.capacity = 4 * FILE_PAGES * PAGE;
        cfg.max_read = (uint32_t)PAGE << round;
        start();
        for (int i = 0; i < THREADS; i++)
            pthread_create(&t[i], NULL, read_all, NULL);
        for (int i = 0; i < THREADS; i++)
            pthread_join(t[i], NULL);
        quiet();
        ck_assert_uint_eq(stats().store_read_bytes, FILE_PAGES * PAGE);
        ck_assert_uint_le(stats().store_reads, FILE_PAGES);
        stop();
    }
}
END_TEST

/* Readers, writers and truncations of one file, with all possible readahead. */
static atomic_bool done;

static void *cut_and_grow(void *arg)
{
    (void)arg;
    for (int i = 0; i < 40; i++) {
        ck_assert_int_eq(zc_cache_truncate(file, 32 * PAGE), 0);
        ck_assert_int_eq(zc_cache_write(file, "x", 1, FILE_PAGES * PAGE - 1), 1);
        if (i % 10 == 0)
            ck_assert_int_eq(zc_cache_refresh(file), 0);
    }
    atomic_store(&done, true);
    return NULL;
}

/* Pages below the cut never change; beyond, they are old or zeros, as a whole. */
static void *scan(void *arg)
{
    (void)arg;
    while (!atomic_load(&done)) {
        for (unsigned i = 0; i < 32; i++)
            read_page(i);
        for (unsigned i = 32; i < FILE_PAGES; i++) {
            char buf[PAGE];

            if (zc_cache_read(file, buf, 16, (uint64_t)i * PAGE) == 16)
                ck_assert(buf[0] == (char)i || buf[0] == 0);
        }
    }
    return NULL;
}

START_TEST(everything_at_once)
{
    pthread_t t[4];

    setup();
    cfg.capacity = 24 * PAGE;
    cfg.prefetch = 64;
    cfg.max_read = 4 * PAGE;
    cfg.idle_ms = 1;
    start();
    atomic_store(&done, false);
    pthread_create(&t[0], NULL, cut_and_grow, NULL);
    for (int i = 1; i < 4; i++)
        pthread_create(&t[i], NULL, scan, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    quiet();
    stop();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ahead");

    CASE(s, "window", 60, reads_in_order_are_hits, random_reads_are_left_alone,
         waste_shuts_the_window, a_quarter_of_the_cache_at_most, depth_is_set_for_each_open,
         along_the_stride_of_an_aggregator, through_a_view_without_its_gaps);
    CASE(s, "in_flight", 60, late_readers_wait_and_hits_pass, demand_goes_first,
         readahead_leaves_the_store_to_demand, queued_pages_hurry_when_asked_for,
         writers_take_back_what_is_queued);
    CASE(s, "room", 60, dirty_pages_stay, newly_written_pages_stay);
    CASE(s, "overtaken", 60, truncation_overtakes_reads, truncation_takes_back_what_is_queued,
         deletion_takes_back_what_is_queued, sync_overtakes_reads, close_takes_back_what_is_queued);
    CASE(s, "store", 60, neighbours_are_read_together, one_bad_page_does_not_spoil_its_neighbours,
         a_failed_readahead_is_no_error, a_failed_readahead_is_read_on_demand);
    CASE(s, "threads", 120, many_readers_one_store_read, everything_at_once);
    return run_suite(s);
}
