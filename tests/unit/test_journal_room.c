/* test_journal_room.c - a journal that is full, and one on a small disk. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "journal_model.h"
#include "zc_clock_sim.h"
#include "zc_record.h"

/* ---- full ---- */

START_TEST(a_full_journal_waits_for_write_back)
{
    static unsigned char data[SIZE];
    struct model_file *f = &m.f[0];
    struct zc_range all = {0, SIZE};
    struct put p;
    int n = 0;

    up();
    set_owing(true); /* however long it takes: overwritten bytes could be let go */
    do {
        ck_assert_int_eq(put(f, n % 256, 0, SIZE), 0);
        n++;
    } while (stats().journal_bytes < size - 3 * SIZE);
    do {
        m.numbers++;
        begin_put(&p, f, data, 0, &all, 1);
        WAIT_FOR(atomic_load(&p.done) || stats().journal_full > 0);
        if (stats().journal_full > 0)
            break;
        ck_assert_int_eq(end_put(&p), 0);
    } while (true);
    ck_assert_int_eq(atomic_load(&m.hurried), 1);
    ck_assert(!atomic_load(&p.done));
    ck_assert_uint_eq(stats().journal_waiting, 1);
    ck_assert_uint_le(stats().journal_bytes, size);
    set_owing(false);
    store(f, 0, SIZE, -1, 0); /* a note finds room */
    ck_assert_int_eq(end_put(&p), 0);
    WAIT_FOR(stats().journal_bytes < size / 2);
    WAIT_FOR(atomic_load(&m.hurried) == 0);
    down();
}
END_TEST

START_TEST(what_is_refused_does_not_fill_it)
{
    struct model_file *bad = &m.f[0], *good = &m.f[1];
    int rc;

    up();
    ck_assert_int_eq(put(bad, 1, 0, SIZE), 0);
    set_refused(-EDQUOT);
    for (int i = 0; (rc = put(bad, i % 256, 0, SIZE)) == 0; i++)
        ck_assert_int_lt(i, 100);
    ck_assert_int_eq(rc, -EDQUOT);
    ck_assert_uint_lt(stats().journal_bytes, size / 4 * 3);
    for (int i = 0; i < 100; i++) { /* many times its size */
        ck_assert_int_eq(put(good, i % 256, 0, SIZE), 0);
        store(good, 0, SIZE, -1, 0);
    }
    die();
    come_back();
    down();
}
END_TEST

/* Adds notes, until no further one fits into the last segment. */
static void fill_segment(struct model_file *f)
{
    atomic_store(&disk_full, true);
    for (int i = 0; i < MIB / 16 / ZC_RECORD_HEAD; i++) {
        ck_assert_ptr_eq(zc_journal_opened(j, f->path, zc_journal_opening(j), &f->attr, false),
                         f->jfile);
        zc_journal_closed(j, f->jfile, true);
    }
}

/* Segments that are not needed, except for their notes about older ones, and no room for these. */
START_TEST(segments_stay_without_room_for_notes)
{
    up();
    zc_log_level(ZC_LOG_ERROR);
    set_owing(true);
    store(&m.f[0], 0, SIZE, -1, 0);              /* an intent is open from now on */
    ck_assert_int_eq(put(&m.f[1], 9, 0, 10), 0); /* keeps the first */
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(put(&m.f[0], i, 0, SIZE), 0);
    store(&m.f[0], 0, SIZE, -1, 0);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(put(&m.f[2], i, 0, SIZE), 0);
    store(&m.f[2], 0, SIZE, -1, 0);
    fill_segment(&m.f[2]);
    set_owing(false);
    zc_clock_sleep(2200 * ZC_NS_PER_MS); /* two ticks, in which they would go */
    die();
    atomic_store(&disk_full, false);
    come_back();
    down();
}
END_TEST

static int newest(char *path, size_t len)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    unsigned n, most = 0;

    while ((e = readdir(d)))
        if (sscanf(e->d_name, "segment.%u", &n) == 1 && n > most) {
            most = n;
            snprintf(path, len, "%s/%s", dir, e->d_name);
        }
    closedir(d);
    return (int)most;
}

/* A file's deletion is in another segment than its bytes; the former is deleted, the latter stays.
 * Repeating the note must not begin one segment after the other. */
START_TEST(what_was_deleted_stays_so)
{
    char path[512], heir[512];
    int number;

    up();
    ck_assert_int_eq(put(&m.f[0], 5, 0, 50), 0);
    ck_assert_int_eq(put(&m.f[1], 6, 0, 50), 0);
    die();
    come_back();
    newest(path, sizeof path);
    delete_and_make(&m.f[0]);
    WAIT_FOR(access(path, F_OK) != 0);
    number = newest(heir, sizeof heir);
    zc_clock_sleep(2200 * ZC_NS_PER_MS); /* two ticks */
    ck_assert_int_eq(newest(heir, sizeof heir), number);
    die();
    come_back();
    down();
}
END_TEST

/* The disk is smaller than the journal's limit: writers wait for write-back all the same. */
START_TEST(a_disk_that_is_smaller)
{
    up();
    zc_log_level(ZC_LOG_ERROR);
    atomic_store(&disk_room, 4);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(put(&m.f[0], i, 0, SIZE), 0);
        if (i % 2)
            store(&m.f[0], 0, SIZE, -1, 0);
    }
    ck_assert_int_eq(put(&m.f[1], 7, 0, SIZE), 0);
    ck_assert_int_le(segments(), 4);
    die();
    atomic_store(&disk_room, -1);
    come_back();
    down();
}
END_TEST

/* ---- room for one segment ---- */

enum { ONE = 4 * MIB / 16, SMALL = 64 << 10 };

static void up_with_one(void)
{
    up_with((uint64_t)16 * ONE);
    zc_log_level(ZC_LOG_ERROR);
    atomic_store(&disk_bytes, ONE);
}

/* Writes the whole file, until one write waits, which is *p. */
static void put_until_full(struct put *p, struct model_file *f, const void *data)
{
    static const struct zc_range all = {0, SIZE};
    uint64_t before = stats().journal_full;

    for (int i = 0;; i++) {
        m.numbers++;
        begin_put(p, f, data, 0, &all, 1);
        WAIT_FOR(atomic_load(&p->done) || stats().journal_full > before);
        if (stats().journal_full > before)
            return;
        pthread_mutex_lock(&model_lock);
        for (int x = 0; x < SIZE; x++) {
            f->pending[x] = *(const unsigned char *)data;
            f->number[x] = m.numbers;
        }
        pthread_mutex_unlock(&model_lock);
        ck_assert_int_eq(end_put(p), 0);
        ck_assert_int_lt(i, 20);
    }
}

static void end_put_of(struct put *p, struct model_file *f, int byte)
{
    WAIT_FOR(atomic_load(&p->done));
    pthread_mutex_lock(&model_lock);
    for (int x = 0; x < SIZE; x++) {
        f->pending[x] = (short)byte;
        f->number[x] = m.numbers;
    }
    pthread_mutex_unlock(&model_lock);
    ck_assert_int_eq(end_put(p), 0);
}

/* A segment that is all stored is replaced; a start finds the disk full, and needs no more. */
START_TEST(a_disk_with_room_for_one)
{
    static unsigned char data[SIZE];
    struct put p;

    up_with_one();
    for (int i = 0; i < 5; i++) {
        put_until_full(&p, &m.f[0], data);
        ck_assert(!atomic_load(&p.done));
        WAIT_FOR(atomic_load(&m.hurried) >= 1);
        store(&m.f[0], 0, SIZE, -1, 0);
        end_put_of(&p, &m.f[0], 0);
        ck_assert_int_le(segment_bytes(), ONE);
    }
    die();
    atomic_store(&disk_bytes, segment_bytes());
    come_back();
    store(&m.f[0], 0, SIZE, -1, 0);
    atomic_store(&disk_bytes, ONE);
    ck_assert_int_eq(put(&m.f[1], 3, 0, SIZE), 0);
    die();
    come_back();
    down();
}
END_TEST

/* ... and one that the store refuses is not: writers get the error. */
START_TEST(a_disk_with_room_for_one_that_is_refused)
{
    static unsigned char data[SIZE];
    struct put p;
    int rc;

    up_with_one();
    put_until_full(&p, &m.f[0], data);
    set_refused(-EDQUOT);
    ck_assert_int_eq(end_put(&p), -EDQUOT);
    while ((rc = put(&m.f[1], 1, 0, 100)) == 0)
        ;
    ck_assert_int_eq(rc, -EDQUOT);
    die();
    set_refused(0);
    come_back();
    down();
}
END_TEST

/* Other programs have taken the room meanwhile. */
START_TEST(a_disk_without_room)
{
    static unsigned char data[SIZE];
    struct put p;

    up_with_one();
    put_until_full(&p, &m.f[0], data);
    atomic_store(&disk_full, true);
    store(&m.f[0], 0, SIZE, -1, 0);
    ck_assert_int_eq(end_put(&p), -ENOSPC);
    ck_assert_ptr_nonnull(strstr(p.w.error.text, "has no room"));
    ck_assert_int_eq(put(&m.f[1], 1, 0, 100), -ENOSPC);
    atomic_store(&disk_full, false);
    ck_assert_int_eq(put(&m.f[1], 2, 0, 100), 0);
    die();
    come_back();
    down();
}
END_TEST

/* An older segment stays for another file: notes about it in the newer one are not lost. */
START_TEST(a_small_disk_keeps_notes)
{
    static unsigned char data[SIZE];
    struct put p;

    up_with_one();
    atomic_store(&disk_bytes, 2 * ONE + SMALL);
    ck_assert_int_eq(put(&m.f[1], 9, 0, 100), 0); /* keeps the first */
    while (stats().journal_bytes < 2 * ONE - SIZE - 4096)
        ck_assert_int_eq(put(&m.f[0], 8, 0, SIZE), 0);
    put_until_full(&p, &m.f[2], data);
    store(&m.f[0], 0, SIZE, -1, 0);
    end_put_of(&p, &m.f[2], 0);
    die();
    come_back();
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("journal_room");
    CASE(s, "room", 60, a_full_journal_waits_for_write_back, what_is_refused_does_not_fill_it,
         segments_stay_without_room_for_notes, what_was_deleted_stays_so, a_disk_that_is_smaller);
    CASE(s, "small disk", 20, a_disk_with_room_for_one, a_disk_with_room_for_one_that_is_refused,
         a_disk_without_room, a_small_disk_keeps_notes);
    zc_clock = zc_clock_sim();
    return run_suite(s);
}
