/* test_rendezvous.c - rendezvous records: of a store in memory, and of processes of one host. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rendezvous_rig.h"
#include "zc_store_fault.h"

/* ---- guarantees of every store ---- */

START_TEST(the_second_finds_the_first)
{
    struct zc_sfile *a, *b;
    struct zc_publication *mine, *other;

    up(_i);
    a = open_in(store, "f");
    b = open_in(store, "f");
    leave(a, "job", "first", &mine);
    find(b, "job", "first");
    find(a, "job", "first");        /* its own process, too */
    leave(b, "job 2", "x", &other); /* another job does not */
    find(a, "job 2", "x");
    part(other);
    close_it(a); /* the record stays */
    find(b, "job", "first");
    part(mine);
    leave(b, "job", "second", &mine);
    part(mine);
    close_it(b);
    down();
}
END_TEST

START_TEST(a_look_leaves_nothing)
{
    struct zc_sfile *f;
    struct zc_publication *mine, *none;
    struct zc_rendezvous_record theirs;
    uint64_t number;

    up(_i);
    f = open_in(store, "f");
    ck_assert_int_eq(zc_store_rendezvous(f, "job", NULL, 0, 0, &none, &theirs), 0);
    ck_assert(!none && !theirs.bytes);
    leave(f, "job", "first", &mine); /* which finds none */
    ck_assert_int_eq(zc_store_rendezvous(f, "job", NULL, 0, 0, &none, &theirs), 0);
    ck_assert(!none && theirs.bytes);
    ck_assert_str_eq(theirs.bytes, "first");
    number = theirs.number;
    free(theirs.bytes);
    ck_assert_int_eq(zc_store_rendezvous(f, "job", NULL, 0, number, &none, &theirs), 0);
    ck_assert(!none && !theirs.bytes);
    find(f, "job", "first"); /* it was not replaced */
    part(mine);
    close_it(f);
    down();
}
END_TEST

START_TEST(only_the_record_that_was_found_is_replaced)
{
    struct zc_sfile *f;
    struct zc_publication *first, *second, *third;
    struct zc_rendezvous_record theirs;
    uint64_t number;

    up(_i);
    f = open_in(store, "f");
    leave(f, "job", "first", &first);
    number = find(f, "job", "first");
    second = rendezvous(f, "job", "second", number, &theirs);
    ck_assert_ptr_nonnull(second);
    third = rendezvous(f, "job", "third", number, &theirs); /* too late */
    ck_assert_ptr_null(third);
    ck_assert_str_eq(theirs.bytes, "second");
    ck_assert_uint_ne(theirs.number, number);
    free(theirs.bytes);
    part(first); /* not the second's */
    find(f, "job", "second");
    part(second);
    third = rendezvous(f, "job", "third", number, &theirs); /* stale: no number is needed */
    ck_assert_ptr_nonnull(third);
    part(third);
    close_it(f);
    down();
}
END_TEST

START_TEST(records_of_every_length)
{
    static const size_t sizes[] = {1, 7, 4096, 100001, ZC_MAX_RECORD};
    unsigned char *record = malloc(ZC_MAX_RECORD + 1);
    char job[ZC_MAX_JOB + 2];
    struct zc_sfile *f;
    struct zc_publication *mine, *none;
    struct zc_rendezvous_record theirs;

    up(_i);
    f = open_in(store, "f");
    memset(job, 'j', sizeof job);
    job[ZC_MAX_JOB] = 0;
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memset(record, 'a' + (int)i, ZC_MAX_RECORD + 1);
        ck_assert_int_eq(zc_store_rendezvous(f, job, record, sizes[i], 0, &mine, &theirs), 0);
        ck_assert_ptr_nonnull(mine);
        ck_assert_int_eq(zc_store_rendezvous(f, job, "x", 1, 0, &none, &theirs), 0);
        ck_assert_ptr_null(none);
        ck_assert_uint_eq(theirs.len, sizes[i]);
        expect_all(theirs.bytes, sizes[i], 'a' + (int)i, "card");
        free(theirs.bytes);
        part(mine);
    }
    ck_assert_int_eq(zc_store_rendezvous(f, job, record, ZC_MAX_RECORD + 1, 0, &mine, &theirs),
                     -EMSGSIZE);
    ck_assert_int_eq(zc_store_rendezvous(f, job, record, 0, 0, &mine, &theirs), -EMSGSIZE);
    ck_assert_int_eq(zc_store_rendezvous(f, "", record, 1, 0, &mine, &theirs), -EINVAL);
    job[ZC_MAX_JOB] = 'j';
    job[ZC_MAX_JOB + 1] = 0;
    ck_assert_int_eq(zc_store_rendezvous(f, job, record, 1, 0, &mine, &theirs), -EINVAL);
    free(record);
    close_it(f);
    down();
}
END_TEST

START_TEST(a_store_can_fail_to_rendezvous)
{
    struct zc_store *fault;
    struct zc_publication *mine;
    struct zc_rendezvous_record theirs;
    struct zc_sfile *f;

    up(false);
    ck_assert_int_eq(zc_store_fault_create(store, &fault), 0);
    store = fault;
    f = open_in(fault, "f");
    zc_store_fault_set(fault, ZC_FAULT_RENDEZVOUS, 1, 1, EIO);
    ck_assert_int_eq(zc_store_rendezvous(f, "job", "x", 1, 0, &mine, &theirs), -EIO);
    ck_assert_ptr_null(mine);
    leave(f, "job", "first", &mine);
    close_it(f);
    part(mine);
    down();
}
END_TEST

/* ---- files of a directory tree ---- */

START_TEST(a_record_is_the_files_and_not_its_names)
{
    struct zc_sfile *a, *b, *c;
    struct zc_publication *mine, *other;

    up_posix();
    a = open_in(store, "f");
    leave(a, "job", "first", &mine);
    ck_assert_int_eq(link(in("f"), in("g")), 0);
    b = open_in(store, "g");
    find(b, "job", "first");
    ck_assert_int_eq(unlink(in("f")), 0);
    c = open_in(store, "f"); /* a new file of this name */
    leave(c, "job", "other", &other);
    part(other);
    part(mine);
    ck_assert_uint_eq(records_left(), 0);
    close_it(a);
    close_it(b);
    close_it(c);
    down();
}
END_TEST

START_TEST(a_dead_process_holds_nothing)
{
    struct zc_sfile *f;
    struct zc_publication *mine;
    pid_t pid;

    up_posix();
    f = open_in(store, "f");
    pid = start_holder(in("f"));
    find(f, "job", "holder");
    end(pid, SIGKILL);
    ck_assert_uint_eq(records_left(), 1);
    leave(f, "job", "second", &mine);
    find(f, "job", "second");
    part(mine);
    ck_assert_uint_eq(records_left(), 0);
    close_it(f);
    down();
}
END_TEST

START_TEST(a_process_that_does_not_answer_is_replaced)
{
    struct zc_sfile *f;
    struct zc_publication *mine;
    struct zc_rendezvous_record theirs;
    uint64_t number;
    pid_t pid;

    up_posix();
    f = open_in(store, "f");
    pid = start_holder(in("f"));
    number = find(f, "job", "holder");
    ck_assert_int_eq(kill(pid, SIGSTOP), 0);
    mine = rendezvous(f, "job", "second", number, &theirs);
    ck_assert_ptr_nonnull(mine);
    end(pid, SIGKILL);
    find(f, "job", "second");
    part(mine);
    close_it(f);
    down();
}
END_TEST

/* Records of dead processes, for files that are not opened again, are removed when another one is
 * published. */
START_TEST(what_the_dead_have_left_is_removed)
{
    struct zc_sfile *f;
    struct zc_publication *mine;
    pid_t alive;

    up_posix();
    end(start_holder(in("a")), SIGKILL);
    end(start_holder(in("b")), SIGKILL);
    alive = start_holder(in("c"));
    f = open_in(store, "f");
    leave(f, "job", "first", &mine);
    ck_assert_uint_eq(records_left(), 2);
    part(mine);
    close_it(f);
    f = open_in(store, "c");
    find(f, "job", "holder");
    close_it(f);
    end(alive, SIGKILL);
    down();
}
END_TEST

/* ---- untrusted directories ---- */

static void refused(const char *word)
{
    struct zc_sfile *f = open_in(store, "f");
    struct zc_publication *mine;
    struct zc_rendezvous_record theirs;
    int rc = zc_store_rendezvous(f, "job", "x", 1, 0, &mine, &theirs);

    ck_assert_int_eq(rc, -EOPNOTSUPP);
    ck_assert_ptr_null(mine);
    ck_assert_ptr_null(theirs.bytes);
    ck_assert_msg(strstr(zc_error_text(rc), word), "%s", zc_error_text(rc));
    close_it(f);
}

START_TEST(a_directory_that_others_may_use_is_refused)
{
    up_posix();
    ck_assert_int_eq(mkdir(in("zcache"), 0700), 0);
    ck_assert_int_eq(chmod(in("zcache"), 0750), 0);
    refused("mode 0700");
    ck_assert_int_eq(chmod(in("zcache"), 0777), 0);
    refused("mode 0700");
    ck_assert_int_eq(chmod(in("zcache"), 0700), 0);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(in("zcache"), 1, 1), 0);
        refused("another user");
    } else {
        puts("a directory of another user: not tried, which only root can");
    }
    down();
}
END_TEST

START_TEST(links_are_not_followed)
{
    char *name = NULL;
    struct zc_sfile *f;
    struct zc_publication *mine;
    struct dirent *e;
    struct stat st;
    DIR *d;

    up_posix();
    ck_assert_int_eq(mkdir(in("elsewhere"), 0700), 0);
    ck_assert_int_eq(symlink(in("elsewhere"), in("zcache")), 0);
    refused("zcache");
    ck_assert_int_eq(unlink(in("zcache")), 0);

    f = open_in(store, "f");
    leave(f, "job", "first", &mine); /* to learn the record's name */
    d = opendir(in("zcache"));
    while ((e = readdir(d)))
        if (e->d_name[0] != '.')
            ck_assert_int_gt(asprintf(&name, "zcache/%s", e->d_name), 0);
    closedir(d);
    part(mine);
    ck_assert_int_eq(symlink(in("elsewhere/victim"), in(name)), 0);
    refused("card");
    ck_assert_int_eq(stat(in("elsewhere/victim"), &st), -1);
    ck_assert_int_eq(unlink(in(name)), 0);

    ck_assert_int_eq(unlink(in("zcache/.guard")), 0);
    ck_assert_int_eq(symlink(in("elsewhere/victim"), in("zcache/.guard")), 0);
    refused("guard");
    ck_assert_int_eq(stat(in("elsewhere/victim"), &st), -1);
    free(name);
    close_it(f);
    down();
}
END_TEST

/* Inherited from another user's environment: then the other place is used. */
START_TEST(the_runtime_directory_of_others_is_not_used)
{
    struct zc_sfile *f;
    struct zc_publication *mine;
    struct stat st;

    up_posix();
    ck_assert_int_eq(mkdir(in("run"), 0777), 0);
    ck_assert_int_eq(chmod(in("run"), 0777), 0);
    ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", in("run"), 1), 0);
    f = open_in(store, "f");
    leave(f, "job", "first", &mine);
    find(f, "job", "first");
    ck_assert_int_eq(stat(in("run/zcache"), &st), -1);
    part(mine);
    ck_assert_int_eq(unsetenv("XDG_RUNTIME_DIR"), 0);
    leave(f, "job", "first", &mine);
    part(mine);
    close_it(f);
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("meet");
    TCase *both = tcase_create("every store");

    tcase_set_timeout(both, stretched(60));
    tcase_add_loop_test(both, the_second_finds_the_first, 0, 2);
    tcase_add_loop_test(both, only_the_record_that_was_found_is_replaced, 0, 2);
    tcase_add_loop_test(both, a_look_leaves_nothing, 0, 2);
    tcase_add_loop_test(both, records_of_every_length, 0, 2);
    tcase_add_test(both, a_store_can_fail_to_rendezvous);
    suite_add_tcase(s, both);
    CASE(s, "processes", 60, a_record_is_the_files_and_not_its_names, a_dead_process_holds_nothing,
         a_process_that_does_not_answer_is_replaced, what_the_dead_have_left_is_removed);
    CASE(s, "trust", 60, a_directory_that_others_may_use_is_refused, links_are_not_followed,
         the_runtime_directory_of_others_is_not_used);
    return run_suite(s);
}
