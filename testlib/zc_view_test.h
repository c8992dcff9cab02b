/* zc_view_test.h - views out of arrays, and comparisons of views, for tests. */
#ifndef ZC_VIEW_TEST_H
#define ZC_VIEW_TEST_H

#include "zc_view.h"

/* Makes a view of `n` pieces, as a builder does (zc_view.h); the arrays stay the caller's. */
int zc_view_create(const int64_t *off, const int64_t *len, size_t n, int64_t extent,
                   struct zc_view **v);

/* Whether both have the same nodes; O(entries).  Their hashes are the same then. */
bool zc_view_equal(const struct zc_view *a, const struct zc_view *b);

/* Returns the number of nodes and of entries of their lists. */
size_t zc_view_nodes(const struct zc_view *v);

#endif
