/*
 * Blocks of 5 x 5 numbers, several of them side by side.
 *
 * Lines of the grid do not depend on each other, so each number is a vector of LANES of them, one
 * for each of LANES lines: the code is that for one block, the compiler's vector extension makes
 * it so many. LANES follows what the compiler may use (CFLAGS='-O2 -march=native' to allow more).
 * Needs no MPI.
 */
#ifndef BLOCK_H
#define BLOCK_H

#include "problem.h"

#if defined __AVX512F__
#define LANES 8
#elif defined __AVX__
#define LANES 4
#else
#define LANES 2
#endif

typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));

typedef lanes block[NVAR][NVAR];
typedef lanes column[NVAR];

/* c -= a b */
void block_subtract_product(block c, const block a, const block b);
/* x -= a y */
void block_subtract_applied(column x, const block a, const column y);
/* c = b^-1 c, x = b^-1 x; b is destroyed. Without exchange of rows: the diagonal dominates. */
void block_solve(block b, block c, column x);

#endif
