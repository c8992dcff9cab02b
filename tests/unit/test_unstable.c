/* test_unstable.c - unstable bytes of a lossy store are kept until they are stored, and sent again
 * when the store has lost them; or they are reported as lost.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>

#include "cache_rig.h"

static struct zc_store *mem;

static void setup_lossy(enum zc_replay replay)
{
    setup();
    zc_store_destroy(store);
    cfg.replay = replay;
    cfg.transient = true;
    ck_assert_int_eq(zc_store_mem_create_lossy(&mem), 0);
    ck_assert_int_eq(zc_store_fault_create(mem, &store), 0);
}

static void start_lossy(enum zc_replay replay)
{
    setup_lossy(replay);
    start();
}

static void hand_over(void)
{
    int rc = zc_cache_flush(file, ZC_LEVEL_STAGED);

    ck_assert_msg(rc == 0, "flush: %s", rc ? zc_error_text(rc) : "");
}

/* Compares the file on disk. */
static void expect_on_disk(uint64_t off, size_t len, int c)
{
    zc_store_mem_die(mem);
    expect_stored("/f", off, len, c);
}

static void says(int rc, int want, const char *a, const char *b)
{
    const char *text = zc_error_text(rc);

    ck_assert_int_eq(rc, want);
    ck_assert_msg(strstr(text, a) && strstr(text, b), "%s", text);
}

static void refuses(unsigned ops, int err)
{
    zc_store_fault_set(store, ops, 1, UINT32_MAX, err);
}

/* ---- kept, and released ---- */

START_TEST(until_it_is_stored)
{
    start_lossy(ZC_REPLAY_ON);
    put(100, 10, 'a');
    hand_over();
    ck_assert_uint_eq(stats().dirty_bytes, 0);
    ck_assert_uint_eq(stats().retained_bytes, 10);
    zc_store_mem_store(mem, UINT64_MAX);
    ck_assert_uint_eq(stats().retained_bytes, 0);
    expect(100, 10, 'a');
    stop();
}
END_TEST

START_TEST(as_far_as_it_is_stored)
{
    start_lossy(ZC_REPLAY_ON);
    put(0, 10, 'a');
    hand_over();
    put(PAGE, 20, 'b');
    hand_over();
    zc_store_mem_store(mem, 1);
    ck_assert_uint_eq(stats().retained_bytes, 20);
    zc_store_mem_store(mem, 2);
    ck_assert_uint_eq(stats().retained_bytes, 0);
    stop();
}
END_TEST

START_TEST(a_page_of_two_writes_until_the_second_is_stored)
{
    start_lossy(ZC_REPLAY_ON);
    put(0, 10, 'a');
    hand_over();
    put(5, 10, 'b');
    hand_over();
    ck_assert_uint_eq(stats().retained_bytes, 15);
    zc_store_mem_store(mem, 1);
    ck_assert_uint_eq(stats().retained_bytes, 15);
    zc_store_mem_store(mem, 2);
    ck_assert_uint_eq(stats().retained_bytes, 0);
    stop();
}
END_TEST

START_TEST(a_sync_that_stores_ends_it)
{
    start_lossy(ZC_REPLAY_ON);
    put(0, 10, 'a');
    flush_ok();
    ck_assert_uint_eq(stats().retained_bytes, 0);
    zc_store_mem_die(mem);
    ck_assert_uint_eq(stats().replayed_bytes + stats().lost_bytes, 0);
    stop();
}
END_TEST

START_TEST(a_sync_that_fails_does_not)
{
    start_lossy(ZC_REPLAY_ON);
    put(0, 10, 'a');
    refuses(ZC_FAULT_SYNC, EIO);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -EIO);
    ck_assert_uint_eq(stats().retained_bytes, 10);
    stop();
}
END_TEST

/* A daemon that writes through has stored each write at its reply. */
START_TEST(what_is_stored_when_it_is_taken)
{
    start_lossy(ZC_REPLAY_ON);
    zc_store_fault_hold(store, ZC_FAULT_WRITE_RESULT);
    put(0, 10, 'a');
    ck_assert_int_eq(zc_cache_flush_later(file, ZC_LEVEL_STAGED), 0);
    wait_held(1);
    zc_store_mem_store(mem, UINT64_MAX);
    zc_store_fault_release(store);
    hand_over();
    ck_assert_uint_eq(stats().retained_bytes, 0);
    zc_store_mem_die(mem);
    ck_assert_uint_eq(stats().replayed_bytes, 0);
    flush_ok();
    stop();
}
END_TEST

START_TEST(the_last_close_ends_it)
{
    start_lossy(ZC_REPLAY_ON);
    put(0, 10, 'a');
    hand_over();
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    ck_assert_uint_eq(stats().retained_bytes + stats().exposed_bytes, 0);
    zc_store_mem_die(mem);
    ck_assert_uint_eq(stats().lost_bytes + stats().dirty_bytes, 0);
    stop();
}
END_TEST

/* ---- deaths ---- */

START_TEST(a_death_makes_it_dirty_again)
{
    start_lossy(ZC_REPLAY_ON);
    put(0, PAGE, 'a');
    put(PAGE + 7, 10, 'b');
    hand_over();
    zc_store_mem_die(mem);
    ck_assert_uint_eq(stats().dirty_bytes, PAGE + 10);
    ck_assert_uint_eq(stats().replayed_bytes, PAGE + 10);
    ck_assert_uint_eq(stats().retained_bytes, 0);
    ck_assert_uint_eq(zc_cache_size(file), PAGE + 17);
    flush_ok();
    expect_on_disk(0, PAGE, 'a');
    expect_on_disk(PAGE + 7, 10, 'b');
    ck_assert_uint_eq(stats().lost_bytes, 0);
    stop();
}
END_TEST

/* Two deaths, the second during the resend. */
START_TEST(a_death_after_another)
{
    start_lossy(ZC_REPLAY_ON);
    put(0, 10, 'a');
    hand_over();
    zc_store_mem_die(mem);
    hand_over();
    ck_assert_uint_eq(stats().retained_bytes, 10);
    zc_store_mem_die(mem);
    flush_ok();
    expect_on_disk(0, 10, 'a');
    ck_assert_uint_eq(stats().replayed_bytes, 20);
    stop();
}
END_TEST

START_TEST(only_what_was_not_stored)
{
    start_lossy(ZC_REPLAY_ON);
    put(0, 10, 'a');
    hand_over();
    put(PAGE, 20, 'b');
    hand_over();
    zc_store_mem_store(mem, 1);
    zc_store_mem_die(mem);
    ck_assert_uint_eq(stats().replayed_bytes, 20);
    flush_ok();
    expect_on_disk(0, 10, 'a');
    expect_on_disk(PAGE, 20, 'b');
    stop();
}
END_TEST

START_TEST(the_newest_bytes_are_sent)
{
    start_lossy(ZC_REPLAY_ON);
    put(0, 10, 'a');
    hand_over();
    put(5, 10, 'b'); /* dirty beside the kept bytes */
    zc_store_mem_die(mem);
    ck_assert_uint_eq(stats().dirty_bytes, 15);
    flush_ok();
    expect_on_disk(0, 5, 'a');
    expect_on_disk(5, 10, 'b');
    stop();
}
END_TEST

START_TEST(during_a_write)
{
    struct flush_note n;

    start_lossy(ZC_REPLAY_ON);
    put(0, 10, 'a');
    zc_store_fault_hold(store, ZC_FAULT_WRITE_RESULT);
    start_flush(&n, ZC_LEVEL_STAGED);
    wait_held(1);
    zc_store_mem_die_unsaid(mem); /* with what it has accepted */
    zc_store_fault_release(store);
    await_flush(&n);
    ck_assert_int_eq(n.f.error.rc, 0);
    ck_assert_uint_eq(stats().store_writes, 2); /* it was unknown which server accepted the first */
    flush_ok();
    expect_on_disk(0, 10, 'a');
    stop();
}
END_TEST

/* The failed call was due to the death: the page does not count as failed. */
START_TEST(during_a_write_that_fails)
{
    struct flush_note n;

    start_lossy(ZC_REPLAY_ON);
    cfg.retry_ms = 1000000;
    put(0, 10, 'a');
    zc_store_fault_set(store, ZC_FAULT_WRITE, 1, 1, ECONNRESET);
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    start_flush(&n, ZC_LEVEL_STORED);
    wait_held(1);
    zc_store_mem_die(mem);
    zc_store_fault_release(store);
    await_flush(&n);
    ck_assert_msg(n.f.error.rc == 0, "%s", n.f.error.text);
    expect_on_disk(0, 10, 'a');
    stop();
}
END_TEST

/* The successor is asked at once to accept what the dead server refused, whatever the retry delay.
 */
START_TEST(the_successor_takes_what_was_refused)
{
    setup_lossy(ZC_REPLAY_ON);
    cfg.retry_ms = 1000000;
    start();
    put(0, 10, 'a');
    hand_over();
    put(PAGE, 10, 'b');
    refuses(ZC_FAULT_WRITE, ENOSPC);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STAGED), -ENOSPC);
    zc_store_fault_set(store, 0, 0, 0, 0);
    zc_store_mem_die(mem);
    WAIT_FOR(st.failed_bytes == 0 && st.flushing_bytes == 0);
    flush_ok();
    expect_on_disk(0, 10, 'a');
    expect_on_disk(PAGE, 10, 'b');
    stop();
}
END_TEST

/* The sync is answered by the successor, which has nothing: the flush goes on. */
START_TEST(during_a_sync)
{
    struct flush_note n;

    setup_lossy(ZC_REPLAY_ON);
    cfg.flushers = 1; /* busy with the sync: no write-back meanwhile */
    start();
    put(0, 10, 'a');
    zc_store_fault_hold(store, ZC_FAULT_SYNC);
    start_flush(&n, ZC_LEVEL_STORED);
    wait_held(1);
    zc_store_mem_die_unsaid(mem);
    zc_store_fault_release(store);
    await_flush(&n);
    ck_assert_msg(n.f.error.rc == 0, "%s", n.f.error.text);
    expect_on_disk(0, 10, 'a');
    stop();
}
END_TEST

/* The sync that is about to begin is the first to notice. */
START_TEST(before_a_sync)
{
    int rc;

    start_lossy(ZC_REPLAY_ON);
    put(0, 10, 'a');
    hand_over();
    zc_store_mem_die_unsaid(mem);
    rc = zc_cache_flush(file, ZC_LEVEL_STORED);
    ck_assert_msg(rc == 0, "flush: %s", rc ? zc_error_text(rc) : "");
    expect_on_disk(0, 10, 'a');
    stop();
}
END_TEST

/* The same for bytes no longer in the cache: they are reported as lost. */
START_TEST(before_a_sync_and_kept_nowhere)
{
    start_lossy(ZC_REPLAY_OFF);
    put(0, 10, 'a');
    hand_over();
    zc_store_mem_die_unsaid(mem);
    says(zc_cache_flush(file, ZC_LEVEL_STORED), -EIO, "10 bytes within 0-9", "daemon died");
    ck_assert_int_eq(zc_cache_truncate(file, 0), 0);
    stop();
}
END_TEST

/* Only the dead daemon knew that its sync had failed: the next one's succeeds. */
START_TEST(after_a_sync_that_failed)
{
    start_lossy(ZC_REPLAY_ON);
    put(0, 10, 'a');
    hand_over();
    zc_store_mem_store(mem, UINT64_MAX);
    zc_store_fault_set(store, ZC_FAULT_SYNC, 1, 1, EIO);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO);
    if (_i == 0)
        zc_store_mem_die(mem);
    else
        zc_store_mem_die_unsaid(mem);
    says(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO, "may be lost", "could not sync");
    if (_i == 2)
        ck_assert_int_eq(zc_cache_truncate(file, 0), 0);
    else
        says(zc_cache_close(file), -EIO, "may be lost", "could not sync");
    if (_i != 2)
        file = open_flags("/f", RW);
    flush_ok();
    stop();
}
END_TEST

/* ... and if it has succeeded since, all is well. */
START_TEST(after_a_sync_that_failed_and_one_that_worked)
{
    start_lossy(ZC_REPLAY_ON);
    put(0, 10, 'a');
    zc_store_fault_set(store, ZC_FAULT_SYNC, 1, 1, EIO);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), 0);
    zc_store_mem_die(mem);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), 0);
    stop();
}
END_TEST

/* The page has newer bytes by then, which the flush need not wait for; it waits for the older
 * ones. */
START_TEST(during_a_sync_and_written_again)
{
    struct flush_note n;

    setup_lossy(ZC_REPLAY_ON);
    cfg.flushers = 1;
    start();
    put(0, 10, 'a');
    zc_store_fault_hold(store, ZC_FAULT_SYNC);
    start_flush(&n, ZC_LEVEL_STORED);
    wait_held(1);
    put(0, 5, 'b');
    zc_store_mem_die_unsaid(mem);
    zc_store_fault_release(store);
    await_flush(&n);
    ck_assert_msg(n.f.error.rc == 0, "%s", n.f.error.text);
    expect_on_disk(5, 5, 'a');
    stop();
}
END_TEST

/* Its store files are about to be closed: lost bytes are written first. */
START_TEST(before_a_close)
{
    start_lossy(ZC_REPLAY_ON);
    put(0, 10, 'a');
    hand_over();
    zc_store_mem_die_unsaid(mem);
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    zc_store_mem_store(mem, UINT64_MAX);
    expect_on_disk(0, 10, 'a');
    stop();
}
END_TEST

/* A successful close has brought what was flushed before to its level. */
START_TEST(before_a_close_and_refused)
{
    start_lossy(ZC_REPLAY_ON);
    put(0, 10, 'a');
    hand_over();
    zc_store_mem_die_unsaid(mem);
    refuses(ZC_FAULT_WRITE, ENOSPC);
    says(zc_cache_close(file), -ENOSPC, "/f", "space");
    file = NULL;
    zc_store_fault_set(store, 0, 0, 0, 0);
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    zc_store_mem_store(mem, UINT64_MAX);
    expect_on_disk(0, 10, 'a');
    stop();
}
END_TEST

START_TEST(what_was_cut_off_is_not_sent)
{
    start_lossy(ZC_REPLAY_ON);
    put(0, 2 * PAGE, 'a');
    hand_over();
    ck_assert_int_eq(zc_cache_truncate(file, 10), 0);
    ck_assert_uint_eq(stats().retained_bytes, 10);
    zc_store_mem_die(mem);
    flush_ok();
    ck_assert_uint_eq(stored_size("/f"), 10);
    expect_on_disk(0, 10, 'a');
    stop();
}
END_TEST

START_TEST(nor_what_was_deleted)
{
    start_lossy(ZC_REPLAY_ON);
    put(0, 10, 'a');
    hand_over();
    ck_assert_int_eq(zc_cache_unlink(cache, "/f"), 0);
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    zc_store_mem_die(mem);
    ck_assert_uint_eq(stats().dirty_bytes + stats().lost_bytes + stats().retained_bytes, 0);
    stop();
}
END_TEST

/* A write that breaks off leaves undefined bytes: they are dirty, as kept ones would become. */
START_TEST(a_write_over_it_that_breaks_off)
{
    struct acc a;

    start_lossy(ZC_REPLAY_ON);
    put(0, 100, 'a');
    hand_over();
    ck_assert_int_eq(begin(&a, ZC_WRITE, 10, 20), 0);
    memset(a.a.data, 'b', 20);
    zc_cache_end(&a.a, 5);
    ck_assert_uint_eq(stats().dirty_bytes, 20);
    zc_store_mem_die(mem);
    flush_ok();
    expect_on_disk(0, 10, 'a');
    expect_on_disk(10, 5, 'b');
    expect_on_disk(30, 70, 'a');
    stop();
}
END_TEST

/* ---- room ---- */

START_TEST(others_go_first)
{
    start_lossy(ZC_REPLAY_ON);
    put(0, PAGE, 'a');
    hand_over();
    put(PAGE, 2 * PAGE, 'b');
    flush_ok();
    put(0, PAGE, 'c'); /* kept, and the least recently used page */
    hand_over();
    expect(PAGE, 2 * PAGE, 'b');
    put(3 * PAGE, PAGE, 'd');
    flush_ok(); /* ends it: written again */
    put(0, PAGE, 'e');
    hand_over();
    expect(PAGE, 2 * PAGE, 'b');
    put(4 * PAGE, PAGE, 'f');
    ck_assert_uint_eq(stats().evictions, 1);
    ck_assert_uint_eq(stats().retained_bytes, PAGE);
    ck_assert_uint_eq(stats().exposed_bytes, 0);
    stop();
}
END_TEST

/* Of four pages three may be dirty or keep bytes: here are five. */
static void evict_two(void)
{
    put(0, 3 * PAGE, 'a');
    hand_over();
    ck_assert_uint_eq(stats().exposed_bytes, 0);
    put(3 * PAGE, PAGE, 'a');
    hand_over();
    put(4 * PAGE, PAGE, 'a');
    ck_assert_uint_eq(stats().exposed_bytes, 2 * PAGE);
}

START_TEST(what_was_evicted_is_lost_by_range)
{
    start_lossy(ZC_REPLAY_ON);
    evict_two();
    hand_over();
    zc_store_mem_die(mem);
    ck_assert_uint_eq(stats().lost_exposed_bytes, 2 * PAGE);
    ck_assert_uint_eq(stats().lost_bytes, 2 * PAGE);
    ck_assert_uint_eq(stats().exposed_bytes, 0);
    says(zc_cache_flush(file, ZC_LEVEL_STORED), -EIO, "8192 bytes within 0-8191", "daemon died");
    expect_on_disk(2 * PAGE, 3 * PAGE, 'a'); /* all others */
    stop();
}
END_TEST

START_TEST(what_was_evicted_and_stored_is_not)
{
    start_lossy(ZC_REPLAY_ON);
    evict_two();
    zc_store_mem_store(mem, UINT64_MAX);
    ck_assert_uint_eq(stats().exposed_bytes, 0);
    zc_store_mem_die(mem);
    flush_ok();
    ck_assert_uint_eq(stats().lost_bytes, 0);
    expect_on_disk(0, 5 * PAGE, 'a');
    stop();
}
END_TEST

/* A death makes kept bytes dirty, and the store refuses them: readers still find a page. */
START_TEST(a_death_leaves_readers_room)
{
    start_lossy(ZC_REPLAY_ON);
    store_put("/f", 0, 10 * PAGE, 'x');
    zc_store_mem_store(mem, UINT64_MAX);
    ck_assert_int_eq(zc_cache_refresh(file), 0);
    put(0, 6 * PAGE, 'a');
    hand_over();
    refuses(ZC_FAULT_WRITE, ENOSPC);
    zc_store_mem_die(mem);
    expect(6 * PAGE, 4 * PAGE, 'x');
    ck_assert_uint_eq(stats().dirty_bytes, 3 * PAGE);
    stop();
}
END_TEST

/* However many bytes become unprotected meanwhile. */
START_TEST(unprotected_bytes_end_in_turn)
{
    start_lossy(ZC_REPLAY_OFF);
    put(0, 10, 'a');
    hand_over(); /* 1: the older generation */
    put(100, 20, 'a');
    hand_over(); /* 2 and 3: the newer */
    put(200, 30, 'a');
    hand_over();
    ck_assert_uint_eq(stats().exposed_bytes, 60);
    zc_store_mem_store(mem, 1);
    put(300, 40, 'a');
    hand_over();
    zc_store_mem_store(mem, 3);
    ck_assert_uint_eq(stats().exposed_bytes, 40);
    zc_store_mem_die(mem);
    says(zc_cache_flush(file, ZC_LEVEL_STORED), -EIO, "40 bytes within 300-339", "daemon died");
    stop();
}
END_TEST

START_TEST(off_keeps_nothing)
{
    start_lossy(ZC_REPLAY_OFF);
    put(0, 10, 'a');
    hand_over();
    ck_assert_uint_eq(stats().retained_bytes, 0);
    ck_assert_uint_eq(stats().exposed_bytes, 10);
    zc_store_mem_die(mem);
    says(zc_cache_flush(file, ZC_LEVEL_STORED), -EIO, "10 bytes within 0-9", "daemon died");
    ck_assert_int_eq(zc_cache_truncate(file, 0), 0);
    flush_ok();
    stop();
}
END_TEST

START_TEST(what_was_exposed_and_cut_off)
{
    start_lossy(ZC_REPLAY_OFF);
    put(0, PAGE, 'a');
    hand_over();
    ck_assert_int_eq(zc_cache_truncate(file, 100), 0);
    ck_assert_uint_eq(stats().exposed_bytes, 100);
    ck_assert_int_eq(zc_cache_truncate(file, 0), 0);
    zc_store_mem_die(mem);
    ck_assert_uint_eq(stats().lost_bytes, 0);
    flush_ok();
    stop();
}
END_TEST

START_TEST(direct_write_is_unprotected)
{
    char *buf = calloc(1, 8 * PAGE);

    start_lossy(ZC_REPLAY_ON);
    ck_assert_int_eq(zc_cache_write_direct(file, buf, 8 * PAGE, 0), 8 * PAGE);
    ck_assert_uint_eq(stats().around_bytes, 8 * PAGE);
    ck_assert_uint_eq(stats().exposed_bytes, 8 * PAGE);
    flush_ok();
    ck_assert_uint_eq(stats().exposed_bytes, 0);
    free(buf);
    stop();
}
END_TEST

static void *write_direct(void *len)
{
    size_t n = *(size_t *)len;
    char *buf = malloc(n);

    memset(buf, 'a', n);
    ck_assert_int_eq(zc_cache_write_direct(file, buf, n, 0), (ssize_t)n);
    free(buf);
    return NULL;
}

START_TEST(direct_write_once_more)
{
    size_t len = 2 * PAGE;
    pthread_t t;

    start_lossy(ZC_REPLAY_ON);
    zc_store_fault_hold(store, ZC_FAULT_WRITE_RESULT);
    pthread_create(&t, NULL, write_direct, &len);
    wait_held(1);
    zc_store_mem_die_unsaid(mem);
    zc_store_fault_release(store);
    pthread_join(t, NULL);
    ck_assert_uint_eq(stats().lost_bytes, 0);
    flush_ok();
    expect_on_disk(0, 2 * PAGE, 'a');
    stop();
}
END_TEST

START_TEST(direct_write_and_stored)
{
    size_t len = 2 * PAGE;
    pthread_t t;

    start_lossy(ZC_REPLAY_ON);
    zc_store_fault_hold(store, ZC_FAULT_WRITE_RESULT);
    pthread_create(&t, NULL, write_direct, &len);
    wait_held(1);
    zc_store_mem_store(mem, UINT64_MAX);
    zc_store_fault_release(store);
    pthread_join(t, NULL);
    ck_assert_uint_eq(stats().exposed_bytes, 0);
    zc_store_mem_die(mem);
    ck_assert_uint_eq(stats().lost_bytes, 0);
    flush_ok();
    stop();
}
END_TEST

/* ---- strict ---- */

START_TEST(strict_evicts_nothing)
{
    start_lossy(ZC_REPLAY_STRICT);
    for (int i = 0; i < 20; i++) {
        put((uint64_t)i * PAGE, PAGE, 'a' + i);
        hand_over();
        ck_assert_uint_eq(stats().exposed_bytes, 0);
    }
    zc_store_mem_die(mem);
    flush_ok();
    ck_assert_uint_eq(stats().lost_bytes, 0);
    for (int i = 0; i < 20; i++)
        expect_on_disk((uint64_t)i * PAGE, PAGE, 'a' + i);
    stop();
}
END_TEST

START_TEST(strict_readers_find_room)
{
    start_lossy(ZC_REPLAY_STRICT);
    store_put("/f", 0, 8 * PAGE, 'x');
    ck_assert_int_eq(zc_cache_refresh(file), 0);
    put(0, 3 * PAGE, 'a');
    hand_over();
    refuses(ZC_FAULT_SYNC, EIO);
    expect(4 * PAGE, 4 * PAGE, 'x');
    ck_assert_uint_eq(stats().retained_bytes, 3 * PAGE);
    stop();
}
END_TEST

/* The store cannot commit: a writer gets the error instead of waiting for ever. */
START_TEST(strict_and_the_store_is_full)
{
    char buf[PAGE] = {0};

    start_lossy(ZC_REPLAY_STRICT);
    put(0, 3 * PAGE, 'a');
    hand_over();
    refuses(ZC_FAULT_SYNC, ENOSPC);
    ck_assert_int_eq(zc_cache_write(file, buf, PAGE, 3 * PAGE), -ENOSPC);
    ck_assert_uint_eq(stats().retained_bytes, 3 * PAGE);
    zc_store_fault_set(store, 0, 0, 0, 0);
    while (zc_cache_write(file, buf, PAGE, 3 * PAGE) < 0)
        flush_ok();
    ck_assert_uint_eq(stats().exposed_bytes, 0);
    stop();
}
END_TEST

/* Nor does it wait for another file's refused bytes, which fill the cache as well. */
START_TEST(strict_and_the_store_is_full_of_others)
{
    char buf[PAGE] = {0};
    struct zc_handle *other;

    start_lossy(ZC_REPLAY_STRICT);
    other = open_flags("/g", NEW);
    put(0, PAGE, 'a');
    hand_over();
    refuses(ZC_FAULT_WRITE | ZC_FAULT_SYNC, ENOSPC);
    ck_assert_int_eq(zc_cache_write(other, buf, PAGE, 0), PAGE);
    ck_assert_int_eq(zc_cache_flush(other, ZC_LEVEL_STAGED), -ENOSPC);
    ck_assert_int_eq(zc_cache_write(file, buf, PAGE, PAGE), -ENOSPC);
    ck_assert_uint_eq(stats().retained_bytes, PAGE);
    zc_store_fault_set(store, 0, 0, 0, 0);
    ck_assert_int_eq(zc_cache_flush(other, ZC_LEVEL_STAGED), 0);
    ck_assert_int_eq(zc_cache_close(other), 0);
    flush_ok();
    ck_assert_uint_eq(stats().exposed_bytes, 0);
    stop();
}
END_TEST

START_TEST(strict_writes_nothing_directly)
{
    char *buf = calloc(1, 8 * PAGE);

    start_lossy(ZC_REPLAY_STRICT);
    ck_assert_int_eq(zc_cache_write_direct(file, buf, 8 * PAGE, 0), 8 * PAGE);
    ck_assert_uint_eq(stats().around_bytes, 0);
    free(buf);
    stop();
}
END_TEST

START_TEST(strict_stores_pages_to_be_dropped)
{
    setup_lossy(ZC_REPLAY_STRICT);
    cfg.max_extents = 4;
    start();
    for (int i = 0; i < 8; i++)
        put((uint64_t)i * 100, 10, 'a');
    ck_assert_uint_eq(stats().retained_bytes, 0); /* they wait for it, and then it is dropped */
    hand_over();
    zc_store_mem_die(mem);
    flush_ok();
    for (uint64_t i = 0; i < 8; i++)
        expect_on_disk(i * 100, 10, 'a');
    ck_assert_uint_eq(stats().lost_bytes, 0);
    stop();
}
END_TEST

START_TEST(a_smaller_strict_cache)
{
    struct zc_cache_limits l;

    setup_lossy(ZC_REPLAY_STRICT);
    cfg.capacity = 16 * PAGE;
    start();
    put(0, 12 * PAGE, 'a');
    hand_over();
    zc_cache_limits(cache, &l);
    l.capacity = 4 * PAGE;
    zc_cache_limit(cache, &l);
    WAIT_FOR(st.used_bytes <= 4 * PAGE);
    ck_assert_uint_eq(stats().exposed_bytes, 0);
    stop();
}
END_TEST

/* ---- others ---- */

/* A sync below STORED makes bytes visible to other jobs, which may overwrite them: a refresh finds
 * their changes. */
START_TEST(a_refresh_after_it_was_handed_over)
{
    start_lossy(ZC_REPLAY_ON);
    put(0, PAGE, 'a');
    hand_over();
    store_put("/f", 0, PAGE, 'b');
    ck_assert_int_eq(zc_cache_refresh(file), 0);
    expect(0, PAGE, 'b');
    ck_assert_uint_eq(stats().retained_bytes, 0);
    ck_assert_uint_eq(stats().exposed_bytes, PAGE);
    stop();
}
END_TEST

START_TEST(a_refresh_keeps_the_rest)
{
    start_lossy(ZC_REPLAY_ON);
    cfg.idle_ms = 0;
    put(0, PAGE, 'a');
    put(PAGE, PAGE, 'a');
    put(2 * PAGE, PAGE, 'a');
    zc_store_fault_set(store, ZC_FAULT_SYNC, 1, 1, EIO); /* written back, and no sync since */
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STAGED), -EIO);
    ck_assert_int_eq(zc_cache_refresh(file), 0);
    ck_assert_uint_eq(stats().retained_bytes, 3 * PAGE);
    zc_store_mem_die(mem);
    flush_ok();
    expect_on_disk(0, 3 * PAGE, 'a');
    stop();
}
END_TEST

START_TEST(a_strict_refresh_stores_it)
{
    start_lossy(ZC_REPLAY_STRICT);
    put(0, PAGE, 'a');
    hand_over();
    ck_assert_int_eq(zc_cache_refresh(file), 0);
    ck_assert_uint_eq(stats().retained_bytes + stats().exposed_bytes, 0);
    expect_on_disk(0, PAGE, 'a');
    stop();
}
END_TEST

/* The size at the successor is not the file's: bytes at its end have to be sent again. */
/* Discarding refused bytes affects no others. */
START_TEST(giving_up_a_part_keeps_the_rest)
{
    start_lossy(ZC_REPLAY_ON);
    put(0, 20, 'a');
    hand_over();
    put(15, 10, 'x');
    refuses(ZC_FAULT_WRITE | ZC_FAULT_SYNC, EIO);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STAGED), -EIO);
    ck_assert_uint_eq(stats().retained_bytes, 20);
    zc_cache_discard(file, 15, 10);
    zc_store_fault_set(store, 0, 0, 0, 0);
    ck_assert_uint_eq(stats().retained_bytes, 15);
    ck_assert_uint_eq(stats().exposed_bytes, 0); /* discarded bytes are not counted */
    zc_store_mem_die(mem);
    ck_assert_uint_eq(stats().lost_bytes, 0);
    hand_over();
    zc_store_mem_store(mem, UINT64_MAX);
    expect_on_disk(0, 15, 'a');
    stop();
}
END_TEST

START_TEST(the_size_survives)
{
    start_lossy(ZC_REPLAY_ON);
    put(0, PAGE, 'a');
    zc_store_fault_set(store, ZC_FAULT_SYNC, 1, 1, EIO);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STAGED), -EIO);
    zc_store_mem_die_unsaid(mem);
    ck_assert_uint_eq(stored_size("/f"), 0);
    ck_assert_int_eq(zc_cache_refresh(file), 0);
    ck_assert_uint_eq(zc_cache_size(file), PAGE);
    flush_ok();
    expect_on_disk(0, PAGE, 'a');
    stop();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cache: retained");
    TCase *tc;

    quiet_log();
    CASE(s, "kept", 30, until_it_is_stored, as_far_as_it_is_stored,
         a_page_of_two_writes_until_the_second_is_stored, a_sync_that_stores_ends_it,
         a_sync_that_fails_does_not, what_is_stored_when_it_is_taken, the_last_close_ends_it);
    CASE(s, "deaths", 30, a_death_makes_it_dirty_again, a_death_after_another,
         only_what_was_not_stored, the_newest_bytes_are_sent, during_a_write,
         during_a_write_that_fails, the_successor_takes_what_was_refused, before_a_sync,
         before_a_sync_and_kept_nowhere, after_a_sync_that_failed_and_one_that_worked,
         during_a_sync, during_a_sync_and_written_again, before_a_close, before_a_close_and_refused,
         what_was_cut_off_is_not_sent, nor_what_was_deleted, a_write_over_it_that_breaks_off);
    tc = tcase_create("syncs");
    tcase_add_loop_test(tc, after_a_sync_that_failed, 0, 3);
    suite_add_tcase(s, tc);
    CASE(s, "room", 30, others_go_first, what_was_evicted_is_lost_by_range,
         what_was_evicted_and_stored_is_not, a_death_leaves_readers_room,
         unprotected_bytes_end_in_turn, off_keeps_nothing, what_was_exposed_and_cut_off,
         direct_write_is_unprotected, direct_write_once_more, direct_write_and_stored);
    CASE(s, "strict", 30, strict_evicts_nothing, strict_readers_find_room,
         strict_and_the_store_is_full, strict_and_the_store_is_full_of_others,
         strict_writes_nothing_directly, strict_stores_pages_to_be_dropped, a_smaller_strict_cache);
    CASE(s, "others", 30, a_refresh_after_it_was_handed_over, a_refresh_keeps_the_rest,
         a_strict_refresh_stores_it, giving_up_a_part_keeps_the_rest, the_size_survives);
    return run_suite(s);
}
