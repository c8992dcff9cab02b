/* zcache_counters.h - the counters of a file's caches, for MPI_File_get_info. */
#ifndef ZCACHE_COUNTERS_H
#define ZCACHE_COUNTERS_H

#include <mpi.h>

#include "zc_cache.h"
#include "zcache_mem_budget.h"

struct zcache_file;

/* Adds the counters of the caches of both levels to INFO; asks every aggregator and daemon.
 * Returns 0 or a negative errno, explained. */
int zcache_counters_report(struct zcache_file *f, MPI_Info info);

/* Adds up the counters of the caches of its daemons since their start, and counts the daemons.
 * Asks every one of them.  Returns as above. */
int zcache_counters_of_daemons(struct zcache_file *f, struct zc_cache_stats *sum, unsigned *n);

/* Returns the settings in force at the file's aggregators, the least of each: opens of other files
 * may have given them more memory since the open.  All but `background`.  Asks them all.  Returns
 * as above. */
int zcache_counters_in_force(struct zcache_file *f, struct zcache_in_force *least);

/* Returns the page size of the cache at the other end; 0: it does not tell.  Returns as above. */
struct zc_client;
int zcache_counters_page_size(struct zc_client *c, uint64_t *bytes);

#endif
