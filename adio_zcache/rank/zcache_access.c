/* zcache_access.c - one rank's access: cut along blocks, each part to the block's owner.
 *
 * The bytes of an access that lie in one block are contiguous in view space, so a part is
 * (view, view offset, length) with contiguous data, or, where the owner does not have the view, as
 * many pieces as a message can list.  Several parts are under way (zc_window.h).
 * Memory that is not contiguous is packed part by part.  Nothing is read to be written back.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_events.h"
#include "zc_log.h"
#include "zc_post.h"
#include "zc_sums.h"
#include "zc_vspan.h"
#include "zc_window.h"
#include "zcache_access.h"
#include "zcache_file.h"
#include "zcache_measure.h"

enum {
    PACK_MAX = 1 << 20,   /* largest part whose data is packed, bytes */
    AROUND_MIN = 1 << 20, /* a write of fewer bytes waits for room in the cache */
    LEFT_SHARE = 8,       /* more than one of so many bytes of a cache is not left in its ring */
};

/* Visible bytes of one block. */
struct part {
    struct zcache_owner *owner;
    struct zc_client *client; /* NULL: this rank owns the block */
    struct zc_io io;          /* plain: in one run of the file, or */
    struct zc_vio vio;        /* through the view */
    bool viewed;
    bool seen;    /* it has moved already, out of or into the owner's memory */
    char *buf;    /* its data, in the user's memory or packed; NULL: not laid out yet */
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
    struct part parts[ZC_WINDOW];
    bool foresee; /* the owner shall know the view: it reads ahead along it */
    bool around;  /* what this rank owns would not fit into its cache now */
    bool checked; /* what others own moves with checksums */
};

/* ---- memory ---- */

/* Where a part's data is, in the bytes of the buffer's elements. */
static int64_t mem_pos(const struct transfer *t, const struct part *p)
{
    return p->view_off - t->a->view_offset;
}

static void let_go(struct part *p)
{
    free(p->packed);
    p->packed = p->buf = NULL;
}

/* Once is enough, whichever ways it is tried. */
static int lay_out(struct transfer *t, struct part *p)
{
    const struct zcache_access *a = t->a;
    int rc;

    if (p->buf)
        return 0;
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
        let_go(p);
    return rc;
}

/* ---- one part ---- */

static ssize_t do_local(struct transfer *t, struct part *p)
{
    struct zc_handle *h = zcache_owner_here(t->f, p->owner);
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

/* How an owner is asked: through the view, or for a run of the file. */
static int aim_remote(struct transfer *t, struct part *p)
{
    const struct zc_place *place = &t->f->place;
    uint64_t block = zc_place_block(place, (uint64_t)p->file_off);
    bool write = t->a->dir == ZCACHE_WRITE;
    int rc;

    p->viewed = !p->plain || (!write && t->foresee);
    if (!p->viewed)
        return 0;
    p->vio = (struct zc_vio){.write = write,
                             .handle = p->owner->number,
                             .view = (struct zc_view *)(uintptr_t)t->view, /* counts references */
                             .disp = t->disp,
                             .off = (uint64_t)p->view_off,
                             .len = (size_t)p->len,
                             .checked = t->checked,
                             .slice = {.unit = place->block_size,
                                       .count = zc_place_owners(place),
                                       .turn = zc_place_aggregator(place, block)}};
    rc = zc_vio_aim(p->client, &p->vio);
    p->len = (int64_t)p->vio.len;
    return rc;
}

static void start_remote(struct transfer *t, struct part *p)
{
    if (p->viewed) {
        p->vio.buf = p->buf;
        zc_vio_start(p->client, &p->vio);
        return;
    }
    p->io = (struct zc_io){.write = t->a->dir == ZCACHE_WRITE,
                           .handle = p->owner->number,
                           .buf = p->buf,
                           .len = (size_t)p->len,
                           .off = (uint64_t)p->file_off,
                           .checked = t->checked};
    zc_io_start(p->client, &p->io);
}

/* All of a part through the view, in as many transfers as it takes. */
static int64_t move_viewed(struct transfer *t, struct part *p)
{
    int64_t whole = p->len, done = 0;
    struct part rest = *p;

    while (done < whole) {
        int64_t got;
        int rc;

        rest.view_off = p->view_off + done;
        rest.buf = p->buf + done;
        rest.len = whole - done;
        rc = aim_remote(t, &rest);
        if (rc)
            return rc;
        start_remote(t, &rest);
        got = zc_vio_wait(rest.client, &rest.vio);
        if (got < 0)
            return got;
        done += got;
        if (got < rest.len)
            break;
    }
    return done;
}

/* Which page may be looked at the next time: look(). */
static void note(struct transfer *t, struct part *p, int64_t got)
{
    if (t->a->dir == ZCACHE_READ && p->plain && got > 0)
        zc_client_saw(p->client, p->owner->number, (uint64_t)(p->file_off + got - 1),
                      p->viewed ? &p->vio.io : &p->io);
}

/* Waits for it; it is made again where the connection broke because of another owner. */
static int64_t wait_remote(struct transfer *t, struct part *p)
{
    int64_t got = p->viewed ? zc_vio_wait(p->client, &p->vio) : zc_io_wait(p->client, &p->io);
    int rc = got < 0 ? (int)got : 0;

    note(t, p, got);

    while (zcache_owner_again(t->f, p->owner, &p->client, &rc)) {
        if (p->viewed) {
            got = move_viewed(t, p);
        } else {
            start_remote(t, p);
            got = zc_io_wait(p->client, &p->io);
        }
        rc = got < 0 ? (int)got : 0;
    }
    return rc ? rc : got;
}

/* A read came back short: zeros up to where the file really ends, for another owner may
 * know of bytes behind.  Returns how many bytes the part has, or an error. */
static int64_t fill_hole(struct transfer *t, struct part *p, int64_t got)
{
    uint64_t size;
    int64_t have;
    int rc = zcache_owners_size(t->f, &size);

    if (rc)
        return rc;
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

/* A write came back short: the rest of it is told what is in the way. */
static int64_t write_rest(struct transfer *t, const struct part *p, int64_t got)
{
    while (got < p->len) {
        struct part rest = *p;
        int64_t more;

        rest.view_off += got;
        rest.file_off += got; /* of no use where the part is not plain */
        rest.buf += got;
        rest.len -= got;
        if (!rest.client) {
            more = do_local(t, &rest);
        } else if (rest.viewed) {
            more = move_viewed(t, &rest);
        } else {
            start_remote(t, &rest);
            more = zc_io_wait(rest.client, &rest.io);
        }
        if (more == 0)
            more = zc_errorf(EIO, "%lld of %lld bytes written at view offset %lld", (long long)got,
                             (long long)p->len, (long long)p->view_off);
        if (more < 0)
            return more;
        got += more;
    }
    return got;
}

/* `got` bytes of a part have moved: how many it has. */
static int64_t settle(struct transfer *t, struct part *p, int64_t got)
{
    int rc = 0;

    if (t->a->dir == ZCACHE_WRITE)
        return write_rest(t, p, got);
    if (got < p->len)
        got = fill_hole(t, p, got);
    if (got >= 0 && p->packed)
        rc = zcache_layout_unpack(t->a->mem, t->a->buf, mem_pos(t, p), p->packed, got);
    return rc ? rc : got;
}

static int64_t finish_part(void *transfer, unsigned slot, bool wanted)
{
    struct transfer *t = transfer;
    struct part *p = &t->parts[slot];
    int64_t got = p->seen ? p->len : p->client ? wait_remote(t, p) : do_local(t, p);

    if (got >= 0 && wanted)
        got = settle(t, p, got);
    free(p->packed);
    return got;
}

/* ---- cutting ---- */

/* The part that begins at view_off, `max` bytes at most. */
static int cut(struct transfer *t, struct part *p, int64_t view_off, int64_t max)
{
    uint64_t block = t->f->place.block_size;
    int64_t last;
    int rc;

    p->view_off = view_off;
    p->seen = false;
    p->packed = p->buf = NULL;
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
    if (p->owner->local)
        return 0;
    if (t->checked && p->len > (int64_t)zc_sums_span((uint64_t)p->file_off))
        p->len = (int64_t)zc_sums_span((uint64_t)p->file_off);
    return zcache_owner_client(t->f, p->owner, &p->client);
}

/* What an owner of this host shows of its pages is read without asking. */
static bool look(struct transfer *t, struct part *p)
{
    if (!p->client || !p->plain || t->a->dir != ZCACHE_READ ||
        p->len > zc_client_page_size(p->client) || lay_out(t, p))
        return false;
    p->seen =
        zc_client_peek(p->client, p->owner->number, p->buf, (size_t)p->len, (uint64_t)p->file_off);
    if (p->seen)
        zcache_watch_look(t->f->measure);
    return p->seen;
}

/* What pack() below needs. */
struct packing {
    const struct transfer *t;
    const struct part *p;
};

static int pack(void *packing, void *to)
{
    const struct packing *k = packing;
    const struct zcache_access *a = k->t->a;

    return zcache_layout_pack(a->mem, a->buf, mem_pos(k->t, k->p), to, k->p->len);
}

/* Where there is little room, what is left by those who are ahead of others would wait for it in
 * front of what completes the pages that are there. */
static bool fits_well(const struct zcache_access *a)
{
    return (uint64_t)a->len <= a->f->settings.agg_cache_size / LEFT_SHARE;
}

/* A small write to an owner of this host is left in memory that it looks into; of one through a
 * view as much as fits. */
static bool leave(struct transfer *t, struct part *p)
{
    const struct zcache_access *a = t->a;
    struct packing packing = {t, p};
    struct zc_posted post = {.handle = p->owner->number,
                             .off = (uint64_t)(p->plain ? p->file_off : p->view_off),
                             .view = p->plain ? NULL : t->view,
                             .disp = t->disp,
                             .pack = pack,
                             .arg = &packing};
    int64_t whole = p->len;

    if (!p->client || a->dir != ZCACHE_WRITE || t->checked ||
        (p->plain ? whole > ZC_POST_MAX : !fits_well(a)))
        return false;
    if (whole > ZC_POST_MAX)
        p->len = ZC_POST_MAX;
    post.len = (size_t)p->len;
    if (a->mem->contiguous)
        post.buf = (const char *)a->buf + mem_pos(t, p);
    p->seen = zc_client_post(p->client, &post);
    if (p->seen)
        zcache_watch_look(t->f->measure);
    else
        p->len = whole;
    return p->seen;
}

/* Bytes of the part that is under way now, or an error. */
static int64_t start_part(struct transfer *t, struct part *p, int64_t view_off, int64_t left)
{
    int rc = cut(t, p, view_off, left);

    if (rc == 0 && (look(t, p) || leave(t, p)))
        return p->len;
    if (rc == 0 && p->client)
        do
            rc = aim_remote(t, p);
        while (zcache_owner_again(t->f, p->owner, &p->client, &rc));
    if (rc) {
        let_go(p);
        return rc;
    }
    rc = lay_out(t, p);
    if (rc) {
        if (p->client && p->viewed)
            zc_vio_forget(p->client, &p->vio);
        return rc;
    }
    if (p->client)
        start_remote(t, p);
    return p->len;
}

/* Part by part. */
static int64_t move(struct transfer *t, int64_t view_off, int64_t left)
{
    struct zc_window w;

    zc_window_init(&w, finish_part, t);
    while (left && zc_window_wants(&w)) {
        struct part *p = &t->parts[zc_window_slot(&w)];
        int64_t len = start_part(t, p, view_off, left);

        if (len < 0) {
            zc_window_fail(&w, (int)len);
        } else {
            zc_window_started(&w, len);
            view_off += len;
            left -= len;
        }
    }
    return zc_window_end(&w);
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
    struct transfer t = {.a = a,
                         .f = a->f,
                         .view = a->view,
                         .disp = a->disp,
                         .around = finds_no_room(a),
                         .checked = a->f->settings.checksum == ZC_CHECKSUM_ON};
    int64_t view_off = a->view_offset, left = a->len, moved;
    uint64_t began = zc_event_begin();

    if (view_off < 0 || a->disp < 0)
        return zc_errorf(EINVAL, "negative offset");
    if (left && t.view && zc_view_size(t.view) == 0)
        return zc_errorf(EINVAL, "the file view shows no bytes");
    if (left > INT64_MAX - view_off || t.disp > INT64_MAX - left - view_off)
        return zc_errorf(EFBIG, "the access ends beyond 2^63");
    t.foresee = t.view && zc_view_monotone(t.view) && t.f->settings.agg_prefetch &&
                zc_view_memory(t.view) <= ZC_FORESEEN_VIEW;
    moved = move(&t, view_off, left);
    zc_event_end(ZC_EVENT_EXCHANGE, began, moved > 0 ? (uint64_t)moved : 0);
    return moved;
}
