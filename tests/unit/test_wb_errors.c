/* test_wb_errors.c - unwritten bytes belong to the file: when write-back errors begin and end.
 *
 * No close, STAT, dead client or shutdown ends them; success, truncation, deletion and an explicit
 * zc_cache_discard() do.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>

#include "cache_rig.h"
#include "zc_store_posix.h"

enum { FOREVER = 1000000 };

/* Makes writes fail with this error until works(). */
static void refuses(unsigned ops, int err)
{
    zc_store_fault_set(store, ops, 1, UINT32_MAX, err);
}

static void works(void)
{
    zc_store_fault_set(store, 0, 0, 0, 0);
}

/* The file is open, and 10 bytes of it could not be written. */
static void start_refused(unsigned retry_ms)
{
    setup();
    cfg.retry_ms = retry_ms;
    start();
    put(100, 10, 'a');
    refuses(ZC_FAULT_WRITE, ENOSPC);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -ENOSPC);
}

static void says(int rc, int want, const char *a, const char *b)
{
    const char *text = zc_error_text(rc);

    ck_assert_int_eq(rc, want);
    ck_assert_msg(strstr(text, a) && strstr(text, b), "%s", text);
}

/* ---- refused bytes stay ---- */

START_TEST(no_space_for_a_moment)
{
    start_refused(FOREVER);
    says(zc_cache_close(file), -ENOSPC, "/f", "10 bytes at 100");
    file = NULL;
    ck_assert_uint_eq(stats().failed_bytes, 10);
    ck_assert_uint_eq(stats().lost_bytes, 0);
    works();
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    expect_stored("/f", 100, 10, 'a');
    ck_assert_uint_eq(stats().lost_bytes + stats().failed_bytes, 0);
    stop();
}
END_TEST

/* Retried without a request until it works, at growing intervals. */
START_TEST(the_background_goes_on_trying)
{
    start_refused(1);
    ck_assert_int_eq(zc_cache_close(file), -ENOSPC);
    file = NULL;
    works();
    WAIT_FOR(st.dirty_bytes == 0 && st.failed_bytes == 0);
    expect_stored("/f", 100, 10, 'a');
    stop();
}
END_TEST

/* A client is killed: its handles are closed without a receiver of their errors. */
START_TEST(a_client_is_killed)
{
    setup();
    cfg.idle_ms = 1;
    cfg.retry_ms = FOREVER;
    start();
    refuses(ZC_FAULT_WRITE, ENOSPC);
    put(0, 10, 'a');
    WAIT_FOR(st.failed_bytes == 10);
    zc_cache_close(file);
    file = NULL;
    works();
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    expect_stored("/f", 0, 10, 'a');
    stop();
}
END_TEST

/* A STAT, or a reader that opens and closes: neither is a last close that discards bytes, and a
 * reader gets no writers' errors. */
START_TEST(others_come_by)
{
    start_refused(FOREVER);
    ck_assert_int_eq(zc_cache_close(file), -ENOSPC);
    for (int i = 0; i < 3; i++) {
        file = open_flags("/f", ZC_OPEN_READ);
        ck_assert_uint_eq(zc_cache_size(file), 110);
        expect(100, 10, 'a');
        ck_assert_int_eq(zc_cache_close(file), 0);
    }
    file = NULL;
    ck_assert_uint_eq(stats().failed_bytes, 10);
    works();
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    expect_stored("/f", 100, 10, 'a');
    stop();
}
END_TEST

START_TEST(a_later_open_finds_them)
{
    start_refused(FOREVER);
    ck_assert_int_eq(zc_cache_close(file), -ENOSPC);
    file = open_flags("/f", RW);
    expect(100, 10, 'a');
    says(zc_cache_flush(file, ZC_LEVEL_STORED), -ENOSPC, "/f", "10 bytes at 100");
    ck_assert_int_eq(zc_cache_close(file), -ENOSPC);
    file = open_flags("/f", RW);
    works();
    flush_ok();
    expect_stored("/f", 100, 10, 'a');
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    stop();
}
END_TEST

/* Path, amount, range and cause, in one line, for any number of pages. */
START_TEST(the_verdict_names_it_all)
{
    setup();
    cfg.retry_ms = FOREVER;
    cfg.capacity = 8 * PAGE;
    start();
    put(PAGE - 6, 6 + PAGE + 4, 'a'); /* one range over three pages */
    put(2 * PAGE + 100, 10, 'b');
    put(3 * PAGE + 1, 1, 'c');
    refuses(ZC_FAULT_WRITE, ENOSPC);
    says(zc_cache_flush(file, ZC_LEVEL_STORED), -ENOSPC, "/f",
         "4117 bytes in 3 ranges within 4090-12289");
    says(zc_cache_close(file), -ENOSPC, "/f", "4117 bytes in 3 ranges within 4090-12289");
    file = NULL;
    stop();
}
END_TEST

/* ---- what ends it ---- */

START_TEST(a_truncation_ends_it)
{
    start_refused(FOREVER);
    ck_assert_int_eq(zc_cache_truncate(file, 50), 0);
    flush_ok();
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    ck_assert_uint_eq(stats().lost_bytes + stats().failed_bytes, 0);
    stop();
}
END_TEST

START_TEST(an_unlink_ends_it)
{
    start_refused(FOREVER);
    ck_assert_int_eq(zc_cache_close(file), -ENOSPC);
    file = NULL;
    ck_assert_int_eq(zc_cache_unlink(cache, "/f"), 0);
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    ck_assert_uint_eq(stats().files + stats().dirty_bytes, 0);
    stop();
}
END_TEST

/* Checks that the cache has the store's bytes, and no others. */
static void expect_like_store(void)
{
    static char here[4 * PAGE], there[4 * PAGE];
    struct iovec iov = {there, sizeof there};
    struct zc_attr attr = {0};
    struct zc_sfile *sf;
    ssize_t n = zc_cache_read(file, here, sizeof here, 0);

    ck_assert_int_eq(zc_store_open_file(store, "/f", ZC_OPEN_READ, 0, &sf, &attr), 0);
    ck_assert_int_eq(zc_store_preadv(sf, &iov, 1, 0), n);
    zc_store_close_file(sf, ZC_LEVEL_VISIBLE);
    ck_assert_mem_eq(here, there, (size_t)n);
    ck_assert_uint_eq(zc_cache_size(file), attr.size);
}

/* Nothing is left of discarded bytes, including their effect on the size.  (The store has accepted
 * the first half of a write that it failed.) */
START_TEST(a_writer_gives_up)
{
    start_refused(FOREVER);
    works();
    put(0, 20, 'k');
    flush_ok();
    put(10, 100, 'x');
    refuses(ZC_FAULT_WRITE, EIO);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -EIO);
    zc_cache_discard(file, 10, 150);
    works();
    expect_like_store();
    put(1000, 10, 'x');
    refuses(ZC_FAULT_WRITE, EIO);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -EIO);
    zc_cache_discard(file, 0, UINT64_MAX);
    expect_like_store();
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    ck_assert_uint_eq(stats().dirty_bytes + stats().lost_bytes, 0);
    stop();
}
END_TEST

/* A store write of them is under way: discard waits for it, or it would bring them back. */
static void *give_up(void *h)
{
    zc_cache_discard(h, 0, UINT64_MAX);
    return NULL;
}

/* Another client writes beyond them while the store is asked for the size. */
START_TEST(given_up_while_others_write)
{
    pthread_t other;

    start_refused(FOREVER);
    works();
    zc_store_fault_hold(store, ZC_FAULT_ATTR);
    ck_assert_int_eq(pthread_create(&other, NULL, give_up, file), 0);
    wait_held(1);
    put(1000, 10, 'b');
    zc_store_fault_release(store);
    ck_assert_int_eq(pthread_join(other, NULL), 0);
    ck_assert_uint_eq(zc_cache_size(file), 1010);
    expect(1000, 10, 'b');
    flush_ok();
    expect_like_store();
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    stop();
}
END_TEST

START_TEST(given_up_while_tried_again)
{
    struct flush_note n;
    pthread_t t;

    start_refused(FOREVER);
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    start_flush(&n, ZC_LEVEL_STORED);
    wait_held(1);
    pthread_create(&t, NULL, give_up, file);
    for (int i = 0; i < 100; i++)
        sched_yield();
    zc_store_fault_release(store);
    pthread_join(t, NULL);
    await_flush(&n);
    ck_assert_uint_eq(stats().dirty_bytes, 0);
    ck_assert_uint_eq(zc_cache_size(file), stored_size("/f"));
    works();
    flush_ok();
    stop();
}
END_TEST

/* ---- deletion by another process ---- */

/* Returns what a test has logged. */
static char *logged(FILE *log)
{
    static char text[4096];
    ssize_t n = pread(fileno(log), text, sizeof text - 1, 0);

    ck_assert_int_ge(n, 0);
    text[n] = '\0';
    return text;
}

/* Returns what is logged of it. */
static char *deleted_while_dirty(bool doomed)
{
    FILE *log = tmpfile();
    char *text;

    start_refused(FOREVER);
    if (doomed)
        zc_cache_unlink_pending(file);
    ck_assert_int_eq(zc_cache_close(file), -ENOSPC);
    file = NULL;
    ck_assert_int_eq(zc_store_unlink(store, "/f"), 0);
    zc_log_to_fd(fileno(log));
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    zc_log_to_fd(STDERR_FILENO);
    text = logged(log);
    ck_assert_uint_eq(stats().dropped_bytes, doomed ? 0 : 10);
    ck_assert_uint_eq(stats().lost_bytes + stats().dirty_bytes + stats().files, 0);
    fclose(log);
    stop();
    return text;
}

START_TEST(deleted_by_others_while_dirty)
{
    const char *text = deleted_while_dirty(false);

    ck_assert_msg(strstr(text, "/f: 10 bytes that were not written back are dropped"), "%s", text);
}
END_TEST

START_TEST(deleted_when_it_is_closed)
{
    ck_assert_str_eq(deleted_while_dirty(true), "");
}
END_TEST

/* ---- syncs that fail ---- */

/* After a failed fdatasync bytes may be lost, whatever the next one returns. */
START_TEST(a_failed_fsync_is_for_good)
{
    struct zc_handle *other, *later, *reader;

    setup();
    start();
    other = open_flags("/f", RW);
    put(0, 10, 'a');
    zc_store_fault_set(store, ZC_FAULT_SYNC, 1, 1, EIO);
    says(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO, "/f", "10 bytes");
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO);
        ck_assert_int_eq(zc_cache_flush(other, ZC_LEVEL_STORED), -EIO);
    }
    later = open_flags("/f", RW);
    ck_assert_int_eq(zc_cache_flush(later, ZC_LEVEL_DURABLE), -EIO);
    ck_assert_int_eq(zc_cache_close(other), -EIO);
    ck_assert_int_eq(zc_cache_close(later), -EIO);
    ck_assert_int_eq(zc_cache_close(file), -EIO); /* the last handle */
    ck_assert_uint_eq(stats().lost_bytes, 10);
    zc_cache_evict(cache);
    reader = open_flags("/f", ZC_OPEN_READ);
    ck_assert_int_eq(zc_cache_close(reader), 0);
    file = open_flags("/f", RW);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -EIO);
    ck_assert_int_eq(zc_cache_drain(cache), -EIO);
    ck_assert_int_eq(zc_cache_truncate(file, 0), 0);
    put(0, 10, 'b');
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), 0);
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    ck_assert_uint_eq(stats().lost_bytes, 10); /* since the cache was created */
    stop();
}
END_TEST

/* 10 bytes are lost of a new, closed file in the file system. */
static void lost_on_posix(const char *path)
{
    struct zc_store *posix;

    setup();
    zc_store_destroy(store);
    ck_assert_int_eq(zc_store_posix_create(NULL, &posix), 0);
    ck_assert_int_eq(zc_store_fault_create(posix, &store), 0);
    make_cache();
    file = open_flags(path, NEW);
    put(0, 10, 'a');
    zc_store_fault_set(store, ZC_FAULT_SYNC, 1, 1, EIO);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO);
    ck_assert_int_eq(zc_cache_close(file), -EIO);
    ck_assert_int_eq(zc_cache_drain(cache), -EIO); /* closes unused store files */
}

/* The file has another name, and is unchanged. */
START_TEST(one_of_two_names_is_deleted)
{
    char dir[] = "/tmp/zcache-ledger.XXXXXX", f[64], g[64];

    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(f, sizeof f, "%s/f", dir);
    snprintf(g, sizeof g, "%s/g", dir);
    lost_on_posix(f);
    ck_assert_int_eq(link(f, g), 0);
    ck_assert_int_eq(zc_cache_unlink(cache, f), 0);
    file = open_flags(g, RW);
    says(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO, "10 bytes", "may be lost");
    ck_assert_int_eq(zc_cache_close(file), -EIO);
    file = NULL;
    ck_assert_int_eq(zc_cache_unlink(cache, g), 0);
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    ck_assert_uint_eq(stats().files, 0);
    stop();
    ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

/* So is the file when a symbolic link to it is deleted. */
START_TEST(a_link_to_it_is_deleted)
{
    char dir[] = "/tmp/zcache-ledger.XXXXXX", f[64], g[64];

    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(f, sizeof f, "%s/f", dir);
    snprintf(g, sizeof g, "%s/g", dir);
    lost_on_posix(f);
    ck_assert_int_eq(symlink(f, g), 0);
    ck_assert_int_eq(zc_cache_unlink(cache, g), 0);
    ck_assert_int_eq(zc_cache_drain(cache), -EIO);
    file = open_flags(f, RW);
    says(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO, "10 bytes", "may be lost");
    ck_assert_int_eq(zc_cache_close(file), -EIO);
    file = NULL;
    ck_assert_int_eq(zc_cache_unlink(cache, f), 0);
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    ck_assert_uint_eq(stats().files, 0);
    stop();
    ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

/* The file is renamed, and another file gets its old name.  A drain ignores a file that is not at
 * its name; an open of it reports the loss. */
START_TEST(a_renamed_file_is_as_it_was)
{
    char dir[] = "/tmp/zcache-ledger.XXXXXX", f[64], g[64];

    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(f, sizeof f, "%s/f", dir);
    snprintf(g, sizeof g, "%s/g", dir);
    lost_on_posix(f);
    ck_assert_int_eq(rename(f, g), 0);
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    file = open_flags(g, RW);
    says(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO, "10 bytes", "may be lost");
    ck_assert_int_eq(zc_cache_close(file), -EIO);
    ck_assert_int_eq(zc_cache_drain(cache), -EIO); /* it is at that name */
    file = open_flags(f, NEW);
    put(0, 10, 'b');
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), 0);
    ck_assert_int_eq(zc_cache_close(file), 0);
    ck_assert_int_eq(rename(f, g), 0); /* which deletes the other one */
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    file = open_flags(g, RW);
    flush_ok();
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    stop();
    ck_assert_int_eq(unlink(g), 0);
    ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

/* Another process deletes a file with losses, and makes one that gets its number. */
START_TEST(another_file_of_that_number)
{
    struct iovec iov = {"new", 3};
    struct zc_attr attr = {0};
    struct zc_sfile *sf;

    setup();
    start();
    put(0, 10, 'a');
    zc_store_fault_set(store, ZC_FAULT_SYNC, 1, 1, EIO);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO);
    ck_assert_int_eq(zc_cache_close(file), -EIO);
    ck_assert_int_eq(zc_cache_drain(cache), -EIO);
    ck_assert_int_eq(zc_store_unlink(store, "/f"), 0);
    zc_store_mem_reuse_number(memory);
    ck_assert_int_eq(zc_store_open_file(store, "/f", NEW, 0600, &sf, &attr), 0);
    ck_assert_int_eq(zc_store_pwritev(sf, &iov, 1, 0), 3);
    zc_store_close_file(sf, ZC_LEVEL_STORED);
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    file = open_flags("/f", RW);
    flush_ok();
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    stop();
}
END_TEST

/* Files kept for their losses only are limited in number: the oldest is forgotten, which is logged
 * and reported by the next drain. */
START_TEST(the_lost_are_remembered_in_turn)
{
    enum { MOST = 100 };
    FILE *log = tmpfile();
    struct zc_handle *first = NULL;
    char path[32];

    setup();
    cfg.lost_files = MOST;
    make_cache();
    zc_store_fault_set(store, ZC_FAULT_SYNC, 1, UINT32_MAX, EIO);
    for (int i = 0; i <= MOST; i++) {
        snprintf(path, sizeof path, "/f%d", i);
        file = open_flags(path, NEW);
        put(0, 10, 'a');
        ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO);
        ck_assert_int_eq(zc_cache_close(file), -EIO);
        zc_cache_evict(cache);
        if (i == 0) { /* used again: not the oldest any more */
            first = open_flags("/f0", RW);
        } else if (i == 1) {
            ck_assert_int_eq(zc_cache_close(first), -EIO);
        } else if (i == MOST - 1) {
            ck_assert_uint_eq(stats().files, MOST);
            zc_log_to_fd(fileno(log));
        }
    }
    zc_log_to_fd(STDERR_FILENO);
    ck_assert_uint_eq(stats().files, MOST);
    ck_assert_msg(strstr(logged(log), "/f1: ") != NULL, "%s", logged(log));
    fclose(log);
    zc_store_fault_set(store, 0, 0, 0, 0);
    file = open_flags("/f1", RW); /* the forgotten one */
    ck_assert_int_eq(zc_cache_close(file), 0);
    for (int i = 0; i <= MOST; i++) {
        snprintf(path, sizeof path, "/f%d", i);
        ck_assert_int_eq(zc_store_unlink(store, path), 0);
    }
    ck_assert_int_eq(zc_cache_drain(cache), -EIO);
    ck_assert_uint_eq(stats().lost_bytes, 10 * (MOST + 1));
    ck_assert_uint_eq(stats().files, MOST); /* might be renamed */
    file = NULL;
    stop();
}
END_TEST

/* Bytes covered by a successful sync are not affected. */
START_TEST(only_what_was_written_since)
{
    setup();
    start();
    put(0, 1000, 'a');
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), 0);
    put(2000, 7, 'b');
    zc_store_fault_set(store, ZC_FAULT_SYNC, 1, 1, EIO);
    says(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO, "7 bytes", "2000-2006");
    ck_assert_uint_eq(stats().lost_bytes, 7);
    zc_cache_discard(file, 0, UINT64_MAX);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), 0);
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    stop();
}
END_TEST

/* Over NFS a write may fail as late as the close, which comes after the last handle. */
START_TEST(a_close_that_fails_loses_bytes)
{
    setup();
    start();
    put(5, 10, 'a');
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    ck_assert_int_eq(zc_cache_close(file), 0);
    wait_held(1);
    zc_store_fault_set(store, ZC_FAULT_CLOSE, 1, 1, EIO);
    zc_store_fault_release(store);
    says(zc_cache_drain(cache), -EIO, "/f", "10 bytes");
    ck_assert_uint_eq(stats().lost_bytes, 10);
    file = open_flags("/f", RW);
    says(zc_cache_flush(file, ZC_LEVEL_STORED), -EIO, "/f", "5-14");
    ck_assert_int_eq(zc_cache_close(file), -EIO);
    file = NULL;
    ck_assert_int_eq(zc_cache_unlink(cache, "/f"), 0);
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    ck_assert_uint_eq(stats().files, 0);
    stop();
}
END_TEST

/* No byte of this cache is concerned: it was another writer's, perhaps an earlier daemon's. */
START_TEST(a_close_that_fails_loses_unknown_bytes)
{
    setup();
    start();
    put(0, 10, 'a');
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), 0);
    zc_store_fault_set(store, ZC_FAULT_CLOSE, 1, 1, EIO);
    says(zc_cache_close(file), -EIO, "close of", "/f");
    ck_assert_uint_eq(stats().lost_bytes, 0);
    ck_assert_int_eq(zc_cache_drain(cache), -EIO);
    file = open_flags("/f", RW);
    says(zc_cache_flush(file, ZC_LEVEL_STORED), -EIO, "close of", "/f");
    ck_assert_int_eq(zc_cache_truncate(file, PAGE), 0);
    ck_assert_int_eq(zc_cache_close(file), -EIO);
    file = open_flags("/f", RW);
    ck_assert_int_eq(zc_cache_truncate(file, 0), 0);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), 0);
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    stop();
}
END_TEST

/* A deleted file leaves nothing behind but the error of the close. */
START_TEST(a_close_that_fails_of_a_deleted_file)
{
    setup();
    start();
    put(0, 10, 'a');
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), 0);
    ck_assert_int_eq(zc_cache_unlink(cache, "/f"), 0);
    zc_store_fault_set(store, ZC_FAULT_CLOSE, 1, 1, EIO);
    ck_assert_int_eq(zc_cache_close(file), -EIO);
    file = NULL;
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    ck_assert_uint_eq(stats().files, 0);
    stop();
}
END_TEST

static void *syncs(void *arg)
{
    (void)arg;
    return (void *)(intptr_t)zc_cache_flush(file, ZC_LEVEL_DURABLE);
}

/* What a sync under way covers is truncated before it fails. */
START_TEST(cut_off_during_a_sync)
{
    pthread_t other;
    void *rc;

    setup();
    start();
    put(0, 10, 'a');
    zc_store_fault_hold(store, ZC_FAULT_SYNC);
    ck_assert_int_eq(pthread_create(&other, NULL, syncs, NULL), 0);
    wait_held(1);
    ck_assert_int_eq(zc_cache_truncate(file, 0), 0);
    zc_store_fault_set(store, ZC_FAULT_SYNC, 1, 1, EIO);
    zc_store_fault_release(store);
    pthread_join(other, &rc);
    ck_assert_int_eq((int)(intptr_t)rc, -EIO);
    ck_assert_uint_eq(stats().lost_bytes, 0);
    put(0, 10, 'b');
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), 0);
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    stop();
}
END_TEST

/* Only known bytes are truncated: the error may concern those of an earlier daemon. */
START_TEST(cut_off_in_part_during_a_sync)
{
    pthread_t other;
    void *rc;

    setup();
    start();
    put(0, 10, 'a');
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), 0);
    put(PAGE, 10, 'b');
    zc_store_fault_hold(store, ZC_FAULT_SYNC);
    ck_assert_int_eq(pthread_create(&other, NULL, syncs, NULL), 0);
    wait_held(1);
    ck_assert_int_eq(zc_cache_truncate(file, PAGE), 0);
    zc_store_fault_set(store, ZC_FAULT_SYNC, 1, 1, EIO);
    zc_store_fault_release(store);
    pthread_join(other, &rc);
    ck_assert_int_eq((int)(intptr_t)rc, -EIO);
    ck_assert_uint_eq(stats().lost_bytes, 0);
    says(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO, "sync of", "/f");
    ck_assert_int_eq(zc_cache_truncate(file, 0), 0);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), 0);
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    stop();
}
END_TEST

/* The kernel may have failed for bytes written after the sync began. */
START_TEST(stored_during_a_sync)
{
    pthread_t other;
    void *rc;

    setup();
    cfg.idle_ms = 1;
    start();
    put(PAGE, 10, 'a');
    zc_store_fault_hold(store, ZC_FAULT_SYNC);
    ck_assert_int_eq(pthread_create(&other, NULL, syncs, NULL), 0);
    wait_held(1);
    put(0, 10, 'b');
    WAIT_FOR(st.dirty_bytes == 0);
    zc_store_fault_set(store, ZC_FAULT_SYNC, 1, 1, EIO);
    zc_store_fault_release(store);
    pthread_join(other, &rc);
    ck_assert_int_eq((int)(intptr_t)rc, -EIO);
    ck_assert_int_eq(zc_cache_truncate(file, PAGE), 0); /* which accepts the first ones */
    says(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO, "/f", "may be lost");
    stop();
}
END_TEST

/* Or for bytes in a store write when a sync failed that had begun without any. */
START_TEST(on_its_way_during_a_sync)
{
    pthread_t other;
    void *rc;

    setup();
    cfg.idle_ms = 1;
    start();
    ck_assert_int_eq(zc_cache_truncate(file, PAGE), 0);
    zc_store_fault_hold(store, ZC_FAULT_SYNC | ZC_FAULT_WRITE_RESULT);
    ck_assert_int_eq(pthread_create(&other, NULL, syncs, NULL), 0);
    wait_held(1);
    put(0, 10, 'b');
    wait_held(2);
    zc_store_fault_set(store, ZC_FAULT_SYNC, 1, 1, EIO);
    zc_store_fault_hold(store, ZC_FAULT_WRITE_RESULT); /* the sync returns before the write */
    pthread_join(other, &rc);
    ck_assert_int_eq((int)(intptr_t)rc, -EIO);
    zc_store_fault_release(store);
    says(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO, "/f", "10 bytes");
    ck_assert_uint_eq(stats().lost_bytes, 10);
    ck_assert_int_eq(zc_cache_close(file), -EIO);
    file = NULL;
    ck_assert_int_eq(zc_cache_drain(cache), -EIO);
    stop();
}
END_TEST

/* Bytes of an earlier daemon, which ended before their sync, fail in the next one, which does not
 * know them. */
START_TEST(of_others_during_a_sync)
{
    setup();
    start();
    put(0, 10, 'a');
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), 0);
    ck_assert_int_eq(zc_cache_close(file), 0);
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    file = open_flags("/f", RW);
    zc_store_fault_set(store, ZC_FAULT_SYNC, 1, 1, EIO);
    says(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO, "sync of", "/f");
    says(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO, "sync of", "/f");
    put(PAGE, 10, 'b');
    zc_store_fault_set(store, ZC_FAULT_SYNC, 1, 1, EIO);
    says(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO, "/f", "10 bytes");
    ck_assert_int_eq(zc_cache_truncate(file, PAGE), 0); /* these, but not the others */
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO);
    ck_assert_int_eq(zc_cache_close(file), -EIO);
    ck_assert_int_eq(zc_cache_drain(cache), -EIO);
    file = open_flags("/f", RW);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -EIO);
    ck_assert_int_eq(zc_cache_truncate(file, 0), 0);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), 0);
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    stop();
}
END_TEST

/* Checks that a flush does not sync the store: a sync would fail. */
static void syncs_nothing(void)
{
    uint64_t raised = zc_store_fault_raised(store);

    zc_store_fault_set(store, ZC_FAULT_SYNC, 1, 1, EIO);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), 0);
    ck_assert_uint_eq(zc_store_fault_raised(store), raised);
    works();
}

static void syncs_something(void)
{
    uint64_t before = stats().store_syncs;

    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), 0);
    ck_assert_uint_eq(stats().store_syncs, before + 1);
    syncs_nothing();
}

/* Ranks that sync one after another cause one sync of the store, if nothing changes between. */
START_TEST(what_is_durable_is_not_synced_again)
{
    pthread_t other;
    void *rc;

    setup();
    cfg.idle_ms = 1;
    start();
    syncs_something(); /* bytes left by others */
    put(0, 10, 'a');
    syncs_something();
    put(PAGE, 10, 'b');
    WAIT_FOR(st.dirty_bytes == 0);
    syncs_something();
    ck_assert_int_eq(zc_cache_truncate(file, PAGE), 0);
    syncs_something();
    ck_assert_int_eq(zc_cache_allocate(file, 0, 4 * PAGE), 0);
    syncs_something();
    put(0, 10, 'c');
    zc_store_fault_hold(store, ZC_FAULT_SYNC);
    ck_assert_int_eq(pthread_create(&other, NULL, syncs, NULL), 0);
    wait_held(1);
    put(PAGE, 10, 'd'); /* which that one may have missed */
    WAIT_FOR(st.dirty_bytes == 0);
    zc_store_fault_release(store);
    pthread_join(other, &rc);
    ck_assert_int_eq((int)(intptr_t)rc, 0);
    syncs_something();
    ck_assert_int_eq(zc_cache_close(file), 0);
    ck_assert_int_eq(zc_cache_drain(cache), 0);
    file = open_flags("/f", RW);
    syncs_something(); /* others may have had it open meanwhile */
    stop();
}
END_TEST

/* For an aggregator over the file system itself no server below keeps errors. */
START_TEST(also_of_a_file_that_is_not_open)
{
    setup();
    cfg.transient = true;
    start();
    put(0, 10, 'a');
    zc_store_fault_set(store, ZC_FAULT_SYNC, 1, 1, EIO);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO);
    ck_assert_int_eq(zc_cache_close(file), -EIO);
    file = open_flags("/f", RW);
    says(zc_cache_flush(file, ZC_LEVEL_DURABLE), -EIO, "/f", "10 bytes");
    ck_assert_int_eq(zc_cache_close(file), -EIO);
    file = open_flags("/f", RW);
    ck_assert_int_eq(zc_cache_truncate(file, 0), 0);
    ck_assert_int_eq(zc_cache_close(file), 0);
    file = NULL;
    ck_assert_uint_eq(stats().files, 0);
    stop();
}
END_TEST

/* ---- one result for all ---- */

/* Ranks share a handle.  In the second round the first asks while the disk is full, the others when
 * there is room again and all is written: all of them get the error, and none in the third
 * round. */
START_TEST(later_clients_get_the_same_result)
{
    uint64_t told[3] = {ZC_ERRSEQ_NONE, ZC_ERRSEQ_NONE, ZC_ERRSEQ_NONE};
    struct flush_note n;

    setup();
    cfg.retry_ms = FOREVER;
    start();
    put(0, 10, 'a');
    refuses(ZC_FAULT_WRITE, ENOSPC);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 3; i++) {
            if (round == 1 && i == 1)
                works();
            memset(&n.f, 0, sizeof n.f);
            atomic_store(&n.calls, 0);
            n.f = (struct zc_flush){
                .handle = file, .level = ZC_LEVEL_STORED, .done = flushed, .errseq = &told[i]};
            zc_cache_flush_start(&n.f);
            await_flush(&n);
            ck_assert_int_eq(n.f.error.rc, round < 2 ? -ENOSPC : 0);
        }
    put(20, 10, 'b');
    refuses(ZC_FAULT_WRITE, EIO);
    for (int i = 0; i < 3; i++) {
        n.f = (struct zc_flush){
            .handle = file, .level = ZC_LEVEL_STORED, .done = flushed, .errseq = &told[i]};
        atomic_store(&n.calls, 0);
        zc_cache_flush_start(&n.f);
        await_flush(&n);
        ck_assert_int_eq(n.f.error.rc, -EIO);
        works(); /* the others find it written */
    }
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -EIO); /* the handle itself */
    flush_ok();
    stop();
}
END_TEST

/* ---- a full disk of one file does not concern others ---- */

/* A writer of a failing file may use a quarter of the cache, then gets the error. */
START_TEST(the_quota_of_a_failing_file)
{
    char c = 'x';

    setup();
    cfg.capacity = 16 * PAGE;
    cfg.retry_ms = FOREVER;
    start();
    put(0, PAGE, 'a');
    refuses(ZC_FAULT_WRITE, ENOSPC);
    ck_assert_int_eq(zc_cache_flush(file, ZC_LEVEL_STORED), -ENOSPC);
    for (int i = 1; i < 4; i++)
        put((uint64_t)i * PAGE, PAGE, 'a');
    says((int)zc_cache_write(file, &c, 1, 10 * PAGE), -ENOSPC, "/f", "quota");
    put(3 * PAGE, 10, 'b'); /* within the pages it has already */
    expect(0, 3 * PAGE, 'a');
    expect(3 * PAGE, 10, 'b');
    works();
    flush_ok();
    put(10 * PAGE, 1, 'c');
    flush_ok();
    expect_stored("/f", 0, 3 * PAGE, 'a');
    expect_stored("/f", 3 * PAGE, 10, 'b');
    ck_assert_uint_eq(stats().lost_bytes, 0);
    stop();
}
END_TEST

static void *write_much(void *h)
{
    static char buf[64 * PAGE];

    memset(buf, 'a', sizeof buf);
    return (void *)(intptr_t)zc_cache_write(h, buf, sizeof buf, 0);
}

/* A fills the cache before its full disk is noticed; B goes on reading and writing. */
START_TEST(another_file_goes_on)
{
    struct zc_handle *full;
    uint64_t acknowledged;
    pthread_t t;
    void *n;

    setup();
    cfg.capacity = 16 * PAGE;
    cfg.retry_ms = FOREVER;
    start();
    store_put("/healthy", 0, 40 * PAGE, 'h');
    full = file;
    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    pthread_create(&t, NULL, write_much, full);
    wait_held(1);
    WAIT_FOR(st.waiting_room == 1);
    refuses(ZC_FAULT_WRITE, ENOSPC);
    zc_store_fault_release(store);
    pthread_join(t, &n);
    acknowledged = (uint64_t)(intptr_t)n;
    ck_assert_uint_ge(acknowledged, 8 * PAGE);
    ck_assert_uint_lt(acknowledged, 16 * PAGE);
    ck_assert_int_eq(zc_cache_flush(full, ZC_LEVEL_STORED), -ENOSPC);
    ck_assert_uint_eq(stats().failed_bytes, acknowledged);

    works();
    file = open_flags("/healthy", RW);
    expect(0, 40 * PAGE, 'h');
    for (int i = 0; i < 40; i++)
        put((uint64_t)i * PAGE, 100, 'n');
    flush_ok();
    expect_stored("/healthy", 39 * PAGE, 100, 'n');
    ck_assert_int_eq(zc_cache_close(file), 0);
    ck_assert_uint_eq(stats().failed_bytes, acknowledged); /* nothing was dropped for it */
    file = full;
    expect(0, acknowledged, 'a');
    flush_ok();
    expect_stored("/f", 0, acknowledged, 'a');
    stop();
}
END_TEST

/* ---- the end ---- */

static unsigned nlosses;
static struct zc_loss last_loss;
static char last_text[256];

static void note_loss(void *arg, const struct zc_loss *l)
{
    (void)arg;
    nlosses++;
    last_loss = *l;
    snprintf(last_text, sizeof last_text, "%s: %s", l->path, l->cause);
}

START_TEST(what_is_left_at_the_end_is_lost)
{
    FILE *log = tmpfile();
    char *text;

    start_refused(FOREVER);
    ck_assert_int_eq(zc_cache_close(file), -ENOSPC);
    file = NULL;
    ck_assert_int_eq(zc_cache_drain(cache), -ENOSPC);
    zc_cache_losses(cache, note_loss, NULL);
    ck_assert_uint_eq(nlosses, 0);
    zc_log_to_fd(fileno(log));
    ck_assert_uint_eq(zc_cache_abandon(cache), 10);
    ck_assert_uint_eq(zc_cache_abandon(cache), 10);
    zc_log_to_fd(STDERR_FILENO);
    text = logged(log);
    ck_assert_msg(strstr(text, "/f: 10 bytes are lost, 1 range within bytes 100-109: "), "%s",
                  text);
    ck_assert_msg(strchr(strstr(text, "are lost"), '\n')[1] == '\0', "once: %s", text);
    zc_cache_losses(cache, note_loss, NULL);
    ck_assert_uint_eq(nlosses, 1);
    ck_assert_uint_eq(last_loss.bytes, 10);
    ck_assert_uint_eq(last_loss.nspans, 1);
    ck_assert_msg(strncmp(last_text, "/f: ", 4) == 0, "%s", last_text);
    ck_assert_uint_eq(stats().lost_bytes, 10);
    fclose(log);
    stop();
}
END_TEST

static void *abandons(void *arg)
{
    (void)arg;
    ck_assert_uint_eq(zc_cache_abandon(cache), 10);
    return NULL;
}

/* A sync without a waiter completes before its file is closed. */
START_TEST(the_end_waits_for_syncs)
{
    pthread_t other;

    setup();
    cfg.retry_ms = FOREVER;
    start();
    put(0, 10, 'a');
    zc_store_fault_hold(store, ZC_FAULT_SYNC);
    ck_assert_int_eq(zc_cache_flush_later(file, ZC_LEVEL_STORED), 0);
    wait_held(1);
    put(PAGE, 10, 'b');
    refuses(ZC_FAULT_WRITE, ENOSPC);
    zc_cache_close(file);
    file = NULL;
    ck_assert_int_eq(zc_cache_drain(cache), -ENOSPC);
    ck_assert_int_eq(pthread_create(&other, NULL, abandons, NULL), 0);
    usleep(100000);
    ck_assert_uint_eq(stats().files, 1);
    zc_store_fault_release(store);
    pthread_join(other, NULL);
    ck_assert_uint_eq(stats().files, 0);
    stop();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cache: ledger");

    quiet_log();
    CASE(s, "refused", 30, no_space_for_a_moment, the_background_goes_on_trying, a_client_is_killed,
         others_come_by, a_later_open_finds_them, the_verdict_names_it_all);
    CASE(s, "ends", 30, a_truncation_ends_it, an_unlink_ends_it, a_writer_gives_up,
         given_up_while_tried_again, given_up_while_others_write, deleted_by_others_while_dirty,
         deleted_when_it_is_closed);
    CASE(s, "syncs", 120, a_failed_fsync_is_for_good, only_what_was_written_since,
         a_close_that_fails_loses_bytes, a_close_that_fails_loses_unknown_bytes,
         a_close_that_fails_of_a_deleted_file, the_lost_are_remembered_in_turn,
         cut_off_during_a_sync, cut_off_in_part_during_a_sync, stored_during_a_sync,
         on_its_way_during_a_sync, of_others_during_a_sync, also_of_a_file_that_is_not_open,
         one_of_two_names_is_deleted, a_renamed_file_is_as_it_was, another_file_of_that_number,
         what_is_durable_is_not_synced_again, a_link_to_it_is_deleted);
    CASE(s, "verdicts", 30, later_clients_get_the_same_result);
    CASE(s, "quota", 30, the_quota_of_a_failing_file, another_file_goes_on);
    CASE(s, "end", 30, what_is_left_at_the_end_is_lost, the_end_waits_for_syncs);
    return run_suite(s);
}
