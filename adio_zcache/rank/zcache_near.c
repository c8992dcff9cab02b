/* zcache_near.c - every rank tries to reach rank 0's memory, and rank 0 every rank's.
 *
 * Who can, shares its kernel, user and network namespace, and lets others look (a process that
 * is not dumpable does not).  So any two can that both can with rank 0.
 */
#include "config.h"

#include "adio.h"
#include "zc_tp_local.h"
#include "zcache_near.h"
#include "zcache_outcome.h"

int zcache_near_agree(MPI_Comm comm, bool *near)
{
    struct zc_tp_local_card card = {0}, of_first, *cards = NULL;
    int rank, size, mine, all, rc;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (size == 1 || !*near)
        return 0;
    mine = zc_tp_local_card(&card) == 0;
    of_first = card;
    if (rank == 0)
        cards = ADIOI_Calloc((size_t)size, sizeof *cards);
    rc = zcache_outcome_mpi(
        MPI_Gather(&card, sizeof card, MPI_BYTE, cards, sizeof card, MPI_BYTE, 0, comm));
    if (rc == 0)
        rc = zcache_outcome_mpi(MPI_Bcast(&of_first, sizeof of_first, MPI_BYTE, 0, comm));
    for (int i = 0; rc == 0 && rank == 0 && i < size; i++)
        mine = mine && zc_tp_local_reaches(&cards[i]);
    if (cards)
        ADIOI_Free(cards);
    if (rc == 0) {
        mine = mine && zc_tp_local_reaches(&of_first);
        rc = zcache_outcome_mpi(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm));
    }
    *near = rc == 0 && all;
    return rc;
}
