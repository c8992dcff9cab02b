/* zcache_measure.h - what is measured of an open file, when somebody wants to know.
 *
 * That is when ZCACHE_STATS or ZCACHE_SUMMARY is set: else files have no measure, and accesses cost
 * a comparison more.  The functions take NULL, and do nothing then.  Threads: any, but where MPI is
 * called.
 */
#ifndef ZCACHE_MEASURE_H
#define ZCACHE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_cache.h"
#include "zc_waited.h"
#include "zcache_access.h"
#include "zcache_figures.h"

struct zcache_file;

struct zcache_measure {
    struct zcache_figures figures; /* of this rank; atomic */
    uint64_t looks;                /* reads of what an owner shows: hits; atomic */
    uint64_t opened;               /* ns */
    struct zc_cache_stats agg;     /* of the own aggregator, and on rank 0 */
    struct zc_cache_stats iod;     /* of the daemons, as they were at open */
    bool iod_known;
    char *path, *daemons, *summary; /* as in the settings; the last two NULL: none */
    uint64_t patience;              /* ms to wait for other ranks in the end */
    uint64_t stats;                 /* enum zc_stats */
};

struct zcache_stopwatch {
    uint64_t began; /* ns; 0: there is no measure */
    struct zc_waited waited;
};

/* The file has been opened: measured from now on, if it is to be.  On rank 0 asks the daemons. */
void zcache_measure_open(struct zcache_file *f, int rank);
/* All is written back, and its caches are still there: takes what they count, and the measure,
 * which zcache_measure_free() ends.  `complete`: daemons are there to be asked. */
struct zcache_measure *zcache_measure_take(struct zcache_file *f, int rank, bool complete);
void zcache_measure_free(struct zcache_measure *m);

void zcache_watch_start(const struct zcache_measure *m, struct zcache_stopwatch *w);
/* An access of `n` bytes, or a negative errno; `background`: by a thread of its own. */
void zcache_watch_access(struct zcache_measure *m, const struct zcache_stopwatch *w,
                         enum zcache_dir dir, int64_t n, bool background);
void zcache_watch_sync(struct zcache_measure *m, const struct zcache_stopwatch *w);
void zcache_watch_close(struct zcache_measure *m, const struct zcache_stopwatch *w);
/* A part of a read came out of an owner's memory, which does not know of it. */
void zcache_watch_look(struct zcache_measure *m);
/* The other ranks have come. */
void zcache_watch_ranks(struct zcache_measure *m, const struct zcache_stopwatch *w);

#endif
