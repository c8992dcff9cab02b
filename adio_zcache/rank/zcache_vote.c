/* zcache_vote.c - one rank hears of all ranks: can they, what do they know, and do they reach each
 * other on one host?
 *
 * Who can, shares its kernel, user and network namespace, and lets others look (a process that
 * is not dumpable does not).  So any two can, if each can with rank 0 and is reached by `root`.
 */
#include "config.h"

#include "adio.h"
#include "zc_lock.h"
#include "zcache_outcome.h"
#include "zcache_vote.h"

static void least(int64_t *all, int64_t one)
{
    if (one < *all)
        *all = one;
}

static void count(struct zcache_votes *all, const struct zcache_ballot *mine,
                  const struct zcache_ballot *one)
{
    least(&all->failed, one->votes.failed);
    least(&all->knows, one->votes.knows);
    all->near = all->near && one->votes.near && zc_tp_local_reaches_as(&mine->card, &one->card);
}

int zcache_vote(MPI_Comm comm, int root, const struct zcache_ballot *mine, struct zcache_votes *all)
{
    MPI_Request request = MPI_REQUEST_NULL;
    struct zcache_ballot *theirs = NULL;
    int rank, size, rc;

    zc_assert_none_held();
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    *all = mine->votes;
    if (size == 1)
        return 0;
    if (rank == root)
        theirs = ADIOI_Calloc((size_t)size, sizeof *theirs);
    rc = zcache_outcome_wait(MPI_Igather(mine, sizeof *mine, MPI_BYTE, theirs, sizeof *mine,
                                         MPI_BYTE, root, comm, &request),
                             &request);
    for (int i = 0; rc == 0 && rank == root && i < size; i++)
        if (i != root)
            count(all, mine, &theirs[i]);
    if (theirs)
        ADIOI_Free(theirs);
    return rc;
}
