/* test_cred.c - calls to the posix store as somebody else: the kernel decides, and files are his.
 *
 * As root; for others there is nobody else to be.
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
    ck_assert_int_eq(setfsuid((uid_t)-1), 0); /* whatever was done */
    zc_store_destroy(store);
    zc_cred_free(alice);
    zc_cred_free(bob);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    ck_assert_int_eq(system(command), 0);
}

/* What opening it returns, as him; it is closed again. */
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

START_TEST(files_belong_to_who_creates_them)
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

/* Only this thread is somebody else. */
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
    ck_assert_int_eq(zc_cred_look_up(0, 0, &c), 0);
    ck_assert_int_ge(c->ngroups, 1);
    zc_cred_free(c);
    ck_assert_int_eq(zc_cred_look_up(ALICE, ALICE, &c), 0); /* whom nobody knows */
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
        printf("skipped: only root can be somebody else\n");
        return 77;
    }
    CASE(s, "cred", 60, files_belong_to_who_creates_them, the_kernel_decides,
         supplementary_groups_count, links_do_not_lead_out, other_threads_stay,
         groups_are_looked_up);
    return run_suite(s);
}
