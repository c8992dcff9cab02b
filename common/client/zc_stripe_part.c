/* zc_stripe_part.c - data transfers of a striped file, part by part. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "zc_log.h"
#include "zc_stripe_part.h"
#include "zc_vspan.h"
#include "zc_wire_csum.h"

int zc_stripe_part_get(const struct zc_stripe_file *f, struct zc_stripe_part *p)
{
    uint64_t block = zc_stripe_block(f->place, p->off);
    int64_t span = (int64_t)zc_wire_csum_span(p->off);
    int rc = f->ops->get(f, f->ops->server(f->place, block), &p->use);

    if (rc == 0 && p->use.client && p->checked && p->len > span)
        p->len = span;
    return rc;
}

static bool has_view(const struct zc_stripe_part *p)
{
    return p->viewed && p->use.client;
}

/* Prepares a transfer through the view; may shorten the part. */
static int aim(const struct zc_stripe_file *f, struct zc_stripe_part *p)
{
    int rc;

    if (!has_view(p))
        return 0;
    p->vio = (struct zc_vio){
        .write = p->write,
        .handle = p->use.handle,
        .view = (struct zc_view *)(uintptr_t)p->view, /* its references are counted */
        .disp = p->disp,
        .off = (uint64_t)p->view_off,
        .left = (uint64_t)p->left,
        .len = (size_t)p->len,
        .checked = p->checked,
        .slice = {.unit = f->place->block_size,
                  .count = zc_stripe_owners(f->place),
                  .index = p->use.index}};
    rc = zc_vio_aim(p->use.client, &p->vio);
    p->len = (int64_t)p->vio.len;
    return rc;
}

int zc_stripe_part_aim(const struct zc_stripe_file *f, struct zc_stripe_part *p)
{
    int rc = aim(f, p);

    while (rc && f->ops->put(&p->use, rc)) {
        rc = zc_stripe_part_get(f, p);
        if (rc)
            return rc;
        rc = aim(f, p);
    }
    return rc;
}

void zc_stripe_part_forget(const struct zc_stripe_file *f, struct zc_stripe_part *p, bool aimed)
{
    if (aimed && has_view(p))
        zc_vio_forget(p->use.client, &p->vio);
    f->ops->put(&p->use, 0);
}

void zc_stripe_part_start(const struct zc_stripe_file *f, struct zc_stripe_part *p)
{
    (void)f;
    if (has_view(p)) {
        p->vio.buf = p->buf;
        zc_vio_start(p->use.client, &p->vio);
    } else if (p->use.client) {
        p->vio.io = (struct zc_io){.write = p->write,
                                   .handle = p->use.handle,
                                   .buf = p->buf,
                                   .len = (size_t)p->len,
                                   .off = p->off,
                                   .checked = p->checked};
        zc_io_start(p->use.client, &p->vio.io);
    }
}

/* Waits for the request; without a client, moves the part now. */
static int64_t outcome(const struct zc_stripe_file *f, struct zc_stripe_part *p)
{
    const struct zc_stripe_use *use = &p->use;
    const struct zc_io *io = &p->vio.io;
    int64_t got;

    if (!use->client)
        return p->move(f, p);
    got = has_view(p) ? zc_vio_wait(use->client, &p->vio) : zc_io_wait(use->client, &p->vio.io);
    if (got > 0 && p->write && f->ops->took)
        f->ops->took(f, use, (uint64_t)got, io->unstable_seq, io->committed_seq);
    if (got > 0 && !p->write && p->plain)
        zc_client_learn_page(use->client, use->handle, p->off + (uint64_t)got - 1, io);
    return got;
}

/* Moves the part from start to end; repeats that if put() says so. */
static int64_t move(const struct zc_stripe_file *f, struct zc_stripe_part *p)
{
    int64_t got;

    do {
        got = zc_stripe_part_get(f, p);
        if (got)
            return got;
        got = aim(f, p);
        if (got == 0) {
            zc_stripe_part_start(f, p);
            got = outcome(f, p);
        }
    } while (f->ops->put(&p->use, got < 0 ? (int)got : 0));
    return got;
}

/* Moves all but the first `done` bytes, in as many requests as it takes: after a short write, the
 * request for the rest reports the error.  Returns the bytes moved in all. */
static int64_t move_rest(const struct zc_stripe_file *f, const struct zc_stripe_part *p,
                         int64_t done)
{
    while (done < p->len) {
        struct zc_stripe_part rest = *p;
        int64_t got;

        rest.view_off += done;
        rest.off += p->plain ? (uint64_t)done : 0; /* else p->off only identifies the block */
        rest.buf += done;
        rest.len -= done;
        rest.left -= rest.left ? done : 0;
        got = move(f, &rest);
        if (got == 0 && p->write)
            got = zc_errorf(EIO, "%lld of %lld bytes written, and no more", (long long)done,
                            (long long)p->len);
        if (got < 0)
            return got;
        done += got;
        if (got < rest.len && !p->write)
            break;
    }
    return done;
}

/* Completes a read that returned `got` bytes: fills in zeros up to the real end of the file.
 * Returns the part's bytes. */
static int64_t fill_hole(const struct zc_stripe_file *f, struct zc_stripe_part *p, int64_t got)
{
    int64_t have = got, off = (int64_t)p->off, size;
    struct zc_attr attr = {0};
    int rc;

    if (f->n == 1)
        return got;
    rc = zc_stripe_getattr(f, &attr);
    if (rc)
        return rc;
    size = (int64_t)attr.size;
    if (!p->plain)
        have = zc_vspan_before(p->view, p->disp, p->view_off, p->len, size);
    else if (size > off)
        have = size - off;
    if (have > p->len)
        have = p->len;
    if (have < got)
        have = got;
    memset(p->buf + got, 0, (size_t)(have - got));
    return have;
}

int64_t zc_stripe_part_finish(const struct zc_stripe_file *f, struct zc_stripe_part *p, bool wanted)
{
    int64_t got = outcome(f, p);

    if (f->ops->put(&p->use, got < 0 ? (int)got : 0))
        got = move_rest(f, p, 0);
    if (got < 0 || got == p->len || !wanted)
        return got;
    return p->write ? move_rest(f, p, got) : fill_hole(f, p, got);
}
