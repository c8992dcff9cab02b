/*
 * The times of one direction of a pass.
 */
#ifndef TIMES_H
#define TIMES_H

#include <stdbool.h>

#include <mpi.h>

#include "bench.h"
#include "timeline.h"

/* Seconds. For one direction they add up: open + compute + wait + io + close is about total. */
enum {
    T_OPEN,      /* MPI_File_open, MPI_File_set_view */
    T_COMPUTE,   /* computing, with making or checking the data */
    T_WAIT,      /* barriers before I/O and before close */
    T_IO,        /* the writes (and syncs) or the reads */
    T_SYNC,      /* of that, MPI_File_sync */
    T_CLOSE,     /* MPI_File_close */
    T_IO_CLOSE,  /* of the same rank: T_IO + T_CLOSE */
    T_SETTLE,    /* after a close that does not wait for it, until all that was written is stored */
    T_TOTAL,     /* from before the open until after the close */
    T_COMMITTED, /* of the same rank: T_TOTAL + T_SETTLE */
    T_COUNT
};

/* Those measured for each phase. */
enum { P_COMPUTE, P_WAIT, P_IO, P_SYNC, P_COUNT };

/* "open", "compute", ... */
extern const char *const times_names[T_COUNT];
extern const char *const phase_names[P_COUNT];

struct times {
    bool done;         /* this direction was run */
    bool has[T_COUNT]; /* the close, for instance, is no part of writing with --no-reopen */
    bool phase_has[P_COUNT];
    double own[T_COUNT];
    int phases;
    double *phase[P_COUNT]; /* [phases] each */
    struct timeline timeline;
    /* Made by times_reduce(), on rank 0. Those of phases are then the maximum over the ranks. */
    struct bench_figures ranks[T_COUNT];
};

/* `sync`: MPI_File_sync follows each phase. */
void times_init(struct times *t, int phases, bool sync);
void times_free(struct times *t);
/* Reduces the times to rank 0. Collective. */
void times_reduce(struct times *t, MPI_Comm comm);

#endif
