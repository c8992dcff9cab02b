/* zc_write_back.c - the flushers: which dirty pages are written back, when, in how many calls.
 *
 * Reasons, in this order: somebody asked (flush, drain, a file nobody has open), an access
 * waits for memory, the watermarks, the idle timer, another try after a failure.
 *
 * Of several who share the cache (zc_share.h) the one whose turn it is comes first, for whatever of
 * these reasons, but the last: so that what one of them has left alone gets written however much
 * others ask for.  Where several have files open a store write is shorter, for turns to come soon.
 *
 * Watermarks, an example: capacity 512 MiB, high 75%, low 50%.  Writers fill the cache;
 * at the first byte beyond 384 MiB unwritten `draining` is set and the flushers write the
 * least recently modified pages until the bytes that are dirty and not yet in a store write
 * are down to 256 MiB.  Writers that are faster than the store go on into the remaining
 * 128 MiB and then wait for memory in order.
 *
 * Coalescing: a job is a run of neighbouring pages whose dirty bytes touch at the page
 * borders, inside one window of max_io bytes aligned to max_io, so that a sequentially
 * written file leaves in large aligned calls.  A job that fails as a whole is taken apart
 * and its pages are tried alone, so that blame falls on those that cannot be written.
 *
 * A store call that does not come back (zc_crew.h) holds its file's write-back up, and no other
 * one's: nothing more is begun for the file, and a thread more writes back the rest.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_cache_internal.h"
#include "zc_log.h"

enum {
    JOB_PAGES = 256,
    JOB_IOV = 512,
    JOB_SCATTERED = 64, /* a page with more dirty ranges is written by itself, in one call */
    BACKOFF_MOST = 64,  /* times retry_ms: the longest delay of another try */
    SHARED_IO = 4,      /* a store write is so much shorter where shares take turns ... */
    SYNC_COST = 1 << 20 /* ... of which a sync takes as much as so many bytes */
};

struct write_job {
    enum { JOB_WRITE, JOB_SYNC, JOB_SETTLE, JOB_LOOK, JOB_ASK } kind;
    struct zc_file *file;
    struct zc_page *pages[JOB_PAGES]; /* consecutive */
    unsigned n;
    bool stored; /* the store was asked to store what it has taken, and did */
    uint64_t attempt;
    uint64_t bytes;
    /* where the next store write begins */
    unsigned at_page;
    uint32_t at_off;
    struct iovec iov[JOB_IOV];
};

/* A call for the file is stuck in the store: no more are sent after it. */
static bool stuck(const struct zc_cache *c, const struct zc_file *f)
{
    return zc_crew_stuck(&c->flushers, zc_crew_file(f));
}

static bool eligible(struct zc_cache *c, const struct zc_page *p)
{
    return !zc_page_frozen(c, p) && !p->file->token.quiet && !stuck(c, p->file);
}

/* ---- building a job ---- */

static bool scattered(const struct zc_extents *e)
{
    return e->n > JOB_SCATTERED;
}

static struct zc_page *neighbour(struct zc_cache *c, const struct zc_page *p, uint64_t no)
{
    struct zc_page *q;

    if (no > p->no) {
        if (!zc_extents_touch(&p->flushing, c->page_size - 1, c->page_size))
            return NULL;
    } else if (!zc_extents_touch(&p->flushing, 0, 1)) {
        return NULL;
    }
    q = zc_page_find(c, p->file, no);
    if (!q || q->on != ZC_ON_DIRTY || q->alone || q->squeeze || scattered(&q->dirty) ||
        !eligible(c, q))
        return NULL;
    if (no > p->no ? !zc_extents_touch(&q->dirty, 0, 1)
                   : !zc_extents_touch(&q->dirty, c->page_size - 1, c->page_size))
        return NULL;
    return q;
}

static int take(struct zc_cache *c, struct zc_page *p, uint64_t *bytes)
{
    if (zc_page_to_flushing(c, p) < 0)
        return -ENOMEM;
    *bytes += zc_extents_bytes(&p->flushing);
    zc_page_place(c, p);
    return 0;
}

/* Makes a job of `p` and its neighbours, about `limit` bytes; the page is taken in any
 * case.  False: out of memory; the page has failed. */
static bool build(struct zc_cache *c, struct zc_page *p, uint64_t limit, struct write_job *job)
{
    uint64_t window = c->cfg.max_io >> c->page_shift, first, last, bytes = 0;
    struct zc_page *run[2 * JOB_PAGES], *q;
    unsigned lo = JOB_PAGES, hi = JOB_PAGES + 1;

    window = window < 1 ? 1 : window > JOB_PAGES ? JOB_PAGES : window;
    first = p->no - p->no % window;
    last = first + window - 1;
    job->kind = JOB_WRITE;
    job->stored = false;
    job->file = p->file;
    job->attempt = p->file->epoch;
    run[lo] = p;
    if (take(c, p, &bytes) < 0)
        return false;
    if (!p->alone && !p->failed && !scattered(&p->flushing)) {
        while (run[hi - 1]->no < last && bytes < limit) {
            q = neighbour(c, run[hi - 1], run[hi - 1]->no + 1);
            if (!q || take(c, q, &bytes) < 0)
                break;
            run[hi++] = q;
        }
        while (run[lo]->no > first && bytes < limit) {
            q = neighbour(c, run[lo], run[lo]->no - 1);
            if (!q || take(c, q, &bytes) < 0)
                break;
            run[--lo] = q;
        }
    }
    job->n = hi - lo;
    job->bytes = bytes;
    memcpy(job->pages, run + lo, job->n * sizeof(run[0]));
    return true;
}

/* ---- choosing ---- */

/* A page of `f` that a flush request waits for, or any when nobody has it open. */
static struct zc_page *wanted_page(struct zc_cache *c, struct zc_file *f)
{
    bool any;
    uint64_t target = zc_flush_target(f, &any);

    zc_list_each (&f->dirty, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, state_link);

        if (f->handles > 0 && (!any || p->epoch > target))
            break; /* sorted by epoch */
        if (eligible(c, p))
            return p;
    }
    if (!any)
        return NULL;
    zc_list_each (&f->failed, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, state_link);

        if (p->epoch <= target && p->attempt <= target && eligible(c, p))
            return p;
    }
    return NULL;
}

/* Something to do for a file that somebody waits for, or that nobody has open. */
struct eager {
    struct zc_file *file;   /* NULL: there is nothing */
    struct zc_page *page;   /* to be written; or NULL */
    int kind;               /* of the job */
    struct zc_share *share; /* whose turn it takes */
};

static bool look(struct zc_cache *c, struct zc_file *f, struct eager *e)
{
    e->file = f;
    e->page = c->over ? NULL : wanted_page(c, f);
    e->share = &c->nobody;
    if (e->page) {
        e->kind = JOB_WRITE;
        e->share = e->page->share;
    } else if (stuck(c, f)) {
        return false;
    } else if (zc_flush_wants_sync(f)) {
        e->kind = JOB_SYNC;
        e->share = zc_flush_share(f);
    } else if (zc_file_may_settle(f)) {
        e->kind = JOB_SETTLE;
    } else {
        return false;
    }
    return true;
}

/* The first of these, of the share whose turn comes first. */
static void find_eager(struct zc_cache *c, struct eager *found)
{
    struct eager e;

    found->file = NULL;
    zc_list_each (&c->eager, n) {
        if (!look(c, zc_list_entry(n, struct zc_file, eager_link), &e) ||
            (found->file && zc_fair_start(&c->writes, &e.share->writes) >=
                                zc_fair_start(&c->writes, &found->share->writes)))
            continue;
        *found = e;
        if (!zc_share_turns(c))
            return;
    }
}

static void take_eager(struct zc_cache *c, const struct eager *e, struct write_job *job,
                       struct zc_page **page)
{
    job->kind = e->kind;
    job->file = e->file;
    *page = e->page;
    if (job->kind == JOB_SYNC)
        zc_share_wrote(c, e->share, SYNC_COST);
    zc_list_del(&e->file->eager_link); /* the others first, next time */
    zc_list_add_tail(&c->eager, &e->file->eager_link);
}

/* First page of the share in flush order that may be written now. */
static struct zc_page *in_order(struct zc_cache *c, struct zc_share *s)
{
    bool oldest = c->cfg.flush_order == ZC_FLUSH_OLDEST;
    struct zc_list *n = oldest ? s->dirty.next : s->dirty.prev;

    while (n != &s->dirty) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, dirty_link);

        if (eligible(c, p))
            return p;
        n = oldest ? n->next : n->prev;
    }
    return NULL;
}

static struct zc_page *pick_squeezed(struct zc_cache *c, const struct zc_share *s)
{
    zc_list_each (&c->squeeze, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, squeeze_link);

        if (p->share == s && p->on == ZC_ON_DIRTY && eligible(c, p))
            return p;
    }
    return NULL;
}

/* The least recently modified page, when it has been left alone for long enough. */
static struct zc_page *pick_idle(struct zc_cache *c, const struct zc_share *s, uint64_t now,
                                 uint64_t *wake)
{
    uint64_t due;

    if (c->cfg.idle_ms == 0)
        return NULL;
    zc_list_each (&s->dirty, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, dirty_link);

        if (!eligible(c, p))
            continue;
        due = p->touched + c->cfg.idle_ms * ZC_NS_PER_MS;
        if (due <= now)
            return p;
        if (due < *wake)
            *wake = due;
        return NULL;
    }
    return NULL;
}

/* A failed page whose file's delay is over.  One at a time until one succeeds. */
static struct zc_page *pick_retry(struct zc_cache *c, uint64_t now, uint64_t *wake)
{
    zc_list_each (&c->failed_files, n) {
        struct zc_file *f = zc_list_entry(n, struct zc_file, failed_link);
        struct zc_page *p = zc_list_entry(f->failed.next, struct zc_page, state_link);

        if (f->retry_at <= now && eligible(c, p)) {
            if (f->backoff > 0)
                f->retry_at = UINT64_MAX; /* until we know */
            return p;
        }
        if (f->retry_at > now && f->retry_at < *wake)
            *wake = f->retry_at;
    }
    return NULL;
}

/* Somebody waits for memory that write-back alone does not free. */
static bool lacks_room(struct zc_cache *c)
{
    return zc_frames_over(c) || !zc_list_empty(&c->curbed) ||
           (!zc_list_empty(&c->room) && !zc_page_available(c));
}

/* What the share has to be written but for those who wait for a file. */
static bool pick_of(struct zc_cache *c, struct zc_share *s, uint64_t now, struct write_job *job,
                    struct zc_page **page, uint64_t *limit, uint64_t *wake)
{
    *page = pick_squeezed(c, s);
    if (!*page && (c->drains > 0 || zc_frames_over(c)))
        *page = in_order(c, s);
    if (!*page && c->nflushing < c->st.waiting_room &&
        (!zc_list_empty(&c->curbed) || !zc_page_available(c)))
        *page = in_order(c, s);
    if (!*page && c->draining) {
        *page = in_order(c, s);
        if (*limit > c->dirty_bytes - c->low_bytes)
            *limit = c->dirty_bytes - c->low_bytes;
    }
    if (!*page && lacks_room(c) && (job->file = zc_retain_to_ask(c, now, wake))) {
        job->kind = JOB_ASK;
        return true;
    }
    if (!*page)
        *page = pick_idle(c, s, now, wake);
    return *page != NULL;
}

static bool pick(struct zc_cache *c, struct write_job *job, struct zc_page **page, uint64_t *limit,
                 uint64_t *wake)
{
    uint64_t now = zc_now();
    struct eager eager;
    struct zc_share *s;

    *page = NULL;
    job->kind = JOB_WRITE;
    *limit = zc_share_crowd(c) ? c->cfg.max_io / SHARED_IO : c->cfg.max_io;
    job->file = zc_token_due(c, now, wake);
    if (job->file) {
        job->kind = JOB_LOOK;
        return true;
    }
    find_eager(c, &eager);
    if (eager.file && !zc_share_turns(c)) {
        take_eager(c, &eager, job, page);
        return true;
    }
    if (c->draining && c->dirty_bytes <= c->low_bytes)
        c->draining = false;
    zc_share_round(c);
    while ((s = zc_share_writer(c, eager.file ? eager.share : &c->nobody)) != NULL) {
        if (eager.file && eager.share == s) {
            take_eager(c, &eager, job, page);
            return true;
        }
        if (!c->over && pick_of(c, s, now, job, page, limit, wake))
            return true;
    }
    if (!c->over)
        *page = pick_retry(c, now, wake);
    return *page != NULL;
}

/* ---- writing ---- */

/* The next contiguous piece of the job; pages' flushing sets only shrink meanwhile. */
static int next_piece(struct zc_cache *c, struct write_job *job, uint64_t *off, size_t *bytes)
{
    uint32_t ps = c->page_size;
    struct zc_range r;
    int n = 0;

    *bytes = 0;
    while (job->at_page < job->n && n < JOB_IOV && *bytes < c->cfg.max_io) {
        struct zc_page *p = job->pages[job->at_page];

        if (!zc_extents_next(&p->flushing, job->at_off, ps, &r)) {
            job->at_page++;
            job->at_off = 0;
            continue;
        }
        if (n == 0)
            *off = zc_page_offset(c, p) + r.lo;
        else if (zc_page_offset(c, p) + r.lo != *off + *bytes)
            break;
        if (r.hi - r.lo > c->cfg.max_io - *bytes)
            r.hi = r.lo + (uint32_t)(c->cfg.max_io - *bytes);
        job->iov[n++] = (struct iovec){zc_page_data(c, p) + r.lo, r.hi - r.lo};
        *bytes += r.hi - r.lo;
        job->at_off = r.hi;
    }
    return n;
}

/* A page of many pieces in one call, without the lock; -EOPNOTSUPP: not possible. */
static ssize_t write_scattered(struct zc_cache *c, struct zc_page *p)
{
    struct zc_sfile *sf = p->file->wr;
    uint64_t off = zc_page_offset(c, p);
    uint32_t n = p->flushing.n;
    struct zc_range *r = zc_store_writes_ranges(sf->store) ? malloc(n * sizeof *r) : NULL, span;
    uint64_t began;
    ssize_t rc;

    if (!r)
        return -EOPNOTSUPP;
    memcpy(r, zc_extents_ranges(&p->flushing), n * sizeof *r);
    span = (struct zc_range){r[0].lo, r[n - 1].hi};
    began = zc_call_began(c);
    zc_cache_unlock(c);
    rc = zc_store_write_ranges(sf, zc_page_data(c, p), r, n, off);
    zc_lock_get(&c->lock);
    zc_call_ended(c, began, ZC_EVENT_STORE_WRITE, rc);
    free(r);
    if (rc == -EOPNOTSUPP)
        return rc;
    c->st.store_writes++;
    if (rc > 0) {
        c->st.store_written_bytes += (uint64_t)rc;
        zc_ledger_stored(p->file, off + span.lo, off + span.hi, (uint64_t)rc);
    }
    return rc;
}

/* Names the file and the bytes, unless the store has done so and knows better: who asked for the
 * file names it himself. */
static void explain(const struct zc_file *f, uint64_t off, uint64_t bytes, int rc,
                    struct zc_why *why)
{
    if (!f->cache->store->names_bytes)
        zc_errorf_because(-rc, zc_error_cause(rc), "write-back of %s, bytes %llu-%llu", f->path,
                          (unsigned long long)off, (unsigned long long)(off + bytes - 1));
    zc_why_take(why, rc);
}

/* What is damaged is not written.  Others get the lock between two pages. */
static void check_sums(struct zc_cache *c, struct write_job *job)
{
    for (unsigned i = 0; i < job->n; i++) {
        if (!job->pages[i]->summed)
            continue;
        zc_page_sums_check_flushing(c, job->pages[i]);
        zc_cache_unlock(c);
        zc_lock_get(&c->lock);
    }
}

/* Writes the job piece by piece, without the lock; the text of an error goes to `why`. */
static int write_pieces(struct zc_cache *c, struct write_job *job, struct zc_why *why)
{
    struct zc_file *f = job->file;
    struct zc_sfile *sf = f->wr;
    uint64_t off = 0;
    size_t bytes;
    ssize_t rc;
    int n;

    check_sums(c, job);
    job->at_page = 0;
    job->at_off = 0;
    if (job->n == 1 && scattered(&job->pages[0]->flushing)) {
        struct zc_page *p = job->pages[0];

        rc = write_scattered(c, p);
        if (rc >= 0)
            return 0;
        if (rc != -EOPNOTSUPP) {
            c->st.store_errors++;
            explain(f, zc_page_offset(c, p), c->page_size, (int)rc, why);
            return (int)rc;
        }
    }
    while ((n = next_piece(c, job, &off, &bytes)) > 0) {
        uint64_t began = zc_call_began(c);

        zc_cache_unlock(c);
        rc = zc_store_pwritev(sf, job->iov, n, off);
        zc_lock_get(&c->lock);
        zc_call_ended(c, began, ZC_EVENT_STORE_WRITE, rc);
        c->st.store_writes++;
        if (rc < 0) {
            c->st.store_errors++;
            explain(f, off, bytes, (int)rc, why);
            return (int)rc;
        }
        c->st.store_written_bytes += bytes;
        zc_ledger_stored(f, off, off + bytes, bytes);
    }
    return 0;
}

/* A page that was to be written and forgotten: keep what is dirty again only. */
static void unsqueeze(struct zc_cache *c, struct zc_page *p, bool written)
{
    if (!p->squeeze)
        return;
    p->squeeze = false;
    zc_list_del(&p->squeeze_link);
    if (written)
        zc_page_forget_clean(c, p);
    zc_page_wake(c, p);
}

static void job_done(struct zc_cache *c, struct write_job *job)
{
    struct zc_file *f = job->file;
    bool retried = job->pages[0]->failed; /* then it is alone */
    bool failing = f->nfailed > 0;

    for (unsigned i = 0; i < job->n; i++) {
        struct zc_page *p = job->pages[i];

        if (job->stored)
            zc_retain_stored(c, p);
        else
            zc_retain_page(c, p);
        zc_page_flushed(c, p);
        p->alone = false;
        zc_ledger_page_failed(c, p, false);
        unsqueeze(c, p, true);
        zc_page_place(c, p);
    }
    if (retried) {
        f->backoff = 0;
        f->retry_at = 0; /* the others may work again */
    }
    if (failing && f->nfailed == 0)
        zc_info("%s: written back after all", f->path);
}

static void count_failure(struct zc_cache *c, struct zc_file *f, const struct zc_why *why)
{
    uint64_t now = zc_now(), max = c->cfg.retry_ms * BACKOFF_MOST * ZC_NS_PER_MS;

    if (f->write_why.err == 0)
        zc_warn("%s: %s; it is kept and tried again", f->path, why->text);
    f->write_why = *why;
    if (f->retry_at != UINT64_MAX && now < f->retry_at)
        return; /* others failed at the same time, or somebody did not wait */
    f->backoff = f->backoff ? 2 * f->backoff : c->cfg.retry_ms * ZC_NS_PER_MS;
    if (f->backoff > max)
        f->backoff = max;
    f->retry_at = now + f->backoff;
}

static void job_failed(struct zc_cache *c, struct write_job *job, const struct zc_why *why)
{
    for (unsigned i = 0; i < job->n; i++) {
        struct zc_page *p = job->pages[i];

        if (p->in_flush)
            zc_page_unflushed(c, p);
        if (job->n > 1) {
            p->alone = true;
        } else {
            zc_ledger_page_failed(c, p, true);
            p->attempt = job->attempt;
            count_failure(c, job->file, why);
        }
        unsqueeze(c, p, false);
        zc_page_place(c, p);
    }
}

/* A daemon has died meanwhile: nobody knows what of the job has been taken, and nobody is to
 * blame. */
static void job_again(struct zc_cache *c, struct write_job *job)
{
    for (unsigned i = 0; i < job->n; i++) {
        struct zc_page *p = job->pages[i];

        if (p->in_flush)
            zc_page_unflushed(c, p);
        zc_page_place(c, p);
    }
}

/* A page that is to be forgotten, of a file that nothing may be forgotten of that is not stored. */
static int store_squeezed(struct zc_cache *c, struct write_job *job, struct zc_why *why)
{
    struct zc_file *f = job->file;
    struct zc_sfile *sf;
    bool any = false;
    uint64_t began;
    int rc;

    for (unsigned i = 0; i < job->n; i++)
        any = any || job->pages[i]->squeeze;
    if (!any || !zc_retain_strict(f))
        return 0;
    began = zc_call_began(c);
    sf = f->wr;
    zc_cache_unlock(c);
    rc = zc_store_sync(sf, ZC_LEVEL_STORED);
    if (rc < 0)
        zc_why_take(why, rc);
    zc_lock_get(&c->lock);
    zc_call_ended(c, began, ZC_EVENT_STORE_SYNC, 0);
    job->stored = rc == 0;
    return rc;
}

static void run_write(struct zc_cache *c, struct write_job *job)
{
    struct zc_file *f = job->file;
    struct zc_why why = {.err = 0};
    uint64_t began = zc_event_begin();
    unsigned deaths;
    int rc;

    zc_token_writing(c, f);
    zc_retain_look(c, f);
    deaths = f->retain.deaths;
    rc = write_pieces(c, job, &why);
    if (rc == 0)
        rc = store_squeezed(c, job, &why);
    zc_event_end(ZC_EVENT_WRITE_BACK, began, (uint64_t)job->n << c->page_shift);
    zc_token_written(c, f);
    zc_retain_look(c, f);
    if (f->retain.deaths != deaths)
        job_again(c, job);
    else if (rc == 0)
        job_done(c, job);
    else
        job_failed(c, job, &why);
    if (why.err)
        zc_file_look(c, f);
    if (f->unlinked && f->handles == 0)
        zc_file_discard(c, f);
}

static void no_memory(struct zc_cache *c, struct zc_page *p, struct write_job *job)
{
    struct zc_why why;

    zc_why_set(&why, -ENOMEM, "write-back of %s at %llu: out of memory", p->file->path,
               (unsigned long long)zc_page_offset(c, p));
    job->pages[0] = p;
    job->n = 1;
    job_failed(c, job, &why);
}

static void run(struct zc_cache *c, struct write_job *job, struct zc_page *p, uint64_t limit)
{
    struct zc_file *f = job->kind == JOB_WRITE ? p->file : job->file;
    struct zc_member me;

    f->refs++;
    zc_crew_enter(&c->flushers, &me, zc_crew_file(f));
    if (job->kind == JOB_SYNC) {
        zc_flush_sync(c, f);
    } else if (job->kind == JOB_ASK) {
        zc_flush_ask(c, f);
    } else if (job->kind == JOB_LOOK) {
        zc_token_look(c, f);
    } else if (job->kind == JOB_SETTLE) {
        int rc = zc_file_settle(c, f);

        if (rc < 0 && (c->cfg.transient || !f->ledger.lost_why.err)) /* else the file says so */
            zc_why_set(&c->late, rc, "%s", zc_error_text(rc));
    } else if (build(c, p, limit, job)) {
        zc_share_wrote(c, p->share, job->bytes);
        run_write(c, job);
    } else {
        no_memory(c, p, job);
    }
    zc_crew_leave(&c->flushers, &me);
    zc_flush_check(c, f);
    f->refs--;
    zc_file_eager(c, f);
    zc_file_reap(f);
    pthread_cond_broadcast(&c->changed);
}

void *zc_write_back_thread(void *cache)
{
    struct zc_cache *c = cache;
    struct write_job job;
    struct zc_page *p;
    uint64_t limit, wake;

    zc_lock_get(&c->lock);
    while (!c->stop) {
        if (!zc_crew_turn(&c->flushers))
            continue;
        wake = UINT64_MAX;
        p = NULL;
        if (pick(c, &job, &p, &limit, &wake)) {
            run(c, &job, p, limit);
            zc_cache_unlock(c);
            zc_lock_get(&c->lock);
        } else if (zc_cache_populate(c, &wake)) {
            continue;
        } else if (wake == UINT64_MAX) {
            zc_cond_wait(&c->work, &c->lock);
        } else {
            zc_cond_wait_until(&c->work, &c->lock, wake);
        }
    }
    zc_lock_put(&c->lock);
    return NULL;
}
