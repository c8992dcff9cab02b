/* zc_view_test.c - views out of arrays, and comparisons of views. */
#include "config.h"

#include "zc_view_internal.h"
#include "zc_view_test.h"

int zc_view_create(const int64_t *off, const int64_t *len, size_t n, int64_t extent,
                   struct zc_view **v)
{
    struct zc_view_builder *b;
    int rc = zc_view_builder_create(&b);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = zc_view_add(b, off[i], len[i]);
    return zc_view_finish(b, extent, v); /* returns the builder's first error */
}

bool zc_view_equal(const struct zc_view *a, const struct zc_view *b)
{
    if (a == b)
        return true;
    if (a->hash.low != b->hash.low || a->hash.high != b->hash.high || a->lower != b->lower ||
        a->nnodes != b->nnodes || !zc_vnode_equal(&a->tile, &b->tile))
        return false;
    for (uint32_t i = 0; i < a->nnodes; i++) {
        if (!zc_vnode_equal(&a->nodes[i], &b->nodes[i]))
            return false;
    }
    return true;
}

size_t zc_view_nodes(const struct zc_view *v)
{
    size_t n = v->tile.n;

    for (uint32_t i = 0; i < v->nnodes; i++)
        n += 1 + v->nodes[i].n;
    return n;
}
