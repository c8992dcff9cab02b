/* zcache_timing.h - measurements of an open file, if enabled.
 *
 * Enabled by ZCACHE_STATS or ZCACHE_SUMMARY: else accesses cost one comparison more.  The functions
 * accept NULL, and do nothing then.  Threads: any, except where MPI is called.
 */
#ifndef ZCACHE_TIMING_H
#define ZCACHE_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_cache.h"
#include "zc_wait_time.h"
#include "zcache_access.h"
#include "zcache_timing_fields.h"

struct zcache_file;

struct zcache_timing {
    struct zcache_timing_fields figures; /* of this rank; atomic */
    uint64_t looks;                      /* peeks, and reads around: hits; atomic */
    uint64_t opened;                     /* ns */
    struct zc_cache_stats agg;           /* of this rank's aggregator, and on rank 0 */
    struct zc_cache_stats iod;           /* of the daemons, at open */
    bool iod_known;
    char *path, *daemons, *summary; /* as in the settings; the last two NULL: none */
    uint64_t patience;              /* ms to wait for other ranks at the end */
    uint64_t stats;                 /* enum zc_stats */
};

struct zcache_stopwatch {
    uint64_t began; /* ns; 0: no measurement */
    struct zc_wait_time waited;
};

/* Starts measuring an opened file, if enabled.  On rank 0 asks the daemons. */
void zcache_timing_open(struct zcache_file *f, int rank);
/* Takes the final counters, after write-back and before the caches are gone, and detaches the
 * measurement, for zcache_timing_free().  `complete`: the daemons can be asked. */
struct zcache_timing *zcache_timing_take(struct zcache_file *f, int rank, bool complete);
void zcache_timing_free(struct zcache_timing *m);

void zcache_watch_start(const struct zcache_timing *m, struct zcache_stopwatch *w);
/* Counts an access of `n` bytes, or a negative errno; `background`: by a background thread. */
void zcache_watch_access(struct zcache_timing *m, const struct zcache_stopwatch *w,
                         enum zcache_dir dir, int64_t n, bool background);
void zcache_watch_sync(struct zcache_timing *m, const struct zcache_stopwatch *w);
void zcache_watch_close(struct zcache_timing *m, const struct zcache_stopwatch *w);
/* Counts a part that was read without its owner seeing it. */
void zcache_watch_check(struct zcache_timing *m);
/* Ends a wait for other ranks. */
void zcache_watch_ranks(struct zcache_timing *m, const struct zcache_stopwatch *w);

#endif
