/* test_view.h - a view as a flat list of pieces, and random ones: what the tests believe.
 *
 * A model is filled with put() in any partition; settle() drops empty pieces and merges
 * adjacent ones, as the view does.  All look-ups are linear.
 */
#ifndef TEST_VIEW_H
#define TEST_VIEW_H

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check_main.h"
#include "splitmix.h"
#include "zc_view.h"

/* ck_assert() tells the parent process each time, which is too slow for millions. */
#define REQUIRE(x)                                                                                 \
    do {                                                                                           \
        if (!(x))                                                                                  \
            ck_abort_msg("%s (seed %" PRIu64 ")", #x, model_seed);                                 \
    } while (0)

void add_wire_cases(Suite *s); /* of test_view_wire.c */

struct piece {
    int64_t off, len;
};

struct model {
    struct piece *p;
    size_t n, cap;
    int64_t extent, size;
};

static uint64_t model_seed, rng_state;

static inline uint64_t rng(void)
{
    return splitmix(&rng_state);
}

/* 0 <= x < n, and lo <= x <= hi. */
static inline int64_t below(int64_t n)
{
    return (int64_t)(rng() % (uint64_t)n);
}

static inline int64_t between(int64_t lo, int64_t hi)
{
    return lo + below(hi - lo + 1);
}

static inline void seed(uint64_t s)
{
    model_seed = s;
    rng_state = s * 1000003;
}

static inline void put(struct model *m, int64_t off, int64_t len)
{
    if (m->n == m->cap) {
        m->cap = m->cap ? 2 * m->cap : 64;
        m->p = realloc(m->p, m->cap * sizeof(*m->p));
    }
    m->p[m->n++] = (struct piece){off, len};
}

static inline void model_free(struct model *m)
{
    free(m->p);
    *m = (struct model){0};
}

static inline void settle(struct model *m)
{
    size_t n = 0;

    m->size = 0;
    for (size_t i = 0; i < m->n; i++) {
        struct piece p = m->p[i];

        m->size += p.len;
        if (p.len > 0 && n > 0 && m->p[n - 1].off + m->p[n - 1].len == p.off)
            m->p[n - 1].len += p.len;
        else if (p.len > 0)
            m->p[n++] = p;
    }
    m->n = n;
}

static inline int64_t lower(const struct model *m)
{
    return m->n ? m->p[0].off : 0;
}

static inline int64_t upper(const struct model *m)
{
    int64_t u = INT64_MIN;

    for (size_t i = 0; i < m->n; i++)
        u = m->p[i].off + m->p[i].len > u ? m->p[i].off + m->p[i].len : u;
    return m->n ? u : 0;
}

/* No overlap inside a tile, nor between two of them. */
static inline bool monotone(const struct model *m)
{
    int64_t end = INT64_MIN;

    for (size_t i = 0; i < m->n; i++) {
        if (m->p[i].off < end)
            return false;
        end = m->p[i].off + m->p[i].len;
    }
    return m->n == 0 || m->extent >= upper(m) - lower(m);
}

/* The piece that holds visible byte x, and how many bytes of it are behind x. */
static inline struct piece at_view(const struct model *m, int64_t x, int64_t *behind)
{
    int64_t tile = x / m->size;
    size_t i = 0;

    for (x %= m->size; x >= m->p[i].len; i++)
        x -= m->p[i].len;
    *behind = x;
    return (struct piece){m->p[i].off + tile * m->extent, m->p[i].len};
}

/* Visible bytes before file byte x, displacement 0, of a monotone model. */
static inline int64_t count_before(const struct model *m, int64_t x)
{
    int64_t sum = 0, tile = x > lower(m) ? (x - lower(m)) / m->extent : 0;

    for (size_t i = 0; i < m->n; i++) {
        int64_t n = x - (m->p[i].off + tile * m->extent);

        sum += n <= 0 ? 0 : n < m->p[i].len ? n : m->p[i].len;
    }
    return sum + tile * m->size;
}

/* ---- random shapes: pieces from `at` on, of at most `most` pieces; return the end ---------- */

static inline int64_t random_len(void)
{
    static const int64_t usual[] = {1, 2, 4, 8, 8, 8, 12, 16, 24, 64};

    return below(4) ? usual[below(10)] : between(1, 40);
}

/* A subarray of a row-major array, as MPI_Type_create_subarray() makes it. */
static inline int64_t subarray(struct model *m, int64_t at, int dims, const int64_t *full,
                               const int64_t *sub, const int64_t *start, int64_t elem)
{
    int64_t i[4] = {0}, whole = elem;

    for (int d = 0; d < dims; d++)
        whole *= full[d];
    for (bool more = true; more;) {
        int64_t off = 0;

        for (int d = 0; d < dims; d++)
            off = off * full[d] + start[d] + i[d];
        put(m, at + off * elem, elem * sub[dims - 1]);
        more = false;
        for (int d = dims - 2; d >= 0 && !more; d--) {
            more = ++i[d] < sub[d];
            i[d] = more ? i[d] : 0;
        }
    }
    return at + whole;
}

static inline int64_t random_subarray(struct model *m, int64_t at, int dims)
{
    int64_t full[4], sub[4], start[4];

    for (int d = 0; d < dims; d++) {
        full[d] = between(1, dims < 3 ? 25 : 9);
        sub[d] = between(1, full[d]);
        start[d] = between(0, full[d] - sub[d]);
    }
    return subarray(m, at, dims, full, sub, start, random_len());
}

static inline int64_t random_irregular(struct model *m, int64_t at, bool same_len)
{
    int64_t len = random_len(), n = between(1, 120), steady = 0, gap = 0;

    for (int64_t i = 0; i < n; i++) {
        if (steady-- <= 0) { /* now and then a few that are equally spaced */
            gap = below(4) ? between(1, 30) : 0;
            steady = below(30) ? 0 : between(8, 14);
        }
        put(m, at, same_len ? len : random_len());
        at += m->p[m->n - 1].len + gap;
    }
    return at;
}

/* Copies of what is in m from piece `first` on, as a vector of it would have them. */
static inline int64_t repeat(struct model *m, size_t first, int64_t span, int64_t count)
{
    size_t n = m->n - first;
    int64_t stride = span + (below(3) ? between(0, 40) : 0);

    for (int64_t c = 1; c < count; c++) {
        for (size_t i = 0; i < n; i++)
            put(m, m->p[first + i].off + c * stride, m->p[first + i].len);
    }
    return stride * (count - 1) + span;
}

static inline int64_t random_shape(struct model *m, int64_t at, int depth)
{
    size_t first = m->n;
    int64_t end = at, kind = below(depth > 0 ? 10 : 5);

    switch (kind) {
    case 0:
        put(m, at, random_len());
        return at + m->p[m->n - 1].len;
    case 1: /* from one dimension to four */
    case 2:
        return random_subarray(m, at, (int)between(1, 4));
    case 3:
        return random_irregular(m, at, true);
    case 4:
        return random_irregular(m, at, false);
    case 5: /* one after the other */
    case 6:
        for (int64_t n = between(2, 4); n > 0; n--)
            end = random_shape(m, end + between(0, 9), depth - 1);
        return end;
    default:
        end = random_shape(m, at, depth - 1);
        return at + repeat(m, first, end - at, m->n - first < 300 ? between(2, 20) : 2);
    }
}

/* A whole view: shape, lower bound, extent. */
static inline void random_model(struct model *m)
{
    int64_t at = below(3) ? 0 : between(-300, 300), span;

    random_shape(m, at, 3);
    if (below(12) == 0) { /* pieces that overlap */
        for (size_t i = 1; i < m->n; i++)
            m->p[i].off -= m->p[i].off > m->p[i - 1].off ? 1 : 0;
    }
    settle(m);
    span = upper(m) - lower(m);
    switch (below(5)) {
    case 0:
        m->extent = span;
        break;
    case 1:
        m->extent = between(1, span);
        break;
    default:
        m->extent = span + between(0, 60);
        break;
    }
}

/* The view of a model, added piece by piece. */
static inline struct zc_view *view_of(const struct model *m)
{
    struct zc_view_builder *b;
    struct zc_view *v;

    REQUIRE(zc_view_builder_create(&b) == 0);
    for (size_t i = 0; i < m->n; i++)
        REQUIRE(zc_view_add(b, m->p[i].off, m->p[i].len) == 0);
    REQUIRE(zc_view_finish(b, m->extent, &v) == 0);
    return v;
}

/* ---- what it is, and the mappings --------------------------------------------------------- */

static inline void same_shape(const struct model *m, const struct zc_view *v)
{
    REQUIRE(zc_view_size(v) == m->size);
    REQUIRE(zc_view_extent(v) == m->extent);
    REQUIRE(zc_view_lower(v) == lower(m));
    REQUIRE(zc_view_upper(v) == upper(m));
    REQUIRE(zc_view_monotone(v) == monotone(m));
    REQUIRE(zc_view_contiguous(v) == (m->n == 1 && m->p[0].len == m->extent));
    REQUIRE(zc_view_memory(v) <= 16 * m->n + 512);
    REQUIRE(zc_view_encoded(v) <= 16 * m->n + 64);
}

static inline void same_to_file(const struct model *m, const struct zc_view *v, int64_t disp,
                                int64_t x)
{
    int64_t off = -1, behind;
    struct piece p = at_view(m, x, &behind);

    REQUIRE(zc_view_to_file(v, disp, x, &off) == 0);
    REQUIRE(off == disp + p.off + behind);
}

static inline void same_before(const struct model *m, const struct zc_view *v, int64_t disp,
                               int64_t off)
{
    int64_t x = -1;

    REQUIRE(zc_view_before(v, disp, disp + off, &x) == 0);
    REQUIRE(x == count_before(m, off));
}

static inline void same_mappings(const struct model *m, const struct zc_view *v)
{
    int64_t disp = below(2) ? 0 : below(1000000), x = 0, unused;
    bool mono = monotone(m);
    size_t step = m->n > 200 ? m->n / 100 : 1; /* the model is slow */

    for (size_t i = 0; i < m->n; x += m->p[i++].len) {
        if (i % step != 0)
            continue;
        for (int64_t tile = 0; tile < 3; tile++) {
            int64_t off = m->p[i].off + tile * m->extent, len = m->p[i].len;

            same_to_file(m, v, disp, tile * m->size + x);
            same_to_file(m, v, disp, tile * m->size + x + len - 1);
            for (int64_t d = -1; d <= 1 && mono; d++) {
                same_before(m, v, disp, off + d);
                same_before(m, v, disp, off + len + d);
            }
        }
    }
    for (int i = 0; i < 50; i++) {
        same_to_file(m, v, disp, below(m->size * (1 + below(1000))));
        if (mono)
            same_before(m, v, disp, lower(m) + between(-100, m->extent * (1 + below(1000))));
    }
    if (!mono)
        REQUIRE(zc_view_before(v, disp, 0, &unused) == -ENOTSUP);
}

#endif
