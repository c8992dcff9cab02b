/*
 * One pass over the file: write it in phases, read it back in phases.
 */
#ifndef PASS_H
#define PASS_H

#include <stdbool.h>

#include <mpi.h>

#include "bench.h"
#include "options.h"
#include "pattern.h"
#include "verdict.h"

/* Seconds. For one direction they add up: open + compute + wait + io + close is about total. */
enum {
    T_OPEN,     /* MPI_File_open, MPI_File_set_view */
    T_COMPUTE,  /* computing, with making or checking the data */
    T_WAIT,     /* barriers before I/O and before close */
    T_IO,       /* the writes (and syncs) or the reads */
    T_CLOSE,    /* MPI_File_close */
    T_IO_CLOSE, /* of the same rank: T_IO + T_CLOSE */
    T_TOTAL,    /* from before the open until after the close */
    T_COUNT
};

/* "open", "compute", ... */
extern const char *const times_names[T_COUNT];

struct times {
    bool done;   /* this direction was run */
    bool closed; /* T_CLOSE is part of it: not for writing with --no-reopen */
    double own[T_COUNT];
    double *phase_io; /* [phases], freed with pass_free() */
    /* Made by pass_reduce(), on rank 0. phase_io is then the maximum over the ranks. */
    struct bench_figures ranks[T_COUNT];
};

struct pass {
    int generation; /* of the data written or read; not set for a reference */
    struct times write, read;
};

/* What all passes share. */
struct run {
    const struct options *options;
    const struct pattern *pattern;
    MPI_Comm comm;
    int rank, nranks;
    struct shape writer, reader; /* what this rank writes, and what it reads */
    int64_t file_bytes;
    MPI_Info info;            /* hints asked for */
    struct bench_hints hints; /* hints in force */
    unsigned char *buf[2];    /* one record each; [1] is NULL unless transfers overlap */
    MPI_Datatype type;        /* of `count` in a record */
    int count;
    struct verdict verdict;
};

void run_init(struct run *run, const struct options *o, MPI_Comm comm);
void run_free(struct run *run);

/* Writes and reads as the options say, computing `compute` seconds per phase. Faults go to
 * run->verdict; with a fault in writing, reading is left out. Collective. */
void pass_run(struct run *run, int generation, double compute, struct pass *pass);
/* Maxima and such, to rank 0. Collective. */
void pass_reduce(const struct run *run, struct pass *pass);
void pass_free(struct pass *pass);

#endif
