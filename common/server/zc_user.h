/* zc_user.h - users of a server of many users, and the limits of each.
 *
 * A session belongs to the user that munge named (zc_session_credential.c).  What its requests
 * ask the store is asked as that user (zc_cred.h), and so every open file of a session is one that
 * the kernel has granted to its user; pages that are cached are reached by such an open only.
 *
 * The server's owner is the user of its process.  The owner and root may control it (flush, drain,
 * stop), and see the names of all its files.
 *
 * All by the server's thread.
 */
#ifndef ZC_USER_H
#define ZC_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Limits of one user, not of the owner and root. 0: no limit. */
struct zc_user_limits {
    unsigned sessions;
    unsigned opens; /* open files of all sessions of the user */
    unsigned share; /* percent of the budget for clients: what is set aside for the user's, and
                       of what may be kept: what its open files take */
};

struct zc_server;
struct zc_session;
struct zc_user;

/* Counts a session of the known user ss->cred.  NULL, or why the user may not have one more, and
 * nothing is counted. */
const char *zc_user_enter(struct zc_session *ss);
/* Ends the session's count, with all that it had open; no effect if it was not counted. */
void zc_user_leave(struct zc_session *ss);

/* Counts an open file of `bytes` bytes; NULL, or why the user may not have it. */
const char *zc_user_opens(struct zc_session *ss, size_t bytes);
void zc_user_closes(struct zc_session *ss, size_t bytes);

/* Whether it may make requests that concern all users. */
bool zc_user_is_owner(const struct zc_session *ss);
/* Whether both belong to one user; always true without munge. */
bool zc_user_same(const struct zc_session *a, const struct zc_session *b);

void zc_users_free(struct zc_server *s);

#endif
