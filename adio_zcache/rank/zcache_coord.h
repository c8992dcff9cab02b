/* zcache_coord.h - the shared file pointer and range locks of an open file, which live at
 * its first aggregator (zc_coord.h).  No MPI calls; any thread.
 */
#ifndef ZCACHE_COORD_H
#define ZCACHE_COORD_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_coord.h"

struct zcache_file;

/* Adds to the pointer of this view (etypes), or sets it.  Returns 0 or a negative errno,
 * explained. */
int zcache_shared_pointer(struct zcache_file *f, enum zc_pointer what, uint64_t value,
                          int64_t *was);

/* A lock this rank holds. */
struct zcache_lock {
    struct zc_range_lock local;
    uint64_t number; /* at another rank's aggregator */
};

/* Locks the bytes [off, off + len), len > 0, and waits until it may. */
int zcache_lock(struct zcache_file *f, bool exclusive, int64_t off, int64_t len,
                struct zcache_lock *l);
int zcache_unlock(struct zcache_file *f, struct zcache_lock *l);

#endif
