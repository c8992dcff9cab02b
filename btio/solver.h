/*
 * The solver: time steps of the simulated application.
 */
#ifndef SOLVER_H
#define SOLVER_H

#include <mpi.h>

#include "grid.h"
#include "halo.h"
#include "sweep.h"

struct solver {
    struct problem problem;
    MPI_Comm comm;
    struct grid grid;
    struct halo halo;
    struct sweep *sweep;
};

/* Collective, and so is everything below. `q` is grid_side() of the ranks; aborts when memory
 * runs out. solver_start() has to follow. */
void solver_init(struct solver *s, const struct problem *p, int q, MPI_Comm comm);
void solver_free(struct solver *s);
/* Initial values. */
void solver_start(struct solver *s);
/* One time step. */
void solver_step(struct solver *s);
/* Norms of u, on all ranks. The residual destroys rhs, not u. */
void solver_error(struct solver *s, state norm);
void solver_residual(struct solver *s, state norm);

#endif
