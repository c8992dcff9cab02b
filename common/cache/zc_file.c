/* zc_file.c - files: identity, open, close, and what stays cached without handles.
 *
 * A file is identified by (dev, ino), not by its path.  Life of its store files:
 *
 *     open ----> rd, wr open ----> last close: dirty pages left?
 *                    ^                | yes: flushers write them back; then as below
 *                    |                | no
 *                    |                v
 *                    |          settle: rd and wr closed, pages kept
 *                    |                |
 *                    +----------------+
 *
 * Every open compares the file's attributes with those noted for its clean pages (zc_validator.h).
 *
 * A file without handles, pages and store files is freed.  `ctl` serialises open, close, truncate,
 * allocate, unlink and settle of one file; it is held across store calls.
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
    while (f->ctl != ZC_CTL_FREE)
        zc_cache_wait(c);
    ZC_FILE_MOVE(f, ctl, ZC_CTL_HELD);
}

void zc_ctl_put(struct zc_cache *c, struct zc_file *f)
{
    ZC_FILE_MOVE(f, ctl, ZC_CTL_FREE);
    zc_file_flush_now(c, f);
    pthread_cond_broadcast(&c->changed);
}

bool zc_file_unwritten(const struct zc_file *f)
{
    return !zc_list_empty(&f->dirty) || !zc_list_empty(&f->failed) || f->nflushing > 0;
}

uint64_t zc_file_unwritten_end(struct zc_cache *c, const struct zc_file *f)
{
    uint64_t end = 0;

    zc_list_each (&f->pages, n) {
        const struct zc_page *p = zc_list_entry(n, struct zc_page, file_link);
        const struct zc_extents *sets[] = {&p->dirty, &p->flushing};

        for (int i = 0; i < 2; i++) {
            uint64_t at = zc_page_offset(c, p);

            if (zc_extents_empty(sets[i]))
                continue;
            at += zc_extents_ranges(sets[i])[sets[i]->n - 1].hi;
            if (at > end)
                end = at;
        }
    }
    return end;
}

/* Puts the file on or off the list for the flushers: files with requests, or to be closed. */
void zc_file_flush_now(struct zc_cache *c, struct zc_file *f)
{
    bool want = !zc_list_empty(&f->flushes) || (f->handles == 0 && !f->closing && (f->rd || f->wr));

    zc_assert_held(&c->lock);
    if (!want) {
        zc_list_del(&f->flush_now_link);
        return;
    }
    if (!zc_list_linked(&f->flush_now_link))
        zc_list_add_tail(&c->flush_now, &f->flush_now_link);
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
    zc_list_init(&f->direct_writes);
    zc_list_init(&f->flushes);
    zc_list_init(&f->flush_now_link);
    zc_list_init(&f->failed_link);
    zc_list_init(&f->wb_errors.kept);
    zc_validator_init(&f->validator);
    if (zc_unstable_init(c, f) < 0) {
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
    zc_list_del(&f->flush_now_link);
    zc_list_del(&f->validator.link);
    zc_wb_errors_unkeep(f);
    zc_unstable_free(f);
    free(f->path);
    free(f);
}

bool zc_file_unused(const struct zc_file *f)
{
    return f->handles == 0 && f->refs == 0 && f->ctl == ZC_CTL_FREE && f->npages == 0 && !f->rd &&
           !f->wr && zc_list_empty(&f->flushes);
}

/* Frees a file without references and without anything owed. */
void zc_file_reap(struct zc_file *f)
{
    const struct zc_cache *c = f->cache;
    bool told_below = c->cfg.transient && c->store->remembers; /* the next client is told as well */
    bool owed = f->wb_errors.lost_why.rc && !told_below && !c->over;

    if (!zc_file_unused(f))
        return;
    if (owed)
        zc_wb_errors_keep(f->cache, f);
    else
        zc_file_destroy(f);
}

/* Drops every unused page, dirty ones too.  The caller holds a ref or ctl. */
void zc_file_discard(struct zc_cache *c, struct zc_file *f)
{
    zc_list_each_safe (&f->pages, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, file_link);

        if (zc_page_idle(p))
            zc_page_drop(c, p);
    }
    if (f->name == ZC_NAME_GONE)
        zc_unstable_end(c, f);
}

/* ---- open ---- */

/* Keeps the new store file if it can do more than the present ones; else returns it. */
static struct zc_sfile *adopt(struct zc_file *f, struct zc_sfile *sf, unsigned flags)
{
    if ((flags & ZC_OPEN_WRITE) && !f->wr) {
        f->wr = sf;
        f->wb_errors.durable = ZC_NEVER_DURABLE;
        zc_unstable_begin(f->cache, f);
        f->wr_reads = flags & ZC_OPEN_READ;
        return NULL;
    }
    if ((flags & ZC_OPEN_READ) && !f->rd && !(f->wr && f->wr_reads)) {
        f->rd = sf;
        return NULL;
    }
    return sf;
}

/* Memory for an open, allocated before the store is called: nothing can fail afterwards. */
struct opening {
    struct zc_handle *handle;
    struct zc_file *spare;
    char *path;
};

static void opening_free(struct opening *o)
{
    if (o->spare) {
        free(o->spare->path);
        zc_unstable_free(o->spare);
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

/* Finds the file with these attributes, or makes it of the spare one. */
static struct zc_file *meet(struct zc_cache *c, struct opening *o, const struct zc_attr *attr)
{
    struct zc_file *f = zc_file_find(c, attr->dev, attr->ino);

    if (f) {
        zc_wb_errors_unkeep(f);
        return f;
    }
    f = o->spare;
    o->spare = NULL;
    f->epoch = c->epochs + 1; /* continues its numbers if it was cached before */
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

/* Checks the set of daemons.  Each daemon of a set caches its own blocks only: through another set,
 * other daemons would write them. */
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

/* For a file without opens that name a set: adopts the set of this open, unless bytes have to be
 * written back first.  0 or a negative errno. */
static int enter_set(struct zc_cache *c, struct zc_file *f, const struct zc_set *set)
{
    int rc;

    if (!set->id || f->set.id == set->id || zc_file_unwritten(f))
        return 0;
    rc = zc_file_outdate(c, f); /* other sets may have written here since */
    if (rc == 0)
        f->set = *set;
    return rc;
}

static bool is_placed_so(const struct zc_file *f, const struct zc_attr *attr)
{
    return f->block_size == attr->block_size && f->width == attr->width && f->first == attr->first;
}

static void place(struct zc_file *f, const struct zc_attr *attr)
{
    f->block_size = attr->block_size;
    f->width = attr->width;
    f->first = attr->first;
}

/* Returns the number of servers over which the blocks of the file are distributed. */
static uint32_t servers_of(const struct zc_file *f, const struct zc_attr *attr)
{
    uint32_t servers = attr->set.count ? attr->set.count : 1;

    return f->width && f->width < servers ? f->width : servers;
}

/* Returns the stride, in blocks of the file, of a reader of every n-th block (0: of all) among the
 * blocks that lie here: the least common multiple of n and the number of owning servers. */
static uint64_t stride_here(uint64_t servers, uint64_t n)
{
    uint64_t a = n ? n : 1, b;

    for (b = servers; b;) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return (n ? n : 1) / a * servers;
}

/* Completes the open of `f`; with the lock and ctl. */
static struct zc_sfile *opened(struct zc_cache *c, struct zc_file *f, struct opening *o,
                               struct zc_sfile *sf, unsigned flags, uint64_t stride,
                               struct zc_attr *attr)
{
    bool other = f->born_ns && attr->born_ns && f->born_ns != attr->born_ns;
    uint32_t servers;

    if (f->handles == 0 && (attr->size == 0 || other) && !zc_file_unwritten(f))
        zc_wb_errors_clear(f, 0, UINT64_MAX); /* truncated, or a reused inode number */
    f->wb_errors.gone = false;
    if (attr->born_ns)
        f->born_ns = attr->born_ns;
    o->handle->placed = attr->set.id && attr->set.id == f->set.id;
    f->nplaced += o->handle->placed;
    if (attr->set.id)
        attr->set = f->set;
    if ((flags & ZC_OPEN_PLACED) && f->handles == 0 && !zc_file_unwritten(f) &&
        !is_placed_so(f, attr)) {
        zc_file_discard(c, f); /* these bytes may belong to other daemons now */
        place(f, attr);
    }
    if (f->block_size == 0)
        place(f, attr);
    if (f->handles == 0 || attr->size > f->store_end)
        f->store_end = attr->size;
    attr->block_size = f->block_size;
    attr->width = f->width;
    attr->first = f->first;
    attr->size = f->size;
    attr->stride = stride;
    swap_path(f, &o->path);
    o->handle->file = f;
    o->handle->tenant = &c->no_tenant;
    zc_cache_tenant_open(c, &c->no_tenant);
    servers = servers_of(f, attr);
    if (f->handles == 0 || servers > f->servers)
        f->servers = servers;
    zc_readahead_open(c, o->handle, attr->block_size, stride_here(servers, stride));
    o->handle->flags = flags;
    zc_unstable_choose(c, f, flags);
    f->summed = (f->handles > 0 && f->summed) || flags & ZC_OPEN_CHECKSUM;
    o->handle->errseq_base = o->handle->errseq = f->wb_errors.reports;
    if (f->name == ZC_NAME_GOING && f->handles == 0)
        ZC_FILE_MOVE(f, name, ZC_NAME_THERE);
    if (f->handles > 0 && !f->wr && flags & ZC_OPEN_WRITE)
        zc_publish_writer(c);
    f->handles++;
    c->st.handles++;
    zc_file_note_steps(f, flags);
    return adopt(f, sf, flags);
}

/* Reads again what may have changed since the open that *attr is of. */
static int read_attr(struct zc_sfile *sf, struct zc_attr *attr)
{
    struct zc_attr now = {0};
    int rc = zc_store_getattr(sf, &now);

    if (rc < 0)
        return rc;
    attr->size = now.size;
    attr->nlink = now.nlink;
    attr->mtime_ns = now.mtime_ns;
    attr->ctime_ns = now.ctime_ns;
    return 0;
}

/* Opens the file in the store, or takes over the given store file, and sets *given to NULL.  *attr
 * was read when zc_cache_changes() was not less than *before. */
static int open_below(struct zc_cache *c, const char *path, unsigned flags, mode_t mode,
                      struct zc_sfile **given, uint64_t *before, struct zc_sfile **out,
                      struct zc_attr *attr)
{
    uint64_t now = zc_cache_changes();
    int rc = 0;

    if (!given || !*given) {
        *before = now;
        return zc_store_open_file(c->store, path, flags & ZC_OPEN_ALL, mode, out, attr);
    }
    if (*before != now) { /* also where that is unknown */
        *before = now;
        rc = read_attr(*given, attr);
    }
    if (rc < 0)
        return rc;
    *out = *given;
    *given = NULL;
    return 0;
}

/* Whether the open is allowed, with the lock and ctl, after clean bytes that may be outdated were
 * discarded; `before`: zc_cache_changes() before *attr was read.  0, or a negative errno,
 * explained. */
static int admit(struct zc_cache *c, struct zc_file *f, struct zc_sfile *sf, unsigned flags,
                 uint64_t before, const struct zc_set *set, struct zc_attr *attr)
{
    const struct zc_attr met = *attr; /* only opens return placement, birth time, unit, created */
    int rc;

    attr->set = *set;
    rc = check_set(f, attr);
    if (rc == 0)
        rc = zc_file_check_steps(f, flags);
    if (rc == 0)
        rc = zc_file_trusts_steps(f, flags) ? 0 : zc_validator_open(c, f, sf, attr, before);
    if (rc == 0 && (flags & ZC_OPEN_FRESH || (f->handles == 0 && c->cfg.transient)))
        rc = zc_file_outdate(c, f);
    if (rc == 0)
        rc = enter_set(c, f, set);
    if (rc == 0)
        attr->set = *set;
    attr->block_size = met.block_size;
    attr->width = met.width;
    attr->first = met.first;
    attr->born_ns = met.born_ns;
    attr->created = met.created;
    attr->store_unit = met.store_unit;
    return rc;
}

int zc_cache_open_given(struct zc_cache *c, struct zc_sfile **given, uint64_t before,
                        const char *path, unsigned flags, mode_t mode, struct zc_handle **out,
                        struct zc_attr *attr)
{
    struct zc_sfile *sf, *surplus;
    struct opening o;
    struct zc_file *f;
    uint64_t stride = attr->stride;
    struct zc_set set = attr->set;
    uint64_t *unwritten = NULL;
    int rc;

    *out = NULL;
    zc_error_clear();
    rc = flags & ZC_OPEN_CHECKSUM ? zc_page_csum_load(c) : 0;
    if (rc < 0)
        return rc;
    rc = opening_alloc(c, path, &o);
    if (rc < 0)
        return rc;
    rc = open_below(c, path, flags, mode, given, &before, &sf, attr);
    if (rc < 0) {
        opening_free(&o);
        return rc;
    }
    if (c->cfg.unwritten && flags & ZC_OPEN_WRITE)
        unwritten = c->cfg.unwritten(path);
    zc_lock_get(&c->lock);
    f = meet(c, &o, attr);
    f->refs++;
    zc_ctl_get(c, f);
    if (!f->unwritten)
        f->unwritten = unwritten;
    rc = admit(c, f, sf, flags, before, &set, attr);
    surplus = sf;
    if (rc == 0) {
        surplus = opened(c, f, &o, sf, flags, stride, attr);
        *out = o.handle;
        o.handle = NULL;
        if (flags & ZC_OPEN_WRITE)
            zc_frames_expect(c);
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

int zc_cache_open(struct zc_cache *c, const char *path, unsigned flags, mode_t mode,
                  struct zc_handle **out, struct zc_attr *attr)
{
    return zc_cache_open_given(c, NULL, ZC_CHANGES_UNKNOWN, path, flags, mode, out, attr);
}

/* ---- close ---- */

/* Whether the file has no handles and nothing in flight or unwritten. */
bool zc_file_may_settle(const struct zc_file *f)
{
    return f->handles == 0 && f->ctl == ZC_CTL_FREE && (f->rd || f->wr) && f->nreading == 0 &&
           !f->syncing && !zc_file_unwritten(f) && zc_list_empty(&f->flushes) &&
           !f->validator.looking;
}

static int close_one(struct zc_sfile *sf)
{
    return sf ? zc_store_close_file(sf, ZC_LEVEL_STAGED) : 0;
}

/* Closes the store files; pages stay if their validator holds.  Returns 1, with nothing done, if
 * bytes have to be sent again first.  Drops the lock. */
int zc_file_settle(struct zc_cache *c, struct zc_file *f)
{
    struct zc_sfile *rd = f->rd, *wr = f->wr;
    struct zc_error why = {.rc = 0};
    int rc_wr, rc_rd;
    bool keep, lost = false;

    zc_assert_held(&c->lock);
    zc_unstable_update(c, f);
    if (zc_file_unwritten(f) && !c->over)
        return 1;
    ZC_FILE_MOVE(f, ctl, ZC_CTL_SETTLING);
    keep = zc_validator_settle(c, f);
    zc_unstable_end(c, f);
    f->rd = f->wr = NULL; /* keeps others from using them during the close */
    f->wr_reads = false;
    if (f->name == ZC_NAME_GONE || c->cfg.transient)
        zc_file_discard(c, f);
    zc_cache_unlock(c);
    rc_rd = close_one(rd);
    rc_wr = close_one(wr);
    if (rc_wr < 0) {
        zc_error_set(&why, rc_wr == -EOWNERDEAD ? -EIO : rc_wr, "close of %s: %s", f->path,
                     zc_error_text(rc_wr));
        lost = rc_wr == -EOWNERDEAD || !c->store->remembers || zc_store_ping(c->store) < 0;
    }
    zc_lock_get(&c->lock);
    if (lost && f->name != ZC_NAME_GONE && (f->wb_errors.unsure.n > 0 || !c->store->remembers)) {
        zc_wb_errors_lose(c, f, &f->wb_errors.unsure, &why);
        f->wb_errors.unsure = (struct zc_spans){0};
        why = f->wb_errors.lost_why;
    }
    c->st.store_errors += rc_wr < 0 || rc_rd < 0;
    if (!keep || rc_wr < 0 || rc_rd < 0)
        zc_file_discard(c, f); /* they may differ from the file */
    /* the inode number may be reused: a thread that waits for ctl may have opened the new file */
    ZC_FILE_MOVE(f, name, ZC_NAME_THERE);
    zc_ctl_put(c, f);
    return why.rc ? zc_error_raise(&why) : rc_rd;
}

/* Settles as far as nothing keeps the file open.  What was flushed before is committed on return,
 * even if a server is found dead only now.  Drops the lock. */
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

/* Checks whether another process unlinked the file: then its bytes need not be written.  With ctl;
 * drops the lock. */
static void look_for_unlink(struct zc_cache *c, struct zc_file *f)
{
    struct zc_sfile *sf = f->wr;
    uint64_t bytes;
    struct zc_attr now;
    bool expected;
    int rc;

    if (f->name == ZC_NAME_GONE || !sf || !zc_file_unwritten(f))
        return;
    zc_cache_unlock(c);
    rc = zc_store_getattr(sf, &now);
    zc_lock_get(&c->lock);
    bytes = f->dirty_bytes + f->flushing_bytes;
    if (rc < 0 || now.nlink > 0 || f->name == ZC_NAME_GONE || bytes == 0)
        return;
    expected = f->name == ZC_NAME_GOING;
    ZC_FILE_MOVE(f, name, ZC_NAME_GONE);
    zc_wb_errors_clear(f, 0, UINT64_MAX);
    if (expected)
        return;
    c->st.dropped_bytes += bytes;
    zc_warn("%s: %llu bytes that were not written back are dropped: another program has deleted or "
            "replaced the file",
            f->path, (unsigned long long)bytes);
}

void zc_file_lookup(struct zc_cache *c, struct zc_file *f)
{
    zc_assert_held(&c->lock);
    if (f->handles > 0 || f->ctl != ZC_CTL_FREE)
        return;
    ZC_FILE_MOVE(f, ctl, ZC_CTL_HELD);
    look_for_unlink(c, f);
    if (f->name == ZC_NAME_GONE)
        zc_file_discard(c, f);
    zc_ctl_put(c, f);
}

static void last_close(struct zc_cache *c, struct zc_file *f)
{
    look_for_unlink(c, f);
    /* a retry may be under way, and ranges may be being merged */
    while (f->nreading > 0 || (f->nfailed > 0 && f->nflushing > 0))
        zc_cache_wait(c);
    if (f->name == ZC_NAME_GONE)
        zc_file_discard(c, f);
}

/* Collects what a closing writer has to be told. */
static void close_verdict(struct zc_cache *c, struct zc_handle *h, struct zc_error *why)
{
    if (!(h->flags & ZC_OPEN_WRITE))
        return;
    if (h->errseq < h->errseq_base)
        h->errseq = h->errseq_base;
    if (!zc_wb_errors_refused(c, h->file, why))
        zc_wb_errors_check(h->file, NULL, &h->errseq, why);
}

void zc_cache_set_errseq(struct zc_handle *h, uint64_t told)
{
    struct zc_cache *c = h->file->cache;

    zc_lock_get(&c->lock);
    if (told != ZC_ERRSEQ_NONE && told > h->errseq)
        h->errseq = told;
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
    struct zc_error why = {.rc = 0};
    int rc;

    zc_error_clear();
    zc_lock_get(&c->lock);
    zc_debug_assert(h->accesses == 0);
    zc_ra_predict_depth(&h->predict, 0);
    zc_readahead_stop(c, h);
    f->refs++;
    zc_ctl_get(c, f);
    if (f->handles == 1)
        last_close(c, f);
    if (!h->disowned)
        zc_validator_confirm(c, f);
    close_verdict(c, h, &why);
    f->handles--;
    f->nplaced -= h->placed;
    c->st.handles--;
    zc_cache_tenant_close(c, h->tenant);
    f->closing++;
    zc_ctl_put(c, f);
    while (f->validator.looking)
        zc_cache_wait(c); /* to report errors of closing the store files */
    rc = settle_all(c, f);
    zc_error_join(&why, rc);
    f->closing--;
    zc_file_flush_now(c, f);
    f->refs--;
    zc_file_reap(f);
    zc_cache_unlock(c);
    zc_ra_predict_free(&h->predict);
    free(h);
    return zc_error_raise(&why);
}

/* Outdates all pages.  Pages in use stay, for their dirty bytes; clean bytes go.  0 or -ENOMEM. */
int zc_file_outdate(struct zc_cache *c, struct zc_file *f)
{
    int rc = 0;

    zc_list_each_safe (&f->pages, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, file_link);

        if (p->published &&
            !zc_unstable_strict(f)) { /* else published by store_handed(): at the next refresh */
            zc_unstable_release(c, p);
            zc_page_place(c, p);
        }
        if (p->on == ZC_ON_NONE && zc_page_idle(p) && zc_extents_empty(&p->kept)) {
            zc_page_drop(c, p);
            continue;
        }
        if (p->reads == ZC_READS_NARROW)
            ZC_PAGE_MOVE(p, reads, ZC_READS_JOINED);
        if (p->fill != ZC_FILL_NONE && !zc_list_linked(&p->fill_link))
            p->stale = true; /* its read may have begun before the change */
        if (zc_page_outdate(c, p) < 0)
            rc = zc_errorf(ENOMEM, "%s: out of memory", f->path);
    }
    return rc;
}

/* Stores unstable bytes that a sync has published and that must not be dropped unstored, since
 * others may have changed them. */
static int store_handed(struct zc_handle *h)
{
    struct zc_cache *c = h->file->cache;
    bool handed;

    zc_lock_get(&c->lock);
    handed = zc_unstable_strict(h->file) && zc_unstable_published(h->file);
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
    rc = zc_store_refresh(sf); /* valid while we hold ctl and a handle */
    zc_lock_get(&c->lock);
    if (rc == 0)
        rc = zc_validator_refresh(c, f);
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
    if (f && f->name != ZC_NAME_GONE && zc_file_unwritten(f))
        rc = f->nfailed ? f->write_why.rc : -EAGAIN;
    zc_lock_put(&c->lock);
    return rc;
}
