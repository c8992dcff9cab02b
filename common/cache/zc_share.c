/* zc_share.c - who shares a cache. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "zc_cache_internal.h"

/* ---- which there are ---- */

static void init(struct zc_cache *c, struct zc_share *s, uint64_t id)
{
    s->id = id;
    zc_list_init(&s->pages);
    zc_list_init(&s->dirty);
    zc_list_init(&s->room);
    zc_list_init(&s->room_link);
    zc_list_init(&s->fills);
    zc_list_init(&s->fills_ahead);
    zc_list_add_tail(&c->shares, &s->link);
    c->nshares++;
}

void zc_shares_init(struct zc_cache *c)
{
    zc_list_init(&c->shares);
    init(c, &c->nobody, 0);
}

void zc_shares_free(struct zc_cache *c)
{
    zc_list_each_safe (&c->shares, n) {
        struct zc_share *s = zc_list_entry(n, struct zc_share, link);

        if (s != &c->nobody)
            free(s);
    }
    free(c->wants);
}

static bool gone(const struct zc_share *s)
{
    return s->refs == 0 && s->handles == 0;
}

void zc_share_reap(struct zc_cache *c, struct zc_share *s)
{
    zc_assert_held(&c->lock);
    if (!gone(s) || s->npages > 0 || s == &c->nobody)
        return;
    zc_list_del(&s->link);
    c->nshares--;
    free(s);
}

static struct zc_share *find(const struct zc_cache *c, uint64_t id)
{
    zc_list_each (&c->shares, n) {
        struct zc_share *s = zc_list_entry(n, struct zc_share, link);

        if (s->id == id && s != &c->nobody)
            return s;
    }
    return NULL;
}

/* Room for the wants of all, before there is one more. */
static struct zc_share *make(struct zc_cache *c, uint64_t id)
{
    uint64_t *wants = realloc(c->wants, (c->nshares + 1) * sizeof *wants);
    struct zc_share *s = calloc(1, sizeof *s);

    if (wants)
        c->wants = wants;
    if (!wants || !s) {
        free(s);
        return NULL;
    }
    init(c, s, id);
    return s;
}

struct zc_share *zc_cache_share(struct zc_cache *c, uint64_t id)
{
    struct zc_share *s;

    zc_lock_get(&c->lock);
    s = find(c, id);
    if (!s)
        s = make(c, id);
    if (s)
        s->refs++;
    zc_lock_put(&c->lock);
    return s;
}

void zc_cache_share_put(struct zc_cache *c, struct zc_share *s)
{
    if (!s)
        return;
    zc_lock_get(&c->lock);
    s->refs--;
    zc_share_reap(c, s);
    zc_cache_unlock(c);
}

void zc_share_open(struct zc_cache *c, struct zc_share *s)
{
    zc_assert_held(&c->lock);
    c->nopen += s->handles++ == 0 && s != &c->nobody;
}

void zc_share_close(struct zc_cache *c, struct zc_share *s)
{
    zc_assert_held(&c->lock);
    c->nopen -= --s->handles == 0 && s != &c->nobody;
    zc_share_reap(c, s);
}

void zc_cache_charge(struct zc_handle *h, struct zc_share *s)
{
    struct zc_cache *c = h->file->cache;

    if (!s)
        return;
    zc_lock_get(&c->lock);
    zc_debug_assert(h->accesses == 0 && h->nahead == 0 && h->share == &c->nobody);
    zc_share_close(c, h->share);
    h->share = s;
    zc_share_open(c, s);
    zc_lock_put(&c->lock);
}

/* ---- whose a page is ---- */

void zc_share_claim(struct zc_cache *c, struct zc_page *p, uint64_t more)
{
    struct zc_share *s = p->share;

    c->nclaiming -= s->nclaimed > 0;
    s->nclaimed += more;
    c->nclaiming += s->nclaimed > 0;
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
    struct zc_share *s = p->share;

    if (p->claimed)
        zc_share_claim(c, p, (uint64_t)-1);
    s->npages--;
    if (zc_list_linked(&p->fill_link))
        s->nfills_ahead -= p->read_ahead;
    p->share = NULL;
    zc_share_reap(c, s);
}

static void join(struct zc_cache *c, struct zc_page *p, struct zc_share *s)
{
    p->share = s;
    s->npages++;
    if (p->claimed)
        zc_share_claim(c, p, 1);
    if (zc_list_linked(&p->fill_link))
        s->nfills_ahead += p->read_ahead;
    relink(&p->fill_link, p->read_ahead ? &s->fills_ahead : &s->fills);
    relink(&p->dirty_link, &s->dirty);
}

/* Its lists are those of the new share before the old one may be freed. */
void zc_share_give(struct zc_cache *c, struct zc_page *p, struct zc_share *s)
{
    struct zc_share *old = p->share;

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
        zc_share_reap(c, old);
    }
}

struct zc_share *zc_share_giver(const struct zc_cache *c)
{
    struct zc_share *giver = NULL;

    zc_list_each (&c->shares, n) {
        struct zc_share *s = zc_list_entry(n, struct zc_share, link);

        if (zc_list_empty(&s->pages))
            continue;
        if (!giver || (gone(s) != gone(giver) ? gone(s) : s->npages > giver->npages))
            giver = s;
    }
    return giver;
}

/* ---- levels ---- */

static bool waits(const struct zc_share *s)
{
    return s->ncurbed > 0 || !zc_list_empty(&s->room);
}

/* What a share wants of what there is `room` of: all, if it waits; else what it has, and half of
 * its part of all, to begin with.  One without open files begins nothing. */
static uint64_t want(const struct zc_share *s, uint64_t has, uint64_t room, uint64_t n)
{
    if (waits(s))
        return UINT64_MAX;
    return has + (s->handles > 0 ? (room / n + 1) / 2 : 0);
}

static bool counts(const struct zc_share *s)
{
    return s->handles > 0 || s->nclaimed > 0;
}

/* How much of `room` the share may have at most, of pages, or of those that are read ahead. */
static uint64_t level(struct zc_cache *c, const struct zc_share *mine, uint64_t room, bool ahead)
{
    uint64_t n = 1, others = 0, most;

    zc_list_each (&c->shares, l) {
        const struct zc_share *s = zc_list_entry(l, struct zc_share, link);

        n += s != mine && counts(s);
    }
    if (n == 1)
        return room;
    zc_list_each (&c->shares, l) {
        const struct zc_share *s = zc_list_entry(l, struct zc_share, link);

        if (s != mine && counts(s))
            c->wants[others++] = want(s, ahead ? s->nahead : s->npages, room, n);
    }
    c->wants[others++] = UINT64_MAX;
    most = zc_fair_level(c->wants, others, room);
    return most > 0 ? most : 1; /* in a cache of fewer pages than shares, too */
}

bool zc_share_full(struct zc_cache *c, const struct zc_share *s)
{
    return c->nshares > 1 && c->nbarred == 0 &&
           s->nclaimed >= level(c, s, zc_quota_healthy(c), false);
}

uint64_t zc_share_ahead(struct zc_cache *c, const struct zc_share *s, uint64_t quota)
{
    return c->nshares > 1 ? level(c, s, quota, true) : quota;
}

/* ---- turns ---- */

void zc_share_round(struct zc_cache *c)
{
    c->tries++;
}

/* The one of which a read, or else a write, is begun next; `also` may write whatever it has. */
static struct zc_share *next_of(struct zc_cache *c, bool reads, const struct zc_share *also)
{
    struct zc_share *next = NULL;
    uint64_t least = 0;

    zc_list_each (&c->shares, n) {
        struct zc_share *s = zc_list_entry(n, struct zc_share, link);
        uint64_t start =
            reads ? zc_fair_start(&c->reads, &s->reads) : zc_fair_start(&c->writes, &s->writes);
        bool has = reads ? !zc_list_empty(&s->fills) || !zc_list_empty(&s->fills_ahead)
                         : s->nclaimed > 0 || s == also;

        if (!has || s->tried == c->tries || (next && start >= least))
            continue;
        next = s;
        least = start;
    }
    if (next)
        next->tried = c->tries;
    return next;
}

struct zc_share *zc_share_reader(struct zc_cache *c)
{
    return next_of(c, true, NULL);
}

struct zc_share *zc_share_writer(struct zc_cache *c, const struct zc_share *also)
{
    return next_of(c, false, also);
}

/* Of equal ones it is the last, next time. */
static void to_the_end(struct zc_cache *c, struct zc_share *s)
{
    zc_list_del(&s->link);
    zc_list_add_tail(&c->shares, &s->link);
}

bool zc_share_turns(const struct zc_cache *c)
{
    return c->nclaiming > 1;
}

bool zc_share_crowd(const struct zc_cache *c)
{
    return c->nopen > 1;
}

void zc_share_wrote(struct zc_cache *c, struct zc_share *s, uint64_t bytes)
{
    zc_fair_serve(&c->writes, &s->writes, bytes);
    to_the_end(c, s);
}

void zc_share_reads(struct zc_cache *c, struct zc_share *s, uint64_t bytes)
{
    zc_fair_serve(&c->reads, &s->reads, bytes);
    to_the_end(c, s);
}
