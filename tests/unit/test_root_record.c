/* test_root_record.c - the record in a root: which root it is, seats, marks; and its errors. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check_main.h"
#include "zc_log.h"
#include "zc_root_record.h"
#include "zc_store_posix.h"

enum { SEAT = 17, ANOTHER_SEAT = 18 };

static char dir[64], name[160];
static struct zc_root_record rec;

static int syncs;

/* In the place of the C library's: that it is called is what counts here. */
int fdatasync(int fd)
{
    (void)fd;
    syncs++;
    return 0;
}

static const char *in(const char *base)
{
    snprintf(name, sizeof name, "%s/%s", dir, base);
    return name;
}

static void run(const char *command, const char *a, const char *b)
{
    char line[512];

    snprintf(line, sizeof line, "%s %s %s", command, a, b);
    ck_assert_int_eq(system(line), 0);
}

static void up(void)
{
    snprintf(dir, sizeof dir, "/tmp/zcache-root.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(mkdir(in("root"), 0700), 0);
    ck_assert_int_eq(mkdir(in("root/d"), 0700), 0);
    ck_assert_int_eq(zc_root_record_make(in("root"), false, &rec), 0);
}

static void down(void)
{
    zc_root_record_close(&rec);
    run("rm -rf", dir, "");
}

static int reopen(const char *root)
{
    zc_root_record_close(&rec);
    return zc_root_record_open(in(root), &rec);
}

START_TEST(a_root_and_its_record)
{
    struct zc_root_id id = rec.id, none;

    ck_assert_int_ge(rec.fd, 0);
    ck_assert_uint_ne(id.record, 0);
    ck_assert_int_eq(reopen("root"), 0);
    ck_assert(zc_root_same(&id, &rec.id));
    zc_root_record_close(&rec);
    ck_assert_int_eq(zc_root_record_make(in("root"), false, &rec), 0); /* the same one */
    ck_assert_uint_eq(rec.id.record, id.record);
    ck_assert_int_eq(reopen("root/d"), 0); /* none */
    ck_assert_int_eq(rec.fd, -1);
    none = rec.id;
    ck_assert_uint_eq(none.record, 0);
    ck_assert(!zc_root_same(&id, &none));
    ck_assert_int_eq(reopen("nowhere"), -ENOENT);
}
END_TEST

START_TEST(a_copy_is_another_root)
{
    char from[200];

    snprintf(from, sizeof from, "%s/root", dir);
    run("cp -a", from, in("copy"));
    ck_assert_int_eq(reopen("copy"), -ESTALE);
    ck_assert_int_eq(zc_root_record_make(in("copy"), false, &rec), -ESTALE);
    ck_assert_int_eq(zc_root_record_make(in("copy"), true, &rec), 0);
    ck_assert_int_eq(reopen("copy"), 0);
    ck_assert_int_eq(reopen("root"), 0);
}
END_TEST

/* Only what is not there is none. */
START_TEST(an_error_is_no_missing_record)
{
    struct rlimit was, few;
    int rc;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
    few = (struct rlimit){(rlim_t)dup(0) + 1, was.rlim_max}; /* for the directory */
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    rc = zc_root_record_open(in("root"), &rec);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
    ck_assert_int_eq(rc, -EMFILE);
    ck_assert_int_eq(truncate(in("root/.zcache-root"), 10), 0);
    ck_assert_int_eq(reopen("root"), -EBADMSG);
    ck_assert_int_eq(unlink(in("root/.zcache-root")), 0);
    ck_assert_int_eq(mkdir(in("root/.zcache-root"), 0700), 0);
    ck_assert_int_lt(reopen("root"), 0);
}
END_TEST

static uint64_t generation_of(uint64_t seat, uint64_t boot)
{
    struct zc_root_seat s;

    ck_assert_int_eq(zc_root_seat_get(&rec, seat, &s), 0);
    ck_assert_uint_eq(s.boot_id, boot);
    return s.generation;
}

START_TEST(generations_only_grow)
{
    ck_assert_int_eq(zc_root_seat_raise(&rec, SEAT, 1), 0); /* no journal depends on it */
    ck_assert_uint_eq(generation_of(SEAT, 0), 0);
    syncs = 0;
    ck_assert_int_eq(zc_root_seat_take(&rec, SEAT, 2, 1), 0);
    ck_assert_int_eq(syncs, 1);
    ck_assert_uint_eq(generation_of(SEAT, 2), 1);
    ck_assert_int_eq(zc_root_seat_take(&rec, ANOTHER_SEAT, 3, 1), 0);
    ck_assert_int_eq(zc_root_seat_raise(&rec, SEAT, 4), 0);
    ck_assert_int_eq(reopen("root"), 0);
    ck_assert_uint_eq(generation_of(SEAT, 4), 2);
    ck_assert_uint_eq(generation_of(ANOTHER_SEAT, 3), 1);
    ck_assert_int_eq(zc_root_seat_take(&rec, SEAT, 5, 2), -EBUSY); /* another one has it */
    ck_assert_uint_eq(generation_of(SEAT, 4), 2);
    ck_assert_int_eq(zc_root_seat_take(&rec, SEAT, 5, 3), 0);
    ck_assert_uint_eq(generation_of(SEAT, 5), 3);
}
END_TEST

START_TEST(a_damaged_seat_is_an_error)
{
    struct zc_root_seat s;

    ck_assert_int_eq(zc_root_seat_take(&rec, SEAT, 2, 1), 0);
    ck_assert_int_eq(pwrite(rec.fd, "x", 1, 4096 + 9), 1);
    ck_assert_int_eq(zc_root_seat_get(&rec, SEAT, &s), -EBADMSG);
    ck_assert_int_eq(zc_root_seat_raise(&rec, SEAT, 5), -EBADMSG);
}
END_TEST

START_TEST(there_is_room_for_so_many_seats)
{
    for (uint64_t i = 1; i <= 1024; i++)
        ck_assert_int_eq(zc_root_seat_take(&rec, i, i, 1), 0);
    ck_assert_int_eq(zc_root_seat_take(&rec, 2000, 1, 1), -ENOSPC);
    ck_assert_int_eq(zc_root_seat_raise(&rec, 2000, 1), 0);
    ck_assert_int_eq(zc_root_seat_raise(&rec, 1024, 9), 0);
    ck_assert_uint_eq(generation_of(1024, 9), 2);
}
END_TEST

/* ---- marks ---- */

static uint64_t mark_of(const char *base)
{
    struct stat st;
    uint64_t mark;

    ck_assert_int_eq(stat(in(base), &st), 0);
    ck_assert_int_eq(zc_root_mark_get(&rec, st.st_ino, &mark), 0);
    return mark;
}

static int open_with(struct zc_store *s, const char *base, unsigned flags, uint64_t set)
{
    struct zc_attr attr = {.set = {.id = set, .count = set > 0}};
    struct zc_sfile *f;
    int rc = zc_store_open_file(s, in(base), flags, 0600, &f, &attr);

    if (rc == 0)
        zc_store_close_file(f, ZC_LEVEL_VISIBLE);
    return rc;
}

enum { MAKE = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE };

/* A program without a daemon, as well as any daemon, is seen by the journals of others. */
START_TEST(writers_leave_their_mark)
{
    struct zc_store *job, *daemon;
    uint64_t mark;

    ck_assert_int_eq(zc_store_posix_create(NULL, &job), 0);
    ck_assert_int_eq(zc_store_posix_create(in("root"), &daemon), 0);
    zc_store_posix_mark_as(daemon, 77);
    syncs = 0;
    ck_assert_int_eq(open_with(daemon, "root/d/f", MAKE, 0), 0);
    ck_assert_int_eq(syncs, 1);
    ck_assert_int_eq(open_with(daemon, "root/d/f", MAKE, 0), 0);
    ck_assert_int_eq(syncs, 1); /* it is marked already */
    ck_assert_uint_eq(mark_of("root/d/f"), 77);
    ck_assert_int_eq(open_with(daemon, "root/d/f", MAKE, 99), 0); /* of a set */
    ck_assert_uint_eq(mark_of("root/d/f"), 99);
    ck_assert_int_eq(open_with(job, "root/d/f", ZC_OPEN_READ, 0), 0);
    ck_assert_uint_eq(mark_of("root/d/f"), 99);
    ck_assert_int_eq(open_with(job, "root/d/f", MAKE, 0), 0);
    mark = mark_of("root/d/f");
    ck_assert_uint_ne(mark, 99);
    ck_assert_int_eq(open_with(job, "root/d/f", MAKE, 0), 0);
    ck_assert_uint_ne(mark_of("root/d/f"), mark);
    ck_assert_int_eq(symlink("root/d", in("way")), 0); /* by whatever name */
    mark = mark_of("root/d/f");
    ck_assert_int_eq(open_with(job, "way/f", MAKE, 0), 0);
    ck_assert_uint_ne(mark_of("root/d/f"), mark);
    zc_store_destroy(job);
    zc_store_destroy(daemon);
}
END_TEST

/* One that bypasses a daemon has the file open from the begin, and marks it when it does so. */
START_TEST(a_mark_that_comes_later)
{
    struct zc_store *s;
    struct zc_attr attr = {0};
    struct zc_sfile *f;

    ck_assert_int_eq(zc_store_posix_create(NULL, &s), 0);
    zc_store_posix_mark_later(s);
    ck_assert_int_eq(zc_store_open_file(s, in("root/f"), MAKE, 0600, &f, &attr), 0);
    ck_assert_uint_eq(mark_of("root/f"), 0);
    ck_assert_int_eq(zc_store_posix_mark(f), 0);
    ck_assert_uint_ne(mark_of("root/f"), 0);
    zc_store_close_file(f, ZC_LEVEL_VISIBLE);
    zc_store_destroy(s);
}
END_TEST

/* The file is not opened when its writer cannot be told to the record. */
START_TEST(a_mark_that_cannot_be_made)
{
    struct zc_store *s;

    ck_assert_int_eq(zc_store_posix_create(NULL, &s), 0);
    ck_assert_int_eq(open_with(s, "root/f", MAKE, 0), 0);
    ck_assert_int_eq(truncate(in("root/.zcache-root"), 10), 0);
    ck_assert_int_eq(open_with(s, "root/f", MAKE, 0), -EBADMSG);
    ck_assert_int_eq(open_with(s, "root/f", ZC_OPEN_READ, 0), 0);
    ck_assert_int_eq(unlink(in("root/.zcache-root")), 0);
    ck_assert_int_eq(open_with(s, "root/f", MAKE, 0), 0);
    if (geteuid() != 0) { /* another user's record: told, and gone on */
        zc_root_record_close(&rec);
        ck_assert_int_eq(zc_root_record_make(in("root"), false, &rec), 0);
        ck_assert_int_eq(chmod(in("root/.zcache-root"), 0), 0);
        ck_assert_int_eq(open_with(s, "root/f", MAKE, 0), 0);
    }
    zc_store_destroy(s);
}
END_TEST

/* Anybody may leave a file of this name where all may write. */
START_TEST(foreign_files_do_no_harm)
{
    struct zc_store *s;

    ck_assert_int_eq(zc_store_posix_create(NULL, &s), 0);
    ck_assert_int_eq(unlink(in("root/.zcache-root")), 0);
    if (geteuid() == 0) {
        if (_i == 0)
            ck_assert_int_eq(mknod(in("root/.zcache-root"), S_IFREG | 0666, 0), 0);
        else
            ck_assert_int_eq(symlink("/etc/passwd", in("root/.zcache-root")), 0);
        ck_assert_int_lt(open_with(s, "root/f", MAKE, 0), 0); /* ours */
        ck_assert_int_eq(lchown(in("root/.zcache-root"), 20001, 20001), 0);
        ck_assert_int_eq(open_with(s, "root/f", MAKE, 0), 0);
    }
    zc_store_destroy(s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("root_record");
    TCase *tc = tcase_create("root_record");

    tcase_add_checked_fixture(tc, up, down);
    tcase_add_test(tc, a_root_and_its_record);
    tcase_add_test(tc, a_copy_is_another_root);
    tcase_add_test(tc, an_error_is_no_missing_record);
    tcase_add_test(tc, generations_only_grow);
    tcase_add_test(tc, a_damaged_seat_is_an_error);
    tcase_add_test(tc, there_is_room_for_so_many_seats);
    tcase_add_test(tc, writers_leave_their_mark);
    tcase_add_test(tc, a_mark_that_comes_later);
    tcase_add_test(tc, a_mark_that_cannot_be_made);
    tcase_add_loop_test(tc, foreign_files_do_no_harm, 0, 2);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
