/* zc_step_ranges.c - sets of bytes of a file: binary search in a sorted array. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "zc_step_ranges.h"

/* Returns the first range that ends at or after `at`; s->n: none does. */
static size_t find(const struct zc_step_ranges *s, uint64_t at)
{
    size_t lo = 0, hi = s->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (s->r[mid].hi < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool make_room(struct zc_step_ranges *s)
{
    size_t room = s->room ? 2 * s->room : 8;
    struct zc_step_range *more;

    if (s->n < s->room)
        return true;
    more = realloc(s->r, room * sizeof *more);
    if (!more)
        return false;
    s->r = more;
    s->room = room;
    return true;
}

/* Removes the ranges with indices [at, end). */
static void take_out(struct zc_step_ranges *s, size_t at, size_t end)
{
    memmove(s->r + at, s->r + end, (s->n - end) * sizeof *s->r);
    s->n -= end - at;
}

/* Joins the two ranges with the smallest gap. */
static void join_nearest(struct zc_step_ranges *s)
{
    size_t best = 0;

    for (size_t i = 1; i + 1 < s->n; i++)
        if (s->r[i + 1].lo - s->r[i].hi < s->r[best + 1].lo - s->r[best].hi)
            best = i;
    s->r[best].hi = s->r[best + 1].hi;
    take_out(s, best + 1, best + 2);
}

void zc_step_ranges_add(struct zc_step_ranges *s, uint64_t lo, uint64_t hi)
{
    size_t at, end;

    if (s->all || lo >= hi)
        return;
    at = end = find(s, lo);
    while (end < s->n && s->r[end].lo <= hi)
        end++;
    if (end > at) {
        s->r[at].lo = lo < s->r[at].lo ? lo : s->r[at].lo;
        s->r[at].hi = hi > s->r[end - 1].hi ? hi : s->r[end - 1].hi;
        take_out(s, at + 1, end);
        return;
    }
    if (!make_room(s)) {
        zc_step_ranges_add_all(s);
        return;
    }
    memmove(s->r + at + 1, s->r + at, (s->n - at) * sizeof *s->r);
    s->r[at] = (struct zc_step_range){lo, hi};
    if (++s->n > ZC_STEP_RANGES_MOST)
        join_nearest(s);
}

void zc_step_ranges_merge(struct zc_step_ranges *s, const struct zc_step_ranges *more)
{
    if (more->all)
        zc_step_ranges_add_all(s);
    for (size_t i = 0; i < more->n; i++)
        zc_step_ranges_add(s, more->r[i].lo, more->r[i].hi);
}

void zc_step_ranges_add_all(struct zc_step_ranges *s)
{
    zc_step_ranges_clear(s);
    s->all = true;
}

bool zc_step_ranges_touch(const struct zc_step_ranges *s, uint64_t lo, uint64_t hi)
{
    size_t at;

    if (lo >= hi)
        return false;
    if (s->all)
        return true;
    at = find(s, lo + 1);
    return at < s->n && s->r[at].lo < hi;
}

void zc_step_ranges_clear(struct zc_step_ranges *s)
{
    free(s->r);
    *s = (struct zc_step_ranges){0};
}
