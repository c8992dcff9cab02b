/*
 * State shared by all passes: files, the ranks' parts of them, buffers, and the verdict.
 */
#ifndef RUN_H
#define RUN_H

#include <stdbool.h>
#include <stdint.h>

#include <mpi.h>

#include "options.h"
#include "pattern.h"
#include "verdict.h"

/* This rank's writes, or its reads. */
struct side {
    struct shape shape;
    char *file;    /* this rank's, as passed to MPI_File_open */
    char *posix;   /* its path for POSIX calls, or NULL */
    char *stamp;   /* its name in the stamps */
    MPI_Comm comm; /* of the ranks that share it */
    bool first;    /* rank 0 of these */
    int64_t bytes; /* bytes of this rank per phase; may be 0 */
    MPI_Datatype type;
    int count; /* of `type` in these */
    /* With --permute-by type: [PERMUTATIONS] types of one block; else NULL. */
    MPI_Datatype *permuted;
};

struct run {
    const struct options *options;
    const struct pattern *pattern;
    MPI_Comm comm;
    int rank, nranks;
    struct side side[2];   /* by enum direction */
    struct side *more;     /* [options->roles - 1]: what this rank reads after side[READ] */
    int64_t file_bytes;    /* of all ranks, phases and files, without holes */
    MPI_Info info;         /* hints asked for */
    unsigned char *buf[2]; /* data of a rank's phase; [1] is NULL unless transfers overlap */
    unsigned char *packed; /* as long, in the order of the file; NULL where buf has that */
    struct verdict verdict;
};

/* Returns what this rank writes, or what it reads in one of options->roles, counted from 0. */
const struct side *run_side(const struct run *run, enum direction direction, int role);

/* Both are collective, and abort on an error. The options have to outlive the run. */
void run_init(struct run *run, const struct options *o, MPI_Comm comm);
void run_free(struct run *run);

#endif
