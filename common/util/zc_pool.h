/* zc_pool.h - threads for calls that block: opening, unlinking, reading a store.
 *
 * Work has a key, what it may get stuck on: a file, a path.  At most so many works of one key run
 * at a time, and keys take turns, so that one file's trouble does not become that of others; works
 * that are stuck do not count among the pool's threads (zc_crew.h).
 *
 * A work may be of somebody, too, by a turn that it names: whoever has works that could run has
 * turns, however many keys his works have.
 *
 * The work item belongs to the caller and is on the pool from submit until its
 * function is entered; submitting therefore cannot fail and allocates nothing, and what is queued
 * is bounded by what the callers have: requests by credits, files by handles.
 */
#ifndef ZC_POOL_H
#define ZC_POOL_H

#include <stdint.h>

#include "zc_list.h"

struct zc_pool;

/* Whose works these are; begins as zeros, and outlives them. */
struct zc_pool_turn {
    struct zc_list link;  /* zc_pool.turns */
    struct zc_list ready; /* zc_work.link */
};

struct zc_work {
    void (*run)(struct zc_work *w); /* may free or resubmit w */
    uint64_t key;                   /* equal for works that get stuck together */
    struct zc_pool_turn *turn;      /* NULL: of nobody, who has turns, too */
    /* private */
    struct zc_list link; /* in `rest` of the key's first, or that one itself in zc_pool.ready */
    struct zc_list hash; /* the key's first: zc_pool.keys */
    struct zc_list rest; /* ... and those behind it */
};

struct zc_pool_config {
    const char *name;  /* at most 15 bytes; shows in ps and top */
    unsigned threads;  /* that work at a time, those that are stuck left out */
    unsigned most;     /* with those; 0: no more than `threads` */
    unsigned per_key;  /* works of one key that run at a time; 0: any number */
    unsigned stuck_ms; /* 0: ZC_CREW_STUCK_MS */
};

int zc_pool_create(const struct zc_pool_config *cfg, struct zc_pool **out);
void zc_pool_submit(struct zc_pool *p, struct zc_work *w);
/* Runs what is queued, waits for what runs, ends the threads. */
void zc_pool_destroy(struct zc_pool *p); /* NULL: nothing */

/* Keys: of any numbers, of bytes. */
uint64_t zc_pool_key(uint64_t a, uint64_t b);
uint64_t zc_pool_key_of(const void *bytes, size_t n);

#endif
