/*
 * Solving block tridiagonal systems along all lines of one direction.
 *
 * A line goes through q cells, of different ranks. Elimination runs through the q slices of the
 * cube upwards, substitution downwards; in each stage a rank has one cell to work on, gets what
 * the previous stage found out on its lines from one neighbour and hands on to the other.
 */
#ifndef SWEEP_H
#define SWEEP_H

#include <mpi.h>

#include "block.h"
#include "grid.h"

struct sweep;

/* Collective only in that every rank needs one; NULL when memory ran out. Grid and communicator
 * have to outlive it. */
struct sweep *sweep_create(const struct problem *p, const struct grid *g, MPI_Comm comm);
void sweep_destroy(struct sweep *s);
/* Replaces rhs by the solution of the systems along direction d; needs u's ghosts. Collective. */
void sweep_solve(struct sweep *s, int d);

#endif
