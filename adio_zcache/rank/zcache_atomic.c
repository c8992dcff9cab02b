/* zcache_atomic.c - accesses in atomic mode.
 *
 * Each holds a lock, which the file's first aggregator keeps (zcache_coord.h), on the bytes from
 * its first to its last.
 */
#include "config.h"

#include <stdio.h>

#include "zc_error.h"
#include "zc_log.h"
#include "zcache_atomic.h"
#include "zcache_coord.h"

/* All of a view whose tiles reach into each other. */
static void range_of(const struct zcache_access *a, int64_t *off, int64_t *len)
{
    int64_t last;

    *off = a->disp;
    *len = INT64_MAX - a->disp;
    if (!a->view) {
        *off += a->view_offset;
        *len = a->len;
    } else if (zc_view_monotone(a->view) &&
               zc_view_to_file(a->view, a->disp, a->view_offset, off) == 0 &&
               zc_view_to_file(a->view, a->disp, a->view_offset + a->len - 1, &last) == 0) {
        *len = last + 1 - *off;
    }
}

int64_t zcache_transfer_atomic(const struct zcache_access *a)
{
    struct zcache_lock lock;
    int64_t off, len, n;
    int rc;

    if (a->len == 0 || a->view_offset < 0)
        return zcache_transfer(a);
    range_of(a, &off, &len);
    rc = zcache_lock(a->f, a->dir == ZCACHE_WRITE, off, len, &lock);
    if (rc)
        return rc;
    n = zcache_transfer(a);
    if (n < 0) { /* its explanation is the one that counts */
        struct zc_error e;

        zc_error_keep(&e, (int)n);
        zcache_unlock(a->f, &lock);
        return zc_error_raise(&e);
    }
    rc = zcache_unlock(a->f, &lock);
    return rc ? rc : n;
}
