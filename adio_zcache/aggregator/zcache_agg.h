/* zcache_agg.h - an aggregator: the level-1 cache of a process and the threads that serve it.
 *
 * A process has one for each store, page size and way to write back, made when it first owns
 * blocks of such a file.
 * Service threads make no MPI calls; they are started only when other ranks need them.
 * Threads: any.
 */
#ifndef ZCACHE_AGG_H
#define ZCACHE_AGG_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_cache.h"
#include "zc_settings.h"
#include "zc_coord.h"
#include "zcache_peer.h"
#include "zcache_share.h"

struct zcache_agg;
struct zcache_store;

/* The aggregator for this store, with a cache of its own over it, for one file more.  Asks for the
 * memory that `s` wants (zcache_share.h).  To be put when the file is closed; it stays for further
 * files until its store goes. */
int zcache_agg_get(struct zcache_store *store, const struct zc_settings *s, uint32_t page_size,
                   struct zcache_agg **out);
/* From now on, who is asked whether this process is of a group of owners: zc_server.h. */
void zcache_agg_groups(bool (*attach)(uint64_t group), void (*detach)(uint64_t group));
/* Others will ask, so it needs an endpoint; `near`: they are on this host.  Once for each kind. */
int zcache_agg_serve(struct zcache_agg *a, const struct zc_settings *s, bool near);

/* The same for a further open of a file that it serves. */
void zcache_agg_attach(struct zcache_agg *a, const struct zc_settings *s);
void zcache_agg_put(struct zcache_agg *a);

/* What it does, whatever was asked for; and libfabric's provider of its endpoint of that kind,
 * NULL: it does without, or there is none. */
void zcache_agg_in_force(const struct zcache_agg *a, struct zcache_in_force *out);
const char *zcache_agg_provider(const struct zcache_agg *a, bool near);

struct zc_cache *zcache_agg_cache(struct zcache_agg *a);
/* What ranks of this host have left in memory is in the cache when this returns: to be called
 * before anything is asked of that which shall come after what they wrote. */
void zcache_agg_settle(struct zcache_agg *a);
/* The way to its endpoint of that kind (zcache_peer.h); *len is in/out, ZCACHE_WAY at least.
 * -ENOENT, not explained: it has none. */
int zcache_agg_way(struct zcache_agg *a, bool near, void *buf, size_t *len);
/* Exports an open file to the other ranks through that endpoint, and ends that.  `coord`:
 * what they share of it besides its bytes, or NULL. */
/* What ranks share besides bytes, of a file that is to be exported. */
int zcache_agg_coord(struct zcache_agg *a, struct zc_coord **out);
uint64_t zcache_agg_export(struct zcache_agg *a, bool near, struct zc_handle *h,
                           struct zc_coord *coord);
void zcache_agg_unexport(struct zcache_agg *a, bool near, uint64_t number);

#endif
