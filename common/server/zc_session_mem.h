/* zc_session_mem.h - limits of the memory that clients make a server hold, per client and in total.
 *
 *     limit       requests under way and replies not taken yet: reserved when a session begins,
 *                 which gets a number of requests under way (credits) and a maximum of data in a
 *                 message.  A client that keeps to both never exceeds it.
 *     kept        open files, rendezvous records, texts: counted while they exist
 *
 * A server with a budget never exceeds it with both together.  The first sessions get the most; the
 * more there are, the less a new one gets, down to ZC_SESSION_MEM_LEAST.  Without a budget each
 * session gets the maximum.
 *
 * A client that exceeds its limit does not take its replies or ignores its credits: it is not read
 * any more.  One message waits until it has taken enough, others are dropped.
 *
 * All by the server's thread.
 */
#ifndef ZC_SESSION_MEM_H
#define ZC_SESSION_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zc_wire.h"

enum {
    ZC_SESSION_MEM_REQUEST = 5 << 10, /* memory of a request without its data, bytes */
    ZC_SESSION_MEM_SESSION = 2 << 10, /* of a session without limit and kept memory */
    ZC_SESSION_MEM_BRIEF = 1 << 10,   /* data in a message, with little memory left */
    ZC_SESSION_MEM_LEAST = ZC_SESSION_MEM_SESSION + ZC_SESSION_MEM_REQUEST + ZC_SESSION_MEM_BRIEF,
    ZC_SESSION_MEM_NOTICES = 4 << 10, /* beyond its limit, for notices and heartbeats */
};

/* Of a server, bytes. */
struct zc_session_mem {
    size_t limit;  /* 0: none */
    size_t used;   /* of it */
    size_t kept;   /* of that: what is kept */
    size_t extras; /* sum of limits above the minimum */
};

/* Of a session, bytes. */
struct zc_session_quota {
    bool open;
    unsigned credits;
    uint32_t max_inline;
    size_t limit, active; /* active: memory of requests under way */
    size_t kept;
};

/* Whether there is memory for one more session. */
bool zc_session_mem_has_room(const struct zc_session_mem *a);
/* Begins a session, with up to `credits`, as memory permits; false: there is none at all. */
bool zc_session_mem_open(struct zc_session_mem *a, struct zc_session_quota *p, unsigned credits);
/* Ends it; may be called more than once. */
void zc_session_mem_close(struct zc_session_mem *a, struct zc_session_quota *p);

/* Returns the maximum of kept memory, for all together. */
size_t zc_session_mem_quarter(const struct zc_session_mem *a);
/* Counts `bytes` kept for the session; false: over its quota, and nothing is counted.  A session
 * gets at most as much as it leaves to others. */
bool zc_session_mem_keep(struct zc_session_mem *a, struct zc_session_quota *p, size_t bytes);
void zc_session_mem_give(struct zc_session_mem *a, struct zc_session_quota *p, size_t bytes);

/* Returns the memory that a request takes while it is under way. */
size_t zc_session_mem_cost(const struct zc_msg *m);

#endif
