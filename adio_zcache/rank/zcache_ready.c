/* zcache_ready.c - rank 0 hears of all ranks: can they, and do they reach each other on one host?
 *
 * Who can, shares its kernel, user and network namespace, and lets others look (a process that
 * is not dumpable does not).  So any two can that both can with rank 0.
 */
#include "config.h"

#include "adio.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zcache_outcome.h"
#include "zcache_ready.h"

void zcache_ready_here(MPI_Comm comm, int rc, int64_t timeout, struct zcache_ready *out)
{
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    *out = (struct zcache_ready){.refused = rc ? rank : size, .timeout = timeout};
    if (size == 1)
        return;
    out->near = zc_tp_local_card_lend(&out->card) == 0;
    if (!out->near)
        zc_error_clear();
}

static void add(struct zcache_ready *all, const struct zcache_ready *one)
{
    if (one->refused < all->refused)
        all->refused = one->refused;
    if (one->timeout < all->timeout)
        all->timeout = one->timeout;
    all->near = all->near && one->near && zc_tp_local_reaches_as(&all->card, &one->card);
}

int zcache_ready_gather(MPI_Comm comm, struct zcache_ready *r)
{
    MPI_Request request = MPI_REQUEST_NULL;
    struct zcache_ready *theirs = NULL;
    int rank, size, rc;

    zc_assert_none_held();
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (rank == 0)
        theirs = ADIOI_Calloc((size_t)size, sizeof *theirs);
    rc = zcache_outcome_wait(
        MPI_Igather(r, sizeof *r, MPI_BYTE, theirs, sizeof *r, MPI_BYTE, 0, comm, &request),
        &request);
    for (int i = 1; rc == 0 && rank == 0 && i < size; i++)
        add(r, &theirs[i]);
    if (theirs)
        ADIOI_Free(theirs);
    return rc;
}
