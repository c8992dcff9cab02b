/* Generalized requests that MPI polls and waits for. */
#ifndef ZCACHE_GREQ_H
#define ZCACHE_GREQ_H

#include <mpi.h>

/*
 * A generalized request that MPI polls and waits for (an extension of the MPICH family): POLL and
 * WAIT, called in whatever thread tests or waits, call MPI_Grequest_complete when the operation is
 * done, once. FNS must be the same at each call. MPI_ERR_UNSUPPORTED_OPERATION where the library
 * has no such thing.
 */
struct zcache_greq_functions {
    int (*query)(void *state, MPI_Status *status);
    int (*free)(void *state);
    int (*cancel)(void *state, int complete);
    int (*poll)(void *state, MPI_Status *status);
    int (*wait)(int count, void **states, double timeout, MPI_Status *status);
};

int zcache_greq_start(const struct zcache_greq_functions *fns, void *state, MPI_Request *request);

#endif
