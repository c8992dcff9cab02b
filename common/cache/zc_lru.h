/* zc_lru.h - eviction: which page leaves the cache when another needs its frame.
 *
 * zc_page_place() says which pages are evictable: clean, unpinned, not reading, without waiters.
 * Their order is decided in zc_lru.c alone, from the events reported here; another policy changes
 * these two files and adds a test.
 *
 * All functions are called with the cache's lock; none waits, fails or allocates.  The fields of
 * both structs are private to zc_lru.c.
 */
#ifndef ZC_LRU_H
#define ZC_LRU_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_list.h"

struct zc_cache;
struct zc_page;
struct zc_cache_tenant;

/* State in a cache. */
struct zc_lru {
    uint64_t n; /* number of evictable pages: zc_cache_tenant.pages of all tenants, or ... */
    struct zc_list kept; /* ... unstable pages, evicted when no other is left, next one first */
    uint64_t clock;      /* pages requested so far that were taken or read ahead */
};

/* State in a page. */
struct zc_lru_page {
    struct zc_list link; /* zc_cache_tenant.pages, or ... */
    bool kept;           /* ... zc_lru.kept */
    uint64_t young;      /* zc_lru.clock at the last write or readahead */
};

void zc_lru_init(struct zc_cache *c);      /* when the number of pages is known */
void zc_lru_init_frame(struct zc_page *p); /* before its first page */
void zc_lru_enter(struct zc_page *p);      /* the frame holds another page */
void zc_lru_asked(struct zc_cache *c);     /* a page was missing, or was read ahead */
void zc_lru_spare(struct zc_cache *c, struct zc_page *p); /* it was written or will be read ahead */

/* Makes the page evictable, or not; true: it is now and was not before.  A page that becomes
 * evictable again counts as used. */
bool zc_lru_place(struct zc_cache *c, struct zc_page *p, bool evictable);
bool zc_lru_holds(const struct zc_page *p); /* is evictable */

bool zc_lru_any(const struct zc_cache *c); /* one is evictable ... */
/* ... for an unused readahead page of the tenant */
bool zc_lru_any_old(const struct zc_cache *c, const struct zc_cache_tenant *s);
struct zc_page *zc_lru_kept(const struct zc_cache *c); /* the next unstable page; or NULL */
/* Evicts the next page, which may free its file; false: no page can be evicted. */
bool zc_lru_evict(struct zc_cache *c);
/* Drops all evictable pages but unstable ones; returns their number, which does not count as
 * evictions. */
uint64_t zc_lru_drop_all(struct zc_cache *c);

#ifdef ZC_DEBUG
uint64_t zc_lru_length(const struct zc_cache *c); /* number of evictable pages, by counting */
#endif

#endif
