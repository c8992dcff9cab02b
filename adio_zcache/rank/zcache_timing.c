/* zcache_timing.c - measurements of an open file, if enabled. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zcache_counters.h"
#include "zcache_file.h"
#include "zcache_timing.h"

static void add(uint64_t *sum, uint64_t n)
{
    __atomic_add_fetch(sum, n, __ATOMIC_RELAXED);
}

/* ---- open and close ---- */

static char *copy(const char *text)
{
    return text && *text ? strdup(text) : NULL;
}

void zcache_timing_open(struct zcache_file *f, int rank)
{
    struct zcache_timing *m;
    unsigned n;

    if (f->settings.stats == ZC_STATS_OFF && !f->settings.summary)
        return;
    m = calloc(1, sizeof *m);
    if (!m)
        ADIOI_Assert(m); /* a rank without it would be missing from the collective end */
    m->path = copy(f->path);
    m->daemons = copy(f->settings.daemons);
    m->summary = copy(f->settings.summary);
    m->patience = f->settings.timeout;
    m->stats = f->settings.stats;
    if (f->agg)
        zc_cache_stats(zcache_agg_cache(f->agg), &m->agg);
    if (rank == 0)
        m->iod_known = zcache_counters_of_daemons(f, &m->iod, &n) == 0;
    m->opened = zc_now();
    f->timing = m;
}

void zcache_timing_free(struct zcache_timing *m)
{
    if (!m)
        return;
    free(m->path);
    free(m->daemons);
    free(m->summary);
    free(m);
}

/* Takes the counters of caches that write to the file system. */
static void take_writes(struct zcache_timing_fields *f, const struct zc_cache_stats *was,
                        const struct zc_cache_stats *is)
{
    f->fs_writes = is->store_writes - was->store_writes;
    f->fs_small_writes = is->small_writes - was->small_writes;
    f->fs_merge_read_bytes = is->merge_read_bytes - was->merge_read_bytes;
    f->fs_merge_filled_bytes = is->merge_filled_bytes - was->merge_filled_bytes;
    f->fs_page_writes = is->page_writes - was->page_writes;
    f->fs_page_rewrites = is->page_rewrites - was->page_rewrites;
}

static void take_aggregator(struct zcache_timing_fields *f, const struct zc_cache_stats *was,
                            const struct zc_cache_stats *is)
{
    f->aggregators = 1;
    f->agg_cache_bytes = is->capacity_bytes;
    f->agg_room_ns = is->room_wait_ns - was->room_wait_ns;
    f->agg_fill_ns = is->read_wait_ns - was->read_wait_ns;
    f->agg_store_read_ns = is->store_read_ns - was->store_read_ns;
    f->agg_store_write_ns =
        is->store_write_ns - was->store_write_ns + is->store_sync_ns - was->store_sync_ns;
    f->agg_store_busy_ns = is->store_busy_ns - was->store_busy_ns;
    f->agg_store_read_bytes = is->store_read_bytes - was->store_read_bytes;
    f->agg_store_written_bytes = is->store_written_bytes - was->store_written_bytes;
    f->agg_read_hits = is->read_hits - was->read_hits;
    f->agg_written_hits = is->written_hits - was->written_hits;
    f->agg_read_misses = is->read_misses - was->read_misses;
    f->agg_missed_bytes = is->missed_bytes - was->missed_bytes;
    f->agg_read_late = is->read_late - was->read_late;
    f->prefetched_pages = is->prefetched_pages - was->prefetched_pages;
    f->prefetched_bytes = is->prefetched_bytes - was->prefetched_bytes;
    f->prefetch_used_pages = is->prefetch_used_pages - was->prefetch_used_pages;
    f->prefetch_used_bytes = is->prefetch_used_bytes - was->prefetch_used_bytes;
    f->prefetch_late_pages = is->prefetch_late_pages - was->prefetch_late_pages;
    f->prefetch_late_bytes = is->prefetch_late_bytes - was->prefetch_late_bytes;
    f->prefetch_wasted_pages = is->prefetch_wasted_pages - was->prefetch_wasted_pages;
    f->prefetch_wasted_bytes = is->prefetch_wasted_bytes - was->prefetch_wasted_bytes;
}

/* A daemon that was restarted counts from 0: then nothing is known of it. */
static void take_daemons(struct zcache_timing_fields *f, unsigned n,
                         const struct zc_cache_stats *was, const struct zc_cache_stats *is)
{
    if (is->store_busy_ns < was->store_busy_ns || is->read_hits < was->read_hits ||
        is->store_written_bytes < was->store_written_bytes)
        return;
    f->daemons = n;
    f->iod_room_ns = is->room_wait_ns - was->room_wait_ns;
    f->iod_fill_ns = is->read_wait_ns - was->read_wait_ns;
    f->iod_store_busy_ns = is->store_busy_ns - was->store_busy_ns;
    f->iod_store_read_bytes = is->store_read_bytes - was->store_read_bytes;
    f->iod_store_written_bytes = is->store_written_bytes - was->store_written_bytes;
    f->iod_read_hits = is->read_hits - was->read_hits;
    f->iod_read_misses = is->read_misses - was->read_misses;
    f->iod_read_late = is->read_late - was->read_late;
    take_writes(f, was, is);
}

struct zcache_timing *zcache_timing_take(struct zcache_file *f, int rank, bool complete)
{
    struct zcache_timing *m = f->timing;
    struct zc_cache_stats now = {0}, iod = {0};
    unsigned n = 0;

    if (!m)
        return NULL;
    m->figures.ranks = 1;
    if (f->agg) {
        zc_cache_stats(zcache_agg_cache(f->agg), &now);
        take_aggregator(&m->figures, &m->agg, &now);
        if (!m->daemons)
            take_writes(&m->figures, &m->agg, &now);
    }
    if (rank == 0 && complete && m->iod_known && zcache_counters_of_daemons(f, &iod, &n) == 0 &&
        n > 0)
        take_daemons(&m->figures, n, &m->iod, &iod);
    m->figures.agg_read_hits += m->looks;
    f->timing = NULL;
    return m;
}

/* ---- accesses ---- */

void zcache_watch_start(const struct zcache_timing *m, struct zcache_stopwatch *w)
{
    w->began = m ? zc_now() : 0;
    if (m)
        w->waited = zc_wait_time;
}

static uint64_t elapsed(const struct zcache_stopwatch *w)
{
    return zc_now() - w->began;
}

void zcache_watch_access(struct zcache_timing *m, const struct zcache_stopwatch *w,
                         enum zcache_dir dir, int64_t n, bool background)
{
    bool write = dir == ZCACHE_WRITE;
    struct zcache_timing_fields *f;

    if (!m)
        return;
    f = &m->figures;
    add(background ? &f->background_ns : write ? &f->write_ns : &f->read_ns, elapsed(w));
    add(&f->cache_ns, zc_wait_time.cache - w->waited.cache);
    add(&f->credit_ns, zc_wait_time.credit - w->waited.credit);
    add(&f->reply_ns, zc_wait_time.reply - w->waited.reply);
    if (n < 0)
        return;
    add(write ? &f->writes : &f->reads, 1);
    add(write ? &f->written_bytes : &f->read_bytes, (uint64_t)n);
}

void zcache_watch_check(struct zcache_timing *m)
{
    if (m)
        add(&m->looks, 1);
}

void zcache_watch_sync(struct zcache_timing *m, const struct zcache_stopwatch *w)
{
    if (m)
        add(&m->figures.sync_ns, elapsed(w));
}

void zcache_watch_close(struct zcache_timing *m, const struct zcache_stopwatch *w)
{
    if (m)
        add(&m->figures.close_ns, elapsed(w));
}

void zcache_watch_ranks(struct zcache_timing *m, const struct zcache_stopwatch *w)
{
    if (m)
        add(&m->figures.ranks_ns, elapsed(w));
}
