/* zcache_outcome.h - one outcome for all ranks of a file, with its explanation. */
#ifndef ZCACHE_OUTCOME_H
#define ZCACHE_OUTCOME_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

struct zcache_outcome {
    int rc; /* 0 or a negative errno */
    char text[508];
};

/* What an MPI call returned, as 0 or a negative errno, explained.  After a failure of MPI
 * itself ranks may not agree any more; by default MPI ends the program before. */
int zcache_outcome_mpi(int code);

/* Notes a result and what zc_errorf() said of it. */
void zcache_outcome_set(struct zcache_outcome *o, int rc);

/* The collective calls below leave the core to others while they wait. */

/* For what a nonblocking call has begun, which returned `code`.  As zcache_outcome_mpi(). */
int zcache_outcome_wait(int code, MPI_Request *request);
/* The same for so many ms at most: -ETIMEDOUT, explained, and the request is still active. */
int zcache_outcome_wait_for(int code, MPI_Request *request, uint64_t ms);

int zcache_outcome_barrier(MPI_Comm comm);
/* Everybody gets these of `root`. */
int zcache_outcome_bytes(void *bytes, size_t len, int root, MPI_Comm comm);
/* Everybody learns what `root` met.  Returns it, explained. */
int zcache_outcome_bcast(struct zcache_outcome *o, int root, MPI_Comm comm);
/* Everybody learns what the lowest rank that failed met. */
int zcache_outcome_agree(struct zcache_outcome *o, MPI_Comm comm);
/* Of `n` numbers that each rank comes with, the least of all, for `root`; ZCACHE_EVERYBODY: for
 * each rank.  Others find nothing in `least`, and wait for nobody. */
enum { ZCACHE_EVERYBODY = -1 };
int zcache_outcome_least(const int64_t *mine, int64_t *least, int n, int root, MPI_Comm comm);

#endif
