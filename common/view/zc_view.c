/* zc_view.c - nodes of a view, the two mappings, predicates of a view.
 *
 * See zc_view.h for how it is stored and zc_view_internal.h for the invariants.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_view_internal.h"

/* ---- nodes ------------------------------------------------------------------------------ */

/* The list of most nodes: one entry at 0. */
static int64_t one_at_zero;

uint32_t zc_vnode_ref(const struct zc_vnode *n, uint32_t i)
{
    uint32_t a = 0, b = n->nrefs;

    while (a < b) {
        uint32_t m = a + (b - a) / 2;

        if (n->refs[m].at >= i)
            b = m;
        else
            a = m + 1;
    }
    return a;
}

uint32_t zc_vnode_find(const struct zc_vnode *n, int64_t x)
{
    const struct zc_vent *e = n->ent;
    uint32_t len = n->n;

    while (len > 1) { /* the answer is among e[0 .. len-1] */
        uint32_t half = len / 2;

        e += e[half].before <= x ? half : 0;
        len -= half;
    }
    return (uint32_t)(e - n->ent);
}

/* Adds up the items, in node; `refs` counts those that are nodes. */
static int measure(const struct zc_vnode *nodes, struct zc_vnode *node, const struct zc_vent *items,
                   uint32_t n, uint32_t *refs)
{
    *node = (struct zc_vnode){.what = items[0].what, .n = n, .monotone = true};
    *refs = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t size = items[i].what, span = size;
        unsigned depth = 0;

        if (size < 0) {
            const struct zc_vnode *child = &nodes[~items[i].what];

            size = zc_vnode_size(child);
            span = zc_vnode_span(child);
            depth = child->depth;
            node->monotone &= child->monotone;
            ++*refs;
        }
        if (items[i].what != node->what)
            node->what = 0;
        if (i > 0 && items[i].off < node->reach)
            node->monotone = false;
        if (items[i].off > ZC_VIEW_LIMIT - span || node->unit > ZC_VIEW_LIMIT - size ||
            depth >= ZC_VIEW_DEPTH)
            return -EOVERFLOW;
        node->unit += size;
        if (items[i].off + span > node->reach)
            node->reach = items[i].off + span;
        if (depth >= node->depth)
            node->depth = (uint16_t)(depth + 1);
    }
    return 0;
}

/* Equal entries need offsets only. */
static void keep_offsets(struct zc_vnode *node, struct zc_vent *items)
{
    int64_t *off = (int64_t *)items, *smaller;

    if (node->n == 1 && items[0].off == 0) {
        free(items);
        node->off = &one_at_zero;
        return;
    }
    for (uint32_t i = 0; i < node->n; i++)
        off[i] = items[i].off;
    smaller = realloc(off, node->n * sizeof(*off));
    node->off = smaller ? smaller : off;
}

int zc_vnode_take(const struct zc_vnode *nodes, struct zc_vnode *node, struct zc_vent *items,
                  uint32_t n)
{
    struct zc_vent *smaller;
    int64_t before = 0;
    uint32_t refs;
    int rc = measure(nodes, node, items, n, &refs);

    if (rc < 0)
        return rc;
    if (node->what != 0) {
        keep_offsets(node, items);
        return 0;
    }
    if (refs > 0) {
        node->refs = malloc(refs * sizeof(*node->refs));
        if (!node->refs)
            return -ENOMEM;
    }
    for (uint32_t i = 0; i < n; i++) {
        zc_vwhat what = items[i].what;

        items[i].before = before;
        before += what > 0 ? what : zc_vnode_size(&nodes[~what]);
        if (what < 0)
            node->refs[node->nrefs++] = (struct zc_vref){i, (uint32_t)~what};
    }
    smaller = realloc(items, n * sizeof(*items));
    node->ent = smaller ? smaller : items;
    return 0;
}

int zc_vnode_close(struct zc_vnode *node, int64_t stride, int64_t count)
{
    int64_t size, way;

    if (__builtin_mul_overflow(node->unit, count, &size) || size > ZC_VIEW_LIMIT ||
        __builtin_mul_overflow(stride, count - 1, &way) || way > ZC_VIEW_LIMIT - node->reach)
        return -EOVERFLOW;
    node->stride = stride;
    node->count = count;
    if (stride < node->reach)
        node->monotone = false;
    return 0;
}

bool zc_vnode_equal(const struct zc_vnode *a, const struct zc_vnode *b)
{
    if (a->stride != b->stride || a->count != b->count || a->n != b->n || a->what != b->what ||
        a->unit != b->unit || a->nrefs != b->nrefs)
        return false;
    if (a->what != 0)
        return memcmp(a->off, b->off, a->n * sizeof(*a->off)) == 0;
    return (a->n == 0 || memcmp(a->ent, b->ent, a->n * sizeof(*a->ent)) == 0) &&
           (a->nrefs == 0 || memcmp(a->refs, b->refs, a->nrefs * sizeof(*a->refs)) == 0);
}

void zc_vnode_free(struct zc_vnode *node)
{
    if (node->what == 0)
        free(node->ent);
    else if (node->off != &one_at_zero)
        free(node->off);
    free(node->refs);
}

static size_t vnode_memory(const struct zc_vnode *n)
{
    size_t list = n->what == 0             ? n->n * sizeof(*n->ent) + n->nrefs * sizeof(*n->refs)
                  : n->off == &one_at_zero ? 0
                                           : n->n * sizeof(*n->off);

    return list + (list > 0 ? 2 * sizeof(void *) : 0); /* what malloc() adds, about */
}

/* ---- views ------------------------------------------------------------------------------ */

static void view_free(struct zc_view *v)
{
    for (uint32_t i = 0; i < v->nnodes; i++)
        zc_vnode_free(&v->nodes[i]);
    free(v->nodes);
    zc_vnode_free(&v->tile);
    free(v);
}

void zc_vtile_free(struct zc_vtile *t)
{
    for (uint32_t i = 0; i < t->nnodes; i++)
        zc_vnode_free(&t->nodes[i]);
    free(t->nodes);
    free(t->items);
}

/* Fills in v->tile; in case of an error the caller keeps the items. */
static int tile_take(struct zc_view *v, struct zc_vtile *t, int64_t extent)
{
    int rc = 0;

    if (t->n == 0) {
        free(t->items);
        v->tile = (struct zc_vnode){.monotone = true, .depth = 1};
    } else {
        v->lower = t->items[0].off;
        for (uint32_t i = 0; i < t->n; i++)
            t->items[i].off -= v->lower;
        rc = zc_vnode_take(t->nodes, &v->tile, t->items, t->n);
    }
    if (rc < 0)
        return rc;
    v->tile.stride = extent;
    v->tile.count = INT64_MAX;
    v->monotone = v->tile.monotone && (t->n == 0 || extent >= v->tile.reach);
    v->contiguous = t->n == 1 && v->tile.what == extent;
    v->nodes = t->nodes;
    v->nnodes = t->nnodes;
    return 0;
}

int zc_view_assemble(struct zc_vtile *t, int64_t extent, struct zc_view **out)
{
    struct zc_view *v = calloc(1, sizeof(*v));
    int rc = v ? tile_take(v, t, extent) : -ENOMEM;

    if (rc < 0) {
        zc_vtile_free(t);
        free(v);
        return rc;
    }
    v->references = 1;
    v->memory = sizeof(*v) + v->nnodes * sizeof(*v->nodes) + vnode_memory(&v->tile);
    for (uint32_t i = 0; i < v->nnodes; i++)
        v->memory += vnode_memory(&v->nodes[i]);
    *out = v;
    return 0;
}

struct zc_view *zc_view_get(struct zc_view *v)
{
    __atomic_fetch_add(&v->references, 1, __ATOMIC_RELAXED);
    return v;
}

void zc_view_put(struct zc_view *v)
{
    if (v && __atomic_sub_fetch(&v->references, 1, __ATOMIC_ACQ_REL) == 0)
        view_free(v);
}

int64_t zc_view_size(const struct zc_view *v)
{
    return v->tile.unit;
}

int64_t zc_view_extent(const struct zc_view *v)
{
    return v->tile.stride;
}

int64_t zc_view_lower(const struct zc_view *v)
{
    return v->lower;
}

int64_t zc_view_upper(const struct zc_view *v)
{
    return v->lower + v->tile.reach;
}

bool zc_view_contiguous(const struct zc_view *v)
{
    return v->contiguous;
}

bool zc_view_monotone(const struct zc_view *v)
{
    return v->monotone;
}

size_t zc_view_memory(const struct zc_view *v)
{
    return v->memory;
}

struct zc_view_hash zc_view_hash(const struct zc_view *v)
{
    return v->hash;
}

/* ---- mappings --------------------------------------------------------------------------- */

/* Returns where visible byte x < unit of the list lies, from the start of the list. */
static int64_t list_to_file(const struct zc_vnode *nodes, const struct zc_vnode *n, int64_t x)
{
    int64_t at = 0;

    for (;;) {
        const struct zc_vnode *child;
        zc_vwhat what = n->what;
        int64_t copy;

        if (what != 0) {
            int64_t i = 0;

            if (n->n > 1) {
                int64_t each = zc_vnode_each(nodes, n);

                i = x / each;
                x -= i * each;
            }
            at += n->off[i];
        } else {
            uint32_t i = zc_vnode_find(n, x), r = zc_vnode_ref(n, i);

            x -= n->ent[i].before;
            at += n->ent[i].off;
            what = r < n->nrefs && n->refs[r].at == i ? ~(zc_vwhat)n->refs[r].node : 1;
        }
        if (what > 0)
            return at + x;
        child = &nodes[~what];
        copy = x / child->unit;
        at += copy * child->stride;
        x -= copy * child->unit;
        n = child;
    }
}

/* Finds the last entry at or before file byte x >= 0 of the list. */
static uint32_t last_at(const struct zc_vnode *n, int64_t x)
{
    /* offsets are one word apart, or two when they sit in entries */
    const size_t step = n->what != 0 ? 1 : sizeof(struct zc_vent) / sizeof(int64_t);
    const int64_t *off = n->what != 0 ? n->off : &n->ent[0].off;
    uint32_t i = 0, len = n->n;

    while (len > 1) {
        uint32_t half = len / 2;

        i += off[(i + half) * step] <= x ? half : 0;
        len -= half;
    }
    return i;
}

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Counts the visible bytes of the list before its file byte x >= 0; the list is monotone. */
static int64_t list_before(const struct zc_vnode *nodes, const struct zc_vnode *n, int64_t x)
{
    int64_t sum = 0;

    while (x < n->reach) {
        const struct zc_vnode *child;
        uint32_t i = last_at(n, x), r;
        int64_t piece, copy;

        if (n->what != 0) {
            x -= n->off[i];
            if (n->what > 0)
                return sum + i * n->what + min64(x, n->what);
            child = &nodes[~n->what];
            sum += i * zc_vnode_size(child);
        } else {
            x -= n->ent[i].off;
            sum += n->ent[i].before;
            piece = zc_vnode_before(n, i + 1) - n->ent[i].before;
            r = zc_vnode_ref(n, i);
            if (r == n->nrefs || n->refs[r].at != i)
                return sum + min64(x, piece);
            child = &nodes[n->refs[r].node];
        }
        copy = min64(x / child->stride, child->count - 1);
        sum += copy * child->unit;
        x -= copy * child->stride;
        n = child;
    }
    return sum + n->unit;
}

int zc_view_to_file(const struct zc_view *v, int64_t disp, int64_t view_off, int64_t *file_off)
{
    int64_t tile, at;

    if (disp < 0 || view_off < 0)
        return -EINVAL;
    if (v->tile.n == 0)
        return -ERANGE;
    tile = view_off / v->tile.unit;
    at = v->lower + list_to_file(v->nodes, &v->tile, view_off - tile * v->tile.unit);
    if (!zc_view_sum(v, disp, tile, at, &at))
        return -EOVERFLOW;
    *file_off = at;
    return 0;
}

int zc_view_before(const struct zc_view *v, int64_t disp, int64_t file_off, int64_t *view_off)
{
    const struct zc_vnode *t = &v->tile;
    uint64_t extent = (uint64_t)t->stride, way, tile;

    if (disp < 0)
        return -EINVAL;
    if (!v->monotone)
        return -ENOTSUP;
    *view_off = 0;
    if (t->n == 0 || __builtin_sub_overflow(file_off, disp, &file_off) || file_off <= v->lower)
        return 0; /* the difference overflows downwards only: disp >= 0 */
    way = (uint64_t)file_off - (uint64_t)v->lower; /* < 2^63 + 2^62 */
    tile = way / extent;
    way -= tile * extent;
    /* size <= reach <= extent, so the sum is at most the way from the first byte */
    tile = tile * (uint64_t)t->unit + (uint64_t)list_before(v->nodes, t, (int64_t)way);
    *view_off = tile > INT64_MAX ? INT64_MAX : (int64_t)tile;
    return 0;
}
