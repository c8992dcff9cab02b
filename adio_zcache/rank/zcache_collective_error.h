/* zcache_collective_error.h - one result for all ranks of a file, with its explanation. */
#ifndef ZCACHE_COLLECTIVE_ERROR_H
#define ZCACHE_COLLECTIVE_ERROR_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "zc_error.h"

/* Converts the result of an MPI call to 0 or a negative errno, explained.  After a failure of MPI
 * itself ranks may disagree; by default MPI ends the program before. */
int zcache_collective_error_mpi(int code);

/* The collective calls below release the processor while they wait. */

/* Waits for a request whose nonblocking call returned `code`.  Returns as
 * zcache_collective_error_mpi().
 */
int zcache_collective_error_wait(int code, MPI_Request *request);
/* The same for at most `ms`: -ETIMEDOUT, explained, and the request is still active. */
int zcache_collective_error_wait_for(int code, MPI_Request *request, uint64_t ms);

int zcache_collective_error_barrier(MPI_Comm comm);
/* Broadcasts bytes of `root`. */
int zcache_collective_error_bytes(void *bytes, size_t len, int root, MPI_Comm comm);
/* Broadcasts the result of `root`.  Returns it, explained. */
int zcache_collective_error_bcast(struct zc_error *o, int root, MPI_Comm comm);
/* All ranks get the result of the lowest rank that failed. */
int zcache_collective_error_agree(struct zc_error *o, MPI_Comm comm);
/* Computes the minima of `n` numbers over all ranks, on `root`, or on each rank with
 * ZCACHE_EVERYBODY.  Other ranks get nothing in `least`, and do not wait. */
enum { ZCACHE_EVERYBODY = -1 };
int zcache_collective_error_least(const int64_t *mine, int64_t *least, int n, int root,
                                  MPI_Comm comm);

#endif
