/* zc_readahead.c - readahead: requests the pages that zc_ra_predict.c proposes.
 *
 *     a read access (zc_readahead_touch), or a read that has returned (zc_readahead_serve)
 *        -> proposals of the handle -> a frame -> fills_ahead (zc_fill.c)
 *        -> used: requested by an access; late if the read is still under way
 *        -> wasted: dropped or overwritten, or its handle closed, before that
 *
 * Rules
 *  1.  Readahead takes free frames and old clean pages only: never a dirty page, nor one that was
 *     written or read ahead within the last half a cache of requested pages (zc_lru.c); and none
 *     while an access waits for memory.
 *  2.  At most a quarter of the cache is read ahead and not used yet; within that, a handle has at
 *     most its depth.  Pages that its streams have passed make room.
 *  3.  A page with unwritten bytes, or a write under way, is left alone.
 *  4.  A write to the page cancels a readahead that no thread has begun.
 */
#include "config.h"

#include "zc_cache_internal.h"
#include "zc_log.h"
#include "zc_view.h"

enum { QUEUE_READS = 2 }; /* queued readaheads for each one under way */

/* ---- the fate of a page ---- */

static void detach(struct zc_cache *c, struct zc_page *p)
{
    zc_list_del(&p->ahead_link);
    p->ahead_for->nahead--;
    p->ahead_for->tenant->nahead--;
    p->ahead_for = NULL;
    ZC_PAGE_MOVE(p, ahead, ZC_AHEAD_OVER);
    c->nahead--;
}

/* A thread begins to read it, possibly again. */
void zc_readahead_started(struct zc_cache *c, struct zc_page *p)
{
    if (p->ahead != ZC_AHEAD_ASKED)
        return;
    ZC_PAGE_MOVE(p, ahead, ZC_AHEAD_BEGUN);
    c->st.prefetched_pages++;
    c->st.prefetched_bytes += p->ahead_bytes;
}

/* An access requests the page. */
void zc_readahead_used(struct zc_cache *c, struct zc_page *p)
{
    zc_assert_held(&c->lock);
    zc_lru_asked(c);
    if (p->ahead == ZC_AHEAD_BEGUN) {
        c->st.prefetch_used_pages++;
        c->st.prefetch_used_bytes += p->ahead_bytes;
    }
    if (p->ahead == ZC_AHEAD_BEGUN && p->fill != ZC_FILL_NONE) {
        c->st.prefetch_late_pages++;
        c->st.prefetch_late_bytes += p->ahead_bytes;
    }
    detach(c, p);
}

/* The page goes unused. */
void zc_readahead_wasted(struct zc_cache *c, struct zc_page *p)
{
    zc_assert_held(&c->lock);
    if (p->ahead == ZC_AHEAD_BEGUN) {
        c->st.prefetch_wasted_pages++;
        c->st.prefetch_wasted_bytes += p->ahead_bytes;
        zc_ra_predict_wasted(&p->ahead_for->predict, p->ahead_stream);
    }
    detach(c, p);
}

/* A write is about to begin on a page queued for readahead. */
void zc_readahead_yield(struct zc_cache *c, struct zc_page *p)
{
    zc_assert_held(&c->lock);
    if (p->fill == ZC_FILL_AHEAD)
        zc_fill_cancel(c, p);
    if (p->ahead_for)
        zc_readahead_wasted(c, p);
}

/* ---- requests ---- */

static uint64_t quota(const struct zc_cache *c)
{
    return c->npages / 4;
}

/* Returns how many reader threads may do readahead at a time. */
unsigned zc_readahead_threads(const struct zc_cache *c)
{
    return c->cfg.readers > 1 ? c->cfg.readers - 1 : 1;
}

/* Whether enough is queued for these threads. */
static bool queue_full(const struct zc_cache *c, const struct zc_cache_tenant *s)
{
    return s->nfills_ahead >=
           QUEUE_READS * (zc_readahead_threads(c) + (c->cfg.max_read >> c->page_shift));
}

/* Drops the oldest page of the handle if its stream has passed it. */
static bool give_up_passed(struct zc_cache *c, struct zc_handle *h)
{
    struct zc_page *p;

    if (zc_list_empty(&h->ahead))
        return false;
    p = zc_list_entry(h->ahead.next, struct zc_page, ahead_link);
    if (!zc_ra_predict_passed(&h->predict, p->ahead_stream, p->no))
        return false;
    if (p->fill != ZC_FILL_NONE && !zc_fill_cancel(c, p))
        return false; /* it may be needed soon */
    zc_readahead_wasted(c, p);
    if (zc_page_idle(p) && p->on == ZC_ON_NONE)
        zc_page_drop(c, p);
    return true;
}

static bool room_for_more(struct zc_cache *c, struct zc_handle *h)
{
    if (!zc_list_empty(&c->room) || queue_full(c, h->tenant))
        return false;
    while (h->nahead >= h->predict.depth || c->nahead >= quota(c) ||
           h->tenant->nahead >= zc_cache_tenant_ahead(c, h->tenant, quota(c)))
        if (!give_up_passed(c, h))
            return false;
    return true;
}

static uint32_t wanted_bytes(struct zc_cache *c, const struct zc_file *f, uint64_t no)
{
    uint64_t start = no << c->page_shift;

    return f->size - start < c->page_size ? (uint32_t)(f->size - start) : c->page_size;
}

/* Whether the page needs no read, or must not be read. */
static bool leave_alone(const struct zc_page *p, uint32_t bytes)
{
    return p->fill != ZC_FILL_NONE || p->ahead_for || p->nwriters > 0 || p->on != ZC_ON_NONE ||
           zc_page_to_drop(p) || p->outdated || zc_extents_cover(&p->valid, 0, bytes);
}

static void ask(struct zc_cache *c, struct zc_handle *h, struct zc_page *p, uint32_t bytes,
                uint32_t stream)
{
    uint32_t have = (uint32_t)zc_extents_bytes(&p->valid);

    p->ahead_for = h;
    ZC_PAGE_MOVE(p, ahead, ZC_AHEAD_ASKED);
    p->ahead_stream = stream;
    p->ahead_bytes = have < bytes ? bytes - have : 0;
    zc_lru_spare(c, p);
    zc_list_add_tail(&h->ahead, &p->ahead_link);
    h->nahead++;
    h->tenant->nahead++;
    c->nahead++;
    zc_fill_ahead(c, p);
}

/* Requests one page; false: not now. */
static bool ask_for(struct zc_cache *c, struct zc_handle *h, const struct zc_proposal *next)
{
    struct zc_file *f = h->file;
    uint32_t bytes = wanted_bytes(c, f, next->page);
    struct zc_page *p = zc_page_find(c, f, next->page);

    if (p && leave_alone(p, bytes))
        return true;
    if ((next->page + 1) << c->page_shift > f->frozen || !room_for_more(c, h))
        return false;
    p = zc_page_find(c, f, next->page); /* it may have been dropped */
    if (!p)
        p = zc_page_take_ahead(c, h, next->page);
    if (!p)
        return false;
    ask(c, h, p, bytes, next->stream);
    return true;
}

/* Requests what the handle's streams propose; queues the handle if there is no room for all. */
static void pump(struct zc_cache *c, struct zc_handle *h)
{
    struct zc_proposal next;

    zc_list_del(&h->ahead_link);
    if (h->file->name == ZC_NAME_GONE || c->stop)
        return;
    while (zc_ra_predict_propose(&h->predict, h->file->size, &next)) {
        if (!ask_for(c, h, &next)) {
            zc_list_add_tail(&c->ahead_waits, &h->ahead_link);
            return;
        }
        zc_ra_predict_take(&h->predict, &next);
    }
}

/* A read access has begun; `p`: its page, if cached. */
void zc_readahead_touch(struct zc_cache *c, const struct zc_access *a, const struct zc_page *p)
{
    struct zc_handle *h = a->handle;
    bool foreseen = p && p->ahead != ZC_AHEAD_NONE;

    zc_assert_held(&c->lock);
    if (h->predict.depth == 0 || quota(c) == 0)
        return;
    if (a->view && zc_view_memory(a->view) <= ZC_FORESEEN_VIEW)
        zc_ra_predict_touch_view(&h->predict, a->view, a->disp, a->view_off, a->view_len, a->off,
                                 foreseen);
    else
        zc_ra_predict_touch(&h->predict, a->off, a->len, foreseen);
    pump(c, h);
}

/* Gives each waiting handle a turn, when room may have become available. */
void zc_readahead_serve(struct zc_cache *c)
{
    struct zc_list round, *n;

    zc_assert_held(&c->lock);
    if (!zc_list_empty(&c->room))
        return;
    zc_list_init(&round);
    zc_list_splice(&round, &c->ahead_waits);
    while ((n = zc_list_pop(&round)) != NULL) {
        struct zc_handle *h = zc_list_entry(n, struct zc_handle, ahead_link);

        if (queue_full(c, h->tenant))
            zc_list_add_tail(&c->ahead_waits, n);
        else
            pump(c, h);
    }
}

/* ---- handles ---- */

void zc_readahead_open(struct zc_cache *c, struct zc_handle *h, uint64_t block_size,
                       uint64_t stride)
{
    zc_list_init(&h->ahead);
    zc_list_init(&h->ahead_link);
    zc_ra_predict_init(&h->predict, c->page_size, block_size, stride);
    zc_ra_predict_depth(&h->predict, c->cfg.uncached ? 0 : c->cfg.prefetch);
}

/* Drops the handle's readahead, and cancels what no thread has begun. */
void zc_readahead_stop(struct zc_cache *c, struct zc_handle *h)
{
    struct zc_list *n;

    zc_assert_held(&c->lock);
    zc_list_del(&h->ahead_link);
    while ((n = h->ahead.next) != &h->ahead) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, ahead_link);

        zc_readahead_yield(c, p);
        if (zc_page_idle(p) && zc_extents_empty(&p->valid))
            zc_page_drop(c, p);
    }
}

/* Cancels readahead beyond `size` of a truncated or removed file that no thread has begun; the rest
 * will be thrown away. */
void zc_readahead_overtake(struct zc_cache *c, struct zc_file *f, uint64_t size)
{
    zc_assert_held(&c->lock);
    zc_list_each_safe (&f->pages, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, file_link);

        if (p->fill == ZC_FILL_NONE || zc_page_offset(c, p) + c->page_size <= size)
            continue;
        if (p->fill == ZC_FILL_AHEAD)
            zc_readahead_yield(c, p);
        if (p->fill != ZC_FILL_NONE && !zc_fill_cancel(c, p))
            p->stale = true;
        else if (zc_page_idle(p) && zc_extents_empty(&p->valid))
            zc_page_drop(c, p);
    }
}

/* The file was removed: ends sequential readahead. */
void zc_readahead_forget(struct zc_cache *c, struct zc_file *f)
{
    zc_list_each_safe (&f->pages, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, file_link);

        if (p->fill == ZC_FILL_AHEAD && zc_fill_cancel(c, p)) {
            if (p->ahead_for)
                zc_readahead_wasted(c, p);
            if (zc_page_idle(p) && zc_extents_empty(&p->valid))
                zc_page_drop(c, p);
        }
    }
}

void zc_cache_prefetch(struct zc_handle *h, uint32_t depth)
{
    struct zc_cache *c = h->file->cache;

    zc_lock_get(&c->lock);
    zc_ra_predict_depth(&h->predict, c->cfg.uncached ? 0 : depth);
    if (depth == 0)
        zc_readahead_stop(c, h);
    zc_cache_unlock(c);
}
