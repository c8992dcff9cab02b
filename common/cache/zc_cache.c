/* zc_cache.c - the cache as a whole: creation, the lock, completions, statistics.
 *
 * The states of a page and their transitions are drawn in zc_page.c.
 *
 * Invariants (zc_check.c verifies them in debug builds whenever the lock is released, except those
 * parts of 5 and 11 that are about a moment: these are asserted in place)
 *  1. valid covers dirty and flushing.
 *  2.  A page is in at most one flush job; `flushing` is empty unless in_flush.
 *  3.  A page is on an LRU list iff it is CLEAN, unpinned, not reading, without waiters, and its
 *     unstable bytes need not stay; only such pages are evicted.
 *  4.  A page with dirty bytes is on exactly one of file->dirty, ->failed, ->flushing; the lists of
 *     tenants hold exactly those on some file->dirty.
 *  5.  While a page is read (page->fill) no write begins on the page, and a store read only touches
 * bytes that are neither valid nor in the range of a write under way.
 *  6. dirty_bytes and flushing_bytes of cache and files are the sums over their pages.
 *  7.  Arrays of `valid` and `dirty` have room for every write under way, and `dirty` for
 *     `flushing` besides, so that ending a write and undoing a flush cannot fail.
 *  8.  A file that is unlinked or has dirty bytes keeps its store file open.
 *  9.  A page is queued to be read, or its read is stale, only while reading; a page queued for
 *     readahead has no waiters.
 * 10.  At most a quarter of the pages is read ahead and not used yet.
 * 11.  A page is outdated only while earlier readers use it; no access begins meanwhile, and
 *     `valid` has room for `dirty`, `flushing` and what writes under way may add.
 * 12.  Every frame held has a page or is on `free`; those of `spare` have no memory (zc_frames.c).
 * 13.  A page is reserved iff it has dirty or flushing bytes or a write under way, or has to stay
 *     for its unstable bytes; never all of them, so that readers find one (zc_dirty_limit.c).
 * 14. valid covers kept; a page is on file->unstable.pages iff it keeps unstable bytes, and then
 *     the file is on cache->unstable_files; npins_unstable counts such pages and the reserved ones;
 *     retained_bytes of cache and files are the sums (zc_unstable.c).
 * 15.  A page belongs to one tenant, is on its lists and in its counts (zc_cache_tenant.h).
 * 16.  Bytes that a page descriptor shows to other processes could be read at once (zc_publish.c).
 *
 * Locks: cache->lock guards everything.  One lock is enough because it is held for list and range
 * operations only: never over store calls or copies of data, nor over callbacks, except those of
 * zc_cache_files(), zc_cache_losses() and zc_cache_unwritten() for what they list.  One store call
 * is made with it: zc_store_progress(), which takes the store's lock for a moment.  Where pages
 * have checksums it is held while one is computed (zc_page_csum.c).
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_cache_internal.h"
#include "zc_log.h"
#include "zc_pool.h"
#include "zc_text.h"

enum { STUCK_MOST = 60 }; /* stuck threads that are replaced by others at most */

/* ---- completions ---- */

struct deliveries {
    struct zc_list accesses, flushes;
};

/* Completions that this thread is delivering: a callback that completes more adds to them, so that
 * the stack does not grow with the number of completions. */
static _Thread_local struct deliveries *delivering;

/* Sets the error text of the thread that calls ready(). */
static void explain(struct zc_access *a)
{
    struct zc_file *f = a->handle->file;
    struct zc_error why;

    zc_lock_get(&f->cache->lock);
    why = f->access_why;
    zc_lock_put(&f->cache->lock);
    if (why.rc == a->status)
        zc_error_raise(&why);
}

static void deliver(struct deliveries *d)
{
    struct zc_list *n;

    if (delivering) {
        zc_list_splice(&delivering->accesses, &d->accesses);
        zc_list_splice(&delivering->flushes, &d->flushes);
        return;
    }
    delivering = d;
    for (;;) {
        if ((n = zc_list_pop(&d->accesses)) != NULL) {
            struct zc_access *a = zc_list_entry(n, struct zc_access, done_link);

            if (a->status < 0)
                explain(a);
            a->ready(a);
        } else if ((n = zc_list_pop(&d->flushes)) != NULL) {
            struct zc_flush *fl = zc_list_entry(n, struct zc_flush, link);

            zc_error_raise(&fl->error);
            fl->done(fl);
        } else {
            break;
        }
    }
    delivering = NULL;
}

static bool have_completions(struct zc_cache *c)
{
    return !zc_list_empty(&c->done_accesses) || !zc_list_empty(&c->done_flushes);
}

void zc_cache_unlock(struct zc_cache *c)
{
    struct deliveries d;

    if (c->retained_bytes > 0)
        zc_unstable_make_room(c);
    if (zc_frames_over(c))
        zc_frames_shed(c);
    if (c->st.waiting_room > 0) {
        zc_room_serve(c);
        if (c->st.waiting_room > 0)
            pthread_cond_signal(&c->work);
    }
    if (c->cfg.uncached)
        zc_lru_drop_all(c);
    if (!zc_list_empty(&c->ahead_waits))
        zc_readahead_serve(c);
    zc_cache_check(c);
    if (!have_completions(c)) {
        zc_lock_put(&c->lock);
        return;
    }
    zc_list_init(&d.accesses);
    zc_list_init(&d.flushes);
    zc_list_splice(&d.accesses, &c->done_accesses);
    zc_list_splice(&d.flushes, &c->done_flushes);
    zc_lock_put(&c->lock);
    deliver(&d);
}

void zc_cache_wait(struct zc_cache *c)
{
    if (zc_frames_over(c))
        zc_frames_shed(c);
    if (c->st.waiting_room > 0)
        zc_room_serve(c);
    if (have_completions(c)) {
        zc_cache_unlock(c);
        zc_lock_get(&c->lock);
        return;
    }
    zc_cache_check(c);
    zc_cond_wait(&c->changed, &c->lock);
}

void zc_kick(struct zc_cache *c)
{
    pthread_cond_broadcast(&c->work);
}

/* ---- creation ---- */

static int check_config(const struct zc_cache_config *g)
{
    if (g->page_size < ZC_PAGE_SIZE_MIN || g->page_size > ZC_PAGE_SIZE_MAX ||
        (g->page_size & (g->page_size - 1)))
        return zc_errorf(EINVAL, "page size %u: must be a power of two from 4 KiB to 64 MiB",
                         g->page_size);
    if (g->capacity / g->page_size < 2)
        return zc_errorf(EINVAL, "cache size %zu: must hold at least two pages of %u bytes",
                         g->capacity, g->page_size);
    if (g->high_watermark > 100 || g->low_watermark >= g->high_watermark)
        return zc_errorf(EINVAL,
                         "watermarks %u%% and %u%%: the low one must be below the high one, and "
                         "that at most 100%%",
                         g->high_watermark, g->low_watermark);
    if (g->flushers < 1 || g->flushers > 1024 || g->readers < 1 || g->readers > 1024)
        return zc_errorf(EINVAL, "%u flushers, %u readers: from 1 to 1024 of each", g->flushers,
                         g->readers);
    if (g->max_io < 4096)
        return zc_errorf(EINVAL, "largest store write %u: must be at least 4 KiB", g->max_io);
    if (g->max_read < 4096)
        return zc_errorf(EINVAL, "largest store read %u: must be at least 4 KiB", g->max_read);
    if (g->prefetch > ZC_RA_PREDICT_DEPTH_MAX)
        return zc_errorf(EINVAL, "%u pages read ahead: at most %d", g->prefetch,
                         ZC_RA_PREDICT_DEPTH_MAX);
    if (g->max_extents < 2)
        return zc_errorf(EINVAL, "%u ranges per page: must be at least 2", g->max_extents);
    if (g->retry_ms < 1)
        return zc_errorf(EINVAL, "retry delay 0 ms: must be at least 1 ms");
    return 0;
}

static void init_lists(struct zc_cache *c)
{
    zc_list_init(&c->free);
    zc_list_init(&c->spare);
    zc_list_init(&c->to_drop);
    zc_list_init(&c->ahead_waits);
    zc_list_init(&c->room);
    zc_list_init(&c->throttled);
    zc_list_init(&c->losses);
    zc_list_init(&c->kept);
    zc_list_init(&c->flush_now);
    zc_list_init(&c->failed_files);
    zc_list_init(&c->unstable_files);
    zc_list_init(&c->looks);
    zc_list_init(&c->done_accesses);
    zc_list_init(&c->done_flushes);
    for (unsigned i = 0; i < ZC_FILE_BUCKETS; i++)
        zc_list_init(&c->files[i]);
}

static int start_crew(struct zc_cache *c, struct zc_workers *crew, unsigned hands, const char *name,
                      void *(*run)(void *))
{
    const struct zc_workers_config cfg = {.name = name,
                                          .hands = hands,
                                          .most = hands + STUCK_MOST,
                                          .stuck_ms = c->cfg.stuck_ms,
                                          .lock = &c->lock,
                                          .run = run,
                                          .arg = c};

    return zc_workers_start(crew, &cfg);
}

static int start_threads(struct zc_cache *c)
{
    int rc = start_crew(c, &c->readers, c->cfg.readers, "zc-read", zc_fill_thread);

    if (rc == 0)
        rc = start_crew(c, &c->flushers, c->cfg.flushers, "zc-flush", zc_write_back_thread);
    return rc;
}

int zc_cache_create(const struct zc_cache_config *cfg, struct zc_store *store,
                    struct zc_cache **out)
{
    struct zc_cache *c;
    int rc;

    *out = NULL;
    rc = check_config(cfg);
    if (rc < 0)
        return rc;
    c = calloc(1, sizeof(*c));
    if (!c)
        return zc_errorf(ENOMEM, "cache: out of memory");
    c->cfg = *cfg;
    c->store = store;
    c->watch.moved = zc_unstable_moved;
    zc_list_init(&c->watch.link);
    c->page_size = cfg->page_size;
    zc_lock_init(&c->lock, ZC_ORDER_CACHE);
    zc_cond_init(&c->work);
    c->next_look = UINT64_MAX;
    zc_cond_init(&c->fill_work);
    zc_cond_init(&c->changed);
    init_lists(c);
    zc_cost_init(&c->cost);
    zc_cache_tenants_init(c);
    rc = zc_frames_init(c);
    if (rc == 0)
        rc = start_threads(c);
    if (rc < 0) {
        zc_cache_destroy(c);
        return rc;
    }
    zc_store_watch(store, &c->watch);
    *out = c;
    return 0;
}

static void stop_threads(struct zc_cache *c)
{
    zc_lock_get(&c->lock);
    c->stop = true;
    zc_kick(c);
    pthread_cond_broadcast(&c->fill_work);
    zc_workers_stop(&c->flushers);
    zc_workers_stop(&c->readers);
    zc_lock_put(&c->lock);
    zc_workers_join(&c->flushers);
    zc_workers_join(&c->readers);
}

/* Closes the store files of a file at the end of the cache. */
static void end_file(struct zc_cache *c, struct zc_file *f)
{
    f->refs++;
    zc_lock_get(&c->lock);
    zc_file_discard(c, f);
    zc_lock_put(&c->lock);
    zc_file_destroy(f);
}

void zc_cache_destroy(struct zc_cache *c)
{
    if (!c)
        return;
    if (zc_list_linked(&c->watch.link))
        zc_store_unwatch(c->store, &c->watch);
    stop_threads(c);
    zc_cache_abandon(c);
    for (unsigned i = 0; i < ZC_FILE_BUCKETS; i++) {
        zc_list_each_safe (&c->files[i], n)
            end_file(c, zc_list_entry(n, struct zc_file, link));
    }
    for (uint64_t i = 0; i < c->fresh; i++) {
        zc_extents_free(&c->pages[i].valid);
        zc_extents_free(&c->pages[i].dirty);
        zc_extents_free(&c->pages[i].flushing);
        zc_extents_free(&c->pages[i].kept);
    }
    zc_frames_free(c);
    pthread_cond_destroy(&c->work);
    pthread_cond_destroy(&c->fill_work);
    pthread_cond_destroy(&c->changed);
    zc_lock_destroy(&c->lock);
    zc_losses_free(c);
    zc_cache_tenants_free(c);
    free(c);
}

uint32_t zc_cache_page_size(const struct zc_cache *c)
{
    return c->page_size;
}

bool zc_cache_uncached(const struct zc_cache *c)
{
    return c->cfg.uncached;
}

/* ---- statistics ---- */

static uint64_t failed_bytes(const struct zc_file *f)
{
    uint64_t sum = 0;

    zc_list_each (&f->failed, n)
        sum += zc_extents_bytes(&zc_list_entry(n, struct zc_page, state_link)->dirty);
    return sum;
}

void zc_cache_stats(struct zc_cache *c, struct zc_cache_stats *out)
{
    zc_lock_get(&c->lock);
    *out = c->st;
    out->lock_waits = c->lock.waits;
    out->lock_wait_ns = c->lock.wait_ns;
    out->capacity_bytes = c->npages << c->page_shift;
    out->used_bytes = c->nused << c->page_shift;
    out->range_bytes = c->range_bytes;
    out->dirty_bytes = c->dirty_bytes + c->flushing_bytes;
    out->flushing_bytes = c->flushing_bytes;
    out->retained_bytes = c->retained_bytes;
    zc_list_each (&c->unstable_files, n)
        out->exposed_bytes +=
            zc_unstable_unprotected(c, zc_list_entry(n, struct zc_file, unstable.link));
    out->held_bytes = c->nbarred << c->page_shift;
    out->pinned_pages = c->npinned;
    out->reading_pages = c->nreading;
    out->prefetch_waiting_pages = c->nahead;
    zc_list_each (&c->failed_files, n)
        out->failed_bytes += failed_bytes(zc_list_entry(n, struct zc_file, failed_link));
    for (unsigned i = 0; i < ZC_FILE_BUCKETS; i++)
        zc_list_each (&c->files[i], n) {
            out->files++;
            out->racy_files += zc_list_entry(n, struct zc_file, link)->validator.racy;
        }
    zc_lock_put(&c->lock);
}

void zc_cache_files(struct zc_cache *c, void (*fn)(void *arg, const struct zc_file_info *),
                    void *arg)
{
    zc_lock_get(&c->lock);
    for (unsigned i = 0; i < ZC_FILE_BUCKETS; i++) {
        zc_list_each (&c->files[i], n) {
            const struct zc_file *f = zc_list_entry(n, struct zc_file, link);
            struct zc_file_info info = {
                .key = zc_pool_key(f->dev, f->ino),
                .path = f->path,
                .size = f->size,
                .cached_bytes = f->npages << c->page_shift,
                .dirty_bytes = f->dirty_bytes + f->flushing_bytes,
                .failed_bytes = failed_bytes(f),
                .lost_bytes = f->wb_errors.lost.bytes,
                .handles = f->handles,
                .error = f->write_why.rc ? f->write_why.rc : f->wb_errors.lost_why.rc,
            };

            fn(arg, &info);
        }
    }
    zc_lock_put(&c->lock);
}
