/* zc_frames.c - the memory of a cache: frames of one page each, and their number.
 *
 *     pages[] | held: a page, or on `free` | on `spare` |  fresh .. extent  |  extent .. reserved
 *     memory  |            yes             |     no     |  when first used  |   no access
 *
 * A cache that may grow reserves address space for more than it may use (cfg.reserve): pages never
 * move.  zc_cache_extend() makes more of it usable.  zc_cache_limit() sets how many frames may have
 * memory, `npages`, and may lower it at any time.  Frames beyond that are freed as they become
 * clean and unused; until then no frame is taken.
 *
 * Pages that the store refuses cannot be freed however small the cache became: if these take all of
 * `npages`, one frame more may be held, for readers.
 *
 *  nheld <= npages, except in that case, and while a cache that became smaller frees frames;
 *  nheld + spare == fresh <= extent <= reserved.
 *
 * Locks: cache->lock for everything, except creation, destruction and allocations of
 * zc_cache_limit().
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "zc_address_space.h"
#include "zc_cache_internal.h"
#include "zc_log.h"

/* ---- address space ---- */

/* Reserves address space without memory; NULL: failed. */
static void *reserve(uint64_t len)
{
    void *at = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

/* Rounds the first `bytes` of an array up to whole pages of the kernel. */
static uint64_t whole(uint64_t bytes)
{
    return (bytes + ZC_PAGE_SIZE_MIN - 1) & ~(uint64_t)(ZC_PAGE_SIZE_MIN - 1);
}

static int make_usable(struct zc_cache *c, uint64_t n)
{
    if (mprotect(c->arena, n << c->page_shift, PROT_READ | PROT_WRITE) ||
        mprotect(c->pages, whole(n * sizeof *c->pages), PROT_READ | PROT_WRITE))
        return -ENOMEM;
    madvise(c->arena, n << c->page_shift, MADV_HUGEPAGE); /* fewer faults; may fail */
    __atomic_store_n(&c->extent, n, __ATOMIC_RELEASE);    /* zc_cache_arena() */
    return 0;
}

static bool reserve_frames(struct zc_cache *c, uint64_t n)
{
    c->reserved = n;
    c->arena = reserve(n << c->page_shift);
    c->pages = reserve(whole(n * sizeof *c->pages));
    if (!c->arena || !c->pages) {
        zc_frames_free(c);
        return false;
    }
    if (!c->cfg.dumped)
        madvise(c->arena, n << c->page_shift, MADV_DONTDUMP);
    return true;
}

void zc_frames_free(struct zc_cache *c)
{
    zc_page_csum_free(c);
    if (c->arena)
        munmap(c->arena, c->reserved << c->page_shift);
    if (c->pages)
        munmap(c->pages, whole(c->reserved * sizeof *c->pages));
    free(c->hash);
    zc_publish_free(c);
    c->arena = NULL;
    c->pages = NULL;
    c->hash = NULL;
}

void zc_cache_arena(struct zc_cache *c, void **base, size_t *len)
{
    *base = c->arena;
    *len = __atomic_load_n(&c->extent, __ATOMIC_ACQUIRE) << c->page_shift;
}

/* ---- the number of frames ---- */

static uint64_t buckets_for(uint64_t npages)
{
    uint64_t buckets = 16;

    while (buckets < npages)
        buckets *= 2;
    return buckets;
}

static void set_limits(struct zc_cache *c, uint64_t npages)
{
    c->npages = npages;
    c->high_bytes = (npages << c->page_shift) * c->cfg.high_watermark / 100;
    c->low_bytes = (npages << c->page_shift) * c->cfg.low_watermark / 100;
}

static int does_not_fit(const struct zc_cache *c, uint64_t need)
{
    char remedy[ZC_ADDRESS_SPACE_TEXT];

    return zc_errorf(ENOMEM, "a cache of %zu bytes does not fit into memory%s", c->cfg.capacity,
                     zc_address_space_remedy(need, remedy, sizeof remedy));
}

int zc_frames_init(struct zc_cache *c)
{
    uint64_t n, most;

    while ((1u << c->page_shift) < c->page_size)
        c->page_shift++;
    n = c->cfg.capacity >> c->page_shift;
    most = c->cfg.reserve >> c->page_shift;
    set_limits(c, n);
    c->budget = c->cfg.capacity;
    zc_lru_init(c);
    c->hash_mask = buckets_for(n) - 1;
    if ((most <= n || !reserve_frames(c, most)) && !reserve_frames(c, n))
        return does_not_fit(c, (n << c->page_shift) + whole(n * sizeof *c->pages));
    c->hash = calloc(c->hash_mask + 1, sizeof(*c->hash));
    if (!c->hash || !zc_publish_init(c))
        return does_not_fit(c, (c->hash_mask + 1) * sizeof *c->hash);
    if (make_usable(c, n)) /* counts against ulimit -d, as what is reserved does not */
        return does_not_fit(c, (n << c->page_shift) + whole(n * sizeof *c->pages));
    return 0;
}

int zc_cache_extend(struct zc_cache *c, size_t capacity)
{
    uint64_t n = capacity >> c->page_shift;
    char remedy[ZC_ADDRESS_SPACE_TEXT];
    int rc = 0;

    zc_lock_get(&c->lock);
    if (n > c->reserved)
        rc = -ENOMEM;
    else if (n > c->extent)
        rc = make_usable(c, n);
    zc_lock_put(&c->lock);
    return rc ? zc_errorf(ENOMEM, "there is no memory for a cache of %zu bytes%s", capacity,
                          zc_address_space_remedy(0, remedy, sizeof remedy))
              : 0;
}

/* Grows the hash table if there is memory; else the chains become longer. */
static void rehash(struct zc_cache *c, struct zc_page **hash, uint64_t buckets)
{
    struct zc_page **old = c->hash;
    uint64_t n = c->hash_mask + 1;

    c->hash = hash;
    c->hash_mask = buckets - 1;
    for (uint64_t i = 0; i < n; i++) {
        for (struct zc_page *p = old[i], *next; p; p = next) {
            next = p->hash_next;
            zc_page_hash(c, p);
        }
    }
    free(old);
}

/* Whether these limits are in force already. */
static bool is_limited_so(struct zc_cache *c, const struct zc_cache_limits *l)
{
    uint64_t npages = l->capacity >> c->page_shift;
    bool so;

    zc_lock_get(&c->lock);
    so = npages == c->npages && l->high_watermark == c->cfg.high_watermark &&
         l->low_watermark == c->cfg.low_watermark && l->idle_ms == c->cfg.idle_ms;
    zc_lock_put(&c->lock);
    return so;
}

void zc_cache_limit(struct zc_cache *c, const struct zc_cache_limits *l)
{
    uint64_t npages = l->capacity >> c->page_shift, buckets = buckets_for(npages), fresh;
    struct zc_page **hash;

    if (is_limited_so(c, l))
        return;
    hash = calloc(buckets, sizeof(*hash));
    zc_lock_get(&c->lock);
    if (npages > c->extent)
        npages = c->extent;
    if (hash && buckets > c->hash_mask + 1)
        rehash(c, hash, buckets);
    else
        free(hash);
    c->cfg.high_watermark = l->high_watermark;
    c->cfg.low_watermark = l->low_watermark;
    c->cfg.idle_ms = l->idle_ms;
    fresh = c->fresh << c->page_shift;
    if (npages < c->npages && c->populated > fresh) {
        madvise(c->arena + fresh, c->populated - fresh, MADV_DONTNEED);
        c->populated = fresh;
    }
    c->shrunk = c->shrunk || npages < c->npages;
    set_limits(c, npages);
    c->draining = c->draining || c->dirty_bytes + c->flushing_bytes > c->high_bytes;
    zc_kick(c); /* there may be more to write, or sooner */
    zc_cache_unlock(c);
}

void zc_cache_limits(struct zc_cache *c, struct zc_cache_limits *out)
{
    zc_lock_get(&c->lock);
    out->capacity = c->npages << c->page_shift;
    out->high_watermark = c->cfg.high_watermark;
    out->low_watermark = c->cfg.low_watermark;
    out->idle_ms = c->cfg.idle_ms;
    zc_lock_put(&c->lock);
}

void zc_cache_set_budget(struct zc_cache *c, uint64_t bytes)
{
    zc_lock_get(&c->lock);
    c->budget = bytes;
    zc_lock_put(&c->lock);
}

uint64_t zc_cache_budget(struct zc_cache *c)
{
    uint64_t budget;

    zc_lock_get(&c->lock);
    budget = c->budget;
    zc_lock_put(&c->lock);
    return budget;
}

/* ---- frames ---- */

/* A cache of less than two pages is unused: see zc_cache_limit(). */
static uint64_t most(const struct zc_cache *c)
{
    uint64_t with_refused = c->nbarred < c->extent ? c->nbarred + 1 : c->extent;

    return c->npages >= 2 && c->npages < with_refused ? with_refused : c->npages;
}

bool zc_frames_over(const struct zc_cache *c)
{
    return c->nheld > most(c);
}

bool zc_frames_any(const struct zc_cache *c)
{
    return c->nheld < most(c) || (c->nheld == most(c) && !zc_list_empty(&c->free));
}

/* Memory is populated before its use, in steps, after a while without page use or modification: as
 * much as is in use, or 1 / POPULATE_FIRST of the cache where that is more, but at most
 * POPULATE_AHEAD.  So the first large write after an open finds memory; the longer while before is
 * for the ranks whose open is still under way.  Needs Linux 5.14.  Not after a flush request: its
 * client may be about to close, and that would wait for the kernel as long as a step takes. */
enum {
    POPULATE_AHEAD = 16 << 20,
    POPULATE_FIRST = 8,
    POPULATE_STEP = 2 << 20,
    POPULATE_FIRST_QUIET_MS = 10,
    POPULATE_QUIET_MS = 3,
};
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Returns the bytes to populate for first large writes, before as many are in use: whole pages of
 * the kernel. */
static uint64_t populate_first(const struct zc_cache *c)
{
    uint64_t share = whole((c->npages << c->page_shift) / POPULATE_FIRST);

    return share < POPULATE_AHEAD ? share : POPULATE_AHEAD;
}

/* Returns the bytes to populate from c->populated on; 0 before a file is opened for writing, or a
 * frame used. */
static uint64_t to_populate(const struct zc_cache *c)
{
    uint64_t size = c->npages << c->page_shift, used = c->fresh << c->page_shift;
    uint64_t first = populate_first(c), ahead = used > first ? used : first;
    uint64_t until = used + (ahead < POPULATE_AHEAD ? ahead : POPULATE_AHEAD);

    if (until > size)
        until = size;
    return (used || c->opened_at) && c->populated < until ? until - c->populated : 0;
}

/* Lets a flusher decide about populating. */
static void ask_flusher(struct zc_cache *c)
{
    if (!c->populating && to_populate(c) > 0) {
        c->populating = true;
        pthread_cond_signal(&c->work);
    }
}

void zc_frames_expect(struct zc_cache *c)
{
    c->opened_at = zc_now();
    ask_flusher(c);
}

static struct zc_page *new_frame(struct zc_cache *c)
{
    struct zc_page *p = &c->pages[c->fresh++];

    c->busy_at = zc_now();
    ask_flusher(c);
    zc_publish_frame(c, p);
    zc_list_init(&p->file_link);
    zc_lru_init_frame(p);
    zc_list_init(&p->dirty_link);
    zc_list_init(&p->complete_link);
    zc_list_init(&p->state_link);
    zc_list_init(&p->drop_link);
    zc_list_init(&p->fill_link);
    zc_list_init(&p->ahead_link);
    zc_list_init(&p->kept_link);
    zc_list_init(&p->writers);
    zc_list_init(&p->waiters);
    return p;
}

struct zc_page *zc_frames_take(struct zc_cache *c)
{
    struct zc_list *n;

    zc_assert_held(&c->lock);
    if (!zc_frames_any(c))
        return NULL;
    n = zc_list_pop(&c->free);
    if (n)
        return zc_list_entry(n, struct zc_page, file_link);
    c->nheld++;
    n = zc_list_pop(&c->spare);
    return n ? zc_list_entry(n, struct zc_page, file_link) : new_frame(c);
}

void zc_frames_give(struct zc_cache *c, struct zc_page *p)
{
    zc_list_add_tail(&c->free, &p->file_link);
}

void zc_frames_shed(struct zc_cache *c)
{
    zc_assert_held(&c->lock);
    while (zc_frames_over(c) && (!zc_list_empty(&c->free) || zc_lru_evict(c))) {
        struct zc_list *n = zc_list_pop(&c->free);
        struct zc_page *p = zc_list_entry(n, struct zc_page, file_link);

        zc_list_add_tail(&c->spare, n);
        madvise(zc_page_data(c, p), c->page_size, MADV_DONTNEED);
        c->nheld--;
    }
}

/* ---- populating ---- */

bool zc_cache_populate(struct zc_cache *c, uint64_t *wake)
{
    uint64_t used = c->fresh << c->page_shift, from, len;
    uint64_t busy_at = c->busy_at > c->opened_at ? c->busy_at : c->opened_at;
    uint64_t quiet_ms = used < populate_first(c) ? POPULATE_FIRST_QUIET_MS : POPULATE_QUIET_MS;
    uint64_t quiet_at = busy_at + quiet_ms * ZC_NS_PER_MS;
    int rc;

    zc_assert_held(&c->lock);
    c->populating = false;
    if (c->populated < used)
        c->populated = used;
    from = c->populated;
    len = to_populate(c);
    if (len == 0 || busy_at < c->flush_at)
        return false;
    if (zc_now() < quiet_at) {
        if (quiet_at < *wake)
            *wake = quiet_at;
        c->populating = true;
        return false;
    }
    if (len > POPULATE_STEP)
        len = POPULATE_STEP;
    c->populated += len;
    zc_lock_put(&c->lock);
    rc = madvise(c->arena + from, len, MADV_POPULATE_WRITE);
    zc_lock_get(&c->lock);
    if (rc) /* a kernel before 5.14, or no memory: the first use will show */
        c->populated = c->npages << c->page_shift;
    return true;
}
