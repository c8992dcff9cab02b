/* zc_fair_share.c - arithmetic of fair shares. */
#include "config.h"

#include "zc_fair_share.h"

/* The level begins at an equal share.  An account that wants less leaves its rest to the others,
 * which only raises the level: an account below it stays below, and each round but the last finds
 * one more of those. */
uint64_t zc_fair_share_level(const uint64_t *wants, size_t n, uint64_t room)
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

uint64_t zc_fair_share_start(const struct zc_fair_share_clock *c,
                             const struct zc_fair_share_flow *t)
{
    return t->end > c->now ? t->end : c->now;
}

void zc_fair_share_serve(struct zc_fair_share_clock *c, struct zc_fair_share_flow *t, uint64_t cost)
{
    c->now = zc_fair_share_start(c, t);
    t->end = c->now + cost;
}
