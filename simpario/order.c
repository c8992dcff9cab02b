/*
 * Random orders that are the same in each run: of phases, of the elements of a map.
 */
#include "config.h"

#include <stddef.h>

#include "order.h"

#define ROUNDS 4

const char *const order_names[] = {"ascending", "random", NULL};

/* The finaliser of SplitMix64 (Steele, Lea and Flood, 2014). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t order_permute(uint64_t x, uint64_t n, unsigned seed)
{
    unsigned half = 0;
    while (((uint64_t)1 << (2 * half)) < n)
        half++;
    uint64_t mask = ((uint64_t)1 << half) - 1;
    do {
        uint64_t left = x >> half, right = x & mask;
        for (unsigned round = 0; round < ROUNDS; round++) {
            uint64_t key = mix(((uint64_t)seed * ROUNDS + round + 1) * 0x9e3779b97f4a7c15u);
            uint64_t next = left ^ (mix(right ^ key) & mask);
            left = right;
            right = next;
        }
        x = left << half | right;
    } while (x >= n);
    return x;
}

int order_phase(enum order order, int turn, int phases, int seed, int rank)
{
    if (order == ORDER_ASCENDING)
        return turn;
    return (int)order_permute((uint64_t)turn, (uint64_t)phases,
                              (unsigned)seed * 1000003u + (unsigned)rank);
}
