/* tm_rng.h - random numbers that every rank draws alike.
 *
 * Never draw twice within one expression: the order of evaluation is the compiler's.
 */
#ifndef TM_RNG_H
#define TM_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct tm_rng {
    uint64_t state;
};

static inline uint64_t tm_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t tm_draw(struct tm_rng *r)
{
    r->state += 0x9e3779b97f4a7c15u;
    return tm_mix(r->state);
}

/* lo to hi, both included. */
static inline int64_t tm_between(struct tm_rng *r, int64_t lo, int64_t hi)
{
    return lo + (int64_t)(tm_draw(r) % (uint64_t)(hi - lo + 1));
}

static inline bool tm_chance(struct tm_rng *r, int percent)
{
    return tm_between(r, 0, 99) < percent;
}

static inline int tm_pick(struct tm_rng *r, int n)
{
    return (int)tm_between(r, 0, n - 1);
}

#endif
