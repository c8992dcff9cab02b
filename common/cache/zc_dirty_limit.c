/* zc_dirty_limit.c - the limit of unwritten pages, so that a failing store leaves room for other
 * files.
 *
 * A page is reserved when it holds unwritten bytes or a write to it is under way.  A reserved page
 * cannot be evicted, and if the store refuses it, not for as long as that lasts.  Which store will
 * fail is not known beforehand, so reservations are limited in advance:
 *
 *     no failures           all files together leave an eighth of the cache free, at least a page
 *     a file that fails     gets cfg.failed_limit of the cache, and all such files half of it;
 *                           pages reserved before the failure stay.  Beyond it writers get the
 *                           store's error.  Writes that were acknowledged before (zc_ring_apply.c)
 *                           may take all of the cache but one page: they are lost otherwise.
 *     the others meanwhile  leave a quarter, at least a page, of what those have left; beyond it
 *                           writers wait for write-back of the others' own bytes
 *
 * Pages that stay for unstable bytes (zc_unstable.h) are reserved as well.  If the daemon cannot
 * store them, and everything unwritten is refused, writers get its error.
 *
 * Where tenants share the cache each has its own part of this room (zc_cache_tenant.h), and writers
 * beyond it wait for write-back of their tenant's own bytes.
 *
 * So readers always find a page to read into, and writers one to write to, unless files that failed
 * one after the other, or acknowledged writes to them, have left a single page: then writers get
 * the error of one of those.
 */
#include "config.h"

#include <string.h>

#include "zc_cache_internal.h"

/* Adds the page to the reserved ones, or removes it.  After the cache was made smaller, all pages
 * can be reserved until some are written back. */
void zc_dirty_limit_reserve(struct zc_cache *c, struct zc_page *p, bool reserved)
{
    struct zc_file *f = p->file;
    uint64_t more = reserved ? 1 : (uint64_t)-1;

    zc_assert_held(&c->lock);
    f->nreserved += more;
    c->nreserved += more;
    zc_cache_tenant_reserve(c, p, more);
    if (f->nfailed > 0)
        c->nbarred += more;
    if (c->nreserved < c->npages)
        c->shrunk = false;
}

static uint64_t at_least(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t zc_dirty_limit_healthy(const struct zc_cache *c)
{
    uint64_t left = c->npages > c->nbarred ? c->npages - c->nbarred : 0; /* may have shrunk */

    if (c->nbarred == 0)
        return left > 1 ? left - at_least(left / 8, 1) : left;
    return left > 1 ? at_least(left / 4, 1) : 0;
}

static bool failing_may(const struct zc_cache *c, const struct zc_file *f)
{
    uint64_t quota = at_least(c->npages * c->cfg.failed_limit / 100, 1);

    return f->nreserved < quota && c->nbarred < c->npages / 2 && c->nreserved + 1 < c->npages;
}

/* Builds the text.  MPI shows 239 bytes, so the cause comes first. */
static void reached(struct zc_error *why, const struct zc_error *refused)
{
    static const char more[] = "; quota of the cache reached";
    size_t cause = strlen(refused->text + refused->cause) + sizeof more - 1, all;

    zc_error_set(why, refused->rc, "%s%s", refused->text, more);
    all = strlen(why->text);
    why->cause = refused->cause && cause < all ? (uint32_t)(all - cause) : 0;
}

static enum zc_dirty_limit ask(struct zc_cache *c, const struct zc_handle *h,
                               const struct zc_page *p)
{
    struct zc_file *f = h->file;
    const struct zc_error *stuck;
    const struct zc_file *bad;
    uint64_t healthy = c->nreserved - c->nbarred;

    zc_assert_held(&c->lock);
    if (p && p->stake == ZC_STAKE_RESERVED)
        return ZC_DIRTY_LIMIT_FREE;
    if (f->nfailed > 0) {
        if (failing_may(c, f))
            return ZC_DIRTY_LIMIT_FREE;
        reached(&f->access_why, &f->write_why);
        return ZC_DIRTY_LIMIT_FULL;
    }
    if (healthy < zc_dirty_limit_healthy(c))
        return zc_cache_tenant_full(c, h->tenant) ? ZC_DIRTY_LIMIT_WAIT : ZC_DIRTY_LIMIT_FREE;
    stuck = c->ndirty == 0 && c->nflushing == 0 ? zc_unstable_stuck(c) : NULL;
    if (stuck) {
        zc_error_set(&f->access_why, stuck->rc, "no room in the cache: %s", stuck->text);
        return ZC_DIRTY_LIMIT_FULL;
    }
    if (healthy > 0 || zc_list_empty(&c->failed_files))
        return ZC_DIRTY_LIMIT_WAIT;
    bad = zc_list_entry(c->failed_files.next, struct zc_file, failed_link);
    zc_error_set(&f->access_why, bad->write_why.rc, "no room in the cache: %s",
                 bad->write_why.text);
    return ZC_DIRTY_LIMIT_FULL;
}

enum zc_dirty_limit zc_dirty_limit_ask(struct zc_cache *c, const struct zc_handle *h,
                                       const struct zc_page *p, bool acknowledged)
{
    enum zc_dirty_limit limit = ask(c, h, p);
    bool room = c->nreserved + 1 < c->npages;

    return limit == ZC_DIRTY_LIMIT_FULL && acknowledged && room ? ZC_DIRTY_LIMIT_FREE : limit;
}
