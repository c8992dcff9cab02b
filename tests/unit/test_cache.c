/* test_cache.c - the promises of zc_cache.h, one test each.
 *
 * Store calls are held or failed by the faulty store, and tests wait on counters, never on
 * time.  Four pages of 4 KiB unless a test says otherwise.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check_main.h"
#include "zc_cache.h"
#include "zc_log.h"
#include "zc_store_fault.h"

enum { PAGE = 4096, RW = ZC_OPEN_READ | ZC_OPEN_WRITE, NEW = RW | ZC_OPEN_CREATE };

static struct zc_cache_config cfg;
static struct zc_store *store;
static struct zc_cache *cache;
static struct zc_handle *file;

/* ---- helpers ---- */

static void make_cache(void)
{
    ck_assert_int_eq(zc_cache_create(&cfg, store, &cache), 0);
}

static struct zc_handle *open_flags(const char *path, unsigned flags)
{
    struct zc_attr attr = {0};
    struct zc_handle *h;
    int rc = zc_cache_open(cache, path, flags, 0644, &h, &attr);

    ck_assert_msg(rc == 0, "open: %s", rc ? zc_error_text(rc) : "");
    ck_assert_uint_eq(attr.size, zc_cache_size(h));
    return h;
}

/* Before start(): four pages, nothing is written back by itself. */
static void setup(void)
{
    struct zc_store *mem;

    cfg = (struct zc_cache_config)ZC_CACHE_CONFIG_DEFAULT;
    cfg.page_size = PAGE;
    cfg.capacity = 4 * PAGE;
    cfg.high_watermark = 100;
    cfg.low_watermark = 50;
    cfg.idle_ms = 0;
    cfg.retry_ms = 1;
    ck_assert_int_eq(zc_store_mem_create(&mem), 0);
    ck_assert_int_eq(zc_store_fault_create(mem, &store), 0);
}

static void start(void)
{
    make_cache();
    file = open_flags("/f", NEW);
}

static void stop(void)
{
    zc_store_fault_set(store, 0, 0, 0, 0);
    zc_store_fault_release(store);
    if (file)
        zc_cache_close(file);
    file = NULL;
    zc_cache_drain(cache);
    zc_cache_destroy(cache);
    store->ops->destroy(store);
}

static struct zc_cache_stats stats(void)
{
    struct zc_cache_stats st;

    zc_cache_stats(cache, &st);
    return st;
}

/* Waits until the statistics fulfil a condition; Check's time-out ends a wait in vain. */
#define WAIT_FOR(cond)                                                                             \
    do {                                                                                           \
        struct zc_cache_stats st = stats();                                                        \
        if (cond)                                                                                  \
            break;                                                                                 \
        sched_yield();                                                                             \
    } while (1)

static void wait_held(unsigned n)
{
    while (zc_store_fault_held(store) != n)
        sched_yield();
}

static void put(uint64_t off, size_t len, int c)
{
    char *buf = malloc(len);

    memset(buf, c, len);
    ck_assert_int_eq(zc_cache_write(file, buf, len, off), (ssize_t)len);
    free(buf);
}

static void all_are(const char *buf, size_t len, int c, uint64_t off, const char *where)
{
    for (size_t i = 0; i < len; i++)
        if (buf[i] != (char)c)
            ck_abort_msg("%s: byte %llu is %02x, should be %02x", where,
                         (unsigned long long)(off + i), buf[i] & 0xff, c);
}

/* Bytes [off, off + len) read as `c` through the cache. */
static void expect(uint64_t off, size_t len, int c)
{
    char *buf = malloc(len);

    ck_assert_int_eq(zc_cache_read(file, buf, len, off), (ssize_t)len);
    all_are(buf, len, c, off, "cache");
    free(buf);
}

/* The same in the store, behind the cache's back. */
static void expect_stored(const char *path, uint64_t off, size_t len, int c)
{
    char *buf = malloc(len);
    struct iovec iov = {buf, len};
    struct zc_attr attr = {0};
    struct zc_sfile *sf;

    ck_assert_int_eq(store->ops->open(store, path, ZC_OPEN_READ, 0, &sf, &attr), 0);
    ck_assert_int_eq(store->ops->preadv(sf, &iov, 1, off), (ssize_t)len);
    store->ops->close(sf, ZC_LEVEL_VISIBLE);
    all_are(buf, len, c, off, "store");
    free(buf);
}

static void store_put(const char *path, uint64_t off, size_t len, int c)
{
    char *buf = malloc(len);
    struct iovec iov = {buf, len};
    struct zc_attr attr = {0};
    struct zc_sfile *sf;

    memset(buf, c, len);
    ck_assert_int_eq(store->ops->open(store, path, NEW, 0, &sf, &attr), 0);
    ck_assert_int_eq(store->ops->pwritev(sf, &iov, 1, off), (ssize_t)len);
    store->ops->close(sf, ZC_LEVEL_VISIBLE);
    free(buf);
}

static uint64_t stored_size(const char *path)
{
    struct zc_attr attr;

    ck_assert_int_eq(store->ops->stat(store, path, &attr), 0);
    return attr.size;
}

static void flush_ok(void)
{
    int rc = zc_cache_flush(file, ZC_LEVEL_STORED);

    ck_assert_msg(rc == 0, "flush: %s", rc ? zc_error_text(rc) : "");
}

/* An access that notes when and in which order it became ready. */
struct acc {
    struct zc_access a;
    atomic_int order; /* 0: not ready */
};

static atomic_int ready_count;

static void note_ready(struct zc_access *a)
{
    struct acc *x = zc_list_entry(a, struct acc, a);

    atomic_store(&x->order, atomic_fetch_add(&ready_count, 1) + 1);
}

static int begin(struct acc *x, enum zc_dir dir, uint64_t off, uint32_t len)
{
    memset(&x->a, 0, sizeof(x->a));
    atomic_store(&x->order, 0);
    x->a.handle = file;
    x->a.dir = dir;
    x->a.off = off;
    x->a.len = len;
    x->a.ready = note_ready;
    return zc_cache_begin(&x->a);
}

static bool is_ready(struct acc *x)
{
    return atomic_load(&x->order) != 0;
}

static void await(struct acc *x)
{
    while (!is_ready(x))
        sched_yield();
}

static void end_write(struct acc *x, int c)
{
    memset(x->a.data, c, x->a.len);
    zc_cache_end(&x->a, x->a.len);
}

/* ---- configuration, arguments ---- */

static void refuse(const char *word)
{
    struct zc_cache *c;

    ck_assert_int_eq(zc_cache_create(&cfg, store, &c), -EINVAL);
    ck_assert_ptr_null(c);
    ck_assert_msg(strstr(zc_error_text(EINVAL), word) != NULL, "%s: %s", word,
                  zc_error_text(EINVAL));
    cfg = (struct zc_cache_config)ZC_CACHE_CONFIG_DEFAULT;
}

START_TEST(bad_settings_are_named)
{
    setup();
    cfg.page_size = 5000, refuse("page size");
    cfg.page_size = 2048, refuse("page size");
    cfg.capacity = cfg.page_size, refuse("two pages");
    cfg.low_watermark = 75, refuse("watermarks");
    cfg.high_watermark = 101, refuse("watermarks");
    cfg.flushers = 0, refuse("flushers");
    cfg.readers = 0, refuse("readers");
    cfg.max_io = 100, refuse("store write");
    cfg.max_read = 100, refuse("store read");
    cfg.prefetch = 65, refuse("read ahead");
    cfg.max_extents = 1, refuse("ranges");
    cfg.retry_ms = 0, refuse("retry");
    store->ops->destroy(store);
}
END_TEST

START_TEST(bad_accesses_are_refused)
{
    struct acc x;

    setup();
    start();
    ck_assert_int_eq(begin(&x, ZC_READ, 0, 0), -EINVAL);
    ck_assert_int_eq(begin(&x, ZC_READ, 1, PAGE), -EINVAL);
    ck_assert_int_eq(begin(&x, ZC_WRITE, (uint64_t)INT64_MAX - 10, 100), -EFBIG);
    zc_cache_close(file);
    file = open_flags("/f", ZC_OPEN_READ);
    ck_assert_int_eq(begin(&x, ZC_WRITE, 0, 1), -EBADF);
    ck_assert_int_eq(zc_cache_truncate(file, 0), -EBADF);
    ck_assert_int_eq(zc_cache_allocate(file, 0, 1), -EBADF);
    zc_cache_close(file);
    file = open_flags("/f", ZC_OPEN_WRITE);
    ck_assert_int_eq(begin(&x, ZC_READ, 0, 1), -EBADF);
    stop();
}
END_TEST

/* ---- accesses ---- */

START_TEST(writers_never_read)
{
    setup();
    start();
    put(10, 100, 'a');
    put(PAGE + 7, 1, 'b');
    ck_assert_uint_eq(stats().store_reads, 0);
    expect(10, 100, 'a');
    ck_assert_uint_eq(stats().store_reads, 0);
    ck_assert_uint_eq(stats().dirty_bytes, 101);
    ck_assert_uint_eq(zc_cache_size(file), PAGE + 8);
    stop();
}
END_TEST

START_TEST(holes_and_ends_read_as_zeros)
{
    char buf[100];

    setup();
    start();
    put(10, 10, 'a');
    expect(0, 10, 0);
    ck_assert_int_eq(zc_cache_read(file, buf, 100, 15), 5);
    ck_assert_int_eq(zc_cache_read(file, buf, 100, 20), 0);
    put(3 * PAGE, 1, 'b'); /* what was beyond the end is a hole now */
    expect(20, 3 * PAGE - 20, 0);
    flush_ok();
    expect_stored("/f", 10, 10, 'a');
    expect_stored("/f", 20, 3 * PAGE - 20, 0);
    stop();
}
END_TEST

START_TEST(hits_pass_a_read_in_flight)
{
    struct acc miss, hit, writer;

    setup();
    store_put("/f", 0, 2 * PAGE, 's');
    start();
    put(0, 100, 'a');
    zc_store_fault_hold(store, ZC_FAULT_READ);
    ck_assert_int_eq(begin(&miss, ZC_READ, 50, 100), -EINPROGRESS);
    wait_held(1);
    ck_assert_int_eq(begin(&hit, ZC_READ, 0, 100), 0); /* same page, valid bytes */
    ck_assert_uint_eq(hit.a.avail, 100);
    zc_cache_end(&hit.a, 0);
    ck_assert_int_eq(begin(&writer, ZC_WRITE, 2000, 10), -EINPROGRESS); /* not while reading */
    put(PAGE, 10, 'b');                                                 /* another page */
    ck_assert_uint_eq(stats().reading_pages, 1);
    ck_assert_uint_eq(stats().waiting_read, 2);
    zc_store_fault_release(store);
    await(&miss);
    await(&writer);
    ck_assert_int_lt(atomic_load(&miss.order), atomic_load(&writer.order));
    all_are((char *)miss.a.data, 50, 'a', 50, "dirty part");
    all_are((char *)miss.a.data + 50, 50, 's', 100, "store part");
    zc_cache_end(&miss.a, 0);
    end_write(&writer, 'w');
    expect(2000, 10, 'w');
    expect(2010, 10, 's');
    stop();
}
END_TEST

/* A reader whose missing bytes are being written waits for the writer, not for the store. */
START_TEST(reader_waits_for_the_writer)
{
    struct acc w1, w2, r;

    setup();
    store_put("/f", 0, PAGE, 's');
    start();
    ck_assert_int_eq(begin(&w1, ZC_WRITE, 100, 100), 0);
    ck_assert_int_eq(begin(&w2, ZC_WRITE, 150, 10), 0); /* several writers at once */
    ck_assert_int_eq(begin(&r, ZC_READ, 100, 100), -EINPROGRESS);
    ck_assert_uint_eq(stats().store_reads, 0);
    end_write(&w2, 'b');
    ck_assert(!is_ready(&r));
    end_write(&w1, 'a');
    ck_assert(is_ready(&r)); /* by the call that ended the writer */
    zc_cache_end(&r.a, 0);
    ck_assert_uint_eq(stats().store_reads, 0);
    stop();
}
END_TEST

/* The store fills only what no write under way touches. */
START_TEST(read_leaves_out_a_write_in_flight)
{
    struct acc w, r, late;

    setup();
    store_put("/f", 0, PAGE, 's');
    start();
    ck_assert_int_eq(begin(&w, ZC_WRITE, 100, 100), 0);
    memset(w.a.data, 'w', 100);
    ck_assert_int_eq(begin(&r, ZC_READ, 50, 100), -EINPROGRESS);
    WAIT_FOR(st.store_reads >= 1 && st.reading_pages == 0);
    ck_assert(!is_ready(&r));
    ck_assert_int_eq(begin(&late, ZC_WRITE, 1000, 10), -EINPROGRESS); /* behind the reader */
    zc_cache_end(&w.a, 100);
    await(&r);
    all_are(r.a.data, 50, 's', 50, "store");
    all_are((char *)r.a.data + 50, 50, 'w', 100, "writer");
    await(&late);
    zc_cache_end(&r.a, 0);
    end_write(&late, 'l');
    expect(0, 100, 's');
    expect(200, 800, 's');
    stop();
}
END_TEST

START_TEST(broken_off_write)
{
    struct acc w;

    setup();
    store_put("/f", 0, PAGE, 's');
    start();
    put(160, 10, 'd');
    ck_assert_int_eq(begin(&w, ZC_WRITE, 100, 100), 0);
    memset(w.a.data, 'w', 30);
    zc_cache_end(&w.a, 30);
    ck_assert_uint_eq(stats().dirty_bytes, 40);
    expect(100, 30, 'w');
    expect(130, 30, 's'); /* clean bytes became invalid and are read again */
    expect(160, 10, 'd'); /* (we did not touch them) */
    expect(170, 30, 's');
    ck_assert_int_eq(begin(&w, ZC_WRITE, 0, PAGE), 0);
    zc_cache_end(&w.a, 0);
    ck_assert_uint_eq(stats().dirty_bytes, 40);
    expect(0, 100, 's');
    stop();
}
END_TEST

START_TEST(failed_read_is_told_and_forgotten)
{
    struct acc r;
    char c;

    setup();
    store_put("/f", 0, PAGE, 's');
    start();
    zc_store_fault_set(store, ZC_FAULT_READ, 1, 1, EIO);
    ck_assert_int_eq(begin(&r, ZC_READ, 0, 10), -EINPROGRESS);
    await(&r);
    ck_assert_int_eq(r.a.status, -EIO);
    zc_store_fault_set(store, ZC_FAULT_READ, 1, 1, EIO);
    ck_assert_int_eq(zc_cache_read(file, &c, 1, 0), -EIO);
    ck_assert_ptr_nonnull(strstr(zc_error_text(EIO), "injected"));
    expect(0, 100, 's');
    ck_assert_uint_eq(stats().pinned_pages, 0);
    stop();
}
END_TEST

/* ---- room ---- */

START_TEST(waiters_for_room_in_order)
{
    struct acc pin[4], w[3], hit;

    setup();
    start();
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(begin(&pin[i], ZC_WRITE, i * PAGE, 10), 0);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(begin(&w[i], ZC_WRITE, (10 + i) * PAGE, 10), -EINPROGRESS);
    ck_assert_uint_eq(stats().waiting_room, 3);
    ck_assert_int_eq(begin(&hit, ZC_WRITE, 100, 10), 0); /* passes those who wait */
    end_write(&hit, 'h');
    ck_assert_uint_eq(stats().used_bytes, 4 * PAGE);
    for (int i = 0; i < 3; i++) {
        end_write(&pin[i], 'p'); /* dirty: written back to make room */
        await(&w[i]);
        for (int k = i + 1; k < 3; k++)
            ck_assert(!is_ready(&w[k]));
        ck_assert_uint_le(stats().used_bytes, 4 * PAGE);
    }
    for (int i = 0; i < 3; i++)
        end_write(&w[i], 'w');
    end_write(&pin[3], 'p');
    expect(0, 10, 'p');
    expect(100, 10, 'h');
    expect(10 * PAGE, 10, 'w');
    stop();
}
END_TEST

START_TEST(only_clean_unpinned_pages_are_evicted)
{
    struct acc r;

    setup();
    store_put("/f", 0, 8 * PAGE, 's');
    start();
    put(0, PAGE, 'd');
    expect(PAGE, 1, 's');
    expect(2 * PAGE, 1, 's');
    ck_assert_int_eq(begin(&r, ZC_READ, PAGE, 10), 0);
    ck_assert_uint_eq(zc_cache_evict(cache), PAGE); /* page 2 alone */
    ck_assert_uint_eq(stats().used_bytes, 2 * PAGE);
    for (int i = 2; i < 8; i++)
        expect(i * PAGE, PAGE, 's');
    ck_assert_uint_eq(stats().dirty_bytes, PAGE); /* read traffic writes nothing */
    ck_assert_uint_eq(stats().store_writes, 0);
    all_are(r.a.data, 10, 's', PAGE, "pinned");
    zc_cache_end(&r.a, 0);
    expect(0, PAGE, 'd');
    stop();
}
END_TEST

/* The least recently used one goes. */
START_TEST(lru)
{
    uint64_t reads;

    setup();
    store_put("/f", 0, 8 * PAGE, 's');
    start();
    for (int i = 0; i < 4; i++)
        expect(i * PAGE, 1, 's');
    expect(0, 1, 's');
    expect(4 * PAGE, 1, 's'); /* evicts page 1 */
    reads = stats().store_reads;
    expect(0, 1, 's');
    expect(2 * PAGE, 1, 's');
    expect(3 * PAGE, 1, 's');
    ck_assert_uint_eq(stats().store_reads, reads);
    expect(PAGE, 1, 's');
    ck_assert_uint_eq(stats().store_reads, reads + 1);
    stop();
}
END_TEST

/* ---- write-back ---- */

START_TEST(watermarks)
{
    setup();
    cfg.capacity = 16 * PAGE;
    cfg.high_watermark = 50;
    cfg.low_watermark = 25;
    cfg.max_io = PAGE;
    start();
    for (int i = 0; i < 8; i++)
        put(2 * i * PAGE, PAGE, 'a');
    ck_assert_uint_eq(stats().store_writes, 0); /* at the high one, not above */
    put(100 * PAGE, 1, 'a');
    WAIT_FOR(st.dirty_bytes <= 4 * PAGE && st.flushing_bytes == 0);
    ck_assert_uint_eq(stats().store_writes, 5);
    ck_assert_uint_eq(stats().dirty_bytes, 3 * PAGE + 1); /* the last step below */
    expect_stored("/f", 0, PAGE, 'a');                    /* the oldest went */
    put(50 * PAGE, PAGE, 'a');                            /* between the marks nothing moves */
    ck_assert_uint_eq(stats().store_writes, 5);
    stop();
}
END_TEST

START_TEST(newest_first)
{
    setup();
    cfg.capacity = 8 * PAGE;
    cfg.high_watermark = 50;
    cfg.low_watermark = 40;
    cfg.max_io = PAGE;
    cfg.flushers = 1;
    cfg.flush_order = ZC_FLUSH_NEWEST;
    start();
    for (int i = 0; i < 5; i++)
        put(2 * i * PAGE, PAGE, 'a');
    WAIT_FOR(st.store_writes == 2 && st.flushing_bytes == 0);
    ck_assert_uint_eq(stored_size("/f"), 9 * PAGE); /* page 8 was the last modified */
    stop();
}
END_TEST

START_TEST(neighbours_leave_together)
{
    setup();
    cfg.capacity = 32 * PAGE;
    cfg.max_io = 8 * PAGE;
    start();
    put(0, 20 * PAGE, 'a');
    flush_ok();
    ck_assert_uint_eq(stats().store_writes, 3); /* 8 + 8 + 4, aligned */
    ck_assert_uint_eq(stats().store_written_bytes, 20 * PAGE);
    put(100, 10, 'b'); /* two ranges, two writes; nothing between them is written */
    put(200, 10, 'b');
    put(2 * PAGE - 5, 10, 'c'); /* crosses a border: one write */
    flush_ok();
    ck_assert_uint_eq(stats().store_writes, 6);
    ck_assert_uint_eq(stats().store_written_bytes, 20 * PAGE + 30);
    stop();
}
END_TEST

START_TEST(idle_pages_are_written)
{
    setup();
    cfg.idle_ms = 1;
    start();
    put(0, 10, 'a');
    WAIT_FOR(st.dirty_bytes == 0);
    expect_stored("/f", 0, 10, 'a');
    stop();
}
END_TEST

START_TEST(levels_already_reached)
{
    setup();
    cfg.level = ZC_LEVEL_STAGED;
    start();
    put(0, 10, 'a');
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STAGED), 0);
    ck_assert_uint_eq(stats().store_writes, 0);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), 0);
    ck_assert_uint_eq(stats().store_writes, 1);
    stop();
}
END_TEST

/* Nobody waits for it; what fails is for the next flush to tell, and the close need not wait. */
START_TEST(flush_for_nobody)
{
    setup();
    cfg.retry_ms = 1000000;
    start();
    put(0, 10, 'a');
    ck_assert_int_eq(zc_cache_flush_later(file, ZC_LEVEL_STORED), 0);
    WAIT_FOR(st.waiting_flush == 0);
    expect_stored("/f", 0, 10, 'a');
    zc_store_fault_set(store, ZC_FAULT_SYNC, 1, 1, EIO);
    ck_assert_int_eq(zc_cache_flush_later(file, ZC_LEVEL_DURABLE), 0);
    WAIT_FOR(st.waiting_flush == 0);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -EIO);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), 0);
    put(0, 10, 'b');
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    ck_assert_int_eq(zc_cache_flush_later(file, ZC_LEVEL_STORED), 0);
    wait_held(1);
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    zc_store_fault_release(store);
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    expect_stored("/f", 0, 10, 'b');
    ck_assert_uint_eq(stats().files, 1);
    stop();
}
END_TEST

struct flush_note {
    struct zc_flush f;
    atomic_int calls;
};

static void flushed(struct zc_flush *f)
{
    atomic_fetch_add(&zc_list_entry(f, struct flush_note, f)->calls, 1);
}

static void start_flush(struct flush_note *n, enum zc_level level)
{
    memset(&n->f, 0, sizeof(n->f));
    atomic_store(&n->calls, 0);
    n->f.handle = file;
    n->f.level = level;
    n->f.done = flushed;
    zc_cache_flush_start(&n->f);
}

static void await_flush(struct flush_note *n)
{
    while (atomic_load(&n->calls) == 0)
        sched_yield();
}

/* A flush ends although the page is made dirty again; a page being written may be written
 * to, and goes out again. */
START_TEST(flush_has_a_target)
{
    struct flush_note n, second;

    setup();
    start();
    put(0, 10, 'a');
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    start_flush(&n, ZC_LEVEL_STORED);
    wait_held(1);
    put(0, 5, 'b'); /* while being written back */
    put(PAGE, 10, 'c');
    ck_assert_uint_eq(stats().flushing_bytes, 10);
    ck_assert_uint_eq(stats().dirty_bytes, 25);
    zc_store_fault_release(store);
    await_flush(&n);
    ck_assert_int_eq(n.f.status, 0);
    ck_assert_uint_eq(stats().dirty_bytes, 15); /* later bytes are not its business */
    start_flush(&second, ZC_LEVEL_DURABLE);
    await_flush(&second);
    ck_assert_int_eq(second.f.status, 0);
    expect_stored("/f", 0, 5, 'b');
    expect_stored("/f", PAGE, 10, 'c');
    ck_assert_uint_eq(stats().dirty_bytes, 0);
    stop();
}
END_TEST

static atomic_bool stop_writing;

static void *keep_writing(void *h)
{
    char buf[100] = "x";

    while (!atomic_load(&stop_writing))
        for (int i = 0; i < 3; i++)
            ck_assert_int_eq(zc_cache_write(h, buf, sizeof(buf), i * PAGE), sizeof(buf));
    return NULL;
}

START_TEST(flush_ends_while_writers_go_on)
{
    pthread_t t;

    setup();
    start();
    atomic_store(&stop_writing, false);
    pthread_create(&t, NULL, keep_writing, file);
    for (int i = 0; i < 50; i++)
        flush_ok();
    atomic_store(&stop_writing, true);
    pthread_join(t, NULL);
    stop();
}
END_TEST

/* The same page is never in two store writes at once. */
START_TEST(one_store_write_per_page)
{
    struct flush_note n, m;

    setup();
    start();
    put(0, 10, 'a');
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    start_flush(&n, ZC_LEVEL_STORED);
    wait_held(1);
    put(0, 10, 'b');
    start_flush(&m, ZC_LEVEL_STORED);
    put(PAGE, 10, 'c');
    for (int i = 0; i < 1000; i++)
        sched_yield();
    ck_assert_uint_eq(zc_store_fault_held(store), 1);
    zc_store_fault_release(store);
    await_flush(&m);
    await_flush(&n);
    expect_stored("/f", 0, 10, 'b');
    stop();
}
END_TEST

/* ---- failures ---- */

START_TEST(failed_write_back_is_kept_and_retried)
{
    int rc;

    setup();
    cfg.retry_ms = 1000000; /* only a flush tries again */
    start();
    put(100, 10, 'a');
    put(2 * PAGE, 10, 'b');
    zc_store_fault_set(store, ZC_FAULT_WRITE, 1, 1000, ENOSPC);
    rc = zc_cache_flush(file, ZC_LEVEL_STORED);
    ck_assert_int_eq(rc, -ENOSPC);
    ck_assert_ptr_nonnull(strstr(zc_error_text(rc), "/f"));
    ck_assert_ptr_nonnull(strstr(zc_error_text(rc), "bytes"));
    ck_assert_uint_eq(stats().failed_bytes, 20);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -ENOSPC);
    expect(100, 10, 'a');
    put(105, 10, 'c'); /* can still be written to */
    zc_store_fault_set(store, 0, 0, 0, 0);
    flush_ok();
    ck_assert_uint_eq(stats().failed_bytes, 0);
    expect_stored("/f", 100, 5, 'a');
    expect_stored("/f", 105, 10, 'c');
    expect_stored("/f", 2 * PAGE, 10, 'b');
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    ck_assert_uint_eq(stats().lost_bytes, 0);
    stop();
}
END_TEST

/* Of several pages in one store write, those that can be written are. */
START_TEST(blame_falls_on_the_right_page)
{
    setup();
    cfg.retry_ms = 1000000;
    cfg.flushers = 1;
    start();
    put(0, 3 * PAGE, 'a');
    zc_store_fault_set(store, ZC_FAULT_WRITE, 1, 2, EIO); /* together, then the first alone */
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -EIO);
    ck_assert_uint_eq(stats().dirty_bytes, PAGE);
    ck_assert_uint_eq(stats().failed_bytes, PAGE);
    flush_ok();
    expect_stored("/f", 0, 3 * PAGE, 'a');
    stop();
}
END_TEST

START_TEST(background_tries_again)
{
    setup();
    cfg.idle_ms = 1;
    start();
    zc_store_fault_set(store, ZC_FAULT_WRITE, 1, 4, EIO);
    put(0, 10, 'a');
    WAIT_FOR(st.dirty_bytes == 0);
    ck_assert_uint_eq(stats().store_errors, 4);
    ck_assert_uint_eq(stats().failed_bytes, 0);
    flush_ok();
    expect_stored("/f", 0, 10, 'a');
    stop();
}
END_TEST

START_TEST(last_close_discards_and_says_so)
{
    struct zc_handle *other;
    int rc;

    setup();
    cfg.retry_ms = 1000000;
    start();
    other = open_flags("/f", RW);
    put(100, 10, 'a');
    zc_store_fault_set(store, ZC_FAULT_WRITE, 1, 1000, EIO);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -EIO);
    ck_assert_int_eq(zc_cache_close(other), 0); /* not the last */
    ck_assert_uint_eq(stats().dirty_bytes, 10);
    rc = zc_cache_close(file);
    ck_assert_int_eq(rc, -EIO);
    ck_assert_ptr_nonnull(strstr(zc_error_text(rc), "/f"));
    file = NULL;
    ck_assert_uint_eq(stats().dirty_bytes, 0);
    ck_assert_uint_eq(stats().lost_bytes, 10);
    zc_store_fault_set(store, 0, 0, 0, 0);
    file = open_flags("/f", RW);
    ck_assert_uint_eq(zc_cache_size(file), stored_size("/f")); /* the truth */
    flush_ok();
    stop();
}
END_TEST

/* One line for a file, with what a person wants to know: how much, where, why. */
START_TEST(losses_are_one_line)
{
    char text[4096] = "", *lost;
    FILE *log = tmpfile();

    ck_assert_ptr_nonnull(log);
    setup();
    cfg.retry_ms = 1000000;
    start();
    put(PAGE - 6, 6 + PAGE + 4, 'a'); /* one range over three pages */
    put(2 * PAGE + 100, 10, 'b');
    put(3 * PAGE + 1, 1, 'c');
    zc_store_fault_set(store, ZC_FAULT_WRITE, 1, 1000, EIO);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -EIO);
    zc_log_to_fd(fileno(log));
    ck_assert_int_eq(zc_cache_close(file), -EIO);
    zc_log_to_fd(STDERR_FILENO);
    file = NULL;
    ck_assert_int_gt(pread(fileno(log), text, sizeof text - 1, 0), 0);
    fclose(log);
    lost = strstr(text, "/f: 4117 bytes are lost, 3 ranges within bytes 4090-12289: ");
    ck_assert_msg(lost != NULL, "%s", text);
    ck_assert_msg(strchr(lost, '\n')[1] == '\0', "%s", text);
    ck_assert_uint_eq(stats().lost_bytes, 4117);
    stop();
}
END_TEST

/* Every page holds bytes the store refuses: writers get the reason instead of hanging. */
START_TEST(no_room_because_of_failures)
{
    struct acc w[2];
    char c = 'x';

    setup();
    cfg.retry_ms = 1000000;
    start();
    put(0, 4 * PAGE, 'a');
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    zc_store_fault_set(store, ZC_FAULT_WRITE, 1, 1000, ENOSPC);
    ck_assert_int_eq(begin(&w[0], ZC_WRITE, 10 * PAGE, 1), -EINPROGRESS);
    ck_assert_int_eq(begin(&w[1], ZC_READ, 11 * PAGE, 1), -EINPROGRESS);
    zc_store_fault_release(store);
    await(&w[0]);
    await(&w[1]);
    ck_assert_int_eq(w[0].a.status, -ENOSPC);
    ck_assert_int_eq(w[1].a.status, -ENOSPC);
    ck_assert_int_eq(zc_cache_write(file, &c, 1, 12 * PAGE), -ENOSPC); /* at once */
    ck_assert_ptr_nonnull(strstr(zc_error_text(ENOSPC), "no room"));
    expect(0, 4 * PAGE, 'a'); /* hits go on */
    zc_store_fault_set(store, 0, 0, 0, 0);
    flush_ok();
    put(12 * PAGE, 1, 'b');
    stop();
}
END_TEST

START_TEST(failed_sync_is_told_once_to_each)
{
    struct zc_handle *other, *later;

    setup();
    start();
    other = open_flags("/f", RW);
    put(0, 10, 'a');
    zc_store_fault_set(store, ZC_FAULT_SYNC, 1, 1, EIO);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO);
    later = open_flags("/f", RW);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), 0);
    ck_assert_int_eq(zc_cache_flush(later, ZC_LEVEL_DURABLE), 0);
    ck_assert_int_eq(zc_cache_close(other), -EIO);
    ck_assert_int_eq(zc_cache_close(later), 0);
    stop();
}
END_TEST

START_TEST(late_close_error_is_returned)
{
    setup();
    start();
    put(0, 10, 'a');
    flush_ok();
    zc_store_fault_set(store, ZC_FAULT_CLOSE, 1, 1, EIO);
    ck_assert_int_eq(zc_cache_close(file), -EIO);
    file = open_flags("/f", RW); /* closed in the background: drain tells */
    put(0, 10, 'b');
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    zc_store_fault_set(store, ZC_FAULT_CLOSE, 1, 1, EIO);
    zc_store_fault_release(store);
    ck_assert_int_eq(zc_cache_drain(cache), -EIO);
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    expect_stored("/f", 0, 10, 'b');
    stop();
}
END_TEST

/* ---- truncation ---- */

START_TEST(shrink_then_grow_reads_zeros)
{
    setup();
    start();
    put(0, 3 * PAGE, 'a');
    ck_assert_int_eq(zc_cache_truncate(file, 100), 0);
    ck_assert_uint_eq(zc_cache_size(file), 100);
    ck_assert_uint_eq(stats().dirty_bytes, 100); /* also inside the page */
    put(2 * PAGE, 10, 'b');
    expect(0, 100, 'a');
    expect(100, 2 * PAGE - 100, 0);
    ck_assert_int_eq(zc_cache_truncate(file, 50), 0);
    ck_assert_int_eq(zc_cache_truncate(file, 200), 0);
    expect(50, 150, 0);
    flush_ok();
    ck_assert_uint_eq(stored_size("/f"), 200);
    expect_stored("/f", 0, 50, 'a');
    expect_stored("/f", 50, 150, 0);
    stop();
}
END_TEST

static void *truncate_it(void *size)
{
    ck_assert_int_eq(zc_cache_truncate(file, (uintptr_t)size), 0);
    return NULL;
}

/* A store write in flight beyond the new size is waited for: it would bring bytes back. */
START_TEST(truncate_waits_for_write_back)
{
    struct flush_note n;
    pthread_t t;

    setup();
    start();
    put(PAGE, PAGE, 'a');
    zc_store_fault_hold(store, ZC_FAULT_WRITE | ZC_FAULT_TRUNCATE);
    start_flush(&n, ZC_LEVEL_STORED);
    wait_held(1);
    pthread_create(&t, NULL, truncate_it, (void *)10);
    for (int i = 0; i < 1000; i++)
        sched_yield();
    ck_assert_uint_eq(zc_store_fault_held(store), 1); /* the store is not asked yet */
    zc_store_fault_release(store);
    pthread_join(t, NULL);
    await_flush(&n);
    ck_assert_int_eq(n.f.status, 0);
    ck_assert_uint_eq(stored_size("/f"), 10);
    ck_assert_uint_eq(zc_cache_size(file), 10);
    stop();
}
END_TEST

/* Dirty bytes beyond the new size are never written; a flush that waited for them ends. */
START_TEST(truncate_overtakes_queued_write_back)
{
    struct flush_note n;
    pthread_t t;

    setup();
    start();
    put(0, 10, 'a');
    put(2 * PAGE, 10, 'b');
    zc_store_fault_hold(store, ZC_FAULT_TRUNCATE);
    pthread_create(&t, NULL, truncate_it, (void *)(uintptr_t)PAGE);
    wait_held(1);
    start_flush(&n, ZC_LEVEL_STORED);
    WAIT_FOR(st.store_writes == 1); /* page 0 is free to go, page 2 is not */
    ck_assert_int_eq(atomic_load(&n.calls), 0);
    zc_store_fault_release(store);
    pthread_join(t, NULL);
    await_flush(&n);
    ck_assert_uint_eq(stats().store_writes, 1);
    ck_assert_uint_eq(stored_size("/f"), PAGE);
    stop();
}
END_TEST

START_TEST(pinned_write_counts_as_after_the_truncation)
{
    struct acc w;

    setup();
    start();
    put(0, PAGE, 'a');
    ck_assert_int_eq(begin(&w, ZC_WRITE, 1000, 100), 0);
    ck_assert_int_eq(zc_cache_truncate(file, 10), 0);
    ck_assert_uint_eq(zc_cache_size(file), 10);
    end_write(&w, 'w');
    ck_assert_uint_eq(zc_cache_size(file), 1100);
    expect(0, 10, 'a');
    expect(10, 990, 0);
    expect(1000, 100, 'w');
    flush_ok();
    expect_stored("/f", 10, 990, 0);
    stop();
}
END_TEST

START_TEST(failed_truncation_changes_nothing)
{
    setup();
    start();
    put(0, 2 * PAGE, 'a');
    zc_store_fault_set(store, ZC_FAULT_TRUNCATE, 1, 2, EIO);
    ck_assert_int_eq(zc_cache_truncate(file, 10), -EIO);
    ck_assert_int_eq(zc_cache_allocate(file, 0, 100 * PAGE), -EIO);
    ck_assert_uint_eq(zc_cache_size(file), 2 * PAGE);
    expect(0, 2 * PAGE, 'a');
    ck_assert_uint_eq(stats().dirty_bytes, 2 * PAGE);
    ck_assert_int_eq(zc_cache_allocate(file, PAGE, 2 * PAGE), 0);
    ck_assert_uint_eq(zc_cache_size(file), 3 * PAGE);
    expect(2 * PAGE, PAGE, 0);
    stop();
}
END_TEST

/* ---- files ---- */

START_TEST(opens_share_a_file)
{
    struct zc_handle *ro;
    char c;

    setup();
    start();
    put(0, 10, 'a');
    ro = open_flags("/f", ZC_OPEN_READ);
    ck_assert_uint_eq(zc_cache_size(ro), 10);
    ck_assert_int_eq(zc_cache_read(ro, &c, 1, 0), 1);
    ck_assert_int_eq(c, 'a');
    ck_assert_uint_eq(stats().files, 1);
    ck_assert_uint_eq(stats().handles, 2);
    zc_cache_close(ro);
    stop();
}
END_TEST

/* The first open may be read-only; the first writable one brings the means to write. */
START_TEST(writable_open_comes_later)
{
    struct zc_handle *ro;

    setup();
    store_put("/f", 0, PAGE, 's');
    make_cache();
    ro = open_flags("/f", ZC_OPEN_READ);
    file = ro;
    expect(0, 100, 's');
    file = open_flags("/f", ZC_OPEN_WRITE);
    put(0, 10, 'w');
    flush_ok();
    expect_stored("/f", 0, 10, 'w');
    zc_cache_close(file);
    file = ro;
    expect(0, 10, 'w');
    stop();
}
END_TEST

START_TEST(clean_pages_outlive_the_close)
{
    uint64_t reads;

    setup();
    start();
    put(0, PAGE, 'a');
    flush_ok();
    ck_assert_int_eq(zc_cache_close(file), 0);
    ck_assert_uint_eq(stats().files, 1);
    file = open_flags("/f", ZC_OPEN_READ);
    reads = stats().store_reads;
    expect(0, PAGE, 'a');
    ck_assert_uint_eq(stats().store_reads, reads);
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    zc_cache_evict(cache);
    ck_assert_uint_eq(stats().files, 0); /* nothing left to remember it for */
    stop();
}
END_TEST

START_TEST(changed_files_are_dropped)
{
    setup();
    start();
    put(0, PAGE, 'a');
    flush_ok();
    ck_assert_int_eq(zc_cache_close(file), 0);
    store_put("/f", 0, 10, 'o'); /* another program */
    file = open_flags("/f", RW);
    ck_assert_uint_eq(stats().stale_drops, 1);
    expect(0, 10, 'o');
    expect(10, 10, 'a');
    stop();
}
END_TEST

START_TEST(closed_files_are_written_back)
{
    setup();
    start();
    put(0, 10, 'a');
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    ck_assert_int_eq(zc_cache_close(file), 0);
    wait_held(1);
    file = open_flags("/f", RW); /* finds its own bytes, newer than the store's */
    ck_assert_uint_eq(zc_cache_size(file), 10);
    expect(0, 10, 'a');
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    zc_store_fault_release(store);
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    expect_stored("/f", 0, 10, 'a');
    file = open_flags("/f", RW);
    ck_assert_uint_eq(stats().stale_drops, 0); /* our own write-back is no change */
    stop();
}
END_TEST

START_TEST(unlink_while_dirty)
{
    struct zc_attr attr;

    setup();
    start();
    put(0, 10, 'a');
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    ck_assert_int_eq(zc_cache_close(file), 0);
    wait_held(1); /* write-back under way */
    ck_assert_int_eq(zc_cache_unlink(cache, "/f"), 0);
    file = open_flags("/f", NEW); /* a new file of that name */
    ck_assert_uint_eq(zc_cache_size(file), 0);
    zc_store_fault_release(store);
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    ck_assert_uint_eq(stored_size("/f"), 0);
    put(0, 10, 'b');
    ck_assert_int_eq(zc_cache_unlink(cache, "/f"), 0);
    expect(0, 10, 'b'); /* whoever has it open goes on */
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    ck_assert_int_eq(store->ops->stat(store, "/f", &attr), -ENOENT);
    WAIT_FOR(st.dirty_bytes == 0 && st.files == 0);
    ck_assert_uint_eq(stats().lost_bytes, 0);
    ck_assert_int_eq(zc_cache_unlink(cache, "/f"), -ENOENT);
    stop();
}
END_TEST

/* Replaced behind our back while dirty: the old bytes do not go to the new file. */
START_TEST(replaced_file)
{
    setup();
    start();
    put(0, 10, 'a');
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    ck_assert_int_eq(zc_cache_close(file), 0);
    wait_held(1);
    ck_assert_int_eq(store->ops->unlink(store, "/f"), 0);
    zc_store_fault_release(store);
    store_put("/f", 0, 3, 'n');
    file = open_flags("/f", RW);
    ck_assert_uint_eq(zc_cache_size(file), 3);
    expect(0, 3, 'n');
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    ck_assert_uint_eq(stored_size("/f"), 3);
    expect_stored("/f", 0, 3, 'n');
    stop();
}
END_TEST

static void *open_and_write(void *arg)
{
    struct zc_attr attr = {0};
    struct zc_handle *h;
    char c = 'a' + (char)(uintptr_t)arg;

    ck_assert_int_eq(zc_cache_open(cache, "/new", NEW, 0644, &h, &attr), 0);
    ck_assert_int_eq(zc_cache_write(h, &c, 1, (uintptr_t)arg), 1);
    ck_assert_int_eq(zc_cache_flush(h, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_cache_close(h), 0);
    return NULL;
}

START_TEST(many_open_a_new_file)
{
    pthread_t t[8];

    setup();
    make_cache();
    for (int round = 0; round < 50; round++) {
        for (uintptr_t i = 0; i < 8; i++)
            pthread_create(&t[i], NULL, open_and_write, (void *)i);
        for (int i = 0; i < 8; i++)
            pthread_join(t[i], NULL);
        ck_assert_uint_eq(stored_size("/new"), 8);
        for (int i = 0; i < 8; i++)
            expect_stored("/new", i, 1, 'a' + i);
        ck_assert_int_eq(zc_cache_unlink(cache, "/new"), 0);
    }
    file = NULL;
    stop();
}
END_TEST

START_TEST(failed_open_leaves_nothing)
{
    struct zc_attr attr = {0};
    struct zc_handle *h;

    setup();
    make_cache();
    ck_assert_int_eq(zc_cache_open(cache, "/f", RW, 0, &h, &attr), -ENOENT);
    ck_assert_ptr_null(h);
    zc_store_fault_set(store, ZC_FAULT_OPEN, 1, 1, EACCES);
    ck_assert_int_eq(zc_cache_open(cache, "/f", NEW, 0, &h, &attr), -EACCES);
    ck_assert_int_eq(store->ops->stat(store, "/f", &attr), -ENOENT);
    ck_assert_uint_eq(stats().files, 0);
    file = NULL;
    stop();
}
END_TEST

static unsigned files_seen;

static void see(void *arg, const struct zc_file_info *info)
{
    ck_assert_str_eq(info->path, arg);
    ck_assert_uint_eq(info->size, 10);
    ck_assert_uint_eq(info->dirty_bytes, 10);
    ck_assert_uint_eq(info->cached_bytes, PAGE);
    ck_assert_uint_eq(info->handles, 1);
    ck_assert_int_eq(info->error, 0);
    files_seen++;
}

START_TEST(files_can_be_listed)
{
    setup();
    start();
    put(0, 10, 'a');
    zc_cache_files(cache, see, "/f");
    ck_assert_uint_eq(files_seen, 1);
    stop();
}
END_TEST

/* ---- many ranges ---- */

START_TEST(many_ranges_collapse)
{
    struct acc w;

    setup();
    cfg.max_extents = 4;
    store_put("/f", 0, PAGE, 's');
    start();
    zc_store_fault_hold(store, ZC_FAULT_READ);
    for (int i = 0; i < 5; i++)
        put(100 * i + 50, 10, 'a');
    wait_held(1);
    ck_assert_int_eq(begin(&w, ZC_WRITE, 1000, 10), -EINPROGRESS); /* nobody else waits */
    zc_store_fault_release(store);
    await(&w);
    ck_assert_uint_eq(stats().collapses, 1);
    ck_assert_uint_eq(stats().dirty_bytes, 410); /* from the first to the last */
    zc_cache_end(&w.a, 0);
    expect(1000, 10, 's');
    for (int i = 0; i < 5; i++) {
        expect(100 * i + 50, 10, 'a');
        expect(100 * i + 60, 90, 's');
    }
    flush_ok();
    ck_assert_uint_eq(stats().store_writes, 1);
    expect_stored("/f", 0, 50, 's');
    expect_stored("/f", 150, 10, 'a');
    expect_stored("/f", 160, 90, 's');
    stop();
}
END_TEST

/* Where the store cannot be read the ranges are written, one by one, and forgotten. */
START_TEST(many_ranges_without_reading)
{
    setup();
    cfg.max_extents = 4;
    store_put("/f", 0, PAGE, 's');
    make_cache();
    file = open_flags("/f", ZC_OPEN_WRITE);
    for (int i = 0; i < 5; i++)
        put(100 * i + 50, 10, 'a');
    WAIT_FOR(st.store_writes == 5 && st.dirty_bytes == 0);
    put(1000, 10, 'b'); /* and life goes on */
    flush_ok();
    zc_cache_close(file);
    file = open_flags("/f", ZC_OPEN_READ);
    expect(150, 10, 'a');
    expect(160, 90, 's');
    expect(1000, 10, 'b');
    stop();
}
END_TEST

/* ---- completions ---- */

/* Ends itself in the callback: that makes room for the next one. */
static void end_at_once(struct zc_access *a)
{
    ck_assert_int_eq(a->status, 0);
    zc_cache_end(a, 0);
    atomic_fetch_add(&ready_count, 1);
}

/* Thousands of completions that each cause the next do not pile up on the stack. */
START_TEST(callbacks_do_not_nest)
{
    enum { N = 20000 / FEWER };
    struct acc *all = calloc(N, sizeof(*all)), pin[4];

    setup();
    start();
    ck_assert_int_eq(zc_cache_truncate(file, (uint64_t)N * PAGE), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(begin(&pin[i], ZC_WRITE, (uint64_t)(N + i) * PAGE, 1), 0);
    for (int i = 0; i < N; i++) {
        all[i].a = (struct zc_access){.handle = file,
                                      .dir = ZC_READ,
                                      .off = (uint64_t)i * PAGE,
                                      .len = 1,
                                      .ready = end_at_once};
        ck_assert(zc_cache_begin(&all[i].a) == -EINPROGRESS);
    }
    for (int i = 0; i < 4; i++)
        zc_cache_end(&pin[i].a, 0);
    while (atomic_load(&ready_count) < N)
        sched_yield();
    free(all);
    stop();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cache");

    zc_log_init(NULL);
    if (!getenv("ZCACHE_LOG")) /* failures are expected here */
        zc_log_to_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    CASE(s, "arguments", 30, bad_settings_are_named, bad_accesses_are_refused);
    CASE(s, "accesses", 30, writers_never_read, holes_and_ends_read_as_zeros,
         hits_pass_a_read_in_flight, reader_waits_for_the_writer, read_leaves_out_a_write_in_flight,
         broken_off_write, failed_read_is_told_and_forgotten);
    CASE(s, "room", 120, waiters_for_room_in_order, only_clean_unpinned_pages_are_evicted, lru,
         callbacks_do_not_nest);
    CASE(s, "write-back", 30, watermarks, newest_first, neighbours_leave_together,
         idle_pages_are_written, levels_already_reached, flush_for_nobody, flush_has_a_target,
         flush_ends_while_writers_go_on, one_store_write_per_page);
    CASE(s, "failures", 30, failed_write_back_is_kept_and_retried, blame_falls_on_the_right_page,
         background_tries_again, last_close_discards_and_says_so, losses_are_one_line, no_room_because_of_failures,
         failed_sync_is_told_once_to_each, late_close_error_is_returned);
    CASE(s, "truncation", 30, shrink_then_grow_reads_zeros, truncate_waits_for_write_back,
         truncate_overtakes_queued_write_back, pinned_write_counts_as_after_the_truncation,
         failed_truncation_changes_nothing);
    CASE(s, "files", 30, opens_share_a_file, writable_open_comes_later,
         clean_pages_outlive_the_close, changed_files_are_dropped, closed_files_are_written_back,
         unlink_while_dirty, replaced_file, many_open_a_new_file, failed_open_leaves_nothing,
         files_can_be_listed);
    CASE(s, "ranges", 30, many_ranges_collapse, many_ranges_without_reading);
    return run_suite(s);
}
