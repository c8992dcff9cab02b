/* iod_aggregator.c - zcached as a dedicated aggregator. */
#include "config.h"

#include "iod_aggregator.h"
#include "zc_log.h"
#include "zc_ring_apply.h"
#include "zc_unwritten.h"

enum {
    VIEWS_PERCENT = 12, /* of the cache size, as of a rank's aggregator (hint view_memory) */
    CREDITS = 32,       /* requests that a rank may have under way, likewise */
    LEAST_PIECE = 16,   /* a range for so many bytes of a page */
    LEAST_RANGES = 1024,
};

void iod_aggregator_store(const struct iod_aggregator *a, const struct zc_settings *s,
                          struct zc_store_config *cfg)
{
    cfg->ending = &a->ending;
    cfg->daemons = s->below;
    cfg->local = s->local;
    cfg->timeout_ms = s->timeout;
    cfg->name = "aggregator";
    /* It has no seat among daemons: files are marked and fenced as by ranks. */
    cfg->mark_as = 0;
    cfg->ask_first = NULL;
}

void iod_aggregator_ending(struct iod_aggregator *a)
{
    __atomic_store_n(&a->ending, 1, __ATOMIC_RELEASE);
}

uint64_t iod_aggregator_views(const struct zc_settings *s)
{
    uint64_t views = s->cache_size / 100 * VIEWS_PERCENT;

    return views - views % s->page_size;
}

void iod_aggregator_cache(struct zc_cache_config *cfg)
{
    cfg->max_extents = cfg->page_size / LEAST_PIECE;
    if (cfg->max_extents < LEAST_RANGES)
        cfg->max_extents = LEAST_RANGES;
    cfg->level = ZC_LEVEL_VISIBLE;
    cfg->transient = true;
    cfg->published = true;
    cfg->unwritten = zc_unwritten_of;
}

void iod_aggregator_server(struct iod_aggregator *a, const struct zc_settings *s,
                           struct zc_cache *cache, struct zc_server_config *cfg)
{
    int rc = zc_ring_apply_create(cache, &a->shmring);

    if (rc)
        zc_info("small writes come by message: %s", zc_error_text(rc));
    a->views = (struct zc_view_budget){.limit = iod_aggregator_views(s), .percent = VIEWS_PERCENT};
    zc_cache_set_budget(cache, s->cache_size);
    cfg->credits = CREDITS;
    cfg->silence_ms = 0; /* what ranks ask for, as of each other */
    cfg->views = &a->views;
    cfg->exports = ZC_EXPORTS_STAY;
    cfg->publishes = true;
    cfg->shmring = a->shmring;
    cfg->terse = cfg->tenants = false;
    cfg->locks = NULL;
    cfg->prefetch = s->prefetch ? (unsigned)s->prefetch_depth : 0;
}

int iod_aggregator_end(struct iod_aggregator *a, struct zc_cache *cache)
{
    int rc;

    iod_aggregator_ending(a);
    if (!a->shmring)
        return 0;
    zc_shmring_destroy(a->shmring);
    a->shmring = NULL;
    rc = zc_cache_drain(cache);
    if (rc)
        zc_error("not everything could be written back: %s", zc_error_text(rc));
    return rc;
}
