/* zc_sharer.h - who of a server's clients share with whom: cache, store and threads are divided
 * among those who are named here, however many clients or open files each has.
 *
 * Where munge vouches for clients, all of a user are one: he cannot become more by what he says of
 * himself.  Else all are one user's, and those of a job are one, as their names in HELLO have it
 * (zc_whoami.h); a client that names no job is one by itself.
 *
 * Where there is no memory for another one a client shares with all others that had this happen.
 *
 * By the server's thread, but what says otherwise.
 */
#ifndef ZC_SHARER_H
#define ZC_SHARER_H

#include <stdbool.h>
#include <stddef.h>

#include "zc_pool.h"

struct zc_handle;
struct zc_session;

/* The session begins, is known, and ends. */
void zc_sharer_enter(struct zc_session *ss);
void zc_sharer_leave(struct zc_session *ss);

/* Things of which a server has few, and which are held while their holder waits for room. */
enum zc_few { ZC_FEW_BUFFERS, ZC_FEW_IDLE, ZC_FEW_LISTS, ZC_FEW }; /* idle: such buffers */

/* Whether one of those of the session may have one more: where several share, each has its part of
 * `all` and no more, so that what some hold while they wait is not what others wait for. */
bool zc_sharer_may(const struct zc_session *ss, enum zc_few kind, unsigned all);
/* How many the session and those it shares with have; where nobody shares: `all`. */
unsigned zc_sharer_has(const struct zc_session *ss, enum zc_few kind, unsigned all);
void zc_sharer_took(const struct zc_session *ss, enum zc_few kind);
void zc_sharer_gave(const struct zc_session *ss, enum zc_few kind);

/* Any thread, of a session that lives. */
struct zc_pool_turn *zc_sharer_turn(const struct zc_session *ss);
/* It has opened this. */
void zc_sharer_charge(const struct zc_session *ss, struct zc_handle *h);

/* The part of a client's name that tells its job, or else its process; points into `name`. */
const char *zc_sharer_job(const char *name, size_t *len);

#endif
