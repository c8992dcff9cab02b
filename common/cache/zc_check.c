/* zc_check.c - checks the invariants of zc_cache.c in debug builds.
 *
 * Small caches are scanned whenever the lock is released, large ones now and then.  The thread
 * sanitizer makes a scan twenty times as slow: with it small ones are scanned now and then, too;
 * other debug builds see every transition.  Scans of pages with many ranges take long, and are made
 * less often.
 */
#include "config.h"

#include "zc_cache_internal.h"
#include "zc_tsan.h"

#ifdef ZC_DEBUG

#ifdef ZC_TSAN
enum { EVERY_SMALL = 16 };
#else
enum { EVERY_SMALL = 1 };
#endif
enum { SMALL_PAGES = 64, EVERY_LARGE = 1024 };
enum { FEW_RANGES = 16 << 10, RANGES = 512 }; /* bytes of ranges; so many put it off by a turn */

struct sums {
    uint64_t dirty, flushing, used, pinned, reading, in_flush, failed, lru, ndirty, ahead, ranges;
    uint64_t refused, reserved, barred, kept, pins_unstable;
};

static bool covers(const struct zc_extents *big, const struct zc_extents *small)
{
    const struct zc_range *b = zc_extents_ranges(big), *r = zc_extents_ranges(small);

    for (uint32_t i = 0, j = 0; i < small->n; i++) {
        while (j < big->n && b[j].hi < r[i].hi)
            j++;
        if (j == big->n || b[j].lo > r[i].lo)
            return false;
    }
    return true;
}

static uint32_t room_of(const struct zc_extents *e)
{
    return e->cap ? e->cap : ZC_EXTENTS_IN_PLACE;
}

static void check_page(struct zc_cache *c, struct zc_page *p, struct sums *s)
{
    bool dirty = !zc_extents_empty(&p->dirty), failed = p->refused == ZC_REFUSED_ALONE;
    bool reserved = p->stake == ZC_STAKE_RESERVED;
    unsigned writers = 0;

    zc_list_each (&p->writers, n)
        writers++;
    assert(writers == p->nwriters && writers <= p->pins);
    assert(covers(&p->valid, &p->dirty));                                           /* 1 */
    assert(covers(&p->valid, &p->flushing));                                        /* 1 */
    assert(p->in_flush || zc_extents_empty(&p->flushing));                          /* 2 */
    assert(zc_lru_holds(p) == (!dirty && zc_page_idle(p) && !zc_unstable_pins(p))); /* 3 */
    assert(p->on == (p->in_flush ? ZC_ON_FLUSHING
                     : !dirty    ? ZC_ON_NONE
                     : failed    ? ZC_ON_FAILED
                                 : ZC_ON_DIRTY)); /* 4 */
    assert(zc_list_linked(&p->state_link) == (p->on != ZC_ON_NONE));
    assert(zc_list_linked(&p->dirty_link) == (p->on == ZC_ON_DIRTY));
    assert(room_of(&p->valid) >= p->valid.n + p->promised); /* 7 */
    assert(room_of(&p->dirty) >= p->dirty.n + p->flushing.n + p->promised);
    assert(!dirty || p->file->wr); /* 8 */
    assert(!zc_page_to_drop(p) || dirty || p->in_flush);
    assert(p->file->handles > 0 || zc_list_empty(&p->waiters));
    assert(zc_page_find(c, p->file, p->no) == p);
    assert(p->fill != ZC_FILL_NONE || !(zc_list_linked(&p->fill_link) || p->stale)); /* 9 */
    assert(!p->outdated || p->pins > p->nwriters);                                   /* 11 */
    assert(!p->outdated ||
           room_of(&p->valid) >= p->dirty.n + p->flushing.n + p->kept.n + p->promised);
    assert(!zc_list_linked(&p->fill_link) || p->fill != ZC_FILL_AHEAD ||
           zc_list_empty(&p->waiters));
    assert(zc_list_linked(&p->ahead_link) == (p->ahead_for != NULL));
    assert((p->ahead == ZC_AHEAD_ASKED || p->ahead == ZC_AHEAD_BEGUN) == (p->ahead_for != NULL));
    assert(p->reads != ZC_READS_ALONE || p->fill != ZC_FILL_NONE);
    assert(reserved == (dirty || p->in_flush || p->nwriters > 0 || zc_unstable_pins(p))); /* 13 */
    assert(covers(&p->valid, &p->kept));                                                  /* 14 */
    assert(zc_list_linked(&p->kept_link) == !zc_extents_empty(&p->kept));
    assert(!zc_list_linked(&p->kept_link) || zc_list_linked(&p->file->unstable.link));
    assert(!p->published || zc_list_linked(&p->kept_link));
    assert((p->stake != ZC_STAKE_NONE) == (reserved || zc_list_linked(&p->kept_link)));
    assert(zc_publish_is_current(c, p)); /* 16 */
    s->pins_unstable += p->stake != ZC_STAKE_NONE;
    s->kept += zc_extents_bytes(&p->kept);
    assert(p->refused == ZC_REFUSED_NONE || dirty || p->in_flush);
    s->refused += failed;
    s->reserved += reserved;
    s->barred += reserved && p->file->nfailed > 0;
    s->ahead += p->ahead_for != NULL;
    s->ranges += p->range_bytes;
    s->dirty += zc_extents_bytes(&p->dirty);
    s->flushing += zc_extents_bytes(&p->flushing);
    s->used++;
    s->pinned += p->pins > 0;
    s->reading += p->fill != ZC_FILL_NONE;
    s->in_flush += p->in_flush;
    s->failed += p->on == ZC_ON_FAILED;
    s->ndirty += p->on == ZC_ON_DIRTY;
    assert(!zc_list_linked(&p->complete_link) || p->on == ZC_ON_DIRTY);
    s->lru += zc_lru_holds(p);
}

static uint64_t length(const struct zc_list *l)
{
    uint64_t len = 0;

    zc_list_each (l, n)
        len++;
    return len;
}

static void check_file(struct zc_cache *c, struct zc_file *f)
{
    struct sums s = {0};
    uint64_t epoch = 0;

    zc_list_each (&f->pages, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, file_link);

        assert(p->file == f);
        check_page(c, p, &s);
    }
    assert(s.dirty == f->dirty_bytes && s.flushing == f->flushing_bytes); /* 6 */
    assert(s.kept == f->unstable.bytes);                                  /* 14 */
    assert(s.used == f->npages && s.reading == f->nreading && s.in_flush == f->nflushing);
    assert(s.ndirty == length(&f->dirty) && s.failed == length(&f->failed));
    assert(s.in_flush == length(&f->flushing));
    assert(s.refused == f->nfailed && s.reserved == f->nreserved);
    assert((f->nfailed > 0) == (f->write_why.rc != 0));
    assert(zc_list_linked(&f->failed_link) == !zc_list_empty(&f->failed));
    assert(f->validator.writing == 0 || f->validator.state != ZC_VALIDATOR_NOTED);
    zc_list_each (&f->dirty, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, state_link);

        assert(p->epoch >= epoch && p->epoch <= f->epoch);
        epoch = p->epoch;
    }
}

static void check_shares(const struct zc_cache *c) /* 15 */
{
    uint64_t waiting = 0, pages = 0, reserved = 0, dirty = 0, ahead = 0, fills = 0, reserving = 0,
             open = 0;

    zc_list_each (&c->tenants, n) {
        const struct zc_cache_tenant *s = zc_list_entry(n, struct zc_cache_tenant, link);

        assert(zc_list_linked(&s->room_link) == !zc_list_empty(&s->room));
        assert(length(&s->fills_ahead) == s->nfills_ahead && s->nreserved <= s->npages);
        waiting += length(&s->room) + s->nthrottled;
        pages += s->npages;
        reserved += s->nreserved;
        reserving += s->nreserved > 0;
        open += s->handles > 0 && s != &c->no_tenant;
        dirty += length(&s->dirty);
        ahead += s->nahead;
        fills += s->nfills_ahead;
    }
    assert(length(&c->tenants) == c->ntenants && reserving == c->nreserving && open == c->nopen);
    assert(pages == c->nused && reserved == c->nreserved && dirty == c->ndirty);
    assert(ahead == c->nahead && fills == c->nfills_ahead && waiting == c->st.waiting_room);
}

static void full_scan(struct zc_cache *c)
{
    struct sums s = {0};

    for (uint64_t i = 0; i < c->fresh; i++)
        if (c->pages[i].file)
            check_page(c, &c->pages[i], &s);
    assert(s.dirty == c->dirty_bytes && s.flushing == c->flushing_bytes);        /* 6 */
    assert(s.kept == c->retained_bytes && s.pins_unstable == c->npins_unstable); /* 14 */
    assert(s.used == c->nused && s.pinned == c->npinned && s.reading == c->nreading);
    assert(s.in_flush == c->nflushing);
    assert(s.reserved == c->nreserved && s.barred == c->nbarred); /* 13 */
    assert(s.refused == c->nrefused);
    assert(c->npages < 2 || c->nreserved < c->npages || c->shrunk);
    assert(s.ahead == c->nahead && c->nahead <= c->extent / 4); /* 10 */
    assert(s.ranges == c->range_bytes);                         /* free pages hold none */
    assert(s.lru == zc_lru_length(c) && s.lru == c->lru.n && s.ndirty == c->ndirty); /* 3, 4 */
    assert(s.used + length(&c->free) == c->nheld);                                   /* 12 */
    assert(c->nheld + length(&c->spare) == c->fresh && c->fresh <= c->extent);
    check_shares(c);
    for (unsigned i = 0; i < ZC_FILE_BUCKETS; i++)
        zc_list_each (&c->files[i], n)
            check_file(c, zc_list_entry(n, struct zc_file, link));
}

void zc_cache_check(struct zc_cache *c)
{
    static _Thread_local uint64_t calls;
    uint64_t every = c->npages <= SMALL_PAGES ? EVERY_SMALL : EVERY_LARGE;

    zc_assert_held(&c->lock);
    if (c->range_bytes > FEW_RANGES)
        every += c->range_bytes / RANGES;
    if (++calls < every)
        return;
    calls = 0;
    full_scan(c);
}

#else
typedef int zc_check_is_for_debug_builds;
#endif
