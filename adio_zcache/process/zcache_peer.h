/* zcache_peer.h - connections of this process to aggregators, shared by its files.
 *
 * Made at the first access that needs one, kept until MPI_Finalize.  Threads: any; different
 * aggregators are connected to at the same time.
 */
#ifndef ZCACHE_PEER_H
#define ZCACHE_PEER_H

#include "zc_client.h"
#include "zc_settings.h"

/* `label` names the aggregator in messages. */
int zcache_peer_get(const void *addr, size_t len, const char *label, const struct zc_settings *s,
                    struct zc_client **out);

#endif
