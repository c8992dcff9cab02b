/* zc_copy.c - reads and writes for callers that may wait: one page after the other. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "zc_cache_internal.h"
#include "zc_log.h"

static void ready(struct zc_access *a)
{
    struct zc_waiter *w = zc_list_entry(a, struct zc_waiter, access);

    zc_lock_get(&w->lock);
    if (a->status < 0)
        zc_why_set(&w->why, a->status, "%s", zc_error_text(a->status));
    w->done = true;
    pthread_cond_signal(&w->cond);
    zc_lock_put(&w->lock);
}

/* begin, and the wait for ready(). */
int zc_waiter_begin(struct zc_waiter *w)
{
    int rc;

    w->done = false;
    rc = zc_cache_begin(&w->access);
    if (rc != -EINPROGRESS)
        return rc;
    zc_lock_get(&w->lock);
    while (!w->done)
        zc_cond_wait(&w->cond, &w->lock);
    zc_lock_put(&w->lock);
    if (w->access.status < 0)
        return zc_errorf(-w->access.status, "%s", w->why.text);
    return 0;
}

void zc_waiter_init(struct zc_waiter *w, struct zc_handle *h, enum zc_dir dir)
{
    memset(w, 0, sizeof(*w));
    w->access.handle = h;
    w->access.dir = dir;
    w->access.ready = ready;
    zc_lock_init(&w->lock, ZC_ORDER_WAITER);
    zc_cond_init(&w->cond);
}

void zc_waiter_destroy(struct zc_waiter *w)
{
    pthread_cond_destroy(&w->cond);
    zc_lock_destroy(&w->lock);
}

/* Aims the access at the part of [off, off + len) that lies in the first page. */
static void aim(struct zc_waiter *w, uint64_t off, size_t len)
{
    uint32_t page_size = w->access.handle->file->cache->page_size;
    uint32_t room = page_size - (uint32_t)(off & (page_size - 1));

    w->access.off = off;
    w->access.len = len < room ? (uint32_t)len : room;
}

ssize_t zc_cache_read(struct zc_handle *h, void *buf, size_t len, uint64_t off)
{
    struct zc_waiter w;
    size_t done = 0;
    int rc = 0;

    zc_waiter_init(&w, h, ZC_READ);
    while (done < len) {
        uint32_t avail;

        aim(&w, off + done, len - done);
        rc = zc_waiter_begin(&w);
        if (rc < 0)
            break;
        avail = w.access.avail;
        memcpy((char *)buf + done, w.access.data, avail);
        zc_cache_end(&w.access, 0);
        done += avail;
        if (avail < w.access.len)
            break; /* end of the file */
    }
    zc_waiter_destroy(&w);
    return done > 0 || rc == 0 ? (ssize_t)done : rc;
}

ssize_t zc_cache_write(struct zc_handle *h, const void *buf, size_t len, uint64_t off)
{
    struct zc_waiter w;
    size_t done = 0;
    int rc = 0;

    zc_waiter_init(&w, h, ZC_WRITE);
    while (done < len) {
        aim(&w, off + done, len - done);
        rc = zc_waiter_begin(&w);
        if (rc < 0)
            break;
        memcpy(w.access.data, (const char *)buf + done, w.access.len);
        zc_cache_end(&w.access, w.access.len);
        done += w.access.len;
    }
    zc_waiter_destroy(&w);
    return done > 0 || rc == 0 ? (ssize_t)done : rc;
}
