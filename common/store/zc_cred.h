/* zc_cred.h - the user for whom calls to a store are made, where one process serves many users.
 *
 * A thread sets its user (zc_cred_use()) and calls the store.  A store that reaches files by name
 * makes those calls as that user: the kernel decides about permissions, and new files belong to the
 * user.  Calls by descriptor do not switch, because the open was checked: so write-back, readahead
 * and close belong to no user, whatever thread makes them.
 *
 * Only root can switch.  The identity is the thread's alone: file-system user and group and
 * supplementary groups, set by direct system calls, because the C library would change all threads.
 * The capabilities that let root override permissions are dropped with it.
 */
#ifndef ZC_CRED_H
#define ZC_CRED_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Immutable. */
struct zc_cred {
    uid_t uid;
    gid_t gid;
    int ngroups;
    gid_t groups[]; /* supplementary */
};

/* 0, or -ENOMEM, -EINVAL (too many groups); the caller frees *out. */
int zc_cred_make(uid_t uid, gid_t gid, const gid_t *groups, int ngroups, struct zc_cred **out);
/* Makes the identity with the groups of the group database; an unknown user has none.  Blocks. */
int zc_cred_lookup(uid_t uid, gid_t gid, struct zc_cred **out);
void zc_cred_free(struct zc_cred *c); /* NULL: no effect */

/* Sets the user of the calling thread.  The caller owns `c` and keeps it until the next call.
 * NULL, the initial state: no user. */
void zc_cred_use(const struct zc_cred *c);
/* Returns the user of the calling thread, or NULL. */
const struct zc_cred *zc_cred_used(void);

#define ZC_CRED_NO_GROUP ((gid_t)-1)
/* Sets the group of files that this thread creates; ZC_CRED_NO_GROUP, the initial state: that of
 * the user, or of the process.  A group that the thread's user is not a member of is ignored. */
void zc_cred_create_in(gid_t gid);
/* Whether a new file with attributes `st` should get that group, unless it has its directory's: the
 * thread has no user, as which it would have created the file, and the group is another one. */
bool zc_cred_gives_group(const struct stat *st);
/* Changes the group of `fd` to it.  0, or a negative errno, and the file keeps its group. */
int zc_cred_give_group(int fd);

/* For stores: switches the thread to its user until zc_cred_leave().  No effect without a user. 0,
 * or -EPERM, explained, and the thread has not switched. */
int zc_cred_enter(void);
void zc_cred_leave(void); /* keeps errno */

#endif
