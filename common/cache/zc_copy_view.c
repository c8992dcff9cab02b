/* zc_copy_view.c - reads and writes through a view, for callers that may wait. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "zc_cache_internal.h"
#include "zc_log.h"
#include "zc_vspan.h"

enum { STEP = 256 << 10 }; /* visible bytes copied with a page pinned once */

/* Aims at the visible bytes of one page from `at` on; *len is how many. */
static int aim(struct zc_waiter *w, const struct zc_view *v, int64_t disp, int64_t at, int64_t max,
               struct zc_view_ranges *r, int64_t *len)
{
    uint32_t page = w->access.handle->file->cache->page_size;
    int64_t first, base;
    int rc = zc_vspan(v, disp, at, max < STEP ? max : STEP, page, &first, len);

    if (rc)
        return rc;
    base = first - first % page;
    r->n = 0;
    rc = zc_view_touched(v, disp, at, *len, base, page, r);
    if (rc)
        return rc;
    w->access.off = (uint64_t)base + r->r[0].lo;
    w->access.len = r->r[r->n - 1].hi - r->r[0].lo;
    w->access.nranges = r->n;
    w->access.view = v;
    w->access.disp = disp;
    w->access.view_off = at;
    w->access.view_len = *len;
    return 0;
}

ssize_t zc_cache_vread(struct zc_handle *h, const struct zc_view *v, int64_t disp, void *buf,
                       size_t len, int64_t view_off)
{
    struct zc_view_ranges ranges = {0};
    struct zc_waiter w;
    int64_t done = 0, n, got;
    int rc = 0;

    zc_waiter_init(&w, h, ZC_READ);
    while (done < (int64_t)len) {
        struct zc_access *a = &w.access;

        rc = aim(&w, v, disp, view_off + done, (int64_t)len - done, &ranges, &n);
        if (rc == 0)
            rc = zc_waiter_begin(&w);
        if (rc)
            break;
        got = a->avail == a->len
                  ? n
                  : zc_vspan_before(v, disp, view_off + done, n, (int64_t)(a->off + a->avail));
        zc_view_gather(v, disp, view_off + done, (char *)buf + done, got, a->data, (int64_t)a->off,
                       a->len);
        zc_cache_end(a, 0);
        done += got;
        if (got < n)
            break; /* end of the file */
    }
    free(ranges.r);
    zc_waiter_destroy(&w);
    return done > 0 || rc == 0 ? (ssize_t)done : rc;
}

ssize_t zc_cache_vwrite(struct zc_handle *h, const struct zc_view *v, int64_t disp, const void *buf,
                        size_t len, int64_t view_off)
{
    struct zc_view_ranges ranges = {0};
    struct zc_waiter w;
    int64_t done = 0, n;
    int rc = 0;

    zc_waiter_init(&w, h, ZC_WRITE);
    while (done < (int64_t)len) {
        struct zc_access *a = &w.access;

        rc = aim(&w, v, disp, view_off + done, (int64_t)len - done, &ranges, &n);
        if (rc == 0)
            rc = zc_waiter_begin(&w);
        if (rc)
            break;
        zc_view_scatter(v, disp, view_off + done, (const char *)buf + done, n, a->data,
                        (int64_t)a->off, a->len);
        zc_cache_end_ranges(a, ranges.r, ranges.n);
        done += n;
    }
    free(ranges.r);
    zc_waiter_destroy(&w);
    return done > 0 || rc == 0 ? (ssize_t)done : rc;
}
