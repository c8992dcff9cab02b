/* zc_fill.c - store reads: straight into page memory, only into gaps of `valid`.
 *
 * While page->reading no write to the page begins, and ranges of writes that began
 * before are left out, so the bytes a read touches belong to the read alone.  What lies
 * beyond the end of the store file reads as zeros and is valid.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "zc_cache_internal.h"
#include "zc_log.h"

enum {
    FILL_GAPS = 64,    /* gaps of one store read */
    FILL_SKIP = 16384, /* valid bytes that are read again, and thrown away, to join two gaps */
};

/* Gaps read by one store call; valid bytes between them go to `sink`. */
struct fill_batch {
    struct zc_range gaps[FILL_GAPS];
    unsigned ngaps;
    struct iovec iov[2 * FILL_GAPS];
    int niov;
    uint32_t lo, hi;
    char sink[FILL_SKIP];
};

/* The first gap of `valid` in [lo, hi) that no write under way touches. */
bool zc_fill_gap(const struct zc_page *p, uint32_t lo, uint32_t hi, struct zc_range *gap)
{
    while (zc_extents_gap(&p->valid, lo, hi, gap)) {
        bool covered = false;

        zc_list_each (&p->writers, n) {
            const struct zc_access *w = zc_list_entry(n, struct zc_access, link);
            uint32_t wlo = w->page_off, whi = wlo + w->len;

            if (wlo <= gap->lo && whi > gap->lo) {
                lo = whi;
                covered = true;
                break;
            }
            if (wlo > gap->lo && wlo < gap->hi)
                gap->hi = wlo;
        }
        if (!covered)
            return true;
    }
    return false;
}

static void add_gap(struct fill_batch *b, char *data, struct zc_range gap)
{
    if (b->ngaps == 0)
        b->lo = gap.lo;
    else if (gap.lo > b->hi)
        b->iov[b->niov++] = (struct iovec){b->sink, gap.lo - b->hi};
    b->iov[b->niov++] = (struct iovec){data + gap.lo, gap.hi - gap.lo};
    b->gaps[b->ngaps++] = gap;
    b->hi = gap.hi;
}

/* The next gaps at or after `at`; false: none are left. */
static bool next_batch(struct zc_cache *c, struct zc_page *p, uint32_t at, struct fill_batch *b)
{
    char *data = zc_page_data(c, p);
    struct zc_range gap;

    zc_assert_held(&c->lock);
    b->ngaps = 0;
    b->niov = 0;
    while (b->ngaps < FILL_GAPS && zc_fill_gap(p, at, c->page_size, &gap)) {
        if (b->ngaps > 0 && gap.lo - b->hi > FILL_SKIP)
            break;
        add_gap(b, data, gap);
        at = gap.hi;
    }
    return b->ngaps > 0;
}

/* Reads one batch without the lock.  *eof: known to lie beyond the end of the store file. */
static ssize_t read_batch(struct zc_sfile *sf, uint64_t page_start, struct fill_batch *b, bool *eof)
{
    uint32_t want = b->hi - b->lo;
    ssize_t got = 0;

    if (!*eof) {
        got = sf->store->ops->preadv(sf, b->iov, b->niov, page_start + b->lo);
        if (got < 0)
            return got;
        *eof = got < (ssize_t)want;
    }
    for (int i = 0, at = 0; i < b->niov; i++) {
        size_t len = b->iov[i].iov_len, have = got > at ? (size_t)(got - at) : 0;

        if (have < len && b->iov[i].iov_base != b->sink)
            memset((char *)b->iov[i].iov_base + have, 0, len - have);
        at += (int)len;
    }
    return got;
}

static int batch_valid(struct zc_page *p, const struct fill_batch *b)
{
    for (unsigned i = 0; i < b->ngaps; i++) {
        if (zc_extents_reserve(&p->valid, p->valid.n + 1 + p->promised) < 0)
            return zc_errorf(ENOMEM, "read of %s: out of memory", p->file->path);
        zc_extents_add(&p->valid, b->gaps[i].lo, b->gaps[i].hi);
    }
    return 0;
}

/* Fills all gaps of the page; drops the lock around store calls. */
static int fill(struct zc_cache *c, struct zc_page *p)
{
    struct zc_sfile *sf = p->file->rd ? p->file->rd : p->file->wr;
    uint64_t start = zc_page_offset(c, p);
    struct fill_batch b;
    bool eof = false;
    uint32_t at = 0;
    int rc;

    while (next_batch(c, p, at, &b)) {
        bool call = !eof;
        ssize_t got;

        zc_cache_unlock(c);
        got = read_batch(sf, start, &b, &eof);
        zc_lock_get(&c->lock);
        if (call)
            c->st.store_reads++;
        if (got < 0) {
            c->st.store_errors++;
            return (int)got;
        }
        c->st.store_read_bytes += (uint64_t)got;
        rc = batch_valid(p, &b);
        if (rc < 0)
            return rc;
        at = b.hi;
    }
    return 0;
}

/* The read to merge ranges is over.  Dirty bytes become one range when all bytes between
 * are known; when the store cannot be read, the page is written and then forgotten. */
static void collapsed(struct zc_cache *c, struct zc_page *p, int rc)
{
    const struct zc_range *r = zc_extents_ranges(&p->dirty);

    p->collapsing = false;
    if (rc < 0 && zc_extents_empty(&p->dirty) && !p->in_flush) {
        zc_page_forget_clean(c, p);
        return;
    }
    if (rc < 0) {
        p->max_extents = p->max_extents < UINT32_MAX / 2 ? 2 * p->max_extents : UINT32_MAX;
        if (p->failed)
            return; /* cannot be written either: nobody shall wait for that */
        p->squeeze = true;
        zc_list_add_tail(&c->squeeze, &p->squeeze_link);
        zc_kick(c);
        return;
    }
    c->st.collapses++;
    if (p->dirty.n > 1 && zc_extents_cover(&p->valid, r[0].lo, r[p->dirty.n - 1].hi))
        zc_page_dirty(c, p, r[0].lo, r[p->dirty.n - 1].hi);
}

static void read_run(struct zc_work *w)
{
    struct zc_page *p = zc_list_entry(w, struct zc_page, read_work);
    struct zc_file *f = p->file; /* the page stays while it is being read */
    struct zc_cache *c = f->cache;
    int rc;

    zc_lock_get(&c->lock);
    rc = fill(c, p);
    p->reading = false;
    c->nreading--;
    f->nreading--;
    if (p->collapsing)
        collapsed(c, p, rc);
    if (rc < 0)
        zc_page_fail_readers(c, p, rc, zc_error_text(rc));
    zc_page_wake(c, p);
    zc_page_place(c, p);
    pthread_cond_broadcast(&c->changed);
    zc_file_eager(c, f);
    zc_cache_unlock(c);
}

void zc_fill_init(struct zc_page *p)
{
    p->read_work.run = read_run;
}

/* Begins to read all gaps of the page; false when that cannot begin now: whoever ends
 * what is in the way wakes the page's waiters. */
bool zc_fill_start(struct zc_cache *c, struct zc_page *p)
{
    zc_assert_held(&c->lock);
    if (p->reading || zc_page_frozen(c, p))
        return false;
    p->reading = true;
    c->nreading++;
    p->file->nreading++;
    zc_page_place(c, p);
    zc_pool_submit(c->readers, &p->read_work);
    return true;
}

void zc_fill_collapse(struct zc_cache *c, struct zc_page *p)
{
    if (!p->squeeze && zc_fill_start(c, p))
        p->collapsing = true;
}
