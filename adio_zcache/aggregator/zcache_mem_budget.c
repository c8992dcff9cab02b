/* zcache_mem_budget.c - what the caches of this process share. */
#include "config.h"

#include <pthread.h>
#include <unistd.h>

#include "zc_address_space.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_memory_limit.h"
#include "zc_options.h"
#include "zcache_mem_budget.h"

enum { SMALL_VIEWS = 256 << 10 }; /* memory for views beside their share, unless that is 0 */

static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_PROCESS);
static zc_cond changed = PTHREAD_COND_INITIALIZER; /* a turn or a division is over */
static struct {
    bool busy;     /* a thread is between begin() and end() */
    bool dividing; /* no share comes or goes */
    struct zc_list budgets;
    struct zcache_in_force now; /* but for `background`; changed within a turn */
    uint64_t wanted;            /* bytes that this turn's open asks for; 0: none */
    bool given;                 /* the size in force was asked for by a hint */
    struct zc_view_budget views;
} all = {.budgets = {&all.budgets, &all.budgets}};

/* ---- what fits ---- */

enum { FIT = 8 }; /* caches take 1/FIT of a limit: the program comes first */

static struct zc_memory_limits limits;

static void find_limits(void)
{
    zc_memory_limits_find(&limits);
}

uint64_t zcache_mem_budget_fit(uint64_t size, uint64_t least, unsigned owners,
                               const struct zc_memory_limit **by)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    uint64_t shared, own;

    pthread_once(&once, find_limits);
    shared = limits.shared.bytes / FIT / (owners ? owners : 1);
    own = limits.own.bytes / FIT;
    *by = NULL;
    if (shared < size)
        *by = &limits.shared;
    if (own < size && own < shared)
        *by = &limits.own;
    if (shared < size)
        size = shared;
    if (own < size)
        size = own;
    return size < least ? least : size;
}

/* ---- turns ---- */

/* A file is about to be opened there, or is: by whomever. */
static bool in_use(const struct zcache_mem_budget *s)
{
    struct zc_cache_stats stats;

    if (__atomic_load_n(&s->users, __ATOMIC_RELAXED))
        return true;
    zc_cache_stats(s->cache, &stats);
    return stats.handles > 0;
}

/* How many caches have a file in use. */
static unsigned count_in_use(void)
{
    unsigned count = 0;

    zc_list_each (&all.budgets, n)
        count += in_use(zc_list_entry(n, struct zcache_mem_budget, link));
    return count;
}

static bool asks_for_size(const struct zc_settings *s)
{
    return zc_option_given(s, zc_option_find("cache_size", ZC_SCOPE_HINT));
}

void zcache_mem_budget_begin(const struct zc_settings *s)
{
    zc_lock_get(&lock);
    while (all.busy)
        zc_cond_wait(&changed, &lock);
    all.busy = true;
    all.wanted = 0;
    if (count_in_use() == 0) {
        all.given = asks_for_size(s);
        all.now = (struct zcache_in_force){.cache_size = s->agg_cache_size,
                                           .high_watermark = s->agg_high_watermark,
                                           .low_watermark = s->agg_low_watermark,
                                           .idle_time = s->agg_idle_time,
                                           .view_memory = s->agg_view_memory};
    } else if ((asks_for_size(s) || !all.given) && s->agg_cache_size > all.now.cache_size) {
        all.given = asks_for_size(s);
        all.wanted = s->agg_cache_size;
    }
    zc_lock_put(&lock);
}

void zcache_mem_budget_end(void)
{
    zc_lock_get(&lock);
    all.busy = false;
    pthread_cond_broadcast(&changed);
    zc_lock_put(&lock);
}

/* ---- dividing ---- */

static size_t whole_pages(const struct zcache_mem_budget *s, uint64_t bytes)
{
    uint64_t least = 2 * (uint64_t)s->page_size;

    return bytes < least ? least : bytes - bytes % s->page_size;
}

/* Bytes of the cache size that are for views ... */
static uint64_t for_views(uint64_t size)
{
    return size / 100 * all.now.view_memory;
}

/* ... of which pages may have taken some, where they are few and large. */
static void limit_views(uint64_t size, uint64_t pages)
{
    uint64_t bytes = size > pages ? size - pages : 0;

    if (bytes > for_views(size))
        bytes = for_views(size);
    if (all.now.view_memory)
        bytes += SMALL_VIEWS;
    __atomic_store_n(&all.views.limit, (size_t)bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&all.views.percent, (unsigned)all.now.view_memory, __ATOMIC_RELAXED);
}

struct zc_view_budget *zcache_mem_budget_views(void)
{
    return &all.views;
}

/* What one of `count` caches that divide `size` bytes has. */
static struct zc_cache_limits part_of(const struct zcache_mem_budget *s, uint64_t size,
                                      unsigned count)
{
    struct zc_cache_limits l = {.capacity = whole_pages(s, (size - for_views(size)) / count),
                                .high_watermark = 100,
                                .low_watermark = 99};

    if (s->background) {
        l.high_watermark = (unsigned)all.now.high_watermark;
        l.low_watermark = (unsigned)all.now.low_watermark;
        l.idle_ms = (unsigned)all.now.idle_time;
    }
    return l;
}

static int extend(struct zcache_mem_budget *s, size_t capacity)
{
    int rc = zc_cache_extend(s->cache, capacity);

    return rc ? rc : s->cover(s);
}

/* Whether there is memory for everyone's part of so much. */
static int extend_all(uint64_t size, unsigned count)
{
    int rc = 0;

    zc_list_each (&all.budgets, n) {
        struct zcache_mem_budget *s = zc_list_entry(n, struct zcache_mem_budget, link);

        if (rc == 0 && s->used)
            rc = extend(s, part_of(s, size, count).capacity);
    }
    return rc;
}

/* How much a cache has now, which may not be what it should have. */
static uint64_t limit(struct zcache_mem_budget *s, uint64_t size, unsigned count)
{
    struct zc_cache_limits l = part_of(s, size, count);
    struct zc_cache_stats stats;

    zc_cache_limit(s->cache, &l);
    zc_cache_stats(s->cache, &stats);
    return stats.capacity_bytes;
}

/* All memory goes that can; for files yet to come there are two pages. */
static void empty(struct zcache_mem_budget *s)
{
    struct zc_cache_limits l = part_of(s, 0, 1);

    l.capacity = 0;
    zc_cache_limit(s->cache, &l);
    l.capacity = whole_pages(s, 0);
    zc_cache_limit(s->cache, &l);
}

/* First those that lose all.  What is told afterwards is what there is. */
static void divide(uint64_t size)
{
    unsigned count = 0;
    uint64_t sum = 0;
    int rc;

    zc_list_each (&all.budgets, n) {
        struct zcache_mem_budget *s = zc_list_entry(n, struct zcache_mem_budget, link);

        s->used = in_use(s);
        count += s->used;
        if (!s->used)
            empty(s);
    }
    rc = extend_all(size, count);
    if (rc)
        zc_warn("aggregator: its cache does not become larger: %s", zc_error_text(rc));
    if (rc)
        size = all.now.cache_size;
    zc_list_each (&all.budgets, n) {
        struct zcache_mem_budget *s = zc_list_entry(n, struct zcache_mem_budget, link);

        if (s->used)
            sum += limit(s, size, count);
    }
    limit_views(size, sum);
    zc_lock_get(&lock);
    all.now.cache_size = sum > size ? sum : size;
    zc_lock_put(&lock);
    zc_list_each (&all.budgets, n)
        zc_cache_set_budget(zc_list_entry(n, struct zcache_mem_budget, link)->cache,
                            all.now.cache_size);
}

void zcache_mem_budget_use(struct zcache_mem_budget *s)
{
    zc_lock_get(&lock);
    __atomic_add_fetch(&s->users, 1, __ATOMIC_RELAXED);
    all.dividing = true;
    zc_lock_put(&lock);
    divide(all.wanted ? all.wanted : all.now.cache_size);
    zc_lock_get(&lock);
    all.dividing = false;
    pthread_cond_broadcast(&changed);
    zc_lock_put(&lock);
}

void zcache_mem_budget_leave(struct zcache_mem_budget *s)
{
    __atomic_sub_fetch(&s->users, 1, __ATOMIC_RELAXED);
}

/* ---- coming and going ---- */

/* Addresses cost nothing, unless they are counted. */
static size_t room_to_grow(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

    if (zc_address_space_limited() || pages < 0)
        return 0;
    return (size_t)pages * (size_t)size;
}

void zcache_mem_budget_config(const struct zcache_mem_budget *s, struct zc_cache_config *cfg)
{
    struct zc_cache_limits l;

    zc_lock_get(&lock);
    l = part_of(s, all.now.cache_size, count_in_use() + 1);
    zc_lock_put(&lock);
    cfg->capacity = l.capacity;
    cfg->high_watermark = l.high_watermark;
    cfg->low_watermark = l.low_watermark;
    cfg->idle_ms = l.idle_ms;
    cfg->reserve = room_to_grow();
}

void zcache_mem_budget_add(struct zcache_mem_budget *s)
{
    zc_lock_get(&lock);
    zc_list_add_tail(&all.budgets, &s->link);
    zc_lock_put(&lock);
}

void zcache_mem_budget_remove(struct zcache_mem_budget *s)
{
    zc_lock_get(&lock);
    while (all.dividing)
        zc_cond_wait(&changed, &lock);
    zc_list_del(&s->link);
    zc_lock_put(&lock);
}

void zcache_mem_budget_in_force(const struct zcache_mem_budget *s, struct zcache_in_force *out)
{
    struct zc_cache_limits l;

    zc_lock_get(&lock);
    l = part_of(s, all.now.cache_size, 1);
    *out = all.now;
    out->high_watermark = l.high_watermark;
    out->low_watermark = l.low_watermark;
    out->idle_time = l.idle_ms;
    out->background = s->background;
    zc_lock_put(&lock);
}

static void lower(uint64_t *least, uint64_t value)
{
    if (value < *least)
        *least = value;
}

void zcache_in_force_lower(struct zcache_in_force *least, const struct zcache_in_force *its)
{
    lower(&least->cache_size, its->cache_size);
    lower(&least->high_watermark, its->high_watermark);
    lower(&least->low_watermark, its->low_watermark);
    lower(&least->idle_time, its->idle_time);
    lower(&least->view_memory, its->view_memory);
    lower(&least->background, its->background);
}
