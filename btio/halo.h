/*
 * Copies of the neighbours' points: the ghosts of all cells of a rank.
 */
#ifndef HALO_H
#define HALO_H

#include <mpi.h>

#include "grid.h"

/* To and from both neighbours in three directions. */
#define HALO_MESSAGES 12

struct halo {
    int n;
    MPI_Request requests[HALO_MESSAGES];
};

/* The messages are set up once, for the arrays of this grid. */
void halo_init(struct halo *h, const struct grid *g, MPI_Comm comm);
void halo_free(struct halo *h);
/* Brings u's ghosts beside faces between cells up to date; those at edges and corners are left
 * alone. Collective. */
void halo_exchange(struct halo *h);

#endif
