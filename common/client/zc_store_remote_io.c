/* zc_store_remote_io.c - data of a file behind daemons: cut along blocks, each part to its daemon.
 *
 * A part that comes back short is no end of file yet, for another daemon may know of bytes behind:
 * what lies before the largest size anyone knows reads as zeros.
 *
 * A part whose daemon is away is made when it is back, and one whose answer was lost with the
 * session is made again: a write has the same bytes then, for whoever writes here keeps them until
 * it is over, and nobody else writes them (doc/PROTOCOL.md, "Taken and stored").
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_racy.h"
#include "zc_sums.h"
#include "zc_store_remote_internal.h"
#include "zc_view.h"
#include "zc_window.h"

/* One block's part of a transfer; io says which bytes. */
struct part {
    struct zc_io io;
    uint32_t daemon;
    struct use use; /* where it is under way ... */
    int rc;         /* ... or why it is not */
    char text[400];
};

struct transfer {
    struct rfile *file;
    bool write;
    struct part parts[ZC_WINDOW];
};

/* A daemon names its file and the bytes that its store refused; that it is gone, or stops, does
 * not. */
static int explain(int rc, uint64_t off, uint64_t len)
{
    return zc_errorf_because(-rc, zc_error_text(rc), "bytes %llu-%llu", (unsigned long long)off,
                             (unsigned long long)(off + len - 1));
}

/* A read came back short: zeros up to the end of the file, wherever that is.  Bytes the part
 * has, or an error. */
static int64_t fill_hole(struct transfer *t, const struct zc_io *io, size_t got)
{
    uint64_t begin = io->off + got, end = begin;
    struct zc_attr attr;

    if (t->file->place.daemons > 1) {
        int rc = zc_remote_getattr(&t->file->file, &attr);

        if (rc)
            return rc;
        if (attr.size > end)
            end = attr.size < io->off + io->len ? attr.size : io->off + io->len;
    }
    memset((char *)io->buf + got, 0, (size_t)(end - begin));
    return (int64_t)(end - io->off);
}

static void start(struct transfer *t, struct part *p)
{
    p->rc = zc_remote_begin(t->file, p->daemon, &p->use);
    if (p->rc) {
        snprintf(p->text, sizeof p->text, "%s", zc_error_text(p->rc));
        return;
    }
    if (p->use.direct)
        return; /* outcome() makes it */
    p->io.handle = p->use.handle;
    zc_io_start(p->use.client, &p->io);
}

/* Its server is bypassed. */
static ssize_t move_direct(struct transfer *t, struct part *p)
{
    struct iovec iov = {p->io.buf, p->io.len};
    ssize_t got = t->write ? zc_store_pwritev(p->use.direct, &iov, 1, p->io.off)
                           : zc_store_preadv(p->use.direct, &iov, 1, p->io.off);

    if (got > 0 && t->write)
        zc_remote_wrote(t->file, p->daemon);
    return got;
}

/* Waits for it, and makes it again where that was in vain. */
static ssize_t outcome(struct transfer *t, struct part *p)
{
    for (;;) {
        ssize_t got;
        bool over;

        if (p->rc)
            return zc_errorf(-p->rc, "%s", p->text);
        if (p->use.direct)
            return move_direct(t, p);
        got = zc_io_wait(p->use.client, &p->io);
        if (got > 0 && t->write)
            zc_remote_took(t->file, &p->use, (uint64_t)got, p->io.taken, p->io.stored);
        if (got >= 0 && t->write && (size_t)got != p->io.len)
            got = zc_errorf(EIO, "%s took %zd of %zu bytes at offset %llu",
                            zc_client_label(p->use.client), got, p->io.len,
                            (unsigned long long)p->io.off);
        over = zc_remote_end(&p->use, got < 0 ? (int)got : 0);
        if (!over)
            return got;
        start(t, p);
    }
}

static int64_t finish_part(void *transfer, unsigned slot, bool wanted)
{
    struct transfer *t = transfer;
    struct part *p = &t->parts[slot];
    ssize_t got = outcome(t, p);

    if (got < 0)
        return explain((int)got, p->io.off, p->io.len);
    if (!wanted || (size_t)got == p->io.len)
        return got;
    return fill_hole(t, &p->io, (size_t)got);
}

/* Bytes of the part that is under way now: `left` at most, of one block. */
static size_t start_part(struct transfer *t, struct part *p, char *buf, size_t left, uint64_t off)
{
    const struct zc_place *place = &t->file->place;
    uint64_t room = place->daemons == 1 ? left : zc_place_room(place, off);

    p->daemon = zc_place_daemon(place, zc_place_block(place, off));
    p->io = (struct zc_io){
        .write = t->write, .buf = buf, .len = left < room ? left : (size_t)room, .off = off};
    p->io.checked = t->file->flags & ZC_OPEN_CHECKSUM;
    if (p->io.checked && p->io.len > zc_sums_span(off))
        p->io.len = zc_sums_span(off);
    start(t, p);
    return p->io.len;
}

static ssize_t move(struct zc_sfile *sf, const struct iovec *iov, int n, uint64_t off, bool write)
{
    struct transfer t = {.file = rfile_of(sf), .write = write};
    struct zc_window w;

    zc_window_init(&w, finish_part, &t);
    for (int i = 0; i < n; i++) {
        char *buf = iov[i].iov_base;
        size_t left = iov[i].iov_len;

        while (left && zc_window_wants(&w)) {
            size_t len = start_part(&t, &t.parts[zc_window_slot(&w)], buf, left, off);

            zc_window_started(&w, (int64_t)len);
            buf += len;
            left -= len;
            off += len;
        }
    }
    return zc_window_end(&w);
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
    const struct use *use;
    struct zc_client *client;
    uint64_t handle;
    struct zc_io io[ZC_WINDOW];
    unsigned char *lists; /* ZC_WINDOW of them, each max_inline bytes */
    size_t room;          /* of one, beside its checksums */
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
        zc_remote_took(s->file, s->use, (uint64_t)got, io->taken, io->stored);
    return got;
}

/* The first ranges of n, as many as a message has room for, packed in buf; how many. */
static uint32_t pack(struct zc_view_list *l, const char *data, const struct zc_range *r, uint32_t n,
                     uint64_t off, char *buf)
{
    uint32_t i = 0;

    ZC_RACY_READ_BEGIN(); /* writers may be at work on the same page */
    for (; i < n; i++) {
        size_t len = r[i].hi - r[i].lo;
        char *to = buf + l->bytes;

        if (!zc_view_list_add(l, (int64_t)(off + r[i].lo), (int64_t)len))
            break;
        memcpy(to, data + r[i].lo, len);
    }
    ZC_RACY_READ_END();
    return i;
}

static ssize_t write_lists(struct scatter *s, const char *data, const struct zc_range *r,
                           uint32_t n, uint64_t off, char *buf)
{
    struct zc_window w;

    zc_window_init(&w, finish_list, s);
    while (n && zc_window_wants(&w)) {
        unsigned slot = zc_window_slot(&w);
        unsigned char *list = s->lists + slot * s->room;
        struct zc_view_list l;
        uint32_t taken;

        zc_view_list_begin(&l, list, s->room);
        taken = pack(&l, data, r, n, off, buf);
        if (taken == 0) {
            zc_window_fail(&w, zc_errorf(EPROTO, "it takes no pieces"));
            break;
        }
        s->io[slot] = (struct zc_io){.write = true,
                                     .handle = s->handle,
                                     .buf = buf,
                                     .len = (size_t)l.bytes,
                                     .disp = l.first,
                                     .list = list,
                                     .checked = s->file->flags & ZC_OPEN_CHECKSUM,
                                     .list_len = zc_view_list_end(&l)};
        zc_io_start(s->client, &s->io[slot]);
        zc_window_started(&w, l.bytes);
        buf += l.bytes;
        r += taken;
        n -= taken;
    }
    return zc_window_end(&w);
}

static ssize_t write_direct(struct rfile *f, const struct use *use, const char *data,
                            const struct zc_range *r, uint32_t n, uint64_t off)
{
    ssize_t rc = zc_store_write_ranges(use->direct, data, r, n, off);

    if (rc > 0)
        zc_remote_wrote(f, use->index);
    return rc;
}

static ssize_t write_at(struct rfile *f, const struct use *use, const char *data,
                        const struct zc_range *r, uint32_t n, uint64_t off)
{
    struct scatter s = {.file = f,
                        .use = use,
                        .client = use->client,
                        .handle = use->handle,
                        .room = zc_client_max_inline(use->client)};
    uint32_t len = r[n - 1].hi - r[0].lo;
    char *buf = malloc(len);
    ssize_t rc;

    if (f->flags & ZC_OPEN_CHECKSUM)
        s.room -= ZC_SUM_SIZE * zc_sums_count(0, len, ZC_SUMS_UNIT);
    s.lists = malloc(ZC_WINDOW * s.room);
    rc = buf && s.lists ? write_lists(&s, data, r, n, off, buf) : -EOPNOTSUPP;
    free(s.lists);
    free(buf);
    return rc;
}

ssize_t zc_remote_write_ranges(struct zc_sfile *sf, const char *data, const struct zc_range *r,
                               uint32_t n, uint64_t off)
{
    struct rfile *f = rfile_of(sf);
    uint64_t first = zc_place_block(&f->place, off + r[0].lo);
    struct use use;
    ssize_t rc;

    if (f->place.daemons > 1 && zc_place_block(&f->place, off + r[n - 1].hi - 1) != first)
        return -EOPNOTSUPP;
    do {
        rc = zc_remote_begin(f, zc_place_daemon(&f->place, first), &use);
        if (rc == 0)
            rc = use.direct ? write_direct(f, &use, data, r, n, off)
                            : write_at(f, &use, data, r, n, off);
    } while (zc_remote_end(&use, rc < 0 ? (int)rc : 0));
    if (rc < 0 && rc != -EOPNOTSUPP)
        rc = explain((int)rc, off + r[0].lo, r[n - 1].hi - r[0].lo);
    return rc;
}
