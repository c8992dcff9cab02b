/* zcache_dedicated.c - makes owner sets from address files of dedicated aggregators. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "zc_addrfile.h"
#include "zc_log.h"
#include "zc_tp_local.h"
#include "zc_wire.h"
#include "zcache_agg_conn.h"
#include "zcache_counters.h"
#include "zcache_dedicated.h"
#include "zcache_file.h"
#include "zcache_owner.h"
#include "zcache_process.h"

bool zcache_dedicated_wanted(const struct zc_settings *s)
{
    return s->aggregators && *s->aggregators && strcmp(s->aggregators, "none");
}

bool zcache_dedicated_joins(const struct zc_settings *s)
{
    return s->aggregators && !strcmp(s->aggregators, "join");
}

bool zcache_dedicated_owns(const struct zcache_file *f)
{
    return f->owners && f->owners[0].world_rank & ZCACHE_DEDICATED_BIT;
}

/* ---- address files ---- */

/* ENOENT is for files that programs open. */
static int no_aggregator(int rc)
{
    return rc == -ENOENT ? zc_errorf(ECONNREFUSED, "dedicated aggregators: %s", zc_error_text(rc))
                         : rc;
}

static int check(const struct zcache_file *f, const struct zc_addrfile *a, const char *path)
{
    const char *provider = f->settings.provider ? f->settings.provider : ZC_DEFAULT_PROVIDER;

    if (a->protocol != ZC_PROTOCOL)
        return zc_errorf(EPROTONOSUPPORT,
                         "the aggregator of %s speaks protocol %u and this library %d; install the "
                         "same release of both",
                         path, a->protocol, ZC_PROTOCOL);
    if (!a->aggregator)
        return zc_errorf(EINVAL,
                         "%s is of a daemon, and not of a dedicated aggregator, as which "
                         "ZCACHE_AGGREGATORS or the hint zcache_aggregators names it: daemons are "
                         "for ZCACHE_DAEMONS, and zcached --aggregator makes an aggregator",
                         path);
    if (zc_addrfile_is_gone(a))
        return zc_errorf(ECONNREFUSED,
                         "the aggregator of %s (pid %ld on this host) is not running; what it had "
                         "not written back is lost, which zcache run names",
                         path, a->pid);
    /* On one host rank 0 finds out for all ranks. */
    if (!f->near && !zcache_process_one_host() && zc_addrfile_is_loopback(a))
        return zc_errorf(
            EHOSTUNREACH,
            "the aggregator of %s listens at 127.0.0.1, and this job may have ranks on "
            "other hosts: zcache run --interface, or zcached --listen, names the "
            "network interface that hosts reach each other by",
            path);
    if (!f->near && strcmp(a->provider, provider))
        return zc_errorf(EINVAL,
                         "the aggregator of %s is reached by the libfabric provider %s, and this "
                         "program has %s: give it the hint zcache_provider=%s",
                         path, a->provider, provider, a->provider);
    return zc_addrfile_check_reach(path, a);
}

static uint32_t contact(unsigned char *to, const void *address, size_t len,
                        const struct zc_secret *secret)
{
    if (!len)
        return 0;
    memcpy(to, address, len);
    memcpy(to + len, secret, sizeof *secret);
    return (uint32_t)(len + sizeof *secret);
}

/* Describes the i-th. */
static int read_member(const struct zcache_file *f, const char *path, uint32_t i,
                       struct zcache_member *m)
{
    struct zc_addrfile *a = calloc(1, sizeof *a);
    int rc = a ? zc_addrfile_read(path, a) : zc_errorf(ENOMEM, "no memory for an address file");

    if (rc == 0)
        rc = check(f, a, path);
    if (rc == 0) {
        *m = (struct zcache_member){.world_rank = ZCACHE_DEDICATED_BIT | i};
        memcpy(m->process, &a->boot_id, sizeof a->boot_id);
        m->near_len = f->settings.local ? contact(m->near, a->local, a->local_len, &a->secret) : 0;
        m->far_len = contact(m->far, a->address, a->address_len, &a->secret);
    }
    if (a)
        zc_forget(a, sizeof *a);
    free(a);
    return no_aggregator(rc);
}

/* The caller frees *paths. */
static int list(const struct zcache_file *f, char ***paths)
{
    return no_aggregator(zc_addrfile_list(f->settings.aggregators, paths));
}

/* ---- for others ---- */

static int connect_to(struct zcache_file *f, const struct zcache_member *m, struct zc_client **out)
{
    bool near = m->near_len && zc_tp_local_can_reach(m->near, zcache_contact_address(m->near_len));
    char label[ZCACHE_OWNER_LABEL];

    return zcache_agg_conn_get(near ? m->near : m->far, near ? m->near_len : m->far_len,
                               zcache_owner_label(m->world_rank, label), &f->settings, f->failures,
                               NULL, out);
}

int zcache_dedicated_ask(struct zcache_file *f, uint64_t *block_size)
{
    struct zcache_member *m = malloc(sizeof *m);
    uint64_t page = 0;
    struct zc_client *c;
    char **paths = NULL;
    int n = list(f, &paths), rc = n < 0 ? n : 0;

    if (rc == 0 && !m)
        rc = zc_errorf(ENOMEM, "no memory for an aggregator's address");
    if (rc == 0)
        rc = read_member(f, paths[0], 0, m);
    if (rc == 0)
        rc = connect_to(f, m, &c);
    if (rc == 0)
        rc = zcache_counters_page_size(c, &page);
    if (rc == 0 && page)
        *block_size = (*block_size + page - 1) / page * page;
    if (m)
        zc_forget(m, sizeof *m);
    free(m);
    free(paths);
    return rc ? rc : n;
}

int zcache_dedicated_meet(const struct zcache_file *f, struct zcache_ownerset *g)
{
    char **paths = NULL;
    int n = list(f, &paths), rc = n < 0 ? n : 0;

    if (rc == 0 && (uint32_t)n < g->nowners)
        rc = zc_errorf(ECONNREFUSED, "an aggregator has ended while %s was being opened", f->path);
    for (uint32_t i = 0; rc == 0 && i < g->nowners; i++)
        rc = read_member(f, paths[i], i, &g->owners[i]);
    free(paths);
    if (rc == 0 && getrandom(g->id, sizeof g->id, 0) != sizeof g->id)
        rc = zc_errorf(errno, "getrandom");
    return rc;
}
