/* zcache_agg_conn.c - connections of this process to aggregators. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "zc_connect.h"
#include "zc_log.h"
#include "zc_tp_local.h"
#include "zc_wait_time.h"
#include "zc_wire.h"
#include "zcache_agg_conn.h"
#include "zcache_finalize.h"
#include "zcache_network.h"
#include "zcache_registry.h"

/* What a connection is asked for with. */
struct key {
    const void *contact;
    size_t len;
    const char *label;
    const struct zc_settings *settings;
    const struct zc_past *past; /* or NULL */
    uint64_t failures_before;   /* later ones stand */
};

static bool is_local(const struct key *k)
{
    return zc_tp_local_is_address(k->contact, zcache_contact_address(k->len));
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
                                .toward = k->contact,
                                .toward_len = zcache_contact_address(k->len),
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
    unsigned char contact[ZCACHE_CONTACT];
    struct zc_client *client;
    uint64_t failure; /* number of the failure to reach it in time; 0: none */
};

static uint64_t failures; /* atomic */

static bool peer_init(struct zcache_item *i, const void *key)
{
    const struct key *k = key;
    struct peer *p = (struct peer *)i;

    p->len = k->len;
    memcpy(p->contact, k->contact, k->len);
    return true;
}

static bool peer_matches(const struct zcache_item *i, const void *key)
{
    const struct key *k = key;
    const struct peer *p = (const struct peer *)i;

    return p->len == k->len && !memcmp(p->contact, k->contact, k->len);
}

/* One that broke is kept for the files that have it, until the end. */
static bool peer_usable(const struct zcache_item *i)
{
    return !zc_client_broken(((const struct peer *)i)->client);
}

static bool peer_stands(const struct zcache_item *i, const void *key)
{
    const struct key *k = key;

    return ((const struct peer *)i)->failure > k->failures_before;
}

static int reach(const struct key *k, struct zc_client **out)
{
    struct zc_secret secret;
    struct zc_connect to = {.addr = k->contact,
                            .len = zcache_contact_address(k->len),
                            .secret = &secret,
                            .past = k->past};
    struct zcache_item *e;
    int rc = zcache_registry_get(&endpoints, k, &e), shares;

    if (rc < 0)
        return rc;
    to.net = ((struct endpoint *)e)->net;
    snprintf(to.label, sizeof to.label, "%s", k->label);
    memcpy(&secret, (const char *)k->contact + to.len, sizeof secret);
    rc = zc_connect(&to, out);
    zc_secret_forget(&secret);
    if (rc)
        return rc;
    shares = zc_client_ring_open(*out);
    if (shares && shares != -EOPNOTSUPP)
        zc_info("%s: small writes go by message: %s", k->label, zc_error_text(shares));
    return 0;
}

static int peer_make(struct zcache_item *i, const void *key)
{
    struct peer *p = (struct peer *)i;
    int rc = reach(key, &p->client);

    if (!zcache_network_is_loss(rc))
        return rc;
    p->failure = __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
    return zc_errorf(-rc, "%s; it is tried again after the next MPI_File_open", zc_error_text(rc));
}

static void peer_unmake(struct zcache_item *i)
{
    zc_client_disconnect(((struct peer *)i)->client);
}

static void peer_free(struct zcache_item *i)
{
    zc_forget(((struct peer *)i)->contact, ZCACHE_CONTACT);
}

static const struct zcache_kind peer_kind = {
    .name = "a connection",
    .size = sizeof(struct peer),
    .init = peer_init,
    .matches = peer_matches,
    .usable = peer_usable,
    .stands = peer_stands,
    .make = peer_make,
    .unmake = peer_unmake,
    .free = peer_free,
};
static struct zcache_registry peers = ZCACHE_REGISTRY_INITIALIZER(peers, &peer_kind);

uint64_t zcache_agg_conn_failures(void)
{
    return __atomic_load_n(&failures, __ATOMIC_RELAXED);
}

/* No file is open. */
static void close_all(void)
{
    zcache_registry_remove(&peers, NULL, NULL);
    zcache_registry_remove(&endpoints, NULL, NULL);
}

/* All that it takes is waiting for the network, the start of an endpoint included. */
static int connection(const struct key *k, struct zcache_item **out)
{
    struct zc_wait_time before = zc_wait_time;
    uint64_t began = zc_now();
    int rc = zcache_registry_get(&peers, k, out);

    zc_wait_time = before;
    zc_wait_time.reply += zc_now() - began;
    return rc;
}

struct zc_client *zcache_agg_conn_find(const void *contact, size_t len)
{
    struct key key = {.contact = contact, .len = len, .failures_before = UINT64_MAX};
    struct zcache_item *i = zcache_registry_find(&peers, &key);
    struct zc_client *c = i ? ((struct peer *)i)->client : NULL;

    return c && !zc_client_bystander(c) ? c : NULL;
}

/* Its users are not counted, so it is never put. */
int zcache_agg_conn_get(const void *contact, size_t len, const char *label,
                        const struct zc_settings *s, uint64_t failures_before,
                        struct zc_client *past, struct zc_client **out)
{
    struct zc_past was = past ? zc_client_past(past) : (struct zc_past){0, 0};
    struct key key = {contact, len, label, s, past ? &was : NULL, failures_before};
    struct zcache_item *i;
    int rc;

    if (!zcache_contact_address(len) || len > ZCACHE_CONTACT)
        return zc_errorf(EPROTO, "%s: a contact cannot have %zu bytes", label, len);
    zcache_finalize_add(ZCACHE_END_CONNECTIONS, close_all);
    rc = connection(&key, &i);
    if (rc < 0)
        return rc;
    *out = ((struct peer *)i)->client;
    return 0;
}
