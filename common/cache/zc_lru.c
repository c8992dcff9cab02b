/* zc_lru.c - eviction: the least recently used page goes, of those that may.
 *
 *   zc_share.pages   [ A ] - [ B ] - [ C ] - ... - [ Z ]
 *                      |                             ^
 *                      |  zc_lru_evict               |  its last use has ended: unpinned, read,
 *                      v                             |  or written back
 *                    FREE                        CLEAN, and nobody uses it
 *
 * What is skipped, and why: a page that is dirty or in a store write holds bytes that are nowhere
 * else; one that is pinned is being copied from or to; one under a store read is written to by the
 * store; one that somebody waits for is wanted next.  None of these is on the list, so that
 * nothing is skipped by looking at it.
 *
 * Each share of the cache has such a list; which one's first page goes, zc_share.h says.
 *
 * Pages that hold bytes which a daemon has taken and not stored (zc_retain.h) are on a list of
 * their own, and go when no other may: then those bytes are not to be had any more if it dies.
 *
 * For a page that is read ahead an old one goes, or none: old is what was neither written nor read
 * ahead since half a cache of pages was asked for, or one of a share that has more.  A guess shall
 * not displace what was written and will be read soon, nor what another guess has just brought.
 *
 * What it costs
 *  - 24 bytes a page; every use of a page that may go is two list operations, under the lock that
 *    its pin takes anyway.  To find the page is O(1): none is looked at twice.
 *  - A file that is read once, from one end to the other, displaces everything: a page is not
 *    asked how often it was used.
 *  - A page that was written back counts as used then, however long ago it was written.
 *  - Only the first page is asked whether it is old: when it is not, nothing is read ahead,
 *    although older ones may be behind it.
 */
#include "config.h"

#include "zc_cache_internal.h"
#include "zc_lru.h"

void zc_lru_init(struct zc_cache *c)
{
    zc_list_init(&c->lru.retained);
    c->lru.clock = c->npages; /* what was never written is old */
}

void zc_lru_init_frame(struct zc_page *p)
{
    zc_list_init(&p->lru.link);
}

void zc_lru_enter(struct zc_page *p)
{
    p->lru.young = 0;
}

void zc_lru_asked(struct zc_cache *c)
{
    c->lru.clock++;
}

void zc_lru_spare(struct zc_cache *c, struct zc_page *p)
{
    p->lru.young = c->lru.clock;
}

bool zc_lru_place(struct zc_cache *c, struct zc_page *p, bool evictable)
{
    bool retained = !zc_extents_empty(&p->retained), there;

    zc_assert_held(&c->lock);
    if (!evictable) {
        c->lru.n -= zc_lru_holds(p);
        zc_list_del(&p->lru.link);
        return false;
    }
    if (zc_lru_holds(p) && p->lru.retained == retained)
        return false;
    there = zc_lru_holds(p);
    c->lru.n += !there;
    zc_list_del(&p->lru.link);
    p->lru.retained = retained;
    zc_list_add_tail(retained ? &c->lru.retained : &p->share->pages, &p->lru.link);
    return !there;
}

bool zc_lru_holds(const struct zc_page *p)
{
    return zc_list_linked(&p->lru.link);
}

static struct zc_page *first_of(const struct zc_list *l)
{
    return zc_list_empty(l) ? NULL : zc_list_entry(l->next, struct zc_page, lru.link);
}

static struct zc_page *first(const struct zc_cache *c)
{
    struct zc_share *giver = zc_share_giver(c);

    return giver ? first_of(&giver->pages) : first_of(&c->lru.retained);
}

bool zc_lru_any(const struct zc_cache *c)
{
    return c->lru.n > 0;
}

bool zc_lru_any_old(const struct zc_cache *c, const struct zc_share *s)
{
    const struct zc_share *giver = zc_share_giver(c);

    if (!giver)
        return false;
    return giver->npages > s->npages + 1 ||
           c->lru.clock - first_of(&giver->pages)->lru.young >= c->npages / 2;
}

struct zc_page *zc_lru_retained(const struct zc_cache *c)
{
    return first_of(&c->lru.retained);
}

bool zc_lru_evict(struct zc_cache *c)
{
    struct zc_page *p = first(c);

    zc_assert_held(&c->lock);
    if (!p)
        return false;
    c->st.evictions++;
    zc_page_drop(c, p);
    return true;
}

uint64_t zc_lru_drop_all(struct zc_cache *c)
{
    struct zc_page *p;
    uint64_t n = 0;

    zc_assert_held(&c->lock);
    zc_list_each_safe (&c->shares, l) {
        struct zc_share *s = zc_list_entry(l, struct zc_share, link);

        s->refs++; /* its last page may be its end */
        for (; (p = first_of(&s->pages)) != NULL; n++)
            zc_page_drop(c, p);
        s->refs--;
        zc_share_reap(c, s);
    }
    return n;
}

uint64_t zc_cache_evict(struct zc_cache *c)
{
    uint64_t n;

    zc_lock_get(&c->lock);
    n = zc_lru_drop_all(c);
    c->st.evictions += n;
    zc_cache_unlock(c);
    return n << c->page_shift;
}

#ifdef ZC_DEBUG
uint64_t zc_lru_length(const struct zc_cache *c)
{
    uint64_t len = 0;

    zc_list_each (&c->shares, l)
        zc_list_each (&zc_list_entry(l, struct zc_share, link)->pages, n)
            len++;
    zc_list_each (&c->lru.retained, n)
        len++;
    return len;
}
#endif
