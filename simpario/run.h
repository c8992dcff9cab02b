/*
 * What all passes share: the files and the ranks' parts of them, buffers, and the verdict.
 */
#ifndef RUN_H
#define RUN_H

#include <stdbool.h>
#include <stdint.h>

#include <mpi.h>

#include "options.h"
#include "pattern.h"
#include "verdict.h"

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

/* Both are collective; what fails aborts. The options have to outlive it. */
void run_init(struct run *run, const struct options *o, MPI_Comm comm);
void run_free(struct run *run);

#endif
