/* zc_file.c - files: who is who, open, close, what stays cached when nobody has it open.
 *
 * A file is known by (dev, ino), not by its path.  Life of its store files:
 *
 *     open ----> rd, wr open ----> last close: dirty pages left?
 *                    ^                | yes: flushers write them back; then as below
 *                    |                | no
 *                    |                v
 *                    |          settle: rd and wr closed, pages kept
 *                    |                |
 *                    +----------------+
 *
 * Every open compares the file with what it was when its pages were clean (zc_token.h).
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
#include "zc_pool.h"

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
    zc_list_init(&f->ledger.kept);
    zc_token_init(&f->token);
    if (zc_retain_init(c, f) < 0) {
        free(f);
        return NULL;
    }
    return f;
}

void zc_file_destroy(struct zc_file *f)
{
    struct zc_cache *c = f->cache;

    if (f->epoch > c->epochs)
        c->epochs = f->epoch;
    zc_list_del(&f->link);
    zc_list_del(&f->eager_link);
    zc_list_del(&f->token.link);
    zc_ledger_unkeep(f);
    zc_retain_free(f);
    free(f->path);
    free(f);
}

bool zc_file_unused(const struct zc_file *f)
{
    return f->handles == 0 && f->refs == 0 && !f->ctl && f->npages == 0 && !f->rd && !f->wr &&
           zc_list_empty(&f->flushes);
}

/* Frees a file nothing refers to, and of which nothing is owed. */
void zc_file_reap(struct zc_file *f)
{
    const struct zc_cache *c = f->cache;
    bool told_below = c->cfg.transient && c->store->remembers; /* and who comes next hears it */
    bool owed = f->ledger.lost_why.err && !told_below && !c->over;

    if (!zc_file_unused(f))
        return;
    if (owed)
        zc_ledger_keep(f->cache, f);
    else
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
    if (f->unlinked)
        zc_retain_end(c, f);
}

/* ---- open ---- */

/* Keeps the new store file when it can do what those at hand cannot; else returns it. */
static struct zc_sfile *adopt(struct zc_file *f, struct zc_sfile *sf, unsigned flags)
{
    if ((flags & ZC_OPEN_WRITE) && !f->wr) {
        f->wr = sf;
        f->ledger.durable = ZC_NEVER_DURABLE;
        zc_retain_begin(f->cache, f);
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
    if (o->spare) {
        free(o->spare->path);
        zc_retain_free(o->spare);
    }
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

    if (f) {
        zc_ledger_unkeep(f);
        return f;
    }
    f = o->spare;
    o->spare = NULL;
    f->epoch = c->epochs + 1; /* its numbers go on, if it was here before */
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

/* Each daemon of a set caches the blocks that are its own: through another set somebody else would
 * write them. */
static int check_set(const struct zc_file *f, struct zc_attr *attr)
{
    if (!attr->set.id || !f->nplaced || f->set.id == attr->set.id)
        return 0;
    attr->set = f->set;
    return zc_errorf(EBUSY,
                     "%s is open through another set of daemons: use the same ZCACHE_DAEMONS, in "
                     "the same order, or close it there first",
                     f->path);
}

/* Nobody has it open through a set of daemons: from now on it is that of this open, when nothing
 * has to be written back first.  0 or a negative errno. */
static int enter_set(struct zc_cache *c, struct zc_file *f, const struct zc_set *set)
{
    int rc;

    if (!set->id || f->set.id == set->id || zc_file_unwritten(f))
        return 0;
    rc = zc_file_outdate(c, f); /* others may have written here since */
    if (rc == 0)
        f->set = *set;
    return rc;
}

/* With the lock and ctl: the open of `f` takes effect. */
static struct zc_sfile *opened(struct zc_cache *c, struct zc_file *f, struct opening *o,
                               struct zc_sfile *sf, unsigned flags, uint64_t stride,
                               struct zc_attr *attr)
{
    bool other = f->born_ns && attr->born_ns && f->born_ns != attr->born_ns;

    if (f->handles == 0 && (attr->size == 0 || other) && !zc_file_unwritten(f))
        zc_ledger_forgive(f, 0, UINT64_MAX); /* truncated, or another file of that number */
    f->ledger.gone = false;
    if (attr->born_ns)
        f->born_ns = attr->born_ns;
    o->handle->placed = attr->set.id && attr->set.id == f->set.id;
    f->nplaced += o->handle->placed;
    if (attr->set.id)
        attr->set = f->set;
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
    o->handle->share = &c->nobody;
    zc_share_open(c, &c->nobody);
    zc_ahead_open(c, o->handle, attr->block_size, stride);
    o->handle->flags = flags;
    zc_retain_choose(c, f, flags);
    f->summed = (f->handles > 0 && f->summed) || flags & ZC_OPEN_CHECKSUM;
    o->handle->told_base = o->handle->told = f->ledger.reports;
    f->doomed = f->doomed && f->handles > 0;
    f->handles++;
    c->st.handles++;
    return adopt(f, sf, flags);
}

int zc_cache_open(struct zc_cache *c, const char *path, unsigned flags, mode_t mode,
                  struct zc_handle **out, struct zc_attr *attr)
{
    struct zc_sfile *sf, *surplus;
    uint64_t block_size;
    int64_t born_ns;
    struct opening o;
    struct zc_file *f;
    uint64_t before, stride = attr->stride;
    struct zc_set set = attr->set;
    int rc;

    *out = NULL;
    zc_error_clear();
    rc = flags & ZC_OPEN_CHECKSUM ? zc_page_sums_load(c) : 0;
    if (rc < 0)
        return rc;
    rc = opening_alloc(c, path, &o);
    if (rc < 0)
        return rc;
    zc_lock_get(&c->lock);
    before = c->changes;
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
    block_size = attr->block_size;
    born_ns = attr->born_ns; /* which opens tell, and no look at the file */
    attr->set = set;
    rc = check_set(f, attr);
    if (rc == 0)
        rc = zc_token_open(c, f, sf, attr, before);
    if (rc == 0 && f->handles == 0 && c->cfg.transient)
        rc = zc_file_outdate(c, f);
    if (rc == 0)
        rc = enter_set(c, f, &set);
    if (rc == 0)
        attr->set = set;
    attr->block_size = block_size;
    attr->born_ns = born_ns;
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
           !zc_file_unwritten(f) && zc_list_empty(&f->flushes) && !f->token.looking;
}

static int close_one(struct zc_sfile *sf)
{
    return sf ? zc_store_close_file(sf, ZC_LEVEL_STAGED) : 0;
}

/* Closes the store files; pages stay when we know of what they are.  1, and nothing is done, when
 * something has to be sent again first.  Drops the lock. */
int zc_file_settle(struct zc_cache *c, struct zc_file *f)
{
    struct zc_sfile *rd = f->rd, *wr = f->wr;
    struct zc_why why = {.err = 0};
    int rc_wr, rc_rd;
    bool keep, lost = false;

    zc_assert_held(&c->lock);
    zc_retain_look(c, f);
    if (zc_file_unwritten(f) && !c->over)
        return 1;
    f->ctl = true;
    f->settling = true;
    keep = zc_token_settle(c, f);
    zc_retain_end(c, f);
    f->rd = f->wr = NULL; /* nobody may use what is being closed */
    f->wr_reads = false;
    if (f->unlinked || c->cfg.transient)
        zc_file_discard(c, f);
    zc_cache_unlock(c);
    rc_rd = close_one(rd);
    rc_wr = close_one(wr);
    if (rc_wr < 0) {
        zc_why_set(&why, rc_wr == -EOWNERDEAD ? -EIO : rc_wr, "close of %s: %s", f->path,
                   zc_error_text(rc_wr));
        lost = rc_wr == -EOWNERDEAD || !c->store->remembers || zc_store_ping(c->store) < 0;
    }
    zc_lock_get(&c->lock);
    if (lost && !f->unlinked && (f->ledger.unsure.n > 0 || !c->store->remembers)) {
        zc_ledger_lose(c, f, &f->ledger.unsure, &why);
        f->ledger.unsure = (struct zc_spans){0};
        why = f->ledger.lost_why;
    }
    c->st.store_errors += rc_wr < 0 || rc_rd < 0;
    if (!keep || rc_wr < 0 || rc_rd < 0)
        zc_file_discard(c, f); /* we cannot tell whether they are what the file holds */
    f->settling = false;
    f->unlinked = false; /* its number is free: who waits for ctl may have opened the next of it */
    zc_ctl_put(c, f);
    return why.err ? zc_errorf(-why.err, "%s", why.text) : rc_rd;
}

/* As far as nothing keeps it open.  What was flushed before is handed over when this comes back,
 * even if it is now that a server is found to have died with it.  Drops the lock. */
static int settle_all(struct zc_cache *c, struct zc_file *f)
{
    int rc = 0;

    while (rc >= 0 && zc_file_may_settle(f)) {
        rc = zc_file_settle(c, f);
        if (rc == 1)
            rc = zc_flush_again(c, f);
    }
    return rc;
}

/* Did somebody else unlink it?  Then its bytes need not be written.  With ctl; drops the lock. */
static void look_for_unlink(struct zc_cache *c, struct zc_file *f)
{
    struct zc_sfile *sf = f->wr;
    uint64_t bytes;
    struct zc_attr now;
    int rc;

    if (f->unlinked || !sf || !zc_file_unwritten(f))
        return;
    zc_cache_unlock(c);
    rc = zc_store_getattr(sf, &now);
    zc_lock_get(&c->lock);
    bytes = f->dirty_bytes + f->flushing_bytes;
    if (rc < 0 || now.nlink > 0 || f->unlinked || bytes == 0)
        return;
    f->unlinked = true;
    zc_ledger_forgive(f, 0, UINT64_MAX);
    if (f->doomed)
        return;
    c->st.dropped_bytes += bytes;
    zc_warn("%s: %llu bytes that were not written back are dropped: somebody else has deleted or "
            "replaced the file",
            f->path, (unsigned long long)bytes);
}

void zc_file_look(struct zc_cache *c, struct zc_file *f)
{
    zc_assert_held(&c->lock);
    if (f->handles > 0 || f->ctl)
        return;
    f->ctl = true;
    look_for_unlink(c, f);
    if (f->unlinked)
        zc_file_discard(c, f);
    zc_ctl_put(c, f);
}

static void last_close(struct zc_cache *c, struct zc_file *f)
{
    look_for_unlink(c, f);
    /* another try may be under way, and ranges may be being merged */
    while (f->nreading > 0 || (f->nfailed > 0 && f->nflushing > 0))
        zc_cache_wait(c);
    if (f->unlinked)
        zc_file_discard(c, f);
}

/* What a writer has to know who goes. */
static void close_verdict(struct zc_cache *c, struct zc_handle *h, struct zc_why *why)
{
    if (!(h->flags & ZC_OPEN_WRITE))
        return;
    if (h->told < h->told_base)
        h->told = h->told_base;
    if (!zc_ledger_refused(c, h->file, why))
        zc_ledger_verdict(h->file, NULL, &h->told, why);
}

void zc_cache_told(struct zc_handle *h, uint64_t told)
{
    struct zc_cache *c = h->file->cache;

    zc_lock_get(&c->lock);
    if (told != ZC_TOLD_NOTHING && told > h->told)
        h->told = told;
    zc_lock_put(&c->lock);
}

void zc_cache_disown(struct zc_handle *h)
{
    struct zc_cache *c = h->file->cache;

    zc_lock_get(&c->lock);
    h->disowned = true;
    zc_lock_put(&c->lock);
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
    if (f->handles == 1)
        last_close(c, f);
    if (!h->disowned)
        zc_token_vouch(c, f);
    close_verdict(c, h, &why);
    f->handles--;
    f->nplaced -= h->placed;
    c->st.handles--;
    zc_share_close(c, h->share);
    zc_ctl_put(c, f);
    while (f->token.looking)
        zc_cache_wait(c); /* so that this close is told what closing the store's files says */
    rc = settle_all(c, f);
    if (rc < 0 && why.err == 0)
        zc_why_set(&why, rc, "%s", zc_error_text(rc));
    f->refs--;
    zc_file_reap(f);
    zc_cache_unlock(c);
    zc_predict_free(&h->predict);
    free(h);
    return why.err ? zc_errorf(-why.err, "%s", why.text) : 0;
}

/* Pages in use stay, for what is dirty in them: their clean bytes do not.  0 or -ENOMEM. */
int zc_file_outdate(struct zc_cache *c, struct zc_file *f)
{
    int rc = 0;

    zc_list_each_safe (&f->pages, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, file_link);

        if (p->handed && !zc_retain_strict(f)) { /* else since store_handed(): the next refresh */
            zc_retain_let_go(c, p);
            zc_page_place(c, p);
        }
        if (p->on == ZC_ON_NONE && zc_page_idle(p) && zc_extents_empty(&p->retained)) {
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

/* Others may have changed what a sync has handed to the store, and nothing may be let go here
 * before it is stored. */
static int store_handed(struct zc_handle *h)
{
    struct zc_cache *c = h->file->cache;
    bool handed;

    zc_lock_get(&c->lock);
    handed = zc_retain_strict(h->file) && zc_retain_handed(h->file);
    zc_lock_put(&c->lock);
    return handed ? zc_cache_flush(h, ZC_LEVEL_STORED) : 0;
}

int zc_cache_refresh(struct zc_handle *h)
{
    struct zc_file *f = h->file;
    struct zc_cache *c = f->cache;
    struct zc_sfile *sf;
    int rc;

    zc_error_clear();
    rc = store_handed(h);
    if (rc < 0)
        return rc;
    zc_lock_get(&c->lock);
    zc_ctl_get(c, f);
    sf = f->rd ? f->rd : f->wr;
    zc_cache_unlock(c);
    rc = zc_store_refresh(sf); /* which stays while we have ctl, and a handle */
    zc_lock_get(&c->lock);
    if (rc == 0)
        rc = zc_token_refresh(c, f);
    zc_ctl_put(c, f);
    zc_cache_unlock(c);
    return rc;
}

uint64_t zc_cache_key(const struct zc_handle *h)
{
    return zc_pool_key(h->file->dev, h->file->ino);
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

int zc_cache_owes(struct zc_cache *c, uint64_t dev, uint64_t ino)
{
    struct zc_file *f;
    int rc = 0;

    zc_lock_get(&c->lock);
    f = zc_file_find(c, dev, ino);
    if (f && !f->unlinked && zc_file_unwritten(f))
        rc = f->nfailed ? f->write_why.err : -EAGAIN;
    zc_lock_put(&c->lock);
    return rc;
}
