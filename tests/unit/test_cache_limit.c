/* test_cache_limit.c - a cache that becomes larger and smaller while it is used. */
#include "config.h"

#include <errno.h>
#include <sys/mman.h>

#include "cache_rig.h"

static void limit(unsigned pages)
{
    struct zc_cache_limits l = {.capacity = (size_t)pages * PAGE,
                                .high_watermark = cfg.high_watermark,
                                .low_watermark = cfg.low_watermark,
                                .idle_ms = cfg.idle_ms};

    ck_assert_int_eq(zc_cache_extend(cache, l.capacity), 0);
    zc_cache_limit(cache, &l);
}

/* Writes pages [first, end), each with a byte of its own. */
static void put_pages(int first, int end)
{
    for (int i = first; i < end; i++)
        put((uint64_t)i * PAGE, PAGE, 1 + i % 100);
}

static void expect_pages(int first, int end)
{
    for (int i = first; i < end; i++)
        expect((uint64_t)i * PAGE, PAGE, 1 + i % 100);
}

static void setup_with_room(unsigned pages)
{
    setup();
    cfg.reserve = (size_t)pages * PAGE;
    start();
}

/* One page is left to readers: see zc_dirty_limit.c. */
START_TEST(waiters_get_added_room)
{
    struct acc pin[3], w;

    setup_with_room(8);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(begin(&pin[i], ZC_WRITE, (uint64_t)i * PAGE, 1), 0);
    ck_assert_int_eq(begin(&w, ZC_WRITE, 3 * PAGE, 1), -EINPROGRESS);
    limit(5);
    await(&w);
    ck_assert_int_eq(w.a.status, 0);
    end_write(&w, 'w');
    for (int i = 0; i < 3; i++)
        end_write(&pin[i], 'p');
    ck_assert_uint_eq(stats().capacity_bytes, 5 * PAGE);
    ck_assert_uint_eq(stats().used_bytes, 4 * PAGE);
    flush_ok();
    expect_stored("/f", 3 * PAGE, 1, 'w');
    stop();
}
END_TEST

/* The table grows by a large factor, and pages are found again. */
START_TEST(what_is_cached_is_found_in_a_larger_cache)
{
    uint64_t reads;

    setup_with_room(1000);
    put_pages(0, 3);
    limit(1000);
    put_pages(3, 800);
    ck_assert_uint_eq(stats().store_writes, 0);
    reads = stats().store_reads;
    expect_pages(0, 800);
    ck_assert_uint_eq(stats().store_reads, reads);
    stop();
}
END_TEST

START_TEST(there_is_an_end_to_it)
{
    setup_with_room(8);
    ck_assert_int_eq(zc_cache_extend(cache, 9 * PAGE), -ENOMEM);
    ck_assert(strstr(zc_error_text(ENOMEM), "36864") != NULL);
    ck_assert_uint_eq(stats().capacity_bytes, 4 * PAGE);
    put_pages(0, 20);
    expect_pages(0, 20);
    stop();
}
END_TEST

static unsigned resident_pages(unsigned n)
{
    unsigned char in_core[64];
    unsigned count = 0;
    size_t len;
    void *base;

    zc_cache_arena(cache, &base, &len);
    ck_assert_int_eq(mincore(base, (size_t)n * PAGE, in_core), 0);
    for (unsigned i = 0; i < n; i++)
        count += in_core[i] & 1;
    return count;
}

/* Clean pages are dropped at once, dirty ones after write-back; the memory returns to the
 * kernel. */
START_TEST(a_smaller_cache_gives_memory_back)
{
    setup_with_room(32);
    limit(32);
    put_pages(0, 16);
    flush_ok();
    put_pages(16, 32);
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    limit(4);
    ck_assert_uint_eq(stats().used_bytes, 16 * PAGE);
    zc_store_fault_release(store);
    WAIT_FOR(st.used_bytes <= 4 * PAGE);
    ck_assert_uint_le(resident_pages(32), 4);
    expect_pages(0, 32);
    ck_assert_uint_le(stats().used_bytes, 4 * PAGE);
    ck_assert_uint_le(resident_pages(32), 4);
    limit(32); /* the same frames again */
    put_pages(32, 64);
    expect_pages(0, 64);
    stop();
}
END_TEST

/* The smallest possible cache, while accesses are under way and others wait. */
START_TEST(accesses_end_in_a_smaller_cache)
{
    struct acc pin[4], w;

    setup_with_room(8);
    limit(8);
    put_pages(5, 8);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(begin(&pin[i], ZC_WRITE, (uint64_t)i * PAGE, 1), 0);
    limit(2);
    ck_assert_int_eq(begin(&w, ZC_WRITE, 9 * PAGE, 1), -EINPROGRESS);
    for (int i = 0; i < 4; i++)
        end_write(&pin[i], 'p');
    await(&w);
    ck_assert_int_eq(w.a.status, 0);
    end_write(&w, 'w');
    WAIT_FOR(st.used_bytes <= 2 * PAGE);
    expect(9 * PAGE, 1, 'w');
    expect_pages(5, 8);
    stop();
}
END_TEST

/* Refused pages, which cannot be dropped, exceed the new limit: readers find a page all the same,
 * and writers get the error.  With less than two pages no access begins. */
START_TEST(a_smaller_cache_of_refused_pages)
{
    static char buf[PAGE];
    struct zc_handle *failing, *healthy;
    struct acc r;

    setup();
    cfg.reserve = 16 * PAGE;
    cfg.retry_ms = 1000000;
    store_put("/g", 0, 8 * PAGE, 'g');
    start();
    limit(16);
    failing = file;
    healthy = open_flags("/g", RW);
    put_pages(0, 6);
    zc_store_fault_set(store, ZC_FAULT_WRITE, 1, UINT32_MAX, ENOSPC);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -ENOSPC);
    for (int n = 7; n >= 2; n--) {
        limit((unsigned)n);
        file = healthy;
        expect(0, 8 * PAGE, 'g');
        if (n <= 6)
            ck_assert_int_eq(zc_cache_write(file, buf, 1, (uint64_t)n * PAGE), -ENOSPC);
        file = failing;
        put_pages(n - 2, n - 1); /* a cached page */
        expect_pages(0, 6);
        ck_assert_int_eq(zc_cache_write(file, buf, 1, 9 * PAGE), -ENOSPC);
        ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -ENOSPC);
        ck_assert_uint_le(stats().used_bytes, 7 * PAGE);
    }
    for (unsigned n = 0; n < 2; n++) {
        limit(n);
        WAIT_FOR(st.used_bytes == 6 * PAGE);
        file = healthy;
        ck_assert_int_eq(begin(&r, ZC_READ, n * PAGE, 1), -EINPROGRESS);
        ck_assert_int_eq(zc_cache_flush(failing, ZC_LEVEL_STORED), -ENOSPC);
        limit(2);
        await(&r);
        ck_assert_int_eq(*(char *)r.a.data, 'g');
        zc_cache_end(&r.a, 0);
    }
    zc_store_fault_set(store, 0, 0, 0, 0);
    file = failing;
    flush_ok();
    WAIT_FOR(st.used_bytes <= 2 * PAGE);
    for (int i = 0; i < 6; i++)
        expect_stored("/f", (uint64_t)i * PAGE, PAGE, 1 + i);
    file = healthy;
    put_pages(0, 8);
    expect_pages(0, 8);
    ck_assert_int_eq(zc_cache_close(failing), 0);
    stop();
}
END_TEST

/* Without an open file. */
START_TEST(nothing_is_left_without_files)
{
    setup_with_room(8);
    put_pages(0, 4);
    zc_cache_close(file);
    file = NULL;
    limit(0);
    WAIT_FOR(st.used_bytes == 0);
    ck_assert_uint_eq(resident_pages(4), 0);
    expect_stored("/f", 3 * PAGE, PAGE, 4);
    limit(4);
    file = open_flags("/f", RW);
    expect_pages(0, 4);
    stop();
}
END_TEST

START_TEST(watermarks_change)
{
    setup_with_room(8);
    put_pages(0, 3);
    ck_assert_uint_eq(stats().store_writes, 0);
    cfg.high_watermark = 50;
    cfg.low_watermark = 0;
    limit(4);
    WAIT_FOR(st.dirty_bytes == 0);
    put_pages(0, 3);
    WAIT_FOR(st.dirty_bytes == 0);
    stop();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cache limit");

    quiet_log();
    CASE(s, "larger", 30, waiters_get_added_room, what_is_cached_is_found_in_a_larger_cache,
         there_is_an_end_to_it);
    CASE(s, "smaller", 30, a_smaller_cache_gives_memory_back, accesses_end_in_a_smaller_cache,
         a_smaller_cache_of_refused_pages, nothing_is_left_without_files);
    CASE(s, "watermarks", 30, watermarks_change);
    return run_suite(s);
}
