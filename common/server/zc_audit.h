/* zc_audit.h - who did what, in the log at level info.
 *
 *     audit: client 12 of user 1000, rank 3 (uid 1000, node7:4711, job slurm 17.0), begins: by its
 *         secret, over the fabric
 *     audit: client 12 of user 1000, rank 3 (uid 1000, ...): open /scratch/x to read and write
 *     audit: client 12 of user 1000, rank 3 (uid 1000, ...), may not open /scratch/y to read: ...
 *     audit: client 12 of user 1000, rank 3 (uid 1000, ...), ends: it said goodbye
 *     audit: host 10.1.0.9, rank 0 (uid 0, ...), is refused, over the fabric: ...
 *
 * Each line tells all that is known of who it was, so that it needs no other one.  The user is
 * proven: munge has vouched for him, or else he is the server's own, as is to it who knows its
 * secret.  Of who has not proven anything, a host is told, the one that he wants his answer at.
 * What a client is called comes next, and is what it says of itself.  Clients are numbered, as the
 * numbers of sessions are nobody's business.
 *
 * Of each user, and of each such host, so many lines of a cause are written in a minute, and then
 * how many were not: nobody keeps the lines of another user out.  What is counted has a bound: of
 * more users or hosts in one minute those that come last are counted together, users and hosts
 * apart, as hosts are what strangers say.
 *
 * All by the server's thread.
 */
#ifndef ZC_AUDIT_H
#define ZC_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

enum zc_audit_cause {
    ZC_AUDIT_BEGINS,
    ZC_AUDIT_ENDS,
    ZC_AUDIT_KEPT_OUT, /* has no session, and gets none */
    ZC_AUDIT_DOES,
    ZC_AUDIT_REFUSED,
    ZC_AUDIT_DROPPED, /* has kept silent too long ... */
    ZC_AUDIT_BACK,    /* ... and comes again */
    ZC_AUDIT_CAUSES,
};

enum {
    ZC_AUDIT_LINES = 120,     /* of a user and a cause in a minute */
    ZC_AUDIT_HOST_LINES = 30, /* of a host, whoever it is there, the same */
    ZC_AUDIT_USERS = 256,     /* that are counted each by himself */
    ZC_AUDIT_HOSTS = 32,
    ZC_AUDIT_WHOM = 56, /* bytes of a user or a host, in words */
};

/* Lines about one of them in this minute. */
struct zc_audit_count {
    char whom[ZC_AUDIT_WHOM]; /* empty: nobody has this place */
    struct {
        unsigned said, left_out;
    } causes[ZC_AUDIT_CAUSES];
};

struct zc_audit {
    uint64_t since; /* ns; when the minute began */
    struct zc_audit_count users[ZC_AUDIT_USERS], hosts[ZC_AUDIT_HOSTS];
    struct zc_audit_count other_users, other_hosts; /* for whom there was no place */
};

/* A line about `whom`, a user (proven) or a host, unless there were too many.  What is not
 * printable in it is replaced: it is said by others. */
void zc_audit(struct zc_audit *a, const char *whom, bool proven, enum zc_audit_cause cause,
              const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Says what was left out, and begins to count anew: now, or when a minute is over. */
void zc_audit_rest(struct zc_audit *a);
void zc_audit_tick(struct zc_audit *a, uint64_t now);

struct zc_request;
struct zc_session;

/* A session has begun, or ends; `why`: because of that. */
void zc_audit_begins(struct zc_session *ss);
void zc_audit_ends(struct zc_session *ss, const char *why);
/* Somebody is not let in. */
void zc_audit_kept_out(struct zc_session *ss, const char *why);
/* Whether a line about it that is no audit's may be said, at whatever level; it is counted. */
bool zc_audit_may_say(struct zc_session *ss, enum zc_audit_cause cause);
/* A request is over, whatever came of it. */
void zc_audit_request(const struct zc_request *r);

#endif
