/* zcache_peer.c - connections of this process to aggregators. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_list.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_tp_local.h"
#include "zc_waited.h"
#include "zc_wire.h"
#include "zcache_finalize.h"
#include "zcache_network.h"
#include "zcache_peer.h"
#include "zcache_registry.h"

/* What a connection is asked for with. */
struct key {
    const void *way;
    size_t len;
    const char *label;
    const struct zc_settings *settings;
    const struct zc_past *past; /* or NULL */
};

static bool is_local(const struct key *k)
{
    return zc_tp_local_is_address(k->way, zcache_way_address(k->len));
}

/* ---- endpoints: one for processes of this host, one for others ---- */

struct endpoint {
    struct zcache_item item;
    bool local;
    struct zc_net *net;
};

static bool endpoint_init(struct zcache_item *i, const void *key)
{
    const struct key *k = key;

    ((struct endpoint *)i)->local = is_local(k);
    return true;
}

static bool endpoint_matches(const struct zcache_item *i, const void *key)
{
    const struct key *k = key;

    return ((const struct endpoint *)i)->local == is_local(k);
}

/* One that was given up is kept for its clients, until the end. */
static bool endpoint_usable(const struct zcache_item *i)
{
    return !zc_net_severed(((const struct endpoint *)i)->net);
}

static int endpoint_make(struct zcache_item *i, const void *key)
{
    const struct key *k = key;
    struct zc_net_config cfg = {.provider = zcache_network_provider(k->settings),
                                .toward = k->way,
                                .toward_len = zcache_way_address(k->len),
                                .timeout_ms = k->settings->timeout,
                                .name = "rank"};
    int rc;

    rc = zc_net_create(&cfg, &((struct endpoint *)i)->net);
    if (rc == 0)
        zcache_network_keep(k->settings);
    return rc;
}

static void endpoint_unmake(struct zcache_item *i)
{
    zc_net_destroy(((struct endpoint *)i)->net);
}

static const struct zcache_kind endpoint_kind = {
    .name = "an endpoint",
    .size = sizeof(struct endpoint),
    .init = endpoint_init,
    .matches = endpoint_matches,
    .usable = endpoint_usable,
    .make = endpoint_make,
    .unmake = endpoint_unmake,
};
static struct zcache_registry endpoints = ZCACHE_REGISTRY_INITIALIZER(endpoints, &endpoint_kind);

/* ---- connections ---- */

struct peer {
    struct zcache_item item;
    size_t len;
    unsigned char way[ZCACHE_WAY];
    struct zc_client *client;
};

static bool peer_init(struct zcache_item *i, const void *key)
{
    const struct key *k = key;
    struct peer *p = (struct peer *)i;

    p->len = k->len;
    memcpy(p->way, k->way, k->len);
    return true;
}

static bool peer_matches(const struct zcache_item *i, const void *key)
{
    const struct key *k = key;
    const struct peer *p = (const struct peer *)i;

    return p->len == k->len && !memcmp(p->way, k->way, k->len);
}

/* One that broke is kept for the files that have it, until the end. */
static bool peer_usable(const struct zcache_item *i)
{
    return !zc_client_broken(((const struct peer *)i)->client);
}

static int peer_make(struct zcache_item *i, const void *key)
{
    const struct key *k = key;
    size_t len = zcache_way_address(k->len);
    struct zc_secret secret;
    struct zcache_item *e;
    int rc = zcache_registry_get(&endpoints, key, &e), shares;

    if (rc < 0)
        return rc;
    memcpy(&secret, (const char *)k->way + len, sizeof secret);
    rc = zc_client_connect_again(((struct endpoint *)e)->net, k->way, len, &secret, k->label,
                                 k->past, 0, &((struct peer *)i)->client);
    zc_secret_forget(&secret);
    if (rc)
        return rc;
    shares = zc_client_share(((struct peer *)i)->client);
    if (shares && shares != -EOPNOTSUPP)
        zc_info("%s: small writes go by message: %s", k->label, zc_error_text(shares));
    return 0;
}

static void peer_unmake(struct zcache_item *i)
{
    struct peer *p = (struct peer *)i;

    zc_client_disconnect(p->client);
    zc_forget(p->way, sizeof p->way);
}

static const struct zcache_kind peer_kind = {
    .name = "a connection",
    .size = sizeof(struct peer),
    .init = peer_init,
    .matches = peer_matches,
    .usable = peer_usable,
    .make = peer_make,
    .unmake = peer_unmake,
};
static struct zcache_registry peers = ZCACHE_REGISTRY_INITIALIZER(peers, &peer_kind);

/* ---- those that were not reached ---- */

/* A connection that came to nothing after a time-out. */
struct lost {
    struct zc_list link;
    uint64_t number; /* of the failure */
    size_t len;
    unsigned char way[ZCACHE_WAY];
    int rc;
    char text[400];
};

static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_PROCESS);
static struct zc_list lost = {&lost, &lost}; /* one for each address; under the lock, as is: */
static uint64_t failures;

uint64_t zcache_peer_failures(void)
{
    uint64_t n;

    zc_lock_get(&lock);
    n = failures;
    zc_lock_put(&lock);
    return n;
}

static struct lost *find_lost(const struct key *k)
{
    zc_assert_held(&lock);
    zc_list_each (&lost, n) {
        struct lost *l = zc_list_entry(n, struct lost, link);

        if (l->len == k->len && !memcmp(l->way, k->way, k->len))
            return l;
    }
    return NULL;
}

/* What was said, if it was not reached since `before`; else 0. */
static int recall(const struct key *k, uint64_t before)
{
    struct lost *l;
    int rc = 0;

    zc_lock_get(&lock);
    l = find_lost(k);
    if (l && l->number > before)
        rc = zc_errorf(-l->rc, "%s; it is tried again after the next MPI_File_open", l->text);
    zc_lock_put(&lock);
    return rc;
}

/* Without memory it is tried again. */
static void remember(const struct key *k, int rc)
{
    struct lost *l;

    zc_lock_get(&lock);
    l = find_lost(k);
    if (!l) {
        l = calloc(1, sizeof *l);
        if (l) {
            l->len = k->len;
            memcpy(l->way, k->way, k->len);
            zc_list_add_tail(&lost, &l->link);
        }
    }
    if (l) {
        l->number = ++failures;
        l->rc = rc;
        snprintf(l->text, sizeof l->text, "%s", zc_error_text(rc));
    }
    zc_lock_put(&lock);
}

static void forget_all(void)
{
    struct zc_list *n;

    zc_lock_get(&lock);
    while ((n = zc_list_pop(&lost)))
        free(zc_list_entry(n, struct lost, link));
    zc_lock_put(&lock);
}

/* No file is open. */
static void close_all(void)
{
    forget_all();
    zcache_registry_remove(&peers, NULL, NULL);
    zcache_registry_remove(&endpoints, NULL, NULL);
}

/* All that it takes is waiting for the network, the start of an endpoint included. */
static int connection(const struct key *k, struct zcache_item **out)
{
    struct zc_waited before = zc_waited;
    uint64_t began = zc_now();
    int rc = zcache_registry_get(&peers, k, out);

    zc_waited = before;
    zc_waited.reply += zc_now() - began;
    return rc;
}

struct zc_client *zcache_peer_look(const void *way, size_t len)
{
    struct key key = {.way = way, .len = len};
    struct zcache_item *i = zcache_registry_look(&peers, &key);
    struct zc_client *c = i ? ((struct peer *)i)->client : NULL;

    return c && !zc_client_bystander(c) ? c : NULL;
}

/* Its users are not counted: it is nobody's to give back. */
int zcache_peer_get(const void *way, size_t len, const char *label, const struct zc_settings *s,
                    uint64_t failures_before, struct zc_client *past, struct zc_client **out)
{
    struct zc_past was = past ? zc_client_past(past) : (struct zc_past){0, 0};
    struct key key = {way, len, label, s, past ? &was : NULL};
    struct zcache_item *i;
    int rc = recall(&key, failures_before);

    if (rc)
        return rc;
    if (!zcache_way_address(len) || len > ZCACHE_WAY)
        return zc_errorf(EPROTO, "a way to %s of %zu bytes is none", label, len);
    zcache_finalize_add(ZCACHE_END_CONNECTIONS, close_all);
    rc = connection(&key, &i);
    if (zcache_network_is_loss(rc))
        remember(&key, rc);
    if (rc < 0)
        return rc;
    *out = ((struct peer *)i)->client;
    return 0;
}
