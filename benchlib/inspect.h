/*
 * What the file system says about a file that was used: the hints in force, and, where it caches,
 * what its caches have done.
 *
 * Asked once everything is measured, by opening the file once more, so that asking costs no run
 * any time and connects nobody to anything beforehand.
 *
 * This is all that the benchmarks know of zcache, besides the samples of timeline.h: its files
 * report counters, when the hint zcache_counters asks for them, as zcache_agg_NAME, those of the
 * aggregators of the file together, and zcache_iod_NAME, those of the daemons. Counters begin
 * with the aggregators, in the first open of the job, and with the daemons.
 */
#ifndef INSPECT_H
#define INSPECT_H

#include <stdio.h>

#include <jansson.h>
#include <mpi.h>

#include "bench_hints.h"

struct inspection {
    struct bench_hints hints;       /* in force */
    struct bench_hints aggregators; /* counters, by NAME; none where nothing is cached */
    struct bench_hints daemons;     /* none without daemons */
};

/* The file is shared by the ranks of `comm`; `all` are those who have files like it, and numbers of
 * the aggregators are sums over all files. Valid on rank 0 of `all`. Collective over `all`. */
void inspect_file(MPI_Comm all, MPI_Comm comm, const char *file, MPI_Info info,
                  struct inspection *out);
void inspect_free(struct inspection *x);

/* A few lines about both levels; nothing where nothing is cached. */
void inspect_print(const struct inspection *x, FILE *out);
/* "caches" of the report: null, or an object with "aggregators" and "daemons". */
json_t *inspect_json(const struct inspection *x);

#endif
