/*
 * In which order a rank takes the phases of a file.
 */
#ifndef ORDER_H
#define ORDER_H

#include <stdint.h>

enum order { ORDER_ASCENDING, ORDER_RANDOM };

/* "ascending", "random", NULL */
extern const char *const order_names[];

/* One-to-one within 0 ... n - 1: a Feistel network, walked until it is in range again. */
uint64_t order_permute(uint64_t x, uint64_t n, unsigned seed);

/* The phase that comes turn-th, of so many. */
int order_phase(enum order order, int turn, int phases, int seed, int rank);

#endif
