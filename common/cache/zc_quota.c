/* zc_quota.c - how much may be unwritten, so that what one store refuses leaves the others room.
 *
 * A page is claimed when it holds unwritten bytes or a write to it is under way; what is claimed
 * cannot be evicted, and when the store refuses it, not for as long as that lasts.  Nobody knows
 * beforehand whose store will, so claims are curbed before:
 *
 *     nothing is refused     all files together leave an eighth of the cache, and a page at least
 *     a file that fails      has cfg.failed_quota of the cache, and all that do half of it; when
 *                            they had claimed more before it was known they keep that.  Who
 *                            wants more gets the store's error.
 *     the others meanwhile   claim a quarter, and a page at least, of what those have left; who
 *                            wants more waits for write-back of the others' own bytes
 *
 * What must stay because a daemon has not stored it (zc_retain.h) is claimed, too.  When the
 * daemon cannot store it, and nothing is unwritten but what is refused, writers get its error.
 *
 * Where several share the cache each has its own part of this room (zc_share.h): who wants more
 * waits for write-back of its own bytes.
 *
 * So readers always find a page to read into, and writers one to write, but where files that fail
 * one after the other have left a single page: then writers get the error of one of those.
 */
#include "config.h"

#include <stdio.h>

#include "zc_cache_internal.h"

/* A cache that has become smaller may have all its pages claimed until some are written back. */
void zc_quota_claim(struct zc_cache *c, struct zc_page *p, bool claimed)
{
    struct zc_file *f = p->file;
    uint64_t more = claimed ? 1 : (uint64_t)-1;

    zc_assert_held(&c->lock);
    if (p->claimed == claimed)
        return;
    p->claimed = claimed;
    f->nclaimed += more;
    c->nclaimed += more;
    zc_share_claim(c, p, more);
    if (f->nfailed > 0)
        c->nbarred += more;
    if (c->nclaimed < c->npages)
        c->shrunk = false;
}

static uint64_t at_least(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t zc_quota_healthy(const struct zc_cache *c)
{
    uint64_t left = c->npages > c->nbarred ? c->npages - c->nbarred : 0; /* it may have shrunk */

    if (c->nbarred == 0)
        return left > 1 ? left - at_least(left / 8, 1) : left;
    return left > 1 ? at_least(left / 4, 1) : 0;
}

static bool failing_may(const struct zc_cache *c, const struct zc_file *f)
{
    uint64_t quota = at_least(c->npages * c->cfg.failed_quota / 100, 1);

    return f->nclaimed < quota && c->nbarred < c->npages / 2 && c->nclaimed + 1 < c->npages;
}

/* MPI shows 239 bytes: the cause comes first. */
static void reached(struct zc_why *why, const struct zc_why *refused)
{
    static const char more[] = "; quota of the cache reached";

    zc_why_set(why, refused->err, "%s%s", refused->text, more);
    snprintf(why->cause, sizeof why->cause, "%s%s", refused->cause, more);
}

enum zc_quota zc_quota_ask(struct zc_cache *c, const struct zc_handle *h, const struct zc_page *p)
{
    struct zc_file *f = h->file;
    const struct zc_why *stuck;
    const struct zc_file *bad;
    uint64_t healthy = c->nclaimed - c->nbarred;

    zc_assert_held(&c->lock);
    if (p && p->claimed)
        return ZC_QUOTA_FREE;
    if (f->nfailed > 0) {
        if (failing_may(c, f))
            return ZC_QUOTA_FREE;
        reached(&f->access_why, &f->write_why);
        return ZC_QUOTA_FULL;
    }
    if (healthy < zc_quota_healthy(c))
        return zc_share_full(c, h->share) ? ZC_QUOTA_WAIT : ZC_QUOTA_FREE;
    stuck = c->ndirty == 0 && c->nflushing == 0 ? zc_retain_stuck(c) : NULL;
    if (stuck) {
        zc_why_set(&f->access_why, stuck->err, "no room in the cache: %s", stuck->text);
        return ZC_QUOTA_FULL;
    }
    if (healthy > 0 || zc_list_empty(&c->failed_files))
        return ZC_QUOTA_WAIT;
    bad = zc_list_entry(c->failed_files.next, struct zc_file, failed_link);
    zc_why_set(&f->access_why, bad->write_why.err, "no room in the cache: %s", bad->write_why.text);
    return ZC_QUOTA_FULL;
}
