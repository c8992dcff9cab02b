/* test_cache.c - the guarantees of zc_cache.h about accesses and memory, one test each. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "cache_rig.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

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
    zc_store_destroy(store);
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

static uint64_t unwritten;

static uint64_t *asked_of(const char *path)
{
    return strcmp(path, "/f") ? NULL : &unwritten;
}

/* The count outside the process, read after a kill, is never too low. */
START_TEST(unwritten_bytes_are_counted_outside)
{
    setup();
    cfg.unwritten = asked_of;
    cfg.idle_ms = 0;
    start();
    put(10, 100, 'a');
    put(50, 100, 'b');
    put(3 * PAGE, 7, 'c');
    ck_assert_uint_eq(__atomic_load_n(&unwritten, __ATOMIC_RELAXED), 147);
    ck_assert_int_eq(zc_cache_truncate(file, 3 * PAGE), 0);
    ck_assert_uint_eq(__atomic_load_n(&unwritten, __ATOMIC_RELAXED), 140);
    flush_ok();
    ck_assert_uint_eq(__atomic_load_n(&unwritten, __ATOMIC_RELAXED), 0);
    put(0, 1, 'd');
    ck_assert_int_eq(zc_cache_unlink(cache, "/f"), 0);
    stop();
    ck_assert_uint_eq(__atomic_load_n(&unwritten, __ATOMIC_RELAXED), 0);
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
    put(3 * PAGE, 1, 'b'); /* beyond the end there is a hole now */
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

/* The store fills only bytes that no write under way touches. */
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
    expect(160, 10, 'd'); /* (this write did not reach them) */
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
    struct acc pin[3], w[3], hit, reader;

    setup();
    start();
    for (int i = 0; i < 3; i++) /* one page stays for readers */
        ck_assert_int_eq(begin(&pin[i], ZC_WRITE, i * PAGE, 10), 0);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(begin(&w[i], ZC_WRITE, (10 + i) * PAGE, 10), -EINPROGRESS);
    ck_assert_int_eq(begin(&reader, ZC_READ, 20 * PAGE, 10), -EINPROGRESS);
    await(&reader);
    zc_cache_end(&reader.a, 0);
    ck_assert_uint_eq(stats().waiting_room, 3);
    ck_assert_int_eq(begin(&hit, ZC_WRITE, 100, 10), 0); /* passes the waiters */
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
    ck_assert_uint_eq(stats().dirty_bytes, PAGE); /* reads cause no write-back */
    ck_assert_uint_eq(stats().store_writes, 0);
    all_are(r.a.data, 10, 's', PAGE, "pinned");
    zc_cache_end(&r.a, 0);
    expect(0, PAGE, 'd');
    stop();
}
END_TEST

/* The least recently used page is evicted. */
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

static bool resident(const char *at)
{
    unsigned char in_core = 0;
    uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);

    ck_assert_int_eq(mincore((void *)((uintptr_t)at & ~(size - 1)), 1, &in_core), 0);
    return in_core & 1;
}

enum { MIB = 1 << 20 };

/* Starts a cache with a file open for reading; false: the kernel cannot populate memory, and that
 * is logged. */
static bool start_unpopulated(size_t capacity, size_t page_size, char **base)
{
    void *at;
    size_t len;

    setup();
    cfg.capacity = capacity;
    cfg.page_size = page_size;
    make_cache();
    store_put("/f", 0, 1, 's');
    file = open_flags("/f", ZC_OPEN_READ);
    zc_cache_arena(cache, &at, &len);
    *base = at;
    if (madvise((char *)at + len - page_size, page_size, MADV_POPULATE_WRITE) == 0 ||
        errno != EINVAL)
        return true;
    printf("skipped: a kernel before 5.14\n");
    stop();
    return false;
}

static bool start_large(char **base)
{
    return start_unpopulated(64 * MIB, MIB, base);
}

static void open_for_writing(void)
{
    zc_cache_close(file);
    file = open_flags("/f", RW);
}

/* Memory is populated before its use, an eighth of the cache and as much again as was used, up to a
 * limit; without use it is when a file is opened for writing. */
START_TEST(memory_is_got_ahead_of_its_use)
{
    char *base;

    if (!start_large(&base))
        return;
    zc_clock_sleep(50000000);
    ck_assert(!resident(base));
    open_for_writing();
    WAIT_FOR(st.files == 1 && resident(base + 7 * MIB));
    ck_assert(!resident(base + 12 * MIB)); /* one further step of two, and a huge page */
    for (uint64_t i = 0; i < 12; i++)
        put(i * MIB, 10, 'a');
    WAIT_FOR(st.files == 1 && resident(base + 23 * MIB));
    ck_assert(!resident(base + 28 * MIB));
    for (uint64_t i = 12; i < 30; i++)
        put(i * MIB, 10, 'a');
    WAIT_FOR(st.files == 1 && resident(base + 45 * MIB));
    ck_assert(!resident(base + 50 * MIB));
    stop();
}
END_TEST

/* Memory is populated in whole pages of the kernel also where the cache has no eight parts of them.
 */
START_TEST(memory_of_odd_caches_is_got)
{
    char *base;

    if (!start_unpopulated(100 * PAGE, PAGE, &base))
        return;
    open_for_writing();
    WAIT_FOR(st.files == 1 && resident(base + 12 * PAGE));
    for (uint64_t i = 0; i < 3; i++)
        put(i * PAGE, 10, 'a');
    WAIT_FOR(st.files == 1 && resident(base + 15 * PAGE));
    stop();
}
END_TEST

/* A flush stops populating, as its client may be done; the next use resumes it. */
START_TEST(no_memory_is_got_behind_a_flush)
{
    char *base;

    if (!start_large(&base))
        return;
    open_for_writing();
    zc_store_fault_hold(store, ZC_FAULT_WRITE); /* keeps the flusher busy */
    for (uint64_t i = 0; i < 8; i++)
        put(i * MIB, 10, 'a');
    zc_store_fault_release(store);
    flush_ok();
    usleep(50000);
    ck_assert(!resident(base + 14 * MIB));
    put(0, 10, 'b');
    WAIT_FOR(st.files == 1 && resident(base + 15 * MIB));
    stop();
}
END_TEST

/* ---- many ranges ---- */

/* A page with the maximum number of ranges, all written back. */
static void four_ranges(void)
{
    setup();
    cfg.max_extents = 4;
    store_put("/f", 0, PAGE, 's');
    start();
    for (int i = 0; i < 4; i++)
        put(100 * i + 50, 10, 'a');
    flush_ok();
}

/* Valid ranges become one; dirty ranges are unchanged. */
START_TEST(many_ranges_collapse)
{
    uint64_t writes;
    struct acc w;

    four_ranges();
    writes = stats().store_writes;
    zc_store_fault_hold(store, ZC_FAULT_READ);
    put(450, 10, 'a');
    wait_held(1);
    ck_assert_int_eq(begin(&w, ZC_WRITE, 1000, 10), -EINPROGRESS); /* no other access waits */
    zc_store_fault_release(store);
    await(&w);
    ck_assert_uint_eq(stats().collapses, 1);
    ck_assert_uint_eq(stats().dirty_bytes, 10); /* what was written, and nothing else */
    zc_cache_end(&w.a, 0);
    expect(1000, 10, 's');
    for (int i = 0; i < 5; i++) {
        expect(100 * i + 50, 10, 'a');
        expect(100 * i + 60, 90, 's');
    }
    flush_ok();
    ck_assert_uint_eq(stats().store_writes, writes + 1);
    expect_stored("/f", 0, 50, 's');
    expect_stored("/f", 150, 10, 'a');
    expect_stored("/f", 160, 90, 's');
    stop();
}
END_TEST

/* If the store cannot be read, the ranges are written one by one, and dropped. */
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
    put(1000, 10, 'b'); /* and the page works again */
    flush_ok();
    zc_cache_close(file);
    file = open_flags("/f", ZC_OPEN_READ);
    expect(150, 10, 'a');
    expect(160, 90, 's');
    expect(1000, 10, 'b');
    stop();
}
END_TEST

/* The store cannot be read, and writers admitted earlier meanwhile make the page one to be
 * written. */
START_TEST(many_ranges_and_a_read_that_fails)
{
    enum { WRITERS = 8 };
    struct acc w[WRITERS];

    four_ranges();
    for (int i = 0; i < WRITERS; i++)
        ck_assert_int_eq(begin(&w[i], ZC_WRITE, 1000 + 100 * (uint64_t)i, 10), 0);
    zc_store_fault_set(store, ZC_FAULT_READ, 1, 1, EIO);
    zc_store_fault_hold(store, ZC_FAULT_READ | ZC_FAULT_WRITE);
    end_write(&w[0], 'b');
    wait_held(1); /* the read that makes one range of them */
    for (int i = 1; i < WRITERS; i++)
        end_write(&w[i], 'b');
    zc_store_fault_release(store);
    put(2500, 10, 'c'); /* works again */
    flush_ok();
    for (int i = 0; i < WRITERS; i++)
        expect_stored("/f", 1000 + 100 * (uint64_t)i, 10, 'b');
    expect_stored("/f", 2500, 10, 'c');
    expect_stored("/f", 1010, 90, 's');
    stop();
}
END_TEST

/* ---- completions ---- */

/* Ends itself in the callback, which makes room for the next one. */
static void end_at_once(struct zc_access *a)
{
    ck_assert_int_eq(a->status, 0);
    zc_cache_end(a, 0);
    atomic_fetch_add(&ready_count, 1);
}

/* Thousands of completions, each caused by the one before, do not pile up on the stack. */
START_TEST(callbacks_do_not_nest)
{
    enum { N = 20000 / FEWER };
    struct acc *all = calloc(N, sizeof(*all)), pin[4];

    setup();
    start();
    ck_assert_int_eq(zc_cache_truncate(file, (uint64_t)(N + 4) * PAGE), 0);
    for (int i = 0; i < 4; i++)
        if (begin(&pin[i], ZC_READ, (uint64_t)(N + i) * PAGE, 1) == -EINPROGRESS)
            await(&pin[i]);
    atomic_store(&ready_count, 0);
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

/* Whether the kernel leaves the memory at `p` out of core dumps; -1: it does not say. */
static int is_left_out(const void *p)
{
    FILE *f = fopen("/proc/self/smaps", "r");
    unsigned long from = 0, to = 0, here = (unsigned long)p;
    char line[512];
    int yes = -1;

    while (f && yes < 0 && fgets(line, sizeof line, f)) {
        sscanf(line, "%lx-%lx ", &from, &to);
        if (strncmp(line, "VmFlags:", 8) == 0 && from <= here && here < to)
            yes = strstr(line, " dd") != NULL;
    }
    if (f)
        fclose(f);
    return yes;
}

START_TEST(pages_are_left_out_of_core_dumps)
{
    void *base;
    size_t len;

    for (int dumped = 0; dumped < 2; dumped++) {
        setup();
        cfg.dumped = dumped;
        start();
        put(0, PAGE, 'x');
        zc_cache_arena(cache, &base, &len);
        ck_assert_int_eq(is_left_out(base), !dumped);
        ck_assert_int_eq(is_left_out((char *)base + len - 1), !dumped);
        stop();
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cache");

    quiet_log();
    CASE(s, "arguments", 30, bad_settings_are_named, bad_accesses_are_refused);
    CASE(s, "accesses", 30, writers_never_read, unwritten_bytes_are_counted_outside,
         holes_and_ends_read_as_zeros, hits_pass_a_read_in_flight, reader_waits_for_the_writer,
         read_leaves_out_a_write_in_flight, broken_off_write, failed_read_is_told_and_forgotten);
    CASE(s, "room", 120, waiters_for_room_in_order, only_clean_unpinned_pages_are_evicted, lru,
         memory_is_got_ahead_of_its_use, memory_of_odd_caches_is_got,
         no_memory_is_got_behind_a_flush, callbacks_do_not_nest, pages_are_left_out_of_core_dumps);
    CASE(s, "ranges", 30, many_ranges_collapse, many_ranges_without_reading,
         many_ranges_and_a_read_that_fails);
    return run_suite(s);
}
