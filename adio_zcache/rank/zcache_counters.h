/* zcache_counters.h - what the caches of a file did, for MPI_File_get_info. */
#ifndef ZCACHE_COUNTERS_H
#define ZCACHE_COUNTERS_H

#include <mpi.h>

#include "zc_cache.h"
#include "zcache_share.h"

struct zcache_file;

/* Adds what the caches of both levels did to INFO; asks every aggregator and daemon.  0 or a
 * negative errno, explained. */
int zcache_counters_report(struct zcache_file *f, MPI_Info info);

/* What the caches of its daemons have counted since they started, summed, and how many there are.
 * Asks every one of them; as above. */
int zcache_counters_of_daemons(struct zcache_file *f, struct zc_cache_stats *sum, unsigned *n);

/* What the file's aggregators do now, the least of each: other files may have got them more memory
 * since the open.  All but `background`.  Asks them all; as above. */
int zcache_counters_in_force(struct zcache_file *f, struct zcache_in_force *least);

#endif
