/* zcache_ready.h - what rank 0 has to know of all ranks before it opens a file for them. */
#ifndef ZCACHE_READY_H
#define ZCACHE_READY_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "zc_tp_local.h"

/* Of a rank, and of all.  No padding: it travels as bytes. */
struct zcache_ready {
    int64_t refused; /* the first rank that cannot take part; none: how many there are */
    int64_t timeout; /* the least of connections, ms */
    int64_t near;    /* others may reach this process's memory; of all: rank 0 reaches
                      * all.  Whether each reaches rank 0, each has to try. */
    struct zc_tp_local_card card; /* of this process, for others to try */
};

/* Of this rank, which cannot take part if `rc`.  Its card is lent: zc_tp_local_card_lend(). */
void zcache_ready_here(MPI_Comm comm, int rc, int64_t timeout, struct zcache_ready *out);
/* Collective: `r`: of this rank; on rank 0 that of all, afterwards.  Others wait for nobody.  0, or
 * a negative errno explained when MPI failed. */
int zcache_ready_gather(MPI_Comm comm, struct zcache_ready *r);

#endif
