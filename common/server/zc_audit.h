/* zc_audit.h - audit log: what each client does, at level info.
 *
 *     audit: client 12 of user 1000, rank 3 (uid 1000, node7:4711, job slurm 17.0), begins: by its
 *         secret, over the fabric
 *     audit: client 12 of user 1000, rank 3 (uid 1000, ...): open /scratch/x to read and write
 *     audit: client 12 of user 1000, rank 3 (uid 1000, ...), may not open /scratch/y to read: ...
 *     audit: client 12 of user 1000, rank 3 (uid 1000, ...), ends: it said goodbye
 *     audit: host 10.1.0.9, rank 0 (uid 0, ...), is refused, over the fabric: ...
 *
 * Each line names its client in full, so that it needs no other line.  The user is authenticated:
 * munge named it, or it is the server's own, as is every client that knows the secret.  For a
 * client that is not authenticated the host it gave for replies is printed.  The client's own name,
 * which is not checked, comes next.  Clients are numbered, because session numbers are secret.
 *
 * Of each user, and of each such host, a bounded number of lines of a cause are written in a
 * minute, and then how many were left out, so that one user cannot suppress the lines of another.
 * The counts are bounded, too: if there are more users or hosts in one minute, the last are counted
 * together, users and hosts apart, since hosts are not checked.
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
    ZC_AUDIT_EVICTED, /* was silent for too long ... */
    ZC_AUDIT_BACK,    /* ... and has reconnected */
    ZC_AUDIT_UNSYNCED,
    ZC_AUDIT_CAUSES,
};

enum {
    ZC_AUDIT_LINES = 120,     /* of a user and a cause in a minute */
    ZC_AUDIT_HOST_LINES = 30, /* the same, of all clients of a host */
    ZC_AUDIT_USERS = 256,     /* that are counted separately */
    ZC_AUDIT_HOSTS = 32,
    ZC_AUDIT_WHOM = 56, /* bytes of a user or a host, as text */
};

/* Lines about one user or host in this minute. */
struct zc_audit_count {
    char whom[ZC_AUDIT_WHOM]; /* empty: unused */
    struct {
        unsigned said, left_out;
    } causes[ZC_AUDIT_CAUSES];
};

struct zc_audit {
    uint64_t since; /* ns; when the minute began */
    struct zc_audit_count users[ZC_AUDIT_USERS], hosts[ZC_AUDIT_HOSTS];
    struct zc_audit_count other_users, other_hosts; /* of all without a count of their own */
};

/* Writes a line about `whom`, a user (proven) or a host, within the limits.  Unprintable characters
 * in it are replaced: it is the client's text. */
void zc_audit(struct zc_audit *a, const char *whom, bool proven, enum zc_audit_cause cause,
              const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Reports how many lines were left out, and resets the counts: now, or when a minute is over. */
void zc_audit_rest(struct zc_audit *a);
void zc_audit_tick(struct zc_audit *a, uint64_t now);

struct zc_request;
struct zc_session;

/* Log that a session begins, or ends for the reason `why`. */
void zc_audit_begins(struct zc_session *ss);
void zc_audit_ends(struct zc_session *ss, const char *why);
/* Logs a client that is refused. */
void zc_audit_kept_out(struct zc_session *ss, const char *why);
/* Whether another line about it, outside the audit log, may be written at any level; counts it. */
bool zc_audit_may_say(struct zc_session *ss, enum zc_audit_cause cause);
/* Logs the end of a request, successful or not. */
void zc_audit_request(const struct zc_request *r);

#endif
