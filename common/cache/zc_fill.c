/* zc_fill.c - store reads: directly into page memory, only into gaps of `valid`.
 *
 * While a page is read no write to it begins, and ranges of earlier writes are left out, so
 * the bytes a read touches are its own.  Bytes beyond the end of the store file become zeros, and
 * valid.
 *
 *     zc_fill_start -> queued on tenant->fills ----------> run by a reader thread -> done
 *     zc_fill_ahead -> queued on tenant->fills_ahead --^    with its queued neighbours,
 *                        |                                  up to max_read bytes
 *                        +--> fills: requested meanwhile
 *                        +--> cancelled: written to, truncated, its reader has gone
 *
 * Requested pages go first, alone or with other requested ones, so that the first byte does not
 * wait for a long readahead.  Readahead leaves one thread to other reads, and its reads share
 * max_read: several long reads in parallel would all be late.  While a read of a file is waited
 * for, at most one readahead of that file runs: more of them would delay that read.
 *
 * A page of which some bytes cannot be read because they belong to another step (-EREMCHG) becomes
 * narrow: from then on the bytes of each reader are read by themselves, one reader after another.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_cache_internal.h"
#include "zc_log.h"

enum {
    FILL_PAGES = 64,   /* pages of one job */
    FILL_GAPS = 64,    /* gaps of one store read */
    SHARED_READ = 4,   /* reads are shorter by this factor when other tenants wait */
    FILL_SKIP = 16384, /* valid bytes that are read again, and thrown away, to join two gaps */
};

/* Adjacent pages, all `reading` and off the queues. */
struct fill_job {
    struct zc_page *pages[FILL_PAGES];
    unsigned n;
    /* where the next batch begins */
    unsigned at_page;
    uint32_t at_off;
};

/* Gaps read by one store call; bytes between them go to `sink`. */
struct fill_batch {
    struct fill_gap {
        struct zc_page *page;
        struct zc_range r;
    } gaps[FILL_GAPS];
    unsigned ngaps;
    struct iovec iov[2 * FILL_GAPS];
    int niov;
    uint64_t lo, hi; /* file offsets */
    char sink[FILL_SKIP];
};

/* Finds the first gap of `valid` in [lo, hi) that no write under way touches. */
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

/* ---- queues ---- */

static bool queued(const struct zc_page *p)
{
    return zc_list_linked(&p->fill_link);
}

static void enqueue(struct zc_cache *c, struct zc_page *p)
{
    struct zc_cache_tenant *s = p->tenant;

    zc_list_add_tail(p->fill == ZC_FILL_AHEAD ? &s->fills_ahead : &s->fills, &p->fill_link);
    s->nfills_ahead += p->fill == ZC_FILL_AHEAD;
    c->nfills_ahead += p->fill == ZC_FILL_AHEAD;
    pthread_cond_signal(&c->fill_work);
}

static void unqueue(struct zc_cache *c, struct zc_page *p)
{
    zc_list_del(&p->fill_link);
    p->tenant->nfills_ahead -= p->fill == ZC_FILL_AHEAD;
    c->nfills_ahead -= p->fill == ZC_FILL_AHEAD;
}

static void begin(struct zc_cache *c, struct zc_page *p, enum zc_page_fill fill)
{
    ZC_PAGE_MOVE(p, fill, fill);
    c->nreading++;
    p->file->nreading++;
    zc_page_place(c, p);
    enqueue(c, p);
}

static bool start(struct zc_cache *c, struct zc_page *p, enum zc_page_fill fill)
{
    if (p->fill != ZC_FILL_NONE || zc_page_frozen(c, p))
        return false;
    begin(c, p, fill);
    return true;
}

/* Starts a read of all gaps of the page; false: not possible now, and the end of what prevents it
 * wakes the page's waiters. */
bool zc_fill_start(struct zc_cache *c, struct zc_page *p)
{
    zc_assert_held(&c->lock);
    return start(c, p, ZC_FILL_ACCESS);
}

/* Starts a read of all gaps of the page, for readahead. */
void zc_fill_ahead(struct zc_cache *c, struct zc_page *p)
{
    zc_assert_held(&c->lock);
    zc_debug_assert(!zc_page_frozen(c, p));
    begin(c, p, ZC_FILL_AHEAD);
}

/* Moves a page queued for readahead to the requested ones; false: it is not queued so. */
bool zc_fill_hurry(struct zc_cache *c, struct zc_page *p)
{
    zc_assert_held(&c->lock);
    if (p->fill != ZC_FILL_AHEAD || !queued(p))
        return false;
    unqueue(c, p);
    ZC_PAGE_MOVE(p, fill, ZC_FILL_ACCESS);
    enqueue(c, p);
    return true;
}

/* The page's read has ended, or was cancelled. */
static void ended(struct zc_cache *c, struct zc_page *p)
{
    ZC_PAGE_MOVE(p, fill, ZC_FILL_NONE);
    if (p->reads == ZC_READS_ALONE)
        ZC_PAGE_MOVE(p, reads, ZC_READS_JOINED);
    c->nreading--;
    p->file->nreading--;
}

/* Cancels a queued read; false: a thread has begun it.  The caller wakes the page's waiters
 * eventually. */
bool zc_fill_cancel(struct zc_cache *c, struct zc_page *p)
{
    zc_assert_held(&c->lock);
    if (!queued(p))
        return false;
    unqueue(c, p);
    ended(c, p);
    zc_page_place(c, p);
    pthread_cond_broadcast(&c->changed);
    return true;
}

/* Marks the page to be written, then dropped; new writes to it wait for that.  Writes admitted
 * before its read began may have done so already. */
static void write_and_drop(struct zc_cache *c, struct zc_page *p)
{
    if (zc_page_to_drop(p) || p->refused == ZC_REFUSED_ALONE)
        return; /* failed: it cannot be written, and writes must not wait for that */
    zc_list_add_tail(&c->to_drop, &p->drop_link);
    zc_kick(c);
}

/* Reduces the ranges of a page that has too many.  Reading a gap does not make it dirty: others may
 * write the bytes there.  So a page that is mostly dirty is written, another one read. */
void zc_fill_collapse(struct zc_cache *c, struct zc_page *p)
{
    if (zc_page_to_drop(p))
        return;
    if (p->dirty.n > p->valid.n / 2)
        write_and_drop(c, p);
    else
        start(c, p, ZC_FILL_COLLAPSE);
}

/* ---- jobs ---- */

/* Whether it has so many gaps that it is read by itself, in one piece. */
static bool scattered(const struct zc_page *p)
{
    return p->valid.n > FILL_GAPS;
}

/* Returns the page before or behind, if it waits in the same queue. */
static struct zc_page *neighbour(struct zc_cache *c, const struct zc_page *p, uint64_t no)
{
    struct zc_page *q = zc_page_find(c, p->file, no);

    return q && queued(q) && (q->fill == ZC_FILL_AHEAD) == (p->fill == ZC_FILL_AHEAD) &&
                   q->reads == ZC_READS_JOINED && !scattered(q)
               ? q
               : NULL;
}

static bool others_queue(const struct zc_cache *c, const struct zc_cache_tenant *mine)
{
    zc_list_each (&c->tenants, n) {
        const struct zc_cache_tenant *s = zc_list_entry(n, struct zc_cache_tenant, link);

        if (s != mine && (!zc_list_empty(&s->fills) || !zc_list_empty(&s->fills_ahead)))
            return true;
    }
    return false;
}

static void build(struct zc_cache *c, struct zc_page *p, struct fill_job *job)
{
    uint64_t most = c->cfg.max_read >> c->page_shift;
    struct zc_page *q;

    if (p->fill == ZC_FILL_AHEAD)
        most /= zc_readahead_threads(c); /* so that the page needed first comes first */
    if (others_queue(c, p->tenant))
        most /= SHARED_READ;
    most = most < 1 ? 1 : most > FILL_PAGES ? FILL_PAGES : most;
    if (p->reads != ZC_READS_JOINED || scattered(p))
        most = 1;
    if (p->reads == ZC_READS_NARROW)
        zc_page_aim_narrow(p);
    for (uint64_t i = 1; i < most && p->no > 0 && (q = neighbour(c, p, p->no - 1)); i++)
        p = q;
    *job = (struct fill_job){.n = 0};
    do {
        unqueue(c, p);
        zc_page_csum_check(c, p, 0, c->page_size); /* no write begins until it is read */
        job->pages[job->n++] = p;
        if (p->fill == ZC_FILL_AHEAD)
            zc_readahead_started(c, p);
        p = job->n < most ? neighbour(c, p, p->no + 1) : NULL;
    } while (p);
}

static void add_gap(struct fill_batch *b, struct zc_page *p, char *data, uint64_t start,
                    struct zc_range gap)
{
    if (b->ngaps == 0)
        b->lo = start + gap.lo;
    else if (start + gap.lo > b->hi)
        b->iov[b->niov++] = (struct iovec){b->sink, start + gap.lo - b->hi};
    b->iov[b->niov++] = (struct iovec){data + gap.lo, gap.hi - gap.lo};
    b->gaps[b->ngaps++] = (struct fill_gap){p, gap};
    b->hi = start + gap.hi;
}

/* Collects the next gaps of the job; false: none left. */
static bool next_batch(struct zc_cache *c, struct fill_job *job, struct fill_batch *b)
{
    struct zc_range gap;

    zc_assert_held(&c->lock);
    b->ngaps = 0;
    b->niov = 0;
    while (b->ngaps < FILL_GAPS && job->at_page < job->n) {
        struct zc_page *p = job->pages[job->at_page];
        uint64_t start = zc_page_offset(c, p);
        uint32_t end = p->reads == ZC_READS_NARROW ? p->narrow_hi : c->page_size;

        if (p->reads == ZC_READS_NARROW && job->at_off < p->narrow_lo)
            job->at_off = p->narrow_lo;
        if (job->at_off >= end || !zc_fill_gap(p, job->at_off, end, &gap)) {
            job->at_page++;
            job->at_off = 0;
            continue;
        }
        if (b->ngaps > 0 && start + gap.lo - b->hi > FILL_SKIP)
            break;
        zc_page_csum_open(c, p, gap.lo, gap.hi);
        add_gap(b, p, zc_page_data(c, p), start, gap);
        job->at_off = gap.hi;
    }
    return b->ngaps > 0;
}

/* Reads one batch without the lock.  Each batch reads the end of the file again: since the last
 * one, pages may have been written, which moves the end, and dropped, which makes gaps. */
static ssize_t read_batch(struct zc_sfile *sf, struct fill_batch *b)
{
    ssize_t got = zc_store_preadv(sf, b->iov, b->niov, b->lo);
    uint64_t at = 0;

    if (got < 0)
        return got;
    for (int i = 0; i < b->niov; i++) {
        size_t len = b->iov[i].iov_len,
               have = (uint64_t)got > at ? (size_t)((uint64_t)got - at) : 0;

        if (have < len && b->iov[i].iov_base != b->sink)
            memset((char *)b->iov[i].iov_base + have, 0, len - have);
        at += len;
    }
    return got;
}

static void batch_over(struct zc_cache *c, const struct fill_batch *b)
{
    for (unsigned i = 0; i < b->ngaps; i++)
        zc_page_csum_close(c, b->gaps[i].page, b->gaps[i].r.lo, b->gaps[i].r.hi);
}

static int batch_valid(const struct fill_batch *b)
{
    for (unsigned i = 0; i < b->ngaps; i++) {
        const struct zc_range *r = &b->gaps[i].r;
        struct zc_page *p = b->gaps[i].page;

        if (p->stale)
            continue;
        if (zc_extents_reserve(&p->valid, p->valid.n + 1 + p->promised) < 0)
            return zc_errorf(ENOMEM, "read of %s: out of memory", p->file->path);
        zc_debug_assert(!zc_extents_touch(&p->valid, r->lo, r->hi)); /* invariant 5 */
        zc_extents_add(&p->valid, r->lo, r->hi);
    }
    return 0;
}

/* Writers may cut a gap, nothing else does. */
int zc_fill_gaps(const struct zc_page *p, uint32_t lo, uint32_t hi, struct zc_range **out)
{
    struct zc_range *gaps = malloc((p->valid.n + 1 + p->nwriters) * sizeof *gaps);
    int n = 0;

    *out = gaps;
    if (!gaps)
        return -ENOMEM;
    while (lo < hi && zc_fill_gap(p, lo, hi, &gaps[n]))
        lo = gaps[n++].hi;
    return n;
}

/* Distributes bytes to the gaps; `from` has `have` bytes and begins at the first gap. */
static void copy_gaps(char *data, const struct zc_range *gaps, int n, const char *from, size_t have)
{
    for (int i = 0; i < n; i++) {
        size_t off = gaps[i].lo - gaps[0].lo, len = gaps[i].hi - gaps[i].lo;
        size_t part = have <= off ? 0 : have - off < len ? have - off : len;

        memcpy(data + gaps[i].lo, from + off, part);
        memset(data + gaps[i].lo + part, 0, len - part);
    }
}

static int fill_scattered(struct zc_cache *c, struct zc_page *p)
{
    struct zc_sfile *sf = p->file->rd ? p->file->rd : p->file->wr;
    uint64_t start = zc_page_offset(c, p);
    struct zc_range *gaps;
    struct iovec iov = {NULL, 0};
    ssize_t got = 0;
    int n = zc_fill_gaps(p, 0, c->page_size, &gaps);

    if (n > 0) {
        uint64_t began = zc_call_began(c);

        for (int i = 0; i < n; i++)
            zc_page_csum_open(c, p, gaps[i].lo, gaps[i].hi);
        zc_cache_unlock(c);
        iov.iov_len = gaps[n - 1].hi - gaps[0].lo;
        iov.iov_base = malloc(iov.iov_len);
        got = iov.iov_base ? zc_store_preadv(sf, &iov, 1, start + gaps[0].lo) : -ENOMEM;
        if (got >= 0)
            copy_gaps(zc_page_data(c, p), gaps, n, iov.iov_base, (size_t)got);
        free(iov.iov_base);
        zc_lock_get(&c->lock);
        zc_call_ended(c, began, ZC_EVENT_STORE_READ, got);
        for (int i = 0; i < n; i++)
            zc_page_csum_close(c, p, gaps[i].lo, gaps[i].hi);
        c->st.store_reads++;
        if (got < 0)
            c->st.store_errors++;
        else
            c->st.store_read_bytes += (uint64_t)got;
        if (got >= 0 && !p->stale) {
            if (zc_extents_reserve(&p->valid, p->valid.n + (uint32_t)n + p->promised) < 0)
                got = -ENOMEM;
            else
                zc_extents_add_many(&p->valid, gaps, (uint32_t)n);
        }
    }
    free(gaps);
    if (n < 0 || got == -ENOMEM)
        return zc_errorf(ENOMEM, "read of %s: out of memory", p->file->path);
    return got < 0 ? (int)got : 0;
}

/* Fills all gaps of the job; drops the lock around store calls. */
static int fill(struct zc_cache *c, struct fill_job *job)
{
    struct zc_file *f = job->pages[0]->file;
    struct zc_sfile *sf = f->rd ? f->rd : f->wr;
    struct fill_batch b;
    int rc;

    if (scattered(job->pages[0]) && job->pages[0]->reads != ZC_READS_NARROW)
        return fill_scattered(c, job->pages[0]);
    while (next_batch(c, job, &b)) {
        uint64_t began = zc_call_began(c);
        ssize_t got;

        zc_cache_unlock(c);
        got = read_batch(sf, &b);
        zc_lock_get(&c->lock);
        zc_call_ended(c, began, ZC_EVENT_STORE_READ, got);
        batch_over(c, &b);
        c->st.store_reads++;
        if (got < 0) {
            c->st.store_errors++;
            return (int)got;
        }
        c->st.store_read_bytes += (uint64_t)got;
        rc = batch_valid(&b);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* ---- the end of a read ---- */

/* Ends a read that was to merge ranges: the valid bytes are one range now.  If it failed, the page
 * is written, then dropped. */
static void collapsed(struct zc_cache *c, struct zc_page *p, int rc)
{
    if (rc < 0 && zc_extents_empty(&p->dirty) && !p->in_flush) {
        zc_page_forget_clean(c, p);
        return;
    }
    if (rc < 0) {
        p->max_extents = p->max_extents < UINT32_MAX / 2 ? 2 * p->max_extents : UINT32_MAX;
        write_and_drop(c, p);
        return;
    }
    c->st.collapses++;
}

/* Whether the page is empty and unused: a readahead that failed or was overtaken. */
static bool useless(const struct zc_page *p)
{
    return zc_page_idle(p) && zc_extents_empty(&p->valid);
}

static void page_done(struct zc_cache *c, struct zc_page *p, int rc)
{
    enum zc_page_fill fill = p->fill;
    bool overtaken = p->stale;

    p->stale = false;
    ended(c, p);
    if (fill == ZC_FILL_COLLAPSE && !overtaken)
        collapsed(c, p, rc);
    if (p->ahead_for && (rc < 0 || overtaken))
        zc_readahead_wasted(c, p);
    zc_page_trim(c, p);
    if (rc == -EREMCHG && p->reads != ZC_READS_NARROW)
        ZC_PAGE_MOVE(
            p, reads,
            ZC_READS_NARROW); /* waiting readers are woken, and read only their own bytes */
    else if (rc < 0)
        zc_page_fail_readers(c, p, rc);
    zc_page_wake(c, p);
    zc_page_place(c, p);
    if (fill == ZC_FILL_AHEAD && useless(p))
        zc_page_drop(c, p); /* the caller has a reference to its file */
}

/* After a failed read of several pages: tries each alone, so that the right one fails. */
static void take_apart(struct zc_cache *c, struct fill_job *job)
{
    for (unsigned i = 0; i < job->n; i++) {
        struct zc_page *p = job->pages[i];

        ZC_PAGE_MOVE(p, reads, ZC_READS_ALONE);
        if (zc_page_frozen(c, p))
            p->stale = true; /* truncated meanwhile: no access begins on it */
        if (p->stale) {
            page_done(c, p, 0);
            continue;
        }
        if (p->fill == ZC_FILL_AHEAD && !zc_list_empty(&p->waiters))
            ZC_PAGE_MOVE(p, fill, ZC_FILL_ACCESS); /* an access has requested it */
        enqueue(c, p);
    }
}

/* Whether no requested read of the file is under way. */
static bool nobody_waits(const struct zc_file *f)
{
    return f->nfilling == f->nfilling_ahead;
}

static void run(struct zc_cache *c, struct zc_page *p)
{
    struct zc_file *f = p->file;
    struct fill_job job;
    struct zc_member me;
    bool ahead = p->fill == ZC_FILL_AHEAD;
    uint64_t began = zc_event_begin();
    int rc;

    build(c, p, &job);
    zc_cache_tenant_reads(c, p->tenant, (uint64_t)job.n << c->page_shift);
    f->refs++;
    f->nfilling++;
    f->nfilling_ahead += ahead;
    c->nfilling_ahead += ahead;
    zc_workers_enter(&c->readers, &me, zc_workers_file(f));
    rc = fill(c, &job);
    zc_workers_leave(&c->readers, &me);
    zc_event_end(ahead ? ZC_EVENT_PREFETCH : ZC_EVENT_FILL, began,
                 (uint64_t)job.n << c->page_shift);
    f->nfilling--;
    f->nfilling_ahead -= ahead;
    c->nfilling_ahead -= ahead;
    if (rc < 0 && job.n > 1)
        take_apart(c, &job);
    else
        for (unsigned i = 0; i < job.n; i++)
            page_done(c, job.pages[i], rc);
    f->refs--;
    pthread_cond_broadcast(&c->changed);
    if (c->nfills_ahead > 0) {
        if (!ahead && nobody_waits(f))
            pthread_cond_broadcast(&c->fill_work); /* all of them may begin now */
        else
            pthread_cond_signal(&c->fill_work); /* another thread may have left one */
    }
    zc_file_flush_now(c, f);
    zc_file_reap(f);
}

/* Whether the page may be read now: its file is not stuck in the store (zc_workers.h); and for
 * readahead: no other part of the file is waited for, or no readahead of it runs. */
static bool may_read(const struct zc_cache *c, const struct zc_page *p)
{
    const struct zc_file *f = p->file;

    if (zc_workers_stuck(&c->readers, zc_workers_file(f)))
        return false;
    return p->fill != ZC_FILL_AHEAD || nobody_waits(f) || f->nfilling_ahead == 0;
}

static struct zc_page *first_fill(const struct zc_cache *c, const struct zc_list *queue)
{
    zc_list_each (queue, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, fill_link);

        if (may_read(c, p))
            return p;
    }
    return NULL;
}

/* Returns the page to read next: of the tenant whose turn it is, its first that can be read. */
static struct zc_page *next_fill(struct zc_cache *c)
{
    bool ahead = c->nfilling_ahead < zc_readahead_threads(c) + c->readers.nstuck;
    struct zc_cache_tenant *s;
    struct zc_page *p;

    zc_cache_tenant_round(c);
    while ((s = zc_cache_tenant_reader(c)) != NULL) {
        p = first_fill(c, &s->fills);
        if (!p && ahead)
            p = first_fill(c, &s->fills_ahead);
        if (p)
            return p;
    }
    return NULL;
}

/* A reader thread.  Ends when told to and only stuck pages are queued. */
void *zc_fill_thread(void *cache)
{
    struct zc_cache *c = cache;
    struct zc_page *p;

    zc_lock_get(&c->lock);
    for (;;) {
        if (!zc_workers_wait_turn(&c->readers))
            continue;
        p = next_fill(c);
        if (p) {
            run(c, p);
            zc_cache_unlock(c);
            zc_lock_get(&c->lock);
        } else if (c->stop) {
            break;
        } else {
            zc_cond_wait(&c->fill_work, &c->lock);
        }
    }
    zc_lock_put(&c->lock);
    return NULL;
}
