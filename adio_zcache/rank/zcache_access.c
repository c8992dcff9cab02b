/* zcache_access.c - one rank's access: cut along blocks, each part to the block's owner.
 *
 * The bytes of an access that lie in one block are contiguous in view space, so a part is
 * (view, view offset, length) with contiguous data.  Up to WINDOW parts are under way; they
 * are waited for in the order of the view, so that a short read ends where it should.
 * Memory that is not contiguous is packed part by part.  Nothing is read to be written back.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_vspan.h"
#include "zcache_access.h"
#include "zcache_file.h"

enum {
    WINDOW = 8,
    PACK_MAX = 1 << 20,   /* largest part whose data is packed, bytes */
    AROUND_MIN = 1 << 20, /* a write of fewer bytes waits for room in the cache */
};

/* Visible bytes of one block. */
struct part {
    struct zcache_owner *owner;
    struct zc_client *client; /* NULL: this rank owns the block */
    struct zc_io io;
    char *buf;    /* its data, in the user's memory or packed */
    char *packed; /* what to free */
    int64_t view_off, len;
    int64_t file_off; /* of the first byte */
    bool plain;       /* contiguous in the file */
};

struct transfer {
    const struct zcache_access *a;
    struct zcache_file *f;
    const struct zc_view *view; /* NULL: everything is visible */
    int64_t disp;
    struct part parts[WINDOW];
    unsigned head, count;
    int64_t moved;
    bool foresee; /* the owner shall know the view: it reads ahead along it */
    bool around;  /* what this rank owns would not fit into its cache now */
    bool ended;
    int status;
    char text[400];
};

static void fail(struct transfer *t, int rc)
{
    if (!rc || t->status)
        return;
    t->status = rc;
    snprintf(t->text, sizeof t->text, "%s", zc_error_text(rc));
}

/* ---- memory ---- */

/* Where a part's data is, in the bytes of the buffer's elements. */
static int64_t mem_pos(const struct transfer *t, const struct part *p)
{
    return p->view_off - t->a->view_offset;
}

static int lay_out(struct transfer *t, struct part *p)
{
    const struct zcache_access *a = t->a;
    int rc;

    p->packed = NULL;
    if (a->mem->contiguous) {
        p->buf = (char *)a->buf + mem_pos(t, p);
        return 0;
    }
    p->packed = malloc((size_t)p->len);
    if (!p->packed)
        return zc_errorf(ENOMEM, "no memory to pack %lld bytes", (long long)p->len);
    p->buf = p->packed;
    if (a->dir == ZCACHE_READ)
        return 0;
    rc = zcache_layout_pack(a->mem, a->buf, mem_pos(t, p), p->packed, p->len);
    if (rc)
        free(p->packed);
    return rc;
}

/* ---- one part ---- */

static ssize_t do_local(struct transfer *t, struct part *p)
{
    struct zc_handle *h = p->owner->local;
    size_t len = (size_t)p->len;

    if (t->a->dir == ZCACHE_WRITE) {
        if (!p->plain)
            return zc_cache_vwrite(h, t->view, t->disp, p->buf, len, p->view_off);
        return t->around ? zc_cache_write_around(h, p->buf, len, (uint64_t)p->file_off)
                         : zc_cache_write(h, p->buf, len, (uint64_t)p->file_off);
    }
    return p->plain && !t->foresee ? zc_cache_read(h, p->buf, len, (uint64_t)p->file_off)
                                   : zc_cache_vread(h, t->view, t->disp, p->buf, len, p->view_off);
}

static void start_remote(struct transfer *t, struct part *p)
{
    uint64_t number = p->owner->number;
    size_t len = (size_t)p->len;

    if (t->a->dir == ZCACHE_WRITE) {
        if (p->plain)
            zc_io_write(p->client, number, p->buf, len, (uint64_t)p->file_off, &p->io);
        else
            zc_io_vwrite(p->client, number, t->view, t->disp, p->buf, len, p->view_off, &p->io);
    } else {
        if (p->plain && !t->foresee)
            zc_io_read(p->client, number, p->buf, len, (uint64_t)p->file_off, &p->io);
        else
            zc_io_vread(p->client, number, t->view, t->disp, p->buf, len, p->view_off, &p->io);
    }
}

/* A read came back short: zeros up to where the file really ends, for another owner may
 * know of bytes behind.  Returns how many bytes the part has. */
static int64_t fill_hole(struct transfer *t, struct part *p, int64_t got)
{
    uint64_t size;
    int64_t have;
    int rc = zcache_owners_size(t->f, &size);

    if (rc) {
        fail(t, rc);
        return 0;
    }
    if (p->plain)
        have = (int64_t)size <= p->file_off ? 0 : (int64_t)size - p->file_off;
    else
        have = zc_vspan_before(t->view, t->disp, p->view_off, p->len, (int64_t)size);
    if (have > p->len)
        have = p->len;
    if (have < got)
        have = got;
    memset(p->buf + got, 0, (size_t)(have - got));
    return have;
}

static void finish_oldest(struct transfer *t)
{
    struct part *p = &t->parts[t->head];
    int64_t got = p->client ? zc_io_wait(p->client, &p->io) : do_local(t, p);

    t->head = (t->head + 1) % WINDOW;
    t->count--;
    if (got < 0) {
        fail(t, (int)got);
    } else if (!t->status && !t->ended) {
        if (got < p->len && t->a->dir == ZCACHE_WRITE)
            fail(t, zc_errorf(EIO, "%lld of %lld bytes written at view offset %lld", (long long)got,
                              (long long)p->len, (long long)p->view_off));
        else if (got < p->len)
            got = fill_hole(t, p, got);
        if (p->packed && t->a->dir == ZCACHE_READ)
            fail(t, zcache_layout_unpack(t->a->mem, t->a->buf, mem_pos(t, p), p->packed, got));
        t->moved += got;
        t->ended = got < p->len;
    }
    free(p->packed);
}

/* ---- cutting ---- */

/* The part that begins at view_off, `max` bytes at most. */
static int cut(struct transfer *t, struct part *p, int64_t view_off, int64_t max)
{
    uint64_t block = t->f->place.block_size;
    int64_t last;
    int rc;

    p->view_off = view_off;
    if (!t->a->mem->contiguous && max > PACK_MAX)
        max = PACK_MAX;
    if (!t->view) {
        p->plain = true;
        p->file_off = t->disp + view_off;
        p->len = (int64_t)zc_place_room(&t->f->place, (uint64_t)p->file_off);
        if (p->len > max || (t->f->nowners == 1 && t->f->owners[0].local))
            p->len = max;
    } else {
        rc = zc_vspan(t->view, t->disp, view_off, max, block, &p->file_off, &p->len);
        if (rc)
            return rc;
        p->plain = !zc_view_monotone(t->view) ||
                   (zc_view_to_file(t->view, t->disp, view_off + p->len - 1, &last) == 0 &&
                    last - p->file_off == p->len - 1);
    }
    p->owner = &t->f->owners[zc_place_aggregator(
        &t->f->place, zc_place_block(&t->f->place, (uint64_t)p->file_off))];
    p->client = NULL;
    return p->owner->local ? 0 : zcache_owner_client(t->f, p->owner, &p->client);
}

static void start_part(struct transfer *t, int64_t *view_off, int64_t *left)
{
    struct part *p;
    int rc;

    if (t->count == WINDOW)
        finish_oldest(t);
    p = &t->parts[(t->head + t->count) % WINDOW];
    rc = cut(t, p, *view_off, *left);
    if (rc == 0)
        rc = lay_out(t, p);
    if (rc) {
        fail(t, rc);
        return;
    }
    t->count++;
    *view_off += p->len;
    *left -= p->len;
    if (p->client)
        start_remote(t, p);
}

/* This rank's share of a write is larger than the room in its cache. */
static bool finds_no_room(const struct zcache_access *a)
{
    uint64_t share = (uint64_t)a->len / a->f->nowners;

    if (a->dir != ZCACHE_WRITE || share < AROUND_MIN)
        return false;
    for (uint32_t i = 0; i < a->f->nowners; i++)
        if (a->f->owners[i].local)
            return share > zc_cache_room(a->f->owners[i].local);
    return false;
}

int64_t zcache_transfer(const struct zcache_access *a)
{
    struct transfer t = {
        .a = a, .f = a->f, .view = a->view, .disp = a->disp, .around = finds_no_room(a)};
    int64_t view_off = a->view_offset, left = a->len;

    if (view_off < 0 || a->disp < 0)
        return zc_errorf(EINVAL, "negative offset");
    if (left && t.view && zc_view_size(t.view) == 0)
        return zc_errorf(EINVAL, "the file view shows no bytes");
    if (left > INT64_MAX - view_off || t.disp > INT64_MAX - left - view_off)
        return zc_errorf(EFBIG, "the access ends beyond 2^63");
    t.foresee = t.view && zc_view_monotone(t.view) && t.f->settings.agg_prefetch;
    while (left && !t.status && !t.ended)
        start_part(&t, &view_off, &left);
    while (t.count)
        finish_oldest(&t);
    return t.status ? zc_errorf(-t.status, "%s", t.text) : t.moved;
}
