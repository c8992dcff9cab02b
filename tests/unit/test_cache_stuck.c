/* test_cache_stuck.c - a store call that does not come back is its file's trouble, and no other
 * one's. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "cache_rig.h"

static struct zc_handle *stuck, *other;

static void setup_stuck(void)
{
    setup();
    cfg.capacity = 64 * PAGE;
    cfg.max_io = PAGE;
    cfg.flushers = 2;
    cfg.readers = 2;
    cfg.stuck_ms = 10;
}

static void start_two(void)
{
    start();
    stuck = file;
    other = open_flags("/g", NEW);
}

static void stop_two(void)
{
    zc_store_fault_release(store);
    zc_cache_close(other);
    file = stuck;
    stop();
}

/* A call of the file is held; of a second one the thread that would make it may come when the
 * first has been told to be stuck already, and makes none. */
static void wait_stuck(void)
{
    while (zc_store_fault_held(store) == 0)
        sched_yield();
}

START_TEST(write_back_of_other_files_goes_on)
{
    struct flush_note n;

    setup_stuck();
    start_two();
    for (int i = 0; i < 10; i++)
        put(2 * i * PAGE, PAGE, 'a');
    zc_store_fault_hold_path(store, ZC_FAULT_WRITE, "/f");
    start_flush(&n, ZC_LEVEL_STORED);
    wait_stuck();
    file = other;
    for (int i = 0; i < 10; i++) { /* two pages: by flusher threads, not by this one */
        put(2 * i * PAGE, PAGE, 'b');
        put((2 * i + 20) * PAGE, PAGE, 'b');
        flush_ok();
    }
    ck_assert_uint_le(zc_store_fault_held(store), 2); /* nothing more was begun for the file */
    ck_assert_int_eq(atomic_load(&n.calls), 0);
    zc_store_fault_release(store);
    await_flush(&n);
    ck_assert_int_eq(n.f.error.rc, 0);
    for (int i = 0; i < 10; i++)
        expect_stored("/f", 2 * i * PAGE, PAGE, 'a');
    stop_two();
}
END_TEST

/* The pages that are in the call that does not return do not come back for those that wait. */
START_TEST(others_get_room)
{
    struct flush_note n;

    setup_stuck();
    cfg.max_io = 8 * PAGE;
    cfg.idle_ms = 0;
    start_two();
    put(0, 8 * PAGE, 'a');
    zc_store_fault_hold_path(store, ZC_FAULT_WRITE, "/f");
    start_flush(&n, ZC_LEVEL_STORED);
    wait_stuck();
    file = other;
    for (int i = 0; i < 100; i++)
        put(2 * i * PAGE, 1, 'b');
    zc_store_fault_release(store);
    await_flush(&n);
    stop_two();
}
END_TEST

/* Nothing but the idle time asks for the other file's pages: a flusher that waits for the first one
 * takes the first file's, and gets stuck; and when the second one comes, the first file has a page
 * that no flusher waits for. */
START_TEST(idle_pages_of_other_files_are_written)
{
    enum { SETTLE = 100000000 };

    setup_stuck();
    cfg.idle_ms = 20;
    start_two();
    put(0, 2 * PAGE, 'a'); /* frames are populated by then */
    flush_ok();
    file = other;
    put(0, 2 * PAGE, 'a');
    flush_ok();
    zc_clock_sleep(SETTLE); /* until no flusher waits for anything */
    zc_store_fault_hold_path(store, ZC_FAULT_WRITE, "/f");
    file = stuck;
    put(0, PAGE, 'b');
    file = other;
    put(0, PAGE, 'c');
    wait_stuck();
    WAIT_FOR(st.store_writes == 5);
    expect_stored("/g", 0, PAGE, 'c');
    file = stuck;
    put(PAGE, PAGE, 'd');
    zc_clock_sleep(SETTLE);
    file = other;
    put(PAGE, PAGE, 'e');
    WAIT_FOR(st.store_writes == 6);
    expect_stored("/g", PAGE, PAGE, 'e');
    zc_store_fault_release(store);
    stop_two();
}
END_TEST

START_TEST(a_stuck_sync_lets_others_sync)
{
    struct flush_note n, m;

    setup_stuck();
    cfg.flushers = 1;
    start_two();
    put(0, PAGE, 'a');
    zc_store_fault_hold_path(store, ZC_FAULT_SYNC, "/f");
    start_flush(&n, ZC_LEVEL_DURABLE);
    wait_held(1);
    file = other;
    put(0, PAGE, 'b');
    start_flush(&m, ZC_LEVEL_DURABLE);
    await_flush(&m);
    ck_assert_int_eq(m.f.error.rc, 0);
    zc_store_fault_release(store);
    await_flush(&n);
    stop_two();
}
END_TEST

static void *flush_it(void *h)
{
    return (void *)(intptr_t)zc_cache_flush(h, ZC_LEVEL_STORED);
}

/* Threads of the program write pages they wait for themselves, and get stuck: as many flushers are
 * there for others as without. */
START_TEST(guests_take_no_flusher_away)
{
    enum { GUESTS = 3, N = 5 };
    struct zc_handle *h[N];
    struct flush_note n[N], m;
    pthread_t threads[GUESTS];
    char path[16];
    void *rc;

    setup_stuck();
    start_two();
    file = other;
    put(0, PAGE, 'b');
    flush_ok();
    for (int i = 0; i < N; i++) {
        snprintf(path, sizeof path, "/%d", i);
        h[i] = file = open_flags(path, NEW);
        put(0, PAGE, 'a');
    }
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    for (int i = 0; i < GUESTS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, flush_it, h[i]), 0);
    wait_held(GUESTS);
    for (int i = GUESTS; i < N; i++) {
        file = h[i];
        start_flush(&n[i], ZC_LEVEL_STORED);
    }
    wait_held(N);
    file = other;
    start_flush(&m, ZC_LEVEL_DURABLE); /* a sync, which is not held */
    await_flush(&m);
    zc_store_fault_release(store);
    for (int i = 0; i < N; i++) {
        rc = NULL;
        if (i < GUESTS)
            ck_assert_int_eq(pthread_join(threads[i], &rc), 0);
        else
            await_flush(&n[i]);
        ck_assert_ptr_null(rc);
        zc_cache_close(h[i]);
    }
    stop_two();
}
END_TEST

/* As many as there may be threads, and each has one that writes it. */
START_TEST(many_stuck_files)
{
    enum { N = 20 };
    struct zc_handle *h[N];
    struct flush_note n[N];
    char path[16];

    setup_stuck();
    start_two();
    for (int i = 0; i < N; i++) {
        snprintf(path, sizeof path, "/%d", i);
        h[i] = file = open_flags(path, NEW);
        put(0, PAGE, 'a');
    }
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    for (int i = 0; i < N; i++) {
        file = h[i];
        start_flush(&n[i], ZC_LEVEL_STORED);
    }
    wait_held(N);
    zc_store_fault_release(store);
    for (int i = 0; i < N; i++) {
        await_flush(&n[i]);
        zc_cache_close(h[i]);
    }
    stop_two();
}
END_TEST

START_TEST(reads_of_other_files_go_on)
{
    struct acc reads[10];

    setup_stuck();
    store_put("/f", 0, 20 * PAGE, 'a');
    store_put("/g", 0, 20 * PAGE, 'b');
    cfg.max_read = PAGE;
    start_two();
    zc_store_fault_hold_path(store, ZC_FAULT_READ, "/f");
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(begin(&reads[i], ZC_READ, 2 * i * PAGE, PAGE), -EINPROGRESS);
    wait_stuck();
    file = other;
    expect(0, 20 * PAGE, 'b');
    ck_assert_uint_le(zc_store_fault_held(store), 2);
    zc_store_fault_release(store);
    for (int i = 0; i < 10; i++) {
        await(&reads[i]);
        zc_cache_end(&reads[i].a, 0);
    }
    stop_two();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cache: stuck");

    quiet_log();
    CASE(s, "stuck", 30, write_back_of_other_files_goes_on, others_get_room,
         idle_pages_of_other_files_are_written, a_stuck_sync_lets_others_sync,
         guests_take_no_flusher_away, many_stuck_files, reads_of_other_files_go_on);
    return run_suite(s);
}
