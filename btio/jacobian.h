/*
 * The implicit operator at one point: three 5 x 5 blocks.
 */
#ifndef JACOBIAN_H
#define JACOBIAN_H

#include "block.h"

/* What one point contributes to the block tridiagonal system along a line: `below` couples the
 * next point to this one, `here` this one to itself, `above` the previous one to this one. */
struct coupling {
    block below, here, above;
};

/* Along direction d, from the states u of LANES lines. */
void jacobian_coupling(const struct problem *p, int d, const column u, struct coupling *out);

#endif
