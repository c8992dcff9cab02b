/* zcache_collective_check.c - a collective call that one rank refuses is refused by all. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zcache_collective_check.h"
#include "zcache_collective_error.h"
#include "zcache_error.h"

void zcache_refuse(struct zcache_collective_check *r, int mpi_class, const char *fmt, ...)
{
    va_list args;

    if (r->mpi_class != MPI_SUCCESS)
        return;
    r->mpi_class = mpi_class;
    va_start(args, fmt);
    vsnprintf(r->text, sizeof r->text, fmt, args);
    va_end(args);
}

void zcache_refuse_rc(struct zcache_collective_check *r, int rc)
{
    if (rc)
        zcache_refuse(r, zcache_error_class(rc), "%s", zc_error_text(rc));
}

/* What rank `first` has against it, for those that have nothing. */
static void learn(struct zcache_collective_check *r, int first, MPI_Comm comm)
{
    struct zcache_collective_check theirs = *r;
    MPI_Request request = MPI_REQUEST_NULL;

    zcache_refuse_rc(
        r, zcache_collective_error_wait(
               MPI_Ibcast(&theirs, sizeof theirs, MPI_BYTE, first, comm, &request), &request));
    zcache_refuse(r, theirs.mpi_class, "rank %d: %s", first, theirs.text);
}

bool zcache_collective_check_agree(struct zcache_collective_check *r, int64_t value,
                                   const char *what, MPI_Comm comm)
{
    enum { FIRST, LEAST, NOT_MOST, N };
    MPI_Request request = MPI_REQUEST_NULL;
    int64_t mine[N], all[N];
    int rank, size, rc;

    zc_assert_none_held();
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    mine[FIRST] = r->mpi_class == MPI_SUCCESS ? size : rank;
    mine[LEAST] = value;
    mine[NOT_MOST] = ~value;
    rc = zcache_collective_error_wait(
        MPI_Iallreduce(mine, all, N, MPI_INT64_T, MPI_MIN, comm, &request), &request);
    if (rc)
        zcache_refuse_rc(r, rc);
    else if (all[FIRST] < size)
        learn(r, (int)all[FIRST], comm);
    else if (all[LEAST] != ~all[NOT_MOST])
        zcache_refuse(r, MPI_ERR_ARG, "not all ranks give the same %s", what);
    return r->mpi_class == MPI_SUCCESS;
}

int zcache_collective_check_code(const struct zcache_collective_check *r, const char *what,
                                 const char *path)
{
    return zcache_mpi_errorf(r->mpi_class, "zcache: %s %s: %s", what, path, r->text);
}
