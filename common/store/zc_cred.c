/* zc_cred.c - sets the file-system identity of a thread. */
#include "config.h"

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "zc_cred.h"
#include "zc_log.h"

enum { GROUPS_MAX = 65536, FEW = 64, NAMES = 16 << 10 };

#ifdef SYS_setgroups32 /* the 32-bit variant on architectures whose setgroups() has 16-bit ids */
#define SET_GROUPS SYS_setgroups32
#else
#define SET_GROUPS SYS_setgroups
#endif

/* ---- identities ---- */

int zc_cred_make(uid_t uid, gid_t gid, const gid_t *groups, int ngroups, struct zc_cred **out)
{
    struct zc_cred *c;

    *out = NULL;
    if (ngroups < 0 || ngroups > GROUPS_MAX)
        return zc_errorf(EINVAL, "user %u is in %d groups; %d are possible", (unsigned)uid, ngroups,
                         GROUPS_MAX);
    c = calloc(1, sizeof *c + (size_t)ngroups * sizeof *groups);
    if (!c)
        return zc_errorf(ENOMEM, "no memory for the groups of user %u", (unsigned)uid);
    c->uid = uid;
    c->gid = gid;
    c->ngroups = ngroups;
    if (ngroups)
        memcpy(c->groups, groups, (size_t)ngroups * sizeof *groups);
    *out = c;
    return 0;
}

/* Reads the groups of a user into *groups, which the caller frees; *n: how many. */
static int groups_of(const char *name, gid_t gid, gid_t **groups, int *n)
{
    for (*n = FEW;;) {
        int room = *n;
        gid_t *more = realloc(*groups, (size_t)room * sizeof *more);

        if (!more)
            return -ENOMEM;
        *groups = more;
        if (getgrouplist(name, gid, more, n) >= 0)
            return 0;
        if (*n <= room || *n > GROUPS_MAX)
            return -EINVAL;
    }
}

int zc_cred_lookup(uid_t uid, gid_t gid, struct zc_cred **out)
{
    struct passwd pw, *found = NULL;
    gid_t *groups = NULL;
    char *names = malloc(NAMES);
    int n = 0, rc = names ? 0 : -ENOMEM;

    *out = NULL;
    if (rc == 0)
        rc = -getpwuid_r(uid, &pw, names, NAMES, &found);
    if (rc == -ENOENT || rc == -ESRCH) /* returned by some libraries for an unknown user */
        rc = 0;
    if (rc == 0 && found)
        rc = groups_of(pw.pw_name, gid, &groups, &n);
    if (rc < 0)
        rc = zc_errorf(-rc, "cannot find the groups of user %u: %s", (unsigned)uid, strerror(-rc));
    else
        rc = zc_cred_make(uid, gid, groups, n, out);
    free(groups);
    free(names);
    return rc;
}

void zc_cred_free(struct zc_cred *c)
{
    free(c);
}

/* ---- threads ---- */

static __thread const struct zc_cred *used;

void zc_cred_use(const struct zc_cred *c)
{
    used = c;
}

const struct zc_cred *zc_cred_used(void)
{
    return used;
}

/* Group of files that the thread creates. */
static __thread gid_t create_in = ZC_CRED_NO_GROUP;

void zc_cred_create_in(gid_t gid)
{
    create_in = gid;
}

static bool is_in(const struct zc_cred *c, gid_t gid)
{
    bool in = gid == c->gid;

    for (int i = 0; i < c->ngroups; i++)
        in = in || gid == c->groups[i];
    return in;
}

bool zc_cred_gives_group(const struct stat *st)
{
    return !used && create_in != ZC_CRED_NO_GROUP && create_in != st->st_gid &&
           st->st_gid == getegid();
}

int zc_cred_give_group(int fd)
{
    return fchown(fd, (uid_t)-1, create_in) < 0 ? -errno : 0;
}

/* Supplementary groups of the process, which threads return to. */
static gid_t *own_groups;
static int own_ngroups = -1; /* unknown */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_own(void)
{
    int n = getgroups(0, NULL);

    own_groups = n < 0 ? NULL : calloc((size_t)n + 1, sizeof *own_groups);
    if (own_groups)
        own_ngroups = getgroups(n, own_groups);
}

/* Returns the current id: setting an invalid id changes nothing and returns it. */
static uid_t file_user(void)
{
    return (uid_t)setfsuid((uid_t)-1);
}

static gid_t file_group(void)
{
    return (gid_t)setfsgid((gid_t)-1);
}

/* Takes on an identity.  The groups first, as only root may set them. */
static bool become(uid_t uid, gid_t gid, const gid_t *groups, int n)
{
    if (syscall(SET_GROUPS, n, groups) < 0)
        return false;
    setfsgid(gid);
    setfsuid(uid);
    return file_user() == uid && file_group() == gid;
}

/* Aborts if the thread cannot return: it would act with another user's rights. */
static void go_back(void)
{
    int err = errno;

    setfsuid(geteuid());
    if (!become(geteuid(), getegid(), own_groups, own_ngroups)) {
        zc_error("a thread cannot go back to user %u", (unsigned)geteuid());
        abort();
    }
    errno = err;
}

int zc_cred_enter(void)
{
    if (!used)
        return 0;
    pthread_once(&once, find_own);
    if (geteuid() == 0 && own_ngroups >= 0) {
        gid_t gid = is_in(used, create_in) ? create_in : used->gid;

        if (become(used->uid, gid, used->groups, used->ngroups))
            return 0;
        go_back();
    }
    return zc_errorf(EPERM, "cannot act as user %u: only root can, with CAP_SETUID and CAP_SETGID",
                     (unsigned)used->uid);
}

void zc_cred_leave(void)
{
    if (used)
        go_back();
}
