/*
 * One run: compute and write, then read back and verify.
 */
#ifndef RUN_H
#define RUN_H

#include <mpi.h>

#include "bench.h"
#include "io.h"
#include "options.h"
#include "solver.h"
#include "verdict.h"
#include "witness.h"

/* Seconds. compute + open + write + close is about total. */
enum {
    T_COMPUTE,     /* time steps, with checksums of what is to be written */
    T_OPEN,        /* MPI_File_open, MPI_File_set_view */
    T_WRITE,       /* the writes */
    T_CLOSE,       /* MPI_File_close */
    T_WRITE_CLOSE, /* of the same rank: T_WRITE + T_CLOSE */
    T_SETTLE,      /* after a close that does not wait for it, until all is stored */
    T_TOTAL,       /* from before the open until after the close */
    T_COMMITTED,   /* of the same rank: T_TOTAL + T_SETTLE */
    T_READ_OPEN,
    T_READ,
    T_READ_CLOSE,
    T_READ_TOTAL, /* with what checking costs */
    T_COUNT
};

struct run {
    const struct options *options;
    MPI_Comm comm;
    int rank;
    struct solver solver;
    struct io io;
    struct witness *witness;
    int64_t file_bytes; /* of all files together */
    struct norms norms; /* of what was read, or of what was computed without a file */
    struct verdict verdict;
    double own[T_COUNT];
    double *compute_seconds, *write_seconds, *read_seconds; /* [dumps] */
    /* Made by run_reduce(), on rank 0; *_seconds are then the maximum over the ranks. */
    struct bench_figures ranks[T_COUNT];
};

/* Everything here is collective. */
void run_init(struct run *run, const struct options *o, MPI_Comm comm);
void run_free(struct run *run);
/* Runs the time steps, and writes dumps if the options say so. */
void run_compute(struct run *run);
/* Verifies the file, by POSIX first if the options say so, then by MPI-IO, and checks the norms.
 * Adds faults to run->verdict. */
void run_verify(struct run *run);
void run_reduce(struct run *run);

#endif
