/* zc_fill.c - store reads: straight into page memory, only into gaps of `valid`.
 *
 * While page->reading no write to the page begins, and ranges of writes that began
 * before are left out, so the bytes a read touches belong to the read alone.  What lies
 * beyond the end of the store file reads as zeros and is valid.
 *
 *     zc_fill_start -> queued on share->fills ----------> run by a reader thread -> done
 *     zc_fill_ahead -> queued on share->fills_ahead --^    with its queued neighbours,
 *                        |                                 up to max_read bytes
 *                        +--> fills: somebody asked for it meanwhile
 *                        +--> cancelled: written to, truncated, its reader has gone
 *
 * What somebody waits for goes first, and alone or with what others wait for: the first
 * byte shall not wait for a long read ahead.  Reads ahead leave one thread to the others, and
 * share max_read: several long ones at a time would all come late.  Of a file of which somebody
 * waits for a read there is one at a time: the store is as fast as it is, and what is read ahead
 * then makes him wait longer.
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
    SHARED_READ = 4,   /* a read is so much shorter when other shares wait for their turn */
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

/* Gaps read by one store call; valid bytes between them go to `sink`. */
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

/* ---- queues ---- */

static bool queued(const struct zc_page *p)
{
    return zc_list_linked(&p->fill_link);
}

static void enqueue(struct zc_cache *c, struct zc_page *p)
{
    struct zc_share *s = p->share;

    zc_list_add_tail(p->read_ahead ? &s->fills_ahead : &s->fills, &p->fill_link);
    s->nfills_ahead += p->read_ahead;
    c->nfills_ahead += p->read_ahead;
    pthread_cond_signal(&c->fill_work);
}

static void unqueue(struct zc_cache *c, struct zc_page *p)
{
    zc_list_del(&p->fill_link);
    p->share->nfills_ahead -= p->read_ahead;
    c->nfills_ahead -= p->read_ahead;
}

static void begin(struct zc_cache *c, struct zc_page *p, bool ahead)
{
    p->reading = true;
    p->read_ahead = ahead;
    c->nreading++;
    p->file->nreading++;
    zc_page_place(c, p);
    enqueue(c, p);
}

/* Begins to read all gaps of the page; false when that cannot begin now: whoever ends
 * what is in the way wakes the page's waiters. */
bool zc_fill_start(struct zc_cache *c, struct zc_page *p)
{
    zc_assert_held(&c->lock);
    if (p->reading || zc_page_frozen(c, p))
        return false;
    begin(c, p, false);
    return true;
}

/* The same when nobody waits for it. */
void zc_fill_ahead(struct zc_cache *c, struct zc_page *p)
{
    zc_assert_held(&c->lock);
    zc_debug_assert(!p->reading && !zc_page_frozen(c, p));
    begin(c, p, true);
}

/* A page that was queued to be read ahead is waited for; false: it is not queued so. */
bool zc_fill_hurry(struct zc_cache *c, struct zc_page *p)
{
    zc_assert_held(&c->lock);
    if (!p->read_ahead || !queued(p))
        return false;
    unqueue(c, p);
    p->read_ahead = false;
    enqueue(c, p);
    return true;
}

/* Takes back a read that no thread has begun; false: one has.  The caller wakes those who
 * wait for the page, sooner or later. */
bool zc_fill_cancel(struct zc_cache *c, struct zc_page *p)
{
    zc_assert_held(&c->lock);
    if (!queued(p))
        return false;
    unqueue(c, p);
    p->reading = p->read_ahead = p->read_alone = p->collapsing = false;
    c->nreading--;
    p->file->nreading--;
    zc_page_place(c, p);
    pthread_cond_broadcast(&c->changed);
    return true;
}

/* The page is written, then forgotten; writers wait for that.  Those that were let in before its
 * read began may have asked for it already. */
static void squeeze(struct zc_cache *c, struct zc_page *p)
{
    if (p->squeeze || p->failed)
        return; /* failed: it cannot be written, and nobody shall wait for that */
    p->squeeze = true;
    zc_list_add_tail(&c->squeeze, &p->squeeze_link);
    zc_kick(c);
}

/* A page has too many ranges.  Others may write the bytes between those that are dirty here: they
 * do not become dirty by being read.  So what is mostly dirty is written, the rest read. */
void zc_fill_collapse(struct zc_cache *c, struct zc_page *p)
{
    if (p->squeeze)
        return;
    if (p->dirty.n > p->valid.n / 2)
        squeeze(c, p);
    else if (zc_fill_start(c, p))
        p->collapsing = true;
}

/* ---- jobs ---- */

/* Has so many gaps that it is read by itself, in one piece. */
static bool scattered(const struct zc_page *p)
{
    return p->valid.n > FILL_GAPS;
}

/* The page behind or before, if it waits in the same queue. */
static struct zc_page *neighbour(struct zc_cache *c, const struct zc_page *p, uint64_t no)
{
    struct zc_page *q = zc_page_find(c, p->file, no);

    return q && queued(q) && q->read_ahead == p->read_ahead && !q->read_alone && !scattered(q)
               ? q
               : NULL;
}

static bool others_queue(const struct zc_cache *c, const struct zc_share *mine)
{
    zc_list_each (&c->shares, n) {
        const struct zc_share *s = zc_list_entry(n, struct zc_share, link);

        if (s != mine && (!zc_list_empty(&s->fills) || !zc_list_empty(&s->fills_ahead)))
            return true;
    }
    return false;
}

static void build(struct zc_cache *c, struct zc_page *p, struct fill_job *job)
{
    uint64_t most = c->cfg.max_read >> c->page_shift;
    struct zc_page *q;

    if (p->read_ahead)
        most /= zc_ahead_threads(c); /* what is wanted first shall come first */
    if (others_queue(c, p->share))
        most /= SHARED_READ;
    most = most < 1 ? 1 : most > FILL_PAGES ? FILL_PAGES : most;
    if (p->read_alone || scattered(p))
        most = 1;
    for (uint64_t i = 1; i < most && p->no > 0 && (q = neighbour(c, p, p->no - 1)); i++)
        p = q;
    *job = (struct fill_job){.n = 0};
    do {
        unqueue(c, p);
        zc_page_sums_check(c, p, 0, c->page_size); /* no write begins until it is read */
        job->pages[job->n++] = p;
        if (p->read_ahead)
            zc_ahead_started(c, p);
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

/* The next gaps of the job; false: none are left. */
static bool next_batch(struct zc_cache *c, struct fill_job *job, struct fill_batch *b)
{
    struct zc_range gap;

    zc_assert_held(&c->lock);
    b->ngaps = 0;
    b->niov = 0;
    while (b->ngaps < FILL_GAPS && job->at_page < job->n) {
        struct zc_page *p = job->pages[job->at_page];
        uint64_t start = zc_page_offset(c, p);

        if (!zc_fill_gap(p, job->at_off, c->page_size, &gap)) {
            job->at_page++;
            job->at_off = 0;
            continue;
        }
        if (b->ngaps > 0 && start + gap.lo - b->hi > FILL_SKIP)
            break;
        zc_page_sums_open(c, p, gap.lo, gap.hi);
        add_gap(b, p, zc_page_data(c, p), start, gap);
        job->at_off = gap.hi;
    }
    return b->ngaps > 0;
}

/* Reads one batch without the lock.  Every batch asks where the file ends: since the one before
 * pages may have been written, which moved the end, and forgotten, which made gaps of them. */
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
        zc_page_sums_close(c, b->gaps[i].page, b->gaps[i].r.lo, b->gaps[i].r.hi);
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

/* All gaps of the page; their number, or -ENOMEM. */
static int list_gaps(struct zc_cache *c, struct zc_page *p, struct zc_range **out)
{
    struct zc_range *gaps = malloc((p->valid.n + 1 + p->nwriters) * sizeof *gaps), gap;
    uint32_t at = 0;
    int n = 0;

    *out = gaps;
    if (!gaps)
        return -ENOMEM;
    while (zc_fill_gap(p, at, c->page_size, &gap)) { /* writers may cut one, nothing else */
        gaps[n++] = gap;
        at = gap.hi;
    }
    return n;
}

/* Bytes of the gaps from `from`, which begins like the first of them; `have` are there. */
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
    int n = list_gaps(c, p, &gaps);

    if (n > 0) {
        uint64_t began = zc_call_began(c);

        for (int i = 0; i < n; i++)
            zc_page_sums_open(c, p, gaps[i].lo, gaps[i].hi);
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
            zc_page_sums_close(c, p, gaps[i].lo, gaps[i].hi);
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

    if (scattered(job->pages[0]))
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

/* The read to merge ranges is over: what is known is one range.  When the store cannot be read, the
 * page is written and then forgotten. */
static void collapsed(struct zc_cache *c, struct zc_page *p, int rc)
{
    p->collapsing = false;
    if (rc < 0 && zc_extents_empty(&p->dirty) && !p->in_flush) {
        zc_page_forget_clean(c, p);
        return;
    }
    if (rc < 0) {
        p->max_extents = p->max_extents < UINT32_MAX / 2 ? 2 * p->max_extents : UINT32_MAX;
        squeeze(c, p);
        return;
    }
    c->st.collapses++;
}

/* Nothing in it, nobody wants it: a read ahead that failed or was overtaken. */
static bool useless(const struct zc_page *p)
{
    return zc_page_idle(p) && zc_extents_empty(&p->valid);
}

static void page_done(struct zc_cache *c, struct zc_page *p, int rc)
{
    struct zc_file *f = p->file;
    bool ahead = p->read_ahead, overtaken = p->stale;

    p->reading = p->read_ahead = p->read_alone = p->stale = false;
    c->nreading--;
    f->nreading--;
    if (p->collapsing && !overtaken)
        collapsed(c, p, rc);
    p->collapsing = false;
    if (p->ahead_for && (rc < 0 || overtaken))
        zc_ahead_wasted(c, p);
    zc_page_trim(c, p);
    if (rc < 0)
        zc_page_fail_readers(c, p, rc, zc_error_text(rc));
    zc_page_wake(c, p);
    zc_page_place(c, p);
    if (ahead && useless(p))
        zc_page_drop(c, p); /* the caller has a reference to its file */
}

/* One of several pages cannot be read: each is tried alone, so that the blame falls on it. */
static void take_apart(struct zc_cache *c, struct fill_job *job)
{
    for (unsigned i = 0; i < job->n; i++) {
        struct zc_page *p = job->pages[i];

        p->read_alone = true;
        if (zc_page_frozen(c, p))
            p->stale = true; /* truncated meanwhile: nothing begins on it */
        if (p->stale) {
            page_done(c, p, 0);
            continue;
        }
        if (!zc_list_empty(&p->waiters))
            p->read_ahead = false; /* somebody has come to want it */
        enqueue(c, p);
    }
}

/* No read of the file is under way that was asked for. */
static bool nobody_waits(const struct zc_file *f)
{
    return f->nfilling == f->nfilling_ahead;
}

static void run(struct zc_cache *c, struct zc_page *p)
{
    struct zc_file *f = p->file;
    struct fill_job job;
    struct zc_member me;
    bool ahead = p->read_ahead;
    uint64_t began = zc_event_begin();
    int rc;

    build(c, p, &job);
    zc_share_reads(c, p->share, (uint64_t)job.n << c->page_shift);
    f->refs++;
    f->nfilling++;
    f->nfilling_ahead += ahead;
    c->nfilling_ahead += ahead;
    zc_crew_enter(&c->readers, &me, zc_crew_file(f));
    rc = fill(c, &job);
    zc_crew_leave(&c->readers, &me);
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
            pthread_cond_broadcast(&c->fill_work); /* they may all begin now */
        else
            pthread_cond_signal(&c->fill_work); /* a thread may have left one for us */
    }
    zc_file_eager(c, f);
    zc_file_reap(f);
}

/* Whether it may be read now: its file is not stuck in the store (zc_crew.h); and ahead, if nobody
 * waits for another part of it, or nothing else of it is read ahead. */
static bool may_read(const struct zc_cache *c, const struct zc_page *p)
{
    const struct zc_file *f = p->file;

    if (zc_crew_stuck(&c->readers, zc_crew_file(f)))
        return false;
    return !p->read_ahead || nobody_waits(f) || f->nfilling_ahead == 0;
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

/* Whose turn it is: of what it wants first, if it can be read. */
static struct zc_page *next_fill(struct zc_cache *c)
{
    bool ahead = c->nfilling_ahead < zc_ahead_threads(c) + c->readers.nstuck;
    struct zc_share *s;
    struct zc_page *p;

    zc_share_round(c);
    while ((s = zc_share_reader(c)) != NULL) {
        p = first_fill(c, &s->fills);
        if (!p && ahead)
            p = first_fill(c, &s->fills_ahead);
        if (p)
            return p;
    }
    return NULL;
}

/* A reader thread.  Ends when told to and nothing is queued that is not stuck behind others. */
void *zc_fill_thread(void *cache)
{
    struct zc_cache *c = cache;
    struct zc_page *p;

    zc_lock_get(&c->lock);
    for (;;) {
        if (!zc_crew_turn(&c->readers))
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
