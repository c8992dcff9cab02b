/* zc_page_csum.c - checksums of bytes at rest (zc_csum_chunk.h), if the open of a file asked for
 * them: made when bytes arrive, checked before they are used.
 *
 *     end of a write, or of a store read   the chunks it touched get their checksums
 *     begin of a write, of a store read    chunks that it changes in part are checked
 *     begin of a read                      chunks that it touches are checked
 *     store write                          chunks with bytes to be written are checked
 *
 * Damaged clean bytes are dropped and read from the store again.  Damaged bytes that are not in the
 * store are lost, by range, and never written: all such bytes of the chunk, as a checksum does not
 * show which of them is wrong.  Its unstable bytes become unprotected.
 *
 * A page has checksums for its whole time in the cache, or never: so each access to it opens and
 * closes.  They are in an array beside the arena, 8 bytes for each ZC_CSUM_CHUNK of it, whose
 * memory is used with that of the pages: a 128th more.
 *
 * All functions are called with the lock, which is held while a page is summed: 27 us for 1 MiB in
 * the processor's caches, measured on an AMD EPYC; longer if it is not there.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>

#include "zc_cache_internal.h"
#include "zc_crc.h"
#include "zc_csum_chunk.h"
#include "zc_log.h"

static uint32_t grains(const struct zc_cache *c)
{
    return c->page_size / ZC_CSUM_CHUNK;
}

static size_t array_size(const struct zc_cache *c)
{
    return (size_t)c->reserved * grains(c) * sizeof *c->csum_chunks;
}

static struct zc_csum_chunk *of(const struct zc_cache *c, const struct zc_page *p)
{
    return c->csum_chunks + (size_t)(p - c->pages) * grains(c);
}

int zc_page_csum_load(struct zc_cache *c)
{
    void *at = MAP_FAILED;
    int rc = zc_crc_load();

    if (rc < 0)
        return rc;
    zc_lock_get(&c->lock);
    if (!c->csum_chunks) {
        at = mmap(NULL, array_size(c), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        c->csum_chunks = at == MAP_FAILED ? NULL : at;
    }
    rc = c->csum_chunks ? 0 : zc_errorf(ENOMEM, "no memory for checksums of a cache");
    zc_lock_put(&c->lock);
    return rc;
}

void zc_page_csum_free(struct zc_cache *c)
{
    if (c->csum_chunks)
        munmap(c->csum_chunks, array_size(c));
    c->csum_chunks = NULL;
}

void zc_page_csum_enter(struct zc_cache *c, struct zc_page *p)
{
    p->summed = p->file->summed;
    if (p->summed)
        zc_csum_chunks_clear(of(c, p), grains(c));
}

/* ---- damage ---- */

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
    struct zc_error why;

    add(&lost, &p->dirty, start, lo, hi);
    add(&lost, &p->flushing, start, lo, hi);
    if (!zc_page_may_lose(p)) { /* without memory the whole page goes */
        lo = 0;
        hi = c->page_size;
        lost = (struct zc_spans){0};
        add(&lost, &p->dirty, start, lo, hi);
        add(&lost, &p->flushing, start, lo, hi);
    }
    zc_unstable_release_part(c, p, lo, hi);
    zc_page_lose(c, p, lo, hi);
    c->st.damaged_bytes += hi - lo;
    if (lost.n > 0) {
        zc_error_set(&why, -EIO, "%s was damaged in memory: wrong checksum", p->file->path);
        zc_wb_errors_lose(c, p->file, &lost, &why);
    } else {
        zc_warn("%s, bytes %" PRIu64 "-%" PRIu64 ": damaged in memory: read again", p->file->path,
                start + lo, start + hi - 1);
    }
    zc_page_place(c, p);
    zc_file_flush_now(c, p->file); /* a flush may have waited for these bytes */
}

static bool right(struct zc_cache *c, struct zc_page *p, uint32_t i)
{
    if (zc_csum_chunk_matches(of(c, p), zc_page_data(c, p), i))
        return true;
    of(c, p)[i].summed = false;
    return false;
}

void zc_page_csum_check(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi)
{
    zc_assert_held(&c->lock);
    for (uint32_t i = lo / ZC_CSUM_CHUNK; p->summed && (uint64_t)i * ZC_CSUM_CHUNK < hi; i++)
        if (!right(c, p, i))
            damaged(c, p, i * ZC_CSUM_CHUNK, (i + 1) * ZC_CSUM_CHUNK);
}

void zc_page_csum_check_flushing(struct zc_cache *c, struct zc_page *p)
{
    zc_assert_held(&c->lock);
    for (uint32_t i = 0; p->summed && i < grains(c); i++)
        if (zc_extents_touch(&p->flushing, i * ZC_CSUM_CHUNK, (i + 1) * ZC_CSUM_CHUNK) &&
            !right(c, p, i))
            damaged(c, p, i * ZC_CSUM_CHUNK, (i + 1) * ZC_CSUM_CHUNK);
}

/* For one range that overwrites all but its edges. */
void zc_page_csum_check_write(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi,
                              bool whole)
{
    if (!whole) {
        zc_page_csum_check(c, p, lo, hi);
        return;
    }
    if (lo % ZC_CSUM_CHUNK)
        zc_page_csum_check(c, p, lo, lo + 1);
    if (hi % ZC_CSUM_CHUNK)
        zc_page_csum_check(c, p, hi - 1, hi);
}

/* ---- changes ---- */

void zc_page_csum_open(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi)
{
    zc_assert_held(&c->lock);
    if (p->summed)
        zc_csum_chunks_open(of(c, p), lo, hi);
}

void zc_page_csum_close(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi)
{
    zc_assert_held(&c->lock);
    if (p->summed)
        zc_csum_chunks_close(of(c, p), zc_page_data(c, p), lo, hi);
}
