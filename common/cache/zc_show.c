/* zc_show.c - what others of this host may read of a cache's pages without asking (zc_glance.h).
 *
 * Every frame has a glance.  It shows the longest run of bytes that may be read, of those that lie
 * before the end of the file, as long as nobody writes to the page or reads into it, and hides the
 * page from then on: zc_page_place(), which every change of a page ends with, looks to that.  A
 * page with checksums, which only its owner looks at, is not shown.  What is shown is never more
 * than zc_cache_begin() would give at once (zc_check.c).
 */
#include "config.h"

#include <sys/random.h>

#include "zc_cache_internal.h"
#include "zc_log.h"
#include "zc_memory.h"

enum { FEW = 8 }; /* a page of more ranges is not shown */

static size_t bytes_for(const struct zc_cache *c)
{
    return c->reserved * sizeof *c->glances;
}

/* Memory that is used is given when it is. */
bool zc_show_init(struct zc_cache *c)
{
    void *at;
    int rc;

    if (!c->cfg.shown)
        return true;
    rc = zc_memory_share("zcache-glances", bytes_for(c), false, &c->glances_fd, &at);
    if (rc) { /* nobody can look, then: reads are messages */
        zc_info("pages are not shown to other processes: %s", zc_error_text(rc));
        return true;
    }
    c->glances = at;
    if (getrandom(&c->first_turn, sizeof c->first_turn, 0) != sizeof c->first_turn)
        return false;
    c->first_turn |= 1;
    return true;
}

void zc_show_free(struct zc_cache *c)
{
    if (c->glances)
        zc_memory_free(c->glances, bytes_for(c), c->glances_fd);
    c->glances = NULL;
}

static struct zc_glance *glance_of(const struct zc_cache *c, const struct zc_page *p)
{
    return &c->glances[p - c->pages];
}

void zc_show_frame(struct zc_cache *c, const struct zc_page *p)
{
    if (c->glances)
        glance_of(c, p)->turn = c->first_turn;
}

void zc_show_not(struct zc_cache *c, const struct zc_page *p)
{
    zc_assert_held(&c->lock);
    if (c->glances)
        zc_glance_hide(glance_of(c, p));
}

/* The longest run of bytes that may be read; false: none, or too many to look for it. */
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

void zc_show_page(struct zc_cache *c, const struct zc_page *p)
{
    struct zc_range r;

    zc_assert_held(&c->lock);
    if (!c->glances)
        return;
    if (p->summed || p->nwriters || p->reading || p->outdated || p->spoiled || !longest(c, p, &r)) {
        zc_glance_hide(glance_of(c, p));
        return;
    }
    zc_glance_show(glance_of(c, p), &(struct zc_glance){.file = (uintptr_t)p->file,
                                                        .no = p->no,
                                                        .data = (uintptr_t)zc_page_data(c, p),
                                                        .lo = r.lo,
                                                        .hi = r.hi,
                                                        .written = p->written});
}

void zc_show_end(struct zc_file *f, uint64_t size)
{
    struct zc_cache *c = f->cache;
    bool shorter = size < f->size;

    zc_assert_held(&c->lock);
    f->size = size;
    if (!shorter || !c->glances)
        return;
    zc_list_each (&f->pages, n) {
        const struct zc_page *p = zc_list_entry(n, struct zc_page, file_link);

        if (zc_page_offset(c, p) + c->page_size > size)
            zc_show_page(c, p);
    }
}

bool zc_show_is_true(const struct zc_cache *c, const struct zc_page *p)
{
    const struct zc_glance *g = c->glances ? glance_of(c, p) : NULL;

    if (!g || !zc_glance_shown(g))
        return true;
    return !p->summed && !p->nwriters && !p->reading && !p->outdated && !p->spoiled &&
           g->lo < g->hi && g->file == (uintptr_t)p->file && g->no == p->no &&
           zc_extents_cover(&p->valid, g->lo, g->hi) &&
           (p->no << c->page_shift) + g->hi <= p->file->size;
}

bool zc_cache_glances(const struct zc_cache *c, int *fd, uint64_t *at, size_t *len)
{
    if (!c->glances)
        return false;
    *fd = c->glances_fd;
    *at = (uintptr_t)c->glances;
    *len = bytes_for(c);
    return true;
}

/* The page is pinned: it stays in its frame. */
bool zc_cache_shown(const struct zc_access *a, uint64_t *glance, uint64_t *file)
{
    const struct zc_file *f = a->handle->file;

    if (!f->cache->glances)
        return false;
    *glance = (uintptr_t)glance_of(f->cache, a->page);
    *file = (uintptr_t)f;
    return true;
}
