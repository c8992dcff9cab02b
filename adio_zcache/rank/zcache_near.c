/* zcache_near.c - every rank tries to reach rank 0's memory, and rank 0 every rank's.
 *
 * Who can, shares its kernel, user and network namespace, and lets others look (a process that
 * is not dumpable does not).  So any two can that both can with rank 0.
 */
#include "config.h"

#include "adio.h"
#include "zc_log.h"
#include "zc_tp_local.h"
#include "zcache_near.h"
#include "zcache_outcome.h"

/* Nobody's memory is opened to others that will not be asked. */
static bool is_tried(MPI_Comm comm, bool wanted)
{
    int size;

    MPI_Comm_size(comm, &size);
    return size > 1 && wanted;
}

void zcache_near_card(MPI_Comm comm, bool wanted, struct zc_tp_local_card *out)
{
    *out = (struct zc_tp_local_card){0};
    if (is_tried(comm, wanted) && zc_tp_local_card(out)) {
        zc_error_clear();
        *out = (struct zc_tp_local_card){0};
    }
}

int zcache_near_agree(MPI_Comm comm, const struct zc_tp_local_card *first, bool *near)
{
    struct zc_tp_local_card card = {0}, *cards = NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    int rank, size, mine, all, rc;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (!is_tried(comm, *near))
        return 0;
    mine = zc_tp_local_card(&card) == 0;
    if (rank == 0)
        cards = ADIOI_Calloc((size_t)size, sizeof *cards);
    rc = zcache_outcome_wait(
        MPI_Igather(&card, sizeof card, MPI_BYTE, cards, sizeof card, MPI_BYTE, 0, comm, &request),
        &request);
    for (int i = 0; rc == 0 && rank == 0 && i < size; i++)
        mine = mine && zc_tp_local_reaches(&cards[i]);
    if (cards)
        ADIOI_Free(cards);
    if (rc == 0) {
        mine = mine && zc_tp_local_reaches(first);
        rc = zcache_outcome_wait(MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm, &request),
                                 &request);
    }
    *near = rc == 0 && all;
    return rc;
}
