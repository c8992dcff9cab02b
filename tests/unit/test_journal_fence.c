/* test_journal_fence.c - a journal in a root with a record: which starts write back what is there,
 * and which set it aside, wherever a start before was cut off.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check_main.h"
#include "zc_journal.h"
#include "zc_log.h"
#include "zc_root_record.h"
#include "zc_store_journal.h"
#include "zc_store_posix.h"

enum { MIB = 1 << 20, PENDING = 100, SEAT = 17 };

static char tmp[64], root[128], dir[128], path[160];
static struct zc_journal *j;
static struct zc_store *store;
static uint64_t seat; /* of the next start */

/* What a replay has done. */
static struct {
    unsigned returned, kept;
    char why[200], where[200];
} seen;

/* What a test does meanwhile: before the file is looked at that many times, ... */
static unsigned stats;
static void (*at_stat[3])(void);
/* ... when it is open, when it is told as set aside, and instead of a write. */
static void (*at_open)(void), (*at_kept)(void);
static bool fail_writes;

static int sink_stat(void *arg, const char *name, struct zc_attr *attr)
{
    (void)arg;
    if (stats < 3 && at_stat[stats])
        at_stat[stats]();
    stats++;
    return zc_store_stat(store, name, attr);
}

static int sink_open(void *arg, const char *name, uint64_t mark, void **file)
{
    (void)name;
    (void)mark;
    *file = arg;
    if (at_open)
        at_open();
    return 0;
}

static int sink_write(void *file, const void *buf, size_t len, uint64_t off)
{
    (void)file;
    (void)buf;
    (void)off;
    if (fail_writes)
        return zc_errorf(EIO, "the test says so");
    seen.returned += (unsigned)len;
    return 0;
}

static int sink_close(void *file, uint64_t *number)
{
    (void)file;
    *number = 1;
    return 0;
}

static void sink_kept(void *arg, const char *name, const struct zc_journal_span *s, unsigned n,
                      uint64_t bytes, const char *why, const char *where)
{
    (void)arg;
    ck_assert_str_eq(name, path);
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(s[0].lo, 0);
    ck_assert_uint_eq(s[0].hi, PENDING);
    if (at_kept)
        at_kept();
    seen.kept += (unsigned)bytes;
    snprintf(seen.why, sizeof seen.why, "%s", why);
    snprintf(seen.where, sizeof seen.where, "%s/segment.%016d", where, 1);
}

static void sink_lost(void *arg, const char *name, uint64_t lo, uint64_t hi, uint64_t bytes,
                      const char *why)
{
    (void)arg;
    (void)lo;
    (void)hi;
    (void)bytes;
    ck_abort_msg("%s: lost: %s", name, why);
}

static int not_all(void *arg, uint64_t dev, uint64_t ino, uint64_t number)
{
    (void)arg;
    (void)dev;
    (void)ino;
    (void)number;
    return -EAGAIN;
}

/* ---- a start, as far as it comes ---- */

enum how_far { OPENED, RAISED, REPLAYED, SERVING }; /* RAISED: and the replay was cut off */

static int try_open(uint64_t boot, bool new_root)
{
    struct zc_journal_config cfg = {
        .dir = dir, .root = root, .size = MIB, .seat = seat, .boot_id = boot, .new_root = new_root};

    memset(&seen, 0, sizeof seen);
    stats = 0;
    return zc_journal_open(&cfg, &j);
}

static void start(uint64_t boot, enum how_far how_far)
{
    static const struct zc_journal_sink sink = {.stat = sink_stat,
                                                .open = sink_open,
                                                .write = sink_write,
                                                .close = sink_close,
                                                .kept = sink_kept,
                                                .lost = sink_lost};
    struct zc_journal_replayed r;
    int rc = j ? 0 : try_open(boot, false);

    ck_assert_msg(rc == 0, "%s", zc_error_text(rc));
    zc_journal_attach(j, NULL, not_all, NULL);
    fail_writes = how_far == RAISED;
    if (how_far >= RAISED)
        ck_assert_int_eq(zc_journal_replay(j, &sink, &r), fail_writes ? -EIO : 0);
    if (how_far >= SERVING)
        ck_assert_int_eq(zc_journal_serve(j), 0);
}

static void die(void)
{
    zc_journal_freeze(j);
    zc_journal_close(j, false);
    j = NULL;
}

static void put_done(struct zc_journal_write *w)
{
    atomic_store((atomic_bool *)(w + 1), true);
}

/* The daemon takes PENDING bytes of the file, and is killed. */
static void take_and_die(void)
{
    struct {
        struct zc_journal_write w;
        atomic_bool done;
    } p;
    struct zc_journal_ticket ticket = {0};
    struct zc_range r = {0, PENDING};
    char data[PENDING] = "";
    struct zc_store *posix, *over;
    struct zc_attr attr = {0};
    struct zc_sfile *f;

    ck_assert_int_eq(zc_store_posix_create(root, &posix), 0);
    zc_store_posix_mark_as(posix, 5);
    ck_assert_int_eq(zc_store_journal_create(posix, j, &over), 0);
    ck_assert_int_eq(zc_store_open_file(over, path, ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE,
                                        0600, &f, &attr),
                     0);
    memset(&p, 0, sizeof p);
    p.w = (struct zc_journal_write){.file = zc_journal_find(j, attr.dev, attr.ino),
                                    .ticket = &ticket,
                                    .data = data,
                                    .r = &r,
                                    .n = 1,
                                    .done = put_done};
    ck_assert_ptr_nonnull(p.w.file);
    zc_journal_put(j, &p.w);
    while (!atomic_load(&p.done))
        usleep(50);
    ck_assert_int_eq(p.w.error.rc, 0);
    zc_journal_taken(j, &ticket, 1);
    zc_store_close_file(f, ZC_LEVEL_VISIBLE);
    zc_journal_freeze(j);
    zc_store_destroy(over);
    die();
}

static void raise_seat(uint64_t boot)
{
    struct zc_root_record r;

    ck_assert_int_eq(zc_root_record_open(root, &r), 0);
    ck_assert_int_eq(zc_root_seat_raise(&r, SEAT, boot), 0);
    zc_root_record_close(&r);
}

static uint64_t who_raised(uint64_t of)
{
    struct zc_root_record r;
    struct zc_root_seat now;

    ck_assert_int_eq(zc_root_record_open(root, &r), 0);
    ck_assert_int_eq(zc_root_seat_get(&r, of, &now), 0);
    zc_root_record_close(&r);
    return now.boot_id;
}

static void open_elsewhere(void)
{
    struct zc_attr attr = {0};
    struct zc_store *job;
    struct zc_sfile *f;

    ck_assert_int_eq(zc_store_posix_create(NULL, &job), 0);
    ck_assert_int_eq(zc_store_open_file(job, path, ZC_OPEN_WRITE, 0, &f, &attr), 0);
    zc_store_close_file(f, ZC_LEVEL_STORED);
    zc_store_destroy(job);
}

static void up(void)
{
    memset(at_stat, 0, sizeof at_stat);
    at_open = at_kept = NULL;
    seat = SEAT;
    snprintf(tmp, sizeof tmp, "/tmp/zcache-fence.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(tmp));
    snprintf(root, sizeof root, "%s/root", tmp);
    snprintf(path, sizeof path, "%s/f", root);
    snprintf(dir, sizeof dir, "%s/journal", tmp);
    ck_assert_int_eq(mkdir(root, 0700), 0);
    ck_assert_int_eq(zc_store_posix_create(root, &store), 0);
    start(1, SERVING);
    take_and_die();
}

static void down(void)
{
    char line[128];

    if (j)
        die();
    zc_store_destroy(store);
    snprintf(line, sizeof line, "rm -rf %s", tmp);
    ck_assert_int_eq(system(line), 0);
}

static void comes_back(uint64_t boot)
{
    start(boot, SERVING);
    ck_assert_uint_eq(seen.kept, 0);
    ck_assert_uint_eq(seen.returned, PENDING);
}

/* It is told once, and there. */
static void is_kept(uint64_t boot, const char *why)
{
    start(boot, SERVING);
    ck_assert_uint_eq(seen.returned, 0);
    ck_assert_uint_eq(seen.kept, PENDING);
    ck_assert_ptr_nonnull(strstr(seen.why, why));
    ck_assert_int_eq(access(seen.where, R_OK), 0);
    die();
    start(boot + 1, SERVING);
    ck_assert_uint_eq(seen.returned + seen.kept, 0);
}

/* ---- moments ---- */

/* The journal's own daemons are no later ones, however far each of them came. */
START_TEST(starts_that_are_cut_off)
{
    start(2, (enum how_far)_i);
    die();
    start(3, (enum how_far)_i);
    die();
    comes_back(4);
}
END_TEST

START_TEST(a_later_daemon)
{
    raise_seat(9);
    if (_i > 0) { /* a start sees it, and is cut off */
        start(2, OPENED);
        die();
    }
    if (_i > 1) { /* and the later daemon is started once more */
        raise_seat(10);
        start(3, OPENED);
        die();
    }
    is_kept(4, "a later daemon has served");
}
END_TEST

/* A start that is between its segment and the seat, when another daemon takes that. */
START_TEST(a_later_daemon_between)
{
    start(2, REPLAYED);
    die();
    raise_seat(9);
    is_kept(4, "a later daemon has served");
}
END_TEST

/* Two at once: the second one to serve does not. */
START_TEST(another_one_while_it_starts)
{
    start(2, REPLAYED);
    raise_seat(9);
    ck_assert_int_eq(zc_journal_serve(j), -EBUSY);
    die();
    is_kept(4, "a later daemon has served");
}
END_TEST

START_TEST(the_file_was_opened_elsewhere)
{
    open_elsewhere();
    is_kept(2, "opened for writing elsewhere");
}
END_TEST

/* When it is judged, after that, and when it is open. */
START_TEST(the_file_is_opened_elsewhere_meanwhile)
{
    if (_i < 2)
        at_stat[_i] = open_elsewhere;
    else
        at_open = open_elsewhere;
    is_kept(2, "opened for writing elsewhere");
}
END_TEST

static void is_raised(void)
{
    ck_assert_uint_eq(who_raised(SEAT), 2);
}

/* A job that bypasses the dead daemon, and has marked a file too late to be seen, looks there. */
START_TEST(the_seat_is_raised_before_files_are_judged)
{
    at_stat[0] = is_raised;
    start(2, RAISED);
    ck_assert_uint_gt(stats, 0);
    die();
    memset(at_stat, 0, sizeof at_stat);
    ck_assert_uint_eq(who_raised(SEAT), 2);
    comes_back(3); /* for this journal that was no later daemon */
}
END_TEST

/* The same where the journal's bytes are of another seat, the daemon's address file having moved.
 */
START_TEST(the_seat_of_the_bytes_is_raised_too)
{
    seat = SEAT + 1;
    at_stat[0] = is_raised;
    start(2, RAISED);
    ck_assert_uint_gt(stats, 0);
    ck_assert_uint_eq(who_raised(seat), 2);
    die();
    memset(at_stat, 0, sizeof at_stat);
    comes_back(3);
    ck_assert_uint_eq(who_raised(SEAT), 3);
}
END_TEST

/* What is set aside as a whole is, before the seat is this daemon's. */
static void is_anothers(void)
{
    ck_assert_uint_eq(who_raised(SEAT), 9);
}

START_TEST(all_is_set_aside_before_the_seat_is_raised)
{
    raise_seat(9);
    at_kept = is_anothers;
    is_kept(4, "a later daemon has served");
    ck_assert_uint_eq(who_raised(SEAT), 5);
}
END_TEST

/* ---- set aside, and cut off meanwhile ---- */

static void in_journal(char name[256], const char *base)
{
    snprintf(name, 256, "%s/%s", dir, base);
}

/* Some segments are moved, others are not: the next start goes on. */
START_TEST(a_move_that_is_cut_off)
{
    char part[256], from[256], to[300];

    start(2, SERVING);
    die();
    raise_seat(9);
    in_journal(part, "set-aside.1.part");
    ck_assert_int_eq(mkdir(part, 0700), 0);
    in_journal(from, _i == 0 ? "segment.0000000000000001" : "segment.0000000000000002");
    snprintf(to, sizeof to, "%s%s", part, strrchr(from, '/'));
    ck_assert_int_eq(rename(from, to), 0);
    start(3, SERVING);
    ck_assert_uint_eq(seen.returned, 0); /* what was moved was told, or is by its directory */
    for (int i = 1; i <= 2; i++) {
        snprintf(to, sizeof to, "%s/set-aside.1/segment.%016d", dir, i);
        ck_assert_msg(access(to, R_OK) == 0, "%s", to);
    }
    ck_assert_int_lt(access(part, F_OK), 0);
}
END_TEST

/* A copy is made anew. */
START_TEST(a_copy_that_is_cut_off)
{
    char copy[256], name[300];
    int fd;

    in_journal(copy, "set-aside.1.copy");
    ck_assert_int_eq(mkdir(copy, 0700), 0);
    snprintf(name, sizeof name, "%s/segment.%016d", copy, 1);
    fd = open(name, O_WRONLY | O_CREAT, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "half", 4), 4);
    close(fd);
    ck_assert_int_eq(unlink(path), 0);
    is_kept(2, "not there");
    ck_assert_int_lt(access(copy, F_OK), 0);
}
END_TEST

/* ---- roots ---- */

START_TEST(another_root)
{
    char away[160];

    snprintf(away, sizeof away, "%s/away", tmp);
    if (_i == 1) { /* nothing is in the journal: it knows its root */
        start(2, SERVING);
        zc_journal_close(j, true);
        j = NULL;
    }
    ck_assert_int_eq(rename(root, away), 0);
    ck_assert_int_eq(mkdir(root, 0700), 0);
    ck_assert_int_eq(try_open(3, false), -ENODEV);
    ck_assert_int_eq(rmdir(root), 0); /* nothing was made in it */
    ck_assert_int_eq(rename(away, root), 0);
    if (_i == 0)
        comes_back(3);
    else
        start(3, SERVING);
}
END_TEST

START_TEST(another_root_that_is_meant)
{
    char away[160];

    snprintf(away, sizeof away, "%s/away", tmp);
    ck_assert_int_eq(rename(root, away), 0);
    ck_assert_int_eq(mkdir(root, 0700), 0);
    ck_assert_int_eq(try_open(3, true), 0);
    is_kept(3, "--new-root");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("journal_fence");
    TCase *tc = tcase_create("fence");

    tcase_add_checked_fixture(tc, up, down);
    tcase_set_timeout(tc, stretched(60));
    tcase_add_loop_test(tc, starts_that_are_cut_off, OPENED, SERVING + 1);
    tcase_add_loop_test(tc, a_later_daemon, 0, 3);
    tcase_add_test(tc, a_later_daemon_between);
    tcase_add_test(tc, another_one_while_it_starts);
    tcase_add_test(tc, the_file_was_opened_elsewhere);
    tcase_add_loop_test(tc, the_file_is_opened_elsewhere_meanwhile, 0, 3);
    tcase_add_test(tc, the_seat_is_raised_before_files_are_judged);
    tcase_add_test(tc, the_seat_of_the_bytes_is_raised_too);
    tcase_add_test(tc, all_is_set_aside_before_the_seat_is_raised);
    tcase_add_loop_test(tc, a_move_that_is_cut_off, 0, 2);
    tcase_add_test(tc, a_copy_that_is_cut_off);
    tcase_add_loop_test(tc, another_root, 0, 2);
    tcase_add_test(tc, another_root_that_is_meant);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
