/* zcache_near.c - every rank tries to reach rank 0's memory.
 *
 * Who can, shares its kernel, user and network namespace; so any two that can reach rank 0
 * can reach each other.
 */
#include "config.h"

#include "zc_local.h"
#include "zcache_near.h"
#include "zcache_outcome.h"

int zcache_near_agree(MPI_Comm comm, bool *near)
{
    struct zc_local_card card, of_first = {0};
    int rank, size, mine, all, rc;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (size == 1 || !*near)
        return 0;
    mine = zc_local_card(&card) == 0;
    if (rank == 0 && mine)
        of_first = card;
    rc = zcache_outcome_mpi(MPI_Bcast(&of_first, sizeof of_first, MPI_BYTE, 0, comm));
    if (rc == 0) {
        mine = mine && zc_local_reaches(&of_first);
        rc = zcache_outcome_mpi(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm));
    }
    *near = rc == 0 && all;
    return rc;
}
