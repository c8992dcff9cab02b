/* zc_truncate.c - truncate, allocate, unlink: operations on a whole file.
 *
 * Truncation freezes store I/O beyond the new size (file->frozen: none begins, results of reads
 * under way are thrown away, writes under way are waited for) and calls the store; only if that
 * succeeds, or the file was cut in any case, it cuts the pages.  Cached bytes beyond the new size
 * are dropped, not zeroed: after the file has grown again they are read from the store, which has
 * zeros.
 */
#include "config.h"

#include <errno.h>

#include "zc_cache_internal.h"
#include "zc_log.h"

/* Whether a store write is under way on a page that ends beyond `size`. */
static bool writes_beyond(struct zc_cache *c, struct zc_file *f)
{
    if (zc_write_direct_beyond(c, f))
        return true;
    if (f->nflushing == 0)
        return false;
    zc_list_each (&f->flushing, n)
        if (zc_page_frozen(c, zc_list_entry(n, struct zc_page, state_link)))
            return true;
    return false;
}

/* Drops what is cached beyond `size`. */
static void cut(struct zc_cache *c, struct zc_file *f, uint64_t size)
{
    zc_list_each_safe (&f->pages, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, file_link);
        uint64_t start = zc_page_offset(c, p);
        uint32_t lo = start >= size ? 0 : (uint32_t)(size - start);

        if (start + c->page_size <= size)
            continue;
        zc_page_clean(c, p, lo, c->page_size);
        zc_unstable_truncate(c, p, lo);
        zc_extents_sub(&p->valid, lo, c->page_size); /* a tail: needs no memory */
        zc_page_place(c, p);
        if (zc_page_idle(p) && zc_extents_empty(&p->valid))
            zc_page_drop(c, p);
    }
    zc_wb_errors_clear(f, size, UINT64_MAX);
}

static void wake_all(struct zc_cache *c, struct zc_file *f)
{
    zc_list_each (&f->pages, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, file_link);

        if (!zc_list_empty(&p->waiters))
            zc_page_wake(c, p);
    }
}

static int check_writable(const struct zc_handle *h, uint64_t end, const char *what)
{
    if (!(h->flags & ZC_OPEN_WRITE))
        return zc_errorf(EBADF, "%s of %s: it is not open for writing", what, h->file->path);
    if (end > INT64_MAX)
        return zc_errorf(EFBIG, "%s of %s: size %llu is beyond what a file can have", what,
                         h->file->path, (unsigned long long)end);
    return 0;
}

/* Begins an operation that makes the file's size `end`: takes ctl and the lock.  Or returns an
 * error with neither. */
static int begin(struct zc_handle *h, uint64_t end, const char *what)
{
    struct zc_file *f = h->file;
    int rc;

    zc_error_clear();
    zc_lock_get(&f->cache->lock);
    rc = check_writable(h, end, what);
    if (rc < 0)
        zc_lock_put(&f->cache->lock);
    else
        zc_ctl_get(f->cache, f);
    return rc;
}

/* Waits for store I/O beyond `size`, which none begins from here on.  Drops the lock, for the call
 * of the store. */
static void freeze(struct zc_cache *c, struct zc_file *f, uint64_t size)
{
    f->frozen = size;
    while (writes_beyond(c, f))
        zc_cache_wait(c);
    zc_validator_writing(c, f);
    zc_cache_unlock(c);
}

/* The store has returned. */
static void take_result(struct zc_cache *c, struct zc_file *f, int rc)
{
    zc_lock_get(&c->lock);
    zc_validator_written(c, f);
    if (rc)
        c->st.store_errors++;
}

static void end(struct zc_cache *c, struct zc_file *f)
{
    f->frozen = ZC_NOT_FROZEN;
    wake_all(c, f);
    zc_flush_check(c, f);
    zc_ctl_put(c, f);
    zc_kick(c);
    zc_cache_unlock(c);
}

/* `cut_already`: another client truncated the file. */
static int resize(struct zc_handle *h, uint64_t size, bool cut_already)
{
    struct zc_file *f = h->file;
    struct zc_cache *c = f->cache;
    int rc = begin(h, size, "truncation");

    if (rc < 0)
        return rc;
    f->frozen = size;
    zc_readahead_overtake(c, f, size);
    freeze(c, f, size);
    rc = zc_store_truncate(f->wr, size);
    take_result(c, f, rc);
    if (rc == 0 || rc == -EREMOTEIO || cut_already) {
        cut(c, f, size);
        zc_publish_eof(f, size);
    }
    end(c, f);
    return rc;
}

int zc_cache_truncate(struct zc_handle *h, uint64_t size)
{
    return resize(h, size, false);
}

int zc_cache_cut(struct zc_handle *h, uint64_t size)
{
    return resize(h, size, true);
}

int zc_cache_allocate(struct zc_handle *h, uint64_t off, uint64_t len)
{
    struct zc_file *f = h->file;
    struct zc_cache *c = f->cache;
    int rc = begin(h, off > UINT64_MAX - len ? UINT64_MAX : off + len, "allocation");

    if (rc < 0)
        return rc;
    freeze(c, f, 0); /* the store may have to write the last byte itself */
    rc = zc_store_allocate(f->wr, off, len);
    take_result(c, f, rc);
    if (rc == 0 && off + len > f->size)
        f->size = off + len;
    end(c, f);
    return rc;
}

/* After the store's unlink: returns whether that was the last link.  With ctl; drops the lock. */
static bool is_gone(struct zc_cache *c, struct zc_file *f, const struct zc_attr *before)
{
    struct zc_sfile *sf = f->wr ? f->wr : f->rd;
    bool last = before->nlink <= 1 && !before->link; /* as far as known without an open file */
    struct zc_attr now;
    int rc;

    if (!sf)
        return last;
    zc_cache_unlock(c);
    rc = zc_store_getattr(sf, &now);
    zc_lock_get(&c->lock);
    return rc == 0 ? now.nlink == 0 : last;
}

int zc_cache_unlink(struct zc_cache *c, const char *path)
{
    struct zc_file *f = NULL;
    struct zc_attr attr;
    int rc;

    zc_error_clear();
    rc = zc_store_stat(c->store, path, &attr);
    zc_lock_get(&c->lock);
    if (rc == 0)
        f = zc_file_find(c, attr.dev, attr.ino);
    if (f) {
        f->refs++;
        zc_ctl_get(c, f);
    }
    zc_cache_unlock(c);
    rc = zc_store_unlink(c->store, path); /* has the error if stat failed */
    if (!f)
        return rc;
    zc_lock_get(&c->lock);
    if (rc == 0 && is_gone(c, f, &attr)) {
        if (f->rd || f->wr)
            ZC_FILE_MOVE(f, name, ZC_NAME_GONE);
        zc_wb_errors_clear(f, 0, UINT64_MAX);
        zc_readahead_forget(c, f);
        if (f->handles == 0)
            zc_file_discard(c, f);
    }
    zc_flush_check(c, f);
    zc_ctl_put(c, f);
    f->refs--;
    zc_file_reap(f);
    zc_cache_unlock(c);
    return rc;
}

void zc_cache_unlink_pending(struct zc_handle *h)
{
    struct zc_cache *c = h->file->cache;

    zc_lock_get(&c->lock);
    if (h->file->name == ZC_NAME_THERE)
        ZC_FILE_MOVE(h->file, name, ZC_NAME_GOING);
    zc_lock_put(&c->lock);
}
