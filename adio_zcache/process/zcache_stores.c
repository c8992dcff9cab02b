/* zcache_stores.c - the stores this process has open. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_store_open.h"
#include "zcache_finalize.h"
#include "zcache_network.h"
#include "zcache_registry.h"
#include "zcache_stores.h"

struct zcache_store {
    struct zcache_item item;
    char *daemons; /* never NULL; empty: the file system */
    bool local;    /* zc_settings.local */
    struct zc_store *files;
    void (*before_close)(struct zcache_store *s); /* atomic */
};

/* What a store is asked for with. */
struct key {
    const struct zc_settings *settings;
    int rank;
};

static const char *daemons_of(const struct zc_settings *s)
{
    return s->daemons ? s->daemons : "";
}

static bool store_init(struct zcache_item *i, const void *key)
{
    const struct zc_settings *s = ((const struct key *)key)->settings;
    struct zcache_store *e = (struct zcache_store *)i;

    e->daemons = strdup(daemons_of(s));
    e->local = s->local;
    return e->daemons;
}

static bool store_matches(const struct zcache_item *i, const void *key)
{
    const struct zc_settings *s = ((const struct key *)key)->settings;
    const struct zcache_store *e = (const struct zcache_store *)i;

    return !strcmp(e->daemons, daemons_of(s)) && (!*e->daemons || e->local == s->local);
}

static int store_make(struct zcache_item *i, const void *key)
{
    const struct key *k = key;
    char name[32];
    struct zc_store_config cfg = {.daemons = k->settings->daemons,
                                  .local = k->settings->local,
                                  .timeout_ms = k->settings->timeout,
                                  .hang_report_ms = k->settings->hang_report,
                                  .name = name};
    int rc;

    snprintf(name, sizeof name, "rank %d", k->rank);
    rc = zc_store_open(&cfg, &((struct zcache_store *)i)->files);
    if (rc == 0 && *daemons_of(k->settings))
        zcache_network_keep(k->settings); /* the open may fail yet: connections stay */
    return rc;
}

static void store_unmake(struct zcache_item *i)
{
    struct zcache_store *e = (struct zcache_store *)i;

    if (e->before_close)
        e->before_close(e);
    zc_store_destroy(e->files);
}

static void store_free(struct zcache_item *i)
{
    free(((struct zcache_store *)i)->daemons);
}

static const struct zcache_kind kind = {
    .name = "a store",
    .size = sizeof(struct zcache_store),
    .init = store_init,
    .matches = store_matches,
    .make = store_make,
    .unmake = store_unmake,
    .free = store_free,
};
static struct zcache_registry stores = ZCACHE_REGISTRY_INITIALIZER(stores, &kind);

/* No file is open. */
static void close_all(void)
{
    zcache_registry_remove(&stores, NULL, NULL);
}

bool zcache_store_is_gone(int rc)
{
    return zcache_network_is_loss(rc) && rc != -ETIMEDOUT; /* a silent one has not been replaced */
}

/* Its daemons have gone since a file was opened there: others may be in their place. */
static bool is_gone(struct zcache_store *s)
{
    int rc = zc_store_ping(s->files);

    if (!zcache_store_is_gone(rc))
        return false;
    zc_info("connecting again: %s", zc_error_text(rc));
    return true;
}

static int get(const struct zc_settings *s, int rank, bool ask, struct zcache_store **out)
{
    struct key key = {s, rank};
    struct zcache_item *i;
    int rc;

    zcache_finalize_watch();
    zcache_finalize_add(ZCACHE_END_STORES, close_all);
    while ((rc = zcache_registry_get(&stores, &key, &i)) == 0 &&
           (ask || zcache_store_files((struct zcache_store *)i)->servers > 1) &&
           is_gone((struct zcache_store *)i))
        zcache_registry_put(&stores, i, true);
    if (rc < 0)
        return rc;
    *out = (struct zcache_store *)i;
    return 0;
}

int zcache_store_get(const struct zc_settings *s, int rank, struct zcache_store **out)
{
    return get(s, rank, true, out);
}

int zcache_store_get_unasked(const struct zc_settings *s, int rank, struct zcache_store **out)
{
    return get(s, rank, false, out);
}

void zcache_store_hold(struct zcache_store *s)
{
    zcache_registry_hold(&stores, &s->item);
}

void zcache_store_put(struct zcache_store *s, bool broken)
{
    zcache_registry_put(&stores, &s->item, broken);
}

struct zc_store *zcache_store_files(const struct zcache_store *s)
{
    return s->files;
}

void zcache_store_before_close(struct zcache_store *s, void (*fn)(struct zcache_store *s))
{
    __atomic_store_n(&s->before_close, fn, __ATOMIC_RELEASE);
}
