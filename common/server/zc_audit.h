/* zc_audit.h - who did what, in the log at level info.
 *
 *     audit: client 12 begins: rank 3 (uid 1000, node7:4711, job slurm 17.0), by its secret, over
 *         the fabric
 *     audit: client 12: open /scratch/x to read and write
 *     audit: client 12 may not open /scratch/y to read: ... Permission denied ...
 *     audit: client 12 ends: it said goodbye
 *
 * What a client is called is what it says of itself, and it knows the secret; whose process it is,
 * the kernel has said where the line has "a local socket".  Clients are numbered, as the numbers of
 * sessions are nobody's business.  Of each cause so many lines are written in a minute, and then
 * how many were not.
 *
 * All by the server's thread.
 */
#ifndef ZC_AUDIT_H
#define ZC_AUDIT_H

#include <stdint.h>

enum zc_audit_cause {
    ZC_AUDIT_BEGINS,
    ZC_AUDIT_ENDS,
    ZC_AUDIT_STRANGER, /* has no session, and gets none */
    ZC_AUDIT_DOES,
    ZC_AUDIT_REFUSED,
    ZC_AUDIT_CAUSES,
};

struct zc_audit {
    uint64_t since; /* ns; when the minute began */
    struct {
        unsigned said, left_out;
    } causes[ZC_AUDIT_CAUSES];
};

enum { ZC_AUDIT_LINES = 120 }; /* of a cause in a minute */

/* A line, unless there were too many.  What is not printable in it is replaced: it is said by
 * others. */
void zc_audit(struct zc_audit *a, enum zc_audit_cause cause, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Says what was left out: now, or when a minute is over. */
void zc_audit_rest(struct zc_audit *a);
void zc_audit_tick(struct zc_audit *a, uint64_t now);

struct zc_request;
struct zc_session;

/* A session has begun, or ends; `why`: because of that. */
void zc_audit_begins(struct zc_session *ss);
void zc_audit_ends(struct zc_session *ss, const char *why);
/* Somebody is not let in. */
void zc_audit_stranger(struct zc_session *ss, const char *why);
/* A request is over, whatever came of it. */
void zc_audit_request(const struct zc_request *r);

#endif
