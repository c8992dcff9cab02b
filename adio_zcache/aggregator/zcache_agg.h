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
#include "zcache_agg_conn.h"
#include "zcache_mem_budget.h"

enum { ZCACHE_PAGE_MAX = 1 << 20 }; /* largest page of an aggregator's cache, bytes */

struct zcache_agg;
struct zcache_store;

/* Finds or makes the aggregator for this store, with a cache of its own over it, and counts one
 * more file.  Asks for the memory that `s` wants (zcache_mem_budget.h).  The caller puts it when
 * the file is closed; it stays for further files until its store goes. */
int zcache_agg_get(struct zcache_store *store, const struct zc_settings *s, uint32_t page_size,
                   struct zcache_agg **out);
/* Sets the function that tells whether this process is in an owner set: zc_server.h. */
void zcache_agg_groups(bool (*attach)(uint64_t group), void (*detach)(uint64_t group));
/* Starts to serve other ranks, on an endpoint of its own; `near`: those on this host.  Once for
 * each kind. */
int zcache_agg_serve(struct zcache_agg *a, const struct zc_settings *s, bool near);

/* Takes the settings of a further open of a file that it serves. */
void zcache_agg_attach(struct zcache_agg *a, const struct zc_settings *s);
void zcache_agg_put(struct zcache_agg *a);

/* Returns the settings in force, which may differ from those asked for; and libfabric's provider of
 * its endpoint of that kind, NULL if it does without or there is none. */
void zcache_agg_in_force(const struct zcache_agg *a, struct zcache_in_force *out);
const char *zcache_agg_provider(const struct zcache_agg *a, bool near);

struct zc_cache *zcache_agg_cache(struct zcache_agg *a);
/* Moves the writes that ranks of this host have left in shared memory to the cache.  Called before
 * any request that has to come after them. */
void zcache_agg_settle(struct zcache_agg *a);
/* Returns the contact of its endpoint of that kind (zcache_agg_conn.h); *len is in/out,
 * ZCACHE_CONTACT at least.  -ENOENT, not explained: it has no such endpoint. */
int zcache_agg_contact(struct zcache_agg *a, bool near, void *buf, size_t *len);
/* Creates the shared pointer and range locks of a file that is to be exported. */
int zcache_agg_coord(struct zcache_agg *a, struct zc_coord **out);
/* Exports an open file to the other ranks through that endpoint, and ends that.  `coord`: its
 * shared pointer and locks, or NULL. */
uint64_t zcache_agg_export(struct zcache_agg *a, bool near, struct zc_handle *h,
                           struct zc_coord *coord);
void zcache_agg_unexport(struct zcache_agg *a, bool near, uint64_t number);

#endif
