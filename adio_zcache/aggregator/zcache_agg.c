/* zcache_agg.c - the aggregators of this process. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "zc_list.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_server.h"
#include "zc_thread.h"
#include "zc_tp_local.h"
#include "zc_tp_ofi.h"
#include "zcache_agg.h"
#include "zcache_stores.h"

enum {
    AGG_HIGH = 50, /* percent of the cache dirty at which write-back starts, */
    AGG_LOW = 10,  /* and at which it stops: early, so that computing hides it */
    AGG_IDLE_MS = 20,
    AGG_CREDITS = 32,
    LEAST_PIECE = 16, /* a range for so many bytes of a page */
};

struct endpoint {
    struct zc_server *server; /* NULL: nobody else asks */
    pthread_t thread;
};

struct zcache_agg {
    struct zc_list link;
    struct zc_store *store;
    uint32_t page_size;
    bool background; /* writes back while the program computes */
    struct zc_cache *cache;
    struct endpoint endpoints[2]; /* indexed by whether it is for ranks of this host only */
};

static struct zc_list aggs = {&aggs, &aggs};
static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_PROCESS);

static void *serve(void *arg)
{
    struct endpoint *e = arg;
    int rc;

    rc = zc_server_run(e->server);
    if (rc)
        zc_error("aggregator: %s", zc_error_text(rc));
    return NULL;
}

static int start_server(struct zcache_agg *a, const struct zc_settings *s, bool near)
{
    struct zc_server_config cfg = {.cache = a->cache,
                                   .credits = AGG_CREDITS,
                                   .open_transport = near ? zc_tp_local_open : zc_tp_ofi_open,
                                   .provider = zcache_net_provider(s)};
    struct endpoint *e = &a->endpoints[near];
    int rc;

    if (e->server)
        return 0;
    if (getrandom(&cfg.boot_id, sizeof cfg.boot_id, 0) != sizeof cfg.boot_id)
        return zc_errorf(errno, "getrandom");
    rc = zc_server_create(&cfg, &e->server);
    if (rc)
        return rc;
    rc = zc_thread_start(&e->thread, "zc-aggregator", serve, e);
    if (rc) {
        zc_server_destroy(e->server);
        e->server = NULL;
    }
    return rc;
}

static int agg_new(struct zc_store *store, const struct zc_settings *s, uint32_t page_size,
                   struct zcache_agg **out)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct zcache_agg *a = calloc(1, sizeof *a);
    int rc;

    if (!a)
        return zc_errorf(ENOMEM, "no memory for an aggregator");
    cfg.capacity = s->agg_cache_size - s->agg_cache_size % page_size;
    if (cfg.capacity < 2 * (size_t)page_size)
        cfg.capacity = 2 * (size_t)page_size;
    cfg.page_size = page_size;
    a->background = s->write_back & ZC_WRITE_BACK_AGGREGATOR;
    cfg.high_watermark = a->background ? AGG_HIGH : 100;
    cfg.low_watermark = a->background ? AGG_LOW : 99;
    cfg.idle_ms = a->background ? AGG_IDLE_MS : 0;
    cfg.max_io = cfg.max_io < page_size ? page_size : cfg.max_io;
    if (cfg.max_extents < page_size / LEAST_PIECE)
        cfg.max_extents = page_size / LEAST_PIECE;
    cfg.level = ZC_LEVEL_VISIBLE;
    rc = zc_cache_create(&cfg, store, &a->cache);
    if (rc) {
        free(a);
        return rc;
    }
    a->store = store;
    a->page_size = page_size;
    zc_list_add_tail(&aggs, &a->link);
    *out = a;
    return 0;
}

static void agg_free(struct zcache_agg *a)
{
    int rc;

    zc_list_del(&a->link);
    for (int near = 0; near <= 1; near++) {
        struct endpoint *e = &a->endpoints[near];

        if (!e->server)
            continue;
        zc_server_stop(e->server);
        pthread_join(e->thread, NULL);
        zc_server_destroy(e->server);
    }
    rc = zc_cache_drain(a->cache);
    if (rc)
        zc_error("aggregator: %s", zc_error_text(rc));
    zc_cache_destroy(a->cache);
    free(a);
}

int zcache_agg_get(struct zc_store *store, const struct zc_settings *s, uint32_t page_size,
                   bool served, bool near, struct zcache_agg **out)
{
    bool background = s->write_back & ZC_WRITE_BACK_AGGREGATOR;
    struct zcache_agg *a = NULL;
    int rc = 0;

    zc_lock_get(&lock);
    zc_list_each (&aggs, n) {
        struct zcache_agg *b = zc_list_entry(n, struct zcache_agg, link);

        if (b->store == store && b->page_size == page_size && b->background == background)
            a = b;
    }
    if (!a)
        rc = agg_new(store, s, page_size, &a);
    if (rc == 0 && served)
        rc = start_server(a, s, near);
    zc_lock_put(&lock);
    *out = a;
    return rc;
}

void zcache_agg_stop(struct zc_store *store)
{
    zc_lock_get(&lock);
    zc_list_each_safe (&aggs, n) {
        struct zcache_agg *a = zc_list_entry(n, struct zcache_agg, link);

        if (a->store == store)
            agg_free(a);
    }
    zc_lock_put(&lock);
}

struct zc_cache *zcache_agg_cache(struct zcache_agg *a)
{
    return a->cache;
}

int zcache_agg_address(struct zcache_agg *a, bool near, void *buf, size_t *len)
{
    return zc_server_address(a->endpoints[near].server, buf, len);
}

uint64_t zcache_agg_export(struct zcache_agg *a, bool near, struct zc_handle *h,
                           struct zc_coord *coord)
{
    return zc_server_export(a->endpoints[near].server, h, coord);
}

void zcache_agg_unexport(struct zcache_agg *a, bool near, uint64_t number)
{
    zc_server_unexport(a->endpoints[near].server, number);
}
