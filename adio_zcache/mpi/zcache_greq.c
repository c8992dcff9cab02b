/*
 * Generalized requests that the MPI library polls, an extension of the MPICH family.
 *
 * ROMIO's own nonblocking collectives and the zcache driver need it. ROMIO's calls
 * are renamed to these when its library is copied, so that a library without the extension is
 * found out where it matters rather than when the plugin is loaded.
 */
#include "config.h"

#include <stdio.h>

#include "zc_log.h"
#include "zcache_greq.h"
#include "zcache_library.h"
#include "zcache_mpi_lock.h"

const bool zcache_greq_poll_may_yield = true;

int zcache_greq_class_create(MPI_Grequest_query_function *query,
                             MPI_Grequest_free_function *free_fn,
                             MPI_Grequest_cancel_function *cancel,
                             MPIX_Grequest_poll_function *poll, MPIX_Grequest_wait_function *wait,
                             MPIX_Grequest_class *greq_class);
int zcache_greq_class_allocate(MPIX_Grequest_class greq_class, void *state, MPI_Request *request);

/* ROMIO looks at the result of neither function, and the operation could not be completed. */
static void die(void)
{
    dprintf(zc_log_stderr(),
            "zcache: nonblocking collective access to other than zcache: files needs "
            "MPIX_Grequest_class_create, which this MPI library does not have\n");
    PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_UNSUPPORTED_OPERATION);
}

int zcache_greq_class_create(MPI_Grequest_query_function *query,
                             MPI_Grequest_free_function *free_fn,
                             MPI_Grequest_cancel_function *cancel,
                             MPIX_Grequest_poll_function *poll, MPIX_Grequest_wait_function *wait,
                             MPIX_Grequest_class *greq_class)
{
    if (!zcache_library()->greq_class_create)
        die();
    return zcache_library()->greq_class_create(query, free_fn, cancel, poll, wait, greq_class);
}

int zcache_greq_class_allocate(MPIX_Grequest_class greq_class, void *state, MPI_Request *request)
{
    if (!zcache_library()->greq_class_allocate)
        die();
    return zcache_library()->greq_class_allocate(greq_class, state, request);
}

int zcache_greq_start(const struct zcache_greq_functions *fns, void *state, MPI_Request *request)
{
    static struct zcache_mpi_lock turn = ZCACHE_MPI_LOCK_INITIALIZER(ZCACHE_MPI_LOCK_CLASS);
    static const struct zcache_greq_functions *made;
    static MPIX_Grequest_class greq_class;
    const struct zcache_library *mpi = zcache_library();
    int rc = MPI_SUCCESS;

    if (!mpi->greq_class_create || !mpi->greq_class_allocate)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    zcache_mpi_lock_get(&turn);
    if (made != fns)
        rc = mpi->greq_class_create(fns->query, fns->free, fns->cancel, fns->poll, fns->wait,
                                    &greq_class);
    if (rc == MPI_SUCCESS)
        made = fns;
    zcache_mpi_lock_put(&turn);
    return rc == MPI_SUCCESS ? mpi->greq_class_allocate(greq_class, state, request) : rc;
}
