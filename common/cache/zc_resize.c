/* zc_resize.c - truncate, allocate, unlink: what changes a file as a whole.
 *
 * Truncation freezes store I/O beyond the new size (file->frozen: none begins, what reads
 * under way bring is thrown away, writes under way are waited for), asks the store, and only
 * when that worked, or the file is cut all the same, cuts the pages.  Cached bytes beyond the new
 * size are forgotten rather than zeroed: whoever reads there after the file has grown again reads
 * the store, which has zeros.
 */
#include "config.h"

#include <errno.h>

#include "zc_cache_internal.h"
#include "zc_log.h"

/* A store write is under way on a page that ends beyond `size`. */
static bool writes_beyond(struct zc_cache *c, struct zc_file *f)
{
    if (zc_around_beyond(c, f))
        return true;
    if (f->nflushing == 0)
        return false;
    zc_list_each (&f->flushing, n)
        if (zc_page_frozen(c, zc_list_entry(n, struct zc_page, state_link)))
            return true;
    return false;
}

/* Forgets what is cached beyond `size`. */
static void cut(struct zc_cache *c, struct zc_file *f, uint64_t size)
{
    zc_list_each_safe (&f->pages, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, file_link);
        uint64_t start = zc_page_offset(c, p);
        uint32_t lo = start >= size ? 0 : (uint32_t)(size - start);

        if (start + c->page_size <= size)
            continue;
        zc_page_clean(c, p, lo, c->page_size);
        zc_retain_cut(c, p, lo);
        zc_extents_sub(&p->valid, lo, c->page_size); /* a tail: needs no memory */
        zc_page_place(c, p);
        if (zc_page_idle(p) && zc_extents_empty(&p->valid))
            zc_page_drop(c, p);
    }
    zc_ledger_forgive(f, size, UINT64_MAX);
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

/* `cut_already`: by somebody else. */
static int resize(struct zc_handle *h, uint64_t size, bool cut_already)
{
    struct zc_file *f = h->file;
    struct zc_cache *c = f->cache;
    int rc;

    zc_error_clear();
    zc_lock_get(&c->lock);
    rc = check_writable(h, size, "truncation");
    if (rc < 0) {
        zc_lock_put(&c->lock);
        return rc;
    }
    zc_ctl_get(c, f);
    f->frozen = size;
    zc_ahead_overtake(c, f, size);
    while (writes_beyond(c, f))
        zc_cache_wait(c);
    zc_token_writing(c, f);
    zc_cache_unlock(c);
    rc = zc_store_truncate(f->wr, size);
    zc_lock_get(&c->lock);
    zc_token_written(c, f);
    if (rc)
        c->st.store_errors++;
    if (rc == 0 || rc == -EREMOTEIO || cut_already) {
        cut(c, f, size);
        zc_show_end(f, size);
    }
    f->frozen = ZC_NOT_FROZEN;
    wake_all(c, f);
    zc_flush_check(c, f);
    zc_ctl_put(c, f);
    zc_kick(c);
    zc_cache_unlock(c);
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
    int rc;

    zc_error_clear();
    zc_lock_get(&c->lock);
    rc = check_writable(h, off > UINT64_MAX - len ? UINT64_MAX : off + len, "allocation");
    if (rc < 0) {
        zc_lock_put(&c->lock);
        return rc;
    }
    zc_ctl_get(c, f);
    f->frozen = 0; /* the store may have to write the last byte itself */
    while (writes_beyond(c, f))
        zc_cache_wait(c);
    zc_token_writing(c, f);
    zc_cache_unlock(c);
    rc = zc_store_allocate(f->wr, off, len);
    zc_lock_get(&c->lock);
    zc_token_written(c, f);
    if (rc < 0)
        c->st.store_errors++;
    else if (off + len > f->size)
        f->size = off + len;
    f->frozen = ZC_NOT_FROZEN;
    wake_all(c, f);
    zc_ctl_put(c, f);
    zc_kick(c);
    zc_cache_unlock(c);
    return rc;
}

/* After the store's unlink: was that the last link?  With ctl; drops the lock. */
static bool is_gone(struct zc_cache *c, struct zc_file *f, const struct zc_attr *before)
{
    struct zc_sfile *sf = f->wr ? f->wr : f->rd;
    bool last = before->nlink <= 1 && !before->link; /* as far as is known without an open file */
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
    rc = zc_store_unlink(c->store, path); /* says it all when stat has failed */
    if (!f)
        return rc;
    zc_lock_get(&c->lock);
    if (rc == 0 && is_gone(c, f, &attr)) {
        f->unlinked = f->rd || f->wr;
        zc_ledger_forgive(f, 0, UINT64_MAX);
        zc_ahead_forget(c, f);
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

void zc_cache_doom(struct zc_handle *h)
{
    struct zc_cache *c = h->file->cache;

    zc_lock_get(&c->lock);
    h->file->doomed = true;
    zc_lock_put(&c->lock);
}
