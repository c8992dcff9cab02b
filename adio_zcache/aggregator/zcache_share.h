/* zcache_share.h - what the caches of this process share: their memory, and when they write back.
 *
 * A process has a cache for each store, page size and way to write back.  All of them together have
 * the memory that the hint zcache_cache_size asks for, of which zcache_view_memory is for views of
 * other ranks, and one pair of watermarks and idle time:
 *
 *  - the first open that finds no file in use decides all of it;
 *  - while files are in use, an open that asks for more memory gets it, for all of them; anything
 *    else stays what it is, and zcache_share_in_force() tells;
 *  - caches with a file in use have equal parts; one without is emptied: what is clean there goes,
 *    what is not is written back first.  No cache has less than two pages.
 *
 * Opens are in turn here; a turn is no lock, and nothing of this may be called within a cache's
 * callback.  Threads: any.
 */
#ifndef ZCACHE_SHARE_H
#define ZCACHE_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zc_cache.h"
#include "zc_list.h"
#include "zc_server.h"
#include "zc_settings.h"

/* The part of an aggregator. */
struct zcache_share {
    struct zc_list link;
    struct zc_cache *cache;
    uint32_t page_size;
    bool background; /* writes back between the watermarks; else when it is full */
    unsigned users;  /* opens; atomic */
    bool used;       /* while memory is divided: it is to have some */
    /* The cache is about to use more of its arena: whoever registers it does.  No lock is held. */
    int (*cover)(struct zcache_share *s);
};

/* What an aggregator does, whatever was asked for.  Fixed widths: ranks compare it. */
struct zcache_in_force {
    uint64_t cache_size;                    /* bytes, of all caches of the process together */
    uint64_t high_watermark, low_watermark; /* percent of a cache */
    uint64_t idle_time;                     /* ms */
    uint64_t view_memory;                   /* percent of cache_size */
    uint64_t background;                    /* 1: it writes back while the program computes */
};

/* A turn: between the two nobody else decides.  begin() takes what `s` asks for into account. */
void zcache_share_begin(const struct zc_settings *s);
void zcache_share_end(void);

/* Within a turn.  What a cache that is made now is to have; page_size, background are set. */
void zcache_share_config(const struct zcache_share *s, struct zc_cache_config *cfg);
/* Within a turn: one that was made ... */
void zcache_share_add(struct zcache_share *s);
/* ... and, at any time, goes: waits for a division that is under way. */
void zcache_share_remove(struct zcache_share *s);

/* One file more; within a turn, and divides the memory anew. */
void zcache_share_use(struct zcache_share *s);
/* One less; at any time. */
void zcache_share_leave(struct zcache_share *s);

/* Memory for views, of all servers of this process. */
struct zc_view_budget *zcache_share_views(void);

void zcache_share_in_force(const struct zcache_share *s, struct zcache_in_force *out);
/* *least: of each of these the least of what it was and what another one's is. */
void zcache_in_force_lower(struct zcache_in_force *least, const struct zcache_in_force *its);

#endif
