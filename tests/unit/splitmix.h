/* splitmix.h - random numbers that are the same everywhere: SplitMix64 (Steele, Lea, Flood: Fast
 * splittable pseudorandom number generators, OOPSLA 2014). */
#ifndef SPLITMIX_H
#define SPLITMIX_H

#include <stdint.h>

static inline uint64_t splitmix(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

#endif
