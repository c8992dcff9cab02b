/* zc_wait_time.h - how long the calling thread has waited so far, and for what.
 *
 * The wait of a call is the difference of two copies.  Thread-local, so it needs no lock.
 */
#ifndef ZC_WAIT_TIME_H
#define ZC_WAIT_TIME_H

#include <stdint.h>

struct zc_wait_time { /* ns */
    uint64_t cache;   /* for room or bytes in a cache of this process */
    uint64_t credit;  /* until a server was ready for a further request */
    uint64_t reply;   /* for replies to requests, and for connections */
};

/* Readable at any time; only the functions that wait add to it. */
extern _Thread_local struct zc_wait_time zc_wait_time;

#endif
