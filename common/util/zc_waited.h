/* zc_waited.h - what the calling thread has waited for, since it began.
 *
 * Who wants to know how long a call has waited takes the difference of two copies.  Belongs to
 * the thread: no lock.
 */
#ifndef ZC_WAITED_H
#define ZC_WAITED_H

#include <stdint.h>

struct zc_waited {   /* ns */
    uint64_t cache;  /* for room or bytes in a cache of this process */
    uint64_t credit; /* until a server was ready for a further request */
    uint64_t reply;  /* for replies to requests, and for connections */
};

/* Read it at any time; only who waits adds. */
extern _Thread_local struct zc_waited zc_waited;

#endif
