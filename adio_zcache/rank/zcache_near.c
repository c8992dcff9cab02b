/* zcache_near.c - every rank tries to reach rank 0's memory, and rank 0 every rank's.
 *
 * Who can, shares its kernel, user and network namespace, and lets others look (a process that
 * is not dumpable does not).  So any two can that both can with rank 0.
 *
 * Who was rank 0 keeps the cards of those it has reached, and tries them again in the next open: no
 * rank has to send its own then.  A card that is not reached any more is asked for anew.
 */
#include "config.h"

#include <stdlib.h>

#include "adio.h"
#include "zc_lock.h"
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

/* ---- cards of before ---- */

static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_PROCESS);
static struct zc_tp_local_card *kept; /* by rank of MPI_COMM_WORLD, no pid: none; under the lock */

/* The ranks of `comm` in MPI_COMM_WORLD, MPI_UNDEFINED for those of other jobs; allocated, or
 * NULL. */
static int *world_ranks(MPI_Comm comm, int size)
{
    int *ranks = calloc((size_t)size, sizeof *ranks),
        *in_world = calloc((size_t)size, sizeof *ranks);
    MPI_Group these, world;

    if (ranks && in_world) {
        for (int i = 0; i < size; i++)
            ranks[i] = i;
        MPI_Comm_group(comm, &these);
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_translate_ranks(these, size, ranks, world, in_world);
        MPI_Group_free(&these);
        MPI_Group_free(&world);
        free(ranks);
        return in_world;
    }
    free(ranks);
    free(in_world);
    return NULL;
}

/* What all ranks of `comm` have sent, who are reached.  Without memory they are asked again. */
static void keep(MPI_Comm comm, int size, const struct zc_tp_local_card *cards)
{
    int *ranks = world_ranks(comm, size), world;

    MPI_Comm_size(MPI_COMM_WORLD, &world);
    zc_lock_get(&lock);
    if (!kept)
        kept = calloc((size_t)world, sizeof *kept);
    for (int i = 0; kept && ranks && i < size; i++)
        if (ranks[i] != MPI_UNDEFINED)
            kept[ranks[i]] = cards[i];
    zc_lock_put(&lock);
    free(ranks);
}

static struct zc_tp_local_card card_of(int world_rank)
{
    struct zc_tp_local_card card = {0};

    zc_lock_get(&lock);
    if (kept && world_rank != MPI_UNDEFINED)
        card = kept[world_rank];
    zc_lock_put(&lock);
    return card;
}

static bool reaches_all(MPI_Comm comm)
{
    int size, *ranks;
    bool all;

    MPI_Comm_size(comm, &size);
    ranks = world_ranks(comm, size);
    all = ranks;
    for (int i = 1; all && i < size; i++) {
        struct zc_tp_local_card card = card_of(ranks[i]);

        all = card.pid && zc_tp_local_reaches(&card);
    }
    free(ranks);
    return all;
}

/* ---- together ---- */

bool zcache_near_look(MPI_Comm comm, bool wanted, struct zc_tp_local_card *out)
{
    *out = (struct zc_tp_local_card){0};
    if (!is_tried(comm, wanted))
        return false;
    if (zc_tp_local_card(out)) {
        zc_error_clear();
        *out = (struct zc_tp_local_card){0};
        return false;
    }
    return reaches_all(comm);
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
    if (rc == 0 && rank == 0 && mine)
        keep(comm, size, cards);
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
