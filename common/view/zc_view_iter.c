/* zc_view_iter.c - walking along a view.
 *
 * Invariant between calls: the top frame's entry i < n is a piece, `skip` bytes of which are
 * behind us; every frame below stands on the entry that is the node of the frame above.
 * The tile's frame is the bottom one and its copies never end.
 */
#include "config.h"

#include <errno.h>

#include "zc_view_internal.h"

/* Returns what frame f stands on. */
static zc_vwhat current(const struct zc_view_frame *f)
{
    const struct zc_vnode *n = f->node;

    if (n->what != 0)
        return n->what;
    if (f->r < n->nrefs && n->refs[f->r].at == f->i)
        return ~(zc_vwhat)n->refs[f->r].node;
    return zc_vnode_before(n, f->i + 1) - n->ent[f->i].before;
}

static int64_t entry_off(const struct zc_view_frame *f)
{
    return f->node->what != 0 ? f->node->off[f->i] : f->node->ent[f->i].off;
}

/* Checks that tile `base` lies within int64_t as a whole; else the walk ends before it. */
static bool tile_fits(const struct zc_vnode *tile, int64_t base)
{
    return base <= INT64_MAX - tile->reach;
}

/* Goes on, after f[depth].i went up, to the next piece, which may be in another node. */
static void settle(struct zc_view_iter *it)
{
    for (;;) {
        struct zc_view_frame *f = &it->f[it->depth];
        zc_vwhat what;

        if (f->i == f->node->n) {
            f->i = f->r = 0;
            f->copy++;
            if (it->depth > 0 && f->copy == f->node->count) {
                f--;
                it->depth--;
                f->i++;
                f->r += f->node->what == 0;
                continue;
            }
            if (__builtin_add_overflow(f->base, f->node->stride, &f->base) ||
                (it->depth == 0 && !tile_fits(f->node, f->base))) {
                it->error = -EOVERFLOW;
                return;
            }
        }
        what = current(f);
        if (what > 0)
            return;
        it->depth++;
        it->f[it->depth] =
            (struct zc_view_frame){.node = &it->view->nodes[~what], .base = f->base + entry_off(f)};
    }
}

/* Puts the top frame on visible byte x < unit of its list; returns the rest of x inside. */
static int64_t seek_entry(const struct zc_view *v, struct zc_view_frame *f, int64_t x)
{
    const struct zc_vnode *n = f->node;

    if (n->what == 0) {
        f->i = zc_vnode_find(n, x);
        f->r = zc_vnode_ref(n, f->i);
        return x - n->ent[f->i].before;
    }
    f->i = 0;
    if (n->n > 1) {
        int64_t each = zc_vnode_each(v->nodes, n);

        f->i = (uint32_t)(x / each);
        x -= f->i * each;
    }
    return x;
}

int zc_view_start(struct zc_view_iter *it, const struct zc_view *v, int64_t disp, int64_t view_off)
{
    struct zc_view_frame *f = it->f;
    const struct zc_vnode *tile = &v->tile;
    int64_t x = view_off;
    zc_vwhat what;

    it->view = v;
    it->depth = 0;
    it->error = 0;
    if (disp < 0 || view_off < 0)
        return it->error = -EINVAL;
    if (tile->n == 0)
        return it->error = -ERANGE;
    *f = (struct zc_view_frame){.node = tile, .copy = x / tile->unit};
    x -= f->copy * tile->unit;
    if (!zc_view_sum(v, disp, f->copy, v->lower, &f->base) || !tile_fits(tile, f->base))
        return it->error = -EOVERFLOW;
    for (;;) {
        const struct zc_vnode *child;

        x = seek_entry(v, f, x);
        what = current(f);
        if (what > 0)
            break;
        child = &v->nodes[~what];
        f[1] = (struct zc_view_frame){.node = child, .copy = x / child->unit};
        f[1].base = f->base + entry_off(f) + f[1].copy * child->stride;
        x -= f[1].copy * child->unit;
        f++;
        it->depth++;
    }
    it->skip = x;
    return 0;
}

/* Takes part of one piece, or all of it. */
static inline void take_piece(struct zc_view_iter *it, int64_t len, int64_t max,
                              struct zc_vchunk *c)
{
    struct zc_view_frame *f = &it->f[it->depth];
    int64_t rest = len - it->skip, n = rest < max ? rest : max;

    *c = (struct zc_vchunk){
        .off = f->base + entry_off(f) + it->skip, .len = n, .count = 1, .bytes = n, .rows = 1};
    if (n < rest) {
        it->skip += n;
        return;
    }
    it->skip = 0;
    f->i++;
    settle(it);
}

/* Counts copies of frame f's list, this one included, up to `most`. */
static inline int64_t copies_left(const struct zc_view_iter *it, const struct zc_view_frame *f,
                                  int64_t most)
{
    const struct zc_vnode *n = f->node;
    uint64_t more; /* after this one */

    if (f != it->f)
        more = (uint64_t)(n->count - f->copy - 1);
    else /* tiles below INT64_MAX; the base may be negative */
        more = ((uint64_t)INT64_MAX - (uint64_t)n->reach - (uint64_t)f->base) / (uint64_t)n->stride;
    return (uint64_t)(most - 1) < more ? most : (int64_t)more + 1;
}

static inline void pass_copies(struct zc_view_frame *f, int64_t n)
{
    f->copy += n;
    f->base += n * f->node->stride;
}

/* Takes a chunk that is all of frame f's list, and short: as many copies of it as fit.  The frame
 * then stands on the last. */
static inline void add_rows(struct zc_view_iter *it, struct zc_view_frame *f, int64_t max,
                            struct zc_vchunk *c)
{
    enum { SHORT = 64 };

    if (c->count > SHORT || c->bytes > max / 2)
        return;
    c->rows = copies_left(it, f, max / c->bytes);
    c->row_stride = f->node->stride;
    pass_copies(f, c->rows - 1);
}

/* Takes the whole pieces that fit, of a node that has one piece in its list. */
static inline void take_run(struct zc_view_iter *it, int64_t len, int64_t max, struct zc_vchunk *c)
{
    struct zc_view_frame *f = &it->f[it->depth];
    const struct zc_vnode *n = f->node;
    int64_t count;

    if (it->depth > 0 && (n->count - f->copy) * len <= max)
        count = n->count - f->copy;
    else
        count = copies_left(it, f, max / len);
    *c = (struct zc_vchunk){.off = f->base + n->off[0],
                            .len = len,
                            .stride = n->stride,
                            .count = count,
                            .bytes = count * len,
                            .rows = 1};
    if (it->depth > 0 && count == n->count && f[-1].node->n == 1)
        add_rows(it, f - 1, max, c);
    pass_copies(f, count - 1);
    f->i = 1;
    settle(it);
}

/* Takes the whole pieces that fit, of a list of equal ones. */
static inline void take_equal(struct zc_view_iter *it, int64_t len, int64_t max,
                              struct zc_vchunk *c)
{
    struct zc_view_frame *f = &it->f[it->depth];
    int64_t count = f->node->n - f->i;

    if (count * len > max) /* no overflow: it is part of a unit */
        count = max / len;
    *c = (struct zc_vchunk){.off = f->base,
                            .len = len,
                            .count = count,
                            .bytes = count * len,
                            .offs = f->node->off + f->i,
                            .rows = 1};
    if (count == f->node->n)
        add_rows(it, f, max, c);
    f->i += (uint32_t)count;
    settle(it);
}

/* Finds the entry after those that start at f->i and have at most `max` bytes; they are pieces. */
static uint32_t mixed_end(const struct zc_view_frame *f, int64_t max)
{
    const struct zc_vnode *n = f->node;
    int64_t start = n->ent[f->i].before;
    uint32_t end = f->r < n->nrefs ? n->refs[f->r].at : n->n, a = f->i + 1;

    if (zc_vnode_before(n, end) - start <= max)
        return end;
    while (a + 1 < end) { /* the last one whose `before` is within reach */
        uint32_t m = a + (end - a) / 2;

        if (n->ent[m].before - start <= max)
            a = m;
        else
            end = m;
    }
    return a;
}

/* Takes the whole pieces that fit, up to the next node of the list; the first one fits. */
static inline void take_mixed(struct zc_view_iter *it, int64_t max, struct zc_vchunk *c)
{
    struct zc_view_frame *f = &it->f[it->depth];
    const struct zc_vnode *n = f->node;
    uint32_t end = mixed_end(f, max);

    *c = (struct zc_vchunk){.off = f->base,
                            .count = end - f->i,
                            .ents = n->ent + f->i,
                            .bytes = zc_vnode_before(n, end) - n->ent[f->i].before,
                            .rows = 1};
    if (c->count == n->n)
        add_rows(it, f, max, c);
    f->i = end;
    settle(it);
}

/* A contiguous view has one frame, whose base moves. */
static inline int take_contiguous(struct zc_view_iter *it, int64_t max, struct zc_vchunk *c)
{
    int64_t at = it->f[0].base + it->skip, rest = at < 0 ? INT64_MAX : INT64_MAX - at;

    if (rest == 0)
        return -EOVERFLOW;
    if (max > rest)
        max = rest;
    *c = (struct zc_vchunk){.off = at, .len = max, .count = 1, .bytes = max, .rows = 1};
    it->f[0].base = at + max;
    it->skip = 0;
    return 0;
}

static inline int take(struct zc_view_iter *it, int64_t max, bool one_piece, struct zc_vchunk *c)
{
    const struct zc_view_frame *f = &it->f[it->depth];
    int64_t len;

    if (it->error < 0)
        return it->error;
    if (it->view->contiguous)
        return take_contiguous(it, max, c);
    len = current(f);
    if (it->skip > 0 || len > max || one_piece)
        take_piece(it, len, max, c);
    else if (f->node->n == 1)
        take_run(it, len, max, c);
    else if (f->node->what > 0)
        take_equal(it, len, max, c);
    else
        take_mixed(it, max, c);
    return 0;
}

int zc_view_chunk(struct zc_view_iter *it, int64_t max, struct zc_vchunk *c)
{
    return take(it, max, false, c);
}

int zc_view_next(struct zc_view_iter *it, int64_t max, int64_t *file_off, int64_t *len)
{
    struct zc_vchunk c;
    int rc = max > 0 ? take(it, max, true, &c) : -EINVAL;

    if (rc == 0) {
        *file_off = c.off;
        *len = c.len;
    }
    return rc;
}
