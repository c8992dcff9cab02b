/* zc_merge.c - write-back of a page of many ranges, by the cheapest calls (zc_cost.h).
 *
 * Ranges close together are written in one store call, including the bytes between them, if the
 * store can do that safely (zc_store_ops.write_ranges): it reads the stretch and merges the ranges
 * under a lock.  What it has read stays in the page as clean bytes, so that the page is whole and
 * is not read again.  A store that sends ranges as a list (a daemon) gets all of a page with many
 * ranges: it merges next to the file system.
 *
 * All with the lock, which is dropped around store calls.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_cache_internal.h"
#include "zc_log.h"

enum {
    LIST_RANGES = 64,       /* more are written by zc_merge_write() whatever the cost; a daemon gets
                               fewer by separate writes */
    SMALL_WRITE = 64 << 10, /* bytes; smaller writes are counted */
};

bool zc_merge_apart(const struct zc_cache *c, const struct zc_extents *e)
{
    struct zc_cost_shape shape = zc_cost_shape_of(e);

    if (e->n < 2 || !zc_store_writes_ranges(c->store))
        return false;
    return e->n > LIST_RANGES ||
           (c->store->servers == 0 && zc_cost_choose(&c->cost, &shape) != ZC_COST_LIST);
}

void zc_merge_count_write(struct zc_cache *c, struct zc_file *f, uint64_t lo, uint64_t hi,
                          uint64_t bytes)
{
    c->st.store_writes++;
    c->st.small_writes += hi - lo < SMALL_WRITE;
    c->st.store_written_bytes += bytes;
    zc_wb_errors_written(f, lo, hi, bytes);
    if (hi > f->store_end)
        f->store_end = hi;
}

/* ---- the next write ---- */

struct next {
    struct zc_range *r; /* a copy: the set shrinks when bytes are truncated or found damaged */
    uint32_t n;
    enum zc_cost_way way;
};

/* Determines the next write of the bytes from `at` on: 1; 0: nothing is left; -EOPNOTSUPP: no
 * memory for that. */
static int next_ranges(const struct zc_cache *c, const struct zc_page *p, uint32_t at,
                       struct next *next)
{
    const struct zc_range *r = zc_extents_ranges(&p->flushing);
    uint32_t i = zc_extents_after(&p->flushing, at), n = p->flushing.n - i;
    uint64_t start = p->no << c->page_shift;

    if (n == 0)
        return 0;
    next->n = n;
    next->way = ZC_COST_MERGE;
    if (c->store->servers == 0)
        next->way =
            zc_cost_next(&c->cost, r + i, n, start + r[i].lo >= p->file->store_end, &next->n);
    next->r = malloc(next->n * sizeof *next->r);
    if (!next->r)
        return -EOPNOTSUPP;
    memcpy(next->r, r + i, next->n * sizeof *next->r);
    return 1;
}

static void tell(const struct zc_cache *c, const struct zc_page *p)
{
    struct zc_cost_shape s = zc_cost_shape_of(&p->flushing);

    zc_debug("%s: page at %llu: %u ranges, %llu bytes of %llu: %s; estimated us: a list %.0f, read "
             "and write %.0f, one write %.0f",
             p->file->path, (unsigned long long)(p->no << c->page_shift), s.ranges,
             (unsigned long long)s.bytes, (unsigned long long)s.hull,
             c->store->servers ? "sent as a list" : zc_cost_name(zc_cost_choose(&c->cost, &s)),
             zc_cost_of(&c->cost, &s, ZC_COST_LIST) / 1000,
             zc_cost_of(&c->cost, &s, ZC_COST_MERGE) / 1000,
             zc_cost_of(&c->cost, &s, ZC_COST_FRESH) / 1000);
}

/* ---- bytes that were read ---- */

/* Keeps `data`, the file's bytes at [lo, hi) of the page, as clean bytes where nothing is valid.
 * Checks for damage first, since the chunk gets a new checksum.  Without memory nothing is kept.
 */
static void keep(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi, const char *data)
{
    struct zc_range *gaps;
    int n;

    if (p->fill != ZC_FILL_NONE || p->outdated || zc_page_is_undefined(p))
        return;
    zc_page_csum_check(c, p, lo, hi);
    n = zc_fill_gaps(p, lo, hi, &gaps);
    if (n > 0 && zc_extents_reserve(&p->valid, p->valid.n + (uint32_t)n + p->promised) == 0) {
        zc_publish_hide(c, p);
        for (int i = 0; i < n; i++) {
            zc_page_csum_open(c, p, gaps[i].lo, gaps[i].hi);
            memcpy(zc_page_data(c, p) + gaps[i].lo, data + (gaps[i].lo - lo),
                   gaps[i].hi - gaps[i].lo);
            zc_page_csum_close(c, p, gaps[i].lo, gaps[i].hi);
        }
        if (zc_extents_add_many(&p->valid, gaps, (uint32_t)n) < 0)
            abort(); /* room was reserved */
        zc_page_place(c, p);
    }
    free(gaps);
}

/* ---- writing ---- */

static ssize_t write_merged(struct zc_cache *c, struct zc_page *p, const struct next *next)
{
    struct zc_sfile *sf = p->file->wr;
    uint64_t start = zc_page_offset(c, p), began = zc_call_began(c);
    uint32_t lo = next->r[0].lo, hi = next->r[next->n - 1].hi, outdates = p->outdates;
    struct zc_merge m;
    ssize_t rc;

    zc_cache_unlock(c);
    rc = zc_store_write_ranges(sf, zc_page_data(c, p), next->r, next->n, start, &m);
    zc_lock_get(&c->lock);
    zc_call_ended_mixed(c, began, ZC_EVENT_STORE_WRITE, rc);
    if (rc >= 0) {
        zc_merge_count_write(c, p->file, start + lo, start + hi, (uint64_t)rc);
        c->st.merges += m.data != NULL;
        c->st.merge_read_bytes += m.read;
        c->st.merge_filled_bytes += m.data ? hi - lo - (uint64_t)rc : 0;
        if (m.data && p->outdates == outdates)
            keep(c, p, lo, hi, m.data);
    }
    free(m.data);
    return rc;
}

/* Writes each range by itself, as far as it is still dirty. */
static ssize_t write_list(struct zc_cache *c, struct zc_page *p, const struct next *next)
{
    uint32_t at = next->r[0].lo, end = next->r[next->n - 1].hi;
    uint64_t start = zc_page_offset(c, p);
    struct zc_range r;

    for (; zc_extents_next(&p->flushing, at, end, &r); at = r.hi) {
        struct iovec iov = {zc_page_data(c, p) + r.lo, r.hi - r.lo};
        struct zc_sfile *sf = p->file->wr;
        uint64_t began = zc_call_began(c);
        ssize_t rc;

        zc_cache_unlock(c);
        rc = zc_store_pwritev(sf, &iov, 1, start + r.lo);
        zc_lock_get(&c->lock);
        zc_call_ended(c, began, ZC_EVENT_STORE_WRITE, rc);
        if (rc < 0)
            return rc;
        zc_merge_count_write(c, p->file, start + r.lo, start + r.hi, r.hi - r.lo);
    }
    return 0;
}

int zc_merge_write(struct zc_cache *c, struct zc_page *p, uint32_t *at)
{
    struct next next;
    ssize_t rc;

    zc_assert_held(&c->lock);
    if (!zc_store_writes_ranges(c->store))
        return -EOPNOTSUPP;
    tell(c, p);
    while ((rc = next_ranges(c, p, *at, &next)) > 0) {
        if (next.n > 1 && next.way != ZC_COST_LIST)
            rc = write_merged(c, p, &next);
        else
            rc = write_list(c, p, &next);
        if (rc >= 0)
            *at = next.r[next.n - 1].hi;
        free(next.r);
        if (rc < 0)
            break;
    }
    return rc < 0 ? (int)rc : 0;
}
