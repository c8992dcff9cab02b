/* zcache_outcome.c - one outcome for all ranks. */
#include "config.h"

#include <errno.h>
#include <stdio.h>

#include "zc_log.h"
#include "zcache_outcome.h"

void zcache_outcome_set(struct zcache_outcome *o, int rc)
{
    o->rc = rc;
    snprintf(o->text, sizeof o->text, "%s", rc ? zc_error_text(rc) : "");
}

int zcache_outcome_mpi(int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;

    if (code == MPI_SUCCESS)
        return 0;
    MPI_Error_string(code, text, &len);
    return zc_errorf(EIO, "MPI cannot reach the other ranks: %s", text);
}

int zcache_outcome_bcast(struct zcache_outcome *o, int root, MPI_Comm comm)
{
    int rc = zcache_outcome_mpi(MPI_Bcast(o, sizeof *o, MPI_BYTE, root, comm));

    if (rc)
        zcache_outcome_set(o, rc);
    return o->rc ? zc_errorf(-o->rc, "%s", o->text) : 0;
}

int zcache_outcome_agree(struct zcache_outcome *o, MPI_Comm comm)
{
    int rank, size, mine, first, rc;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    mine = o->rc ? rank : size;
    rc = zcache_outcome_mpi(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm));
    if (rc) {
        zcache_outcome_set(o, rc);
        return rc;
    }
    return first == size ? 0 : zcache_outcome_bcast(o, first, comm);
}
