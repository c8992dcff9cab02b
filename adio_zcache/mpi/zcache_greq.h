/* Generalized requests that MPI polls and waits for. */
#ifndef ZCACHE_GREQ_H
#define ZCACHE_GREQ_H

#include <mpi.h>
#include <stdbool.h>

/*
 * A generalized request that MPI polls and waits for (an extension of the MPICH family): POLL and
 * WAIT, called in any thread that tests or waits, call MPI_Grequest_complete once, when the
 * operation is done. FNS must be the same at each call. MPI_ERR_UNSUPPORTED_OPERATION where the
 * library has no such requests.
 *
 * Where MPI does not poll (plugin/flavour/openmpi), its progress engine calls POLL, possibly before
 * zcache_greq_start() returns, and WAIT is never called.
 */
struct zcache_greq_functions {
    int (*query)(void *state, MPI_Status *status);
    int (*free)(void *state);
    int (*cancel)(void *state, int complete);
    int (*poll)(void *state, MPI_Status *status);
    int (*wait)(int count, void **states, double timeout, MPI_Status *status);
};

/* Whether POLL may call sched_yield(): true where MPI_Wait does nothing but call POLL. */
extern const bool zcache_greq_poll_may_yield;

int zcache_greq_start(const struct zcache_greq_functions *fns, void *state, MPI_Request *request);

#endif
