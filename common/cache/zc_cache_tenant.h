/* zc_cache_tenant.h - tenants of a cache: pages, dirty room, and turns at the store of each.
 *
 * Every page in the cache belongs to one tenant: the one that asked for it last, or, while it has
 * dirty bytes, the one that wrote them.  A tenant that is alone has everything.  Of several that
 * want more than there is,
 *
 *     pages        the tenant with the most pages gives the next; one whose jobs have ended first
 *     waiting      accesses that wait for a page are woken in turns
 *     dirty room   each tenant is sure of its part, and may use what the others leave, except half
 *                  of their parts, which they need to begin: zc_cache_tenant_full()
 *     the store    writes and reads in turns, by bytes (zc_fair_share.h)
 *     readahead    like dirty room, of the quarter of the cache that may be read ahead
 *
 * A tenant never waits for another one's pages to become clean: a tenant over its part has pages of
 * its own that are being written back.  While the store refuses bytes, the dirty limit of
 * zc_dirty_limit.c holds for all tenants together.
 *
 * Call all functions with the cache's lock, except those of zc_cache.h.
 */
#ifndef ZC_CACHE_TENANT_H
#define ZC_CACHE_TENANT_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_fair_share.h"
#include "zc_list.h"

struct zc_cache;
struct zc_page;

struct zc_cache_tenant {
    struct zc_list link; /* cache->tenants */
    uint64_t id;         /* fixed */
    unsigned refs;       /* zc_cache_tenant_get() */
    unsigned handles;    /* open for it */

    uint64_t npages, nreserved; /* of its pages; see struct zc_page */
    struct zc_list pages;       /* evictable pages, the next one first: zc_lru.c */
    struct zc_list dirty;       /* ZC_ON_DIRTY, least recently modified first */
    struct zc_list complete;    /* those of complete runs, the first completed first:
                                   zc_flush_order.c */

    struct zc_list room;      /* its accesses that wait for a page, zc_access.link ... */
    struct zc_list room_link; /* ... and it is on cache->room */
    unsigned nthrottled;      /* how many are on cache->throttled */

    struct zc_list fills, fills_ahead; /* its pages to be read, zc_page.fill_link */
    uint64_t nfills_ahead;
    uint64_t nahead; /* pages read ahead for its handles and not used yet */

    struct zc_fair_share_flow writes, reads; /* of cache->writes and ->reads, in bytes */
    uint64_t tried;                          /* cache->tries when it was last examined */
};

/* Initializes the default tenant, of handles without another one. */
void zc_cache_tenants_init(struct zc_cache *c);
void zc_cache_tenants_free(struct zc_cache *c);

/* Frees it if it has no references any more. */
void zc_cache_tenant_reap(struct zc_cache *c, struct zc_cache_tenant *s);

/* Moves a page to a tenant (NULL: to none, which may free the tenant). */
void zc_cache_tenant_give(struct zc_cache *c, struct zc_page *p, struct zc_cache_tenant *s);
/* Counts the page as reserved (zc_dirty_limit.c), or not. */
void zc_cache_tenant_reserve(struct zc_cache *c, struct zc_page *p, uint64_t more);

/* Whether it has reached its part of the dirty limit. */
bool zc_cache_tenant_full(struct zc_cache *c, const struct zc_cache_tenant *s);
/* Returns how many pages may be read ahead for the tenant at a time. */
uint64_t zc_cache_tenant_ahead(struct zc_cache *c, const struct zc_cache_tenant *s, uint64_t quota);

/* Returns the tenant that gives a page, among those with an evictable one; NULL: none. */
struct zc_cache_tenant *zc_cache_tenant_giver(const struct zc_cache *c);

/* Begin a round of turns; and return the next tenant in turn that was not tried in it, among those
 * with pages to read, or with reserved pages to write, and `also`.  NULL: all were tried. */
void zc_cache_tenant_round(struct zc_cache *c);
struct zc_cache_tenant *zc_cache_tenant_reader(struct zc_cache *c);
struct zc_cache_tenant *zc_cache_tenant_writer(struct zc_cache *c,
                                               const struct zc_cache_tenant *also);
/* Whether several tenants have something to write, or files open, and so may at any moment. */
bool zc_cache_tenants_compete(const struct zc_cache *c);
bool zc_cache_tenants_many(const struct zc_cache *c);
/* Open and close a handle of the tenant; the latter may free it. */
void zc_cache_tenant_open(struct zc_cache *c, struct zc_cache_tenant *s);
void zc_cache_tenant_close(struct zc_cache *c, struct zc_cache_tenant *s);
void zc_cache_tenant_wrote(struct zc_cache *c, struct zc_cache_tenant *s, uint64_t bytes);
void zc_cache_tenant_reads(struct zc_cache *c, struct zc_cache_tenant *s, uint64_t bytes);

#endif
