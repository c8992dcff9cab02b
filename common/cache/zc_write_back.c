/* zc_write_back.c - the flusher threads: which dirty pages are written, when, and in how many
 * calls.
 *
 * Reasons for write-back, in this order: a flush request, or a file without handles; a page to be
 * dropped; a drain of the cache, or a cache that becomes smaller; an access that waits for memory;
 * memory for ranges; the watermarks; commits to be asked for; idle pages; complete runs; a retry
 * after a failure.
 *
 * Tenants (zc_cache_tenant.h) take turns for every reason but the last, so that the idle pages of
 * one are written however much others request.  Where several tenants have files open, store writes
 * are shorter, so that turns come sooner.
 *
 * Watermarks, an example: capacity 512 MiB, high 75%, low 50%.  Writers fill the cache; at the
 * first byte beyond 384 MiB unwritten `draining` is set, and the flushers write the least recently
 * modified pages until the bytes that are dirty and not yet in a store write are down to 256 MiB.
 * Writers that are faster than the store continue into the remaining 128 MiB and then wait for
 * memory in order.
 *
 * zc_flush_order.c decides which of the pages that may be written comes first, and which waits.  A
 * page of many ranges is written by itself: zc_merge.c.
 *
 * Coalescing: a job is a run of neighbouring pages whose dirty bytes touch at the page borders,
 * inside one window (zc_flush_window()), so that a sequentially written file leaves in large
 * aligned calls.  After a failed job its pages are tried alone, so that only the bad ones fail.
 *
 * A store call that does not return (zc_workers.h) stops write-back of its file only: nothing more
 * is begun for the file, and an additional thread writes back the rest.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_cache_internal.h"
#include "zc_log.h"

enum {
    JOB_IOV = 512,
    OFFERED_MOST = 128, /* pages compared to find the one that goes first */
    LOOKED_MOST = 4096, /* pages examined for that, if one is found */
    BACKOFF_MOST = 64,  /* times retry_ms: longest delay of a retry */
    SYNC_COST = 1 << 20 /* a sync costs as much of a turn as so many bytes */
};

struct write_job {
    enum { JOB_WRITE, JOB_SYNC, JOB_SETTLE, JOB_LOOK, JOB_ASK } kind;
    struct zc_file *file;
    struct zc_page *pages[ZC_WINDOW_PAGES]; /* consecutive, of one window */
    unsigned n;
    bool stored; /* the store was asked to commit, and did */
    uint64_t attempt;
    uint64_t bytes;
    /* where the next store write begins */
    unsigned at_page;
    uint32_t at_off;
    struct iovec iov[JOB_IOV];
};

/* Whether a call for the file is stuck in the store: no more are begun. */
static bool stuck(const struct zc_cache *c, const struct zc_file *f)
{
    return zc_workers_stuck(&c->flushers, zc_workers_file(f));
}

static bool eligible(struct zc_cache *c, const struct zc_page *p)
{
    return !zc_page_frozen(c, p) && !p->file->validator.quiet && !stuck(c, p->file);
}

/* ---- building a job ---- */

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
    if (!q || q->on != ZC_ON_DIRTY || q->refused != ZC_REFUSED_NONE || zc_page_to_drop(q) ||
        zc_merge_apart(c, &q->dirty) || !eligible(c, q))
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

/* Makes a job of `p` and its neighbours, about `limit` bytes; `p` is taken in any case.  False: out
 * of memory; the page has failed. */
static bool build(struct zc_cache *c, struct zc_page *p, uint64_t limit, struct write_job *job)
{
    struct zc_flush_window window = zc_flush_window(c, p);
    struct zc_page *run[2 * ZC_WINDOW_PAGES], *q;
    unsigned lo = ZC_WINDOW_PAGES, hi = ZC_WINDOW_PAGES + 1;
    uint64_t bytes = 0;

    job->kind = JOB_WRITE;
    job->stored = false;
    job->file = p->file;
    job->attempt = p->file->epoch;
    run[lo] = p;
    if (take(c, p, &bytes) < 0)
        return false;
    if (p->refused == ZC_REFUSED_NONE && !zc_merge_apart(c, &p->flushing)) {
        while (run[hi - 1]->no + 1 < window.end && bytes < limit) {
            q = neighbour(c, run[hi - 1], run[hi - 1]->no + 1);
            if (!q || take(c, q, &bytes) < 0)
                break;
            run[hi++] = q;
        }
        while (run[lo]->no > window.first && bytes < limit) {
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

/* The best candidate so far, by zc_flush_order.c. */
struct best {
    struct zc_page *page; /* NULL: none yet */
    unsigned class, offered;
};

/* Offers a candidate; true: the search can end. */
static bool offer(struct zc_cache *c, struct best *b, struct zc_page *p, uint64_t now)
{
    unsigned class = zc_flush_class(c, p, now);

    if (!b->page || class < b->class) {
        b->page = p;
        b->class = class;
    }
    return b->class == 0 || ++b->offered >= OFFERED_MOST;
}

/* Returns a page of `f` that a flush request waits for, or any if the file has no handles. */
static struct zc_page *wanted_page(struct zc_cache *c, struct zc_file *f)
{
    bool any;
    uint64_t target = zc_flush_target(f, &any), now = zc_now();
    struct best best = {0};

    zc_list_each (&f->dirty, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, state_link);

        if (f->handles > 0 && (!any || p->epoch > target))
            break; /* sorted by epoch */
        if (eligible(c, p) && offer(c, &best, p, now))
            break;
    }
    if (best.page || !any)
        return best.page;
    zc_list_each (&f->failed, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, state_link);

        if (p->epoch <= target && p->attempt <= target && eligible(c, p))
            return p;
    }
    return NULL;
}

/* Work for a file that a request waits for, or that has no handles. */
struct flush_now {
    struct zc_file *file;           /* NULL: no work */
    struct zc_page *page;           /* to be written; or NULL */
    int kind;                       /* of the job */
    struct zc_cache_tenant *tenant; /* which takes the turn */
};

static bool look(struct zc_cache *c, struct zc_file *f, struct flush_now *e)
{
    e->file = f;
    e->page = c->over ? NULL : wanted_page(c, f);
    e->tenant = &c->no_tenant;
    if (e->page) {
        e->kind = JOB_WRITE;
        e->tenant = e->page->tenant;
    } else if (stuck(c, f)) {
        return false;
    } else if (zc_flush_wants_sync(f)) {
        e->kind = JOB_SYNC;
        e->tenant = zc_flush_tenant(f);
    } else if (zc_file_may_settle(f)) {
        e->kind = JOB_SETTLE;
    } else {
        return false;
    }
    return true;
}

/* Finds the first such work of the tenant whose turn comes first. */
static void find_flush_now(struct zc_cache *c, struct flush_now *found)
{
    struct flush_now e;

    found->file = NULL;
    zc_list_each (&c->flush_now, n) {
        if (!look(c, zc_list_entry(n, struct zc_file, flush_now_link), &e) ||
            (found->file && zc_fair_share_start(&c->writes, &e.tenant->writes) >=
                                zc_fair_share_start(&c->writes, &found->tenant->writes)))
            continue;
        *found = e;
        if (!zc_cache_tenants_compete(c))
            return;
    }
}

static void take_flush_now(struct zc_cache *c, const struct flush_now *e, struct write_job *job,
                           struct zc_page **page)
{
    job->kind = e->kind;
    job->file = e->file;
    *page = e->page;
    if (job->kind == JOB_SYNC)
        zc_cache_tenant_wrote(c, e->tenant, SYNC_COST);
    zc_list_del(&e->file->flush_now_link); /* the others come first next time */
    zc_list_add_tail(&c->flush_now, &e->file->flush_now_link);
}

/* Returns the tenant's first page in flush order that may be written now; `wake`: skips pages that
 * wait, and sets when they end; NULL: takes any.  `many`: pages of many ranges only. */
static struct zc_page *in_order(struct zc_cache *c, struct zc_cache_tenant *s, uint64_t now,
                                uint64_t *wake, bool many)
{
    bool oldest = c->cfg.flush_order == ZC_FLUSH_OLDEST;
    struct zc_list *n = oldest ? s->dirty.next : s->dirty.prev;
    struct best best = {0};
    unsigned looked = 0;

    for (; n != &s->dirty; n = oldest ? n->next : n->prev) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, dirty_link);

        if (++looked > LOOKED_MOST && best.page)
            break;
        if (!eligible(c, p) || (many && !zc_page_many_ranges(p)) ||
            (wake && zc_flush_waits(c, p, now, wake)))
            continue;
        if (offer(c, &best, p, now))
            break;
    }
    return best.page;
}

static struct zc_page *pick_squeezed(struct zc_cache *c, const struct zc_cache_tenant *s)
{
    zc_list_each (&c->to_drop, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, drop_link);

        if (p->tenant == s && p->on == ZC_ON_DIRTY && eligible(c, p))
            return p;
    }
    return NULL;
}

/* Returns a page of a complete run that is due.  Those that may not be written now wait for the
 * idle time. */
static struct zc_page *pick_complete(struct zc_cache *c, struct zc_cache_tenant *s, uint64_t now,
                                     uint64_t *wake)
{
    unsigned looked = 0;

    if (c->cfg.idle_ms == 0)
        return NULL;
    zc_list_each_safe (&s->complete, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, complete_link);
        uint64_t due = zc_flush_run_due(c, p);

        if (++looked > OFFERED_MOST)
            break;
        if (due == 0 || !eligible(c, p))
            zc_list_del(n);
        else if (due > now)
            *wake = due < *wake ? due : *wake;
        else
            return p;
    }
    return NULL;
}

/* Returns the least recently modified page that does not wait and is idle for long enough. */
static struct zc_page *pick_idle(struct zc_cache *c, const struct zc_cache_tenant *s, uint64_t now,
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
        if (due > now) {
            if (due < *wake)
                *wake = due;
            return NULL;
        }
        if (!zc_flush_waits(c, p, now, wake))
            return p;
    }
    return NULL;
}

/* Returns a failed page whose file's delay is over.  One at a time until one succeeds. */
static struct zc_page *pick_retry(struct zc_cache *c, uint64_t now, uint64_t *wake)
{
    zc_list_each (&c->failed_files, n) {
        struct zc_file *f = zc_list_entry(n, struct zc_file, failed_link);
        struct zc_page *p = zc_list_entry(f->failed.next, struct zc_page, state_link);

        if (f->retry_at <= now && eligible(c, p)) {
            if (f->backoff > 0)
                f->retry_at = UINT64_MAX; /* until the result is known */
            return p;
        }
        if (f->retry_at > now && f->retry_at < *wake)
            *wake = f->retry_at;
    }
    return NULL;
}

/* Whether accesses wait for memory that write-back alone does not free. */
static bool lacks_room(struct zc_cache *c)
{
    return zc_frames_over(c) || !zc_list_empty(&c->throttled) ||
           (!zc_list_empty(&c->room) && !zc_page_available(c));
}

/* Whether what is being written is as much as accesses wait for, and no call is stuck; sets when
 * one is. */
static bool room_comes(const struct zc_cache *c, uint64_t *wake)
{
    uint64_t stuck_at = zc_workers_stuck_at(&c->flushers);

    if (c->st.waiting_room == 0)
        return true;
    if (c->nflushing < c->st.waiting_room || stuck_at == 0)
        return false;
    if (stuck_at < *wake)
        *wake = stuck_at;
    return true;
}

/* Returns the page to write for accesses that wait for cache space; NULL: none, or (*waits) it is
 * postponed because other writers may complete it. */
static struct zc_page *for_room(struct zc_cache *c, struct zc_cache_tenant *s, uint64_t now,
                                uint64_t *wake, bool *waits)
{
    struct zc_page *p = in_order(c, s, now, NULL, false);

    *waits = p && zc_flush_waits_growth(c, p, now, wake);
    return *waits ? NULL : p;
}

/* Finds work of the tenant other than requests for a file. */
static bool pick_of(struct zc_cache *c, struct zc_cache_tenant *s, uint64_t now,
                    struct write_job *job, struct zc_page **page, uint64_t *limit, uint64_t *wake)
{
    bool waits = false;

    *page = pick_squeezed(c, s);
    if (!*page && (c->drains > 0 || zc_frames_over(c)))
        *page = in_order(c, s, now, NULL, false);
    if (!*page && (!zc_list_empty(&c->throttled) || !zc_page_available(c)) && !room_comes(c, wake))
        *page = for_room(c, s, now, wake, &waits);
    if (!*page && c->range_bytes > zc_range_limit(c) / 8 * 7)
        *page = in_order(c, s, now, NULL, true);
    if (!*page && c->draining) {
        *page = in_order(c, s, now, wake, false);
        if (*limit > c->dirty_bytes - c->low_bytes)
            *limit = c->dirty_bytes - c->low_bytes;
    }
    if (!*page && !waits && lacks_room(c) && (job->file = zc_unstable_to_ask(c, now, wake))) {
        job->kind = JOB_ASK;
        return true;
    }
    if (!*page)
        *page = pick_idle(c, s, now, wake);
    if (!*page)
        *page = pick_complete(c, s, now, wake);
    return *page != NULL;
}

static bool pick(struct zc_cache *c, struct write_job *job, struct zc_page **page, uint64_t *limit,
                 uint64_t *wake)
{
    uint64_t now = zc_now();
    struct flush_now flush_now;
    struct zc_cache_tenant *s;

    *page = NULL;
    job->kind = JOB_WRITE;
    *limit = zc_flush_most(c);
    job->file = zc_validator_due(c, now, wake);
    if (job->file) {
        job->kind = JOB_LOOK;
        return true;
    }
    find_flush_now(c, &flush_now);
    if (flush_now.file && !zc_cache_tenants_compete(c)) {
        take_flush_now(c, &flush_now, job, page);
        return true;
    }
    if (c->draining && c->dirty_bytes <= c->low_bytes)
        c->draining = false;
    zc_cache_tenant_round(c);
    while ((s = zc_cache_tenant_writer(c, flush_now.file ? flush_now.tenant : &c->no_tenant)) !=
           NULL) {
        if (flush_now.file && flush_now.tenant == s) {
            take_flush_now(c, &flush_now, job, page);
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

/* Finds the next contiguous piece of the job; `flushing` of its pages only shrinks meanwhile. */
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

/* Sets the error text with file and bytes, unless the store did and knows better: then the caller
 * adds the file. */
static void explain(const struct zc_file *f, uint64_t off, uint64_t bytes, int rc,
                    struct zc_error *why)
{
    if (!f->cache->store->names_bytes)
        zc_errorf_because(-rc, zc_error_cause(rc), "write-back of %s, bytes %llu-%llu", f->path,
                          (unsigned long long)off, (unsigned long long)(off + bytes - 1));
    zc_error_keep(why, rc);
}

/* Drops damaged bytes from the job.  Releases the lock between two pages. */
static void check_sums(struct zc_cache *c, struct write_job *job)
{
    for (unsigned i = 0; i < job->n; i++) {
        if (!job->pages[i]->summed)
            continue;
        zc_page_csum_check_flushing(c, job->pages[i]);
        zc_cache_unlock(c);
        zc_lock_get(&c->lock);
    }
}

/* Writes the job piece by piece, without the lock; an error is explained in `why`. */
static int write_pieces(struct zc_cache *c, struct write_job *job, struct zc_error *why)
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
    if (job->n == 1 && zc_merge_apart(c, &job->pages[0]->flushing)) {
        struct zc_page *p = job->pages[0];

        rc = zc_merge_write(c, p, &job->at_off);
        if (rc == 0)
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
        if (rc < 0) {
            c->st.store_writes++;
            c->st.store_errors++;
            explain(f, off, bytes, (int)rc, why);
            return (int)rc;
        }
        zc_merge_count_write(c, f, off, off + bytes, bytes);
    }
    return 0;
}

/* After the write of a page that was to be dropped: keeps only bytes that are dirty again, unless a
 * merge has made the page whole. */
static void end_drop(struct zc_cache *c, struct zc_page *p, bool written)
{
    if (!zc_page_to_drop(p))
        return;
    zc_list_del(&p->drop_link);
    if (written && p->valid.n > p->max_extents / 2)
        zc_page_forget_clean(c, p);
    zc_page_wake(c, p);
}

static void job_done(struct zc_cache *c, struct write_job *job)
{
    struct zc_file *f = job->file;
    bool retried = job->pages[0]->refused == ZC_REFUSED_ALONE; /* then it is alone in the job */
    bool failing = f->nfailed > 0;

    for (unsigned i = 0; i < job->n; i++) {
        struct zc_page *p = job->pages[i];

        if (job->stored)
            zc_unstable_committed(c, p);
        else
            zc_unstable_page(c, p);
        zc_page_flushed(c, p);
        c->st.page_writes++;
        c->st.page_rewrites += p->stored_once;
        p->stored_once = true;
        zc_wb_errors_page_refused(c, p, ZC_REFUSED_NONE);
        end_drop(c, p, true);
        zc_page_place(c, p);
    }
    if (retried) {
        f->backoff = 0;
        f->retry_at = 0; /* other pages may work again */
    }
    if (failing && f->nfailed == 0)
        zc_info("%s: written back after all", f->path);
}

static void count_failure(struct zc_cache *c, struct zc_file *f, const struct zc_error *why)
{
    uint64_t now = zc_now(), max = c->cfg.retry_ms * BACKOFF_MOST * ZC_NS_PER_MS;

    if (f->write_why.rc == 0)
        zc_warn("%s: %s; it is kept and tried again", f->path, why->text);
    f->write_why = *why;
    if (f->retry_at != UINT64_MAX && now < f->retry_at)
        return; /* others failed at the same time, or a request did not wait */
    f->backoff = f->backoff ? 2 * f->backoff : c->cfg.retry_ms * ZC_NS_PER_MS;
    if (f->backoff > max)
        f->backoff = max;
    f->retry_at = now + f->backoff;
}

static void job_failed(struct zc_cache *c, struct write_job *job, const struct zc_error *why)
{
    for (unsigned i = 0; i < job->n; i++) {
        struct zc_page *p = job->pages[i];

        if (p->in_flush)
            zc_page_unflushed(c, p);
        if (job->n > 1) {
            zc_wb_errors_page_refused(c, p, ZC_REFUSED_TOGETHER);
        } else {
            zc_wb_errors_page_refused(c, p, ZC_REFUSED_ALONE);
            p->attempt = job->attempt;
            count_failure(c, job->file, why);
        }
        end_drop(c, p, false);
        zc_page_place(c, p);
    }
}

/* After the death of a daemon: writes the job again, because it is unknown what was accepted; no
 * page counts as failed. */
static void job_again(struct zc_cache *c, struct write_job *job)
{
    for (unsigned i = 0; i < job->n; i++) {
        struct zc_page *p = job->pages[i];

        if (p->in_flush)
            zc_page_unflushed(c, p);
        zc_page_place(c, p);
    }
}

/* Before a page is dropped whose file must keep unstable bytes: has the store commit them. */
static int store_squeezed(struct zc_cache *c, struct write_job *job, struct zc_error *why)
{
    struct zc_file *f = job->file;
    struct zc_sfile *sf;
    bool any = false;
    uint64_t began;
    int rc;

    for (unsigned i = 0; i < job->n; i++)
        any = any || zc_page_to_drop(job->pages[i]);
    if (!any || !zc_unstable_strict(f))
        return 0;
    began = zc_call_began(c);
    sf = f->wr;
    zc_cache_unlock(c);
    rc = zc_store_sync(sf, ZC_LEVEL_STORED);
    if (rc < 0)
        zc_error_keep(why, rc);
    zc_lock_get(&c->lock);
    zc_call_ended(c, began, ZC_EVENT_STORE_SYNC, 0);
    job->stored = rc == 0;
    return rc;
}

static void run_write(struct zc_cache *c, struct write_job *job)
{
    struct zc_file *f = job->file;
    struct zc_error why = {.rc = 0};
    uint64_t began = zc_event_begin();
    unsigned deaths;
    int rc;

    zc_validator_writing(c, f);
    zc_unstable_update(c, f);
    deaths = f->unstable.deaths;
    rc = write_pieces(c, job, &why);
    if (rc == 0)
        rc = store_squeezed(c, job, &why);
    zc_event_end(ZC_EVENT_WRITE_BACK, began, (uint64_t)job->n << c->page_shift);
    zc_validator_written(c, f);
    zc_unstable_update(c, f);
    if (f->unstable.deaths != deaths)
        job_again(c, job);
    else if (rc == 0)
        job_done(c, job);
    else
        job_failed(c, job, &why);
    if (why.rc)
        zc_file_lookup(c, f);
    if (f->name == ZC_NAME_GONE && f->handles == 0)
        zc_file_discard(c, f);
}

static void no_memory(struct zc_cache *c, struct zc_page *p, struct write_job *job)
{
    struct zc_error why;

    zc_error_set(&why, -ENOMEM, "write-back of %s at %llu: out of memory", p->file->path,
                 (unsigned long long)zc_page_offset(c, p));
    job->pages[0] = p;
    job->n = 1;
    job_failed(c, job, &why);
}

/* A flusher waits until `at`, or for work that comes earlier. */
static void wait_until(struct zc_cache *c, uint64_t at)
{
    if (at < c->next_look)
        c->next_look = at;
    zc_cond_wait_until(&c->work, &c->lock, at);
    if (c->next_look == at)
        c->next_look = UINT64_MAX;
}

/* Before a flusher's job, which may get stuck: if no other one looks for what is due by the time
 * this counts as stuck, wakes one, which then does. */
static void hand_over(struct zc_cache *c)
{
    unsigned ms = c->cfg.idle_ms;

    if (ms < c->flushers.cfg.stuck_ms)
        ms = c->flushers.cfg.stuck_ms;
    if (c->next_look > zc_now() + ms * ZC_NS_PER_MS &&
        (c->ndirty > 0 || !zc_list_empty(&c->failed_files) || !zc_list_empty(&c->looks)))
        pthread_cond_signal(&c->work);
}

static void write_page(struct zc_cache *c, struct write_job *job, struct zc_page *p, uint64_t limit)
{
    if (!build(c, p, limit, job)) {
        no_memory(c, p, job);
        return;
    }
    hand_over(c);
    zc_cache_tenant_wrote(c, p->tenant, job->bytes);
    run_write(c, job);
}

static void run(struct zc_cache *c, struct write_job *job, struct zc_page *p, uint64_t limit)
{
    struct zc_file *f = job->kind == JOB_WRITE ? p->file : job->file;
    struct zc_member me;

    f->refs++;
    zc_workers_enter(&c->flushers, &me, zc_workers_file(f));
    if (job->kind != JOB_WRITE)
        hand_over(c);
    if (job->kind == JOB_SYNC) {
        zc_flush_sync(c, f);
    } else if (job->kind == JOB_ASK) {
        zc_flush_ask(c, f);
    } else if (job->kind == JOB_LOOK) {
        zc_validator_check(c, f);
    } else if (job->kind == JOB_SETTLE) {
        int rc = zc_file_settle(c, f);

        if (rc < 0 && (c->cfg.transient || !f->wb_errors.lost_why.rc)) /* else latched */
            zc_error_keep(&c->late, rc);
    } else {
        write_page(c, job, p, limit);
    }
    zc_workers_leave(&c->flushers, &me);
    zc_flush_check(c, f);
    f->refs--;
    zc_file_flush_now(c, f);
    zc_file_reap(f);
    pthread_cond_broadcast(&c->changed);
}

bool zc_write_back_here(struct zc_cache *c, struct zc_file *f)
{
    struct zc_page *p = c->over ? NULL : wanted_page(c, f);
    struct write_job job;
    struct zc_member me;

    zc_assert_held(&c->lock);
    if (!p || !zc_workers_enter_guest(&c->flushers, &me, zc_workers_file(f)))
        return false;
    write_page(c, &job, p, c->cfg.max_io);
    zc_workers_leave(&c->flushers, &me);
    pthread_cond_broadcast(&c->changed);
    return true;
}

void *zc_write_back_thread(void *cache)
{
    struct zc_cache *c = cache;
    struct write_job job;
    struct zc_page *p;
    uint64_t limit, wake;

    zc_lock_get(&c->lock);
    while (!c->stop) {
        if (!zc_workers_wait_turn(&c->flushers))
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
            wait_until(c, wake);
        }
    }
    zc_lock_put(&c->lock);
    return NULL;
}
