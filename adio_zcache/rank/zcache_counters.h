/* zcache_counters.h - what the caches of a file did, for MPI_File_get_info. */
#ifndef ZCACHE_COUNTERS_H
#define ZCACHE_COUNTERS_H

#include <mpi.h>
#include <stdint.h>

struct zcache_file;

/* Adds what the caches of both levels did to INFO; asks every aggregator and daemon.  0 or a
 * negative errno, explained. */
int zcache_counters_report(struct zcache_file *f, MPI_Info info);

/* Memory of an aggregator's caches now, the least of the file's aggregators, bytes: other files may
 * have got more since the open.  Asks them all; as above. */
int zcache_counters_budget(struct zcache_file *f, uint64_t *least);

#endif
