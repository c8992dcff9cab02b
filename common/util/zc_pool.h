/* zc_pool.h - threads for calls that block: opening, unlinking, reading a store.
 *
 * The work item belongs to the caller and is on the pool from submit until its
 * function is entered; submitting therefore cannot fail and allocates nothing.
 */
#ifndef ZC_POOL_H
#define ZC_POOL_H

#include "zc_list.h"

struct zc_pool;

struct zc_work {
    void (*run)(struct zc_work *w); /* may free or resubmit w */
    struct zc_list link;            /* private */
};

/* `name` (at most 15 bytes) shows in ps and top. */
int zc_pool_create(unsigned nthreads, const char *name, struct zc_pool **out);
void zc_pool_submit(struct zc_pool *p, struct zc_work *w);
/* Runs what is queued, waits for what runs, ends the threads. */
void zc_pool_destroy(struct zc_pool *p); /* NULL: nothing */

#endif
