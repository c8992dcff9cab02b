/*
 * The order in which a rank accesses the phases of a file.
 */
#ifndef ORDER_H
#define ORDER_H

#include <stdint.h>

enum order { ORDER_ASCENDING, ORDER_RANDOM };

/* "ascending", "random", NULL */
extern const char *const order_names[];

/* Returns a pseudorandom permutation of 0 ... n - 1 at `x`: a Feistel network, repeated until the
 * result is in range. */
uint64_t order_permute(uint64_t x, uint64_t n, unsigned seed);

/* Returns the phase that a rank accesses as number `turn`. */
int order_phase(enum order order, int turn, int phases, int seed, int rank);

#endif
