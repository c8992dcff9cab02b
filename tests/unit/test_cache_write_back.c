/* test_cache_write_back.c - the guarantees of zc_cache.h about write-back and its failures. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cache_rig.h"
#include "zc_clock_sim.h"
#include "zc_store_posix.h"

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
    ck_assert_uint_eq(stats().store_writes, 0); /* at the high watermark, not above */
    put(100 * PAGE, 1, 'a');
    WAIT_FOR(st.dirty_bytes <= 4 * PAGE && st.flushing_bytes == 0);
    ck_assert_uint_eq(stats().store_writes, 5);
    ck_assert_uint_eq(stats().dirty_bytes, 3 * PAGE + 1); /* the last step below */
    expect_stored("/f", 0, PAGE, 'a');                    /* the oldest was written */
    put(50 * PAGE, PAGE, 'a'); /* between the watermarks nothing is written */
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

START_TEST(a_page_that_never_rests_is_written)
{
    int i = 0;

    setup();
    cfg.idle_ms = 100;
    start();
    WAIT_FOR((put(0, 10, (char)('a' + i++ % 26)), st.store_writes > 0));
    stop();
}
END_TEST

/* What fills a store write leaves soon after its last byte, the first time. */
START_TEST(a_complete_run_leaves_soon)
{
    enum { RUN = 4 * PAGE, SOON = 300 };
    uint64_t began;

    setup();
    cfg.capacity = 32 * PAGE;
    cfg.max_io = RUN;
    cfg.idle_ms = 1000;
    start();
    put(RUN, 3 * PAGE, 'x'); /* this run does not become complete */
    put(0, RUN - 1, 'a');
    zc_clock_sleep(SOON * ZC_NS_PER_MS);
    ck_assert_uint_eq(stats().store_writes, 0);
    began = zc_now();
    put(RUN - 1, 1, 'a');
    WAIT_FOR(st.store_written_bytes == RUN && st.flushing_bytes == 0);
    ck_assert_uint_lt(zc_now() - began, SOON * ZC_NS_PER_MS);
    ck_assert_uint_eq(stats().store_writes, 1);
    expect_stored("/f", 0, RUN, 'a');
    WAIT_FOR(st.dirty_bytes == 0);
    began = zc_now();
    put(0, RUN, 'b'); /* stored once: it waits as all others do */
    WAIT_FOR(st.dirty_bytes == 0);
    ck_assert_uint_ge(zc_now() - began, cfg.idle_ms * ZC_NS_PER_MS);
    stop();
}
END_TEST

/* A complete run that is written to all the time waits, and others do not wait for it. */
START_TEST(a_complete_run_that_does_not_rest)
{
    enum { RUN = 4 * PAGE };
    uint64_t began;

    setup();
    cfg.capacity = 32 * PAGE;
    cfg.max_io = RUN;
    cfg.idle_ms = 1000;
    cfg.flushers = 1;
    start();
    put(0, RUN, 'a');
    began = zc_now();
    put(2 * RUN, RUN, 'b');
    WAIT_FOR((put(PAGE, 1, 'a'), st.store_written_bytes > 0));
    ck_assert_uint_lt(zc_now() - began, 300 * ZC_NS_PER_MS);
    expect_stored("/f", 2 * RUN, RUN, 'b');
    ck_assert_uint_eq(stats().dirty_bytes, RUN);
    stop();
}
END_TEST

/* Of a file whose blocks are distributed over servers, a block is as much as can be complete. */
START_TEST(a_complete_block_leaves_soon)
{
    enum { RUN = 8 * PAGE, BLOCK = 4 * PAGE, SOON = 300 };
    struct zc_attr attr = {.block_size = BLOCK, .set = {.count = 2}};
    uint64_t began;

    setup();
    cfg.capacity = 32 * PAGE;
    cfg.max_io = RUN;
    cfg.idle_ms = 1000;
    make_cache();
    ck_assert_int_eq(zc_cache_open(cache, "/f", NEW, 0644, &file, &attr), 0);
    put(BLOCK, BLOCK - 1, 'a');
    zc_clock_sleep(SOON * ZC_NS_PER_MS);
    ck_assert_uint_eq(stats().store_writes, 0);
    began = zc_now();
    put(2 * BLOCK - 1, 1, 'a');
    WAIT_FOR(st.dirty_bytes == 0);
    ck_assert_uint_lt(zc_now() - began, SOON * ZC_NS_PER_MS);
    ck_assert_uint_eq(stats().store_writes, 1);
    expect_stored("/f", BLOCK, BLOCK, 'a');
    stop();
}
END_TEST

/* All of a run leaves, also while tenants share the store in shorter writes, and with more pages
 * than one write has. */
START_TEST(all_of_a_complete_run_leaves)
{
    enum { RUN = 512 * PAGE, SOON = 300 };
    struct zc_cache_tenant *tenants[2];
    struct zc_handle *other;
    uint64_t began;

    setup();
    cfg.capacity = 2 * RUN;
    cfg.max_io = RUN;
    cfg.idle_ms = 1000;
    start();
    began = zc_now();
    put(0, RUN, 'a');
    WAIT_FOR(st.dirty_bytes == 0);
    ck_assert_uint_lt(zc_now() - began, SOON * ZC_NS_PER_MS);
    other = open_flags("/g", NEW);
    for (int i = 0; i < 2; i++) {
        tenants[i] = zc_cache_tenant_get(cache, 10 + (uint64_t)i);
        zc_cache_charge(i ? other : file, tenants[i]);
    }
    began = zc_now();
    put(RUN, RUN, 'b');
    WAIT_FOR(st.dirty_bytes == 0);
    ck_assert_uint_lt(zc_now() - began, SOON * ZC_NS_PER_MS);
    zc_cache_close(other);
    for (int i = 0; i < 2; i++)
        zc_cache_tenant_put(cache, tenants[i]);
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

/* A flush without a waiter: the next flush reports its failure, and the close does not wait. */
START_TEST(flush_without_a_waiter)
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
    zc_cache_discard(file, 0, UINT64_MAX);
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

/* A flush ends although the page becomes dirty again; a page being written may be written to, and
 * is written again. */
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
    ck_assert_int_eq(n.f.error.rc, 0);
    ck_assert_uint_eq(stats().dirty_bytes, 15); /* later bytes do not concern the flush */
    start_flush(&second, ZC_LEVEL_DURABLE);
    await_flush(&second);
    ck_assert_int_eq(second.f.error.rc, 0);
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
    cfg.retry_ms = 1000000; /* only a flush retries */
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

/* Of several pages in one store write, the good ones are written. */
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

/* Every close of a writer reports what is refused, the last one like the others, and drops
 * nothing. */
START_TEST(closes_say_what_is_refused)
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
    ck_assert_int_eq(zc_cache_close(other), -EIO); /* not the last */
    ck_assert_uint_eq(stats().dirty_bytes, 10);
    rc = zc_cache_close(file);
    ck_assert_int_eq(rc, -EIO);
    ck_assert_ptr_nonnull(strstr(zc_error_text(rc), "/f"));
    file = NULL;
    ck_assert_uint_eq(stats().dirty_bytes, 10);
    ck_assert_uint_eq(stats().lost_bytes, 0);
    zc_store_fault_set(store, 0, 0, 0, 0);
    file = open_flags("/f", RW);
    ck_assert_uint_eq(zc_cache_size(file), 110);
    flush_ok();
    ck_assert_uint_eq(stored_size("/f"), 110);
    stop();
}
END_TEST

/* One line for a file, with amount, range and cause. */
START_TEST(losses_are_one_line)
{
    char text[4096] = "", *lost;
    FILE *log = tmpfile();

    ck_assert_ptr_nonnull(log);
    setup();
    cfg.capacity = 8 * PAGE;
    cfg.retry_ms = 1000000;
    start();
    put(PAGE - 6, 6 + PAGE + 4, 'a'); /* one range over three pages */
    put(2 * PAGE + 100, 10, 'b');
    put(3 * PAGE + 1, 1, 'c');
    zc_store_fault_set(store, ZC_FAULT_WRITE, 1, 1000, EIO);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -EIO);
    ck_assert_int_eq(zc_cache_close(file), -EIO);
    file = NULL;
    zc_log_to_fd(fileno(log));
    ck_assert_uint_eq(zc_cache_abandon(cache), 4117);
    zc_log_to_fd(STDERR_FILENO);
    ck_assert_int_gt(pread(fileno(log), text, sizeof text - 1, 0), 0);
    fclose(log);
    lost = strstr(text, "/f: 4117 bytes are lost, 3 ranges within bytes 4090-12289: ");
    ck_assert_msg(lost != NULL, "%s", text);
    ck_assert_msg(strchr(lost, '\n')[1] == '\0', "%s", text);
    ck_assert_uint_eq(stats().lost_bytes, 4117);
    stop();
}
END_TEST

/* All pages but one hold bytes that the store refuses: writers get the error instead of hanging,
 * and readers go on. */
START_TEST(no_room_because_of_failures)
{
    struct acc w, r;
    char c = 'x';

    setup();
    cfg.retry_ms = 1000000;
    start();
    put(0, 3 * PAGE, 'a');
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    zc_store_fault_set(store, ZC_FAULT_WRITE, 1, 1000, ENOSPC);
    ck_assert_int_eq(begin(&w, ZC_WRITE, 10 * PAGE, 1), -EINPROGRESS);
    ck_assert_int_eq(begin(&r, ZC_READ, 11 * PAGE, 1), -EINPROGRESS);
    await(&r);
    ck_assert_int_eq(r.a.status, 0);
    zc_cache_end(&r.a, 0);
    ck_assert(!is_ready(&w));
    zc_store_fault_release(store);
    await(&w);
    ck_assert_int_eq(w.a.status, -ENOSPC);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -ENOSPC);
    ck_assert_int_eq(zc_cache_write(file, &c, 1, 12 * PAGE), -ENOSPC); /* at once */
    ck_assert_ptr_nonnull(strstr(zc_error_text(ENOSPC), "quota"));
    expect(0, 3 * PAGE, 'a'); /* hits go on */
    zc_store_fault_set(store, 0, 0, 0, 0);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), 0);
    put(12 * PAGE, 1, 'b');
    stop();
}
END_TEST

/* A limit on the size of files is an error of the flush, and no SIGXFSZ, which ends a program. */
START_TEST(a_file_too_large_is_no_signal)
{
    char dir[] = "/tmp/zc-test-write-back-XXXXXX", path[64];
    struct rlimit old, l;

    setup();
    ck_assert_ptr_nonnull(mkdtemp(dir));
    zc_store_destroy(store);
    ck_assert_int_eq(zc_store_posix_create(dir, &memory), 0);
    ck_assert_int_eq(zc_store_fault_create(memory, &store), 0);
    make_cache();
    snprintf(path, sizeof path, "%s/f", dir);
    file = open_flags(path, NEW);
    put(1 << 20, PAGE, 'a');
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    l = old;
    l.rlim_cur = 1 << 20;
    signal(SIGXFSZ, SIG_DFL);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &l), 0);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -EFBIG);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    flush_ok();
    stop();
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(dir), 0);
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
    file = open_flags("/f", RW);
    zc_cache_discard(file, 0, UINT64_MAX);
    put(0, 10, 'b'); /* closed in the background: drain reports it */
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    zc_store_fault_set(store, ZC_FAULT_CLOSE, 1, 1, EIO);
    zc_store_fault_release(store);
    ck_assert_int_eq(zc_cache_drain(cache), -EIO);
    ck_assert_int_eq(zc_cache_drain(cache), -EIO); /* it is still not stored */
    expect_stored("/f", 0, 10, 'b');
    stop();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cache: write-back");

    quiet_log();
    zc_clock = zc_clock_sim();
    CASE(s, "write-back", 30, watermarks, newest_first, neighbours_leave_together,
         idle_pages_are_written, a_complete_run_leaves_soon, a_complete_run_that_does_not_rest,
         a_complete_block_leaves_soon, all_of_a_complete_run_leaves,
         a_page_that_never_rests_is_written, levels_already_reached, flush_without_a_waiter,
         flush_has_a_target, flush_ends_while_writers_go_on, one_store_write_per_page);
    CASE(s, "failures", 30, failed_write_back_is_kept_and_retried, blame_falls_on_the_right_page,
         background_tries_again, closes_say_what_is_refused, losses_are_one_line,
         no_room_because_of_failures, a_file_too_large_is_no_signal, late_close_error_is_returned);
    return run_suite(s);
}
