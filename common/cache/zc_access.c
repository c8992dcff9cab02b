/* zc_access.c - accesses to a page: begin, end, and the wait in between.
 *
 * Accesses wait
 *   - for memory: on cache->room, in order of arrival; on cache->throttled over the dirty limit
 *     (zc_dirty_limit.c), where others pass them;
 *   - for bytes: on page->waiters.  A reader waits for a store read, or for the end of a write
 *     under way to bytes it needs; a writer waits while the page is being read and behind all
 *     earlier waiters, so that readers do not starve.
 * A reader whose bytes are valid never waits, unless they are outdated and earlier readers still
 * use them.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_cache_internal.h"
#include "zc_log.h"

/* A page that is modified all the time is written back at the latest after this many idle times. */
enum { RESTLESS = 20 };

enum outcome { DONE, WAIT, CURBED, FAILED };

static struct zc_page *page_of(struct zc_cache *c, const struct zc_access *a, uint64_t *no)
{
    *no = a->off >> c->page_shift;
    return zc_page_find(c, a->handle->file, *no);
}

static struct zc_page *take_page(struct zc_cache *c, const struct zc_handle *h, uint64_t no)
{
    struct zc_page *p = zc_page_take(c, h, no);

    if (p)
        zc_lru_asked(c);
    return p;
}

static void pin(struct zc_cache *c, struct zc_page *p, struct zc_access *a)
{
    zc_debug_assert(!p->outdated);                                 /* invariant 11 */
    zc_debug_assert(a->dir == ZC_READ || p->fill == ZC_FILL_NONE); /* invariant 5 */
    if (p->pins++ == 0)
        c->npinned++;
    a->page = p;
    a->data = zc_page_data(c, p) + a->page_off;
    a->status = 0;
    zc_page_place(c, p);
    if (a->dir == ZC_WRITE || p->stake != ZC_STAKE_RESERVED) /* unwritten bytes are the writer's */
        zc_cache_tenant_give(c, p, a->handle->tenant);
}

static enum outcome no_memory(struct zc_access *a)
{
    struct zc_file *f = a->handle->file;
    const char *what = a->dir == ZC_READ ? "read of" : "write to";

    a->status = zc_errorf(ENOMEM, "%s %s: out of memory", what, f->path);
    zc_error_keep(&f->access_why, a->status);
    return FAILED;
}

/* Whether a write may begin on page `p`, or NULL for a page that is not cached: DONE, CURBED or
 * FAILED. */
static enum outcome ask_quota(struct zc_cache *c, struct zc_access *a, const struct zc_page *p)
{
    enum zc_dirty_limit q = a->dir == ZC_WRITE
                                ? zc_dirty_limit_ask(c, a->handle, p, a->acknowledged)
                                : ZC_DIRTY_LIMIT_FREE;

    if (q == ZC_DIRTY_LIMIT_FULL)
        a->status = zc_error_raise(&a->handle->file->access_why);
    return q == ZC_DIRTY_LIMIT_FREE ? DONE : q == ZC_DIRTY_LIMIT_WAIT ? CURBED : FAILED;
}

static enum outcome try_read(struct zc_cache *c, struct zc_page *p, struct zc_access *a,
                             bool may_start)
{
    uint32_t lo = a->page_off, hi = lo + a->len;
    uint64_t size = p->file->size;
    struct zc_range gap;

    if (p->outdated)
        return WAIT; /* for the end of earlier reads */
    if (!zc_page_clear_undefined(c, p))
        return no_memory(a);
    if (zc_extents_cover(&p->valid, lo, hi))
        zc_page_csum_check(c, p, lo, hi);
    if (zc_extents_cover(&p->valid, lo, hi)) {
        a->avail = a->off >= size ? 0 : size - a->off < a->len ? (uint32_t)(size - a->off) : a->len;
        pin(c, p, a);
        return DONE;
    }
    if (may_start && zc_fill_gap(p, lo, hi, &gap) && !zc_fill_hurry(c, p))
        zc_fill_start(c, p);
    return WAIT;
}

static unsigned promised(const struct zc_access *a)
{
    return a->nranges ? a->nranges : 1;
}

static enum outcome try_write(struct zc_cache *c, struct zc_page *p, struct zc_access *a)
{
    enum outcome out;

    if (p->fill != ZC_FILL_NONE || zc_page_to_drop(p) || p->outdated)
        return WAIT;
    out = ask_quota(c, a, p);
    if (out != DONE)
        return out;
    zc_page_csum_check_write(c, p, a->page_off, a->page_off + a->len, promised(a) == 1);
    if (zc_page_reserve(p, promised(a)) < 0)
        return no_memory(a);
    zc_page_count_ranges(c, p);
    p->nwriters++;
    p->promised += promised(a);
    zc_list_add_tail(&p->writers, &a->link);
    zc_page_csum_open(c, p, a->page_off, a->page_off + a->len);
    pin(c, p, a);
    return DONE;
}

static void complete(struct zc_cache *c, struct zc_access *a)
{
    if (a->status < 0)
        a->handle->accesses--;
    /* a pinned writer's link is on page->writers: completions have their own */
    zc_list_add_tail(&c->done_accesses, &a->done_link);
}

static void throttle(struct zc_cache *c, struct zc_access *a)
{
    zc_list_add_tail(&c->throttled, &a->link);
    a->handle->tenant->nthrottled++;
    zc_waits_room(c, a);
    zc_kick(c);
}

/* Admits the waiters of the page that can proceed, in order. */
void zc_page_wake(struct zc_cache *c, struct zc_page *p)
{
    bool someone_waits = false, writer_waits = false;

    zc_assert_held(&c->lock);
    zc_list_each_safe (&p->waiters, n) {
        struct zc_access *a = zc_list_entry(n, struct zc_access, link);
        enum outcome out = WAIT;

        /* remove it first: a writer's link goes to page->writers */
        if (a->dir == ZC_READ) {
            out = try_read(c, p, a, !writer_waits);
            if (out != WAIT)
                zc_list_del(&a->link);
        } else if (!someone_waits && p->fill == ZC_FILL_NONE && !zc_page_to_drop(p) &&
                   !p->outdated) {
            zc_list_del(&a->link);
            out = try_write(c, p, a);
        }
        if (out == WAIT) {
            someone_waits = true;
            writer_waits = writer_waits || a->dir == ZC_WRITE;
            continue;
        }
        zc_waited_page(c, a);
        if (out == CURBED)
            throttle(c, a);
        else
            complete(c, a);
    }
    zc_page_place(c, p);
}

/* A narrow page was read for this reader, or the page is not narrow. */
static bool was_read_for(const struct zc_page *p, const struct zc_access *a)
{
    return p->reads != ZC_READS_NARROW ||
           (a->page_off == p->narrow_lo && a->page_off + a->len == p->narrow_hi);
}

void zc_page_aim_narrow(struct zc_page *p)
{
    struct zc_range gap;

    p->narrow_lo = p->narrow_hi = 0;
    zc_list_each (&p->waiters, n) {
        const struct zc_access *a = zc_list_entry(n, struct zc_access, link);

        if (a->dir != ZC_READ || !zc_fill_gap(p, a->page_off, a->page_off + a->len, &gap))
            continue;
        p->narrow_lo = a->page_off;
        p->narrow_hi = a->page_off + a->len;
        return;
    }
}

/* Fails readers after a failed store read, rather than have each start it again. */
void zc_page_fail_readers(struct zc_cache *c, struct zc_page *p, int err)
{
    struct zc_range gap;

    zc_error_keep(&p->file->access_why, err);
    zc_list_each_safe (&p->waiters, n) {
        struct zc_access *a = zc_list_entry(n, struct zc_access, link);

        if (a->dir != ZC_READ || !was_read_for(p, a) ||
            !zc_fill_gap(p, a->page_off, a->page_off + a->len, &gap))
            continue;
        zc_list_del(&a->link);
        zc_waited_page(c, a);
        a->status = err;
        complete(c, a);
    }
}

/* Starts the access on a cached page: DONE, FAILED, or queued on it. */
static enum outcome enter(struct zc_cache *c, struct zc_page *p, struct zc_access *a)
{
    bool queue = !zc_list_empty(&p->waiters);
    enum outcome out;

    if (a->dir == ZC_WRITE && (p->ahead_for || p->fill == ZC_FILL_AHEAD))
        zc_readahead_yield(c, p);
    else if (p->ahead_for)
        zc_readahead_used(c, p);
    if (a->dir == ZC_READ)
        out = try_read(c, p, a, !queue);
    else
        out = queue ? WAIT : try_write(c, p, a);
    if (out == WAIT) {
        zc_list_add_tail(&p->waiters, &a->link);
        zc_waits_page(c, a);
    } else if (out == CURBED) {
        throttle(c, a);
        out = WAIT;
    }
    zc_page_place(c, p);
    return out;
}

/* ---- room ---- */

/* Queues the access behind those of its tenant; the tenants take turns. */
static void enter_room(struct zc_cache *c, struct zc_access *a)
{
    struct zc_cache_tenant *s = a->handle->tenant;

    zc_list_add_tail(&s->room, &a->link);
    if (!zc_list_linked(&s->room_link))
        zc_list_add_tail(&c->room, &s->room_link);
    zc_waits_room(c, a);
}

static void leave_room(struct zc_cache *c, struct zc_access *a)
{
    struct zc_cache_tenant *s = a->handle->tenant;

    zc_list_del(&a->link);
    if (zc_list_empty(&s->room))
        zc_list_del(&s->room_link);
    zc_waited_room(c, a);
}

static void leave_throttled(struct zc_cache *c, struct zc_access *a)
{
    zc_list_del(&a->link);
    a->handle->tenant->nthrottled--;
    zc_waited_room(c, a);
}

/* Admits other waiters for the same page after it was taken for one of them. */
static void admit_same(struct zc_cache *c, struct zc_page *p)
{
    zc_list_each_safe (&c->room, l) {
        zc_list_each_safe (&zc_list_entry(l, struct zc_cache_tenant, room_link)->room, n) {
            struct zc_access *a = zc_list_entry(n, struct zc_access, link);

            if (a->handle->file != p->file || a->off >> c->page_shift != p->no)
                continue;
            leave_room(c, a);
            if (enter(c, p, a) != WAIT)
                complete(c, a);
        }
    }
}

/* Admits throttled writes that may begin now: to their page, or to the queue for one. */
static void serve_throttled(struct zc_cache *c)
{
    zc_list_each_safe (&c->throttled, n) {
        struct zc_access *a = zc_list_entry(n, struct zc_access, link);
        uint64_t no;
        struct zc_page *p = page_of(c, a, &no);
        enum outcome out = ask_quota(c, a, p);

        if (out == CURBED)
            continue;
        leave_throttled(c, a);
        if (out == DONE && !p) {
            enter_room(c, a);
        } else if (out == FAILED || enter(c, p, a) != WAIT) {
            complete(c, a);
        }
    }
}

void zc_room_serve(struct zc_cache *c)
{
    zc_assert_held(&c->lock);
    serve_throttled(c);
    while (!zc_list_empty(&c->room)) {
        struct zc_cache_tenant *s = zc_list_entry(c->room.next, struct zc_cache_tenant, room_link);
        struct zc_access *a = zc_list_entry(s->room.next, struct zc_access, link);
        uint64_t no;
        struct zc_page *p = page_of(c, a, &no);
        enum outcome out = ask_quota(c, a, p);

        if (out != DONE) {
            leave_room(c, a);
            if (out == CURBED)
                throttle(c, a);
            else
                complete(c, a);
            continue;
        }
        if (!p)
            p = take_page(c, a->handle, no);
        if (!p)
            return;
        if (zc_list_linked(&s->room_link)) {
            zc_list_del(&s->room_link); /* its turn is over */
            zc_list_add_tail(&c->room, &s->room_link);
        }
        admit_same(c, p);
        zc_page_place(c, p);
    }
}

/* Whether a write to page `no` would have to wait for memory; not if it would fail. */
static bool lacks_room(struct zc_cache *c, const struct zc_handle *h, uint64_t no)
{
    const struct zc_page *p = zc_page_find(c, h->file, no);
    enum zc_dirty_limit limit = zc_dirty_limit_ask(c, h, p, false);

    if (p || limit != ZC_DIRTY_LIMIT_FREE)
        return limit == ZC_DIRTY_LIMIT_WAIT;
    return !zc_list_empty(&c->room) || !zc_page_available(c);
}

bool zc_cache_lacks_room(struct zc_handle *h, uint64_t first, uint64_t last)
{
    struct zc_cache *c = h->file->cache;
    bool lacks;

    zc_lock_get(&c->lock);
    lacks = lacks_room(c, h, first >> c->page_shift) ||
            (last > first && lacks_room(c, h, last >> c->page_shift));
    zc_lock_put(&c->lock);
    return lacks;
}

/* ---- begin and end ---- */

static int check_access(struct zc_cache *c, const struct zc_access *a)
{
    const struct zc_handle *h = a->handle;
    uint32_t in_page = (uint32_t)(a->off & (c->page_size - 1));

    if (a->off > (uint64_t)INT64_MAX - a->len)
        return zc_errorf(EFBIG, "%s: offset %llu is beyond what a file can hold", h->file->path,
                         (unsigned long long)a->off);
    if (a->len == 0 || a->len > c->page_size - in_page)
        return zc_errorf(EINVAL, "%s: access of %u bytes at %llu is not inside one page",
                         h->file->path, a->len, (unsigned long long)a->off);
    if (!(h->flags & (a->dir == ZC_READ ? ZC_OPEN_READ : ZC_OPEN_WRITE)))
        return zc_errorf(EBADF, "%s is not open for %s", h->file->path,
                         a->dir == ZC_READ ? "reading" : "writing");
    return 0;
}

static void count_access(struct zc_cache *c, const struct zc_access *a, enum outcome out, bool late)
{
    if (a->dir == ZC_WRITE) {
        c->st.write_accesses++;
        return;
    }
    c->st.read_bytes += a->len;
    if (out == DONE) {
        c->st.read_hits++;
        c->st.written_hits += a->page->written;
    } else if (late) {
        c->st.read_late++;
    } else {
        c->st.read_misses++;
        c->st.missed_bytes += a->len;
    }
}

int zc_cache_begin(struct zc_access *a)
{
    struct zc_cache *c = a->handle->file->cache;
    enum outcome out = WAIT, quota = DONE;
    struct zc_page *p;
    bool late = false;
    uint64_t no;
    int rc;

    a->page_off = (uint32_t)(a->off & (c->page_size - 1));
    a->page = NULL;
    a->data = NULL;
    a->avail = 0;
    a->status = -EINPROGRESS;
    zc_lock_get(&c->lock);
    rc = check_access(c, a);
    if (rc < 0) {
        a->status = rc;
        zc_lock_put(&c->lock);
        return rc;
    }
    a->handle->accesses++;
    p = page_of(c, a, &no);
    if (!p)
        quota = ask_quota(c, a, p);
    if (!p && quota == DONE && zc_list_empty(&c->room))
        p = take_page(c, a->handle, no);
    if (p) {
        late = p->fill == ZC_FILL_AHEAD && !zc_list_linked(&p->fill_link);
        out = enter(c, p, a);
    } else if (quota == FAILED) {
        out = FAILED;
    } else if (quota == CURBED) {
        throttle(c, a);
    } else {
        enter_room(c, a);
        zc_kick(c);
    }
    count_access(c, a, out, late);
    if (a->dir == ZC_READ && out != FAILED)
        zc_readahead_touch(c, a, p);
    rc = out == DONE ? 0 : out == WAIT ? -EINPROGRESS : a->status;
    if (out == FAILED)
        a->handle->accesses--;
    zc_cache_check(c);
    zc_lock_put(&c->lock);
    return rc;
}

/* Wakes flushers when a page that became dirty concerns them.  `first`: none was, or no run was
 * complete.  Others may be dirty while no flusher waits for any: of files that hang in the store.
 */
static void wake_flushers(struct zc_cache *c, bool first)
{
    uint64_t unwritten = c->dirty_bytes + c->flushing_bytes;
    bool unwatched = c->cfg.idle_ms && c->next_look == UINT64_MAX;

    if (!c->draining && unwritten > c->high_bytes) {
        c->draining = true;
        zc_kick(c);
    } else if (c->draining || first || unwatched || !zc_list_empty(&c->room) ||
               !zc_list_empty(&c->throttled) || c->drains) {
        pthread_cond_signal(&c->work);
    }
}

/* Makes bytes [lo, hi) of the page valid and dirty. */
static void arrived(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi)
{
    uint64_t end = zc_page_offset(c, p) + hi;

    if (zc_extents_add(&p->valid, lo, hi) < 0)
        abort(); /* zc_page_reserve() */
    zc_page_dirty(c, p, lo, hi);
    c->st.written_bytes += hi - lo;
    if (end > p->file->size)
        p->file->size = end;
}

static void arrived_many(struct zc_cache *c, struct zc_page *p, const struct zc_range *r,
                         uint32_t n)
{
    uint64_t end = zc_page_offset(c, p) + r[n - 1].hi;
    bool only_written = zc_extents_equal(&p->valid, &p->dirty);
    int rc;

    zc_page_dirty_many(c, p, r, n);
    /* For many small pieces, copying the ranges costs a tenth of computing them again. */
    if (only_written)
        rc = zc_extents_copy(&p->valid, &p->dirty);
    else
        rc = zc_extents_add_many(&p->valid, r, n);
    if (rc < 0)
        abort(); /* zc_page_reserve() */
    for (uint32_t i = 0; i < n; i++)
        c->st.written_bytes += r[i].hi - r[i].lo;
    if (end > p->file->size)
        p->file->size = end;
}

static void modified(struct zc_cache *c, struct zc_page *p)
{
    uint64_t now = zc_now();

    zc_lru_spare(c, p);
    c->busy_at = p->file->busy_at = now;
    p->written = true;
    if (p->on != ZC_ON_DIRTY)
        p->dirty_since = now;
    else if (c->cfg.idle_ms && now - p->dirty_since > RESTLESS * c->cfg.idle_ms * ZC_NS_PER_MS)
        return; /* modified too often to become idle: due for write-back now */
    p->touched = now;
    if (p->on == ZC_ON_DIRTY) {
        zc_list_del(&p->dirty_link);
        zc_list_add_tail(&p->tenant->dirty, &p->dirty_link);
    }
}

/* After a write: places the page and starts what is due: wake-ups, write-back, a collapse. */
static void written(struct zc_cache *c, struct zc_page *p, struct zc_access *a, bool first)
{
    p->nwriters--;
    p->promised -= promised(a);
    zc_page_csum_close(c, p, a->page_off, a->page_off + a->len);
    /* The next pieces will need the memory again, until the page is written back; but it is given
     * back when it becomes short for other pages. */
    if (c->range_bytes > zc_range_limit(c) / 4)
        zc_page_trim(c, p);
    else
        zc_page_count_ranges(c, p);
    if (zc_page_scattered(c, p))
        zc_fill_collapse(c, p);
    zc_page_place(c, p);
    wake_flushers(c, zc_flush_note_run(c, p) || first);
}

static void end_write(struct zc_cache *c, struct zc_page *p, struct zc_access *a, uint32_t moved)
{
    uint32_t lo = a->page_off, mid = lo + moved, hi = lo + a->len;
    bool first = c->ndirty == 0, had = !zc_extents_empty(&p->dirty);

    zc_list_del(&a->link);
    if (mid < hi)
        zc_page_invalidate(c, p, mid, hi);
    if (moved > 0) {
        arrived(c, p, lo, mid);
        modified(c, p);
        if (had)
            zc_flush_page_whole(c, p);
    }
    written(c, p, a, first);
}

/* Releases the pin; with the lock, which is released. */
static void unpin(struct zc_cache *c, struct zc_page *p)
{
    zc_page_renew(c, p);
    if (!zc_list_empty(&p->waiters))
        zc_page_wake(c, p);
    zc_page_place(c, p);
    zc_cache_unlock(c);
}

static struct zc_page *end(struct zc_cache *c, struct zc_access *a)
{
    struct zc_page *p = a->page;

    zc_lock_get(&c->lock);
    if (--p->pins == 0)
        c->npinned--;
    a->handle->accesses--;
    a->page = NULL;
    return p;
}

void zc_cache_end(struct zc_access *a, uint32_t moved)
{
    struct zc_cache *c = a->handle->file->cache;
    struct zc_page *p = end(c, a);

    if (a->dir == ZC_WRITE)
        end_write(c, p, a, moved < a->len ? moved : a->len);
    unpin(c, p);
}

void zc_cache_end_ranges(struct zc_access *a, const struct zc_range *r, uint32_t n)
{
    struct zc_cache *c = a->handle->file->cache;
    struct zc_page *p = end(c, a);
    bool first = c->ndirty == 0, had = !zc_extents_empty(&p->dirty);

    zc_debug_assert(a->dir == ZC_WRITE && n <= promised(a));
    zc_list_del(&a->link);
    if (n > 0) {
        arrived_many(c, p, r, n);
        modified(c, p);
        if (had)
            zc_flush_page_whole(c, p);
    }
    written(c, p, a, first);
    unpin(c, p);
}
