/*
 * A timeline of a run: the bytes that wait in the caches, sampled by one rank while it computes.
 *
 * MPI_File_get_info returns them as zcache_dirty_bytes and zcache_unstored_bytes, without other
 * ranks, if the file system has them. A sample is a message to each aggregator and daemon.
 */
#ifndef TIMELINE_H
#define TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>
#include <mpi.h>

struct sample {
    double seconds;   /* since the timeline's start */
    int written;      /* phases whose writes this rank has seen end */
    int64_t dirty;    /* bytes in the aggregators */
    int64_t unstored; /* bytes in aggregators and daemons */
};

struct timeline {
    double interval; /* seconds at least between samples; 0: there are none */
    double started, next;
    int n, room;
    struct sample *sample;
};

/* Starts sampling at `started`, a time of bench_now(). */
void timeline_start(struct timeline *t, double interval, double started);
void timeline_free(struct timeline *t);
/* Returns when the next sample is due; infinite without sampling. */
double timeline_next(const struct timeline *t);
/* Makes the next sample due now. */
void timeline_hasten(struct timeline *t);
/* Takes a sample if it is due. Ends sampling if the file system does not report these values. */
void timeline_sample(struct timeline *t, MPI_File fh, const char *file, int written);
/* Returns arrays; null without samples. */
json_t *timeline_json(const struct timeline *t);

#endif
