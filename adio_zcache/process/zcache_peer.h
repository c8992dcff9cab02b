/* zcache_peer.h - connections of this process to aggregators, shared by its files.
 *
 * Made at the first access that needs one, kept until MPI_Finalize.  An aggregator that is not
 * reached within the time-out is not tried again for files that were open then: every call would
 * wait as long.  A file that is opened later tries once more.  Threads: any; different aggregators
 * are connected to at the same time.
 *
 * The way to an aggregator is its address, and behind that the secret by which both know that they
 * are of one job.  It travels among the job's ranks only: through MPI, and on cards at files.
 */
#ifndef ZCACHE_PEER_H
#define ZCACHE_PEER_H

#include "zc_client.h"
#include "zc_settings.h"
#include "zc_wire.h"

enum { ZCACHE_WAY = ZC_MAX_ADDRESS + ZC_SECRET_SIZE }; /* bytes at most */

/* Of a way, how many bytes are the address; 0: it is none. */
static inline size_t zcache_way_address(size_t way_len)
{
    return way_len > ZC_SECRET_SIZE ? way_len - ZC_SECRET_SIZE : 0;
}

/* How many attempts have failed so far; a file asks when it is opened. */
uint64_t zcache_peer_failures(void);
/* `label` names the aggregator in messages.  Not reached since `failures_before`: the same error
 * at once.  `past`: a connection that broke with that of another aggregator, and whose session
 * there ends before the new one begins; or NULL. */
int zcache_peer_get(const void *way, size_t len, const char *label, const struct zc_settings *s,
                    uint64_t failures_before, struct zc_client *past, struct zc_client **out);
/* A connection that works, from opens before; NULL: there is none.  Waits for nothing. */
struct zc_client *zcache_peer_look(const void *way, size_t len);

#endif
