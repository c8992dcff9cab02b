/* zc_discard.c - dirty bytes that will not be written back: discarded, or lost at the end. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>

#include "zc_cache_internal.h"
#include "zc_log.h"
#include "zc_view.h"

/* ---- discard by a writer ---- */

/* Returns the part of the page in [off, end) of the file; false: none. */
static bool part(struct zc_cache *c, const struct zc_page *p, uint64_t off, uint64_t end,
                 struct zc_range *r)
{
    uint64_t start = zc_page_offset(c, p);

    if (start >= end || start + c->page_size <= off)
        return false;
    r->lo = off > start ? (uint32_t)(off - start) : 0;
    r->hi = end - start < c->page_size ? (uint32_t)(end - start) : c->page_size;
    return true;
}

/* Returns a page with refused bytes in [off, end), under retry or not; NULL: none. */
static struct zc_page *refused_in(struct zc_cache *c, struct zc_file *f, uint64_t off, uint64_t end)
{
    struct zc_range r;

    zc_list_each (&f->failed, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, state_link);

        if (part(c, p, off, end, &r) && zc_extents_touch(&p->dirty, r.lo, r.hi))
            return p;
    }
    zc_list_each (&f->flushing, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, state_link);

        if (p->refused == ZC_REFUSED_ALONE && part(c, p, off, end, &r))
            return p;
    }
    return NULL;
}

/* False: no memory to split its ranges. */
static bool forget(struct zc_cache *c, struct zc_page *p, uint64_t off, uint64_t end)
{
    struct zc_range r;

    if (zc_page_reserve(p, 1) < 0) {
        zc_error("%s: out of memory: bytes that were given up are tried again", p->file->path);
        return false;
    }
    if (part(c, p, off, end, &r)) {
        zc_unstable_release_part(c, p, r.lo, r.hi);
        zc_page_clean(c, p, r.lo, r.hi);
        zc_extents_sub(&p->valid, r.lo, r.hi);
    }
    zc_page_place(c, p);
    if (zc_page_idle(p) && zc_extents_empty(&p->valid))
        zc_page_drop(c, p);
    return true;
}

/* Undoes the growth of the file by discarded bytes alone.  Drops the lock. */
static void take_size(struct zc_cache *c, struct zc_file *f)
{
    struct zc_attr attr = {0};
    uint64_t end;

    if (!f->wr || zc_validator_attr(c, f, &attr) < 0)
        return;
    end = zc_file_unwritten_end(c, f); /* not before: others may have written meanwhile */
    attr.size = end > attr.size ? end : attr.size;
    if (attr.size < f->size)
        zc_publish_eof(f, attr.size);
}

/* Looks a few pages up in the table, and searches the list of refused ones if there are many. */
static struct zc_page *next_refused(struct zc_cache *c, struct zc_file *f, uint64_t off,
                                    uint64_t end)
{
    uint64_t first = off >> c->page_shift, last = (end - 1) >> c->page_shift;

    if (f->nfailed == 0 || off >= end)
        return NULL;
    if (last - first > f->nfailed)
        return refused_in(c, f, off, end);
    for (uint64_t no = first; no <= last; no++) {
        struct zc_page *p = zc_page_find(c, f, no);
        struct zc_range r;

        if (p && p->refused == ZC_REFUSED_ALONE && part(c, p, off, end, &r) &&
            (p->in_flush || zc_extents_touch(&p->dirty, r.lo, r.hi)))
            return p;
    }
    return NULL;
}

/* With ctl; may drop the lock.  True: something was discarded. */
static bool forget_range(struct zc_cache *c, struct zc_file *f, uint64_t off, uint64_t end)
{
    bool forgotten = false;
    struct zc_page *p;

    while ((p = next_refused(c, f, off, end))) {
        if (p->in_flush)
            zc_cache_wait(c); /* the write would bring them back */
        else if (!forget(c, p, off, end))
            break;
        else
            forgotten = true;
    }
    zc_wb_errors_clear(f, off, end);
    return forgotten;
}

static void given_up(struct zc_cache *c, struct zc_file *f, bool forgotten)
{
    if (forgotten)
        take_size(c, f);
    zc_flush_check(c, f);
    zc_ctl_put(c, f);
    zc_cache_unlock(c);
}

void zc_cache_discard(struct zc_handle *h, uint64_t off, uint64_t len)
{
    uint64_t end = len > UINT64_MAX - off ? UINT64_MAX : off + len;
    struct zc_file *f = h->file;
    struct zc_cache *c = f->cache;

    zc_lock_get(&c->lock);
    zc_ctl_get(c, f);
    given_up(c, f, forget_range(c, f, off, end));
}

void zc_cache_discard_view(struct zc_handle *h, const struct zc_view *v, int64_t disp, size_t len,
                           int64_t view_off)
{
    struct zc_file *f = h->file;
    struct zc_cache *c = f->cache;
    int64_t left = (int64_t)len, first, n;
    bool forgotten = false;
    struct zc_view_iter it;

    zc_lock_get(&c->lock);
    zc_ctl_get(c, f);
    if (zc_view_start(&it, v, disp, view_off) == 0)
        for (; left > 0 && zc_view_next(&it, left, &first, &n) == 0; left -= n)
            forgotten |= forget_range(c, f, (uint64_t)first, (uint64_t)(first + n));
    given_up(c, f, forgotten);
}

/* ---- bytes that never arrived ---- */

void zc_cache_lose(struct zc_handle *h, uint64_t lo, uint64_t hi, uint64_t bytes, int err,
                   const char *text)
{
    struct zc_file *f = h->file;
    struct zc_cache *c = f->cache;
    struct zc_spans s = {0};
    struct zc_error why = {0};

    zc_error_set(&why, err, "%s", text);
    zc_spans_add(&s, lo, hi, bytes);
    zc_lock_get(&c->lock);
    zc_wb_errors_lose(c, f, &s, &why);
    zc_cache_unlock(c);
}

void zc_cache_lose_unknown(struct zc_cache *c, uint64_t bytes, const char *text)
{
    zc_error("%" PRIu64 " bytes that a process of this host wrote are lost: %s", bytes, text);
    zc_lock_get(&c->lock);
    c->st.lost_bytes += bytes;
    zc_lock_put(&c->lock);
}

bool zc_cache_refused(struct zc_cache *c)
{
    return __atomic_load_n(&c->nrefused, __ATOMIC_RELAXED) > 0;
}

/* ---- the end ---- */

static void abandon_file(struct zc_cache *c, struct zc_file *f)
{
    f->refs++;
    while (!c->stop && (f->ctl != ZC_CTL_FREE || f->nreading > 0 || f->syncing))
        zc_cache_wait(c);
    if (f->name != ZC_NAME_GONE)
        zc_wb_errors_lose_unwritten(c, f);
    zc_file_discard(c, f);
    if (f->rd || f->wr)
        zc_file_settle(c, f); /* a failed close loses bytes, too, and reports them */
    f->refs--;
    zc_file_reap(f);
}

/* Returns one that is not abandoned yet. */
static struct zc_file *next_file(struct zc_cache *c)
{
    for (unsigned i = 0; i < ZC_FILE_BUCKETS; i++)
        zc_list_each (&c->files[i], n) {
            struct zc_file *f = zc_list_entry(n, struct zc_file, link);

            if (!f->abandoned) {
                f->abandoned = true;
                return f;
            }
        }
    return NULL;
}

uint64_t zc_cache_abandon(struct zc_cache *c)
{
    struct zc_file *f;
    uint64_t lost;
    bool first;

    zc_lock_get(&c->lock);
    first = !c->over;
    c->over = true; /* no more retries */
    while (c->nflushing > 0 && !c->stop)
        zc_cache_wait(c);
    while (first && (f = next_file(c)))
        abandon_file(c, f);
    lost = c->st.lost_bytes;
    zc_cache_unlock(c);
    return lost;
}
