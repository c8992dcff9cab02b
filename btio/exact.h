/*
 * The exact solution, and the initial values.
 */
#ifndef EXACT_H
#define EXACT_H

#include "grid.h"

/* Sets u of all points, ghosts included, to the exact solution; outside the cube to one at rest. */
void exact_fill(struct grid *g);
/* Sets u to the initial values: on the surface of the cube the exact solution, inside
 * interpolated from it. Ghosts are set to a state at rest. */
void exact_initialize(struct grid *g);
/* Fills `sum` with the squares of u - exact solution, summed over the rank's points. */
void exact_error_squares(const struct grid *g, state sum);

#endif
