/*
 * Solving block tridiagonal systems along all lines of one direction.
 *
 * A line goes through q cells, of different ranks. Elimination runs through the q slices of the
 * cube upwards, substitution downwards. In each stage a rank works on one cell: it receives the
 * previous stage's results on its lines from one neighbour, and sends its own to the other.
 */
#ifndef SWEEP_H
#define SWEEP_H

#include <mpi.h>

#include "block.h"
#include "grid.h"

struct sweep;

/* Makes this rank's part; every rank needs one, but the call does not communicate. NULL: no memory.
 * Grid and communicator have to outlive it. */
struct sweep *sweep_create(const struct problem *p, const struct grid *g, MPI_Comm comm);
void sweep_destroy(struct sweep *s);
/* Replaces rhs by the solution of the systems along direction d; needs u's ghosts. Collective. */
void sweep_solve(struct sweep *s, int d);

#endif
