/* test_page_csum.c - a flipped bit in a page of the cache: detected before the bytes are used, read
 * again if the store has them, else reported as lost, and never written to the store.
 */
#include "config.h"

#include <errno.h>

#include "cache_rig.h"
#include "zc_crc.h"
#include "zc_csum_chunk.h"

enum { LINE = 16, MANY = 100 };

static void start_summed(void)
{
    setup();
    make_cache();
    file = open_flags("/f", NEW | ZC_OPEN_CHECKSUM);
}

/* Flips a bit of the page cached first, which holds `c` there. */
static void flip(uint32_t at, int c)
{
    size_t len;
    void *base;

    zc_cache_arena(cache, &base, &len);
    ck_assert_uint_lt(at, len);
    ck_assert_int_eq(((char *)base)[at], c);
    ((char *)base)[at] ^= 4;
}

static void flush_says(const char *range)
{
    int rc = zc_cache_flush(file, ZC_LEVEL_STORED);
    const char *text = rc ? zc_error_text(rc) : "";

    ck_assert_int_eq(rc, -EIO);
    ck_assert_msg(strstr(text, "/f was damaged in memory") && strstr(text, range), "%s", text);
}

static void close_says_so(void)
{
    ck_assert_int_eq(zc_cache_close(file), -EIO);
    file = NULL;
}

/* ---- checksum chunks alone ---- */

START_TEST(grains)
{
    static char page[4 * ZC_CSUM_CHUNK];
    struct zc_csum_chunk g[4];

    ck_assert_int_eq(zc_crc_load(), 0);
    zc_csum_chunks_clear(g, 4);
    page[0] = 1;
    ck_assert(zc_csum_chunk_matches(g, page, 0)); /* undetected as yet */
    zc_csum_chunks_open(g, ZC_CSUM_CHUNK - 1, 2 * ZC_CSUM_CHUNK + 1);
    zc_csum_chunks_open(g, ZC_CSUM_CHUNK, ZC_CSUM_CHUNK + 1);
    zc_csum_chunks_close(g, page, ZC_CSUM_CHUNK - 1, 2 * ZC_CSUM_CHUNK + 1);
    ck_assert(g[0].summed && !g[1].summed && g[2].summed && !g[3].summed);
    page[ZC_CSUM_CHUNK] ^= 1;
    ck_assert(zc_csum_chunk_matches(g, page, 1));
    zc_csum_chunks_close(g, page, ZC_CSUM_CHUNK, ZC_CSUM_CHUNK + 1);
    ck_assert(g[1].summed && zc_csum_chunk_matches(g, page, 1));
    for (uint32_t i = 0; i < sizeof page; i++) {
        page[i] ^= 16;
        for (uint32_t k = 0; k < 4; k++)
            ck_assert_int_eq(zc_csum_chunk_matches(g, page, k), k != i / ZC_CSUM_CHUNK || k == 3);
        page[i] ^= 16;
    }
}
END_TEST

/* ---- dirty bytes ---- */

START_TEST(dirty_bytes_are_lost_and_not_written)
{
    start_summed();
    put(0, PAGE, 'a');
    put(PAGE, 100, 'b');
    flip(ZC_CSUM_CHUNK + 7, 'a');
    flush_says("1024 bytes within 1024-2047");
    expect_stored("/f", 0, ZC_CSUM_CHUNK, 'a');
    expect_stored("/f", ZC_CSUM_CHUNK, ZC_CSUM_CHUNK, 0);
    expect_stored("/f", 2 * ZC_CSUM_CHUNK, PAGE - 2 * ZC_CSUM_CHUNK, 'a');
    expect_stored("/f", PAGE, 100, 'b');
    ck_assert_uint_eq(stats().lost_bytes, ZC_CSUM_CHUNK);
    ck_assert_uint_eq(stats().damaged_bytes, ZC_CSUM_CHUNK);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -EIO); /* reported more than once */
    close_says_so();
    stop();
}
END_TEST

START_TEST(all_of_a_page)
{
    start_summed();
    put(10, 20, 'a');
    flip(11, 'a');
    flush_says("20 bytes within 10-29");
    ck_assert_uint_eq(stored_size("/f"), 0);
    ck_assert_uint_eq(stats().dirty_bytes, 0);
    close_says_so();
    stop();
}
END_TEST

START_TEST(of_many_ranges)
{
    start_summed();
    for (unsigned i = 0; i < MANY; i++)
        put(2 * i * LINE, LINE, 'a');
    flip(ZC_CSUM_CHUNK, 'a');
    flush_says("512 bytes within 1024-2031");
    for (unsigned i = 0; i < MANY; i++) {
        unsigned at = 2 * i * LINE;

        expect_stored("/f", at, LINE, at / ZC_CSUM_CHUNK == 1 ? 0 : 'a');
    }
    close_says_so();
    stop();
}
END_TEST

START_TEST(seen_by_a_write_to_a_part)
{
    start_summed();
    put(0, ZC_CSUM_CHUNK, 'a');
    flip(500, 'a');
    put(0, 10, 'b');
    ck_assert_uint_eq(stats().lost_bytes, ZC_CSUM_CHUNK);
    flush_says("bytes within 0-1023");
    expect_stored("/f", 0, 10, 'b');
    ck_assert_uint_eq(stored_size("/f"), 10);
    close_says_so();
    stop();
}
END_TEST

START_TEST(overwritten_is_well)
{
    start_summed();
    put(0, ZC_CSUM_CHUNK, 'a');
    flip(500, 'a');
    put(0, ZC_CSUM_CHUNK, 'b');
    flush_ok();
    expect_stored("/f", 0, ZC_CSUM_CHUNK, 'b');
    ck_assert_uint_eq(stats().damaged_bytes, 0);
    stop();
}
END_TEST

START_TEST(seen_by_a_read)
{
    start_summed();
    put(0, PAGE, 'a');
    flip(500, 'a');
    expect(0, ZC_CSUM_CHUNK, 0); /* the store's bytes: the loss was reported */
    expect(ZC_CSUM_CHUNK, PAGE - ZC_CSUM_CHUNK, 'a');
    flush_says("1024 bytes within 0-1023");
    close_says_so();
    stop();
}
END_TEST

START_TEST(truncated_damage_is_no_loss)
{
    start_summed();
    put(0, PAGE, 'a');
    flip(500, 'a');
    ck_assert_int_eq(zc_cache_truncate(file, 0), 0);
    put(0, 10, 'b');
    flush_ok();
    expect_stored("/f", 0, 10, 'b');
    stop();
}
END_TEST

/* In a store write, and written again meanwhile. */
START_TEST(in_a_store_write)
{
    start_summed();
    put(0, PAGE, 'a');
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    ck_assert_int_eq(zc_cache_flush_later(file, ZC_LEVEL_STORED), 0);
    wait_held(1);
    put(100, 10, 'b');
    put(2 * ZC_CSUM_CHUNK, 2 * ZC_CSUM_CHUNK, 'c');
    zc_store_fault_release(store);
    flush_ok();
    expect_stored("/f", 0, 100, 'a');
    expect_stored("/f", 100, 10, 'b');
    expect_stored("/f", 110, 2 * ZC_CSUM_CHUNK - 110, 'a');
    expect_stored("/f", 2 * ZC_CSUM_CHUNK, 2 * ZC_CSUM_CHUNK, 'c');
    ck_assert_uint_eq(stats().damaged_bytes, 0);
    stop();
}
END_TEST

START_TEST(a_refused_page_is_tried_again_and_damaged)
{
    start_summed();
    put(0, PAGE, 'a');
    zc_store_fault_set(store, ZC_FAULT_WRITE, 1, UINT32_MAX, ENOSPC);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -ENOSPC);
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    wait_held(1); /* no checksum is computed now */
    flip(3 * ZC_CSUM_CHUNK, 'a');
    zc_store_fault_release(store);
    WAIT_FOR(st.lost_bytes == ZC_CSUM_CHUNK);
    zc_store_fault_set(store, 0, 0, 0, 0);
    flush_says("1024 bytes within 3072-4095");
    expect_stored("/f", 0, 3 * ZC_CSUM_CHUNK, 'a');
    ck_assert_uint_eq(stored_size("/f"), 3 * ZC_CSUM_CHUNK);
    close_says_so();
    stop();
}
END_TEST

/* ---- clean bytes ---- */

START_TEST(clean_bytes_come_anew)
{
    start_summed();
    store_put("/f", 0, PAGE, 'a');
    ck_assert_int_eq(zc_cache_refresh(file), 0);
    expect(0, PAGE, 'a');
    flip(2 * ZC_CSUM_CHUNK + 1, 'a');
    expect(0, PAGE, 'a');
    ck_assert_uint_eq(stats().damaged_bytes, ZC_CSUM_CHUNK);
    ck_assert_uint_eq(stats().lost_bytes, 0);
    flush_ok();
    stop();
}
END_TEST

/* Bytes that were written back are clean. */
START_TEST(written_back_bytes_come_anew)
{
    start_summed();
    put(0, PAGE, 'a');
    flush_ok();
    flip(0, 'a');
    put(10, 10, 'b');
    expect(0, 10, 'a');
    expect(10, 10, 'b');
    expect(20, PAGE - 20, 'a');
    flush_ok();
    expect_stored("/f", 0, 10, 'a');
    expect_stored("/f", 20, PAGE - 20, 'a');
    ck_assert_uint_eq(stats().damaged_bytes, ZC_CSUM_CHUNK);
    stop();
}
END_TEST

/* ---- files without checksums ---- */

START_TEST(without_the_flag_nothing_is_summed)
{
    setup();
    start();
    put(0, PAGE, 'a');
    flip(0, 'a');
    flush_ok();
    expect_stored("/f", 1, PAGE - 1, 'a');
    expect_stored("/f", 0, 1, 'a' ^ 4);
    ck_assert_uint_eq(stats().damaged_bytes, 0);
    stop();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cache: page sums");

    quiet_log();
    CASE(s, "grains", 30, grains);
    CASE(s, "dirty", 30, dirty_bytes_are_lost_and_not_written, all_of_a_page, of_many_ranges,
         seen_by_a_write_to_a_part, overwritten_is_well, seen_by_a_read,
         truncated_damage_is_no_loss, in_a_store_write, a_refused_page_is_tried_again_and_damaged);
    CASE(s, "clean", 30, clean_bytes_come_anew, written_back_bytes_come_anew);
    CASE(s, "off", 30, without_the_flag_nothing_is_summed);
    return run_suite(s);
}
