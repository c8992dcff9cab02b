/* zcache_mem_budget.h - the memory and the watermarks that the caches of this process share.
 *
 * A process has a cache for each store, page size and way to write back.  All of them together have
 * the memory that the hint zcache_cache_size asks for, of which zcache_view_memory is for views of
 * other ranks, and one pair of watermarks and idle time:
 *
 *  - the first open that finds no file in use decides all of it;
 *  - while files are in use, an open that asks for more memory gets it, for all of them; anything
 *    else stays what it is, and zcache_mem_budget_in_force() tells;
 *  - caches with a file in use have equal parts; one without is emptied: what is clean there goes,
 *    what is not is written back first.  No cache has less than two pages.
 *
 * Opens are serialized between begin() and end(), without a lock held; call nothing of this within
 * a cache's callback.  Threads: any.
 */
#ifndef ZCACHE_MEM_BUDGET_H
#define ZCACHE_MEM_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zc_cache.h"
#include "zc_list.h"
#include "zc_server.h"
#include "zc_settings.h"

struct zc_memory_limit;

/* Returns the part of `size` bytes that fits into the memory of this process (zc_memory_limit.h),
 * if `owners` processes of this host take as much; at least `least`.  *by: the limit that decided,
 * static; NULL where all of it fits. */
uint64_t zcache_mem_budget_fit(uint64_t size, uint64_t least, unsigned owners,
                               const struct zc_memory_limit **by);

/* The part of an aggregator. */
struct zcache_mem_budget {
    struct zc_list link;
    struct zc_cache *cache;
    uint32_t page_size;
    bool background; /* writes back between the watermarks; else when it is full */
    unsigned users;  /* opens; atomic */
    bool used;       /* valid while memory is divided: it gets a part */
    /* Registers the memory of the arena that the cache is about to use.  No lock is held. */
    int (*cover)(struct zcache_mem_budget *s);
};

/* The settings in force of an aggregator.  Fixed widths: ranks compare it. */
struct zcache_in_force {
    uint64_t cache_size;                    /* bytes, of all caches of the process together */
    uint64_t high_watermark, low_watermark; /* percent of a cache */
    uint64_t idle_time;                     /* ms */
    uint64_t view_memory;                   /* percent of cache_size */
    uint64_t background;                    /* 1: it writes back while the program computes */
};

/* Serialize decisions: one thread at a time is between the two.  begin() considers the settings `s`
 * of an open. */
void zcache_mem_budget_begin(const struct zc_settings *s);
void zcache_mem_budget_end(void);

/* Fills in the configuration of a cache that is to be made; page_size and background are set.
 * Between begin() and end(). */
void zcache_mem_budget_config(const struct zcache_mem_budget *s, struct zc_cache_config *cfg);
/* Adds a cache that was made.  Between begin() and end(). */
void zcache_mem_budget_add(struct zcache_mem_budget *s);
/* Removes a cache before it is destroyed; waits for a division under way.  At any time. */
void zcache_mem_budget_remove(struct zcache_mem_budget *s);

/* Counts one more file of the cache and divides the memory again.  Between begin() and end(). */
void zcache_mem_budget_use(struct zcache_mem_budget *s);
/* Counts one file less.  At any time. */
void zcache_mem_budget_leave(struct zcache_mem_budget *s);

/* Returns the memory for views, of all servers of this process. */
struct zc_view_budget *zcache_mem_budget_views(void);

void zcache_mem_budget_in_force(const struct zcache_mem_budget *s, struct zcache_in_force *out);
/* Lowers each value of *least to that of *its, where that is less. */
void zcache_in_force_lower(struct zcache_in_force *least, const struct zcache_in_force *its);

#endif
