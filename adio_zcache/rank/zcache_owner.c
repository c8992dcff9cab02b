/* zcache_owner.c - requests that concern all owners of a file. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "zc_log.h"
#include "zcache_agg_conn.h"
#include "zcache_exit.h"
#include "zcache_file.h"
#include "zcache_owner.h"

char *zcache_owner_label(uint32_t world_rank, char label[ZCACHE_OWNER_LABEL])
{
    if (world_rank & ZCACHE_DEDICATED_BIT)
        snprintf(label, ZCACHE_OWNER_LABEL, "dedicated aggregator %u",
                 world_rank & ~ZCACHE_DEDICATED_BIT);
    else
        snprintf(label, ZCACHE_OWNER_LABEL, "aggregator on rank %u", world_rank);
    return label;
}

struct zc_handle *zcache_owner_here(struct zcache_file *f, const struct zcache_owner *o)
{
    if (o->local)
        zcache_agg_settle(f->agg);
    return o->local;
}

int zcache_owner_client(struct zcache_file *f, struct zcache_owner *o, struct zc_client **out)
{
    struct zc_client *was = __atomic_load_n(&o->client, __ATOMIC_ACQUIRE);
    char label[ZCACHE_OWNER_LABEL];
    int rc;

    *out = was;
    if (was && !zc_client_bystander(was))
        return 0;
    /* Files of other communicators use the connection as well. */
    zcache_owner_label(o->world_rank, label);
    rc =
        zcache_agg_conn_get(o->contact, o->contact_len, label, &f->settings, f->failures, was, out);
    if (rc == 0)
        __atomic_store_n(&o->client, *out, __ATOMIC_RELEASE);
    return rc;
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
    struct zc_client *c = zcache_agg_conn_find(o->contact, o->contact_len);

    __atomic_store_n(&o->client, c, __ATOMIC_RELEASE);
    return c;
}

/* Starts a background operation on the file; without memory, none. */
static void start(struct zcache_file *f, const struct zcache_async_kind *kind)
{
    struct zcache_async_op *j = zcache_async_new(kind, f, &f->async);

    if (!j)
        return;
    zcache_async_start(j);
    zcache_async_release(j);
}

void zcache_owners_warm(struct zcache_file *f)
{
    static const struct zcache_async_kind kind = {warm, let_go};
    bool others = false;

    for (uint32_t i = 0; i < f->nowners; i++)
        others = others || (!f->owners[i].local && !is_warm(&f->owners[i]));
    if (others)
        start(f, &kind);
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

/* ---- table for zc_stripe_ask.h ---- */

static struct zcache_file *striped(const struct zc_stripe_file *s)
{
    return s->file;
}

/* This rank's own cache has no client; own() waits for ring entries when it is used. */
static int get(const struct zc_stripe_file *s, uint32_t i, struct zc_stripe_use *use)
{
    struct zcache_owner *o = &striped(s)->owners[i];

    *use = (struct zc_stripe_use){.index = i, .handle = o->number};
    return o->local ? 0 : zcache_owner_client(striped(s), o, &use->client);
}

/* Returns whether the connection broke because of another owner. */
static bool put(struct zc_stripe_use *use, int rc)
{
    return rc && use->client && zc_client_bystander(use->client);
}

static struct zc_handle *own(const struct zc_stripe_file *s, const struct zc_stripe_use *use)
{
    return zcache_owner_here(striped(s), &striped(s)->owners[use->index]);
}

static int getattr_here(const struct zc_stripe_file *s, const struct zc_stripe_use *use,
                        struct zc_attr *attr)
{
    attr->size = zc_cache_size(own(s, use));
    return 0;
}

static int truncate_here(const struct zc_stripe_file *s, const struct zc_stripe_use *use,
                         uint64_t size)
{
    return zc_cache_truncate(own(s, use), size);
}

static int allocate_here(const struct zc_stripe_file *s, const struct zc_stripe_use *use,
                         uint64_t off, uint64_t len)
{
    return zc_cache_allocate(own(s, use), off, len);
}

static int cut_here(const struct zc_stripe_file *s, const struct zc_stripe_use *use, uint64_t size,
                    uint64_t *count)
{
    (void)count;
    return zc_cache_cut(own(s, use), size);
}

static const struct zc_stripe_ops owners = {
    .servers = "aggregator",
    .server = zc_stripe_aggregator,
    .get = get,
    .put = put,
    .getattr = getattr_here,
    .truncate = truncate_here,
    .allocate = allocate_here,
    .cut = cut_here,
};

struct zc_stripe_file zcache_owners_striped(struct zcache_file *f)
{
    return (struct zc_stripe_file){&owners, f, &f->stripe, f->nowners};
}

/* ---- requests to owners ---- */

static bool is_connected(const struct zc_stripe_file *s, uint32_t i)
{
    struct zcache_owner *o = &striped(s)->owners[i];

    return o->local || __atomic_load_n(&o->client, __ATOMIC_ACQUIRE);
}

static bool is_elsewhere(const struct zc_stripe_file *s, uint32_t i)
{
    return striped(s)->owners[i].elsewhere;
}

static int ask_owners(struct zcache_file *f, struct zc_stripe_request *q)
{
    struct zc_stripe_file s = zcache_owners_striped(f);
    int rc = zcache_exit_begin();

    if (rc)
        return rc;
    rc = zc_stripe_ask(&s, q);
    zcache_exit_end();
    return rc;
}

static int sync_here(const struct zc_stripe_file *s, const struct zc_stripe_use *use,
                     uint64_t level, uint64_t *count)
{
    struct zc_handle *h = own(s, use);
    int rc = zc_cache_flush(h, (enum zc_level)level);

    (void)count;
    return rc ? rc : zc_cache_refresh(h);
}

int zcache_owners_sync(struct zcache_file *f, uint64_t level)
{
    struct zc_stripe_request q = {
        .start = zc_client_refresh_start, .here = sync_here, .arg = level};

    return ask_owners(f, &q);
}

static int sync_collective_here(const struct zc_stripe_file *s, const struct zc_stripe_use *use,
                                uint64_t level, uint64_t *count)
{
    struct zc_handle *h = own(s, use);
    int rc = zc_cache_flush_collective(h, (enum zc_level)level);

    (void)count;
    return rc ? rc : zc_cache_refresh(h);
}

int zcache_owners_sync_collective(struct zcache_file *f, uint64_t level)
{
    struct zc_stripe_request q = {
        .start = zc_client_refresh_collective_start, .here = sync_collective_here, .arg = level};

    return ask_owners(f, &q);
}

static int flush_here(const struct zc_stripe_file *s, const struct zc_stripe_use *use,
                      uint64_t level, uint64_t *count)
{
    (void)count;
    return zc_cache_flush(own(s, use), (enum zc_level)level);
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
    struct zc_stripe_request q = {
        .start = zc_client_flush_start, .arg = level, .asks = is_elsewhere};

    return any_elsewhere(f) ? ask_owners(f, &q) : 0;
}

int zcache_owners_close_elsewhere(struct zcache_file *f)
{
    struct zc_stripe_request q = {
        .start = zc_client_close_start, .arg = ZC_LEVEL_VISIBLE, .asks = is_elsewhere};

    return any_elsewhere(f) ? ask_owners(f, &q) : 0;
}

static int64_t flush_elsewhere(void *arg)
{
    return zcache_owners_flush_elsewhere(arg, ZC_LEVEL_STORED);
}

void zcache_owners_flush_later(struct zcache_file *f)
{
    static const struct zcache_async_kind kind = {flush_elsewhere, let_go};

    if (any_elsewhere(f))
        start(f, &kind);
}

/* Without zcache_exit_begin(): for the end of the process itself. */
int zcache_owners_flush_connected(struct zcache_file *f, enum zc_level level)
{
    struct zc_stripe_file s = zcache_owners_striped(f);
    struct zc_stripe_request q = {
        .start = zc_client_flush_start, .here = flush_here, .arg = level, .asks = is_connected};

    return zc_stripe_ask(&s, &q);
}

static int flush_collective_here(const struct zc_stripe_file *s, const struct zc_stripe_use *use,
                                 uint64_t level, uint64_t *count)
{
    (void)count;
    return zc_cache_flush_collective(own(s, use), (enum zc_level)level);
}

int zcache_owners_flush_collective(struct zcache_file *f, uint64_t level)
{
    struct zc_stripe_request q = {
        .start = zc_client_flush_collective_start, .here = flush_collective_here, .arg = level};

    return ask_owners(f, &q);
}

static void start_read_step(struct zc_client *c, uint64_t number, uint64_t step, struct zc_later *l)
{
    zc_client_step_start(c, number, ZC_STEP_READ, step, 0, 0, l);
}

static int read_step_here(const struct zc_stripe_file *s, const struct zc_stripe_use *use,
                          uint64_t step, uint64_t *count)
{
    (void)count;
    return zc_cache_read_step(own(s, use), step);
}

int zcache_owners_read_step(struct zcache_file *f, uint64_t step)
{
    struct zc_stripe_request q = {.start = start_read_step, .here = read_step_here, .arg = step};

    return ask_owners(f, &q);
}

int zcache_owners_truncate(struct zcache_file *f, uint64_t size)
{
    struct zc_stripe_file s = zcache_owners_striped(f);
    int rc = zcache_exit_begin();

    if (rc)
        return rc;
    rc = zc_stripe_truncate(&s, size);
    zcache_exit_end();
    return rc;
}

static int backlog_here(const struct zc_stripe_file *s, const struct zc_stripe_use *use,
                        uint64_t what, uint64_t *count)
{
    (void)what;
    *count = zc_cache_backlog(own(s, use));
    return 0;
}

static int backlog_below_at(const struct zc_stripe_file *s, const struct zc_stripe_use *use,
                            void *bytes)
{
    struct zc_later l;
    int rc;

    if (!use->client)
        return zc_cache_backlog_below(own(s, use), bytes);
    zc_client_backlog_start(use->client, use->handle, ZC_BACKLOG_BELOW, &l);
    rc = zc_client_wait(use->client, &l);
    *(uint64_t *)bytes = l.count;
    return rc;
}

/* Every aggregator uses every daemon of the file: asks through this rank's own, or the first. */
static int backlog_below(struct zcache_file *f, uint64_t *bytes)
{
    struct zc_stripe_file s = zcache_owners_striped(f);
    uint32_t mine = 0;

    while (mine < f->nowners && !f->owners[mine].local)
        mine++;
    return zc_stripe_call(&s, mine < f->nowners ? mine : 0, backlog_below_at, bytes);
}

int zcache_owners_backlog(struct zcache_file *f, uint64_t *dirty, uint64_t *unstored)
{
    struct zc_stripe_request q = {
        .start = zc_client_backlog_start, .here = backlog_here, .arg = ZC_BACKLOG_HERE};
    uint64_t below = 0;
    int rc = ask_owners(f, &q);

    /* Bytes move downwards: counting the upper level first misses none. */
    if (rc == 0 && f->stripe.daemons)
        rc = backlog_below(f, &below);
    *dirty = q.sum;
    *unstored = q.sum + below;
    return rc;
}

int zcache_owners_allocate(struct zcache_file *f, uint64_t size)
{
    struct zc_stripe_file s = zcache_owners_striped(f);

    return zc_stripe_allocate(&s, 0, size);
}

int zcache_owners_size(struct zcache_file *f, uint64_t *size)
{
    struct zc_stripe_file s = zcache_owners_striped(f);
    struct zc_attr attr = {0};
    int rc = zcache_exit_begin();

    *size = 0;
    if (rc)
        return rc;
    rc = zc_stripe_getattr(&s, &attr);
    zcache_exit_end();
    if (rc == 0)
        *size = attr.size;
    return rc;
}
