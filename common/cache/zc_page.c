/* zc_page.c - the page table: frames of the arena, the page in each, and its lists.
 *
 * States of a page
 *
 *            zc_page_take                      zc_page_drop (zc_lru_evict, truncate, discard)
 *     FREE ----------------> CLEAN ---------------------------------------------> FREE
 *                            ^   |
 *           zc_page_flushed  |   | zc_page_dirty (end of a write)
 *                            |   v
 *       +--------------------+  DIRTY <-------------------+
 *       |                        | zc_page_to_flushing    | zc_page_unflushed: the store
 *       |                        v                        | refused several pages; each
 *       +-------------------- FLUSHING -------------------+ is tried alone
 *                                ^  |
 *            another try:        |  | zc_page_unflushed: refused this page
 *            zc_page_to_flushing |  v
 *                              FAILED
 *
 * Not drawn: zc_page_clean() makes DIRTY and FAILED pages CLEAN (truncated, discarded), and
 * zc_page_drop() frees them when their file is gone or their bytes are lost.  A DIRTY page becomes
 * FAILED directly if there is no memory for its store write.  A FLUSHING page may be written to:
 * these bytes are in `flushing` and again in `dirty`, zc_page_flushed() leaves the page DIRTY, and
 * they go out in the next store write.
 *
 * Over a lossy store, bytes that were written back are kept until they are stored (zc_unstable.h),
 * in any of these states; zc_page_again() makes them dirty when the store has lost them.
 *
 * Orthogonal to these (zc_page_state.h): read by the store, or queued for that (zc_fill.c), read
 * ahead and not used yet (zc_readahead.c), refused, and counted among those that must stay.
 * Besides: pinned (pins > 0), waited for, outdated (clean bytes may have been changed by others:
 * from zc_page_outdate() to zc_page_renew()).
 *
 * zc_page_place() is the only function that moves a page between lists and sets page->on; all
 * others change the page and call it.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "zc_cache_internal.h"
#include "zc_log.h"

enum {
    LITTLE = 4,      /* room for ranges is given back when less than 1/LITTLE of it is used */
    FEW_RANGES = 64, /* ranges of a page that are not worth a collapse */
    RANGE_PART = 8   /* memory for ranges: this fraction of page memory */
};

static uint64_t hash_of(struct zc_cache *c, const struct zc_file *f, uint64_t no)
{
    uint64_t x = ((uintptr_t)f >> 4) * 0x9e3779b97f4a7c15ull + no * 0xd6e8feb86659fd93ull;

    return (x ^ (x >> 32)) & c->hash_mask;
}

struct zc_page *zc_page_find(struct zc_cache *c, const struct zc_file *f, uint64_t no)
{
    struct zc_page *p = c->hash[hash_of(c, f, no)];

    zc_assert_held(&c->lock);
    while (p && (p->file != f || p->no != no))
        p = p->hash_next;
    return p;
}

char *zc_page_data(struct zc_cache *c, const struct zc_page *p)
{
    return c->arena + ((size_t)(p - c->pages) << c->page_shift);
}

uint64_t zc_page_offset(struct zc_cache *c, const struct zc_page *p)
{
    return p->no << c->page_shift;
}

bool zc_page_frozen(struct zc_cache *c, const struct zc_page *p)
{
    return zc_page_offset(c, p) + c->page_size > p->file->frozen;
}

bool zc_page_available(struct zc_cache *c)
{
    return zc_frames_any(c) || (!zc_frames_over(c) && zc_lru_any(c));
}

bool zc_page_idle(const struct zc_page *p)
{
    return p->pins == 0 && p->fill == ZC_FILL_NONE && !p->in_flush && zc_list_empty(&p->waiters);
}

void zc_page_hash(struct zc_cache *c, struct zc_page *p)
{
    uint64_t h = hash_of(c, p->file, p->no);

    p->hash_next = c->hash[h];
    c->hash[h] = p;
}

static struct zc_page *take_frame(struct zc_cache *c)
{
    struct zc_page *p = zc_frames_take(c);

    while (!p && !zc_frames_over(c) && zc_lru_evict(c))
        p = zc_frames_take(c);
    return p;
}

struct zc_page *zc_page_take(struct zc_cache *c, const struct zc_handle *h, uint64_t no)
{
    struct zc_file *f = h->file;
    struct zc_page *p;

    zc_assert_held(&c->lock);
    if (zc_write_direct_covers(f, no))
        return NULL;
    p = take_frame(c);
    if (!p)
        return NULL;
    p->file = f;
    p->no = no;
    zc_cache_tenant_give(c, p, h->tenant);
    zc_page_hash(c, p);
    zc_list_add_tail(&f->pages, &p->file_link);
    f->npages++;
    c->nused++;
    p->max_extents = c->cfg.max_extents;
    p->reads = ZC_READS_JOINED;
    p->refused = ZC_REFUSED_NONE;
    p->ahead = ZC_AHEAD_NONE;
    p->published = p->stored_once = p->written = false;
    p->undefined_lo = p->undefined_hi = 0;
    zc_page_csum_enter(c, p);
    zc_lru_enter(p);
    return p;
}

struct zc_page *zc_page_take_ahead(struct zc_cache *c, const struct zc_handle *h, uint64_t no)
{
    return zc_frames_any(c) || zc_lru_any_old(c, h->tenant) ? zc_page_take(c, h, no) : NULL;
}

void zc_page_drop(struct zc_cache *c, struct zc_page *p)
{
    struct zc_page **at = &c->hash[hash_of(c, p->file, p->no)];
    struct zc_file *f = p->file;

    zc_assert_held(&c->lock);
    zc_debug_assert(zc_page_idle(p));
    if (p->ahead_for)
        zc_readahead_wasted(c, p);
    zc_page_clean(c, p, 0, c->page_size);
    zc_unstable_release(c, p);
    zc_page_place(c, p);
    zc_publish_hide(c, p);
    while (*at != p)
        at = &(*at)->hash_next;
    *at = p->hash_next;
    zc_list_del(&p->file_link);
    zc_lru_place(c, p, false);
    zc_list_del(&p->drop_link);
    zc_cache_tenant_give(c, p, NULL);
    f->npages--;
    c->nused--;
    p->file = NULL;
    zc_extents_free(&p->valid);
    zc_extents_free(&p->dirty);
    zc_extents_free(&p->flushing);
    zc_extents_free(&p->kept);
    zc_page_count_ranges(c, p);
    zc_frames_give(c, p);
    zc_file_reap(f);
}

/* Inserts by epoch; nearly always at the tail or, after a failure, at the head. */
static void insert_by_epoch(struct zc_list *head, struct zc_page *p)
{
    struct zc_list *at = head;

    if (!zc_list_empty(head) &&
        p->epoch <= zc_list_entry(head->next, struct zc_page, state_link)->epoch)
        at = head->next;
    else
        while (at->prev != head &&
               zc_list_entry(at->prev, struct zc_page, state_link)->epoch > p->epoch)
            at = at->prev;
    zc_list_add_tail(at, &p->state_link); /* before `at` */
}

static enum zc_page_on where(const struct zc_page *p)
{
    if (p->in_flush)
        return ZC_ON_FLUSHING;
    if (zc_extents_empty(&p->dirty))
        return ZC_ON_NONE;
    return p->refused == ZC_REFUSED_ALONE ? ZC_ON_FAILED : ZC_ON_DIRTY;
}

static void leave(struct zc_cache *c, struct zc_page *p)
{
    struct zc_file *f = p->file;

    zc_list_del(&p->state_link);
    c->ndirty -= zc_list_linked(&p->dirty_link);
    zc_list_del(&p->dirty_link);
    zc_list_del(&p->complete_link);
    if (p->on == ZC_ON_FAILED) {
        if (zc_list_empty(&f->failed))
            zc_list_del(&f->failed_link);
    } else if (p->on == ZC_ON_FLUSHING) {
        c->nflushing--;
        f->nflushing--;
    }
}

static void join(struct zc_cache *c, struct zc_page *p)
{
    struct zc_file *f = p->file;

    switch (p->on) {
    case ZC_ON_DIRTY:
        insert_by_epoch(&f->dirty, p);
        zc_list_add_tail(&p->tenant->dirty, &p->dirty_link);
        c->ndirty++;
        break;
    case ZC_ON_FAILED:
        zc_list_add_tail(&f->failed, &p->state_link);
        if (!zc_list_linked(&f->failed_link))
            zc_list_add_tail(&c->failed_files, &f->failed_link);
        break;
    case ZC_ON_FLUSHING:
        zc_list_add_tail(&f->flushing, &p->state_link);
        c->nflushing++;
        f->nflushing++;
        break;
    case ZC_ON_NONE:
        break;
    }
}

/* Counts the page among those that must stay. */
static void hold(struct zc_cache *c, struct zc_page *p, enum zc_page_stake stake)
{
    bool reserved = stake == ZC_STAKE_RESERVED;
    bool any = stake != ZC_STAKE_NONE, had_any = p->stake != ZC_STAKE_NONE;

    if (reserved != (p->stake == ZC_STAKE_RESERVED))
        zc_dirty_limit_reserve(c, p, reserved);
    if (any != had_any)
        c->npins_unstable += any ? 1 : (uint64_t)-1;
    ZC_PAGE_MOVE(p, stake, stake);
}

void zc_page_place(struct zc_cache *c, struct zc_page *p)
{
    enum zc_page_on on;

    zc_assert_held(&c->lock);
    if (zc_extents_empty(&p->dirty) && !p->in_flush) {
        zc_list_del(&p->drop_link);
        zc_wb_errors_page_refused(c, p, ZC_REFUSED_NONE);
    }
    on = where(p);
    hold(c, p,
         on != ZC_ON_NONE || p->nwriters > 0 || zc_unstable_pins(p) ? ZC_STAKE_RESERVED
         : !zc_extents_empty(&p->kept)                              ? ZC_STAKE_KEPT
                                                                    : ZC_STAKE_NONE);
    if (on != p->on) {
        leave(c, p);
        ZC_PAGE_MOVE(p, on, on);
        join(c, p);
    }
    if (zc_lru_place(c, p, on == ZC_ON_NONE && zc_page_idle(p) && !zc_unstable_pins(p)))
        zc_page_trim(c, p);
    zc_publish_page(c, p);
}

/* ---- dirty accounting ---- */

static uint64_t bytes_in(const struct zc_extents *e, uint32_t lo, uint32_t hi)
{
    struct zc_range r;
    uint64_t sum = 0;

    while (zc_extents_next(e, lo, hi, &r)) {
        sum += r.hi - r.lo;
        lo = r.hi;
    }
    return sum;
}

static void count_unwritten(struct zc_file *f, uint64_t more)
{
    if (f->unwritten)
        __atomic_add_fetch(f->unwritten, more, __ATOMIC_RELAXED);
}

static void count_dirty(struct zc_cache *c, struct zc_page *p, uint64_t more, uint64_t less)
{
    c->dirty_bytes += more - less;
    p->file->dirty_bytes += more - less;
    count_unwritten(p->file, more - less);
}

static void count_flushing(struct zc_cache *c, struct zc_page *p, uint64_t more, uint64_t less)
{
    c->flushing_bytes += more - less;
    p->file->flushing_bytes += more - less;
    count_unwritten(p->file, more - less);
}

/* ---- memory of ranges ---- */

size_t zc_range_limit(const struct zc_cache *c)
{
    size_t part = (size_t)(c->npages << c->page_shift) / RANGE_PART;

    return part > c->cfg.range_memory ? part : c->cfg.range_memory;
}

bool zc_page_many_ranges(const struct zc_page *p)
{
    return p->dirty.n > FEW_RANGES || p->valid.n > FEW_RANGES;
}

bool zc_page_scattered(const struct zc_cache *c, const struct zc_page *p)
{
    bool scarce = c->range_bytes > zc_range_limit(c);
    uint32_t most = scarce && p->max_extents > FEW_RANGES ? FEW_RANGES : p->max_extents;

    return p->dirty.n > most || p->valid.n > most;
}

void zc_page_count_ranges(struct zc_cache *c, struct zc_page *p)
{
    size_t now = ((size_t)p->valid.cap + p->dirty.cap + p->flushing.cap + p->kept.cap) *
                 sizeof(struct zc_range);

    zc_assert_held(&c->lock);
    c->range_bytes += now - p->range_bytes;
    p->range_bytes = now;
}

/* Keeps room for writes under way, and room in `dirty` for ranges that a failed store write
 * returns. Some spare room is kept for the next pieces, unless half of the memory for ranges of all
 * pages is in use. */
void zc_page_trim(struct zc_cache *c, struct zc_page *p)
{
    uint32_t part = c->range_bytes > zc_range_limit(c) / 2 ? 1 : LITTLE;

    if (p->nwriters == 0 && !p->outdated)
        zc_extents_trim(&p->valid, part);
    if (p->nwriters == 0 && !p->in_flush) {
        zc_extents_trim(&p->dirty, part);
        zc_extents_trim(&p->flushing, part);
        zc_extents_trim(&p->kept, part);
    }
    zc_page_count_ranges(c, p);
}

int zc_page_reserve(struct zc_page *p, unsigned more)
{
    uint32_t n = p->promised + more, unwritten = p->dirty.n + p->flushing.n;
    uint32_t kept = unwritten + p->kept.n;
    bool renewed = p->outdated && kept > p->valid.n; /* as zc_page_renew() will */

    if (zc_extents_reserve(&p->valid, (renewed ? kept : p->valid.n) + n) < 0)
        return -ENOMEM;
    /* a failed flush merges its ranges back without allocating */
    return zc_extents_reserve(&p->dirty, unwritten + n);
}

/* Makes bytes dirty, in room that was reserved when the write began. */
void zc_page_dirty(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi)
{
    int rc;

    if (lo >= hi)
        return;
    if (zc_extents_empty(&p->dirty))
        p->epoch = p->file->epoch;
    count_dirty(c, p, hi - lo, bytes_in(&p->dirty, lo, hi));
    rc = zc_extents_add(&p->dirty, lo, hi);
    if (rc < 0)
        abort(); /* zc_page_reserve() */
}

/* As zc_page_dirty(), for sorted, disjoint ranges in one pass. */
void zc_page_dirty_many(struct zc_cache *c, struct zc_page *p, const struct zc_range *r, uint32_t n)
{
    uint64_t before = zc_extents_bytes(&p->dirty);

    if (zc_extents_empty(&p->dirty))
        p->epoch = p->file->epoch;
    if (zc_extents_add_many(&p->dirty, r, n) < 0)
        abort(); /* zc_page_reserve() */
    count_dirty(c, p, zc_extents_bytes(&p->dirty), before);
}

/* Forgets dirty bytes of a range.  If it starts and ends inside the page it may split a range:
 * zc_page_reserve(p, 1) first. */
void zc_page_clean(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi)
{
    count_dirty(c, p, 0, bytes_in(&p->dirty, lo, hi));
    if (zc_extents_sub(&p->dirty, lo, hi) < 0)
        abort(); /* must not need memory */
}

bool zc_page_may_lose(struct zc_page *p)
{
    return zc_page_reserve(p, 3) == 0 && /* three more ranges for each that returns */
           zc_extents_reserve(&p->flushing, p->flushing.n + 1) == 0 &&
           (!p->file->unstable.servers ||
            zc_extents_reserve(&p->kept, p->kept.n + p->flushing.n + 2) == 0);
}

void zc_page_lose(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi)
{
    zc_page_clean(c, p, lo, hi);
    count_flushing(c, p, 0, bytes_in(&p->flushing, lo, hi));
    if (zc_extents_sub(&p->flushing, lo, hi) < 0 || zc_extents_sub(&p->valid, lo, hi) < 0)
        abort(); /* zc_page_may_lose(), or all of the page */
    zc_page_count_ranges(c, p);
}

int zc_page_to_flushing(struct zc_cache *c, struct zc_page *p)
{
    uint64_t bytes;

    zc_debug_assert(!p->in_flush && zc_extents_empty(&p->flushing));
    if (zc_extents_reserve(&p->flushing, p->dirty.n + p->promised) < 0)
        return -ENOMEM;
    if (p->file->unstable.servers && zc_extents_reserve(&p->kept, p->kept.n + p->dirty.n) < 0)
        return -ENOMEM;
    zc_extents_swap(&p->dirty, &p->flushing);
    zc_page_count_ranges(c, p);
    bytes = zc_extents_bytes(&p->flushing);
    count_flushing(c, p, bytes, 0); /* first: never count too few unwritten bytes */
    count_dirty(c, p, 0, bytes);
    p->flush_epoch = p->epoch;
    p->in_flush = true;
    return 0;
}

void zc_page_flushed(struct zc_cache *c, struct zc_page *p)
{
    count_flushing(c, p, 0, zc_extents_bytes(&p->flushing));
    zc_extents_clear(&p->flushing);
    p->in_flush = false;
    if (c->range_bytes > zc_range_limit(c) && p->valid.n > FEW_RANGES)
        zc_page_forget_clean(c, p);
    zc_page_trim(c, p);
}

void zc_page_unflushed(struct zc_cache *c, struct zc_page *p)
{
    uint64_t before = zc_extents_bytes(&p->dirty);

    if (zc_extents_empty(&p->dirty) || p->flush_epoch < p->epoch)
        p->epoch = p->flush_epoch;
    if (zc_extents_merge(&p->dirty, &p->flushing) < 0)
        abort(); /* zc_page_to_flushing(), zc_page_reserve() */
    count_dirty(c, p, zc_extents_bytes(&p->dirty), before);
    zc_page_flushed(c, p);
}

/* The unstable bytes come before the dirty ones, also in the order of write-back. */
int zc_page_again(struct zc_cache *c, struct zc_page *p)
{
    uint64_t before = zc_extents_bytes(&p->dirty);

    if (zc_extents_reserve(&p->dirty, p->dirty.n + p->kept.n + p->flushing.n + p->promised) < 0)
        return -ENOMEM;
    if (p->on == ZC_ON_DIRTY)
        leave(c, p);
    if (zc_extents_empty(&p->dirty) || p->kept_epoch < p->epoch)
        p->epoch = p->kept_epoch;
    zc_extents_merge(&p->dirty, &p->kept);
    count_dirty(c, p, zc_extents_bytes(&p->dirty), before);
    if (p->on == ZC_ON_DIRTY)
        join(c, p);
    zc_page_count_ranges(c, p);
    return 0;
}

/* For a page with too many ranges that cannot be read: drops all but dirty bytes, if it is not in
 * use and need not stay. */
void zc_page_forget_clean(struct zc_cache *c, struct zc_page *p)
{
    if (p->pins > 0 || p->in_flush || zc_unstable_pins(p) ||
        zc_extents_reserve(&p->valid, p->dirty.n) < 0)
        return;
    zc_unstable_release(c, p);
    zc_extents_clear(&p->valid);
    zc_extents_merge(&p->valid, &p->dirty);
    p->max_extents = c->cfg.max_extents;
}

/* Drops all that may differ from the file: only unwritten bytes stay.  Pinned readers use the
 * page's memory, so nothing is read into it before they have ended. */
int zc_page_outdate(struct zc_cache *c, struct zc_page *p)
{
    if (zc_extents_reserve(&p->valid, p->dirty.n + p->flushing.n + p->kept.n + p->promised + 1) < 0)
        return -ENOMEM;
    zc_page_count_ranges(c, p);
    p->outdated = true;
    p->outdates++;
    zc_publish_hide(c, p);
    zc_page_renew(c, p);
    return 0;
}

/* Drops what is outdated when the last reader has ended, in room that zc_page_outdate() reserved,
 * as no write has begun since. */
void zc_page_renew(struct zc_cache *c, struct zc_page *p)
{
    zc_assert_held(&c->lock);
    if (!p->outdated || p->pins > p->nwriters)
        return;
    p->outdated = false;
    zc_extents_clear(&p->valid);
    if (zc_extents_merge(&p->valid, &p->dirty) < 0 ||
        zc_extents_merge(&p->valid, &p->flushing) < 0 || zc_extents_merge(&p->valid, &p->kept) < 0)
        abort(); /* must not need memory */
}

/* Makes the bytes undefined.  Dirty ones stay dirty; those in a store write and unstable ones
 * become dirty again, so that memory and store agree in the end; clean ones become invalid.  False:
 * no memory, nothing has changed. */
static bool invalidate(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi)
{
    uint32_t more = p->flushing.n + p->kept.n, n = p->dirty.n + p->flushing.n;
    struct zc_range r;
    uint32_t at;

    if (zc_extents_reserve(&p->dirty, n + more + p->promised + 1) < 0 ||
        zc_extents_reserve(&p->valid, p->valid.n + n + more + p->promised + 1) < 0)
        return false;
    for (at = lo; zc_extents_next(&p->flushing, at, hi, &r); at = r.hi)
        zc_page_dirty(c, p, r.lo, r.hi);
    for (at = lo; zc_extents_next(&p->kept, at, hi, &r); at = r.hi)
        zc_page_dirty(c, p, r.lo, r.hi);
    for (at = lo; zc_extents_gap(&p->dirty, at, hi, &r); at = r.hi)
        zc_extents_sub(&p->valid, r.lo, r.hi);
    return true;
}

void zc_page_invalidate(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi)
{
    zc_assert_held(&c->lock);
    if (zc_page_is_undefined(p)) {
        lo = p->undefined_lo < lo ? p->undefined_lo : lo;
        hi = p->undefined_hi > hi ? p->undefined_hi : hi;
    }
    if (invalidate(c, p, lo, hi))
        lo = hi = 0;
    p->undefined_lo = lo;
    p->undefined_hi = hi;
}

bool zc_page_clear_undefined(struct zc_cache *c, struct zc_page *p)
{
    if (zc_page_is_undefined(p))
        zc_page_invalidate(c, p, p->undefined_lo, p->undefined_hi);
    return !zc_page_is_undefined(p);
}
