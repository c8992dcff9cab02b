/* zc_cache_tenant.c - the tenants that share a cache. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "zc_cache_internal.h"

/* ---- the list of tenants ---- */

static void init(struct zc_cache *c, struct zc_cache_tenant *s, uint64_t id)
{
    s->id = id;
    zc_list_init(&s->pages);
    zc_list_init(&s->dirty);
    zc_list_init(&s->complete);
    zc_list_init(&s->room);
    zc_list_init(&s->room_link);
    zc_list_init(&s->fills);
    zc_list_init(&s->fills_ahead);
    zc_list_add_tail(&c->tenants, &s->link);
    c->ntenants++;
}

void zc_cache_tenants_init(struct zc_cache *c)
{
    zc_list_init(&c->tenants);
    init(c, &c->no_tenant, 0);
}

void zc_cache_tenants_free(struct zc_cache *c)
{
    zc_list_each_safe (&c->tenants, n) {
        struct zc_cache_tenant *s = zc_list_entry(n, struct zc_cache_tenant, link);

        if (s != &c->no_tenant)
            free(s);
    }
    free(c->wants);
}

static bool gone(const struct zc_cache_tenant *s)
{
    return s->refs == 0 && s->handles == 0;
}

void zc_cache_tenant_reap(struct zc_cache *c, struct zc_cache_tenant *s)
{
    zc_assert_held(&c->lock);
    if (!gone(s) || s->npages > 0 || s == &c->no_tenant)
        return;
    zc_list_del(&s->link);
    c->ntenants--;
    free(s);
}

static struct zc_cache_tenant *find(const struct zc_cache *c, uint64_t id)
{
    zc_list_each (&c->tenants, n) {
        struct zc_cache_tenant *s = zc_list_entry(n, struct zc_cache_tenant, link);

        if (s->id == id && s != &c->no_tenant)
            return s;
    }
    return NULL;
}

/* Creates a tenant, with room for it in cache->wants. */
static struct zc_cache_tenant *make(struct zc_cache *c, uint64_t id)
{
    uint64_t *wants = realloc(c->wants, (c->ntenants + 1) * sizeof *wants);
    struct zc_cache_tenant *s = calloc(1, sizeof *s);

    if (wants)
        c->wants = wants;
    if (!wants || !s) {
        free(s);
        return NULL;
    }
    init(c, s, id);
    return s;
}

struct zc_cache_tenant *zc_cache_tenant_get(struct zc_cache *c, uint64_t id)
{
    struct zc_cache_tenant *s;

    zc_lock_get(&c->lock);
    s = find(c, id);
    if (!s)
        s = make(c, id);
    if (s)
        s->refs++;
    zc_lock_put(&c->lock);
    return s;
}

void zc_cache_tenant_put(struct zc_cache *c, struct zc_cache_tenant *s)
{
    if (!s)
        return;
    zc_lock_get(&c->lock);
    s->refs--;
    zc_cache_tenant_reap(c, s);
    zc_cache_unlock(c);
}

void zc_cache_tenant_open(struct zc_cache *c, struct zc_cache_tenant *s)
{
    zc_assert_held(&c->lock);
    c->nopen += s->handles++ == 0 && s != &c->no_tenant;
}

void zc_cache_tenant_close(struct zc_cache *c, struct zc_cache_tenant *s)
{
    zc_assert_held(&c->lock);
    c->nopen -= --s->handles == 0 && s != &c->no_tenant;
    zc_cache_tenant_reap(c, s);
}

void zc_cache_charge(struct zc_handle *h, struct zc_cache_tenant *s)
{
    struct zc_cache *c = h->file->cache;

    if (!s)
        return;
    zc_lock_get(&c->lock);
    zc_debug_assert(h->accesses == 0 && h->nahead == 0 && h->tenant == &c->no_tenant);
    zc_cache_tenant_close(c, h->tenant);
    h->tenant = s;
    zc_cache_tenant_open(c, s);
    zc_lock_put(&c->lock);
}

/* ---- the tenant of a page ---- */

void zc_cache_tenant_reserve(struct zc_cache *c, struct zc_page *p, uint64_t more)
{
    struct zc_cache_tenant *s = p->tenant;

    c->nreserving -= s->nreserved > 0;
    s->nreserved += more;
    c->nreserving += s->nreserved > 0;
}

static void relink(struct zc_list *link, struct zc_list *to)
{
    if (!zc_list_linked(link))
        return;
    zc_list_del(link);
    zc_list_add_tail(to, link);
}

static void leave(struct zc_cache *c, struct zc_page *p)
{
    struct zc_cache_tenant *s = p->tenant;

    if (p->stake == ZC_STAKE_RESERVED)
        zc_cache_tenant_reserve(c, p, (uint64_t)-1);
    s->npages--;
    if (zc_list_linked(&p->fill_link))
        s->nfills_ahead -= p->fill == ZC_FILL_AHEAD;
    p->tenant = NULL;
    zc_cache_tenant_reap(c, s);
}

static void join(struct zc_cache *c, struct zc_page *p, struct zc_cache_tenant *s)
{
    p->tenant = s;
    s->npages++;
    if (p->stake == ZC_STAKE_RESERVED)
        zc_cache_tenant_reserve(c, p, 1);
    if (zc_list_linked(&p->fill_link))
        s->nfills_ahead += p->fill == ZC_FILL_AHEAD;
    relink(&p->fill_link, p->fill == ZC_FILL_AHEAD ? &s->fills_ahead : &s->fills);
    relink(&p->dirty_link, &s->dirty);
    relink(&p->complete_link, &s->complete);
}

/* Moves the page to the lists of another tenant, before the old one may be freed. */
void zc_cache_tenant_give(struct zc_cache *c, struct zc_page *p, struct zc_cache_tenant *s)
{
    struct zc_cache_tenant *old = p->tenant;

    zc_assert_held(&c->lock);
    zc_debug_assert(!zc_lru_holds(p));
    if (old == s)
        return;
    if (old) {
        old->refs++; /* its lists still have the page */
        leave(c, p);
    }
    if (s)
        join(c, p, s);
    if (old) {
        old->refs--;
        zc_cache_tenant_reap(c, old);
    }
}

struct zc_cache_tenant *zc_cache_tenant_giver(const struct zc_cache *c)
{
    struct zc_cache_tenant *giver = NULL;

    zc_list_each (&c->tenants, n) {
        struct zc_cache_tenant *s = zc_list_entry(n, struct zc_cache_tenant, link);

        if (zc_list_empty(&s->pages))
            continue;
        if (!giver || (gone(s) != gone(giver) ? gone(s) : s->npages > giver->npages))
            giver = s;
    }
    return giver;
}

/* ---- levels ---- */

static bool waits(const struct zc_cache_tenant *s)
{
    return s->nthrottled > 0 || !zc_list_empty(&s->room);
}

/* Returns how much of `room` the tenant wants: all, if it waits; else what it has, plus half of its
 * equal part to begin with.  A tenant without open files wants no more than it has. */
static uint64_t want(const struct zc_cache_tenant *s, uint64_t has, uint64_t room, uint64_t n)
{
    if (waits(s))
        return UINT64_MAX;
    return has + (s->handles > 0 ? (room / n + 1) / 2 : 0);
}

static bool counts(const struct zc_cache_tenant *s)
{
    return s->handles > 0 || s->nreserved > 0;
}

/* Returns how much of `room` the tenant may have, of all pages or of those read ahead. */
static uint64_t level(struct zc_cache *c, const struct zc_cache_tenant *mine, uint64_t room,
                      bool ahead)
{
    uint64_t n = 1, others = 0, most;

    zc_list_each (&c->tenants, l) {
        const struct zc_cache_tenant *s = zc_list_entry(l, struct zc_cache_tenant, link);

        n += s != mine && counts(s);
    }
    if (n == 1)
        return room;
    zc_list_each (&c->tenants, l) {
        const struct zc_cache_tenant *s = zc_list_entry(l, struct zc_cache_tenant, link);

        if (s != mine && counts(s))
            c->wants[others++] = want(s, ahead ? s->nahead : s->npages, room, n);
    }
    c->wants[others++] = UINT64_MAX;
    most = zc_fair_share_level(c->wants, others, room);
    return most > 0 ? most : 1; /* also in a cache with fewer pages than tenants */
}

bool zc_cache_tenant_full(struct zc_cache *c, const struct zc_cache_tenant *s)
{
    return c->ntenants > 1 && c->nbarred == 0 &&
           s->nreserved >= level(c, s, zc_dirty_limit_healthy(c), false);
}

uint64_t zc_cache_tenant_ahead(struct zc_cache *c, const struct zc_cache_tenant *s, uint64_t quota)
{
    return c->ntenants > 1 ? level(c, s, quota, true) : quota;
}

/* ---- turns ---- */

void zc_cache_tenant_round(struct zc_cache *c)
{
    c->tries++;
}

/* Returns the tenant whose read, or write, begins next; `also` may write whatever it has. */
static struct zc_cache_tenant *next_of(struct zc_cache *c, bool reads,
                                       const struct zc_cache_tenant *also)
{
    struct zc_cache_tenant *next = NULL;
    uint64_t least = 0;

    zc_list_each (&c->tenants, n) {
        struct zc_cache_tenant *s = zc_list_entry(n, struct zc_cache_tenant, link);
        uint64_t start = reads ? zc_fair_share_start(&c->reads, &s->reads)
                               : zc_fair_share_start(&c->writes, &s->writes);
        bool has = reads ? !zc_list_empty(&s->fills) || !zc_list_empty(&s->fills_ahead)
                         : s->nreserved > 0 || s == also;

        if (!has || s->tried == c->tries || (next && start >= least))
            continue;
        next = s;
        least = start;
    }
    if (next)
        next->tried = c->tries;
    return next;
}

struct zc_cache_tenant *zc_cache_tenant_reader(struct zc_cache *c)
{
    return next_of(c, true, NULL);
}

struct zc_cache_tenant *zc_cache_tenant_writer(struct zc_cache *c,
                                               const struct zc_cache_tenant *also)
{
    return next_of(c, false, also);
}

/* Puts the tenant last among those with an equal turn. */
static void to_the_end(struct zc_cache *c, struct zc_cache_tenant *s)
{
    zc_list_del(&s->link);
    zc_list_add_tail(&c->tenants, &s->link);
}

bool zc_cache_tenants_compete(const struct zc_cache *c)
{
    return c->nreserving > 1;
}

bool zc_cache_tenants_many(const struct zc_cache *c)
{
    return c->nopen > 1;
}

void zc_cache_tenant_wrote(struct zc_cache *c, struct zc_cache_tenant *s, uint64_t bytes)
{
    zc_fair_share_serve(&c->writes, &s->writes, bytes);
    to_the_end(c, s);
}

void zc_cache_tenant_reads(struct zc_cache *c, struct zc_cache_tenant *s, uint64_t bytes)
{
    zc_fair_share_serve(&c->reads, &s->reads, bytes);
    to_the_end(c, s);
}
