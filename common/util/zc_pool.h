/* zc_pool.h - threads for calls that block: opening, unlinking, reading a store.
 *
 * Each work item has a key, the file or path that it may get stuck on.  At most per_key items of a
 * key run at a time, and keys are served round-robin, so that one slow file does not delay others;
 * stuck items do not count among the pool's threads (zc_workers.h).
 *
 * An item may belong to a flow, a tenant's: flows with runnable items are served round-robin,
 * however many keys each has.
 *
 * The item belongs to the caller and is on the pool from submit until its function is entered:
 * submitting cannot fail and allocates nothing, and the queue is bounded by what the callers have,
 * requests by credits and files by handles.
 */
#ifndef ZC_POOL_H
#define ZC_POOL_H

#include <stdint.h>

#include "zc_list.h"

struct zc_pool;

/* Items of one tenant; begins as zeros, and outlives its items. */
struct zc_pool_flow {
    struct zc_list link;  /* zc_pool.flows */
    struct zc_list ready; /* zc_work.link */
};

struct zc_work {
    void (*run)(struct zc_work *w); /* may free or resubmit w */
    uint64_t key;                   /* equal for works that get stuck together */
    struct zc_pool_flow *flow;      /* NULL: the pool's own flow */
    /* private */
    struct zc_list link; /* in `rest` of the key's first, or that one itself in zc_pool.ready */
    struct zc_list hash; /* the key's first: zc_pool.keys */
    struct zc_list rest; /* ... and those behind it */
};

struct zc_pool_config {
    const char *name;  /* at most 15 bytes; shows in ps and top */
    unsigned threads;  /* that work at a time, without stuck ones */
    unsigned most;     /* with stuck ones; 0: no more than `threads` */
    unsigned per_key;  /* works of one key that run at a time; 0: any number */
    unsigned stuck_ms; /* 0: ZC_WORKERS_STUCK_MS */
};

int zc_pool_create(const struct zc_pool_config *cfg, struct zc_pool **out);
void zc_pool_submit(struct zc_pool *p, struct zc_work *w);
/* Runs what is queued, waits for running items, ends the threads. */
void zc_pool_destroy(struct zc_pool *p); /* NULL: no effect */

/* Keys: of any numbers, of bytes. */
uint64_t zc_pool_key(uint64_t a, uint64_t b);
uint64_t zc_pool_key_of(const void *bytes, size_t n);

#endif
