/* zc_flush_order.c - the order in which dirty pages are written, and which of them wait.
 *
 * The order is by a page's store cost per byte (zc_cost.h), relative to a whole page:
 *
 *     class 0     whole pages, and long pieces: waiting gains nothing
 *     class 1     pieces that are short, or have to be merged with the bytes between them
 *     class 2     the same at COSTLY times the cost of a whole page
 *     class 3, 4  1 and 2 while the page grows: a write to it is under way, or was within the last
 *                 idle time
 *
 * A page of class 1 or more is postponed, counted from the last write to its file: the missing
 * bytes most likely come by a collective call that other processes are still in.  A page to be
 * merged waits MERGE_WAIT idle times, another as many idle times as its cost per byte is times that
 * of a whole page, WAIT_MS at most; but no longer than GROWTH_WAIT idle times, GROWTH_MS at most,
 * since the last write to the page itself.  Shortage of memory, a sync or a close ends the wait.
 *
 * A window is what one store write may carry: pages from one multiple of the largest write to the
 * next, within one block of the file where other servers have the next block.  A window of whole
 * pages is a complete run.  It leaves 1/RUN_IDLE_PART of the idle time after its last byte has
 * come, if the store has none of its pages yet: so the store works while the program still writes.
 * A page that was stored since it entered the cache is likely to be written to once more, and waits
 * for the idle time.
 *
 * When accesses wait for cache space and no page of class 0 is dirty, writers that are behind in
 * the file may be about to make a page whole.  Write-back is then postponed until no access has
 * written to the cache for as long as writing ROOM_PAGES whole pages takes by zc_cost.h: a page
 * that is written before it is whole costs a read, and a second write later.  Each wait that ends
 * without a whole page halves the next one, and after VAIN_WAITS_MOST there is none, until a page
 * becomes whole while accesses wait.  No access waits longer than WAIT_MS for that.
 */
#include "config.h"

#include "zc_cache_internal.h"

enum {
    IDLE_MS = 50, /* for caches without an idle time */
    WAIT_MS = 1000,
    GROWTH_MS = 5000,
    CHEAP = 4,         /* times a whole page's cost per byte: class 0 up to here, */
    COSTLY = 16,       /* ... and class 2 beyond this */
    CLASS_GROWING = 2, /* added to the class */
    MERGE_WAIT = 20,   /* idle times, up to WAIT_MS ... */
    GROWTH_WAIT = 100, /* ... and up to GROWTH_MS */
    ROOM_PAGES = 4,
    VAIN_WAITS_MOST = 8,
    RUN_IDLE_PART = 10,
    SHARED_IO = 4, /* factor by which store writes are shorter between tenants */
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

static unsigned class_of(const struct expense *e)
{
    return e->times > COSTLY ? 2 : e->merge || e->times > CHEAP;
}

unsigned zc_flush_class(const struct zc_cache *c, const struct zc_page *p, uint64_t now)
{
    struct expense e = expense_of(c, p);
    unsigned class = class_of(&e);

    zc_assert_held(&c->lock);
    return class > 0 && grows(c, p, now) ? class + CLASS_GROWING : class;
}

static uint64_t at_most(double ns, uint64_t ms)
{
    return ns < (double)(ms * ZC_NS_PER_MS) ? (uint64_t)ns : ms * ZC_NS_PER_MS;
}

bool zc_flush_waits(const struct zc_cache *c, const struct zc_page *p, uint64_t now, uint64_t *wake)
{
    struct expense e = expense_of(c, p);
    double idle = (double)idle_ns(c), times = e.merge ? MERGE_WAIT : e.times;
    uint64_t until, most = p->touched + at_most(GROWTH_WAIT * idle, GROWTH_MS);

    zc_assert_held(&c->lock);
    if (class_of(&e) == 0)
        return false;
    until = p->file->busy_at + at_most(times * idle, WAIT_MS);
    until = until < most ? until : most;
    if (until <= now)
        return false;
    if (until < *wake)
        *wake = until;
    return true;
}

/* ---- windows, and complete runs ---- */

uint32_t zc_flush_most(const struct zc_cache *c)
{
    return zc_cache_tenants_many(c) ? c->cfg.max_io / SHARED_IO : c->cfg.max_io;
}

/* Returns the start of the stretch of `n` pages that has page `no`. */
static uint64_t start_of(uint64_t no, uint64_t n)
{
    return no - no % n;
}

struct zc_flush_window zc_flush_window(const struct zc_cache *c, const struct zc_page *p)
{
    uint64_t most = zc_flush_most(c) >> c->page_shift;
    uint64_t block = p->file->servers > 1 ? p->file->block_size >> c->page_shift : 0, start;
    struct zc_flush_window w;

    zc_assert_held(&c->lock);
    most = most < 1 ? 1 : most > ZC_WINDOW_PAGES ? ZC_WINDOW_PAGES : most;
    w.first = start_of(p->no, most);
    w.end = w.first + most;
    if (block) {
        start = start_of(p->no, block);
        w.first = start > w.first ? start : w.first;
        w.end = start + block < w.end ? start + block : w.end;
    }
    return w;
}

/* Whether the page can be part of a complete run. */
static bool ready(const struct zc_cache *c, const struct zc_page *p)
{
    return p && p->on == ZC_ON_DIRTY && p->nwriters == 0 && !p->stored_once &&
           p->dirty.bytes == c->page_size;
}

/* Returns when a page of the window of `p` was last modified; 0: it is no complete run. */
static uint64_t run_modified_at(struct zc_cache *c, const struct zc_page *p)
{
    struct zc_flush_window w = zc_flush_window(c, p);
    uint64_t n = w.end - w.first, at = 0;

    /* From `p` on, and round: while pages arrive in order, the first look ends it. */
    for (uint64_t i = 0; i < n; i++) {
        uint64_t no = w.first + (p->no - w.first + i) % n;
        const struct zc_page *q = i ? zc_page_find(c, p->file, no) : p;

        if (!ready(c, q))
            return 0;
        at = q->touched > at ? q->touched : at;
    }
    return at;
}

bool zc_flush_note_run(struct zc_cache *c, struct zc_page *p)
{
    struct zc_list *runs = &p->tenant->complete;
    bool first = zc_list_empty(runs);

    zc_assert_held(&c->lock);
    if (c->cfg.idle_ms == 0 || !ready(c, p) || !run_modified_at(c, p))
        return false;
    zc_list_del(&p->complete_link);
    zc_list_add_tail(runs, &p->complete_link);
    return first;
}

uint64_t zc_flush_run_due(struct zc_cache *c, const struct zc_page *p)
{
    uint64_t at = run_modified_at(c, p);

    zc_assert_held(&c->lock);
    return at ? at + idle_ns(c) / RUN_IDLE_PART : 0;
}

/* ---- waiting for pages to become whole ---- */

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
    if (class_of(&e) == 0 || c->vain_waits >= VAIN_WAITS_MOST)
        return false;
    until = c->busy_at + (at_most(ns, WAIT_MS) >> c->vain_waits);
    most = waited_since(c, now) + WAIT_MS * ZC_NS_PER_MS;
    until = until < most ? until : most;
    if (until <= now) {
        c->vain_waits += c->vain_wait_at != c->busy_at;
        c->vain_wait_at = c->busy_at;
        return false;
    }
    if (until < *wake)
        *wake = until;
    return true;
}

void zc_flush_page_whole(struct zc_cache *c, const struct zc_page *p)
{
    zc_assert_held(&c->lock);
    if (c->vain_waits > 0 && c->st.waiting_room > 0 && p->dirty.bytes == c->page_size)
        c->vain_waits = 0;
}
