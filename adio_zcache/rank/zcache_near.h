/* zcache_near.h - are all ranks of a file on one host, and may reach each other there? */
#ifndef ZCACHE_NEAR_H
#define ZCACHE_NEAR_H

#include <mpi.h>
#include <stdbool.h>

/* *near: in, whether that is wanted, the same on every rank; out, whether it is so, on every
 * rank the same.  Collective.  0, or a negative errno explained when MPI failed. */
int zcache_near_agree(MPI_Comm comm, bool *near);

#endif
