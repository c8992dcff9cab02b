/* zc_ahead.c - reading ahead: zc_predict.c proposes pages, here they are asked for.
 *
 *     a read access (zc_ahead_touch), or a read that has returned (zc_ahead_serve)
 *        -> proposals of the handle -> a frame -> fills_ahead (zc_fill.c)
 *        -> used: somebody asked for the page, which is late if the read is still under way
 *        -> wasted: dropped, or overwritten, or its handle closed before that
 *
 * Rules
 *  1. Reading ahead takes free frames and old clean pages only: never a dirty page, nor one
 *     that was written or read ahead before fewer than half a cache of pages were asked for
 *     since (zc_lru.c); and none at all while somebody waits for memory.
 *  2. At most a quarter of the cache is read ahead and not asked for yet; of that, a handle
 *     has at most its depth.  Pages its streams have passed make room.
 *  3. A page with unwritten bytes, or being written to, is left alone.
 *  4. A read ahead nobody has begun is taken back by whoever wants to write there.
 */
#include "config.h"

#include "zc_cache_internal.h"
#include "zc_log.h"
#include "zc_view.h"

enum { QUEUE_READS = 2 }; /* reads ahead that are queued for each one under way */

/* ---- what becomes of a page ---- */

static void detach(struct zc_cache *c, struct zc_page *p)
{
    zc_list_del(&p->ahead_link);
    p->ahead_for->nahead--;
    p->ahead_for->share->nahead--;
    p->ahead_for = NULL;
    c->nahead--;
}

/* A thread begins to read it, maybe once more. */
void zc_ahead_started(struct zc_cache *c, struct zc_page *p)
{
    if (p->ahead_begun)
        return;
    p->ahead_begun = true;
    c->st.prefetched_pages++;
    c->st.prefetched_bytes += p->ahead_bytes;
}

/* Somebody asks for the page. */
void zc_ahead_used(struct zc_cache *c, struct zc_page *p)
{
    zc_assert_held(&c->lock);
    zc_lru_asked(c);
    if (p->ahead_begun) {
        c->st.prefetch_used_pages++;
        c->st.prefetch_used_bytes += p->ahead_bytes;
    }
    if (p->ahead_begun && p->reading) {
        c->st.prefetch_late_pages++;
        c->st.prefetch_late_bytes += p->ahead_bytes;
    }
    detach(c, p);
}

/* Nobody will have asked for it. */
void zc_ahead_wasted(struct zc_cache *c, struct zc_page *p)
{
    zc_assert_held(&c->lock);
    if (p->ahead_begun) {
        c->st.prefetch_wasted_pages++;
        c->st.prefetch_wasted_bytes += p->ahead_bytes;
        zc_predict_wasted(&p->ahead_for->predict, p->ahead_stream);
    }
    detach(c, p);
}

/* Somebody wants to write to a page that is to be read ahead. */
void zc_ahead_yield(struct zc_cache *c, struct zc_page *p)
{
    zc_assert_held(&c->lock);
    if (p->read_ahead)
        zc_fill_cancel(c, p);
    if (p->ahead_for)
        zc_ahead_wasted(c, p);
}

/* ---- asking ---- */

static uint64_t quota(const struct zc_cache *c)
{
    return c->npages / 4;
}

/* How many readers may read ahead at a time. */
unsigned zc_ahead_threads(const struct zc_cache *c)
{
    return c->cfg.readers > 1 ? c->cfg.readers - 1 : 1;
}

/* Enough is queued for the threads that read ahead. */
static bool queue_full(const struct zc_cache *c, const struct zc_share *s)
{
    return s->nfills_ahead >=
           QUEUE_READS * (zc_ahead_threads(c) + (c->cfg.max_read >> c->page_shift));
}

/* Gives up the oldest page of the handle if its reader has gone past it. */
static bool give_up_passed(struct zc_cache *c, struct zc_handle *h)
{
    struct zc_page *p;

    if (zc_list_empty(&h->ahead))
        return false;
    p = zc_list_entry(h->ahead.next, struct zc_page, ahead_link);
    if (!zc_predict_passed(&h->predict, p->ahead_stream, p->no))
        return false;
    if (p->reading && !zc_fill_cancel(c, p))
        return false; /* soon */
    zc_ahead_wasted(c, p);
    if (zc_page_idle(p) && p->on == ZC_ON_NONE)
        zc_page_drop(c, p);
    return true;
}

static bool room_for_more(struct zc_cache *c, struct zc_handle *h)
{
    if (!zc_list_empty(&c->room) || queue_full(c, h->share))
        return false;
    while (h->nahead >= h->predict.depth || c->nahead >= quota(c) ||
           h->share->nahead >= zc_share_ahead(c, h->share, quota(c)))
        if (!give_up_passed(c, h))
            return false;
    return true;
}

static uint32_t wanted_bytes(struct zc_cache *c, const struct zc_file *f, uint64_t no)
{
    uint64_t start = no << c->page_shift;

    return f->size - start < c->page_size ? (uint32_t)(f->size - start) : c->page_size;
}

/* The page needs no read, or must not have one. */
static bool leave_alone(const struct zc_page *p, uint32_t bytes)
{
    return p->reading || p->ahead_for || p->nwriters > 0 || p->on != ZC_ON_NONE || p->squeeze ||
           p->outdated || zc_extents_cover(&p->valid, 0, bytes);
}

static void ask(struct zc_cache *c, struct zc_handle *h, struct zc_page *p, uint32_t bytes,
                uint32_t stream)
{
    uint32_t have = (uint32_t)zc_extents_bytes(&p->valid);

    p->ahead_for = h;
    p->foreseen = true;
    p->ahead_stream = stream;
    p->ahead_begun = false;
    p->ahead_bytes = have < bytes ? bytes - have : 0;
    zc_lru_spare(c, p);
    zc_list_add_tail(&h->ahead, &p->ahead_link);
    h->nahead++;
    h->share->nahead++;
    c->nahead++;
    zc_fill_ahead(c, p);
}

/* Asks for one page; false: not now. */
static bool ask_for(struct zc_cache *c, struct zc_handle *h, const struct zc_proposal *next)
{
    struct zc_file *f = h->file;
    uint32_t bytes = wanted_bytes(c, f, next->page);
    struct zc_page *p = zc_page_find(c, f, next->page);

    if (p && leave_alone(p, bytes))
        return true;
    if ((next->page + 1) << c->page_shift > f->frozen || !room_for_more(c, h))
        return false;
    p = zc_page_find(c, f, next->page); /* it may have been given up */
    if (!p)
        p = zc_page_take_ahead(c, h, next->page);
    if (!p)
        return false;
    ask(c, h, p, bytes, next->stream);
    return true;
}

/* Asks for what the handle's streams propose; who cannot have all of it is served later. */
static void pump(struct zc_cache *c, struct zc_handle *h)
{
    struct zc_proposal next;

    zc_list_del(&h->ahead_link);
    if (h->file->unlinked || c->stop)
        return;
    while (zc_predict_propose(&h->predict, h->file->size, &next)) {
        if (!ask_for(c, h, &next)) {
            zc_list_add_tail(&c->ahead_waits, &h->ahead_link);
            return;
        }
        zc_predict_take(&h->predict, &next);
    }
}

/* A read access has begun, of page `p` if that is there. */
void zc_ahead_touch(struct zc_cache *c, const struct zc_access *a, const struct zc_page *p)
{
    struct zc_handle *h = a->handle;
    bool foreseen = p && p->foreseen;

    zc_assert_held(&c->lock);
    if (h->predict.depth == 0 || quota(c) == 0)
        return;
    if (a->view && zc_view_memory(a->view) <= ZC_FORESEEN_VIEW)
        zc_predict_touch_view(&h->predict, a->view, a->disp, a->view_off, a->view_len, a->off,
                              foreseen);
    else
        zc_predict_touch(&h->predict, a->off, a->len, foreseen);
    pump(c, h);
}

/* Something may have become possible: each handle that waits has a turn. */
void zc_ahead_serve(struct zc_cache *c)
{
    struct zc_list round, *n;

    zc_assert_held(&c->lock);
    if (!zc_list_empty(&c->room))
        return;
    zc_list_init(&round);
    zc_list_splice(&round, &c->ahead_waits);
    while ((n = zc_list_pop(&round)) != NULL) {
        struct zc_handle *h = zc_list_entry(n, struct zc_handle, ahead_link);

        if (queue_full(c, h->share))
            zc_list_add_tail(&c->ahead_waits, n);
        else
            pump(c, h);
    }
}

/* ---- handles ---- */

void zc_ahead_open(struct zc_cache *c, struct zc_handle *h, uint64_t block_size, uint64_t stride)
{
    zc_list_init(&h->ahead);
    zc_list_init(&h->ahead_link);
    zc_predict_init(&h->predict, c->page_size, block_size, stride);
    zc_predict_depth(&h->predict, c->cfg.uncached ? 0 : c->cfg.prefetch);
}

/* Forgets what was read ahead for the handle, and takes back what no thread has begun. */
void zc_ahead_stop(struct zc_cache *c, struct zc_handle *h)
{
    struct zc_list *n;

    zc_assert_held(&c->lock);
    zc_list_del(&h->ahead_link);
    while ((n = h->ahead.next) != &h->ahead) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, ahead_link);

        zc_ahead_yield(c, p);
        if (zc_page_idle(p) && zc_extents_empty(&p->valid))
            zc_page_drop(c, p);
    }
}

/* The file was cut or removed: takes back what no thread has begun; what one has will be
 * thrown away beyond `size`. */
void zc_ahead_overtake(struct zc_cache *c, struct zc_file *f, uint64_t size)
{
    zc_assert_held(&c->lock);
    zc_list_each_safe (&f->pages, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, file_link);

        if (!p->reading || zc_page_offset(c, p) + c->page_size <= size)
            continue;
        if (p->read_ahead)
            zc_ahead_yield(c, p);
        if (p->reading && !zc_fill_cancel(c, p))
            p->stale = true;
        else if (zc_page_idle(p) && zc_extents_empty(&p->valid))
            zc_page_drop(c, p);
    }
}

/* The file was removed: nobody reads it from one end to the other any more. */
void zc_ahead_forget(struct zc_cache *c, struct zc_file *f)
{
    zc_list_each_safe (&f->pages, n) {
        struct zc_page *p = zc_list_entry(n, struct zc_page, file_link);

        if (p->read_ahead && zc_fill_cancel(c, p)) {
            if (p->ahead_for)
                zc_ahead_wasted(c, p);
            if (zc_page_idle(p) && zc_extents_empty(&p->valid))
                zc_page_drop(c, p);
        }
    }
}

void zc_cache_prefetch(struct zc_handle *h, uint32_t depth)
{
    struct zc_cache *c = h->file->cache;

    zc_lock_get(&c->lock);
    zc_predict_depth(&h->predict, c->cfg.uncached ? 0 : depth);
    if (depth == 0)
        zc_ahead_stop(c, h);
    zc_cache_unlock(c);
}
