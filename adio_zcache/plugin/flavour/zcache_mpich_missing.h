/*
 * What ROMIO uses of MPICH and other MPI libraries lack: declarations, for the mpi.h of their
 * flavours.
 */
#ifndef ZCACHE_MPICH_MISSING_H
#define ZCACHE_MPICH_MISSING_H

/* Generalized requests that MPI polls: zcache_greq.h. */
typedef int MPIX_Grequest_class;
typedef int(MPIX_Grequest_poll_function)(void *state, MPI_Status *status);
typedef int(MPIX_Grequest_wait_function)(int count, void **states, double timeout,
                                         MPI_Status *status);
int PMPIX_Grequest_class_create(MPI_Grequest_query_function *query,
                                MPI_Grequest_free_function *free_fn,
                                MPI_Grequest_cancel_function *cancel,
                                MPIX_Grequest_poll_function *poll,
                                MPIX_Grequest_wait_function *wait, MPIX_Grequest_class *greq_class);
int PMPIX_Grequest_class_allocate(MPIX_Grequest_class greq_class, void *state,
                                  MPI_Request *request);

/* An attribute macro of MPICH's mpi.h, which ROMIO's mpio.h uses as well. */
#define MPICH_ATTR_POINTER_WITH_TYPE_TAG(buffer, type)

#endif
