/* zc_write_direct.c - direct writes: from the caller's memory to the store, past the cache.
 *
 * A write that finds no room would wait for write-back at the speed of the store anyway; a direct
 * write saves the copy, and its caller gets the store's error at once.  Only whole pages that are
 * not cached are written directly.  Meanwhile these pages cannot be taken (zc_page_take()), so
 * accesses to them wait as for room.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>

#include "zc_cache_internal.h"
#include "zc_log.h"
#include "zc_wait_time.h"

enum { AROUND_MAX = 64 << 20 }; /* bytes of one store write */

bool zc_write_direct_covers(const struct zc_file *f, uint64_t no)
{
    zc_list_each (&f->direct_writes, n) {
        const struct zc_direct_write *a = zc_list_entry(n, struct zc_direct_write, link);

        if (no >= a->first && no < a->end)
            return true;
    }
    return false;
}

bool zc_write_direct_beyond(struct zc_cache *c, const struct zc_file *f)
{
    zc_list_each (&f->direct_writes, n)
        if (zc_list_entry(n, struct zc_direct_write, link)->end << c->page_shift > f->frozen)
            return true;
    return false;
}

uint64_t zc_cache_room(struct zc_handle *h)
{
    struct zc_cache *c = h->file->cache;
    uint64_t all, taken;

    zc_lock_get(&c->lock);
    all = zc_dirty_limit_healthy(c) << c->page_shift;
    taken = (c->nreserved - c->nbarred) << c->page_shift;
    zc_lock_put(&c->lock);
    return taken < all ? all - taken : 0;
}

/* Claims the whole, unused and uncached pages at the start of [off, off + len); returns their
 * bytes. */
static size_t claim(struct zc_cache *c, struct zc_file *f, struct zc_direct_write *a, uint64_t off,
                    size_t len)
{
    uint64_t no = off >> c->page_shift, end;

    zc_assert_held(&c->lock);
    if (off & (c->page_size - 1) || zc_unstable_strict(f))
        return 0;
    end = no + ((len < AROUND_MAX ? len : AROUND_MAX) >> c->page_shift);
    a->first = a->end = no;
    while (a->end < end && (a->end + 1) << c->page_shift <= f->frozen &&
           !zc_page_find(c, f, a->end) && !zc_write_direct_covers(f, a->end))
        a->end++;
    if (a->end == a->first)
        return 0;
    zc_list_add_tail(&f->direct_writes, &a->link);
    return (size_t)(a->end - a->first) << c->page_shift;
}

/* Writes the bytes, again if a daemon has died during that: the caller still has them. */
static ssize_t write_taken(struct zc_cache *c, struct zc_file *f, const struct iovec *iov,
                           uint64_t off)
{
    struct zc_wait_time before;
    unsigned deaths;
    uint64_t began;
    ssize_t rc;

    do {
        zc_unstable_update(c, f);
        deaths = f->unstable.deaths;
        before = zc_wait_time;
        began = zc_call_began(c);
        zc_lock_put(&c->lock);
        rc = zc_store_pwritev(f->wr, iov, 1, off);
        zc_lock_get(&c->lock);
        zc_call_ended(c, began, ZC_EVENT_STORE_WRITE, rc);
        began = zc_now() - began;
        c->st.room_wait_ns += began;
        zc_wait_time = before; /* all of it counts as wait for room */
        zc_wait_time.cache += began;
        zc_unstable_update(c, f);
    } while (rc >= 0 && deaths != f->unstable.deaths);
    return rc;
}

/* Writes what can be written directly at `off`; 0: nothing. */
static ssize_t around(struct zc_handle *h, const void *buf, size_t len, uint64_t off)
{
    struct zc_file *f = h->file;
    struct zc_cache *c = f->cache;
    struct zc_direct_write a;
    struct iovec iov;
    ssize_t rc;
    size_t n;

    zc_lock_get(&c->lock);
    n = claim(c, f, &a, off, len);
    if (n == 0) {
        zc_lock_put(&c->lock);
        return 0;
    }
    h->accesses++;
    zc_validator_writing(c, f);
    iov = (struct iovec){(void *)buf, n};
    rc = write_taken(c, f, &iov, off);
    h->accesses--;
    zc_list_del(&a.link);
    zc_validator_written(c, f);
    c->st.store_writes++;
    if (rc < 0) {
        c->st.store_errors++;
    } else {
        c->st.store_written_bytes += n;
        c->st.written_bytes += n;
        c->st.around_bytes += n;
        zc_wb_errors_written(f, off, off + n, n);
        zc_unstable_unprotect(c, f, off, off + n);
        if (off + n > f->size)
            f->size = off + n;
    }
    pthread_cond_broadcast(&c->changed);
    zc_cache_unlock(c); /* serves accesses that waited for the pages */
    return rc;
}

ssize_t zc_cache_write_direct(struct zc_handle *h, const void *buf, size_t len, uint64_t off)
{
    uint32_t page = h->file->cache->page_size;
    const char *from = buf;
    size_t done = 0;

    if (!(h->flags & ZC_OPEN_WRITE) || off > (uint64_t)INT64_MAX - len)
        return zc_cache_write(h, buf, len, off); /* which returns the reason */
    while (done < len) {
        uint64_t at = off + done;
        size_t part = page - (size_t)(at & (page - 1));
        ssize_t n = around(h, from + done, len - done, at);

        if (n == 0)
            n = zc_cache_write(h, from + done, part < len - done ? part : len - done, at);
        if (n < 0)
            return zc_errorf((int)-n, "write to %s at %llu: %s", h->file->path,
                             (unsigned long long)at, zc_error_text((int)n));
        done += (size_t)n;
    }
    return (ssize_t)done;
}
