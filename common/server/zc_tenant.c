/* zc_tenant.c - assigns a server's clients to tenants. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "zc_cred.h"
#include "zc_server_internal.h"

struct zc_tenant {
    struct zc_list link; /* zc_server.sharers */
    uint64_t id;
    unsigned sessions;
    struct zc_cache_tenant *share; /* of the cache; or NULL */
    struct zc_pool_flow flow;
    unsigned few[ZC_FEW_KINDS], idle[ZC_FEW_KINDS]; /* held by it; the idle ones of these */
};

/* "rank 3 (uid 1000, node7:4711, job slurm 17.0)" -> "slurm 17.0"; without a job, or if its number
 * is that of a process of that host: from the host on. */
const char *zc_tenant_job(const char *name, size_t *len)
{
    const char *at = strchr(name, '('), *host = at ? strstr(at, ", ") : NULL, *job = NULL;

    if (host)
        job = strstr(host + 2, ", job ");
    if (job && strncmp(job + 6, "mpiexec ", 8) != 0)
        at = job + 6;
    else
        at = host ? host + 2 : name;
    *len = strcspn(at, ")");
    return at;
}

/* The pid of one of several processes started by mpiexec does not identify the job. */
static uint64_t id_of_job(const char *name)
{
    size_t len;
    const char *at = zc_tenant_job(name, &len), *job = memmem(at, len, ", job ", 6);
    uint64_t host;

    if (!job)
        return zc_pool_key_of(at, len);
    host = zc_pool_key_of(at, strcspn(at, ":"));
    return zc_pool_key(host, zc_pool_key_of(job, len - (size_t)(job - at)));
}

static uint64_t id_of(const struct zc_session *ss)
{
    return ss->server->cfg.munge && ss->cred ? ss->cred->uid : id_of_job(ss->name);
}

static struct zc_tenant *find(struct zc_server *s, uint64_t id)
{
    zc_list_each (&s->sharers, n) {
        struct zc_tenant *x = zc_list_entry(n, struct zc_tenant, link);

        if (x->id == id)
            return x;
    }
    return NULL;
}

static struct zc_tenant *make(struct zc_server *s, uint64_t id)
{
    struct zc_tenant *x = calloc(1, sizeof *x);

    if (!x)
        return NULL;
    x->id = id;
    x->share = zc_cache_tenant_get(s->cfg.cache, id);
    zc_list_add_tail(&s->sharers, &x->link);
    s->stats.sharers++;
    return x;
}

void zc_tenant_enter(struct zc_session *ss)
{
    struct zc_server *s = ss->server;
    uint64_t id;

    if (!s->cfg.tenants)
        return;
    id = id_of(ss);
    ss->tenant = find(s, id);
    if (!ss->tenant)
        ss->tenant = make(s, id);
    if (ss->tenant)
        ss->tenant->sessions++;
}

void zc_tenant_leave(struct zc_session *ss)
{
    struct zc_tenant *x = ss->tenant;

    ss->tenant = NULL;
    if (!x || --x->sessions > 0)
        return;
    zc_cache_tenant_put(ss->server->cfg.cache, x->share);
    ss->server->stats.sharers--;
    zc_list_del(&x->link);
    free(x);
}

unsigned zc_tenant_part(const struct zc_session *ss, unsigned all)
{
    uint64_t n = ss->server->stats.sharers;

    if (!ss->tenant || n < 2)
        return all;
    return n < all ? (unsigned)(all / n) : 1;
}

unsigned zc_tenant_holds(const struct zc_session *ss, enum zc_few_kind kind)
{
    return ss->tenant ? ss->tenant->few[kind] : 0;
}

void zc_tenant_took(const struct zc_session *ss, enum zc_few_kind kind)
{
    if (ss->tenant)
        ss->tenant->few[kind]++;
}

void zc_tenant_gave(const struct zc_session *ss, enum zc_few_kind kind)
{
    if (ss->tenant)
        ss->tenant->few[kind]--;
}

unsigned zc_tenant_idle(const struct zc_session *ss, enum zc_few_kind kind, unsigned all)
{
    return ss->tenant ? ss->tenant->idle[kind] : all;
}

void zc_tenant_idles(const struct zc_session *ss, enum zc_few_kind kind, int more)
{
    if (ss->tenant)
        ss->tenant->idle[kind] += (unsigned)more;
}

struct zc_pool_flow *zc_tenant_flow(const struct zc_session *ss)
{
    return ss->tenant ? &ss->tenant->flow : NULL;
}

void zc_tenant_charge(const struct zc_session *ss, struct zc_handle *h)
{
    if (ss->tenant)
        zc_cache_charge(h, ss->tenant->share);
}
