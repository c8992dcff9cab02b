/* zc_page_sums.c - bytes at rest have checksums (zc_grain.h), where the open of a file asked for
 * them: made when they arrive, checked before they are used.
 *
 *     end of a write, or of a store read   the grains it touched get their sums
 *     begin of a write, of a store read    those it changes only a part of are checked
 *     begin of a read                      those it touches are checked
 *     store write                          those with bytes to be written are checked
 *
 * Damaged clean bytes are forgotten, and come anew from the store.  Damaged bytes that are not in
 * the store are lost, by range, and never written: all of a grain that are, since nobody knows
 * which of them it is.  What a lossy store has taken of them is exposed from then on.
 *
 * A page has sums from the time it enters the cache until it goes, or never: so each access to it
 * opens and closes.  They are in an array beside the arena, 8 bytes for each ZC_GRAIN of it, whose
 * memory is used with that of the pages: a 128th more.
 *
 * With the lock, which is held while a page is summed: 27 us for 1 MiB that lies in the processor's
 * caches, measured on an AMD EPYC; longer where it does not.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>

#include "zc_cache_internal.h"
#include "zc_crc.h"
#include "zc_grain.h"
#include "zc_log.h"

static uint32_t grains(const struct zc_cache *c)
{
    return c->page_size / ZC_GRAIN;
}

static size_t array_size(const struct zc_cache *c)
{
    return (size_t)c->reserved * grains(c) * sizeof *c->grains;
}

static struct zc_grain *of(const struct zc_cache *c, const struct zc_page *p)
{
    return c->grains + (size_t)(p - c->pages) * grains(c);
}

int zc_page_sums_load(struct zc_cache *c)
{
    void *at = MAP_FAILED;
    int rc = zc_crc_load();

    if (rc < 0)
        return rc;
    zc_lock_get(&c->lock);
    if (!c->grains) {
        at = mmap(NULL, array_size(c), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        c->grains = at == MAP_FAILED ? NULL : at;
    }
    rc = c->grains ? 0 : zc_errorf(ENOMEM, "no memory for checksums of a cache");
    zc_lock_put(&c->lock);
    return rc;
}

void zc_page_sums_free(struct zc_cache *c)
{
    if (c->grains)
        munmap(c->grains, array_size(c));
    c->grains = NULL;
}

void zc_page_sums_enter(struct zc_cache *c, struct zc_page *p)
{
    p->summed = p->file->summed;
    if (p->summed)
        zc_grains_clear(of(c, p), grains(c));
}

/* ---- what is damaged ---- */

static void add(struct zc_spans *s, const struct zc_extents *e, uint64_t start, uint32_t lo,
                uint32_t hi)
{
    struct zc_range r;

    for (; zc_extents_next(e, lo, hi, &r); lo = r.hi)
        zc_spans_add(s, start + r.lo, start + r.hi, r.hi - r.lo);
}

static void damaged(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi)
{
    uint64_t start = zc_page_offset(c, p);
    struct zc_spans lost = {0};
    struct zc_why why;

    add(&lost, &p->dirty, start, lo, hi);
    add(&lost, &p->flushing, start, lo, hi);
    if (!zc_page_may_lose(p)) { /* then all of it goes, for want of memory */
        lo = 0;
        hi = c->page_size;
        lost = (struct zc_spans){0};
        add(&lost, &p->dirty, start, lo, hi);
        add(&lost, &p->flushing, start, lo, hi);
    }
    zc_retain_let_go_part(c, p, lo, hi);
    zc_page_lose(c, p, lo, hi);
    c->st.damaged_bytes += hi - lo;
    if (lost.n > 0) {
        zc_why_set(&why, -EIO, "%s was damaged in memory: wrong checksum", p->file->path);
        zc_ledger_lose(c, p->file, &lost, &why);
    } else {
        zc_warn("%s, bytes %" PRIu64 "-%" PRIu64 ": damaged in memory: read again", p->file->path,
                start + lo, start + hi - 1);
    }
    zc_page_place(c, p);
    zc_file_eager(c, p->file); /* a flush may have waited for these */
}

static bool right(struct zc_cache *c, struct zc_page *p, uint32_t i)
{
    if (zc_grain_right(of(c, p), zc_page_data(c, p), i))
        return true;
    of(c, p)[i].summed = false;
    return false;
}

void zc_page_sums_check(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi)
{
    zc_assert_held(&c->lock);
    for (uint32_t i = lo / ZC_GRAIN; p->summed && (uint64_t)i * ZC_GRAIN < hi; i++)
        if (!right(c, p, i))
            damaged(c, p, i * ZC_GRAIN, (i + 1) * ZC_GRAIN);
}

void zc_page_sums_check_flushing(struct zc_cache *c, struct zc_page *p)
{
    zc_assert_held(&c->lock);
    for (uint32_t i = 0; p->summed && i < grains(c); i++)
        if (zc_extents_touch(&p->flushing, i * ZC_GRAIN, (i + 1) * ZC_GRAIN) && !right(c, p, i))
            damaged(c, p, i * ZC_GRAIN, (i + 1) * ZC_GRAIN);
}

/* One range overwrites all but its edges. */
void zc_page_sums_check_write(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi,
                              bool whole)
{
    if (!whole) {
        zc_page_sums_check(c, p, lo, hi);
        return;
    }
    if (lo % ZC_GRAIN)
        zc_page_sums_check(c, p, lo, lo + 1);
    if (hi % ZC_GRAIN)
        zc_page_sums_check(c, p, hi - 1, hi);
}

/* ---- who changes bytes ---- */

void zc_page_sums_open(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi)
{
    zc_assert_held(&c->lock);
    if (p->summed)
        zc_grains_open(of(c, p), lo, hi);
}

void zc_page_sums_close(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi)
{
    zc_assert_held(&c->lock);
    if (p->summed)
        zc_grains_close(of(c, p), zc_page_data(c, p), lo, hi);
}
