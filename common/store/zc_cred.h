/* zc_cred.h - as whom the calls to a store are made, where one process serves many users.
 *
 * A thread says for whom it works (zc_cred_use()) and calls the store; a store that reaches files
 * by their names makes those calls as that user: the kernel decides, and what is created is the
 * user's.  What goes by a descriptor needs no more than that: who opened it was allowed to.  So
 * write-back, reading ahead and closing, which are nobody's calls, are made by threads that work
 * for nobody.
 *
 * Only root can become others.  The identity is the thread's alone: the file-system user and group,
 * and the supplementary groups, by system calls of their own, as those of the C library would
 * change all threads.  With them go the capabilities that let root pass permissions.
 */
#ifndef ZC_CRED_H
#define ZC_CRED_H

#include <sys/types.h>

/* Fixed once it is made. */
struct zc_cred {
    uid_t uid;
    gid_t gid;
    int ngroups;
    gid_t groups[]; /* supplementary */
};

/* 0, or -ENOMEM, -EINVAL (too many groups); to be freed. */
int zc_cred_make(uid_t uid, gid_t gid, const gid_t *groups, int ngroups, struct zc_cred **out);
/* With the groups that the group database gives to that user; none, where nobody knows him.
 * Blocks. */
int zc_cred_look_up(uid_t uid, gid_t gid, struct zc_cred **out);
void zc_cred_free(struct zc_cred *c); /* NULL: nothing */

/* From now on this thread works for him, whose identity is the caller's and stays until this is
 * called again; NULL: for nobody, as it begins. */
void zc_cred_use(const struct zc_cred *c);
/* For whom it does, or NULL. */
const struct zc_cred *zc_cred_used(void);

/* Of a store, around system calls: the thread is that user, until zc_cred_leave().  0, or -EPERM,
 * explained, and it is not.  Nothing where it works for nobody. */
int zc_cred_enter(void);
void zc_cred_leave(void); /* errno stays */

#endif
