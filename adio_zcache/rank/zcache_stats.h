/* zcache_stats.h - what ZCACHE_STATS prints when a file is closed. */
#ifndef ZCACHE_STATS_H
#define ZCACHE_STATS_H

#include "adio.h"

struct zcache_timing;

/* Sums up the measures of the ranks of `comm`, and prints the sums on rank 0, if the file was used.
 * Collective: one reduction.  Rank 0 does not wait for ever for ranks that do not come.  Frees the
 * measure, which may be NULL, on all ranks then. */
void zcache_stats_report(struct zcache_timing *m, MPI_Comm comm);

#endif
