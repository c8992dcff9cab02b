/*
 * Copies of the neighbours' points.
 *
 * All cells' faces towards one side go to one rank (grid.h), in one message without packing:
 * a datatype names the layers to send, another those to receive. Cells are taken by slices, so
 * that both sides have them in the same order.
 */
#include "config.h"

#include <stdlib.h>

#include "bench.h"
#include "cells.h"
#include "halo.h"

enum side { LOWER, UPPER };

/* GHOST layers in each cell that has a neighbour on that side: its own, or the copies. */
static MPI_Datatype faces(const struct grid *g, int d, enum side side, bool ghosts)
{
    struct box *boxes = calloc((size_t)g->q, sizeof *boxes);
    if (boxes == NULL)
        bench_abort("out of memory for the faces of %d cells", g->q);
    for (int i = 0; i < g->q; i++) {
        const struct cell *c = &g->cells[i];
        if (c->coord[d] == (side == LOWER ? 0 : g->q - 1))
            continue;
        boxes[i] = cells_whole(c);
        boxes[i].size[d] = GHOST;
        if (side == LOWER)
            boxes[i].low[d] = ghosts ? -GHOST : 0;
        else
            boxes[i].low[d] = c->size[d] - (ghosts ? 0 : GHOST);
    }
    MPI_Datatype type = cells_memory_type(g, boxes);
    free(boxes);
    return type;
}

void halo_init(struct halo *h, const struct grid *g, MPI_Comm comm)
{
    h->n = 0;
    if (g->q == 1)
        return;
    for (int d = 0; d < 3; d++) {
        for (int side = LOWER; side <= UPPER; side++) {
            int peer = side == LOWER ? g->previous[d] : g->next[d];
            MPI_Datatype own = faces(g, d, side, false), copies = faces(g, d, side, true);
            /* The tag says which way it goes: with two cells in a row both sides are one rank. */
            MPI_Recv_init(g->u, 1, copies, peer, 2 * d + 1 - side, comm, &h->requests[h->n++]);
            MPI_Send_init(g->u, 1, own, peer, 2 * d + side, comm, &h->requests[h->n++]);
            MPI_Type_free(&own);
            MPI_Type_free(&copies);
        }
    }
}

void halo_free(struct halo *h)
{
    for (int i = 0; i < h->n; i++)
        MPI_Request_free(&h->requests[i]);
    h->n = 0;
}

void halo_exchange(struct halo *h)
{
    /* Not MPI_STATUSES_IGNORE: a compiler takes MPICH's for an array without room. */
    MPI_Status statuses[HALO_MESSAGES];
    MPI_Startall(h->n, h->requests);
    MPI_Waitall(h->n, h->requests, statuses);
}
