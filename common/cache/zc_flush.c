/* zc_flush.c - flush requests: what they wait for, store syncs, reporting errors.
 *
 * A request takes the file's epoch as its target and moves the file to the next epoch, so "dirty at
 * the time of the call" means: page epoch <= target.  Bytes dirtied later get a later epoch as soon
 * as the page's older ones are in a store write, hence a request ends however fast writers go on.
 * A failed page counts as "failed again" when the attempt that failed began after the request
 * (attempt > target).
 *
 * When a server of a lossy store dies during a sync, its unstable bytes are dirty again, with their
 * old epoch: the requests wait for their write-back, and for another sync.
 *
 * A store that remembers (a daemon) may have refused pages because it is full of bytes that its own
 * store refused, and may not have retried since.  So a request whose pages were refused asks it to,
 * by a sync; if that succeeds, its own pages are retried once, and a repaired store below repairs
 * the file here.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "zc_cache_internal.h"
#include "zc_log.h"

enum progress { WRITING, WRITTEN, REFUSED };

static enum progress progress_of(const struct zc_file *f, uint64_t target)
{
    enum progress result = WRITTEN;

    if (!zc_list_empty(&f->dirty) &&
        zc_list_entry(f->dirty.next, struct zc_page, state_link)->epoch <= target)
        return WRITING;
    zc_list_each (&f->flushing, n) {
        const struct zc_page *p = zc_list_entry(n, struct zc_page, state_link);

        if (p->flush_epoch <= target || (!zc_extents_empty(&p->dirty) && p->epoch <= target))
            return WRITING;
    }
    zc_list_each (&f->failed, n) {
        const struct zc_page *p = zc_list_entry(n, struct zc_page, state_link);

        if (p->epoch > target)
            continue;
        if (p->attempt <= target)
            return WRITING;
        result = REFUSED;
    }
    return result;
}

static bool may_ask(const struct zc_file *f, const struct zc_flush *fl)
{
    return f->wr && f->cache->store->remembers && !fl->asked && !f->cache->over;
}

/* Returns the latest target of requests that wait for pages; *any: there is one. */
uint64_t zc_flush_target(const struct zc_file *f, bool *any)
{
    *any = !zc_list_empty(&f->flushes);
    return *any ? zc_list_entry(f->flushes.prev, struct zc_flush, link)->target : 0;
}

static void finish(struct zc_cache *c, struct zc_flush *fl, const struct zc_error *failed)
{
    struct zc_handle *h = fl->handle;
    struct zc_file *f = fl->file;
    uint64_t *told = fl->errseq ? fl->errseq : h && !fl->quiet ? &h->errseq : NULL;

    fl->error = (struct zc_error){0};
    if (told && (*told == ZC_ERRSEQ_NONE || *told < h->errseq_base))
        *told = h->errseq_base;
    if (h && !fl->quiet)
        zc_wb_errors_check(f, failed, told, &fl->error);
    else if (failed)
        fl->error = *failed;
    if (fl->collective)
        h->errseq = h->errseq_base = f->wb_errors.reports;
    zc_list_del(&fl->link);
    c->st.waiting_flush--;
    zc_event_end(ZC_EVENT_FLUSH, fl->since, 0);
    zc_list_add_tail(&c->done_flushes, &fl->link);
}

/* Completes requests whose pages were refused, and those without anything to sync. */
void zc_flush_check(struct zc_cache *c, struct zc_file *f)
{
    zc_assert_held(&c->lock);
    zc_list_each_safe (&f->flushes, n) {
        struct zc_flush *fl = zc_list_entry(n, struct zc_flush, link);
        enum progress done;
        struct zc_error why;

        if (fl->syncing)
            continue;
        done = progress_of(f, fl->target);
        if (done == REFUSED && !may_ask(f, fl) && zc_wb_errors_refused(c, f, &why))
            finish(c, fl, &why);
        else if (done == WRITTEN && (!f->wr || zc_wb_errors_durable(f)))
            finish(c, fl, NULL);
    }
    zc_file_flush_now(c, f);
}

/* Whether a request has its pages written and needs a sync of the store, or its retry. */
bool zc_flush_wants_sync(const struct zc_file *f)
{
    if (f->syncing || f->ctl == ZC_CTL_SETTLING)
        return false;
    zc_list_each (&f->flushes, n) {
        const struct zc_flush *fl = zc_list_entry(n, struct zc_flush, link);
        enum progress done = fl->syncing ? WRITING : progress_of(f, fl->target);

        if (done == WRITTEN || (done == REFUSED && may_ask(f, fl)))
            return true;
    }
    return false;
}

struct zc_cache_tenant *zc_flush_tenant(const struct zc_file *f)
{
    const struct zc_flush *fl = zc_list_entry(f->flushes.next, struct zc_flush, link);

    return fl->handle ? fl->handle->tenant : &f->cache->no_tenant;
}

/* What the store reported for a failed sync, read without the lock.  A store that remembers names
 * the bytes, unless it is `gone`. */
struct sync_failure {
    bool gone;
    bool committed_seq; /* all of it is stored: only making it durable failed */
    struct zc_error error;
};

/* Whether everything that this cache has written to the store's servers is stored, according to
 * their numbers; writes by others do not count. */
static bool own_is_committed(struct zc_sfile *sf)
{
    struct zc_progress p;
    bool all = zc_store_lossy(sf->store);

    for (uint32_t i = 0; all && i < sf->store->servers; i++) {
        zc_store_progress(sf, i, &p);
        all = p.committed_seq >= p.unstable_seq;
    }
    return all;
}

static void sync_store(struct zc_sfile *sf, enum zc_level level, struct sync_failure *failure)
{
    uint64_t bytes;

    failure->committed_seq = false;
    zc_error_keep(&failure->error, zc_store_sync(sf, level));
    if (!failure->error.rc)
        return;
    failure->gone = sf->store->remembers && zc_store_ping(sf->store) < 0;
    if (level >= ZC_LEVEL_DURABLE && sf->store->remembers && !failure->gone)
        failure->committed_seq =
            zc_store_backlog(sf, &bytes) == 0 && (bytes == 0 || own_is_committed(sf));
}

static void sync_failed(struct zc_cache *c, const struct zc_file *f,
                        const struct sync_failure *failure, struct zc_error *why)
{
    const struct zc_spans *about = &f->wb_errors.syncing;
    int rc = failure->error.rc;

    c->st.store_errors++;
    if (failure->gone && about->n > 0)
        zc_error_set(why, rc, "%llu bytes of %s within %llu-%llu may be lost: %s",
                     (unsigned long long)about->bytes, f->path, (unsigned long long)about->s[0].lo,
                     (unsigned long long)about->s[about->n - 1].hi - 1, failure->error.text);
    else if (c->store->names_bytes)
        *why = failure->error;
    else
        zc_error_set(why, rc, "sync of %s: %s", f->path, failure->error.text);
    zc_warn("%s: %s", f->path, why->text);
}

/* Chooses the requests for the next sync; returns its level. */
static enum zc_level choose(const struct zc_file *f)
{
    enum zc_level level = ZC_LEVEL_VISIBLE, l;

    zc_list_each (&f->flushes, n) {
        struct zc_flush *fl = zc_list_entry(n, struct zc_flush, link);
        enum progress done = progress_of(f, fl->target);

        fl->asking = done == REFUSED && may_ask(f, fl);
        fl->syncing = done == WRITTEN || fl->asking;
        l = fl->asking && fl->level < ZC_LEVEL_STORED ? ZC_LEVEL_STORED : fl->level;
        if (fl->syncing && l > level)
            level = l;
    }
    return level;
}

/* Ends the store's retry: refused pages are tried again if the store had no failure. */
static void asked(struct zc_cache *c, struct zc_flush *fl, const struct zc_error *failed)
{
    struct zc_file *f = fl->file;
    struct zc_error why;

    fl->syncing = fl->asking = false;
    fl->asked = true;
    if (failed) {
        finish(c, fl, zc_wb_errors_refused(c, f, &why) ? &why : failed);
        return;
    }
    fl->target = f->epoch++; /* all attempts so far were before */
    zc_list_del(&fl->link);
    zc_list_add_tail(&f->flushes, &fl->link);
}

/* Syncs the store file; true: one of its servers has died meanwhile, whatever the result. */
static bool sync_file(struct zc_cache *c, struct zc_file *f, enum zc_level level,
                      struct zc_error *why)
{
    struct zc_sfile *sf = f->wr;
    unsigned deaths;
    struct sync_failure failure;
    uint64_t began;
    bool died;

    zc_debug_assert(f->ctl != ZC_CTL_SETTLING);
    f->syncing = true;
    deaths = f->unstable.deaths; /* before anything may see a death: what it lost is dirty again */
    zc_unstable_sync_begins(c, f);
    zc_wb_errors_sync_begins(f);
    c->st.store_syncs++;
    began = zc_call_began(c);
    zc_cache_unlock(c);
    sync_store(sf, level, &failure);
    zc_lock_get(&c->lock);
    zc_call_ended(c, began, ZC_EVENT_STORE_SYNC, 0);
    zc_unstable_synced(c, f, level, failure.error.rc);
    died = f->unstable.deaths != deaths;
    if (failure.error.rc < 0 && !died)
        sync_failed(c, f, &failure, why);
    zc_wb_errors_synced(c, f, died ? ZC_LEVEL_VISIBLE : level, why);
    if (failure.committed_seq && !died)
        zc_wb_errors_undurable(f, why);
    if (failure.error.rc < 0 && !died && f->wb_errors.lost_why.rc)
        *why = f->wb_errors.lost_why; /* includes the amount */
    zc_validator_flushed(c, f);
    f->syncing = false;
    return died;
}

void zc_flush_ask(struct zc_cache *c, struct zc_file *f)
{
    struct zc_error why = {.rc = 0};

    zc_assert_held(&c->lock);
    if (!sync_file(c, f, ZC_LEVEL_STORED, &why))
        zc_unstable_asked(c, f, &why);
}

/* Makes one store sync for all requests that are ready, or none if none is needed: when ranks sync
 * one after the other, all have written before the first sync. */
void zc_flush_sync(struct zc_cache *c, struct zc_file *f)
{
    enum zc_level level = choose(f);
    struct zc_error why = {.rc = 0};
    bool again = f->wr && !zc_wb_errors_durable(f) && sync_file(c, f, level, &why);

    zc_assert_held(&c->lock);
    zc_list_each_safe (&f->flushes, n) {
        struct zc_flush *fl = zc_list_entry(n, struct zc_flush, link);

        if (again)
            fl->syncing = fl->asking = false; /* bytes to be sent again come first */
        else if (fl->asking)
            asked(c, fl, why.rc ? &why : NULL);
        else if (fl->syncing)
            finish(c, fl, why.rc ? &why : NULL);
    }
}

/* Whether the file's requests wait for at most one dirty page: one thread is enough. */
static bool is_for_one(const struct zc_file *f)
{
    return !zc_list_empty(&f->flushes) && f->dirty.next == f->dirty.prev &&
           zc_list_empty(&f->failed);
}

/* Whether a write of this thread cannot raise SIGXFSZ, which a program may not expect of a sync or
 * close.  Flusher threads block it. */
static bool may_write(void)
{
    struct rlimit l;

    return getrlimit(RLIMIT_FSIZE, &l) == 0 && l.rlim_cur == RLIM_INFINITY;
}

/* Writes back one dirty page, and syncs the store if nothing of the file is unwritten then, in this
 * thread: a flusher thread would cost two thread switches. */
static void flush_here(struct zc_cache *c, struct zc_file *f)
{
    f->refs++;
    if (is_for_one(f) && !zc_cache_tenants_compete(c) && may_write() && zc_write_back_here(c, f) &&
        zc_file_unwritten(f)) /* it is dirty again, or has failed */
        pthread_cond_signal(&c->work);
    if (zc_flush_wants_sync(f)) {
        zc_flush_sync(c, f);
        pthread_cond_broadcast(&c->changed);
    }
    f->refs--;
}

/* Queues a request; `waits`: the caller waits for it, so this thread may do the work.  The caller
 * unlocks with zc_cache_unlock(). */
static void start(struct zc_cache *c, struct zc_flush *fl, bool waits)
{
    struct zc_file *f = fl->file;

    zc_assert_held(&c->lock);
    fl->error.rc = -EINPROGRESS;
    fl->syncing = fl->asking = fl->asked = false;
    fl->target = f->epoch++;
    fl->since = zc_event_begin();
    c->flush_at = zc_now();
    zc_list_add_tail(&f->flushes, &fl->link);
    c->st.waiting_flush++;
    if (fl->level <= c->cfg.level && !c->cfg.transient) { /* or other openers miss the result */
        finish(c, fl, NULL);
        waits = false;
    }
    if (waits)
        flush_here(c, f);
    zc_flush_check(c, f);
    if (zc_file_unwritten(f) && !is_for_one(f))
        zc_kick(c);
}

void zc_cache_flush_start(struct zc_flush *fl)
{
    struct zc_cache *c = fl->handle->file->cache;

    fl->file = fl->handle->file;
    zc_lock_get(&c->lock);
    start(c, fl, false);
    zc_cache_unlock(c);
}

struct flush_wait {
    struct zc_flush flush;
    struct zc_lock lock;
    zc_cond cond;
    bool done;
};

static void wake_waiter(struct zc_flush *fl)
{
    struct flush_wait *w = zc_list_entry(fl, struct flush_wait, flush);

    zc_lock_get(&w->lock);
    w->done = true;
    pthread_cond_signal(&w->cond);
    zc_lock_put(&w->lock);
}

/* Flushes and waits; without the lock.  The caller keeps the file by a handle or a ref. */
static int flush_and_wait(struct zc_cache *c, struct zc_file *f, struct zc_handle *h,
                          enum zc_level level, bool for_all)
{
    struct flush_wait w = {
        .flush =
            {.handle = h, .file = f, .level = level, .collective = for_all, .done = wake_waiter},
    };

    zc_lock_init(&w.lock, ZC_ORDER_WAITER);
    zc_cond_init(&w.cond);
    zc_lock_get(&c->lock);
    start(c, &w.flush, true);
    zc_cache_unlock(c);
    zc_lock_get(&w.lock);
    while (!w.done)
        zc_cond_wait(&w.cond, &w.lock);
    zc_lock_put(&w.lock);
    pthread_cond_destroy(&w.cond);
    zc_lock_destroy(&w.lock);
    return zc_error_raise(&w.flush.error);
}

int zc_cache_flush(struct zc_handle *h, enum zc_level level)
{
    return flush_and_wait(h->file->cache, h->file, h, level, false);
}

int zc_cache_flush_collective(struct zc_handle *h, enum zc_level level)
{
    return flush_and_wait(h->file->cache, h->file, h, level, true);
}

int zc_flush_again(struct zc_cache *c, struct zc_file *f)
{
    int rc;

    zc_assert_held(&c->lock);
    zc_cache_unlock(c);
    rc = flush_and_wait(c, f, NULL, ZC_LEVEL_STAGED, false);
    zc_lock_get(&c->lock);
    return rc;
}

int zc_cache_flush_file(struct zc_cache *c, uint64_t dev, uint64_t ino)
{
    struct zc_file *f;
    int rc;

    zc_lock_get(&c->lock);
    f = zc_file_find(c, dev, ino);
    if (f)
        f->refs++;
    zc_lock_put(&c->lock);
    if (!f)
        return 0;
    rc = flush_and_wait(c, f, NULL, ZC_LEVEL_STORED, false);
    zc_lock_get(&c->lock);
    f->refs--;
    zc_file_reap(f);
    zc_cache_unlock(c);
    return rc;
}

static void forget(struct zc_flush *fl)
{
    free(fl);
}

int zc_cache_flush_later(struct zc_handle *h, enum zc_level level)
{
    struct zc_cache *c = h->file->cache;
    struct zc_flush *fl = calloc(1, sizeof *fl);

    if (!fl)
        return zc_errorf(ENOMEM, "no memory to write back %s", h->file->path);
    fl->file = h->file; /* no handle: it may be closed before the end, and is told later */
    fl->level = level;
    fl->done = forget;
    zc_lock_get(&c->lock);
    start(c, fl, false);
    zc_cache_unlock(c);
    return 0;
}

/* ---- numbers of writes ----
 *
 * A write's number is the file's epoch at that time: its bytes keep that epoch until they are
 * written back.  An epoch is stored when none of its bytes is unwritten.  Since other writes go on,
 * an epoch has to end for that: by a flush, by a request for higher numbers, and when everything is
 * stored, as later writes are not.
 */

/* Returns the oldest epoch with unwritten bytes; UINT64_MAX: all is written. */
static uint64_t oldest_unwritten(const struct zc_file *f)
{
    uint64_t oldest = UINT64_MAX;

    if (!zc_list_empty(&f->dirty))
        oldest = zc_list_entry(f->dirty.next, struct zc_page, state_link)->epoch;
    zc_list_each (&f->flushing, n) {
        const struct zc_page *p = zc_list_entry(n, struct zc_page, state_link);

        if (p->flush_epoch < oldest)
            oldest = p->flush_epoch;
        if (!zc_extents_empty(&p->dirty) && p->epoch < oldest)
            oldest = p->epoch;
    }
    zc_list_each (&f->failed, n) {
        const struct zc_page *p = zc_list_entry(n, struct zc_page, state_link);

        if (p->epoch < oldest)
            oldest = p->epoch;
    }
    return oldest;
}

void zc_cache_progress(struct zc_handle *h, bool next, uint64_t *taken, uint64_t *stored)
{
    struct zc_file *f = h->file;
    struct zc_cache *c = f->cache;
    uint64_t oldest;

    zc_lock_get(&c->lock);
    oldest = oldest_unwritten(f);
    *taken = f->epoch;
    *stored = oldest > f->epoch ? f->epoch : oldest - 1;
    if (next || *stored == f->epoch)
        f->epoch++;
    zc_lock_put(&c->lock);
}

int zc_cache_owes_until(struct zc_cache *c, uint64_t dev, uint64_t ino, uint64_t number)
{
    struct zc_file *f;
    int rc = 0;

    zc_lock_get(&c->lock);
    f = zc_file_find(c, dev, ino);
    if (f && f->name != ZC_NAME_GONE && oldest_unwritten(f) <= number)
        rc = f->nfailed ? f->write_why.rc : -EAGAIN;
    if (f && rc)
        f->epoch++;
    zc_lock_put(&c->lock);
    return rc;
}

void zc_cache_hurry(struct zc_cache *c, bool on)
{
    zc_lock_get(&c->lock);
    c->drains += on ? 1 : (unsigned)-1;
    zc_kick(c);
    zc_lock_put(&c->lock);
}

uint64_t zc_cache_backlog(struct zc_handle *h)
{
    struct zc_cache *c = h->file->cache;
    uint64_t bytes;

    zc_lock_get(&c->lock);
    bytes = h->file->dirty_bytes + h->file->flushing_bytes;
    zc_lock_put(&c->lock);
    return bytes;
}

int zc_cache_backlog_below(struct zc_handle *h, uint64_t *bytes)
{
    struct zc_file *f = h->file;
    struct zc_cache *c = f->cache;
    struct zc_sfile *sf;
    int rc = 0;

    *bytes = 0;
    if (!zc_store_has_backlog(c->store))
        return 0;
    zc_error_clear();
    zc_lock_get(&c->lock);
    zc_ctl_get(c, f); /* keeps the store file open */
    sf = f->wr ? f->wr : f->rd;
    zc_cache_unlock(c);
    rc = zc_store_backlog(sf, bytes);
    zc_lock_get(&c->lock);
    zc_ctl_put(c, f);
    zc_cache_unlock(c);
    return rc;
}

/* ---- drain ---- */

static bool needs_drain(const struct zc_file *f)
{
    return zc_file_unwritten(f) || zc_list_linked(&f->unstable.link) || zc_validator_is_due(f) ||
           (f->handles == 0 && (f->rd || f->wr || f->ctl == ZC_CTL_SETTLING));
}

static struct zc_file *next_to_drain(struct zc_cache *c)
{
    for (unsigned i = 0; i < ZC_FILE_BUCKETS; i++) {
        zc_list_each (&c->files[i], n) {
            struct zc_file *f = zc_list_entry(n, struct zc_file, link);

            if (f->drain_pass < c->drain_pass && needs_drain(f)) {
                f->drain_pass = c->drain_pass;
                return f;
            }
        }
    }
    return NULL;
}

/* Flushes one file, which also reads its attributes if flushers have written all and not done that
 * yet, and waits until it is closed, if it has no handles. */
static int drain_file(struct zc_cache *c, struct zc_file *f)
{
    int rc;

    f->refs++;
    zc_file_lookup(c, f);
    zc_cache_unlock(c);
    rc = flush_and_wait(c, f, NULL, ZC_LEVEL_STORED, false);
    zc_lock_get(&c->lock);
    zc_file_flush_now(c, f);
    while (f->handles == 0 && (f->rd || f->wr || f->ctl == ZC_CTL_SETTLING) &&
           !zc_file_unwritten(f))
        zc_cache_wait(c);
    f->refs--;
    zc_file_reap(f);
    return rc;
}

/* Checks whether a file without handles is still at its name.  Drops the lock. */
static void look_for_it(struct zc_cache *c, struct zc_file *f)
{
    char *path =
        f->handles == 0 && !f->rd && !f->wr && f->ctl == ZC_CTL_FREE ? strdup(f->path) : NULL;
    struct zc_attr now;
    int rc;

    if (!path)
        return;
    f->refs++;
    zc_cache_unlock(c);
    rc = zc_store_stat(c->store, path, &now);
    zc_lock_get(&c->lock);
    f->refs--;
    if (rc == 0 && now.dev == f->dev && now.ino == f->ino)
        f->wb_errors.gone = f->born_ns && now.born_ns && f->born_ns != now.born_ns;
    else
        f->wb_errors.gone = rc == 0 || rc == -ENOENT;
    free(path);
}

static struct zc_file *next_lost(struct zc_cache *c)
{
    for (unsigned i = 0; i < ZC_FILE_BUCKETS; i++)
        zc_list_each (&c->files[i], n) {
            struct zc_file *f = zc_list_entry(n, struct zc_file, link);

            if (f->drain_pass < c->drain_pass && f->wb_errors.lost_why.rc) {
                f->drain_pass = c->drain_pass;
                return f;
            }
        }
    return NULL;
}

/* Returns why bytes are lost, of a file that is still at its name. */
static void lost_files(struct zc_cache *c, struct zc_error *why)
{
    struct zc_file *f;

    c->drain_pass++;
    while ((f = next_lost(c)) != NULL) {
        look_for_it(c, f);
        if (f->wb_errors.lost_why.rc && !f->wb_errors.gone && why->rc == 0)
            *why = f->wb_errors.lost_why;
        zc_file_reap(f);
    }
}

int zc_cache_drain(struct zc_cache *c)
{
    enum { PASSES = 8 };
    struct zc_error why = {.rc = 0};
    struct zc_file *f;

    zc_lock_get(&c->lock);
    c->drains++;
    zc_kick(c);
    for (int i = 0; i < PASSES && why.rc == 0; i++) {
        c->drain_pass++;
        while ((f = next_to_drain(c)) != NULL)
            zc_error_join(&why, drain_file(c, f));
        if (c->dirty_bytes + c->flushing_bytes == 0)
            break;
    }
    c->drains--;
    if (why.rc == 0)
        lost_files(c, &why);
    if (why.rc == 0 && c->late.rc) {
        why = c->late;
        c->late.rc = 0;
    }
    if (why.rc == 0 && c->dirty_bytes + c->flushing_bytes > 0)
        zc_error_set(&why, -EBUSY, "files are still being written to: %llu bytes are dirty",
                     (unsigned long long)(c->dirty_bytes + c->flushing_bytes));
    zc_cache_unlock(c);
    return zc_error_raise(&why);
}
