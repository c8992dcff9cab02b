/* zc_publish.c - shows pages of a cache to other processes of the host (zc_pagedesc.h).
 *
 * Every frame has a page descriptor.  It shows the longest readable run of bytes before the end of
 * the file while no write or store read changes the page, and is withdrawn before that: by
 * zc_page_place(), which every change of a page ends with.  A page with checksums is not shown, as
 * only its owner checks them.  A descriptor never shows more than zc_cache_begin() would give at
 * once (zc_check.c).
 *
 * One more descriptor, the last, shows no page: its number grows when a file that is open is opened
 * by its first writer, which ends the quiescence of files.
 */
#include "config.h"

#include <sys/random.h>

#include "zc_cache_internal.h"
#include "zc_log.h"
#include "zc_memory.h"

enum { FEW = 8 }; /* a page with more ranges is not shown */

static size_t bytes_for(const struct zc_cache *c)
{
    return (c->reserved + 1) * sizeof *c->pagedescs;
}

static struct zc_pagedesc *of_writers(const struct zc_cache *c)
{
    return &c->pagedescs[c->reserved];
}

/* Memory is allocated on first use. */
bool zc_publish_init(struct zc_cache *c)
{
    void *at;
    int rc;

    if (!c->cfg.published)
        return true;
    rc = zc_memory_share("zcache-glances", bytes_for(c), false, &c->pagedescs_fd, &at);
    if (rc) { /* no descriptors then: reads are messages */
        zc_info("pages are not shown to other processes: %s", zc_error_text(rc));
        return true;
    }
    c->pagedescs = at;
    if (getrandom(&c->first_seq, sizeof c->first_seq, 0) != sizeof c->first_seq)
        return false;
    c->first_seq |= 1;
    of_writers(c)->seq = c->first_seq;
    return true;
}

void zc_publish_free(struct zc_cache *c)
{
    if (c->pagedescs)
        zc_memory_free(c->pagedescs, bytes_for(c), c->pagedescs_fd);
    c->pagedescs = NULL;
}

static struct zc_pagedesc *pagedesc_of(const struct zc_cache *c, const struct zc_page *p)
{
    return &c->pagedescs[p - c->pages];
}

void zc_publish_frame(struct zc_cache *c, const struct zc_page *p)
{
    if (c->pagedescs)
        pagedesc_of(c, p)->seq = c->first_seq;
}

void zc_publish_hide(struct zc_cache *c, const struct zc_page *p)
{
    zc_assert_held(&c->lock);
    if (c->pagedescs)
        zc_pagedesc_hide(pagedesc_of(c, p));
}

/* Finds the longest readable run; false: none, or too many ranges to search. */
static bool longest(struct zc_cache *c, const struct zc_page *p, struct zc_range *out)
{
    const struct zc_range *r = zc_extents_ranges(&p->valid);
    uint64_t start = zc_page_offset(c, p), size = p->file->size;
    uint64_t end = size <= start ? 0 : size - start;

    *out = (struct zc_range){0, 0};
    if (p->valid.n > FEW)
        return false;
    for (uint32_t i = 0; i < p->valid.n && r[i].lo < end; i++) {
        uint32_t hi = r[i].hi < end ? r[i].hi : (uint32_t)end;

        if (hi - r[i].lo > out->hi - out->lo)
            *out = (struct zc_range){r[i].lo, hi};
    }
    return out->hi > out->lo;
}

void zc_publish_page(struct zc_cache *c, const struct zc_page *p)
{
    struct zc_range r;

    zc_assert_held(&c->lock);
    if (!c->pagedescs)
        return;
    if (p->summed || p->nwriters || p->fill != ZC_FILL_NONE || p->outdated ||
        zc_page_is_undefined(p) || !longest(c, p, &r)) {
        zc_pagedesc_hide(pagedesc_of(c, p));
        return;
    }
    zc_pagedesc_publish(pagedesc_of(c, p),
                        &(struct zc_pagedesc){.file = (uintptr_t)p->file,
                                              .no = p->no,
                                              .data = (uintptr_t)zc_page_data(c, p),
                                              .lo = r.lo,
                                              .hi = r.hi,
                                              .written = p->written});
}

void zc_publish_eof(struct zc_file *f, uint64_t size)
{
    struct zc_cache *c = f->cache;
    bool shorter = size < f->size;

    zc_assert_held(&c->lock);
    f->size = size;
    if (!shorter || !c->pagedescs)
        return;
    zc_list_each (&f->pages, n) {
        const struct zc_page *p = zc_list_entry(n, struct zc_page, file_link);

        if (zc_page_offset(c, p) + c->page_size > size)
            zc_publish_page(c, p);
    }
}

bool zc_publish_is_current(const struct zc_cache *c, const struct zc_page *p)
{
    const struct zc_pagedesc *g = c->pagedescs ? pagedesc_of(c, p) : NULL;

    if (!g || !zc_pagedesc_is_published(g))
        return true;
    return !p->summed && !p->nwriters && p->fill == ZC_FILL_NONE && !p->outdated &&
           !zc_page_is_undefined(p) && g->lo < g->hi && g->file == (uintptr_t)p->file &&
           g->no == p->no && zc_extents_cover(&p->valid, g->lo, g->hi) &&
           (p->no << c->page_shift) + g->hi <= p->file->size;
}

void zc_publish_writer(struct zc_cache *c)
{
    zc_assert_held(&c->lock);
    if (c->pagedescs)
        __atomic_add_fetch(&of_writers(c)->seq, 2, __ATOMIC_SEQ_CST);
}

void zc_cache_quiescence(struct zc_handle *h, struct zc_quiescence *q)
{
    struct zc_file *f = h->file;
    struct zc_cache *c = f->cache;

    *q = (struct zc_quiescence){0};
    zc_lock_get(&c->lock);
    if (c->pagedescs && c->store->servers == 0 && !f->wr && !zc_file_unwritten(f))
        *q = (struct zc_quiescence){(uintptr_t)of_writers(c), zc_pagedesc_seq(of_writers(c))};
    zc_lock_put(&c->lock);
}

int zc_cache_descriptor(struct zc_handle *h)
{
    struct zc_file *f = h->file;
    struct zc_cache *c = f->cache;
    int fd;

    zc_lock_get(&c->lock);
    fd = zc_store_descriptor(f->rd ? f->rd : f->wr);
    zc_lock_put(&c->lock);
    return fd;
}

bool zc_cache_is_quiescent(const struct zc_handle *h, const struct zc_quiescence *q)
{
    return q->pagedesc && zc_pagedesc_seq(of_writers(h->file->cache)) == q->seq;
}

bool zc_cache_pagedescs(const struct zc_cache *c, int *fd, uint64_t *at, size_t *len)
{
    if (!c->pagedescs)
        return false;
    *fd = c->pagedescs_fd;
    *at = (uintptr_t)c->pagedescs;
    *len = bytes_for(c);
    return true;
}

/* The page is pinned: it stays in its frame. */
bool zc_cache_pagedesc(const struct zc_access *a, uint64_t *pagedesc, uint64_t *file)
{
    const struct zc_file *f = a->handle->file;

    if (!f->cache->pagedescs)
        return false;
    *pagedesc = (uintptr_t)pagedesc_of(f->cache, a->page);
    *file = (uintptr_t)f;
    return true;
}
