/* zc_store_remote_io.c - data of a file behind daemons: cut along blocks, each part to its daemon
 * (zc_stripe_part.h).
 *
 * A part for a disconnected daemon is sent when it is back, and one whose reply was lost with the
 * session is sent again: a repeated write has the same bytes, because the caller keeps them until
 * it returns and no other client writes them (doc/PROTOCOL.md, "Taken and stored").
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_tsan.h"
#include "zc_wire_csum.h"
#include "zc_store_remote_internal.h"
#include "zc_stripe_part.h"
#include "zc_view.h"
#include "zc_pipeline.h"

struct transfer {
    struct zc_stripe_file striped;
    bool write, checked;
    const struct iovec *iov; /* of the parts not started yet: this one ... */
    int n;                   /* ... and those behind it */
    size_t done;             /* bytes of this one */
    uint64_t off;
    struct zc_stripe_part parts[ZC_PIPELINE_DEPTH];
};

/* A daemon names its file and the bytes that its store refused; that it is gone, or stops, does
 * not. */
static int explain(int rc, uint64_t off, uint64_t len)
{
    return zc_errorf_because(-rc, zc_error_text(rc), "bytes %llu-%llu", (unsigned long long)off,
                             (unsigned long long)(off + len - 1));
}

/* Its server is bypassed. */
static int64_t move_direct(const struct zc_stripe_file *s, const struct zc_stripe_part *p)
{
    struct iovec iov = {p->buf, (size_t)p->len};
    ssize_t got = p->write ? zc_store_pwritev(p->use.here, &iov, 1, p->off)
                           : zc_store_preadv(p->use.here, &iov, 1, p->off);

    if (got > 0 && p->write)
        zc_remote_wrote(s->file, p->use.index);
    return got;
}

static int64_t finish_part(void *transfer, unsigned slot, bool wanted)
{
    struct transfer *t = transfer;
    struct zc_stripe_part *p = &t->parts[slot];
    int64_t got = zc_stripe_part_finish(&t->striped, p, wanted);

    return got < 0 ? explain((int)got, p->off, (uint64_t)p->len) : got;
}

static int64_t start_part(void *transfer, unsigned slot)
{
    struct transfer *t = transfer;
    const struct zc_stripe_file *s = &t->striped;
    struct zc_stripe_part *p = &t->parts[slot];
    uint64_t left, room;
    int rc;

    for (; t->n && t->done == t->iov->iov_len; t->n--, t->iov++)
        t->done = 0;
    if (!t->n)
        return 0;
    left = t->iov->iov_len - t->done;
    room = s->n == 1 ? left : zc_stripe_room(s->place, t->off);
    *p = (struct zc_stripe_part){.write = t->write,
                                 .checked = t->checked,
                                 .plain = true,
                                 .off = t->off,
                                 .buf = (char *)t->iov->iov_base + t->done,
                                 .len = (int64_t)(left < room ? left : room),
                                 .move = move_direct};
    rc = zc_stripe_part_get(s, p);
    if (rc)
        return explain(rc, p->off, (uint64_t)p->len);
    zc_stripe_part_start(s, p);
    t->done += (size_t)p->len;
    t->off += (uint64_t)p->len;
    return p->len;
}

static ssize_t move(struct zc_sfile *sf, const struct iovec *iov, int n, uint64_t off, bool write)
{
    struct rfile *f = rfile_of(sf);
    struct transfer t = {.striped = zc_remote_striped(f),
                         .write = write,
                         .checked = f->flags & ZC_OPEN_CHECKSUM,
                         .iov = iov,
                         .n = n,
                         .off = off};

    return zc_pipeline_run(start_part, finish_part, &t);
}

ssize_t zc_remote_preadv(struct zc_sfile *sf, const struct iovec *iov, int n, uint64_t off)
{
    return move(sf, iov, n, off, false);
}

ssize_t zc_remote_pwritev(struct zc_sfile *sf, const struct iovec *iov, int n, uint64_t off)
{
    return move(sf, iov, n, off, true);
}

/* ---- pieces ---- */

/* Pieces of a page, packed and listed, in as many messages as it takes. */
struct scatter {
    struct rfile *file;
    const struct zc_stripe_use *use;
    struct zc_client *client;
    uint64_t handle;
    struct zc_io io[ZC_PIPELINE_DEPTH];
    unsigned char *lists; /* ZC_PIPELINE_DEPTH of them, each max_inline bytes */
    size_t room;          /* of one, beside its checksums */
    const char *data;     /* the page ... */
    const struct zc_range *r;
    uint32_t n; /* ... and its pieces that are not sent yet */
    uint64_t off;
    char *buf; /* for their bytes, packed */
};

static int64_t finish_list(void *scatter, unsigned slot, bool wanted)
{
    struct scatter *s = scatter;
    struct zc_io *io = &s->io[slot];
    ssize_t got = zc_io_wait(s->client, io);

    (void)wanted;
    if (got >= 0 && (size_t)got != io->len)
        return zc_errorf(EIO, "%s took %zd of %zu bytes in pieces at offset %llu",
                         zc_client_label(s->client), got, io->len, (unsigned long long)io->disp);
    if (got > 0)
        zc_remote_took(s->file, s->use, (uint64_t)got, io->unstable_seq, io->committed_seq);
    return got;
}

/* Lists the next pieces, as many as a message has room for, and packs their bytes. */
static void pack(struct scatter *s, struct zc_view_list *l)
{
    char *to = s->buf;

    ZC_TSAN_RACY_BEGIN(); /* writers may be at work on the same page */
    for (; s->n; s->n--, s->r++) {
        size_t len = s->r->hi - s->r->lo;

        if (!zc_view_list_add(l, (int64_t)(s->off + s->r->lo), (int64_t)len))
            break;
        memcpy(to, s->data + s->r->lo, len);
        to += len;
    }
    ZC_TSAN_RACY_END();
}

static int64_t start_list(void *scatter, unsigned slot)
{
    struct scatter *s = scatter;
    unsigned char *list = s->lists + slot * s->room;
    struct zc_view_list l;

    if (!s->n)
        return 0;
    zc_view_list_begin(&l, list, s->room);
    pack(s, &l);
    if (!l.bytes)
        return zc_errorf(EPROTO, "it takes no pieces");
    s->io[slot] = (struct zc_io){.write = true,
                                 .handle = s->handle,
                                 .buf = s->buf,
                                 .len = (size_t)l.bytes,
                                 .disp = l.first,
                                 .list = list,
                                 .checked = s->file->flags & ZC_OPEN_CHECKSUM,
                                 .list_len = zc_view_list_end(&l)};
    zc_io_start(s->client, &s->io[slot]);
    s->buf += l.bytes;
    return l.bytes;
}

static ssize_t write_direct(struct rfile *f, const struct zc_stripe_use *use, const char *data,
                            const struct zc_range *r, uint32_t n, uint64_t off, struct zc_merge *m)
{
    ssize_t rc = zc_store_write_ranges(use->here, data, r, n, off, m);

    if (rc > 0)
        zc_remote_wrote(f, use->index);
    return rc;
}

static ssize_t write_at(struct rfile *f, const struct zc_stripe_use *use, const char *data,
                        const struct zc_range *r, uint32_t n, uint64_t off)
{
    struct scatter s = {.file = f,
                        .use = use,
                        .client = use->client,
                        .handle = use->handle,
                        .room = zc_client_max_inline(use->client),
                        .data = data,
                        .r = r,
                        .n = n,
                        .off = off};
    uint32_t len = r[n - 1].hi - r[0].lo;
    char *buf = s.buf = malloc(len);
    ssize_t rc;

    if (f->flags & ZC_OPEN_CHECKSUM)
        s.room -= ZC_CSUM_SIZE * zc_wire_csum_count(0, len, ZC_CSUMS_UNIT);
    s.lists = malloc(ZC_PIPELINE_DEPTH * s.room);
    rc = buf && s.lists ? zc_pipeline_run(start_list, finish_list, &s) : -EOPNOTSUPP;
    free(s.lists);
    free(buf);
    return rc;
}

/* Arguments of write_ranges(). */
struct ranges {
    const char *data;
    const struct zc_range *r;
    uint32_t n;
    uint64_t off;
    struct zc_merge *m;
    ssize_t wrote; /* out: bytes */
};

static int write_ranges(const struct zc_stripe_file *s, const struct zc_stripe_use *use, void *arg)
{
    struct ranges *a = arg;

    a->wrote = use->client ? write_at(s->file, use, a->data, a->r, a->n, a->off)
                           : write_direct(s->file, use, a->data, a->r, a->n, a->off, a->m);
    return a->wrote < 0 ? (int)a->wrote : 0;
}

ssize_t zc_remote_write_ranges(struct zc_sfile *sf, const char *data, const struct zc_range *r,
                               uint32_t n, uint64_t off, struct zc_merge *m)
{
    struct rfile *f = rfile_of(sf);
    struct zc_stripe_file s = zc_remote_striped(f);
    struct ranges ranges = {data, r, n, off, m, 0};
    uint64_t first = zc_stripe_block(&f->place, off + r[0].lo);
    int rc;

    if (s.n > 1 && zc_stripe_block(&f->place, off + r[n - 1].hi - 1) != first)
        return -EOPNOTSUPP;
    rc = zc_stripe_call(&s, zc_stripe_daemon(&f->place, first), write_ranges, &ranges);
    if (rc < 0 && rc != -EOPNOTSUPP)
        return explain(rc, off + r[0].lo, r[n - 1].hi - r[0].lo);
    return rc ? rc : ranges.wrote;
}
