/* test_cred.c - calls to the posix store as another user: the kernel checks permissions, and new
 * files belong to that user.
 *
 * For root only; others cannot switch.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check_main.h"
#include "zc_cred.h"
#include "zc_log.h"
#include "zc_store_posix.h"

enum { ALICE = 20001, BOB = 20002, TEAM = 20010 };

static char dir[64], name[128];
static struct zc_store *store;
static struct zc_cred *alice, *bob;

static const char *in(const char *base)
{
    snprintf(name, sizeof name, "%s/%s", dir, base);
    return name;
}

static void up(void)
{
    static const gid_t team[] = {TEAM};

    snprintf(dir, sizeof dir, "/tmp/zc-cred.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(chmod(dir, 01777), 0);
    ck_assert_int_eq(zc_store_posix_create(dir, &store), 0);
    ck_assert_int_eq(zc_cred_make(ALICE, ALICE, team, 1, &alice), 0);
    ck_assert_int_eq(zc_cred_make(BOB, BOB, NULL, 0, &bob), 0);
}

static void down(void)
{
    char command[128];

    ck_assert_ptr_null(zc_cred_used());
    ck_assert_int_eq(setfsuid((uid_t)-1), 0); /* was restored */
    zc_store_destroy(store);
    zc_cred_free(alice);
    zc_cred_free(bob);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    ck_assert_int_eq(system(command), 0);
}

/* Returns the result of an open as that user; closes the file again. */
static int open_as(const struct zc_cred *who, const char *base, unsigned flags, mode_t mode)
{
    struct zc_attr attr = {0};
    struct zc_sfile *f;
    int rc;

    zc_cred_use(who);
    rc = zc_store_open_file(store, in(base), flags, mode, &f, &attr);
    zc_cred_use(NULL);
    if (rc == 0)
        zc_store_close_file(f, ZC_LEVEL_STORED);
    return rc;
}

static struct stat look(const char *base)
{
    struct stat st;

    ck_assert_int_eq(lstat(in(base), &st), 0);
    return st;
}

enum { CREATE = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE };

START_TEST(files_belong_to_their_creators)
{
    struct stat st;

    up();
    ck_assert_int_eq(open_as(alice, "hers", CREATE, 0600), 0);
    st = look("hers");
    ck_assert_uint_eq(st.st_uid, ALICE);
    ck_assert_uint_eq(st.st_gid, ALICE);
    ck_assert_int_eq(open_as(NULL, "ours", CREATE, 0600), 0); /* the thread is itself again */
    ck_assert_uint_eq(look("ours").st_uid, 0);
    down();
}
END_TEST

START_TEST(the_kernel_decides)
{
    struct zc_attr attr;
    int rc;

    up();
    ck_assert_int_eq(open_as(alice, "hers", CREATE, 0600), 0);
    ck_assert_int_eq(open_as(bob, "hers", ZC_OPEN_READ, 0), -EACCES);
    ck_assert_int_eq(open_as(bob, "hers", ZC_OPEN_WRITE, 0), -EACCES);
    zc_cred_use(bob);
    rc = zc_store_unlink(store, in("hers")); /* the directory is sticky */
    zc_cred_use(NULL);
    ck_assert_int_eq(rc, -EPERM);
    ck_assert_int_eq(mkdir(in("closed"), 0700), 0);
    zc_cred_use(bob);
    rc = zc_store_stat(store, in("closed/x"), &attr);
    zc_cred_use(NULL);
    ck_assert_int_eq(rc, -EACCES);
    ck_assert_int_eq(open_as(alice, "hers", ZC_OPEN_READ, 0), 0);
    zc_cred_use(alice);
    rc = zc_store_unlink(store, in("hers"));
    zc_cred_use(NULL);
    ck_assert_int_eq(rc, 0);
    down();
}
END_TEST

START_TEST(supplementary_groups_count)
{
    up();
    ck_assert_int_eq(open_as(NULL, "teams", CREATE, 0640), 0);
    ck_assert_int_eq(chown(in("teams"), 0, TEAM), 0);
    ck_assert_int_eq(open_as(alice, "teams", ZC_OPEN_READ, 0), 0);
    ck_assert_int_eq(open_as(alice, "teams", ZC_OPEN_WRITE, 0), -EACCES);
    ck_assert_int_eq(open_as(bob, "teams", ZC_OPEN_READ, 0), -EACCES);
    down();
}
END_TEST

/* Creates a file with this requested group; returns the group that it gets. */
static gid_t group_of(const struct zc_cred *who, const char *base, gid_t wish)
{
    zc_cred_create_in(wish);
    ck_assert_int_eq(open_as(who, base, CREATE, 0660), 0);
    zc_cred_create_in(ZC_CRED_NO_GROUP);
    return look(base).st_gid;
}

/* As after newgrp(1): the kernel, or munge and the group database, tell the groups of a user. */
START_TEST(a_new_file_has_the_group_of_its_creator)
{
    up();
    ck_assert_uint_eq(group_of(alice, "a", ZC_CRED_NO_GROUP), ALICE);
    ck_assert_uint_eq(group_of(alice, "b", TEAM), TEAM);
    ck_assert_uint_eq(group_of(bob, "c", TEAM), BOB); /* bob is no member */
    ck_assert_uint_eq(group_of(bob, "d", 0), BOB);
    ck_assert_uint_eq(group_of(NULL, "e", ZC_CRED_NO_GROUP), 0);
    ck_assert_uint_eq(group_of(NULL, "f", TEAM), TEAM);
    ck_assert_uint_eq(group_of(NULL, "f", BOB), TEAM); /* the file exists */
    ck_assert_int_eq(mkdir(in("team"), 0770), 0);
    ck_assert_int_eq(chown(in("team"), 0, TEAM), 0);
    ck_assert_int_eq(chmod(in("team"), 02770), 0);
    ck_assert_uint_eq(group_of(NULL, "team/a", BOB), TEAM); /* inherited */
    ck_assert_uint_eq(group_of(alice, "team/b", ALICE), TEAM);
    ck_assert_int_eq(mkdir(in("own"), 0770), 0);
    ck_assert_int_eq(chmod(in("own"), 02770), 0);
    ck_assert_uint_eq(group_of(NULL, "own/a", TEAM),
                      0); /* inherited, and also the group of this process */
    down();
}
END_TEST

START_TEST(links_do_not_lead_out)
{
    up();
    ck_assert_int_eq(symlink("/etc/passwd", in("out")), 0);
    ck_assert_int_eq(open_as(alice, "out", ZC_OPEN_READ, 0), -EACCES);
    ck_assert_int_eq(open_as(alice, "../etc/passwd", ZC_OPEN_READ, 0), -EACCES);
    down();
}
END_TEST

static void *other_thread(void *arg)
{
    pthread_barrier_t *both = arg;

    pthread_barrier_wait(both);
    ck_assert_int_eq(setfsuid((uid_t)-1), 0);
    pthread_barrier_wait(both);
    return NULL;
}

/* Only this thread switches. */
START_TEST(other_threads_stay)
{
    pthread_barrier_t both;
    pthread_t t;

    up();
    pthread_barrier_init(&both, NULL, 2);
    ck_assert_int_eq(pthread_create(&t, NULL, other_thread, &both), 0);
    zc_cred_use(alice);
    ck_assert_int_eq(zc_cred_enter(), 0);
    ck_assert_int_eq(setfsuid((uid_t)-1), ALICE);
    pthread_barrier_wait(&both);
    pthread_barrier_wait(&both);
    zc_cred_leave();
    zc_cred_use(NULL);
    pthread_join(t, NULL);
    pthread_barrier_destroy(&both);
    down();
}
END_TEST

START_TEST(groups_are_looked_up)
{
    struct zc_cred *c;

    up();
    ck_assert_int_eq(zc_cred_lookup(0, 0, &c), 0);
    ck_assert_int_ge(c->ngroups, 1);
    zc_cred_free(c);
    ck_assert_int_eq(zc_cred_lookup(ALICE, ALICE, &c), 0); /* an unknown user */
    ck_assert_int_eq(c->ngroups, 0);
    ck_assert_uint_eq(c->uid, ALICE);
    zc_cred_free(c);
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cred");

    if (geteuid() != 0) {
        printf("skipped: only root can switch users\n");
        return 77;
    }
    CASE(s, "cred", 60, files_belong_to_their_creators, the_kernel_decides,
         supplementary_groups_count, a_new_file_has_the_group_of_its_creator, links_do_not_lead_out,
         other_threads_stay, groups_are_looked_up);
    return run_suite(s);
}
