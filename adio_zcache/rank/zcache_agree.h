/* zcache_agree.h - the ranks' inputs for a new owner set, and their combination. */
#ifndef ZCACHE_AGREE_H
#define ZCACHE_AGREE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "zc_tp_local.h"

/* Each member is the minimum over all ranks. */
struct zcache_agree_votes {
    int64_t failed; /* the first rank that cannot take part; none: the number of ranks */
    int64_t knows;  /* the first that knows an owner set of the file; else the same */
    int64_t near;   /* 1: all are on one host, and reach each other there */
};

/* One rank's input.  No padding: it is sent as bytes. */
struct zcache_agree_input {
    struct zcache_agree_votes votes; /* near: it reaches rank 0 */
    struct zc_tp_local_probe probe;
};

/* Combines the inputs; collective.  *all: the result, on `root`, which tries to reach the ranks
 * that are near.  Other ranks do not wait.  0, or a negative errno, explained, if MPI failed. */
int zcache_agree(MPI_Comm comm, int root, const struct zcache_agree_input *mine,
                 struct zcache_agree_votes *all);

#endif
