/*
 * The exported functions that ask for the status of requests.
 *
 * MPI promises that they make progress. Those of the MPICH family do not poll generalized requests,
 * so a program that calls nothing else would wait for ever. Here the file accesses among the
 * requests are looked at first; then the function that would have been called without the plugin
 * answers (zcache_next.h).
 */
#include "config.h"

/* MPI-4.1 has const, and mpi.h of MPICH 4.2 has not: what it declares gets other names here. */
#define MPI_Request_get_status_all   mpi_h_get_status_all
#define MPI_Request_get_status_any   mpi_h_get_status_any
#define MPI_Request_get_status_some  mpi_h_get_status_some
#define PMPI_Request_get_status_all  mpi_h_pget_status_all
#define PMPI_Request_get_status_any  mpi_h_pget_status_any
#define PMPI_Request_get_status_some mpi_h_pget_status_some
#include "adio.h"
#undef MPI_Request_get_status_all
#undef MPI_Request_get_status_any
#undef MPI_Request_get_status_some
#undef PMPI_Request_get_status_all
#undef PMPI_Request_get_status_any
#undef PMPI_Request_get_status_some
#include "ad_zcache_seams.h"
#include "zcache_next.h"

/* MPI-4.1. Exported whatever this plugin was built with: it may run with a newer MPI. */
#define EACH(macro)                                                                                \
    macro(get_status, (MPI_Request request, int *flag, MPI_Status *status),                        \
          (request, flag, status), 1, &request);                                                   \
    macro(get_status_all, (int n, const MPI_Request requests[], int *flag, MPI_Status statuses[]), \
          (n, requests, flag, statuses), n, requests);                                             \
    macro(get_status_any,                                                                          \
          (int n, const MPI_Request requests[], int *which, int *flag, MPI_Status *status),        \
          (n, requests, which, flag, status), n, requests);                                        \
    macro(get_status_some,                                                                         \
          (int n, const MPI_Request requests[], int *done, int which[], MPI_Status statuses[]),    \
          (n, requests, done, which, statuses), n, requests)

#define DECLARE(name, params, args, n, requests)                                                   \
    int MPI_Request_##name params;                                                                 \
    int PMPI_Request_##name params

EACH(DECLARE);

static void look_at(int n, const MPI_Request *requests)
{
    for (int i = 0; i < n && requests; i++)
        zcache_request_poll(requests[i]);
}

#define FUNCTION(prefix, name, params, args, n, requests)                                          \
    int prefix##_Request_##name params                                                             \
    {                                                                                              \
        static void *known;                                                                        \
        int(*fn) params;                                                                           \
                                                                                                   \
        *(void **)&fn = zcache_next(&known, #prefix "_Request_" #name);                            \
        if (!fn)                                                                                   \
            return MPI_ERR_UNSUPPORTED_OPERATION;                                                  \
        look_at(n, requests);                                                                      \
        return fn args;                                                                            \
    }

#define BOTH(name, params, args, n, requests)                                                      \
    FUNCTION(MPI, name, params, args, n, requests)                                                 \
    FUNCTION(PMPI, name, params, args, n, requests)                                                \
    DECLARE(name, params, args, n, requests)

EACH(BOTH);
