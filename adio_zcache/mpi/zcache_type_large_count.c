/*
 * One element of a type instead of more elements than an int can count.
 *
 * ROMIO counts elements in int but bytes in 64 bits, so a large count becomes a count of one. The
 * type is made with functions of MPI-3, which every MPI library has: whole chunks, then the rest.
 */
#include "config.h"

#include <limits.h>

#include "zcache_error.h"
#include "zcache_type_large_count.h"

#define CHUNK (1 << 30)

static void forget(MPI_Datatype *type)
{
    if (*type != MPI_DATATYPE_NULL)
        PMPI_Type_free(type);
}

int zcache_type_large_count(MPI_Count count, MPI_Datatype type, MPI_Datatype *big)
{
    MPI_Datatype chunk = MPI_DATATYPE_NULL;
    MPI_Datatype part[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    MPI_Count whole = count / CHUNK, rest = count % CHUNK;
    int ones[2] = {1, 1};
    MPI_Aint at[2] = {0, 0};
    MPI_Aint lb, extent;
    int rc;

    *big = MPI_DATATYPE_NULL;
    if (whole > INT_MAX)
        return zcache_mpi_errorf(MPI_ERR_COUNT, "a count of %lld elements is beyond any memory",
                                 (long long)count);
    rc = PMPI_Type_get_extent(type, &lb, &extent);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Type_contiguous(CHUNK, type, &chunk);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Type_contiguous((int)whole, chunk, &part[0]);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Type_contiguous((int)rest, type, &part[1]);
    at[1] = (MPI_Aint)whole * CHUNK * extent;
    if (rc == MPI_SUCCESS)
        rc = PMPI_Type_create_struct(rest ? 2 : 1, ones, at, part, big);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Type_commit(big);
    forget(&chunk);
    forget(&part[0]);
    forget(&part[1]);
    return rc;
}
