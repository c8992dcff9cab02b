/*
 * The course of a run: how many bytes wait in the caches, sampled by one rank while it computes.
 *
 * Where the file system reports zcache_dirty_bytes and zcache_unstored_bytes, MPI_File_get_info
 * tells them without any other rank. A sample is a message to each aggregator and daemon.
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

/* Samples are taken from `started` on, a bench_now(). */
void timeline_start(struct timeline *t, double interval, double started);
void timeline_free(struct timeline *t);
/* When the next sample is due; infinite where there are none. */
double timeline_next(const struct timeline *t);
/* Makes it due now. */
void timeline_hasten(struct timeline *t);
/* Takes one if it is due. Where the file system does not tell there are none from then on. */
void timeline_sample(struct timeline *t, MPI_File fh, const char *file, int written);
/* Arrays; null where nothing was sampled. */
json_t *timeline_json(const struct timeline *t);

#endif
