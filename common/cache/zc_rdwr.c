/* zc_rdwr.c - blocking reads and writes of a handle, contiguous and through a view: page by page,
 * each pinned only while its bytes are copied.
 *
 * No pin is held during the wait for the next page.  Bytes before an error or the end of the file
 * count: the call is short, and the next one meets the error.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_cache_internal.h"
#include "zc_log.h"
#include "zc_vspan.h"
#include "zc_wait_time.h"

enum { STEP = 256 << 10 }; /* visible bytes copied with a page pinned once */

/* An access with a blocked caller; `access` is set up before each begin. */
struct waiter {
    struct zc_access access;
    struct zc_lock lock;
    zc_cond cond;
    bool done;
    struct zc_error why;
};

static void ready(struct zc_access *a)
{
    struct waiter *w = zc_list_entry(a, struct waiter, access);

    zc_lock_get(&w->lock);
    if (a->status < 0)
        zc_error_keep(&w->why, a->status);
    w->done = true;
    pthread_cond_signal(&w->cond);
    zc_lock_put(&w->lock);
}

/* Begins the access and waits for ready(): 0, the page is pinned, or a negative errno. */
static int waiter_begin(struct waiter *w)
{
    uint64_t began;
    int rc;

    w->done = false;
    rc = zc_cache_begin(&w->access);
    if (rc != -EINPROGRESS)
        return rc;
    began = zc_now();
    zc_lock_get(&w->lock);
    while (!w->done)
        zc_cond_wait(&w->cond, &w->lock);
    zc_lock_put(&w->lock);
    zc_wait_time.cache += zc_now() - began;
    if (w->access.status < 0)
        return zc_error_raise(&w->why);
    return 0;
}

static void waiter_init(struct waiter *w, struct zc_handle *h, enum zc_dir dir)
{
    memset(w, 0, sizeof(*w));
    w->access.handle = h;
    w->access.dir = dir;
    w->access.ready = ready;
    zc_lock_init(&w->lock, ZC_ORDER_WAITER);
    zc_cond_init(&w->cond);
}

static void waiter_destroy(struct waiter *w)
{
    pthread_cond_destroy(&w->cond);
    zc_lock_destroy(&w->lock);
}

/* ---- contiguous ---- */

/* Sets the access to the part of [off, off + len) in the first page. */
static void aim(struct waiter *w, uint64_t off, size_t len)
{
    uint32_t page_size = w->access.handle->file->cache->page_size;
    uint32_t room = page_size - (uint32_t)(off & (page_size - 1));

    w->access.off = off;
    w->access.len = len < room ? (uint32_t)len : room;
}

ssize_t zc_cache_read(struct zc_handle *h, void *buf, size_t len, uint64_t off)
{
    struct waiter w;
    size_t done = 0;
    int rc = 0;

    waiter_init(&w, h, ZC_READ);
    while (done < len) {
        uint32_t avail;

        aim(&w, off + done, len - done);
        rc = waiter_begin(&w);
        if (rc < 0)
            break;
        avail = w.access.avail;
        memcpy((char *)buf + done, w.access.data, avail);
        zc_cache_end(&w.access, 0);
        done += avail;
        if (avail < w.access.len)
            break; /* end of the file */
    }
    waiter_destroy(&w);
    return done > 0 || rc == 0 ? (ssize_t)done : rc;
}

ssize_t zc_cache_write(struct zc_handle *h, const void *buf, size_t len, uint64_t off)
{
    struct waiter w;
    size_t done = 0;
    int rc = 0;

    waiter_init(&w, h, ZC_WRITE);
    while (done < len) {
        aim(&w, off + done, len - done);
        rc = waiter_begin(&w);
        if (rc < 0)
            break;
        memcpy(w.access.data, (const char *)buf + done, w.access.len);
        zc_cache_end(&w.access, w.access.len);
        done += w.access.len;
    }
    waiter_destroy(&w);
    return done > 0 || rc == 0 ? (ssize_t)done : rc;
}

/* ---- through a view ---- */

int zc_cache_aim(struct zc_access *a, const struct zc_view *v, int64_t disp, int64_t at,
                 int64_t max, struct zc_view_ranges *r, int64_t *len)
{
    uint32_t page = a->handle->file->cache->page_size;
    int64_t first, base;
    int rc = zc_vspan(v, disp, at, max < STEP ? max : STEP, page, &first, len);

    if (rc)
        return rc;
    if (first < 0)
        return -EINVAL;
    base = first - first % page;
    r->n = 0;
    rc = zc_view_touched(v, disp, at, *len, base, page, r);
    if (rc)
        return rc;
    a->off = (uint64_t)base + r->r[0].lo;
    a->len = r->r[r->n - 1].hi - r->r[0].lo;
    a->nranges = r->n;
    a->view = v;
    a->disp = disp;
    a->view_off = at;
    a->view_len = *len;
    return 0;
}

ssize_t zc_cache_vread(struct zc_handle *h, const struct zc_view *v, int64_t disp, void *buf,
                       size_t len, int64_t view_off)
{
    struct zc_view_ranges ranges = {0};
    struct waiter w;
    int64_t done = 0, n, got;
    int rc = 0;

    waiter_init(&w, h, ZC_READ);
    while (done < (int64_t)len) {
        struct zc_access *a = &w.access;

        rc = zc_cache_aim(&w.access, v, disp, view_off + done, (int64_t)len - done, &ranges, &n);
        if (rc == 0)
            rc = waiter_begin(&w);
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
    waiter_destroy(&w);
    return done > 0 || rc == 0 ? (ssize_t)done : rc;
}

ssize_t zc_cache_vwrite(struct zc_handle *h, const struct zc_view *v, int64_t disp, const void *buf,
                        size_t len, int64_t view_off)
{
    struct zc_view_ranges ranges = {0};
    struct waiter w;
    int64_t done = 0, n;
    int rc = 0;

    waiter_init(&w, h, ZC_WRITE);
    while (done < (int64_t)len) {
        struct zc_access *a = &w.access;

        rc = zc_cache_aim(&w.access, v, disp, view_off + done, (int64_t)len - done, &ranges, &n);
        if (rc == 0)
            rc = waiter_begin(&w);
        if (rc)
            break;
        zc_view_scatter(v, disp, view_off + done, (const char *)buf + done, n, a->data,
                        (int64_t)a->off, a->len);
        zc_cache_end_ranges(a, ranges.r, ranges.n);
        done += n;
    }
    free(ranges.r);
    waiter_destroy(&w);
    return done > 0 || rc == 0 ? (ssize_t)done : rc;
}
