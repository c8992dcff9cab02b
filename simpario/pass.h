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
#include "timeline.h"
#include "verdict.h"

/* Seconds. For one direction they add up: open + compute + wait + io + close is about total. */
enum {
    T_OPEN,     /* MPI_File_open, MPI_File_set_view */
    T_COMPUTE,  /* computing, with making or checking the data */
    T_WAIT,     /* barriers before I/O and before close */
    T_IO,       /* the writes (and syncs) or the reads */
    T_SYNC,     /* of that, MPI_File_sync */
    T_CLOSE,    /* MPI_File_close */
    T_IO_CLOSE, /* of the same rank: T_IO + T_CLOSE */
    T_SETTLE,   /* after a close that does not wait for it, until all that was written is stored */
    T_TOTAL,    /* from before the open until after the close */
    T_STORED,   /* of the same rank: T_TOTAL + T_SETTLE */
    T_COUNT
};

/* What phases have of these. */
enum { P_COMPUTE, P_WAIT, P_IO, P_SYNC, P_COUNT };

/* "open", "compute", ... */
extern const char *const times_names[T_COUNT];
extern const char *const phase_names[P_COUNT];

struct times {
    bool done;         /* this direction was run */
    bool has[T_COUNT]; /* the close, for instance, is no part of writing with --no-reopen */
    bool phase_has[P_COUNT];
    double own[T_COUNT];
    double *phase[P_COUNT]; /* [phases] each, freed with pass_free() */
    struct timeline timeline;
    /* Made by pass_reduce(), on rank 0. Those of phases are then the maximum over the ranks. */
    struct bench_figures ranks[T_COUNT];
};

struct pass {
    int generation;  /* of the data written or read; not set for a reference */
    double interval; /* seconds between samples of the timeline, or 0 */
    struct times write, read;
};

/* What this rank writes, or what it reads. */
struct side {
    struct shape shape;
    char *file;    /* this rank's, as MPI_File_open takes it */
    char *posix;   /* the same as the file system names it, or NULL */
    char *stamp;   /* its name in the stamps */
    MPI_Comm comm; /* of those who share it */
    bool first;    /* rank 0 of these */
    int64_t bytes; /* of this rank in a phase; may be 0 */
    MPI_Datatype type;
    int count; /* of `type` in these */
};

/* What all passes share. */
struct run {
    const struct options *options;
    const struct pattern *pattern;
    MPI_Comm comm;
    int rank, nranks;
    struct side side[2];   /* by enum direction */
    int64_t file_bytes;    /* of all ranks, phases and files, without holes */
    MPI_Info info;         /* hints asked for */
    unsigned char *buf[2]; /* what a rank has in a phase; [1] is NULL unless transfers overlap */
    struct verdict verdict;
};

void run_init(struct run *run, const struct options *o, MPI_Comm comm);
void run_free(struct run *run);

void pass_init(const struct run *run, int generation, double interval, struct pass *pass);
/* Writes and reads as the options say, computing `compute` seconds per phase. Faults go to
 * run->verdict; with a fault in writing, reading is left out. Collective. */
void pass_run(struct run *run, double compute, struct pass *pass);
/* Maxima and such, to rank 0. Collective. */
void pass_reduce(const struct run *run, struct pass *pass);
void pass_free(struct pass *pass);

#endif
