/* zc_sharer.c - who of a server's clients share with whom. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "zc_cred.h"
#include "zc_server_internal.h"

struct zc_sharer {
    struct zc_list link; /* zc_server.sharers */
    uint64_t id;
    unsigned sessions;
    struct zc_share *share; /* of the cache; or NULL */
    struct zc_pool_turn turn;
    unsigned few[ZC_FEW]; /* that it has */
};

/* "rank 3 (uid 1000, node7:4711, job slurm 17.0)" -> "slurm 17.0"; without a job, or where its
 * number is one of a process of that host: from the host on. */
const char *zc_sharer_job(const char *name, size_t *len)
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

/* The pid of one process of several that mpiexec has started says nothing. */
static uint64_t id_of_job(const char *name)
{
    size_t len;
    const char *at = zc_sharer_job(name, &len), *job = memmem(at, len, ", job ", 6);
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

static struct zc_sharer *find(struct zc_server *s, uint64_t id)
{
    zc_list_each (&s->sharers, n) {
        struct zc_sharer *x = zc_list_entry(n, struct zc_sharer, link);

        if (x->id == id)
            return x;
    }
    return NULL;
}

static struct zc_sharer *make(struct zc_server *s, uint64_t id)
{
    struct zc_sharer *x = calloc(1, sizeof *x);

    if (!x)
        return NULL;
    x->id = id;
    x->share = zc_cache_share(s->cfg.cache, id);
    zc_list_add_tail(&s->sharers, &x->link);
    s->stats.sharers++;
    return x;
}

void zc_sharer_enter(struct zc_session *ss)
{
    struct zc_server *s = ss->server;
    uint64_t id;

    if (!s->cfg.shares)
        return;
    id = id_of(ss);
    ss->sharer = find(s, id);
    if (!ss->sharer)
        ss->sharer = make(s, id);
    if (ss->sharer)
        ss->sharer->sessions++;
}

void zc_sharer_leave(struct zc_session *ss)
{
    struct zc_sharer *x = ss->sharer;

    ss->sharer = NULL;
    if (!x || --x->sessions > 0)
        return;
    zc_cache_share_put(ss->server->cfg.cache, x->share);
    ss->server->stats.sharers--;
    zc_list_del(&x->link);
    free(x);
}

bool zc_sharer_may(const struct zc_session *ss, enum zc_few kind, unsigned all)
{
    uint64_t n = ss->server->stats.sharers, part;

    if (!ss->sharer || n < 2)
        return true;
    part = all / n;
    return ss->sharer->few[kind] < (part > 0 ? part : 1);
}

unsigned zc_sharer_has(const struct zc_session *ss, enum zc_few kind, unsigned all)
{
    return ss->sharer ? ss->sharer->few[kind] : all;
}

void zc_sharer_took(const struct zc_session *ss, enum zc_few kind)
{
    if (ss->sharer)
        ss->sharer->few[kind]++;
}

void zc_sharer_gave(const struct zc_session *ss, enum zc_few kind)
{
    if (ss->sharer)
        ss->sharer->few[kind]--;
}

struct zc_pool_turn *zc_sharer_turn(const struct zc_session *ss)
{
    return ss->sharer ? &ss->sharer->turn : NULL;
}

void zc_sharer_charge(const struct zc_session *ss, struct zc_handle *h)
{
    if (ss->sharer)
        zc_cache_charge(h, ss->sharer->share);
}
