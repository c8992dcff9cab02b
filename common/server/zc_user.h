/* zc_user.h - the users of a server that has many: who they are, and what each may make it hold.
 *
 * A session is of the user whom munge has vouched for (zc_session_vouch.c).  What its requests ask
 * the store is asked as that user (zc_cred.h), and so every open file of a session is one that the
 * kernel has granted to its user; pages that are cached are reached by such an open only.
 *
 * The server's owner is the user that its process is.  He, and root, may do what concerns all: tell
 * it to flush, to drain, to stop, and see the names of all files that it has.
 *
 * All by the server's thread.
 */
#ifndef ZC_USER_H
#define ZC_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Of one user, but not of the owner and root. 0: no limit. */
struct zc_user_limits {
    unsigned sessions;
    unsigned opens; /* open files of all his sessions */
    unsigned share; /* percent of the budget for clients: what is set aside for his, and of what
                       may be kept: what his open files take */
};

struct zc_server;
struct zc_session;
struct zc_user;

/* The session's user is known, ss->cred: it is counted among his.  NULL, or why he may not have
 * one more, and nothing is counted. */
const char *zc_user_enter(struct zc_session *ss);
/* It is no more, with all that it had open; nothing where it was not counted. */
void zc_user_leave(struct zc_session *ss);

/* One more open file, that takes so many bytes; NULL, or why he may not have it. */
const char *zc_user_opens(struct zc_session *ss, size_t bytes);
void zc_user_closes(struct zc_session *ss, size_t bytes);

/* Whether it may do what concerns all users. */
bool zc_user_is_owner(const struct zc_session *ss);
/* Whether both are one user's; always, where the server has one. */
bool zc_user_same(const struct zc_session *a, const struct zc_session *b);

void zc_users_free(struct zc_server *s);

#endif
