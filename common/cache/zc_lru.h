/* zc_lru.h - eviction: which page leaves the cache when another needs its frame.
 *
 * zc_page_place() tells which pages may go: clean, unpinned, not reading, not waited for.  What
 * order they go in is decided in zc_lru.c alone, from what it is told here; another policy
 * changes these two files, and no more than a test beside them.
 *
 * All calls with the cache's lock; none waits, fails or needs memory.  The fields of both structs
 * are private to zc_lru.c.
 */
#ifndef ZC_LRU_H
#define ZC_LRU_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_list.h"

struct zc_cache;
struct zc_page;
struct zc_share;

/* The part of a cache. */
struct zc_lru {
    uint64_t n;              /* those that may go: zc_share.pages of all, or ... */
    struct zc_list retained; /* ... those that may when none of these is left, the next one first */
    uint64_t clock;          /* pages asked for so far, that had to be taken or were read ahead */
};

/* The part of a page. */
struct zc_lru_page {
    struct zc_list link; /* zc_share.pages, or ... */
    bool retained;       /* ... zc_lru.retained */
    uint64_t young;      /* zc_lru.clock when it was last written, or read ahead */
};

void zc_lru_init(struct zc_cache *c);      /* once the number of pages is known */
void zc_lru_init_frame(struct zc_page *p); /* before the first page is in it */
void zc_lru_enter(struct zc_page *p);      /* the frame holds another page from now on */
void zc_lru_asked(struct zc_cache *c);     /* for a page that was not there, or read ahead */
void zc_lru_spare(struct zc_cache *c, struct zc_page *p); /* written, or to be read ahead */

/* The page may go, or no longer; true: it may, and might not before this call.  To leave and
 * come back counts as a use. */
bool zc_lru_place(struct zc_cache *c, struct zc_page *p, bool evictable);
bool zc_lru_holds(const struct zc_page *p); /* may go */

bool zc_lru_any(const struct zc_cache *c); /* one may go ... */
/* ... for a page of the share that nobody has asked for yet */
bool zc_lru_any_old(const struct zc_cache *c, const struct zc_share *s);
struct zc_page *zc_lru_retained(const struct zc_cache *c); /* the next that retains; or NULL */
/* Drops the next page, which may free its file; false: none may go. */
bool zc_lru_evict(struct zc_cache *c);
/* Drops all that may go, but for what is retained; returns how many, which do not count as
 * evictions. */
uint64_t zc_lru_drop_all(struct zc_cache *c);

#ifdef ZC_DEBUG
uint64_t zc_lru_length(const struct zc_cache *c); /* how many may go, counted */
#endif

#endif
