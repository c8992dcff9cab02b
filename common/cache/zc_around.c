/* zc_around.c - writes that go around the cache: from the caller's memory to the store.
 *
 * A write that finds no room waits for write-back at the speed of the store anyway; going
 * around it spares the copy, and the caller learns at once what the store says.  Only whole
 * pages that are not cached go this way.  While they are under way they are claimed: nobody
 * can take a page for them (zc_page_take()), so accesses to them wait as for room.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>

#include "zc_cache_internal.h"
#include "zc_log.h"
#include "zc_waited.h"

enum { AROUND_MAX = 64 << 20 }; /* bytes of one store write */

bool zc_around_claims(const struct zc_file *f, uint64_t no)
{
    zc_list_each (&f->arounds, n) {
        const struct zc_around *a = zc_list_entry(n, struct zc_around, link);

        if (no >= a->first && no < a->end)
            return true;
    }
    return false;
}

bool zc_around_beyond(struct zc_cache *c, const struct zc_file *f)
{
    zc_list_each (&f->arounds, n)
        if (zc_list_entry(n, struct zc_around, link)->end << c->page_shift > f->frozen)
            return true;
    return false;
}

uint64_t zc_cache_room(struct zc_handle *h)
{
    struct zc_cache *c = h->file->cache;
    uint64_t all, taken;

    zc_lock_get(&c->lock);
    all = zc_quota_healthy(c) << c->page_shift;
    taken = (c->nclaimed - c->nbarred) << c->page_shift;
    zc_lock_put(&c->lock);
    return taken < all ? all - taken : 0;
}

/* Claims the whole pages at the start of [off, off + len) that nobody uses or has cached;
 * returns their bytes. */
static size_t claim(struct zc_cache *c, struct zc_file *f, struct zc_around *a, uint64_t off,
                    size_t len)
{
    uint64_t no = off >> c->page_shift, end;

    zc_assert_held(&c->lock);
    if (off & (c->page_size - 1) || zc_retain_strict(f))
        return 0;
    end = no + ((len < AROUND_MAX ? len : AROUND_MAX) >> c->page_shift);
    a->first = a->end = no;
    while (a->end < end && (a->end + 1) << c->page_shift <= f->frozen &&
           !zc_page_find(c, f, a->end) && !zc_around_claims(f, a->end))
        a->end++;
    if (a->end == a->first)
        return 0;
    zc_list_add_tail(&f->arounds, &a->link);
    return (size_t)(a->end - a->first) << c->page_shift;
}

/* The same once more when a daemon has died meanwhile, for who has the bytes. */
static ssize_t write_taken(struct zc_cache *c, struct zc_file *f, const struct iovec *iov,
                           uint64_t off)
{
    struct zc_waited before;
    unsigned deaths;
    uint64_t began;
    ssize_t rc;

    do {
        zc_retain_look(c, f);
        deaths = f->retain.deaths;
        before = zc_waited;
        began = zc_call_began(c);
        zc_lock_put(&c->lock);
        rc = zc_store_pwritev(f->wr, iov, 1, off);
        zc_lock_get(&c->lock);
        zc_call_ended(c, began, ZC_EVENT_STORE_WRITE, rc);
        began = zc_now() - began;
        c->st.room_wait_ns += began;
        zc_waited = before; /* all of it was for want of room */
        zc_waited.cache += began;
        zc_retain_look(c, f);
    } while (rc >= 0 && deaths != f->retain.deaths);
    return rc;
}

/* Writes what can go around at `off`; 0: nothing. */
static ssize_t around(struct zc_handle *h, const void *buf, size_t len, uint64_t off)
{
    struct zc_file *f = h->file;
    struct zc_cache *c = f->cache;
    struct zc_around a;
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
    zc_token_writing(c, f);
    iov = (struct iovec){(void *)buf, n};
    rc = write_taken(c, f, &iov, off);
    h->accesses--;
    zc_list_del(&a.link);
    zc_token_written(c, f);
    c->st.store_writes++;
    if (rc < 0) {
        c->st.store_errors++;
    } else {
        c->st.store_written_bytes += n;
        c->st.written_bytes += n;
        c->st.around_bytes += n;
        zc_ledger_stored(f, off, off + n, n);
        zc_retain_expose(c, f, off, off + n);
        if (off + n > f->size)
            f->size = off + n;
    }
    pthread_cond_broadcast(&c->changed);
    zc_cache_unlock(c); /* serves those who waited for the pages */
    return rc;
}

ssize_t zc_cache_write_around(struct zc_handle *h, const void *buf, size_t len, uint64_t off)
{
    uint32_t page = h->file->cache->page_size;
    const char *from = buf;
    size_t done = 0;

    if (!(h->flags & ZC_OPEN_WRITE) || off > (uint64_t)INT64_MAX - len)
        return zc_cache_write(h, buf, len, off); /* which says why not */
    while (done < len) {
        uint64_t at = off + done;
        size_t part = page - (size_t)(at & (page - 1));
        ssize_t n = around(h, from + done, len - done, at);

        if (n == 0)
            n = zc_cache_write(h, from + done, part < len - done ? part : len - done, at);
        if (n < 0) {
            char text[ZC_TEXT_MAX];

            snprintf(text, sizeof text, "%s", zc_error_text((int)n));
            return zc_errorf((int)-n, "write to %s at %llu: %s", h->file->path,
                             (unsigned long long)at, text);
        }
        done += (size_t)n;
    }
    return (ssize_t)done;
}
