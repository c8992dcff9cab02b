/* test_journal_before.c - what a journal notes of a file before a write, and compares at a start;
 * and writes to it that fail.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "journal_model.h"
#include "zc_fd.h"
#include "zc_clock_sim.h"

/* ---- a disk that fails ---- */

/* A store write that begins during a failing write to the journal does not cover the records behind
 * that. */
START_TEST(what_failed_keeps_its_number)
{
    static unsigned char data[SIZE]; /* several records */
    struct model_file *f = &m.f[0];
    struct zc_range all = {0, SIZE};
    struct zc_range first = {0, 100};
    uint64_t until;
    struct put p;

    up();
    zc_log_level(ZC_LOG_ERROR);
    ck_assert_int_eq(put(f, 1, 0, 100), 0);
    store(f, 0, 100, -1, 0);
    atomic_store(&disk_half, _i % 2);
    atomic_store(&disk_held, false);
    atomic_store(&disk_holds, true);
    atomic_store(&disk_breaks, true);
    begin_put(&p, f, data, 0, &all, 1);
    WAIT_FOR(atomic_load(&disk_held));
    until = zc_journal_intent_begin(j, f->jfile, ZC_JOURNAL_NOT_TRUNCATED);
    atomic_store(&disk_holds, false);
    ck_assert_int_eq(end_put(&p), -EIO);
    for (int i = 0; i < 3 * (_i / 2); i++) /* and new segments fail, too */
        ck_assert_int_eq(put(f, 2, 0, 100), -EIO);
    ck_assert_int_le(segments(), 3);
    atomic_store(&disk_breaks, false);
    ck_assert_int_eq(put(f, 3, 0, 100), 0);
    zc_journal_stored(j, f->jfile, until, 0, &first, 1);
    zc_journal_intent_end(j, f->jfile);
    die();
    come_back();
    down();
}
END_TEST

/* No write is answered that is not in the journal, wherever in a segment its records end: also not
 * where there is room for what it has brought, but not for the note of what was there before. */
START_TEST(what_is_not_written_is_not_answered)
{
    enum { STEP = 32, MOST = 900 };
    static const unsigned char data[SIZE];
    struct model_file *f = &m.f[0];
    uint64_t room;

    up();
    zc_log_level(ZC_LOG_ERROR);
    make_real(f, data, sizeof data);
    ck_assert_int_eq(put(f, 1, 0, 4096), 0);
    while (stats().journal_bytes < 40000) /* of a segment of 64 KiB */
        ck_assert_int_eq(put(f, 1, 0, 4096), 0);
    room = (64 << 10) - stats().journal_bytes;
    atomic_store(&disk_breaks, true);
    ck_assert_int_eq(put(f, 2, 0, (uint32_t)room - MOST + (uint32_t)_i * STEP), -EIO);
    atomic_store(&disk_breaks, false);
    unlink(f->path);
    down();
}
END_TEST

/* A file system that cannot be read without waiting is asked at the open, and never by a write: it
 * may be a server that does not answer. */
START_TEST(a_write_asks_no_file_system_in_vain)
{
    static const unsigned char data[SIZE];
    struct model_file *f = &m.f[0];

    up();
    atomic_store(&peek_fails, true);
    make_real(f, data, sizeof data);
    atomic_store(&peeks, 0);
    ck_assert_int_eq(put(f, 1, 0, 8192), 0);
    ck_assert_int_eq(put(f, 2, 100, 200), 0);
    ck_assert_int_eq(atomic_load(&peeks), 0);
    atomic_store(&peek_fails, false);
    unlink(f->path);
    down();
}
END_TEST

/* A start reads of a file whose times say nothing about as much as the journal has of it, wherever
 * its records are; and few larger pieces where they are in order. */
START_TEST(a_start_reads_what_it_compares)
{
    enum { WRITES = 100, LEN = 64 };
    static const unsigned char data[LEN] = {1};
    const struct zc_range r = {0, LEN};
    struct zc_journal_sink looking = sink;
    struct zc_journal_replayed out;
    struct model_file *f = &m.f[0];
    uint64_t step = _i ? LEN : 3 * (uint64_t)MIB, off;
    struct put p;

    up();
    set_owing(true);
    m.numbers = 1; /* of all writes */
    zc_journal_closed(j, f->jfile, false);
    f->jfile = zc_journal_opened(j, f->path, zc_journal_opening(j), &f->attr, true);
    ck_assert_ptr_nonnull(f->jfile);
    for (unsigned i = 0; i < WRITES; i++) {
        off = i * step;
        begin_put(&p, f, data, off, &r, 1);
        ck_assert_int_eq(end_put(&p), 0);
    }
    die();
    open_journal();
    looking.read = sink_read;
    looking.write = sink_swallow;
    looked_at = 0;
    ck_assert_int_eq(zc_journal_replay(j, &looking, &out), 0);
    ck_assert_uint_eq(out.bytes, WRITES * LEN);
    ck_assert_uint_ge(looked_at, WRITES * LEN);
    ck_assert_uint_le(looked_at, _i ? 16 * WRITES * LEN : 3 * WRITES * 4096);
    down();
}
END_TEST

/* What a file had below many small ranges is read in few calls, where it is, and noted of each: a
 * start with the same bytes there writes all, and with one byte changed nothing. */
START_TEST(small_ranges_are_read_together)
{
    enum { RANGES = 1000, LEN = 8, STEP = 24, ENDS = 30000 };
    struct zc_journal_sink looking = sink;
    struct zc_journal_replayed out;
    struct model_file *f = &m.f[0];
    struct zc_range r[RANGES];
    int changed;

    up();
    for (int i = 0; i < SIZE; i++)
        has[i] = i < ENDS ? (unsigned char)(1 + i % 251) : 0;
    make_real(f, has, ENDS);
    zc_journal_closed(j, f->jfile, false);
    f->jfile = zc_journal_opened(j, f->path, zc_journal_opening(j), &f->attr, true);
    ck_assert_ptr_nonnull(f->jfile);
    for (int i = 0; i < RANGES; i++)
        r[i] = (struct zc_range){(uint32_t)(4000 + i * STEP), (uint32_t)(4000 + i * STEP + LEN)};
    for (int i = RANGES / 2; i < RANGES; i++) { /* the second half, beyond the end at last */
        r[i].lo += 10000;
        r[i].hi += 10000;
    }
    atomic_store(&peeks, 0);
    ck_assert_int_eq(put_ranges(f, 255, r, RANGES), 0);
    ck_assert_int_le(atomic_load(&peeks), 5); /* records, and one more behind the gap */
    die();
    changed = _i ? (int)r[_i - 1].lo + _i % LEN : -1;
    if (changed >= 0)
        has[changed] ^= 1;
    open_journal();
    looking.read = sink_read;
    looking.write = sink_swallow;
    ck_assert_int_eq(zc_journal_replay(j, &looking, &out), 0);
    ck_assert_uint_eq(out.bytes, _i ? 0 : RANGES * LEN);
    ck_assert_uint_eq(out.kept_bytes, _i ? RANGES * LEN : 0);
    memset(has, 0, sizeof has);
    unlink(f->path);
    down();
}
END_TEST

/* The kernel gives a part of what it has, or would wait for a moment, as it stores that: all of it
 * is noted nevertheless. */
START_TEST(a_look_goes_on_where_it_is_cut_short)
{
    struct zc_journal_sink looking = sink;
    struct zc_journal_replayed out;
    struct model_file *f = &m.f[0];
    int fd;

    up();
    for (int i = 0; i < SIZE; i++)
        has[i] = (unsigned char)(1 + i % 251);
    make_real(f, has, SIZE);
    fd = open(f->path, O_RDONLY);
    if (_i && zc_fd_cached(fd, 0, 4096) < 0)
        puts("skipped: a look that would wait: this kernel does not say what it has in memory");
    else
        atomic_store(&peek_stutters, 1 + _i);
    close(fd);
    zc_journal_closed(j, f->jfile, false);
    f->jfile = zc_journal_opened(j, f->path, zc_journal_opening(j), &f->attr, true);
    ck_assert_ptr_nonnull(f->jfile);
    ck_assert_int_eq(put(f, 255, 100, SIZE), 0);
    atomic_store(&peek_stutters, 0);
    die();
    open_journal();
    looking.read = sink_read;
    looking.write = sink_swallow;
    ck_assert_int_eq(zc_journal_replay(j, &looking, &out), 0);
    ck_assert_uint_eq(out.kept_bytes, 0);
    ck_assert_uint_eq(out.bytes, SIZE - 100);
    memset(has, 0, sizeof has);
    unlink(f->path);
    down();
}
END_TEST

static int breaks_in; /* writes until one is cut short */

/* Writes to `has`; the one that breaks leaves its first page, as the death of a daemon does. */
static int sink_has(void *file, const void *buf, size_t len, uint64_t off)
{
    bool breaks = --breaks_in == 0;

    (void)file;
    memcpy(has + off, buf, breaks && len > 4096 ? 4096 - off % 4096 : len);
    return breaks ? -EIO : 0;
}

/* A start that is cut off in the middle of a write leaves a file that has some of the bytes, of
 * several versions; the next one knows all of them. */
START_TEST(a_start_that_breaks_off_is_known)
{
    static unsigned char want[SIZE];
    struct zc_journal_sink looking = sink;
    struct zc_journal_replayed out;
    struct model_file *f = &m.f[0];

    up();
    for (int i = 0; i < SIZE; i++)
        want[i] = has[i] = (unsigned char)(1 + i % 251);
    make_real(f, has, SIZE);
    zc_journal_closed(j, f->jfile, false);
    f->jfile = zc_journal_opened(j, f->path, zc_journal_opening(j), &f->attr, true);
    ck_assert_ptr_nonnull(f->jfile);
    ck_assert_int_eq(put(f, 252, 0, 12288), 0);
    ck_assert_int_eq(put(f, 253, 4096, 16384), 0);
    ck_assert_int_eq(put(f, 254, 0, 4096), 0);
    ck_assert_int_eq(put(f, 255, 8192, 9000), 0);
    memset(want, 252, 12288);
    memset(want + 4096, 253, 16384 - 4096);
    memset(want, 254, 4096);
    memset(want + 8192, 255, 9000 - 8192);
    die();
    looking.read = sink_read;
    looking.write = sink_has;
    for (int again = 0; again < 2; again++) {
        open_journal();
        breaks_in = 1 + (_i + again) % 4;
        ck_assert_int_eq(zc_journal_replay(j, &looking, &out), -EIO);
        die();
    }
    open_journal();
    breaks_in = 0;
    ck_assert_int_eq(zc_journal_replay(j, &looking, &out), 0);
    ck_assert_uint_eq(out.kept_bytes, 0);
    ck_assert_int_eq(memcmp(has, want, SIZE), 0);
    memset(has, 0, sizeof has);
    unlink(f->path);
    down();
}
END_TEST

/* Two writes that overlap in part, in one order or the other, of which the earlier has been stored
 * when the daemon dies: the rest of the later one is as it was, and known; also if the daemon that
 * died had the earlier one from its start.  A foreign byte there is found. */
static const struct zc_range overlapping[][2] = {
    {{100, 2000}, {1000, 3000}},    /* its end is cut off */
    {{1000, 3000}, {100, 2000}},    /* its beginning */
    {{1000, 2000}, {100, 3000}},    /* both */
    {{100, 2000}, {1000, 3 * 4096}} /* and it goes on */
};
enum { OVERLAPPING = sizeof overlapping / sizeof *overlapping };

START_TEST(writes_that_overlap_are_known)
{
    const struct zc_range *r = overlapping[_i % OVERLAPPING];
    bool foreign = _i / OVERLAPPING % 2 == 1, restarted = _i >= 2 * OVERLAPPING;
    struct zc_journal_sink looking = sink;
    struct zc_journal_replayed out;
    struct model_file *f = &m.f[0];
    uint32_t lo = r[0].lo < r[1].lo ? r[0].lo : r[1].lo;
    uint32_t hi = r[0].hi > r[1].hi ? r[0].hi : r[1].hi;

    up();
    for (int i = 0; i < SIZE; i++)
        has[i] = (unsigned char)(1 + i % 251);
    make_real(f, has, SIZE);
    zc_journal_closed(j, f->jfile, false);
    f->jfile = zc_journal_opened(j, f->path, zc_journal_opening(j), &f->attr, true);
    ck_assert_ptr_nonnull(f->jfile);
    looking.read = sink_read;
    looking.write = sink_swallow;
    set_owing(true);
    ck_assert_int_eq(put(f, 252, r[0].lo, r[0].hi), 0);
    if (restarted) {
        die();
        open_journal();
        ck_assert_int_eq(zc_journal_replay(j, &looking, &out), 0);
        f->jfile = zc_journal_opened(j, f->path, zc_journal_opening(j), &f->attr, true);
        ck_assert_ptr_nonnull(f->jfile);
    }
    ck_assert_int_eq(put(f, 253, r[1].lo, r[1].hi), 0);
    memset(has + r[0].lo, 252, r[0].hi - r[0].lo);
    die();
    if (foreign)
        has[r[0].lo == lo ? hi - 1 : lo] ^= 1;
    open_journal();
    ck_assert_int_eq(zc_journal_replay(j, &looking, &out), 0);
    ck_assert_uint_eq(out.kept_bytes, foreign ? hi - lo : 0);
    ck_assert_uint_eq(out.bytes, foreign ? 0
                                         : hi - lo + (r[0].hi < r[1].hi ? r[0].hi : r[1].hi) -
                                               (r[0].lo > r[1].lo ? r[0].lo : r[1].lo));
    memset(has, 0, sizeof has);
    unlink(f->path);
    down();
}
END_TEST

/* A write is staged over another one before that is stored, alone: what the file has then is in no
 * note of the later write, and the earlier one's segment, though stored, has to stay. */
START_TEST(a_stored_write_explains_the_next)
{
    struct zc_journal_sink looking = sink;
    struct zc_journal_replayed out;
    struct model_file *f = &m.f[0];

    up();
    for (int i = 0; i < SIZE; i++)
        has[i] = (unsigned char)(1 + i % 251);
    make_real(f, has, SIZE);
    zc_journal_closed(j, f->jfile, false);
    f->jfile = zc_journal_opened(j, f->path, zc_journal_opening(j), &f->attr, true);
    ck_assert_ptr_nonnull(f->jfile);
    ck_assert_int_eq(put(f, 252, 0, 4096), 0);
    for (int i = 0; i < 3; i++) /* goes on to the next segment */
        ck_assert_int_eq(put(&m.f[1], 1, 0, SIZE), 0);
    ck_assert_int_eq(put(f, 253, 0, 4096), 0);
    memset(has, 252, 4096);
    store(&m.f[1], 0, SIZE, -1, 0);
    zc_clock_sleep(2200 * ZC_NS_PER_MS); /* two ticks, in which the first segment could go */
    die();
    open_journal();
    looking.read = sink_read;
    looking.write = sink_swallow;
    ck_assert_int_eq(zc_journal_replay(j, &looking, &out), 0);
    ck_assert_uint_eq(out.kept_bytes, 0);
    ck_assert_uint_ge(out.bytes, 4096);
    memset(has, 0, sizeof has);
    unlink(f->path);
    down();
}
END_TEST

/* Opens the file in the journal, as a cache does, which keeps it open beyond the replay. */
static int sink_open_and_keep(void *arg, const char *path, uint64_t mark, void **file)
{
    struct model_file *f = by_path(path);

    (void)arg;
    (void)mark;
    f->jfile = zc_journal_opened(j, path, zc_journal_opening(j), &f->attr, true);
    *file = f;
    return 0;
}

/* What later writes replace is noted, too, of a file that a replay has opened. */
START_TEST(a_file_that_a_replay_has_opened)
{
    struct zc_journal_sink looking = sink;
    struct zc_journal_replayed out;
    struct model_file *f = &m.f[0];

    up();
    for (int i = 0; i < SIZE; i++)
        has[i] = (unsigned char)(1 + i % 251);
    make_real(f, has, SIZE);
    zc_journal_closed(j, f->jfile, false);
    f->jfile = zc_journal_opened(j, f->path, zc_journal_opening(j), &f->attr, true);
    ck_assert_ptr_nonnull(f->jfile);
    set_owing(true);
    ck_assert_int_eq(put(f, 252, 0, 4096), 0);
    die();
    open_journal();
    looking.read = sink_read;
    looking.write = sink_swallow;
    looking.open = sink_open_and_keep;
    ck_assert_int_eq(zc_journal_replay(j, &looking, &out), 0);
    ck_assert_ptr_nonnull(f->jfile);
    ck_assert_int_eq(put(f, 253, 8192, 12288), 0);
    die();
    open_journal();
    ck_assert_int_eq(zc_journal_replay(j, &looking, &out), 0);
    ck_assert_uint_eq(out.kept_bytes, 0);
    ck_assert_uint_eq(out.bytes, 8192);
    memset(has, 0, sizeof has);
    unlink(f->path);
    down();
}
END_TEST

static _Thread_local struct model_file *opens_it; /* at the next close of a descriptor */

int __close(int fd); /* of libc or thread sanitizer, which has to learn that a number is free */

int close(int fd)
{
    struct model_file *f = opens_it;

    opens_it = NULL;
    if (f)
        open_file(f);
    return __close(fd);
}

/* What later writes replace is noted, too, of a file that is opened during its last close. */
START_TEST(a_file_that_is_opened_during_its_last_close)
{
    struct model_file *f = &m.f[0];
    struct zc_journal_file *was;

    up();
    memset(has, 1, sizeof has);
    make_real(f, has, SIZE);
    ck_assert_int_eq(put(f, 252, 0, 4096), 0); /* the journal goes on to know it */
    was = f->jfile;
    opens_it = f;
    zc_journal_closed(j, was, false);
    ck_assert_ptr_null(opens_it);
    ck_assert_ptr_eq(f->jfile, was);
    atomic_store(&peeks, 0);
    ck_assert_int_eq(put(f, 253, 8192, 12288), 0);
    ck_assert_int_gt(atomic_load(&peeks), 0);
    memset(has, 0, sizeof has);
    unlink(f->path);
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("journal_before");
    TCase *tc = tcase_create("records");

    tcase_set_timeout(tc, stretched(120));
    tcase_add_loop_test(tc, what_failed_keeps_its_number, 0, 4);
    tcase_add_loop_test(tc, what_is_not_written_is_not_answered, 0, 900 / 32);
    tcase_add_test(tc, a_write_asks_no_file_system_in_vain);
    tcase_add_loop_test(tc, a_start_reads_what_it_compares, 0, 2);
    tcase_add_loop_test(tc, small_ranges_are_read_together, 0, 4);
    tcase_add_loop_test(tc, small_ranges_are_read_together, 601, 603);
    tcase_add_loop_test(tc, a_look_goes_on_where_it_is_cut_short, 0, 2);
    tcase_add_loop_test(tc, a_start_that_breaks_off_is_known, 0, 4);
    tcase_add_loop_test(tc, writes_that_overlap_are_known, 0, 4 * OVERLAPPING);
    tcase_add_test(tc, a_stored_write_explains_the_next);
    tcase_add_test(tc, a_file_that_a_replay_has_opened);
    tcase_add_test(tc, a_file_that_is_opened_during_its_last_close);
    suite_add_tcase(s, tc);
    zc_clock = zc_clock_sim();
    return run_suite(s);
}
