/* zcache_access.c - one rank's access: cut along blocks, each part sent to the block's owner.
 *
 * The bytes of an access that lie in one block are contiguous in view space, so a part is (view,
 * view offset, length) with contiguous data, or, if the owner does not have the view, as many
 * pieces as a message can list.  Several parts are under way at a time (zc_pipeline.h).  Memory
 * that is not contiguous is packed part by part.  Nothing is read to be written back.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_events.h"
#include "zc_log.h"
#include "zc_pipeline.h"
#include "zc_ring.h"
#include "zc_stripe_part.h"
#include "zc_vspan.h"
#include "zc_way.h"
#include "zcache_access.h"
#include "zcache_exit.h"
#include "zcache_file.h"
#include "zcache_timing.h"

enum { NOT_SEEN = -1 }; /* part.seen */

enum {
    PACK_MAX = 1 << 20,   /* largest part whose data is packed, bytes */
    AROUND_MIN = 1 << 20, /* a smaller write waits for room in the cache */
    LEFT_SHARE = 8,       /* larger fractions of a cache than 1/8 are not put into its ring */
};

/* The visible bytes in one block.  s.buf: their data, in the user's memory or packed; NULL: not
 * placed yet. */
struct part {
    struct zc_stripe_part s;
    int64_t seen; /* bytes moved at once; NOT_SEEN: a request moves them */
    char *packed; /* what to free */
};

struct transfer {
    const struct zcache_access *a;
    struct zcache_file *f;
    struct zc_stripe_file striped;
    const struct zc_view *view; /* NULL: everything is visible */
    int64_t disp;
    int64_t view_off, left; /* of the parts not started yet */
    struct part *parts;     /* ZC_PIPELINE_DEPTH; cut() sets one up */
    bool foresee;           /* the owner needs the view for readahead */
    bool uncached;          /* a local part that does not fit into the cache now */
    bool checked;           /* remote transfers have checksums */
};

/* ---- memory ---- */

/* Position of a part's data, in bytes of the buffer's elements. */
static int64_t mem_pos(const struct transfer *t, const struct part *p)
{
    return p->s.view_off - t->a->view_offset;
}

/* Places the part's data, once for all ways of moving it. */
static int lay_out(struct transfer *t, struct part *p)
{
    const struct zcache_access *a = t->a;
    int rc;

    if (p->s.buf)
        return 0;
    if (a->mem->contiguous) {
        p->s.buf = (char *)a->buf + mem_pos(t, p);
        return 0;
    }
    p->packed = malloc((size_t)p->s.len);
    if (!p->packed)
        return zc_errorf(ENOMEM, "no memory to pack %lld bytes", (long long)p->s.len);
    p->s.buf = p->packed;
    if (a->dir == ZCACHE_READ)
        return 0;
    rc = zcache_layout_pack(a->mem, a->buf, mem_pos(t, p), p->packed, p->s.len);
    if (rc) {
        free(p->packed);
        p->packed = p->s.buf = NULL;
    }
    return rc;
}

/* ---- one part ---- */

/* Moves a part of a block that this rank owns: struct zc_stripe_part.move. */
static int64_t move_here(const struct zc_stripe_file *striped, const struct zc_stripe_part *p)
{
    const struct transfer *t = p->access;
    struct zc_handle *h = zcache_owner_here(striped->file, &t->f->owners[p->use.index]);
    size_t len = (size_t)p->len;

    if (p->write) {
        if (!p->plain)
            return zc_cache_vwrite(h, t->view, t->disp, p->buf, len, p->view_off);
        return t->uncached ? zc_cache_write_direct(h, p->buf, len, p->off)
                           : zc_cache_write(h, p->buf, len, p->off);
    }
    return p->viewed ? zc_cache_vread(h, t->view, t->disp, p->buf, len, p->view_off)
                     : zc_cache_read(h, p->buf, len, p->off);
}

static int64_t finish_part(void *transfer, unsigned slot, bool wanted)
{
    struct transfer *t = transfer;
    struct part *p = &t->parts[slot];
    int64_t got = p->seen != NOT_SEEN ? p->seen : zc_stripe_part_finish(&t->striped, &p->s, wanted);
    int rc = 0;

    if (got >= 0 && wanted && p->packed && !p->s.write)
        rc = zcache_layout_unpack(t->a->mem, t->a->buf, mem_pos(t, p), p->packed, got);
    free(p->packed);
    return rc ? rc : got;
}

/* ---- cutting ---- */

/* Sets up the next part. */
static int cut(struct transfer *t, struct part *part)
{
    const struct zc_stripe *place = &t->f->stripe;
    struct zc_stripe_part *p = &part->s;
    int64_t last, view_off = t->view_off, max = t->left, first = t->disp + view_off;
    int rc = 0;

    *part = (struct part){.s = {.write = t->a->dir == ZCACHE_WRITE,
                                .checked = t->checked,
                                .plain = true,
                                .view = t->view,
                                .disp = t->disp,
                                .view_off = view_off,
                                .left = t->left,
                                .access = t,
                                .move = move_here}};
    if (!t->a->mem->contiguous && max > PACK_MAX)
        max = PACK_MAX;
    if (!t->view) {
        p->len = (int64_t)zc_stripe_room(place, (uint64_t)first);
        if (p->len > max || (t->f->nowners == 1 && t->f->owners[0].local))
            p->len = max;
    } else {
        rc = zc_vspan(t->view, t->disp, view_off, max, place->block_size, &first, &p->len);
        if (rc)
            return rc;
        p->plain = !zc_view_monotone(t->view) ||
                   (zc_view_to_file(t->view, t->disp, view_off + p->len - 1, &last) == 0 &&
                    last - first == p->len - 1);
    }
    p->off = (uint64_t)first;
    p->viewed = !p->plain || (!p->write && t->foresee);
    return zc_stripe_part_get(&t->striped, p);
}

/* The next four return what part.seen becomes. */

/* Reads published pages of an owner on this host directly. */
static int64_t look(struct transfer *t, struct part *part)
{
    struct zc_stripe_part *p = &part->s;

    if (lay_out(t, part) ||
        !zc_client_peek(p->use.client, p->use.handle, p->buf, (size_t)p->len, p->off))
        return NOT_SEEN;
    return p->len;
}

/* Reads from the file, past the owner's cache. */
static int64_t read_around(struct transfer *t, struct part *part)
{
    struct zc_stripe_part *p = &part->s;
    ssize_t got = -1;

    if (lay_out(t, part) == 0)
        got = zcache_read_around(t->f, &t->f->owners[p->use.index], p->use.client, p->buf,
                                 (size_t)p->len, p->off);
    return got < 0 ? NOT_SEEN : got;
}

/* Arguments of pack(). */
struct packing {
    const struct transfer *t;
    const struct part *p;
};

static int pack(void *packing, void *to)
{
    const struct packing *k = packing;
    const struct zcache_access *a = k->t->a;

    return zcache_layout_pack(a->mem, a->buf, mem_pos(k->t, k->p), to, k->p->s.len);
}

/* Whether the cache has room for a ring entry: with little room, entries of ranks that are ahead
 * would wait before those that complete the cached pages. */
static bool fits_well(const struct zcache_access *a)
{
    return (uint64_t)a->len <= a->f->settings.agg_cache_size / LEFT_SHARE;
}

/* Writes a small part by the ring of an owner on this host; through a view as much as fits. */
static int64_t leave(struct transfer *t, struct part *part)
{
    const struct zcache_access *a = t->a;
    struct zc_stripe_part *p = &part->s;
    struct packing packing = {t, part};
    struct zc_ring_write post = {.handle = p->use.handle,
                                 .off = p->plain ? p->off : (uint64_t)p->view_off,
                                 .view = p->plain ? NULL : t->view,
                                 .disp = t->disp,
                                 .pack = pack,
                                 .arg = &packing};
    int64_t whole = p->len;

    if (whole > ZC_RING_ENTRY_MAX)
        p->len = ZC_RING_ENTRY_MAX;
    post.len = (size_t)p->len;
    if (a->mem->contiguous)
        post.buf = (const char *)a->buf + mem_pos(t, part);
    if (zc_client_ring_write(p->use.client, &post))
        return p->len;
    p->len = whole;
    return NOT_SEEN;
}

/* Moves the part without a message, if such a way is the cheapest one, and open. */
static int64_t move_at_once(struct transfer *t, struct part *part)
{
    const struct zc_stripe_part *p = &part->s;
    struct zc_client *c = p->use.client;

    struct zc_way_ask ask = {.file = t->f->owners[p->use.index].quiescence.pagedesc != 0,
                             .own = !c,
                             .write = p->write,
                             .plain = p->plain,
                             .checked = t->checked,
                             .large = !fits_well(t->a),
                             .len = (size_t)p->len,
                             .page = c ? zc_client_page_size(c) : 0};

    int64_t got;

    if (zc_way(&ask) == ZC_WAY_FILE) {
        got = read_around(t, part);
        if (got != NOT_SEEN)
            return got;
        ask.file = false;
    }
    switch (zc_way(&ask)) {
    case ZC_WAY_PEEK:
        return look(t, part);
    case ZC_WAY_RING:
        return leave(t, part);
    default: /* a call is made when the part is finished */
        return NOT_SEEN;
    }
}

/* Makes what can be made of the part at once; sends a request for the rest. */
static int begin(struct transfer *t, struct part *p)
{
    int rc = cut(t, p);

    if (rc)
        return rc;
    p->seen = move_at_once(t, p);
    if (p->seen != NOT_SEEN) {
        zc_stripe_part_forget(&t->striped, &p->s, false);
        zcache_watch_check(t->f->timing);
        return 0;
    }
    rc = zc_stripe_part_aim(&t->striped, &p->s);
    if (rc) {
        free(p->packed);
        return rc;
    }
    rc = lay_out(t, p);
    if (rc) {
        zc_stripe_part_forget(&t->striped, &p->s, true);
        return rc;
    }
    zc_stripe_part_start(&t->striped, &p->s);
    return 0;
}

static int64_t start_part(void *transfer, unsigned slot)
{
    struct transfer *t = transfer;
    struct part *p = &t->parts[slot];
    int rc = t->left ? begin(t, p) : 0;

    if (rc || !t->left)
        return rc;
    t->view_off += p->s.len;
    t->left -= p->s.len;
    return p->s.len;
}

/* Whether this rank's own part of a write exceeds the room in its cache. */
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

static int64_t transfer(const struct zcache_access *a)
{
    struct part parts[ZC_PIPELINE_DEPTH]; /* zeroing all of them would cost a small access more */
    struct transfer t = {.a = a,
                         .f = a->f,
                         .striped = zcache_owners_striped(a->f),
                         .view = a->view,
                         .disp = a->disp,
                         .view_off = a->view_offset,
                         .left = a->len,
                         .parts = parts,
                         .uncached = finds_no_room(a),
                         .checked = a->f->settings.checksum == ZC_CHECKSUM_ON};
    uint64_t began = zc_event_begin();
    int64_t moved;

    if (t.view_off < 0 || a->disp < 0)
        return zc_errorf(EINVAL, "negative offset");
    if (t.left && t.view && zc_view_size(t.view) == 0)
        return zc_errorf(EINVAL, "the file view shows no bytes");
    if (t.left > INT64_MAX - t.view_off || t.disp > INT64_MAX - t.left - t.view_off)
        return zc_errorf(EOVERFLOW, "the access ends beyond 2^63");
    t.foresee = t.view && zc_view_monotone(t.view) && t.f->settings.agg_prefetch &&
                zc_view_memory(t.view) <= ZC_FORESEEN_VIEW;
    moved = zc_pipeline_run(start_part, finish_part, &t);
    zc_event_end(ZC_EVENT_EXCHANGE, began, moved > 0 ? (uint64_t)moved : 0);
    return moved;
}

int64_t zcache_transfer(const struct zcache_access *a)
{
    int rc = zcache_exit_begin();
    int64_t moved;

    if (rc)
        return rc;
    moved = transfer(a);
    zcache_exit_end();
    return moved;
}
