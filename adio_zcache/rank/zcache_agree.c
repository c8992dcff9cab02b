/* zcache_agree.c - one rank learns about all ranks: whether they can take part, what they know, and
 * whether they reach each other on one host.
 *
 * A rank that can be reached shares its kernel, user and network namespace, and permits access to
 * its memory (a process that is not dumpable does not).  So any two reach each other, if each
 * reaches rank 0 and is reached by `root`.
 */
#include "config.h"

#include "adio.h"
#include "zc_lock.h"
#include "zcache_agree.h"
#include "zcache_collective_error.h"

static void least(int64_t *all, int64_t one)
{
    if (one < *all)
        *all = one;
}

static void count(struct zcache_agree_votes *all, const struct zcache_agree_input *mine,
                  const struct zcache_agree_input *one)
{
    least(&all->failed, one->votes.failed);
    least(&all->knows, one->votes.knows);
    all->near = all->near && one->votes.near && zc_tp_local_reaches_as(&mine->probe, &one->probe);
}

int zcache_agree(MPI_Comm comm, int root, const struct zcache_agree_input *mine,
                 struct zcache_agree_votes *all)
{
    MPI_Request request = MPI_REQUEST_NULL;
    struct zcache_agree_input *theirs = NULL;
    int rank, size, rc;

    zc_assert_none_held();
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    *all = mine->votes;
    if (size == 1)
        return 0;
    if (rank == root)
        theirs = ADIOI_Calloc((size_t)size, sizeof *theirs);
    rc = zcache_collective_error_wait(MPI_Igather(mine, sizeof *mine, MPI_BYTE, theirs,
                                                  sizeof *mine, MPI_BYTE, root, comm, &request),
                                      &request);
    for (int i = 0; rc == 0 && rank == root && i < size; i++)
        if (i != root)
            count(all, mine, &theirs[i]);
    if (theirs)
        ADIOI_Free(theirs);
    return rc;
}
