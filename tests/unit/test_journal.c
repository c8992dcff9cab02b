/* test_journal.c - any series of calls of a journal alone: without a daemon, a cache or a store.
 *
 * After any series of writes, store writes, truncations and deletions, with segments coming and
 * going, and after a tail torn at any byte, a reopened journal has to return exactly what is
 * pending; and it has to report a flipped bit.
 */
#include "config.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "journal_model.h"
#include "zc_clock_sim.h"
#include "splitmix.h"
#include "zc_record.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- any series of calls ---- */

static void random_put(struct model_file *f, uint64_t *seed)
{
    struct zc_range r[20];
    uint32_t n = 1 + (uint32_t)(splitmix(seed) % 20), at = (uint32_t)(splitmix(seed) % 1000);
    uint32_t most = splitmix(seed) % 3 ? 40 : 1900;

    for (uint32_t i = 0; i < n; i++) {
        at += 1 + (uint32_t)(splitmix(seed) % 50);
        r[i].lo = at;
        at += 1 + (uint32_t)(splitmix(seed) % most);
        r[i].hi = at;
    }
    ck_assert_int_eq(put_ranges(f, (int)(splitmix(seed) % 256), r, n), 0);
}

static void random_step(uint64_t *seed)
{
    struct model_file *f = &m.f[splitmix(seed) % FILES];
    uint32_t lo = (uint32_t)(splitmix(seed) % (SIZE - 100));
    uint32_t hi = lo + 1 + (uint32_t)(splitmix(seed) % (SIZE - 100 - lo));
    unsigned what = (unsigned)(splitmix(seed) % 100);

    if (stats().journal_bytes > size / 2) /* as the cache would */
        for (int i = 0; i < FILES; i++)
            store(&m.f[i], 0, SIZE, -1, 0);
    if (what < 55)
        random_put(f, seed);
    else if (what < 80)
        store(f, lo, hi, -1, 0);
    else if (what < 90)
        store(f, lo, hi, (int)(splitmix(seed) % 256), lo);
    else if (what < 94)
        look(f);
    else if (what < 96)
        truncate_to(f, lo);
    else if (what < 98)
        delete_and_make(f);
    else if (what < 99) {
        store(f, 0, SIZE, -1, 0);
        zc_journal_closed(j, f->jfile, true);
        open_file(f);
    } else {
        die();
        come_back();
    }
}

START_TEST(any_series_of_calls)
{
    uint64_t seed = (uint64_t)_i * 7919 + 1;
    int steps = (int)cases(700);

    up();
    for (int i = 0; i < steps; i++)
        random_step(&seed);
    die();
    come_back();
    down();
}
END_TEST

/* ---- torn and damaged ---- */

static char *image;
static size_t image_len;

static void write_image(size_t len, size_t file_len, int fill)
{
    char path[512], rubbish[128];
    int fd;

    ck_assert_uint_le(file_len - len, sizeof rubbish);
    clean_dir();
    ck_assert_int_eq(mkdir(dir, 0700), 0);
    snprintf(path, sizeof path, "%s/segment.0000000000000001", dir);
    fd = open(path, O_RDWR | O_CREAT, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, image, len, 0), (ssize_t)len);
    for (size_t i = 0; i < sizeof rubbish; i++)
        rubbish[i] = (char)(fill * (int)(i % 13));
    if (len < file_len)
        ck_assert_int_eq(pwrite(fd, rubbish, file_len - len, (off_t)len),
                         (ssize_t)(file_len - len));
    ck_assert_int_eq(ftruncate(fd, (off_t)file_len), 0);
    close(fd);
}

static void read_image(void)
{
    char path[512];
    int fd;

    segment_path(path, sizeof path);
    fd = open(path, O_RDONLY);
    image_len = stats().journal_bytes;
    image = malloc(image_len);
    ck_assert_int_eq(pread(fd, image, image_len, 0), (ssize_t)image_len);
    close(fd);
}

enum { STEPS = 9 };
static struct {
    size_t end;
    short pending[FILES][200];
} history[STEPS + 1];

static void remember(int step)
{
    history[step].end = stats().journal_bytes;
    for (int i = 0; i < FILES; i++)
        memcpy(history[step].pending[i], m.f[i].pending, sizeof history[step].pending[i]);
}

static void make_history(void)
{
    const struct zc_range three[] = {{3, 5}, {9, 40}, {41, 42}};

    up();
    zc_log_level(ZC_LOG_ERROR); /* each torn tail is logged */
    remember(0);
    for (int i = 1; i <= STEPS; i++) {
        struct model_file *f = &m.f[i == 4];

        if (i == 3)
            store(f, 10, 30, -1, 0);
        else if (i == 6)
            truncate_to(f, 35);
        else if (i == 5)
            ck_assert_int_eq(put_ranges(f, i, three, 3), 0);
        else
            ck_assert_int_eq(put(f, i, (uint32_t)(i * 7), (uint32_t)(i * 7 + 60)), 0);
        remember(i);
    }
    read_image();
    die();
}

/* Returns which step's state was replayed, with no wrong byte; -1: none. */
static int step_of(int from)
{
    for (int s = from; s >= 0; s--) {
        bool same = true;

        for (int i = 0; i < FILES; i++)
            same = same && memcmp(m.f[i].returned, history[s].pending[i],
                                  sizeof history[s].pending[i]) == 0;
        if (same)
            return s;
    }
    return -1;
}

/* Times of files with an open intent are not checked. */
static void forgive_times(void)
{
    for (int i = 0; i < FILES; i++)
        m.f[i].attr.size = SIZE;
}

static bool padded;

/* Whether what is missing of the step is padding only, which the cut restores.  (Steps 3 and 6 are
 * two records each.) */
static bool whole(int step, size_t cut)
{
    return padded && history[step].end - cut < 8;
}

/* Odd, as lengths of records are even. */
enum { STEP = FEWER + (FEWER > 1) };

START_TEST(torn_at_every_byte)
{
    make_history();
    padded = _i > 0;
    for (size_t cut = 0; cut <= image_len; cut += (_i ? 3 : 1) * STEP) {
        int want = STEPS, got;

        while (want > 0 && history[want].end > cut)
            want--;
        /* the end of the file, zeros behind it, or rubbish */
        write_image(cut, _i == 0 ? cut : cut + 100, _i == 2 ? 17 : 0);
        for (int i = 0; i < FILES; i++)
            m.f[i].attr.mtime_ns = m.f[i].attr.ctime_ns = m.f[i].attr.size = 0;
        m.f[0].attr.size = want >= 3 ? 35 : 0; /* an intent is open from the store write on */
        open_journal();
        replay();
        got = step_of(STEPS);
        if (got != want && !(got == want + 1 && (got == 3 || got == 6 || whole(got, cut))))
            ck_abort_msg("cut at %zu: step %d, not %d", cut, got, want);
        ck_assert_msg(m.complaints == 0, "cut at %zu: %s", cut, m.why);
        zc_journal_close(j, true);
    }
    free(image);
    clean_dir();
}
END_TEST

START_TEST(flipped_bits)
{
    make_history();
    forgive_times();
    for (size_t at = (size_t)_i; at < image_len; at += 3 * STEP) {
        char was = image[at];
        size_t last;

        image[at] = (char)(was ^ 1 << (at + (size_t)_i) % 8);
        write_image(image_len, image_len + 64, 0);
        image[at] = was;
        last = history[STEPS - 1].end;
        if (try_open(&j) < 0) { /* cut within its beginning */
            ck_assert_uint_lt(at, history[0].end);
            continue;
        }
        zc_journal_attach(j, NULL, owes, hurry);
        replay();
        if (m.complaints == 0)
            ck_assert_msg(at >= last ? step_of(STEPS) == STEPS - 1 : step_of(STEPS) == STEPS,
                          "a bit of byte %zu, without a report", at);
        zc_journal_close(j, true);
        clean_asides();
    }
    free(image);
    clean_dir();
}
END_TEST

/* Cuts the last record off. */
static void cut_last(const char *path)
{
    static unsigned char bytes[MIB];
    uint64_t at = 0, last = 0;
    struct zc_record r;
    int fd = open(path, O_RDWR);
    ssize_t n = pread(fd, bytes, sizeof bytes, 0);

    ck_assert_int_gt(n, 0);
    while (zc_record_read(bytes + at, (size_t)n - at, 1, &r) == ZC_FOUND_RECORD) {
        last = at;
        at += r.length;
    }
    ck_assert_uint_gt(last, 0);
    ck_assert_int_eq(ftruncate(fd, (off_t)last), 0);
    close(fd);
}

/* With all checksums right, a missing number shows. */
START_TEST(a_record_that_is_missing)
{
    char path[512];

    up();
    zc_log_level(ZC_LOG_ERROR);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(put(&m.f[0], i, 0, SIZE), 0);
    die();
    segment_path(path, sizeof path);
    cut_last(path);
    open_journal();
    ck_assert_uint_eq(replay().damaged, 1);
    ck_assert_ptr_nonnull(strstr(m.why, "the end of segment 1"));
    snprintf(path, sizeof path, "%s/set-aside.1/segment.%016d", dir, 1);
    ck_assert_int_eq(access(path, R_OK), 0);
    down();
}
END_TEST

/* ---- permission to use it ---- */

static void refused(int want, const char *text)
{
    struct zc_journal *other;
    int rc = try_open(&other);

    ck_assert_int_eq(rc, want);
    ck_assert_msg(strstr(zc_error_text(rc), text), "%s", zc_error_text(rc));
}

/* Of the first record, whose body names the root. */
static void set_version(int fd, unsigned version)
{
    unsigned char head[ZC_RECORD_HEAD];
    uint32_t sum;

    ck_assert_int_eq(pread(fd, head, sizeof head, 0), sizeof head);
    head[5] = (unsigned char)version;
    memset(head + 60, 0, 4);
    sum = htole32((uint32_t)XXH3_64bits(head, sizeof head));
    memcpy(head + 60, &sum, sizeof sum);
    ck_assert_int_eq(pwrite(fd, head, sizeof head, 0), sizeof head);
}

START_TEST(one_daemon_one_root_one_user)
{
    char path[512];
    int fd;

    up();
    refused(-EBUSY, "in use by another daemon (process ");
    ck_assert_int_eq(put(&m.f[0], 1, 0, 10), 0);
    segment_path(path, sizeof path);
    die();
    root[1] = 'R';
    refused(-EINVAL, "has bytes of files below /root/of/all");
    root[1] = 'r';
    fd = open(path, O_RDWR);
    set_version(fd, ZC_RECORD_VERSION + 1);
    refused(-EPROTO, "another version");
    set_version(fd, ZC_RECORD_VERSION);
    close(fd);
    ck_assert_int_eq(chmod(dir, 0777), 0);
    refused(-EPERM, "may be written to by others");
    ck_assert_int_eq(chmod(dir, 0700), 0);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(dir, 4711, 4711), 0);
        refused(-EPERM, "belongs to user 4711");
        ck_assert_int_eq(chown(dir, 0, 0), 0);
    }
    size = 1000;
    refused(-EINVAL, "too few");
    size = MIB;
    come_back();
    down();
}
END_TEST

START_TEST(nothing_is_left_of_a_good_end)
{
    const struct dirent *e;
    DIR *d;

    up();
    sync_too = true;
    ck_assert_int_eq(put(&m.f[0], 1, 0, 10), 0);
    store(&m.f[0], 0, 10, -1, 0);
    zc_journal_close(j, true);
    d = opendir(dir);
    while ((e = readdir(d)))
        ck_assert_msg(strncmp(e->d_name, "segment", 7), "%s is left", e->d_name);
    closedir(d);
    clean_dir();
}
END_TEST

START_TEST(writes_are_synced_if_asked_for)
{
    up();
    die();
    sync_too = true;
    come_back();
    ck_assert_int_eq(put(&m.f[0], 1, 0, 10), 0);
    ck_assert_uint_gt(stats().journal_syncs, 0);
    die();
    come_back();
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("journal");
    TCase *tc = tcase_create("records");

    tcase_set_timeout(tc, stretched(120));
    tcase_add_loop_test(tc, any_series_of_calls, 0, 8);
    tcase_add_loop_test(tc, torn_at_every_byte, 0, 3);
    tcase_add_loop_test(tc, flipped_bits, 0, 2);
    tcase_add_test(tc, a_record_that_is_missing);
    suite_add_tcase(s, tc);
    CASE(s, "directory", 20, one_daemon_one_root_one_user, nothing_is_left_of_a_good_end,
         writes_are_synced_if_asked_for);
    zc_clock = zc_clock_sim();
    return run_suite(s);
}
