/* zc_share.h - who shares a cache: the pages, dirty room, and turns at the store of each.
 *
 * Every page in the cache is of one share: that of whoever asked for it last, or, while it has
 * bytes that are not written back, of whoever wrote them.  One share that is alone has everything,
 * and nothing is different then.  Of several that want more than there is,
 *
 *     pages        the one that has the most gives the next; one whose jobs are gone gives first
 *     waiting      who waits for a page is woken in turns
 *     dirty room   each is sure of its part, and may have what the others leave, but for half of
 *                  their parts, which is there for them to begin with: zc_share_full()
 *     the store    writes and reads in turns, by bytes (zc_fair.h)
 *     read ahead   as dirty room, of the quarter that may be read ahead
 *
 * Nobody waits for another one's pages to become clean: who is over its part has pages of its own
 * that are being written back.  While the store refuses bytes dirty room is as zc_quota.h has it
 * for all of them together.
 *
 * All calls with the cache's lock, but those of zc_cache.h.
 */
#ifndef ZC_SHARE_H
#define ZC_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_fair.h"
#include "zc_list.h"

struct zc_cache;
struct zc_page;

struct zc_share {
    struct zc_list link; /* cache->shares */
    uint64_t id;         /* fixed */
    unsigned refs;       /* zc_cache_share() */
    unsigned handles;    /* open for it */

    uint64_t npages, nclaimed; /* of its pages; see struct zc_page */
    struct zc_list pages;      /* those that may go, the next one first: zc_lru.c */
    struct zc_list dirty;      /* ZC_ON_DIRTY, least recently modified first */

    struct zc_list room;      /* its accesses that wait for a page, zc_access.link ... */
    struct zc_list room_link; /* ... and it is on cache->room */
    unsigned ncurbed;         /* how many are on cache->curbed */

    struct zc_list fills, fills_ahead; /* its pages to be read, zc_page.fill_link */
    uint64_t nfills_ahead;
    uint64_t nahead; /* pages read ahead for its handles, and not asked for yet */

    struct zc_fair_turn writes, reads; /* of cache->writes and ->reads, in bytes */
    uint64_t tried;                    /* cache->tries, when it was looked at last */
};

/* A cache's own, of handles that nobody is named for. */
void zc_shares_init(struct zc_cache *c);
void zc_shares_free(struct zc_cache *c);

/* Frees it if nothing refers to it any more. */
void zc_share_reap(struct zc_cache *c, struct zc_share *s);

/* A page comes to a share (NULL: leaves it, which may free the share). */
void zc_share_give(struct zc_cache *c, struct zc_page *p, struct zc_share *s);
/* The page is claimed (zc_quota.c), or no more. */
void zc_share_claim(struct zc_cache *c, struct zc_page *p, uint64_t more);

/* Has no more of the dirty room than it may have. */
bool zc_share_full(struct zc_cache *c, const struct zc_share *s);
/* May have so many pages read ahead at a time. */
uint64_t zc_share_ahead(struct zc_cache *c, const struct zc_share *s, uint64_t quota);

/* Which one gives a page, of those that have one that may go; NULL: none has. */
struct zc_share *zc_share_giver(const struct zc_cache *c);

/* A round begins; and the next in turn that was not tried in it, of those that have pages to be
 * read, or claimed ones to be written, and of `also`.  NULL: all were tried. */
void zc_share_round(struct zc_cache *c);
struct zc_share *zc_share_reader(struct zc_cache *c);
struct zc_share *zc_share_writer(struct zc_cache *c, const struct zc_share *also);
/* Several have something to be written; or have files open, and so may come at any moment. */
bool zc_share_turns(const struct zc_cache *c);
bool zc_share_crowd(const struct zc_cache *c);
/* A handle of it begins, or ends, which may free it. */
void zc_share_open(struct zc_cache *c, struct zc_share *s);
void zc_share_close(struct zc_cache *c, struct zc_share *s);
void zc_share_wrote(struct zc_cache *c, struct zc_share *s, uint64_t bytes);
void zc_share_reads(struct zc_cache *c, struct zc_share *s, uint64_t bytes);

#endif
