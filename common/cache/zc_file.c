/* zc_file.c - files: who is who, open, close, what stays cached when nobody has it open.
 *
 * A file is known by (dev, ino), not by its path.  Life of its store files:
 *
 *     open ----> rd, wr open ----> last close: dirty pages left?
 *                    ^                | yes: flushers write them back; then as below
 *                    |                | no
 *                    |                v
 *                    |          settle: attributes noted, rd and wr closed
 *                    |                |
 *                    +--- open: attributes unchanged, pages kept; else pages dropped, as in a
 *                              transient cache always
 *
 * A file without handles, pages and store files is freed.  `ctl` serialises open, close,
 * truncate, allocate, unlink and settle of one file; it is held across store calls.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_cache_internal.h"
#include "zc_log.h"

void zc_ctl_get(struct zc_cache *c, struct zc_file *f)
{
    while (f->ctl)
        zc_cache_wait(c);
    f->ctl = true;
}

void zc_ctl_put(struct zc_cache *c, struct zc_file *f)
{
    zc_debug_assert(f->ctl);
    f->ctl = false;
    zc_file_eager(c, f);
    pthread_cond_broadcast(&c->changed);
}

bool zc_file_unwritten(const struct zc_file *f)
{
    return !zc_list_empty(&f->dirty) || !zc_list_empty(&f->failed) || f->nflushing > 0;
}

/* The flushers look at files with requests and at those that are to be closed. */
void zc_file_eager(struct zc_cache *c, struct zc_file *f)
{
    bool want = !zc_list_empty(&f->flushes) || (f->handles == 0 && (f->rd || f->wr));

    zc_assert_held(&c->lock);
    if (!want) {
        zc_list_del(&f->eager_link);
        return;
    }
    if (!zc_list_linked(&f->eager_link))
        zc_list_add_tail(&c->eager, &f->eager_link);
    pthread_cond_signal(&c->work);
}

/* ---- table ---- */

static struct zc_list *bucket(struct zc_cache *c, uint64_t dev, uint64_t ino)
{
    uint64_t x = (dev * 0x9e3779b97f4a7c15ull) ^ (ino * 0xd6e8feb86659fd93ull);

    return &c->files[(x >> 32) % ZC_FILE_BUCKETS];
}

struct zc_file *zc_file_find(struct zc_cache *c, uint64_t dev, uint64_t ino)
{
    zc_list_each (bucket(c, dev, ino), n) {
        struct zc_file *f = zc_list_entry(n, struct zc_file, link);

        if (f->dev == dev && f->ino == ino)
            return f;
    }
    return NULL;
}

static struct zc_file *new_file(struct zc_cache *c)
{
    struct zc_file *f = calloc(1, sizeof(*f));

    if (!f)
        return NULL;
    f->cache = c;
    f->frozen = ZC_NOT_FROZEN;
    zc_list_init(&f->link);
    zc_list_init(&f->pages);
    zc_list_init(&f->dirty);
    zc_list_init(&f->failed);
    zc_list_init(&f->flushing);
    zc_list_init(&f->arounds);
    zc_list_init(&f->flushes);
    zc_list_init(&f->eager_link);
    zc_list_init(&f->failed_link);
    return f;
}

void zc_file_destroy(struct zc_file *f)
{
    zc_list_del(&f->link);
    zc_list_del(&f->eager_link);
    free(f->path);
    free(f);
}

/* Frees a file nothing refers to. */
void zc_file_reap(struct zc_file *f)
{
    if (f->handles == 0 && f->refs == 0 && !f->ctl && f->npages == 0 && !f->rd && !f->wr &&
        zc_list_empty(&f->flushes))
        zc_file_destroy(f);
}

/* Drops every page nobody uses, dirty ones too.  The caller keeps the file by a ref or ctl. */
void zc_file_discard(struct zc_cache *c, struct zc_file *f)
{
    zc_list_each_safe (&f->pages, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, file_link);

        if (zc_page_idle(p))
            zc_page_drop(c, p);
    }
    if (zc_list_empty(&f->failed))
        f->write_why.err = 0;
}

/* ---- open ---- */

static bool changed(const struct zc_attr *a, const struct zc_attr *b)
{
    return a->size != b->size || a->mtime_ns != b->mtime_ns || a->ctime_ns != b->ctime_ns;
}

/* Pages in use stay, for what is dirty in them: their clean bytes do not.  0 or -ENOMEM. */
static int drop_clean(struct zc_cache *c, struct zc_file *f)
{
    int rc = 0;

    zc_list_each_safe (&f->pages, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, file_link);

        if (p->on == ZC_ON_NONE && zc_page_idle(p)) {
            zc_page_drop(c, p);
            continue;
        }
        if (p->reading && !zc_list_linked(&p->fill_link))
            p->stale = true; /* read before the change that we are told of, maybe */
        if (zc_page_outdate(c, p) < 0)
            rc = zc_errorf(ENOMEM, "%s: out of memory", f->path);
    }
    return rc;
}

/* The first open after nobody had it: do the cached pages still tell the truth?  While
 * bytes wait to be written back, or the store files are still open, we are the ones who
 * change the file, and there is nothing to compare with. */
static void revalidate(struct zc_cache *c, struct zc_file *f, const struct zc_attr *now)
{
    if (zc_file_unwritten(f)) {
        if (now->size > f->size)
            f->size = now->size;
        return;
    }
    if (f->npages > 0 && !f->rd && !f->wr && changed(&f->attr, now)) {
        zc_info("%s has changed since it was closed; %llu cached pages are dropped", f->path,
                (unsigned long long)f->npages);
        zc_file_discard(c, f);
        c->st.stale_drops++;
    }
    f->size = now->size;
}

/* Keeps the new store file when it can do what those at hand cannot; else returns it. */
static struct zc_sfile *adopt(struct zc_file *f, struct zc_sfile *sf, unsigned flags)
{
    if ((flags & ZC_OPEN_WRITE) && !f->wr) {
        f->wr = sf;
        f->wr_reads = flags & ZC_OPEN_READ;
        return NULL;
    }
    if ((flags & ZC_OPEN_READ) && !f->rd && !(f->wr && f->wr_reads)) {
        f->rd = sf;
        return NULL;
    }
    return sf;
}

/* What an open needs, allocated before the store is asked: nothing fails afterwards. */
struct opening {
    struct zc_handle *handle;
    struct zc_file *spare;
    char *path;
};

static void opening_free(struct opening *o)
{
    if (o->spare)
        free(o->spare->path);
    free(o->spare);
    free(o->handle);
    free(o->path);
}

static int opening_alloc(struct zc_cache *c, const char *path, struct opening *o)
{
    o->handle = calloc(1, sizeof(*o->handle));
    o->spare = new_file(c);
    o->path = strdup(path);
    if (o->spare)
        o->spare->path = strdup(path);
    if (o->handle && o->path && o->spare && o->spare->path)
        return 0;
    opening_free(o);
    return zc_errorf(ENOMEM, "open %s: out of memory", path);
}

/* The file with these attributes, made of the spare when it is not known yet. */
static struct zc_file *meet(struct zc_cache *c, struct opening *o, const struct zc_attr *attr)
{
    struct zc_file *f = zc_file_find(c, attr->dev, attr->ino);

    if (f)
        return f;
    f = o->spare;
    o->spare = NULL;
    f->dev = attr->dev;
    f->ino = attr->ino;
    zc_list_add_tail(bucket(c, f->dev, f->ino), &f->link);
    return f;
}

static void swap_path(struct zc_file *f, char **path)
{
    char *old = f->path;

    f->path = *path;
    *path = old;
}

/* With the lock and ctl: the open of `f` takes effect. */
static struct zc_sfile *opened(struct zc_cache *c, struct zc_file *f, struct opening *o,
                               struct zc_sfile *sf, unsigned flags, uint64_t stride,
                               struct zc_attr *attr)
{
    if (f->handles == 0)
        revalidate(c, f, attr);
    if ((flags & ZC_OPEN_PLACED) && f->handles == 0 && !zc_file_unwritten(f) &&
        f->block_size != attr->block_size) {
        zc_file_discard(c, f); /* others may own these bytes now */
        f->block_size = attr->block_size;
    }
    if (f->block_size == 0)
        f->block_size = attr->block_size;
    attr->block_size = f->block_size;
    attr->size = f->size;
    attr->stride = stride;
    swap_path(f, &o->path);
    o->handle->file = f;
    zc_ahead_open(c, o->handle, attr->block_size, stride);
    o->handle->flags = flags;
    o->handle->sync_base = o->handle->sync_seen = f->sync_seq;
    f->handles++;
    c->st.handles++;
    return adopt(f, sf, flags);
}

/* Attributes that are not older than our last change of the file.  With ctl; drops the lock. */
static int look_again(struct zc_cache *c, struct zc_file *f, struct zc_sfile *sf,
                      struct zc_attr *attr)
{
    struct zc_attr fresh;
    uint64_t changes;
    int rc;

    do {
        changes = f->changes;
        zc_cache_unlock(c);
        rc = zc_store_getattr(sf, &fresh);
        zc_lock_get(&c->lock);
    } while (rc == 0 && f->changes != changes); /* write-back goes on meanwhile */
    if (rc == 0) {
        fresh.block_size = attr->block_size;
        *attr = fresh;
    }
    return rc;
}

int zc_cache_open(struct zc_cache *c, const char *path, unsigned flags, mode_t mode,
                  struct zc_handle **out, struct zc_attr *attr)
{
    struct zc_sfile *sf, *surplus;
    struct opening o;
    struct zc_file *f;
    uint64_t changes, stride = attr->stride;
    int rc;

    *out = NULL;
    zc_error_clear();
    rc = opening_alloc(c, path, &o);
    if (rc < 0)
        return rc;
    zc_lock_get(&c->lock);
    changes = c->changes;
    zc_lock_put(&c->lock);
    rc = zc_store_open_file(c->store, path, flags & ZC_OPEN_ALL, mode, &sf, attr);
    if (rc < 0) {
        opening_free(&o);
        return rc;
    }
    zc_lock_get(&c->lock);
    f = meet(c, &o, attr);
    f->refs++;
    zc_ctl_get(c, f);
    if (f->handles == 0 && c->changes != changes)
        rc = look_again(c, f, sf, attr);
    if (rc == 0 && f->handles == 0 && c->cfg.transient)
        rc = drop_clean(c, f);
    surplus = sf;
    if (rc == 0) {
        surplus = opened(c, f, &o, sf, flags, stride, attr);
        *out = o.handle;
        o.handle = NULL;
    }
    zc_ctl_put(c, f);
    f->refs--;
    zc_file_reap(f);
    zc_cache_unlock(c);
    if (surplus)
        zc_store_close_file(surplus, ZC_LEVEL_VISIBLE);
    opening_free(&o);
    return rc;
}

/* ---- close ---- */

/* Nobody has it open and nothing is in flight or unwritten. */
bool zc_file_may_settle(const struct zc_file *f)
{
    return f->handles == 0 && !f->ctl && (f->rd || f->wr) && f->nreading == 0 && !f->syncing &&
           !zc_file_unwritten(f) && zc_list_empty(&f->flushes);
}

static int close_one(struct zc_sfile *sf)
{
    return sf ? zc_store_close_file(sf, ZC_LEVEL_STAGED) : 0;
}

/* Notes the attributes and closes the store files; pages stay.  Drops the lock. */
int zc_file_settle(struct zc_cache *c, struct zc_file *f)
{
    struct zc_sfile *rd = f->rd, *wr = f->wr, *sf = wr ? wr : rd;
    int rc, rc_wr, rc_rd;

    zc_assert_held(&c->lock);
    f->ctl = true;
    f->settling = true;
    f->rd = f->wr = NULL; /* nobody may use what is being closed */
    f->wr_reads = false;
    if (f->unlinked || c->cfg.transient)
        zc_file_discard(c, f);
    zc_cache_unlock(c);
    rc = zc_store_getattr(sf, &f->attr); /* ours while we have ctl */
    rc_rd = close_one(rd);
    rc_wr = close_one(wr);
    zc_lock_get(&c->lock);
    if (rc_rd < 0)
        rc_wr = rc_rd;
    if (rc < 0 || rc_wr < 0) {
        c->st.store_errors++;
        zc_file_discard(c, f); /* we cannot tell whether they are what the file holds */
    }
    f->settling = false;
    f->unlinked = false; /* its number is free: who waits for ctl may have opened the next of it */
    zc_ctl_put(c, f);
    if (rc_wr < 0) {
        rc_wr = zc_errorf(-rc_wr, "close of %s: %s", f->path, zc_error_text(rc_wr));
        zc_error("%s; bytes written to it may be lost", zc_error_text(rc_wr));
    }
    return rc_wr;
}

/* Does the page's first dirty byte continue what is lost of the page before it? */
static bool continues(struct zc_cache *c, const struct zc_page *p)
{
    const struct zc_page *before = p->no ? zc_page_find(c, p->file, p->no - 1) : NULL;

    return zc_extents_touch(&p->dirty, 0, 1) && before && before->on == ZC_ON_FAILED &&
           zc_extents_touch(&before->dirty, c->page_size - 1, c->page_size);
}

/* One line, however many pages it is. */
static void log_lost(struct zc_cache *c, const struct zc_file *f)
{
    uint64_t bytes = 0, ranges = 0, first = UINT64_MAX, end = 0;

    zc_list_each (&f->failed, n) {
        const struct zc_page *p = zc_list_entry(n, struct zc_page, state_link);
        const struct zc_range *r = zc_extents_ranges(&p->dirty);
        uint64_t start = zc_page_offset(c, p);

        bytes += zc_extents_bytes(&p->dirty);
        ranges += p->dirty.n - continues(c, p);
        if (start + r[0].lo < first)
            first = start + r[0].lo;
        if (start + r[p->dirty.n - 1].hi > end)
            end = start + r[p->dirty.n - 1].hi;
    }
    zc_error("%s: %llu bytes are lost, %llu range%s within bytes %llu-%llu: %s", f->path,
             (unsigned long long)bytes, (unsigned long long)ranges, ranges == 1 ? "" : "s",
             (unsigned long long)first, (unsigned long long)(end - 1), f->write_why.text);
}

/* Gives up on pages whose write-back failed. */
static void lose_failed(struct zc_cache *c, struct zc_file *f, struct zc_why *why)
{
    if (zc_list_empty(&f->failed))
        return;
    if (why->err == 0)
        *why = f->write_why;
    log_lost(c, f);
    zc_list_each_safe (&f->failed, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, state_link);

        c->st.lost_bytes += zc_extents_bytes(&p->dirty);
        zc_page_drop(c, p);
    }
    f->write_why.err = 0;
}

/* Did somebody else unlink it?  Then its bytes need not be written.  Drops the lock. */
static void look_for_unlink(struct zc_cache *c, struct zc_file *f)
{
    struct zc_sfile *sf = f->wr;
    struct zc_attr now;
    int rc;

    if (f->unlinked || !sf || !zc_file_unwritten(f))
        return;
    zc_cache_unlock(c);
    rc = zc_store_getattr(sf, &now);
    zc_lock_get(&c->lock);
    if (rc == 0 && now.nlink == 0)
        f->unlinked = true;
}

static void last_close(struct zc_cache *c, struct zc_file *f, struct zc_why *why)
{
    look_for_unlink(c, f);
    /* another try may be under way, and ranges may be being merged */
    while (f->nreading > 0 || (f->write_why.err && f->nflushing > 0))
        zc_cache_wait(c);
    if (f->unlinked)
        zc_file_discard(c, f);
    else
        lose_failed(c, f, why);
}

int zc_cache_close(struct zc_handle *h)
{
    struct zc_file *f = h->file;
    struct zc_cache *c = f->cache;
    struct zc_why why = {.err = 0};
    int rc;

    zc_error_clear();
    zc_lock_get(&c->lock);
    zc_debug_assert(h->accesses == 0);
    zc_predict_depth(&h->predict, 0);
    zc_ahead_stop(c, h);
    f->refs++;
    zc_ctl_get(c, f);
    if (h->sync_seen < f->sync_seq)
        why = f->sync_why;
    if (f->handles == 1)
        last_close(c, f, &why);
    f->handles--;
    c->st.handles--;
    zc_ctl_put(c, f);
    if (zc_file_may_settle(f)) {
        rc = zc_file_settle(c, f);
        if (rc < 0 && why.err == 0)
            zc_why_set(&why, rc, "%s", zc_error_text(rc));
    }
    f->refs--;
    zc_file_reap(f);
    zc_cache_unlock(c);
    zc_predict_free(&h->predict);
    free(h);
    return why.err ? zc_errorf(-why.err, "%s", why.text) : 0;
}

void zc_cache_grow(struct zc_handle *h, uint64_t size)
{
    struct zc_cache *c = h->file->cache;

    zc_lock_get(&c->lock);
    if (size > h->file->size)
        h->file->size = size;
    zc_lock_put(&c->lock);
}

int zc_cache_refresh(struct zc_handle *h)
{
    struct zc_file *f = h->file;
    struct zc_cache *c = f->cache;
    struct zc_attr attr = {0};
    int rc;

    zc_error_clear();
    zc_lock_get(&c->lock);
    zc_ctl_get(c, f);
    rc = look_again(c, f, f->rd ? f->rd : f->wr, &attr);
    if (rc == 0) {
        rc = drop_clean(c, f);
        if (attr.size > f->size || !zc_file_unwritten(f))
            f->size = attr.size;
    }
    zc_ctl_put(c, f);
    zc_cache_unlock(c);
    return rc;
}

uint64_t zc_cache_size(struct zc_handle *h)
{
    struct zc_cache *c = h->file->cache;
    uint64_t size;

    zc_lock_get(&c->lock);
    size = h->file->size;
    zc_lock_put(&c->lock);
    return size;
}
