/*
 * The right-hand side of the equations: the steady operator, applied to the solution.
 */
#ifndef RHS_H
#define RHS_H

#include "grid.h"

/* Sets the forcing such that the exact solution makes the right-hand side 0. Destroys u and rhs. */
void rhs_make_forcing(const struct problem *p, struct grid *g);
/* rhs = dt (operator(u) + forcing), where u changes; needs u's ghosts. */
void rhs_compute(const struct problem *p, struct grid *g);
/* Fills `sum` with the squares of rhs, summed over the rank's points. */
void rhs_squares(const struct grid *g, state sum);

#endif
