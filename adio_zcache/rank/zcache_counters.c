/* zcache_counters.c - what the caches of a file did, for MPI_File_get_info.
 *
 * With the hint zcache_counters: the counters of zc_cache.h as zcache_agg_NAME, summed over the
 * file's aggregators, and as zcache_iod_NAME over the daemons, each since it started.  Beside
 * them how many there are ("servers"), the first one's provider and libfabric, and of daemons
 * the largest peak memory and the version.
 *
 * Daemons are asked through an endpoint of its own, made and dropped in the call: most ranks
 * never talk to a daemon, and one that is gone must not take connections to aggregators along.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_addrfile.h"
#include "zc_fabric.h"
#include "zc_log.h"
#include "zcache_agg.h"
#include "zcache_counters.h"
#include "zcache_file.h"

/* What is told of one level. */
struct level {
    unsigned servers;
    uint64_t peak_rss; /* bytes; 0: not told */
    char provider[64], libfabric[32], version[32];
    struct zc_cache_stats sum;
};

static const char *const names[] = {
#define X(name, help) #name,
    ZC_CACHE_STATS(X)
#undef X
};
enum { COUNTERS = sizeof names / sizeof *names };

/* The counters in their order; they are all alike. */
static uint64_t *counters_of(struct level *l)
{
    _Static_assert(sizeof l->sum == COUNTERS * sizeof(uint64_t), "counters only");
    return (uint64_t *)&l->sum;
}

/* ---- what servers answer: lines "name value" ---- */

static void take_number(struct level *l, const char *name, uint64_t value)
{
    if (!strcmp(name, "peak_rss_bytes") && value > l->peak_rss)
        l->peak_rss = value;
}

static void take_counter(struct level *l, const char *name, uint64_t value)
{
    for (int i = 0; i < COUNTERS; i++)
        if (!strcmp(names[i], name))
            counters_of(l)[i] += value;
}

static void take_word(struct level *l, const char *name, const char *value)
{
    if (l->servers > 1)
        return; /* the first one's */
    if (!strcmp(name, "provider"))
        snprintf(l->provider, sizeof l->provider, "%s", value);
    if (!strcmp(name, "libfabric"))
        snprintf(l->libfabric, sizeof l->libfabric, "%s", value);
    if (!strcmp(name, "version"))
        snprintf(l->version, sizeof l->version, "%s", value);
}

static void take_text(struct level *l, char *text, bool counters)
{
    char *rest, *line = strtok_r(text, "\n", &rest);

    for (; line; line = strtok_r(NULL, "\n", &rest)) {
        char *value = strchr(line, ' ');

        if (!value)
            continue;
        *value++ = 0;
        if (counters) {
            take_counter(l, line, strtoull(value, NULL, 10));
        } else {
            take_word(l, line, value);
            take_number(l, line, strtoull(value, NULL, 10));
        }
    }
}

static int ask(struct zc_client *c, struct level *l)
{
    char *text;
    int rc = zc_client_info(c, ZC_INFO_STATUS, &text);

    if (rc)
        return rc;
    l->servers++;
    take_text(l, text, false);
    free(text);
    rc = zc_client_info(c, ZC_INFO_STATS, &text);
    if (rc)
        return rc;
    take_text(l, text, true);
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
    l->peak_rss = 0; /* ranks know their own */
    return 0;
}

static uint64_t number_in(const char *text, const char *name)
{
    char line[64];
    const char *at;

    snprintf(line, sizeof line, "\n%s ", name);
    at = strstr(text, line);
    return at ? strtoull(at + strlen(line), NULL, 10) : 0;
}

static int in_force_there(struct zc_client *c, struct zcache_in_force *out)
{
    char *text;
    int rc = zc_client_info(c, ZC_INFO_STATUS, &text);

    if (rc)
        return rc;
    out->cache_size = number_in(text, "budget_bytes");
    out->high_watermark = number_in(text, "high_watermark");
    out->low_watermark = number_in(text, "low_watermark");
    out->idle_time = number_in(text, "idle_ms");
    out->view_memory = number_in(text, "view_memory");
    out->background = UINT64_MAX; /* it does not tell */
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
    size_t len;
    const void *addr = zc_addrfile_address(a, f->settings.local, &len);
    struct zc_net_config cfg = {.provider = a->provider,
                                .toward = addr,
                                .toward_len = len,
                                .munge = a->munge,
                                .timeout_ms = f->settings.timeout,
                                .name = "counters"};
    struct zc_client *c = NULL;
    struct zc_net *net;
    int rc = zc_net_create(&cfg, &net);

    if (rc)
        return rc;
    rc = zc_client_connect(net, addr, len, &a->secret, path, &c);
    if (rc == 0) {
        rc = ask(c, l);
        zc_client_disconnect(c);
    }
    zc_net_destroy(net);
    return rc;
}

static int ask_daemons(const struct zcache_file *f, struct level *l)
{
    struct zc_addrfile *a;
    char **paths;
    int n, rc = 0;

    if (!f->place.daemons)
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
