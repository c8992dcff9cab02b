/* zc_view_build.c - checks pieces, merges adjacent ones, and makes the view of them.
 *
 * The last piece is held back, for the next one may touch it.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "zc_log.h"
#include "zc_view_internal.h"

struct zc_view_builder {
    int error;        /* what all later calls return */
    int64_t last_off; /* of the last piece added, merged or not */
    int64_t off, len; /* the piece held back; len == 0: none was added yet */
    struct zc_vfold *fold;
};

int zc_view_builder_create(struct zc_view_builder **out)
{
    struct zc_view_builder *b = calloc(1, sizeof(*b));

    if (b)
        b->fold = zc_vfold_create();
    if (!b || !b->fold) {
        free(b);
        return -ENOMEM;
    }
    b->last_off = INT64_MIN;
    *out = b;
    return 0;
}

void zc_view_builder_destroy(struct zc_view_builder *b)
{
    if (!b)
        return;
    zc_vfold_destroy(b->fold);
    free(b);
}

/* ---- pieces ----------------------------------------------------------------------------- */

static int check_piece(const struct zc_view_builder *b, int64_t off, int64_t len)
{
    if (len < 0)
        return zc_errorf(EINVAL, "filetype: a piece of %" PRId64 " bytes", len);
    if (len > ZC_VIEW_LIMIT || off < -ZC_VIEW_LIMIT || off > ZC_VIEW_LIMIT - len)
        return zc_errorf(EOVERFLOW, "filetype: %" PRId64 " bytes at %" PRId64 " are too far out",
                         len, off);
    if (off < b->last_off)
        return zc_errorf(
            EINVAL, "filetype: offsets decrease (%" PRId64 " after %" PRId64 "), which MPI forbids",
            off, b->last_off);
    return 0;
}

/* A checked piece. */
static int add(struct zc_view_builder *b, int64_t off, int64_t len)
{
    int rc = 0;

    b->last_off = off;
    if (b->len > 0 && off == b->off + b->len) {
        if (b->len > ZC_VIEW_LIMIT - len)
            return zc_errorf(EOVERFLOW, "filetype: a piece is too long");
        b->len += len;
        return 0;
    }
    if (b->len > 0)
        rc = zc_vfold_add(b->fold, b->off, b->len);
    b->off = off;
    b->len = len;
    return rc;
}

int zc_view_add(struct zc_view_builder *b, int64_t off, int64_t len)
{
    int rc = b->error;

    if (rc < 0 || len == 0)
        return rc;
    rc = check_piece(b, off, len);
    if (rc == 0)
        rc = add(b, off, len);
    b->error = rc;
    return rc;
}

static int check_run(int64_t off, int64_t len, int64_t stride, int64_t count)
{
    int64_t way, end;

    if (len < 0 || count < 0 || stride < 0)
        return zc_errorf(EINVAL, "filetype: %" PRId64 " pieces of %" PRId64 " bytes every %" PRId64,
                         count, len, stride);
    if (len > ZC_VIEW_LIMIT || __builtin_mul_overflow(stride, count - 1, &way) ||
        __builtin_add_overflow(off, way, &end) || way > ZC_VIEW_LIMIT || end > ZC_VIEW_LIMIT - len)
        return zc_errorf(EOVERFLOW,
                         "filetype: %" PRId64 " pieces every %" PRId64 " bytes are too far out",
                         count, stride);
    return 0;
}

int zc_view_add_run(struct zc_view_builder *b, int64_t off, int64_t len, int64_t stride,
                    int64_t count)
{
    if (b->error < 0 || len == 0 || count == 0)
        return b->error;
    b->error = check_run(off, len, stride, count);
    if (b->error == 0 && stride == len)
        return zc_view_add(b, off, len * count);
    for (;;) {
        int rc = zc_view_add(b, off, len);

        if (rc < 0 || --count == 0)
            return rc;
        off += stride;
        /* the piece held back, and all to come but the last */
        if (b->len == len && zc_vfold_absorb(b->fold, b->off, len, stride, count)) {
            b->off = b->last_off = off + (count - 1) * stride;
            return 0;
        }
    }
}

/* ---- when few pieces repeat ------------------------------------------------------------- */

/* What a node has at the bottom: `pieces` of `len` bytes each, or len == 0. */
struct bottom {
    int64_t len, pieces;
};

static struct bottom bottom_of(const struct bottom *known, zc_vwhat what)
{
    return what > 0 ? (struct bottom){what, 1} : known[~what];
}

/* Of each node, lowest first; counts stay below ZC_VIEW_LIMIT, as sizes do. */
static void find_bottoms(const struct zc_vtile *t, struct bottom *known)
{
    for (uint32_t i = 0; i < t->nnodes; i++) {
        const struct zc_vnode *n = &t->nodes[i];

        known[i] = (struct bottom){0, 0};
        if (n->what != 0) { /* lists that differ are rare enough to be left as they are */
            known[i] = bottom_of(known, n->what);
            known[i].pieces *= n->n * n->count;
        }
    }
}

/* Writes the pieces of an entry that lies at `off`. */
static struct zc_vent *expand(const struct zc_vnode *nodes, zc_vwhat what, int64_t off,
                              struct zc_vent *to)
{
    const struct zc_vnode *n;

    if (what > 0) {
        *to = (struct zc_vent){.off = off, .what = what};
        return to + 1;
    }
    n = &nodes[~what];
    for (int64_t c = 0; c < n->count; c++) {
        for (uint32_t i = 0; i < n->n; i++)
            to = expand(nodes, n->what, off + c * n->stride + n->off[i], to);
    }
    return to;
}

/* Replaces nodes of few pieces by these, where all items are then equal pieces, which need 8 bytes
 * each instead of 16. */
static void expand_few(struct zc_vtile *t)
{
    struct bottom *known = t->nnodes ? malloc(t->nnodes * sizeof(*known)) : NULL;
    struct zc_vent *items;
    uint64_t total = 0, end;
    int64_t len;

    if (!known)
        return; /* without memory the items stay as they are */
    find_bottoms(t, known);
    len = bottom_of(known, t->items[0].what).len;
    for (uint32_t i = 0; i < t->n && len > 0; i++) {
        struct bottom b = bottom_of(known, t->items[i].what);

        total += (uint64_t)b.pieces;
        if (b.len != len || total > 2 * (uint64_t)t->n || total > UINT32_MAX)
            len = 0;
    }
    items = len > 0 ? realloc(t->items, total * sizeof(*items)) : NULL;
    if (items) {
        end = total;
        for (uint32_t i = t->n; i-- > 0;) { /* from the back, so that nothing is in the way */
            struct zc_vent it = items[i];

            end -= (uint64_t)bottom_of(known, it.what).pieces;
            expand(t->nodes, it.what, it.off, items + end);
        }
        for (uint32_t i = 0; i < t->nnodes; i++)
            zc_vnode_free(&t->nodes[i]);
        free(t->nodes);
        *t = (struct zc_vtile){NULL, 0, items, (uint32_t)total};
    }
    free(known);
}

/* ---- the view --------------------------------------------------------------------------- */

static int finish(struct zc_view_builder *b, int64_t extent, struct zc_view **v)
{
    struct zc_vnode *nodes;
    struct zc_vtile t;
    int rc = b->error;

    if (rc < 0)
        return rc;
    if (extent < 0 || extent > ZC_VIEW_LIMIT || (extent == 0 && b->len > 0))
        return zc_errorf(EINVAL, "filetype: its extent is %" PRId64 " bytes", extent);
    if (b->len > 0)
        rc = zc_vfold_add(b->fold, b->off, b->len);
    if (rc == 0)
        rc = zc_vfold_end(b->fold, &t);
    if (rc == 0) {
        expand_few(&t);
        nodes = t.nnodes ? realloc(t.nodes, t.nnodes * sizeof(*nodes)) : NULL;
        t.nodes = nodes ? nodes : t.nodes;
        rc = zc_view_assemble(&t, extent, v);
        if (rc == 0)
            zc_view_seal(*v);
    }
    if (rc == -EOVERFLOW)
        rc = zc_errorf(EOVERFLOW, "filetype: its pieces are too many or too far apart");
    return rc;
}

int zc_view_finish(struct zc_view_builder *b, int64_t extent, struct zc_view **v)
{
    int rc = finish(b, extent, v);

    zc_view_builder_destroy(b);
    return rc;
}
