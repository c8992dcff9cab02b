/* zcache_agg.c - the aggregators of this process. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#include "zc_log.h"
#include "zc_server.h"
#include "zc_ring_apply.h"
#include "zc_shmring.h"
#include "zc_thread.h"
#include "zc_tp_local.h"
#include "zc_tp_ofi.h"
#include "zc_unwritten.h"
#include "zcache_agg.h"
#include "zcache_exit.h"
#include "zcache_loss_report.h"
#include "zcache_mem_budget.h"
#include "zcache_network.h"
#include "zcache_registry.h"
#include "zcache_stores.h"

enum {
    AGG_CREDITS = 32,
    LEAST_PIECE = 16, /* a range for so many bytes of a page */
};

struct endpoint;

struct zcache_agg {
    struct zcache_item item;
    struct zcache_store *store;
    struct zcache_mem_budget budget;
    struct zc_cache *cache;
    struct zc_shmring *shmring;    /* or NULL */
    struct endpoint *endpoints[2]; /* indexed by whether it is for ranks of this host only */
};

/* ---- endpoints ---- */

struct endpoint {
    struct zcache_item item;
    struct zcache_agg *agg;
    bool near;
    struct zc_server *server;
    struct zc_secret secret;
    pthread_t thread;
};

struct endpoint_key {
    struct zcache_agg *agg;
    bool near;
    const struct zc_settings *settings;
};

static bool endpoint_init(struct zcache_item *i, const void *key)
{
    const struct endpoint_key *k = key;
    struct endpoint *e = (struct endpoint *)i;

    e->agg = k->agg;
    e->near = k->near;
    return true;
}

static bool endpoint_matches(const struct zcache_item *i, const void *key)
{
    const struct endpoint_key *k = key;
    const struct endpoint *e = (const struct endpoint *)i;

    return e->agg == k->agg && e->near == k->near;
}

static void *serve(void *arg)
{
    struct endpoint *e = arg;
    int rc;

    rc = zc_server_run(e->server);
    if (rc)
        zc_error("aggregator: %s", zc_error_text(rc));
    return NULL;
}

static bool (*attach)(uint64_t group); /* atomic, both */
static void (*detach)(uint64_t group);

void zcache_agg_groups(bool (*do_attach)(uint64_t group), void (*do_detach)(uint64_t group))
{
    __atomic_store_n(&detach, do_detach, __ATOMIC_RELEASE);
    __atomic_store_n(&attach, do_attach, __ATOMIC_RELEASE);
}

static unsigned read_ahead(const struct zc_settings *s)
{
    return s->agg_prefetch ? (unsigned)s->agg_prefetch_depth : 0;
}

static int endpoint_make(struct zcache_item *i, const void *key)
{
    const struct endpoint_key *k = key;
    struct endpoint *e = (struct endpoint *)i;
    struct zc_server_config cfg = {.cache = e->agg->cache,
                                   .credits = AGG_CREDITS,
                                   .open_transport = e->near ? zc_tp_local_open : zc_tp_ofi_open,
                                   .provider = zcache_network_provider(k->settings),
                                   .views = zcache_mem_budget_views(),
                                   .exports = ZC_EXPORTS_OF_OPENER,
                                   .publishes = true,
                                   .clients = &zcache_exit_clients,
                                   .shmring = e->agg->shmring,
                                   .attach = __atomic_load_n(&attach, __ATOMIC_ACQUIRE),
                                   .detach = __atomic_load_n(&detach, __ATOMIC_ACQUIRE),
                                   .prefetch = read_ahead(k->settings)};
    int rc;

    if (getrandom(&cfg.boot_id, sizeof cfg.boot_id, 0) != sizeof cfg.boot_id)
        return zc_errorf(errno, "getrandom");
    rc = zc_secret_make(&e->secret);
    if (rc)
        return rc;
    cfg.secret = e->secret;
    rc = zc_server_create(&cfg, &e->server);
    zc_secret_forget(&cfg.secret);
    if (rc)
        return rc;
    rc = zc_thread_start(&e->thread, "zc-aggregator", serve, e);
    if (rc)
        zc_server_destroy(e->server);
    else
        zcache_network_keep(k->settings);
    return rc;
}

static void endpoint_unmake(struct zcache_item *i)
{
    struct endpoint *e = (struct endpoint *)i;

    zc_server_stop(e->server);
    pthread_join(e->thread, NULL);
    zc_server_destroy(e->server);
    zc_secret_forget(&e->secret);
}

static const struct zcache_kind endpoint_kind = {
    .name = "an aggregator's endpoint",
    .size = sizeof(struct endpoint),
    .init = endpoint_init,
    .matches = endpoint_matches,
    .make = endpoint_make,
    .unmake = endpoint_unmake,
};
static struct zcache_registry endpoints = ZCACHE_REGISTRY_INITIALIZER(endpoints, &endpoint_kind);

static bool endpoint_is_of(const struct zcache_item *i, const void *agg)
{
    return ((const struct endpoint *)i)->agg == agg;
}

/* ---- caches ---- */

struct agg_key {
    struct zcache_store *store;
    uint32_t page_size;
    const struct zc_settings *settings;
};

static bool in_background(const struct zc_settings *s)
{
    return s->write_back & ZC_WRITE_BACK_AGGREGATOR;
}

/* Its endpoints register what its cache may use, before it does. */
static int cover(struct zcache_mem_budget *s)
{
    struct zcache_agg *a = zc_list_entry(s, struct zcache_agg, budget);
    int rc = 0;

    for (int near = 0; rc == 0 && near < 2; near++) {
        struct endpoint *e = __atomic_load_n(&a->endpoints[near], __ATOMIC_ACQUIRE);

        rc = e ? zc_server_cover(e->server) : 0;
    }
    return rc;
}

static bool agg_init(struct zcache_item *i, const void *key)
{
    const struct agg_key *k = key;
    struct zcache_agg *a = (struct zcache_agg *)i;

    a->store = k->store;
    a->budget.page_size = k->page_size;
    a->budget.background = in_background(k->settings);
    a->budget.cover = cover;
    return true;
}

static bool agg_matches(const struct zcache_item *i, const void *key)
{
    const struct agg_key *k = key;
    const struct zcache_agg *a = (const struct zcache_agg *)i;

    return a->store == k->store && a->budget.page_size == k->page_size &&
           a->budget.background == in_background(k->settings);
}

static int agg_make(struct zcache_item *i, const void *key)
{
    const struct agg_key *k = key;
    struct zcache_agg *a = (struct zcache_agg *)i;
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    uint32_t page_size = a->budget.page_size;
    int rc;

    zcache_mem_budget_config(&a->budget, &cfg);
    cfg.page_size = page_size;
    cfg.max_io = cfg.max_io < page_size ? page_size : cfg.max_io;
    cfg.max_extents = page_size / LEAST_PIECE < 1024 ? 1024 : page_size / LEAST_PIECE;
    cfg.level = ZC_LEVEL_VISIBLE;
    cfg.transient = true;
    cfg.published = true;
    cfg.dumped = k->settings->dump_caches;
    cfg.unwritten = zc_unwritten_of;
    rc = zc_cache_create(&cfg, zcache_store_files(a->store), &a->cache);
    if (rc)
        return rc;
    rc = zc_ring_apply_create(a->cache, &a->shmring);
    if (rc)
        zc_info("aggregator: small writes come by message: %s", zc_error_text(rc));
    a->budget.cache = a->cache;
    zcache_mem_budget_add(&a->budget);
    return 0;
}

static void agg_unmake(struct zcache_item *i)
{
    struct zcache_agg *a = (struct zcache_agg *)i;
    int rc;

    zcache_mem_budget_remove(&a->budget);
    zcache_registry_remove(&endpoints, endpoint_is_of, a);
    zc_shmring_destroy(a->shmring);
    rc = zc_cache_drain(a->cache);
    if (zc_cache_abandon(a->cache) > 0) /* which has said so */
        zcache_loss_report(a->cache);
    else if (rc)
        zc_error("aggregator: %s", zc_error_text(rc));
    zc_cache_destroy(a->cache);
}

static const struct zcache_kind agg_kind = {
    .name = "an aggregator",
    .size = sizeof(struct zcache_agg),
    .init = agg_init,
    .matches = agg_matches,
    .make = agg_make,
    .unmake = agg_unmake,
};
static struct zcache_registry aggs = ZCACHE_REGISTRY_INITIALIZER(aggs, &agg_kind);

static bool agg_is_over(const struct zcache_item *i, const void *store)
{
    return ((const struct zcache_agg *)i)->store == store;
}

/* Connections of a store that goes away are unused. */
static void stop(struct zcache_store *store)
{
    zcache_registry_remove(&aggs, agg_is_over, store);
}

/* ---- for others ---- */

/* In turn, so that opens at the same time do not divide memory differently. */
static int get_cache(const struct agg_key *key, struct zcache_agg **out)
{
    struct zcache_item *i;
    int rc;

    zcache_mem_budget_begin(key->settings);
    rc = zcache_registry_get(&aggs, key, &i);
    if (rc >= 0) {
        *out = (struct zcache_agg *)i;
        zcache_mem_budget_use(&(*out)->budget);
    }
    zcache_mem_budget_end();
    return rc < 0 ? rc : 0;
}

/* While it is made its cache may have become larger. */
static int get_endpoint(struct zcache_agg *a, bool near, const struct zc_settings *s)
{
    struct endpoint_key wanted = {.agg = a, .near = near, .settings = s};
    struct zcache_item *e;
    int rc = zcache_registry_get(&endpoints, &wanted, &e);

    if (rc < 0)
        return rc;
    zcache_mem_budget_begin(s);
    __atomic_store_n(&a->endpoints[near], (struct endpoint *)e, __ATOMIC_RELEASE);
    rc = cover(&a->budget);
    zcache_mem_budget_end();
    return rc;
}

int zcache_agg_get(struct zcache_store *store, const struct zc_settings *s, uint32_t page_size,
                   struct zcache_agg **out)
{
    struct agg_key key = {store, page_size, s};

    *out = NULL;
    zcache_store_before_close(store, stop);
    return get_cache(&key, out);
}

int zcache_agg_serve(struct zcache_agg *a, const struct zc_settings *s, bool near)
{
    return get_endpoint(a, near, s);
}

/* The item stays: it goes with the store. */
void zcache_agg_put(struct zcache_agg *a)
{
    zcache_mem_budget_leave(&a->budget);
}

void zcache_agg_attach(struct zcache_agg *a, const struct zc_settings *s)
{
    zcache_mem_budget_begin(s);
    zcache_mem_budget_use(&a->budget);
    zcache_mem_budget_end();
}

void zcache_agg_in_force(const struct zcache_agg *a, struct zcache_in_force *out)
{
    zcache_mem_budget_in_force(&a->budget, out);
}

const char *zcache_agg_provider(const struct zcache_agg *a, bool near)
{
    const struct endpoint *e = a->endpoints[near];

    return e ? zc_server_provider(e->server) : NULL;
}

void zcache_agg_settle(struct zcache_agg *a)
{
    zc_shmring_drain(a->shmring);
}

struct zc_cache *zcache_agg_cache(struct zcache_agg *a)
{
    return a->cache;
}

int zcache_agg_contact(struct zcache_agg *a, bool near, void *buf, size_t *len)
{
    struct endpoint *e = __atomic_load_n(&a->endpoints[near], __ATOMIC_ACQUIRE);
    int rc;

    if (!e)
        return -ENOENT;
    *len -= sizeof e->secret;
    rc = zc_server_address(e->server, buf, len);
    if (rc)
        return rc;
    memcpy((char *)buf + *len, &e->secret, sizeof e->secret);
    *len += sizeof e->secret;
    return 0;
}

int zcache_agg_coord(struct zcache_agg *a, struct zc_coord **out)
{
    *out = zc_coord_create();
    if (!*out)
        return zc_errorf(ENOMEM, "no memory to open a file");
    zc_coord_use_ring(*out, a->shmring);
    return 0;
}

uint64_t zcache_agg_export(struct zcache_agg *a, bool near, struct zc_handle *h,
                           struct zc_coord *coord)
{
    return zc_server_export(a->endpoints[near]->server, h, coord);
}

void zcache_agg_unexport(struct zcache_agg *a, bool near, uint64_t number)
{
    zc_shmring_drain(a->shmring);
    zc_server_unexport(a->endpoints[near]->server, number);
}
