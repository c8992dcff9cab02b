/* zc_fair.c - arithmetic of fair shares. */
#include "config.h"

#include "zc_fair.h"

/* The level begins where all get the same.  Who wants no more leaves the rest to the others, which
 * only raises it: so nobody who was below it comes above it again, and each round but the last
 * finds one more that is below. */
uint64_t zc_fair_level(const uint64_t *wants, size_t n, uint64_t room)
{
    uint64_t level = n > 0 ? room / n : 0;
    size_t known = 0;

    for (;;) {
        uint64_t left = room;
        size_t below = 0;

        for (size_t i = 0; i < n; i++)
            if (wants[i] <= level) {
                left -= wants[i];
                below++;
            }
        if (below == n)
            return UINT64_MAX;
        if (below == known)
            return level;
        known = below;
        level = left / (n - below);
    }
}

uint64_t zc_fair_start(const struct zc_fair_clock *c, const struct zc_fair_turn *t)
{
    return t->end > c->now ? t->end : c->now;
}

void zc_fair_serve(struct zc_fair_clock *c, struct zc_fair_turn *t, uint64_t cost)
{
    c->now = zc_fair_start(c, t);
    t->end = c->now + cost;
}
