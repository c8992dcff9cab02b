/* zc_lru.c - eviction of the least recently used evictable page.
 *
 *   zc_cache_tenant.pages   [ A ] - [ B ] - [ C ] - ... - [ Z ]
 *                      |                             ^
 *                      |  zc_lru_evict               |  its last use has ended: unpinned, read,
 *                      v                             |  or written back
 *                    FREE                        CLEAN and unused
 *
 * Not evictable: a dirty page, or one in a store write, has bytes that exist nowhere else; a pinned
 * one is being copied; one under a store read is written to by the store; one with waiters is
 * needed next.  These are not on the list, so no search skips them.
 *
 * Each tenant has such a list; zc_cache_tenant.h says which tenant's first page goes.
 *
 * Pages with unstable bytes (zc_unstable.h) are on a list of their own, and go when no other page
 * can: afterwards these bytes cannot be sent again if the daemon dies.
 *
 * A page is read ahead only if an old one can go: one that was neither written nor read ahead since
 * half a cache of pages was requested, or one of a tenant above its part.  A guess must not
 * displace recently written bytes, which may be read soon, nor the result of another guess.
 *
 * Cost
 *  - 24 bytes per page; each use of an evictable page is two list operations, under the lock that
 *    its pin takes anyway.  The page to evict is found in O(1).
 *  - A sequential read of a large file displaces everything: use counts are not considered.
 *  - A page that was written back counts as used then, even if it was written long before.
 *  - Only the first page is tested for being old: if it is not, nothing is read ahead, although
 *    there may be older ones behind it.
 */
#include "config.h"

#include "zc_cache_internal.h"
#include "zc_lru.h"

void zc_lru_init(struct zc_cache *c)
{
    zc_list_init(&c->lru.kept);
    c->lru.clock = c->npages; /* pages never written are old */
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
    bool kept = !zc_extents_empty(&p->kept), there;

    zc_assert_held(&c->lock);
    if (!evictable) {
        c->lru.n -= zc_lru_holds(p);
        zc_list_del(&p->lru.link);
        return false;
    }
    if (zc_lru_holds(p) && p->lru.kept == kept)
        return false;
    there = zc_lru_holds(p);
    c->lru.n += !there;
    zc_list_del(&p->lru.link);
    p->lru.kept = kept;
    zc_list_add_tail(kept ? &c->lru.kept : &p->tenant->pages, &p->lru.link);
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
    struct zc_cache_tenant *giver = zc_cache_tenant_giver(c);

    return giver ? first_of(&giver->pages) : first_of(&c->lru.kept);
}

bool zc_lru_any(const struct zc_cache *c)
{
    return c->lru.n > 0;
}

bool zc_lru_any_old(const struct zc_cache *c, const struct zc_cache_tenant *s)
{
    const struct zc_cache_tenant *giver = zc_cache_tenant_giver(c);

    if (!giver)
        return false;
    return giver->npages > s->npages + 1 ||
           c->lru.clock - first_of(&giver->pages)->lru.young >= c->npages / 2;
}

struct zc_page *zc_lru_kept(const struct zc_cache *c)
{
    return first_of(&c->lru.kept);
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
    zc_list_each_safe (&c->tenants, l) {
        struct zc_cache_tenant *s = zc_list_entry(l, struct zc_cache_tenant, link);

        s->refs++; /* the last page may end the tenant */
        for (; (p = first_of(&s->pages)) != NULL; n++)
            zc_page_drop(c, p);
        s->refs--;
        zc_cache_tenant_reap(c, s);
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

    zc_list_each (&c->tenants, l)
        zc_list_each (&zc_list_entry(l, struct zc_cache_tenant, link)->pages, n)
            len++;
    zc_list_each (&c->lru.kept, n)
        len++;
    return len;
}
#endif
