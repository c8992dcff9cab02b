/* zcache_owner.c - requests that concern all owners of a file. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "zc_log.h"
#include "zcache_file.h"
#include "zcache_owner.h"
#include "zcache_peer.h"

struct zc_handle *zcache_owner_here(struct zcache_file *f, const struct zcache_owner *o)
{
    if (o->local)
        zcache_agg_settle(f->agg);
    return o->local;
}

int zcache_owner_client(struct zcache_file *f, struct zcache_owner *o, struct zc_client **out)
{
    struct zc_client *was = __atomic_load_n(&o->client, __ATOMIC_ACQUIRE);
    char label[64];
    int rc;

    *out = was;
    if (was && !zc_client_bystander(was))
        return 0;
    /* Other communicators' files use the connection, too. */
    snprintf(label, sizeof label, "aggregator on rank %u", o->world_rank);
    rc = zcache_peer_get(o->way, o->way_len, label, &f->settings, f->failures, was, out);
    if (rc == 0)
        __atomic_store_n(&o->client, *out, __ATOMIC_RELEASE);
    return rc;
}

bool zcache_owner_again(struct zcache_file *f, struct zcache_owner *o, struct zc_client **c,
                        int *rc)
{
    if (*rc == 0 || !zc_client_bystander(*c))
        return false;
    *rc = zcache_owner_client(f, o, c);
    return *rc == 0;
}

static int64_t warm(void *arg)
{
    struct zcache_file *f = arg;
    struct zc_client *c;

    for (uint32_t i = 0; i < f->nowners; i++)
        if (!f->owners[i].local && zcache_owner_client(f, &f->owners[i], &c))
            break;
    return 0;
}

static void let_go(void *arg)
{
    (void)arg;
}

static bool is_warm(struct zcache_owner *o)
{
    struct zc_client *c = zcache_peer_look(o->way, o->way_len);

    __atomic_store_n(&o->client, c, __ATOMIC_RELEASE);
    return c;
}

void zcache_owners_warm(struct zcache_file *f)
{
    static const struct zcache_job_kind kind = {warm, let_go};
    struct zcache_job *j;
    bool others = false;

    for (uint32_t i = 0; i < f->nowners; i++)
        others = others || (!f->owners[i].local && !is_warm(&f->owners[i]));
    j = others ? zcache_job_new(&kind, f, &f->jobs) : NULL;
    if (!j)
        return;
    zcache_job_start(j);
    zcache_job_release(j);
}

static void tell_of_views(struct zcache_file *f, void (*tell)(struct zc_client *c, uint64_t number))
{
    for (uint32_t i = 0; f->owners && i < f->nowners; i++) {
        struct zc_client *c = __atomic_load_n(&f->owners[i].client, __ATOMIC_ACQUIRE);

        if (c)
            tell(c, f->owners[i].number);
    }
}

void zcache_owners_view_replaced(struct zcache_file *f)
{
    tell_of_views(f, zc_client_view_replaced);
}

void zcache_owners_views_end(struct zcache_file *f)
{
    tell_of_views(f, zc_client_views_end);
}

struct first_error {
    int rc;
    char text[400];
};

static void note(struct first_error *e, int rc)
{
    if (!rc || e->rc)
        return;
    e->rc = rc;
    snprintf(e->text, sizeof e->text, "%s", zc_error_text(rc));
}

static int outcome(const struct first_error *e)
{
    return e->rc ? zc_errorf(-e->rc, "%s", e->text) : 0;
}

/* One request to every owner from one on: all remote ones are started before the local one is done
 * and any is waited for. */
struct request {
    void (*start)(struct zc_client *c, uint64_t number, uint64_t arg, struct zc_later *l);
    int (*local)(struct zc_handle *h, uint64_t arg);
    uint64_t (*count)(struct zc_handle *h); /* instead of local: what it counts */
    uint64_t arg;
    bool elsewhere; /* ask those only */
    uint64_t sum;   /* of what all owners have counted */
    uint32_t from;  /* the first that is asked */
};

static int answer_of(struct zcache_file *f, uint32_t i, const struct request *q,
                     struct zc_client **c, struct zc_later *l)
{
    int rc = zc_client_wait(*c, l);

    while (zcache_owner_again(f, &f->owners[i], c, &rc)) {
        q->start(*c, f->owners[i].number, q->arg, l);
        rc = zc_client_wait(*c, l);
    }
    return rc;
}

static int ask_owners(struct zcache_file *f, struct request *q)
{
    struct zc_later *later = calloc(f->nowners, sizeof *later);
    struct zc_client **clients = calloc(f->nowners, sizeof *clients);
    struct first_error e = {0};

    if (!later || !clients) {
        free(later);
        free(clients);
        return zc_errorf(ENOMEM, "no memory to ask %u aggregators", f->nowners);
    }
    for (uint32_t i = q->from; i < f->nowners; i++) {
        struct zcache_owner *o = &f->owners[i];
        bool asked = q->elsewhere ? o->elsewhere : !o->local;
        int rc = asked ? zcache_owner_client(f, o, &clients[i]) : 0;

        note(&e, rc);
        if (rc == 0 && clients[i])
            q->start(clients[i], o->number, q->arg, &later[i]);
    }
    for (uint32_t i = q->from; i < f->nowners; i++) {
        struct zc_handle *h = q->elsewhere ? NULL : zcache_owner_here(f, &f->owners[i]);

        if (!h)
            continue;
        if (q->count)
            q->sum += q->count(h);
        else
            note(&e, q->local(h, q->arg));
    }
    for (uint32_t i = q->from; i < f->nowners; i++) {
        if (clients[i])
            note(&e, answer_of(f, i, q, &clients[i], &later[i]));
        q->sum += later[i].count;
    }
    free(later);
    free(clients);
    return outcome(&e);
}

static void start_sync(struct zc_client *c, uint64_t number, uint64_t level, struct zc_later *l)
{
    zc_client_refresh_start(c, number, (enum zc_level)level, l);
}

static int local_sync(struct zc_handle *h, uint64_t level)
{
    int rc = zc_cache_flush(h, (enum zc_level)level);

    return rc ? rc : zc_cache_refresh(h);
}

int zcache_owners_sync(struct zcache_file *f, enum zc_level level)
{
    struct request q = {.start = start_sync, .local = local_sync, .arg = level};

    return ask_owners(f, &q);
}

static void start_flush(struct zc_client *c, uint64_t number, uint64_t level, struct zc_later *l)
{
    zc_client_flush_start(c, number, (enum zc_level)level, l);
}

static bool any_elsewhere(const struct zcache_file *f)
{
    for (uint32_t i = 0; i < f->nowners; i++)
        if (f->owners[i].elsewhere)
            return true;
    return false;
}

int zcache_owners_flush_elsewhere(struct zcache_file *f, enum zc_level level)
{
    struct request q = {.start = start_flush, .arg = level, .elsewhere = true};

    return any_elsewhere(f) ? ask_owners(f, &q) : 0;
}

static void start_close(struct zc_client *c, uint64_t number, uint64_t level, struct zc_later *l)
{
    zc_client_close_start(c, number, (enum zc_level)level, l);
}

int zcache_owners_close_elsewhere(struct zcache_file *f)
{
    struct request q = {.start = start_close, .arg = ZC_LEVEL_VISIBLE, .elsewhere = true};

    return any_elsewhere(f) ? ask_owners(f, &q) : 0;
}

static int64_t flush_elsewhere(void *arg)
{
    return zcache_owners_flush_elsewhere(arg, ZC_LEVEL_STORED);
}

void zcache_owners_flush_later(struct zcache_file *f)
{
    static const struct zcache_job_kind kind = {flush_elsewhere, let_go};
    struct zcache_job *j = any_elsewhere(f) ? zcache_job_new(&kind, f, &f->jobs) : NULL;

    if (!j)
        return;
    zcache_job_start(j);
    zcache_job_release(j);
}

static void start_sync_for_all(struct zc_client *c, uint64_t number, uint64_t level,
                               struct zc_later *l)
{
    zc_client_refresh_for_all_start(c, number, (enum zc_level)level, l);
}

static int local_sync_for_all(struct zc_handle *h, uint64_t level)
{
    int rc = zc_cache_flush_for_all(h, (enum zc_level)level);

    return rc ? rc : zc_cache_refresh(h);
}

int zcache_owners_sync_for_all(struct zcache_file *f, enum zc_level level)
{
    struct request q = {.start = start_sync_for_all, .local = local_sync_for_all, .arg = level};

    return ask_owners(f, &q);
}

static void start_cut(struct zc_client *c, uint64_t number, uint64_t size, struct zc_later *l)
{
    zc_client_cut_start(c, number, size, l);
}

/* Whether all that have to cut the file are there. */
static int owners_answer(struct zcache_file *f)
{
    struct zc_client *c;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < f->nowners; i++)
        if (!f->owners[i].local) {
            rc = zcache_owner_client(f, &f->owners[i], &c);
            if (rc == 0 && f->nowners > 1)
                do
                    rc = zc_client_ping(c);
                while (zcache_owner_again(f, &f->owners[i], &c, &rc));
        }
    return rc;
}

static int truncate_first(struct zcache_file *f, uint64_t size)
{
    struct zcache_owner *o = &f->owners[0];
    struct zc_client *c;
    int rc;

    if (o->local)
        return zc_cache_truncate(zcache_owner_here(f, o), size);
    rc = zcache_owner_client(f, o, &c);
    if (rc == 0)
        do
            rc = zc_client_truncate(c, o->number, size);
        while (zcache_owner_again(f, o, &c, &rc));
    return rc;
}

/* -EREMOTEIO: the file is cut, as told in zc_store.h; then the others cut what they have, too.  One
 * of them that fails may have written back before, beyond the new size: that is cut off again. */
int zcache_owners_truncate(struct zcache_file *f, uint64_t size)
{
    struct request q = {.start = start_cut, .local = zc_cache_cut, .arg = size, .from = 1};
    struct first_error e = {0};
    int rc = owners_answer(f);

    if (rc == 0)
        rc = truncate_first(f, size);
    if (rc && rc != -EREMOTEIO)
        return rc;
    note(&e, rc);
    rc = ask_owners(f, &q);
    if (rc && rc != -EREMOTEIO && !e.rc) {
        note(&e, rc);
        rc = truncate_first(f, size);
        if (rc && rc != -EREMOTEIO)
            return zc_errorf(EREMOTEIO, "nobody knows how many bytes the file has: %s", e.text);
        return zc_errorf(EREMOTEIO, "the file has %llu bytes now, but not at every aggregator: %s",
                         (unsigned long long)size, e.text);
    }
    note(&e, rc);
    return outcome(&e);
}

static void start_backlog(struct zc_client *c, uint64_t number, uint64_t what, struct zc_later *l)
{
    zc_client_backlog_start(c, number, (uint32_t)what, l);
}

/* Every aggregator knows every daemon of the file: asks through this rank's own, or the first. */
static int backlog_below(struct zcache_file *f, uint64_t *bytes)
{
    struct zcache_owner *o = &f->owners[0];
    struct zc_client *c;
    struct zc_later l;
    int rc;

    for (uint32_t i = 0; i < f->nowners; i++)
        if (f->owners[i].local)
            return zc_cache_backlog_below(zcache_owner_here(f, &f->owners[i]), bytes);
    rc = zcache_owner_client(f, o, &c);
    if (rc)
        return rc;
    do {
        zc_client_backlog_start(c, o->number, ZC_BACKLOG_BELOW, &l);
        rc = zc_client_wait(c, &l);
    } while (zcache_owner_again(f, o, &c, &rc));
    *bytes = l.count;
    return rc;
}

int zcache_owners_backlog(struct zcache_file *f, uint64_t *dirty, uint64_t *unstored)
{
    struct request q = {.start = start_backlog, .count = zc_cache_backlog, .arg = ZC_BACKLOG_HERE};
    uint64_t below = 0;
    int rc = ask_owners(f, &q);

    /* Bytes move down: who looks here first and there afterwards misses none. */
    if (rc == 0 && f->place.daemons)
        rc = backlog_below(f, &below);
    *dirty = q.sum;
    *unstored = q.sum + below;
    return rc;
}

int zcache_owners_allocate(struct zcache_file *f, uint64_t size)
{
    struct zcache_owner *o = &f->owners[0];
    struct zc_client *c;
    int rc;

    if (o->local)
        return zc_cache_allocate(zcache_owner_here(f, o), 0, size);
    rc = zcache_owner_client(f, o, &c);
    if (rc == 0)
        do
            rc = zc_client_allocate(c, o->number, 0, size);
        while (zcache_owner_again(f, o, &c, &rc));
    return rc;
}

int zcache_owners_size(struct zcache_file *f, uint64_t *size)
{
    *size = 0;
    for (uint32_t i = 0; i < f->nowners; i++) {
        struct zcache_owner *o = &f->owners[i];
        struct zc_attr attr = {0};
        struct zc_client *c;
        int rc = 0;

        if (o->local) {
            attr.size = zc_cache_size(zcache_owner_here(f, o));
        } else {
            rc = zcache_owner_client(f, o, &c);
            if (rc == 0)
                do
                    rc = zc_client_getattr(c, o->number, &attr);
                while (zcache_owner_again(f, o, &c, &rc));
        }
        if (rc)
            return rc;
        if (attr.size > *size)
            *size = attr.size;
    }
    return 0;
}
