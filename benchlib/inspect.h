/*
 * What the file system reports about a file after its use: the hints in force and, if it caches,
 * the counters of its caches.
 *
 * The file is opened once more for that, after all measurements, so that no run pays for it and no
 * connection is made earlier than the benchmark itself makes it.
 *
 * This is all that the benchmarks know of zcache, besides the samples of timeline.h: its files
 * report counters, when the hint zcache_counters asks for them, as zcache_agg_NAME, the sums over
 * the aggregators of the file, and zcache_iod_NAME, those of the daemons. Counters of the
 * aggregators start with the first open of the job, those of the daemons with the daemons.
 */
#ifndef INSPECT_H
#define INSPECT_H

#include <stdio.h>

#include <jansson.h>
#include <mpi.h>

#include "bench_hints.h"

struct inspection {
    struct bench_hints hints;       /* in force */
    struct bench_hints aggregators; /* counters, by NAME; empty without a cache */
    struct bench_hints daemons;     /* empty without daemons */
};

/* The file is shared by the ranks of `comm`; the ranks of `all` have such files, and counters of
 * the aggregators are sums over all files. The result is valid on rank 0 of `all`. Collective over
 * `all`. */
void inspect_file(MPI_Comm all, MPI_Comm comm, const char *file, MPI_Info info,
                  struct inspection *out);
void inspect_free(struct inspection *x);

/* Prints a few lines about both levels; nothing without a cache. */
void inspect_print(const struct inspection *x, FILE *out);
/* Returns "caches" of the report: null, or an object with "aggregators" and "daemons". */
json_t *inspect_json(const struct inspection *x);

#endif
