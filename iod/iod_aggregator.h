/* iod_aggregator.h - what differs where zcached is a dedicated aggregator (--aggregator).
 *
 * It owns blocks of files for the ranks of one job, in place of a rank: it has a level-1 cache,
 * whose store is the daemons or the file system, opens files for all ranks at the request of one
 * (ZC_OPEN_EXPORTED), keeps their views, and shares memory with those of its host.  What it knows
 * of the job is its own user and the secret in its address file.
 *
 * Called by the main thread, where nothing else is said.
 */
#ifndef IOD_AGGREGATOR_H
#define IOD_AGGREGATOR_H

#include "zc_cache.h"
#include "zc_server.h"
#include "zc_settings.h"
#include "zc_shmring.h"
#include "zc_store_open.h"

struct iod_aggregator {
    struct zc_shmring *shmring; /* rings into its cache; NULL: none */
    struct zc_view_budget views;
    int ending; /* atomic: it was told to end, and its store bypasses daemons that have ended */
};

/* Chooses the store below an aggregator.  `a` must outlive the store. */
void iod_aggregator_store(const struct iod_aggregator *a, const struct zc_settings *s,
                          struct zc_store_config *cfg);
/* Notes that the aggregator was told to end.  Any thread. */
void iod_aggregator_ending(struct iod_aggregator *a);
/* Returns how many bytes of the cache size hold views of ranks. */
uint64_t iod_aggregator_views(const struct zc_settings *s);
/* Changes a daemon's configuration of the cache to an aggregator's. */
void iod_aggregator_cache(struct zc_cache_config *cfg);
/* Changes that of the server.  `a` and the cache must outlive the server. */
void iod_aggregator_server(struct iod_aggregator *a, const struct zc_settings *s,
                           struct zc_cache *cache, struct zc_server_config *cfg);
/* Takes entries that ranks have left in shared memory, and writes them back; between the end of the
 * server and that of the cache.  Returns 0, or a negative errno, which was reported. */
int iod_aggregator_end(struct iod_aggregator *a, struct zc_cache *cache);

#endif
