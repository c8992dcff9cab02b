/* zc_flush_order.c - the order in which dirty pages are written, and which of them wait.
 *
 * The order is by a page's store cost per byte (zc_cost.h), relative to a whole page:
 *
 *     rank 0     whole pages, and long runs: waiting gains nothing
 *     rank 1     pieces that are short, or have to be merged with the bytes between them
 *     rank 2     the same at COSTLY times the cost of a whole page
 *     rank 3, 4  the same while the page grows: a write to it is under way, or was a moment ago
 *
 * A page of rank 1 or more waits until its file has been idle for some idle times: the missing
 * bytes most likely come by a collective call that other ranks are still in.  A page that would
 * have to be merged waits WAIT_MS, others as many idle times as their bytes cost more, up to that;
 * but at most GROWTH_MS since it was itself written to, and no longer than memory, a sync or a
 * close permit.
 *
 * A run of whole pages that fills a store write, from one multiple of zc_cache_config.max_io to the
 * next, leaves 1/SETTLED of the idle time after its last byte has come, if the store has none of
 * its pages yet: so the store works while the program still writes.  A page that was stored since
 * it entered the cache is likely to be written to once more, and waits for the idle time.
 *
 * When accesses wait for cache space and no page of rank 0 is dirty, writers that are behind in the
 * file may be about to complete a page.  Write-back then waits while accesses write to the cache,
 * and afterwards for as long as writing ROOM_PAGES pages takes: a page that is written before it is
 * whole costs a read, and a second write later.  Each wait that ends without a whole page halves
 * the next one, until a page becomes whole while accesses wait.  No access waits longer than
 * WAIT_MS for that.
 */
#include "config.h"

#include "zc_cache_internal.h"

enum {
    IDLE_MS = 50, /* for caches without an idle time */
    WAIT_MS = 1000,
    GROWTH_MS = 5000,
    CHEAP = 4, /* times a whole page's cost per byte: equally good */
    COSTLY = 16,
    COSTLY_WAIT = 20,  /* idle times, up to WAIT_MS ... */
    GROWTH_WAIT = 100, /* ... and up to GROWTH_MS */
    GROWING = 2,
    ROOM_PAGES = 4,
    GIVEN_UP = 8, /* unsuccessful waits in a row, after which none is tried */
    SETTLED = 10,
};

static uint64_t idle_ns(const struct zc_cache *c)
{
    return (c->cfg.idle_ms ? c->cfg.idle_ms : IDLE_MS) * ZC_NS_PER_MS;
}

/* Cost of a page's dirty bytes. */
struct expense {
    double times; /* cost per byte, relative to a whole page */
    bool merge;   /* other bytes would be written with them */
};

static struct expense expense_of(const struct zc_cache *c, const struct zc_page *p)
{
    struct zc_cost_shape s = zc_cost_shape_of(&p->dirty);
    const struct zc_cost_shape whole = {.ranges = 1, .bytes = c->page_size, .hull = c->page_size};
    struct expense e = {0};
    enum zc_cost_way way;

    if (p->dirty.bytes == c->page_size)
        return e;
    if (c->store->servers > 0)
        s.ranges = 1; /* a list is one request; but the server has to merge */
    way = zc_cost_choose(&c->cost, &s);
    e.merge = way != ZC_COST_LIST || p->dirty.n > s.ranges;
    e.times = zc_cost_of(&c->cost, &s, way) * c->page_size /
              ((double)s.bytes * zc_cost_of(&c->cost, &whole, ZC_COST_LIST));
    return e;
}

static bool grows(const struct zc_cache *c, const struct zc_page *p, uint64_t now)
{
    return p->nwriters > 0 || now < p->touched + idle_ns(c);
}

static unsigned rank_of(const struct expense *e)
{
    return e->times > COSTLY ? 2 : e->merge || e->times > CHEAP;
}

unsigned zc_flush_rank(const struct zc_cache *c, const struct zc_page *p, uint64_t now)
{
    struct expense e = expense_of(c, p);
    unsigned rank = rank_of(&e);

    zc_assert_held(&c->lock);
    return rank > 0 && grows(c, p, now) ? rank + GROWING : rank;
}

static uint64_t at_most(double ns, uint64_t ms)
{
    return ns < (double)(ms * ZC_NS_PER_MS) ? (uint64_t)ns : ms * ZC_NS_PER_MS;
}

bool zc_flush_waits(const struct zc_cache *c, const struct zc_page *p, uint64_t now, uint64_t *wake)
{
    struct expense e = expense_of(c, p);
    double idle = (double)idle_ns(c), times = e.merge ? COSTLY_WAIT : e.times;
    uint64_t until, most = p->touched + at_most(GROWTH_WAIT * idle, GROWTH_MS);

    zc_assert_held(&c->lock);
    if (rank_of(&e) == 0)
        return false;
    until = p->file->busy_at + at_most(times * idle, WAIT_MS);
    until = until < most ? until : most;
    if (until <= now)
        return false;
    if (until < *wake)
        *wake = until;
    return true;
}

/* ---- complete runs ---- */

static bool complete(const struct zc_cache *c, const struct zc_page *p)
{
    return p && p->on == ZC_ON_DIRTY && p->nwriters == 0 && !p->stored_once &&
           p->dirty.bytes == c->page_size;
}

/* Returns when a page of the run of `p` was last modified; 0: the run is not complete. */
static uint64_t completed_at(struct zc_cache *c, const struct zc_page *p)
{
    uint64_t n = c->cfg.max_io >> c->page_shift, first, at = 0;

    n = n ? n : 1;
    first = p->no - p->no % n;
    for (uint64_t no = first; no < first + n; no++) {
        const struct zc_page *q = no == p->no ? p : zc_page_find(c, p->file, no);

        if (!complete(c, q))
            return 0;
        at = q->touched > at ? q->touched : at;
    }
    return at;
}

bool zc_flush_completed(struct zc_cache *c, struct zc_page *p)
{
    struct zc_list *runs = &p->tenant->complete;
    bool first = zc_list_empty(runs);

    zc_assert_held(&c->lock);
    if (c->cfg.idle_ms == 0 || !complete(c, p) || !completed_at(c, p))
        return false;
    zc_list_del(&p->complete_link);
    zc_list_add_tail(runs, &p->complete_link);
    return first;
}

uint64_t zc_flush_complete_due(struct zc_cache *c, const struct zc_page *p)
{
    uint64_t at = completed_at(c, p);

    zc_assert_held(&c->lock);
    return at ? at + idle_ns(c) / SETTLED : 0;
}

/* ---- waiting for pages to be completed ---- */

/* Returns when the longest wait of an access for cache space began; `now`: no access waits. */
static uint64_t waited_since(const struct zc_cache *c, uint64_t now)
{
    uint64_t since = now;

    zc_list_each (&c->room, l) {
        const struct zc_cache_tenant *s = zc_list_entry(l, struct zc_cache_tenant, room_link);
        const struct zc_access *a = zc_list_entry(s->room.next, struct zc_access, link);

        since = a->since < since ? a->since : since;
    }
    if (!zc_list_empty(&c->throttled)) {
        const struct zc_access *a = zc_list_entry(c->throttled.next, struct zc_access, link);

        since = a->since < since ? a->since : since;
    }
    return since;
}

bool zc_flush_waits_growth(struct zc_cache *c, const struct zc_page *p, uint64_t now,
                           uint64_t *wake)
{
    const struct zc_cost_shape whole = {.ranges = 1, .bytes = c->page_size, .hull = c->page_size};
    struct expense e = expense_of(c, p);
    double ns = ROOM_PAGES * zc_cost_of(&c->cost, &whole, ZC_COST_LIST);
    uint64_t until, most;

    zc_assert_held(&c->lock);
    if (rank_of(&e) == 0 || c->given_up >= GIVEN_UP)
        return false;
    until = c->busy_at + (at_most(ns, WAIT_MS) >> c->given_up);
    most = waited_since(c, now) + WAIT_MS * ZC_NS_PER_MS;
    until = until < most ? until : most;
    if (until <= now) {
        c->given_up += c->gave_up != c->busy_at;
        c->gave_up = c->busy_at;
        return false;
    }
    if (until < *wake)
        *wake = until;
    return true;
}

void zc_flush_grown(struct zc_cache *c, const struct zc_page *p)
{
    zc_assert_held(&c->lock);
    if (c->given_up > 0 && c->st.waiting_room > 0 && p->dirty.bytes == c->page_size)
        c->given_up = 0;
}
