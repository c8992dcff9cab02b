/* Counts beyond int. */
#ifndef ZCACHE_TYPE_LARGE_COUNT_H
#define ZCACHE_TYPE_LARGE_COUNT_H

#include <mpi.h>

/*
 * Makes a committed type that covers COUNT elements of TYPE, for COUNT > INT_MAX.  On success the
 * caller frees *BIG.  Returns an MPI error code.
 */
int zcache_type_large_count(MPI_Count count, MPI_Datatype type, MPI_Datatype *big);

#endif
