/* test_no_memory.c - a cache whose memory for ranges of bytes runs out: what cannot be known is not
 * readable, and nothing that was acknowledged is forgotten.
 *
 * The sets of ranges are included, so that their realloc() can be made to fail.
 */
#include "config.h"

#include <errno.h>

#include "cache_rig.h"
#include "splitmix.h"

/* Calls from now that work, and how many fail then; under the cache's lock. */
static atomic_uint before_failure = UINT32_MAX, failures;

static void *test_realloc(void *p, size_t n)
{
    if (atomic_load(&before_failure) == 0 && atomic_load(&failures) > 0) {
        atomic_fetch_sub(&failures, 1);
        return NULL;
    }
    if (atomic_load(&before_failure) != UINT32_MAX && atomic_load(&before_failure) > 0)
        atomic_fetch_sub(&before_failure, 1);
    return realloc(p, n);
}

#define realloc test_realloc
#include "../../common/util/zc_extent.c"
#undef realloc

static void fail_after(unsigned n, unsigned count)
{
    atomic_store(&failures, count);
    atomic_store(&before_failure, n);
}

static void memory_again(void)
{
    atomic_store(&before_failure, UINT32_MAX);
}

/* The bytes of a write that breaks off may hold anything. */
START_TEST(the_rest_of_a_broken_write_is_not_readable)
{
    struct acc w;
    char buf[PAGE];

    setup();
    start();
    put(0, PAGE, 'o');
    flush_ok();
    ck_assert_int_eq(begin(&w, ZC_WRITE, 100, 100), 0);
    memset(w.a.data, '#', 100);
    fail_after(0, UINT32_MAX);
    zc_cache_end(&w.a, 10);
    ck_assert_int_eq(zc_cache_read(file, buf, PAGE, 0), -ENOMEM);
    ck_assert_int_eq(zc_cache_read(file, buf, 50, 120), -ENOMEM);
    memory_again();
    expect(0, 100, 'o');
    expect(100, 10, '#');
    expect(110, PAGE - 110, 'o');
    flush_ok();
    expect_stored("/f", 110, PAGE - 110, 'o');
    stop();
}
END_TEST

/* The same while the page is in a store write, and dirty in part. */
START_TEST(broken_off_while_written_back)
{
    struct flush_note n;
    struct acc w;
    char buf[PAGE];

    setup();
    start();
    put(0, PAGE, 'o');
    flush_ok();
    for (int i = 0; i < 20; i++)
        put((uint64_t)(100 * i), 10, 'd');
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    start_flush(&n, ZC_LEVEL_STORED);
    wait_held(1);
    ck_assert_int_eq(begin(&w, ZC_WRITE, 1010, 80), 0);
    memset(w.a.data, '#', 80);
    fail_after(0, UINT32_MAX);
    zc_cache_end(&w.a, 0);
    ck_assert_int_lt(zc_cache_read(file, buf, 80, 1010), 0);
    zc_store_fault_release(store);
    await_flush(&n);
    memory_again();
    expect(1010, 80, 'o');
    expect(1000, 10, 'd');
    flush_ok();
    expect_stored("/f", 1010, 80, 'o');
    stop();
}
END_TEST

/* ---- memory fails once, at every place ---- */

enum { SPAN = 3 * PAGE, OPS = 60 };

static unsigned char data[SPAN], known[SPAN];

static void check_read(uint64_t off, size_t len)
{
    static unsigned char buf[SPAN];
    ssize_t n = zc_cache_read(file, buf, len, off);

    for (ssize_t i = 0; i < n; i++)
        if (known[off + (size_t)i] && buf[i] != data[off + (size_t)i])
            ck_abort_msg("byte %zu is %02x, should be %02x", (size_t)off + (size_t)i, buf[i],
                         data[off + (size_t)i]);
}

static void some_write(uint64_t *rng, uint64_t off, size_t len)
{
    struct acc w;
    int rc;

    len = len < PAGE - off % PAGE ? len : PAGE - off % PAGE;
    rc = begin(&w, ZC_WRITE, off, (uint32_t)len);
    if (rc == -EINPROGRESS) {
        await(&w);
        rc = w.a.status;
    }
    if (rc == 0) {
        size_t moved = splitmix(rng) % 3 ? len : splitmix(rng) % (len + 1);

        memset(w.a.data, (int)off, len);
        memset(data + off, (int)(off & 0xff), moved);
        memset(known + off, 1, moved);
        memset(known + off + moved, 0, len - moved);
        zc_cache_end(&w.a, (uint32_t)moved);
    }
}

/* False: memory did not fail any more. */
static bool once(uint64_t seed, unsigned nth)
{
    uint64_t rng = seed;
    bool failed;

    memset(data, 0, SPAN);
    memset(known, 1, SPAN);
    setup();
    cfg.max_extents = 8;
    start();
    ck_assert_int_eq(zc_cache_truncate(file, SPAN), 0);
    fail_after(nth, 2);
    for (int i = 0; i < OPS; i++) {
        uint64_t off = splitmix(&rng) % SPAN, dice = splitmix(&rng) % 10;
        size_t len = 1 + splitmix(&rng) % 200;

        len = len < SPAN - off ? len : SPAN - off;
        if (dice < 6)
            some_write(&rng, off, len);
        else if (dice < 8)
            check_read(off, len);
        else if (dice < 9)
            zc_cache_flush(file, ZC_LEVEL_STORED);
        else
            zc_cache_refresh(file);
    }
    failed = atomic_load(&failures) < 2;
    memory_again();
    check_read(0, SPAN);
    flush_ok();
    ck_assert_uint_gt(zc_cache_evict(cache), 0);
    check_read(0, SPAN);
    stop();
    return failed;
}

START_TEST(sweep)
{
    for (uint64_t seed = 1; seed <= cases(8); seed++)
        for (unsigned nth = 0; once(seed, nth); nth++)
            continue;
}
END_TEST

/* Others have changed the file, which an open that fails has seen: the next one knows it, too. */
START_TEST(what_is_outdated_stays_so)
{
    struct zc_attr attr = {0};
    struct zc_handle *left, *h;

    setup();
    start();
    put(0, PAGE, 'a');
    flush_ok();
    for (int i = 0; i < 20; i++)
        put((uint64_t)(100 * i), 10, 'd');
    left = file;
    store_put("/f", 50, 10, 'o');
    fail_after(0, UINT32_MAX);
    ck_assert_int_eq(zc_cache_open(cache, "/f", RW, 0, &h, &attr), -ENOMEM);
    memory_again();
    file = open_flags("/f", RW);
    expect(0, 10, 'd');
    expect(50, 10, 'o');
    expect(60, 40, 'a');
    zc_cache_close(left);
    stop();
}
END_TEST

/* The same of one that has it open and asks. */
START_TEST(what_is_outdated_by_a_refresh_stays_so)
{
    setup();
    start();
    put(0, PAGE, 'a');
    flush_ok();
    for (int i = 0; i < 20; i++)
        put((uint64_t)(100 * i), 10, 'd');
    store_put("/f", 50, 10, 'o');
    fail_after(0, UINT32_MAX);
    ck_assert_int_eq(zc_cache_refresh(file), -ENOMEM);
    memory_again();
    ck_assert_int_eq(zc_cache_refresh(file), 0);
    expect(50, 10, 'o');
    stop();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cache: no memory");

    quiet_log();
    CASE(s, "broken off", 30, the_rest_of_a_broken_write_is_not_readable,
         broken_off_while_written_back);
    CASE(s, "outdated", 30, what_is_outdated_stays_so, what_is_outdated_by_a_refresh_stays_so);
    CASE(s, "sweep", 300, sweep);
    return run_suite(s);
}
