/* test_cache_files.c - the guarantees of zc_cache.h about truncation, opens, closes and unlinks. */
#include "config.h"

#include <errno.h>
#include <pthread.h>

#include "cache_rig.h"
#include "zc_clock_sim.h"

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
    ck_assert_uint_eq(zc_store_fault_held(store), 1); /* the store is not called yet */
    zc_store_fault_release(store);
    pthread_join(t, NULL);
    await_flush(&n);
    ck_assert_int_eq(n.f.error.rc, 0);
    ck_assert_uint_eq(stored_size("/f"), 10);
    ck_assert_uint_eq(zc_cache_size(file), 10);
    stop();
}
END_TEST

static void *allocate_it(void *arg)
{
    ck_assert_int_eq(zc_cache_allocate(file, 0, (uint64_t)(uintptr_t)arg), 0);
    return NULL;
}

/* The store may have to write the last byte to extend the file: no other write runs meanwhile. */
START_TEST(allocation_and_write_back_take_turns)
{
    struct flush_note n;
    pthread_t t;

    setup();
    start();
    put(0, PAGE, 'a');
    zc_store_fault_hold(store, ZC_FAULT_WRITE | ZC_FAULT_TRUNCATE);
    start_flush(&n, ZC_LEVEL_STORED);
    wait_held(1);
    pthread_create(&t, NULL, allocate_it, (void *)(3 * PAGE));
    for (int i = 0; i < 1000; i++)
        sched_yield();
    ck_assert_uint_eq(zc_store_fault_held(store), 1); /* the store is not called yet */
    zc_store_fault_release(store);
    pthread_join(t, NULL);
    await_flush(&n);
    ck_assert_int_eq(n.f.error.rc, 0);
    zc_store_fault_hold(store, ZC_FAULT_TRUNCATE);
    pthread_create(&t, NULL, allocate_it, (void *)(4 * PAGE));
    wait_held(1);
    put(PAGE, PAGE, 'b');
    start_flush(&n, ZC_LEVEL_STORED);
    for (int i = 0; i < 1000; i++)
        sched_yield();
    ck_assert_uint_eq(stats().dirty_bytes, PAGE);
    ck_assert_uint_eq(stats().flushing_bytes, 0);
    zc_store_fault_release(store);
    pthread_join(t, NULL);
    await_flush(&n);
    ck_assert_int_eq(n.f.error.rc, 0);
    ck_assert_uint_eq(stored_size("/f"), 4 * PAGE);
    expect(0, PAGE, 'a');
    expect(PAGE, PAGE, 'b');
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
    WAIT_FOR(st.store_writes == 1); /* page 0 may be written, page 2 may not */
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

/* The first open may be read-only; the first open for writing adds a store file that can write. */
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
    ck_assert_uint_eq(stats().files, 0); /* nothing to keep it for */
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
    zc_clock = zc_clock_sim(); /* an open waits for the write-back, with a limit */
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
    ck_assert_uint_eq(stats().stale_drops, 0); /* the cache's own write-back is no change */
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
    expect(0, 10, 'b'); /* handles that have it open go on */
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    ck_assert_int_eq(zc_store_stat(store, "/f", &attr), -ENOENT);
    WAIT_FOR(st.dirty_bytes == 0 && st.files == 0);
    ck_assert_uint_eq(stats().lost_bytes, 0);
    ck_assert_int_eq(zc_cache_unlink(cache, "/f"), -ENOENT);
    stop();
}
END_TEST

/* Another file takes the name while bytes are dirty: they do not go to the new file. */
START_TEST(replaced_file)
{
    setup();
    start();
    put(0, 10, 'a');
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    ck_assert_int_eq(zc_cache_close(file), 0);
    wait_held(1);
    ck_assert_int_eq(zc_store_unlink(store, "/f"), 0);
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
    ck_assert_int_eq(zc_store_stat(store, "/f", &attr), -ENOENT);
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

int main(void)
{
    Suite *s = suite_create("cache: files");

    quiet_log();
    CASE(s, "truncation", 30, shrink_then_grow_reads_zeros, truncate_waits_for_write_back,
         allocation_and_write_back_take_turns, truncate_overtakes_queued_write_back,
         pinned_write_counts_as_after_the_truncation, failed_truncation_changes_nothing);
    CASE(s, "files", 30, opens_share_a_file, writable_open_comes_later,
         clean_pages_outlive_the_close, changed_files_are_dropped, closed_files_are_written_back,
         unlink_while_dirty, replaced_file, many_open_a_new_file, failed_open_leaves_nothing,
         files_can_be_listed);
    return run_suite(s);
}
