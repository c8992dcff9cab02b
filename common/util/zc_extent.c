/* zc_extent.c - sorted, disjoint, never adjacent ranges in an array.
 *
 * Invariant: r[i].lo < r[i].hi < r[i+1].lo.  Searches are binary; changes move the
 * tail of the array, which max_extents of the cache keeps short.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_extent.h"

enum { LARGE = 1024 }; /* ranges: beyond, room grows by a quarter, and is doubled before */

static struct zc_range *ranges(struct zc_extents *e)
{
    return e->cap ? e->many : e->in;
}

static uint32_t room(const struct zc_extents *e)
{
    return e->cap ? e->cap : ZC_EXTENTS_IN_PLACE;
}

/* Returns the index of the first range that starts at or after `x` (`starts`), or ends after it;
 * e->n: there is no such range. */
static inline uint32_t search(const struct zc_extents *e, uint32_t x, bool starts)
{
    const struct zc_range *r = zc_extents_ranges(e);
    uint32_t a = 0, b = e->n;

    while (a < b) {
        uint32_t m = a + (b - a) / 2;

        if (starts ? r[m].lo >= x : r[m].hi > x)
            b = m;
        else
            a = m + 1;
    }
    return a;
}

uint32_t zc_extents_after(const struct zc_extents *e, uint32_t x)
{
    return search(e, x, false);
}

static uint32_t sum(const struct zc_range *r, uint32_t n)
{
    uint32_t bytes = 0;

    for (uint32_t i = 0; i < n; i++)
        bytes += r[i].hi - r[i].lo;
    return bytes;
}

void zc_extents_init(struct zc_extents *e)
{
    memset(e, 0, sizeof(*e));
}

void zc_extents_free(struct zc_extents *e)
{
    free(e->many);
    zc_extents_init(e);
}

int zc_extents_reserve(struct zc_extents *e, uint32_t n)
{
    struct zc_range *many;
    uint32_t cap = room(e);

    if (n <= cap)
        return 0;
    cap += cap < LARGE ? cap : cap / 4;
    cap = n > cap ? n : cap;
    many = realloc(e->many, cap * sizeof(*many));
    if (!many)
        return -ENOMEM;
    if (e->cap == 0)
        memcpy(many, e->in, sizeof(e->in));
    e->many = many;
    e->cap = cap;
    return 0;
}

void zc_extents_trim(struct zc_extents *e, uint32_t part)
{
    struct zc_range *fewer = e->many;

    if (e->cap == 0 || e->n >= e->cap || e->n > e->cap / part)
        return;
    if (e->n <= ZC_EXTENTS_IN_PLACE) {
        memcpy(e->in, e->many, e->n * sizeof(*e->many));
        free(e->many);
        e->many = NULL;
        e->cap = 0;
    } else if ((fewer = realloc(e->many, e->n * sizeof(*fewer)))) {
        e->many = fewer;
        e->cap = e->n;
    }
}

int zc_extents_add(struct zc_extents *e, uint32_t lo, uint32_t hi)
{
    struct zc_range *r;
    uint32_t i, j;

    if (lo >= hi)
        return 0;
    /* i..j-1 overlap [lo, hi) or are adjacent to it */
    i = lo > 0 ? search(e, lo - 1, false) : 0;
    j = hi < UINT32_MAX ? search(e, hi + 1, true) : e->n;
    if (i == j) {
        if (zc_extents_reserve(e, e->n + 1) < 0)
            return -ENOMEM;
        r = ranges(e);
        memmove(r + i + 1, r + i, (e->n - i) * sizeof(*r));
        r[i] = (struct zc_range){lo, hi};
        e->n++;
        e->bytes += hi - lo;
        return 0;
    }
    r = ranges(e);
    e->bytes -= sum(r + i, j - i);
    if (r[i].lo > lo)
        r[i].lo = lo;
    r[i].hi = r[j - 1].hi > hi ? r[j - 1].hi : hi;
    e->bytes += r[i].hi - r[i].lo;
    memmove(r + i + 1, r + j, (e->n - j) * sizeof(*r));
    e->n -= j - i - 1;
    return 0;
}

int zc_extents_sub(struct zc_extents *e, uint32_t lo, uint32_t hi)
{
    struct zc_range *r;
    uint32_t i, j;

    if (lo >= hi)
        return 0;
    /* i..j-1 overlap [lo, hi) */
    i = search(e, lo, false);
    j = search(e, hi, true);
    if (i >= j)
        return 0;
    r = ranges(e);
    if (j == i + 1 && r[i].lo < lo && r[i].hi > hi) {
        if (zc_extents_reserve(e, e->n + 1) < 0)
            return -ENOMEM;
        r = ranges(e);
        memmove(r + i + 1, r + i, (e->n - i) * sizeof(*r));
        r[i].hi = lo;
        r[i + 1].lo = hi;
        e->n++;
        e->bytes -= hi - lo;
        return 0;
    }
    if (r[i].lo < lo) {
        e->bytes -= r[i].hi - lo;
        r[i++].hi = lo;
    }
    if (j > i && r[j - 1].hi > hi) {
        e->bytes -= hi - r[j - 1].lo;
        r[--j].lo = hi;
    }
    e->bytes -= sum(r + i, j - i);
    memmove(r + i, r + j, (e->n - j) * sizeof(*r));
    e->n -= j - i;
    return 0;
}

/* Two lists of ranges that become one, from `out` on. */
struct merging {
    struct zc_range *out, last; /* those that are finished, and the one that may still grow */
    uint32_t n;                 /* finished ones */
    uint32_t twice;             /* bytes that were in both lists */
};

/* x starts at or after the last one: they become one, or that is finished. */
static inline void join_or_finish(struct merging *m, struct zc_range x)
{
    if (x.lo > m->last.hi) {
        if (m->last.lo < m->last.hi)
            m->out[m->n++] = m->last;
        m->last = x;
    } else if (x.hi > m->last.hi) {
        m->twice += m->last.hi - x.lo;
        m->last.hi = x.hi;
    } else {
        m->twice += x.hi - x.lo;
    }
}

static void merge_all(struct merging *m, const struct zc_range *a, const struct zc_range *a_end,
                      const struct zc_range *b, const struct zc_range *b_end)
{
    while (a < a_end && b < b_end)
        join_or_finish(m, a->lo <= b->lo ? *a++ : *b++);
    while (a < a_end)
        join_or_finish(m, *a++);
    while (b < b_end)
        join_or_finish(m, *b++);
    if (m->last.lo < m->last.hi)
        m->out[m->n++] = m->last;
}

/* Those from the first one that may change on are moved out of the way, by as many as are new: so
 * the writer never overtakes the reader.  Those behind the last that may change are moved back. */
int zc_extents_add_many(struct zc_extents *e, const struct zc_range *b, uint32_t nb)
{
    struct merging m = {0};
    uint32_t i, j;
    struct zc_range *r;

    if (nb == 0)
        return 0;
    if (nb == 1)
        return zc_extents_add(e, b->lo, b->hi);
    if (zc_extents_reserve(e, e->n + nb) < 0)
        return -ENOMEM;
    i = b[0].lo > 0 ? search(e, b[0].lo - 1, false) : 0;
    j = b[nb - 1].hi < UINT32_MAX ? search(e, b[nb - 1].hi + 1, true) : e->n;
    r = ranges(e);
    memmove(r + i + nb, r + i, (e->n - i) * sizeof(*r));
    m.out = r + i;
    merge_all(&m, r + i + nb, r + j + nb, b, b + nb);
    memmove(r + i + m.n, r + j + nb, (e->n - j) * sizeof(*r));
    e->n = i + m.n + (e->n - j);
    e->bytes += sum(b, nb) - m.twice;
    return 0;
}

int zc_extents_merge(struct zc_extents *dst, const struct zc_extents *src)
{
    return zc_extents_add_many(dst, zc_extents_ranges(src), src->n);
}

int zc_extents_copy(struct zc_extents *dst, const struct zc_extents *src)
{
    if (zc_extents_reserve(dst, src->n) < 0)
        return -ENOMEM;
    memcpy(ranges(dst), zc_extents_ranges(src), src->n * sizeof(struct zc_range));
    dst->n = src->n;
    dst->bytes = src->bytes;
    return 0;
}

void zc_extents_clear(struct zc_extents *e)
{
    e->n = e->bytes = 0;
}

void zc_extents_swap(struct zc_extents *a, struct zc_extents *b)
{
    struct zc_extents t = *a;

    *a = *b;
    *b = t;
}

bool zc_extents_empty(const struct zc_extents *e)
{
    return e->n == 0;
}

bool zc_extents_cover(const struct zc_extents *e, uint32_t lo, uint32_t hi)
{
    uint32_t i;

    if (lo >= hi)
        return true;
    i = search(e, lo, false);
    return i < e->n && zc_extents_ranges(e)[i].lo <= lo && zc_extents_ranges(e)[i].hi >= hi;
}

bool zc_extents_touch(const struct zc_extents *e, uint32_t lo, uint32_t hi)
{
    struct zc_range r;

    return zc_extents_next(e, lo, hi, &r);
}

bool zc_extents_equal(const struct zc_extents *a, const struct zc_extents *b)
{
    return a->n == b->n &&
           memcmp(zc_extents_ranges(a), zc_extents_ranges(b), a->n * sizeof(struct zc_range)) == 0;
}

bool zc_extents_next(const struct zc_extents *e, uint32_t lo, uint32_t hi, struct zc_range *out)
{
    const struct zc_range *r = zc_extents_ranges(e);
    uint32_t i;

    if (lo >= hi)
        return false;
    i = search(e, lo, false);
    if (i == e->n || r[i].lo >= hi)
        return false;
    out->lo = r[i].lo > lo ? r[i].lo : lo;
    out->hi = r[i].hi < hi ? r[i].hi : hi;
    return true;
}

bool zc_extents_gap(const struct zc_extents *e, uint32_t lo, uint32_t hi, struct zc_range *out)
{
    const struct zc_range *r = zc_extents_ranges(e);
    uint32_t i;

    if (lo >= hi)
        return false;
    i = search(e, lo, false);
    if (i < e->n && r[i].lo <= lo)
        lo = r[i++].hi;
    if (lo >= hi)
        return false;
    out->lo = lo;
    out->hi = i < e->n && r[i].lo < hi ? r[i].lo : hi;
    return true;
}
