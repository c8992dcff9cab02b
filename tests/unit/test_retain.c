/* test_retain.c - what a lossy store has taken is kept until it is stored, and sent again when the
 * store has lost it; or it is named as lost.
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

/* What is on its disk. */
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

/* ---- kept, and let go ---- */

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

/* Writes through a daemon are stored by the time they are answered. */
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

/* Twice, and the second time on the way there. */
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
    put(5, 10, 'b'); /* dirty beside what is retained */
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
    zc_store_mem_die_unsaid(mem); /* with what it has taken */
    zc_store_fault_release(store);
    await_flush(&n);
    ck_assert_int_eq(n.f.status, 0);
    ck_assert_uint_eq(stats().store_writes, 2); /* nobody knew who had taken the first */
    flush_ok();
    expect_on_disk(0, 10, 'a');
    stop();
}
END_TEST

/* That the call failed was the death's fault: the page is not to blame. */
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
    ck_assert_msg(n.f.status == 0, "%s", n.f.text);
    expect_on_disk(0, 10, 'a');
    stop();
}
END_TEST

/* What a dead one refused its successor is asked to take, however long the delay would have been.
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

/* Its sync is answered by the successor, which has nothing: the flush goes on, it does not end. */
START_TEST(during_a_sync)
{
    struct flush_note n;

    setup_lossy(ZC_REPLAY_ON);
    cfg.flushers = 1; /* which is in the sync: nobody writes meanwhile */
    start();
    put(0, 10, 'a');
    zc_store_fault_hold(store, ZC_FAULT_SYNC);
    start_flush(&n, ZC_LEVEL_STORED);
    wait_held(1);
    zc_store_mem_die_unsaid(mem);
    zc_store_fault_release(store);
    await_flush(&n);
    ck_assert_msg(n.f.status == 0, "%s", n.f.text);
    expect_on_disk(0, 10, 'a');
    stop();
}
END_TEST

/* The page has newer bytes by then, which the flush need not wait for: for the older it does. */
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
    ck_assert_msg(n.f.status == 0, "%s", n.f.text);
    expect_on_disk(5, 5, 'a');
    stop();
}
END_TEST

/* Whose store files are about to be closed: what they have lost is written first. */
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

/* A close that comes back has handed over, at its level, what was flushed before it. */
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

/* A write that breaks off leaves bytes behind that nobody knows: they are dirty, as what is
 * retained would be. */
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
    put(0, PAGE, 'c'); /* retained, and the page used longest ago */
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

/* Of four pages three may hold what is retained or dirty: here are five. */
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

/* A death makes dirty what is retained, and the store refuses it: readers still find a page. */
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

/* However much is exposed meanwhile. */
START_TEST(what_is_exposed_ends_in_turn)
{
    start_lossy(ZC_REPLAY_OFF);
    put(0, 10, 'a');
    hand_over(); /* 1: the older */
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

START_TEST(around_the_cache_is_exposed)
{
    char *buf = calloc(1, 8 * PAGE);

    start_lossy(ZC_REPLAY_ON);
    ck_assert_int_eq(zc_cache_write_around(file, buf, 8 * PAGE, 0), 8 * PAGE);
    ck_assert_uint_eq(stats().around_bytes, 8 * PAGE);
    ck_assert_uint_eq(stats().exposed_bytes, 8 * PAGE);
    flush_ok();
    ck_assert_uint_eq(stats().exposed_bytes, 0);
    free(buf);
    stop();
}
END_TEST

static void *write_around(void *len)
{
    size_t n = *(size_t *)len;
    char *buf = malloc(n);

    memset(buf, 'a', n);
    ck_assert_int_eq(zc_cache_write_around(file, buf, n, 0), (ssize_t)n);
    free(buf);
    return NULL;
}

START_TEST(around_the_cache_once_more)
{
    size_t len = 2 * PAGE;
    pthread_t t;

    start_lossy(ZC_REPLAY_ON);
    zc_store_fault_hold(store, ZC_FAULT_WRITE_RESULT);
    pthread_create(&t, NULL, write_around, &len);
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

START_TEST(around_the_cache_and_stored)
{
    size_t len = 2 * PAGE;
    pthread_t t;

    start_lossy(ZC_REPLAY_ON);
    zc_store_fault_hold(store, ZC_FAULT_WRITE_RESULT);
    pthread_create(&t, NULL, write_around, &len);
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

/* The store cannot store what it has: a writer hears of it, instead of waiting for ever. */
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

/* Nor for what the store refuses of another file, which is as full. */
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

START_TEST(strict_goes_around_nothing)
{
    char *buf = calloc(1, 8 * PAGE);

    start_lossy(ZC_REPLAY_STRICT);
    ck_assert_int_eq(zc_cache_write_around(file, buf, 8 * PAGE, 0), 8 * PAGE);
    ck_assert_uint_eq(stats().around_bytes, 0);
    free(buf);
    stop();
}
END_TEST

START_TEST(strict_stores_what_is_squeezed)
{
    setup_lossy(ZC_REPLAY_STRICT);
    cfg.max_extents = 4;
    start();
    for (int i = 0; i < 8; i++)
        put((uint64_t)i * 100, 10, 'a');
    ck_assert_uint_eq(stats().retained_bytes, 0); /* they wait for it, and it is forgotten then */
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

/* A sync below "stored" lets others see it, and write it anew: a refresh finds what they wrote. */
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

/* The size that the successor tells is not the file's: bytes at its end are to be sent again. */
/* Who gives up what was refused gives up no more than that. */
START_TEST(giving_up_a_part_keeps_the_rest)
{
    start_lossy(ZC_REPLAY_ON);
    put(0, 20, 'a');
    hand_over();
    put(15, 10, 'x');
    refuses(ZC_FAULT_WRITE | ZC_FAULT_SYNC, EIO);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STAGED), -EIO);
    ck_assert_uint_eq(stats().retained_bytes, 20);
    zc_cache_give_up(file, 15, 10);
    zc_store_fault_set(store, 0, 0, 0, 0);
    ck_assert_uint_eq(stats().retained_bytes, 15);
    ck_assert_uint_eq(stats().exposed_bytes, 0); /* nobody's, who gave them up */
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

    quiet_log();
    CASE(s, "kept", 30, until_it_is_stored, as_far_as_it_is_stored,
         a_page_of_two_writes_until_the_second_is_stored, a_sync_that_stores_ends_it,
         a_sync_that_fails_does_not, what_is_stored_when_it_is_taken, the_last_close_ends_it);
    CASE(s, "deaths", 30, a_death_makes_it_dirty_again, a_death_after_another,
         only_what_was_not_stored, the_newest_bytes_are_sent, during_a_write,
         during_a_write_that_fails, the_successor_takes_what_was_refused, during_a_sync,
         during_a_sync_and_written_again, before_a_close, before_a_close_and_refused,
         what_was_cut_off_is_not_sent, nor_what_was_deleted, a_write_over_it_that_breaks_off);
    CASE(s, "room", 30, others_go_first, what_was_evicted_is_lost_by_range,
         what_was_evicted_and_stored_is_not, a_death_leaves_readers_room,
         what_is_exposed_ends_in_turn, off_keeps_nothing, what_was_exposed_and_cut_off,
         around_the_cache_is_exposed, around_the_cache_once_more, around_the_cache_and_stored);
    CASE(s, "strict", 30, strict_evicts_nothing, strict_readers_find_room,
         strict_and_the_store_is_full, strict_and_the_store_is_full_of_others,
         strict_goes_around_nothing, strict_stores_what_is_squeezed, a_smaller_strict_cache);
    CASE(s, "others", 30, a_refresh_after_it_was_handed_over, a_refresh_keeps_the_rest,
         a_strict_refresh_stores_it, giving_up_a_part_keeps_the_rest, the_size_survives);
    return run_suite(s);
}
