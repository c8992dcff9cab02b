/* zcache_counters.c - the counters of a file's caches, for MPI_File_get_info.
 *
 * With the hint zcache_counters: the counters of zc_cache.h, each since the server's start, as
 * zcache_agg_NAME summed over the file's aggregators, and as zcache_iod_NAME over the daemons; the
 * number of servers ("servers"), provider and libfabric of the first one; and of daemons the
 * largest peak memory and the version.
 *
 * Daemons are asked through an endpoint of their own, for the duration of the call: most ranks
 * never talk to a daemon, and a dead daemon must not break connections to aggregators.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "zc_connect.h"
#include "zc_fabric.h"
#include "zc_json.h"
#include "zc_log.h"
#include "zcache_agg.h"
#include "zcache_counters.h"
#include "zcache_file.h"

/* The values of one level. */
struct level {
    unsigned servers;
    uint64_t peak_rss; /* bytes; 0: unknown */
    char provider[64], libfabric[32], version[32];
    struct zc_cache_stats sum;
};

static const char *const names[] = {
#define X(name, kind, unit, help) #name,
    ZC_CACHE_STATS(X)
#undef X
};
enum { COUNTERS = sizeof names / sizeof *names };

/* Returns the counters as an array, in the order of `names`. */
static uint64_t *counters_of(struct level *l)
{
    _Static_assert(sizeof l->sum == COUNTERS * sizeof(uint64_t), "counters only");
    return (uint64_t *)&l->sum;
}

/* ---- answers of servers: JSON documents ---- */

static void take_counters(struct level *l, const char *stats)
{
    for (int i = 0; i < COUNTERS; i++)
        counters_of(l)[i] += zc_json_to_number(zc_json_find(stats, names[i]));
}

static void take_status(struct level *l, const char *status)
{
    uint64_t peak = zc_json_to_number(zc_json_find(status, "peak_rss_bytes"));

    if (peak > l->peak_rss)
        l->peak_rss = peak;
    if (l->servers > 1)
        return; /* texts are those of the first server */
    zc_json_to_text(zc_json_find(status, "provider"), l->provider, sizeof l->provider);
    zc_json_to_text(zc_json_find(status, "libfabric"), l->libfabric, sizeof l->libfabric);
    zc_json_to_text(zc_json_find(status, "version"), l->version, sizeof l->version);
}

static int ask(struct zc_client *c, struct level *l)
{
    char *text;
    int rc = zc_client_info(c, ZC_INFO_STATUS | ZC_INFO_STATS, &text);

    if (rc)
        return rc;
    l->servers++;
    take_status(l, zc_json_find(text, "status"));
    take_counters(l, zc_json_find(text, "stats"));
    free(text);
    return 0;
}

/* ---- aggregators ---- */

static void take_local(struct zcache_file *f, struct level *l)
{
    struct level mine = {0};

    zc_cache_stats(zcache_agg_cache(f->agg), &mine.sum);
    for (int i = 0; i < COUNTERS; i++)
        counters_of(l)[i] += counters_of(&mine)[i];
    l->servers++;
    if (l->servers == 1) {
        snprintf(l->libfabric, sizeof l->libfabric, "%s", zc_fabric_version());
        snprintf(l->provider, sizeof l->provider, "%s",
                 f->settings.provider ? f->settings.provider : "-");
    }
}

static int ask_aggregators(struct zcache_file *f, struct level *l)
{
    for (uint32_t i = 0; i < f->nowners; i++) {
        struct zcache_owner *o = &f->owners[i];
        struct zc_client *c;
        int rc = 0;

        if (o->local) {
            take_local(f, l);
            continue;
        }
        rc = zcache_owner_client(f, o, &c);
        if (rc == 0)
            rc = ask(c, l);
        if (rc)
            return rc;
    }
    l->peak_rss = 0; /* of ranks: not reported */
    return 0;
}

static int in_force_there(struct zc_client *c, struct zcache_in_force *out)
{
    const char *status;
    char *text;
    int rc = zc_client_info(c, ZC_INFO_STATUS, &text);

    if (rc)
        return rc;
    status = zc_json_find(text, "status");
    out->cache_size = zc_json_to_number(zc_json_find(status, "budget_bytes"));
    out->high_watermark = zc_json_to_number(zc_json_find(status, "high_watermark"));
    out->low_watermark = zc_json_to_number(zc_json_find(status, "low_watermark"));
    out->idle_time = zc_json_to_number(zc_json_find(status, "idle_ms"));
    out->view_memory = zc_json_to_number(zc_json_find(status, "view_memory"));
    out->background = UINT64_MAX; /* not in its answer */
    free(text);
    return 0;
}

int zcache_counters_page_size(struct zc_client *c, uint64_t *bytes)
{
    char *text;
    int rc = zc_client_info(c, ZC_INFO_STATUS, &text);

    if (rc)
        return rc;
    *bytes = zc_json_to_number(zc_json_find(zc_json_find(text, "status"), "page_size"));
    free(text);
    return 0;
}

int zcache_counters_in_force(struct zcache_file *f, struct zcache_in_force *least)
{
    *least = (struct zcache_in_force){UINT64_MAX, UINT64_MAX, UINT64_MAX,
                                      UINT64_MAX, UINT64_MAX, UINT64_MAX};
    for (uint32_t i = 0; i < f->nowners; i++) {
        struct zcache_owner *o = &f->owners[i];
        struct zcache_in_force its;
        struct zc_client *c;
        int rc = 0;

        if (o->local)
            zcache_agg_in_force(f->agg, &its);
        else
            rc = zcache_owner_client(f, o, &c);
        if (rc == 0 && !o->local)
            rc = in_force_there(c, &its);
        if (rc)
            return rc;
        zcache_in_force_lower(least, &its);
    }
    return 0;
}

/* ---- daemons ---- */

static int ask_at(const struct zcache_file *f, const struct zc_addrfile *a, const char *path,
                  struct level *l)
{
    struct zc_connect to = {.own = {.timeout_ms = f->settings.timeout, .name = "counters"}};
    struct zc_client *c;
    int rc;

    zc_connect_daemon(&to, path, a, f->settings.local);
    rc = zc_connect(&to, &c);
    if (rc)
        return rc;
    rc = ask(c, l);
    zc_client_disconnect(c);
    return rc;
}

static int ask_daemons(const struct zcache_file *f, struct level *l)
{
    struct zc_addrfile *a;
    char **paths;
    int n, rc = 0;

    if (!f->stripe.daemons)
        return 0;
    n = zc_addrfile_list(f->settings.daemons, &paths);
    if (n < 0)
        return n;
    a = malloc(sizeof *a);
    if (!a)
        rc = zc_errorf(ENOMEM, "no memory for an address file");
    for (int i = 0; rc == 0 && i < n; i++) {
        rc = zc_addrfile_read(paths[i], a);
        if (rc == 0) {
            rc = ask_at(f, a, paths[i], l);
            zc_secret_forget(&a->secret);
        }
    }
    free(a);
    free(paths);
    return rc;
}

/* ---- the info ---- */

static void set(MPI_Info info, const char *prefix, const char *name, const char *value)
{
    char key[96];

    snprintf(key, sizeof key, "%s%s", prefix, name);
    MPI_Info_set(info, key, value);
}

static void set_count(MPI_Info info, const char *prefix, const char *name, uint64_t count)
{
    char value[24];

    snprintf(value, sizeof value, "%" PRIu64, count);
    set(info, prefix, name, value);
}

static void tell(MPI_Info info, const char *prefix, struct level *l)
{
    if (!l->servers)
        return;
    set_count(info, prefix, "servers", l->servers);
    for (int i = 0; i < COUNTERS; i++)
        set_count(info, prefix, names[i], counters_of(l)[i]);
    if (l->peak_rss)
        set_count(info, prefix, "peak_rss_bytes", l->peak_rss);
    if (*l->provider)
        set(info, prefix, "provider", l->provider);
    if (*l->libfabric)
        set(info, prefix, "libfabric", l->libfabric);
    if (*l->version)
        set(info, prefix, "version", l->version);
}

int zcache_counters_of_daemons(struct zcache_file *f, struct zc_cache_stats *sum, unsigned *n)
{
    struct level daemons = {0};
    int rc = ask_daemons(f, &daemons);

    *sum = daemons.sum;
    *n = daemons.servers;
    return rc;
}

int zcache_counters_report(struct zcache_file *f, MPI_Info info)
{
    struct level aggregators = {0}, daemons = {0};
    int rc = ask_aggregators(f, &aggregators);

    if (rc == 0)
        rc = ask_daemons(f, &daemons);
    if (rc)
        return rc;
    tell(info, "zcache_agg_", &aggregators);
    tell(info, "zcache_iod_", &daemons);
    return 0;
}
