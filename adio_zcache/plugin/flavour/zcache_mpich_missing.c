/* Functions of MPICH that ROMIO calls, for flavours whose MPI library lacks them. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "adio.h"
#include "zc_log.h"

int MPIR_Status_set_bytes(MPI_Status *status, MPI_Datatype type, MPI_Count n);
int MPIR_Status_set_bytes(MPI_Status *status, MPI_Datatype type, MPI_Count n)
{
    (void)type;
    return status == MPI_STATUS_IGNORE ? MPI_SUCCESS
                                       : PMPI_Status_set_elements_x(status, MPI_BYTE, n);
}

/*
 * For ROMIO's own nonblocking collective accesses, which need polled requests. Never called:
 * zcache's driver does not use them, and files of other drivers belong to the MPI library.
 */
int zcache_greq_class_create(MPI_Grequest_query_function *query_fn,
                             MPI_Grequest_free_function *free_fn,
                             MPI_Grequest_cancel_function *cancel_fn,
                             MPIX_Grequest_poll_function *poll, MPIX_Grequest_wait_function *wait,
                             MPIX_Grequest_class *greq_class);
int zcache_greq_class_allocate(MPIX_Grequest_class greq_class, void *state, MPI_Request *request);

int zcache_greq_class_create(MPI_Grequest_query_function *query_fn,
                             MPI_Grequest_free_function *free_fn,
                             MPI_Grequest_cancel_function *cancel_fn,
                             MPIX_Grequest_poll_function *poll, MPIX_Grequest_wait_function *wait,
                             MPIX_Grequest_class *greq_class)
{
    (void)query_fn;
    (void)free_fn;
    (void)cancel_fn;
    (void)poll;
    (void)wait;
    (void)greq_class;
    dprintf(zc_log_stderr(), "zcache: this MPI library polls no generalized requests\n");
    abort();
}

int zcache_greq_class_allocate(MPIX_Grequest_class greq_class, void *state, MPI_Request *request)
{
    (void)greq_class;
    (void)state;
    (void)request;
    abort();
}
