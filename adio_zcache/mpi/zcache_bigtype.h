/* Counts beyond int. */
#ifndef ZCACHE_BIGTYPE_H
#define ZCACHE_BIGTYPE_H

#include <mpi.h>

/*
 * A committed type that covers COUNT elements of TYPE, for COUNT > INT_MAX. On success the caller
 * frees *BIG. Returns an MPI error code.
 */
int zcache_bigtype(MPI_Count count, MPI_Datatype type, MPI_Datatype *big);

#endif
