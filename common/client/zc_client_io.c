/* zc_client_io.c - data from and to a server: inline when small, else by RMA.
 *
 * A server may not know the view of a transfer, because it never saw it or had no room for
 * it: it then answers ENOKEY, and the view is sent and the transfer made again, by one thread of
 * the client at a time.  The server keeps the view for that transfer.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_net_internal.h"
#include "zc_view.h"

/* More than once where another thread's transfer through the same view took what was kept. */
enum { VIEW_TRIES = 8 };

static uint8_t type_of(const struct zc_io *io)
{
    if (io->view)
        return io->write ? ZC_T_VWRITE : ZC_T_VREAD;
    return io->write ? ZC_T_WRITE : ZC_T_READ;
}

static void say_view(const struct zc_io *io, struct zc_msg *m)
{
    struct zc_view_hash h = zc_view_hash(io->view);

    m->view_low = h.low;
    m->view_high = h.high;
    m->disp = (uint64_t)io->disp;
}

/* The data travels in the messages. */
static void start_inline(struct zc_client *c, struct zc_io *io, struct zc_msg *m)
{
    if (io->write)
        m->data = (struct zc_bytes){io->buf, (uint32_t)io->len};
    io->status =
        zc_call_start(c, m, io->write ? NULL : io->buf, io->write ? 0 : io->len, &io->call);
}

/* The server reaches into our memory, which stays exposed until the wait. */
static void start_rma(struct zc_client *c, struct zc_io *io, struct zc_msg *m)
{
    struct zc_tp *tp = c->net->tp;

    io->status = zc_tp_reg(tp, io->buf, io->len, &io->mr);
    if (io->status)
        return;
    m->flags = ZC_F_RMA;
    m->raddr = io->mr.raddr;
    m->rkey = io->mr.rkey;
    io->status = zc_call_start(c, m, NULL, 0, &io->call);
    if (io->status && io->mr.priv)
        zc_tp_dereg(tp, &io->mr);
}

void zc_io_start(struct zc_client *c, struct zc_io *io)
{
    struct zc_msg m = {.type = type_of(io), .handle = io->handle, .off = io->off, .len = io->len};

    io->call = NULL;
    io->mr.priv = NULL;
    io->status = 0;
    if (io->len == 0)
        return;
    if (io->view)
        say_view(io, &m);
    if (io->len <= c->max_inline)
        start_inline(c, io, &m);
    else
        start_rma(c, io, &m);
}

/* Sends the view piece by piece, in order. */
static int send_view(struct zc_client *c, const struct zc_view *v)
{
    size_t size = zc_view_encoded(v), at = 0;
    struct zc_view_hash h = zc_view_hash(v);
    unsigned char *buf = malloc(size);
    int rc = buf ? zc_view_encode(v, buf, size) : zc_errorf(ENOMEM, "no memory for a view");

    while (rc == 0 && at < size) {
        size_t n = size - at < c->max_inline ? size - at : c->max_inline;
        struct zc_msg m = {.type = ZC_T_VIEW,
                           .view_low = h.low,
                           .view_high = h.high,
                           .size = size,
                           .off = at,
                           .data = {buf + at, (uint32_t)n}};

        rc = zc_call(c, &m, NULL);
        at += n;
    }
    free(buf);
    return rc;
}

static int wait_once(struct zc_client *c, struct zc_io *io, uint64_t *count)
{
    struct zc_tp *tp = c->net->tp;
    struct zc_msg reply;
    int rc;

    *count = 0;
    if (!io->call)
        return io->status;
    rc = zc_call_wait(c, io->call, &reply);
    if (io->mr.priv)
        zc_tp_dereg(tp, &io->mr);
    if (rc == 0)
        *count = reply.count;
    return rc;
}

/* One thread of a client at a time: no lock is held meanwhile. */
static void take_turn(struct zc_client *c)
{
    zc_lock_get(&c->view_lock);
    while (c->sending_view)
        zc_cond_wait(&c->view_sent, &c->view_lock);
    c->sending_view = true;
    zc_lock_put(&c->view_lock);
}

static void end_turn(struct zc_client *c)
{
    zc_lock_get(&c->view_lock);
    c->sending_view = false;
    pthread_cond_signal(&c->view_sent);
    zc_lock_put(&c->view_lock);
}

static int with_view(struct zc_client *c, struct zc_io *io, uint64_t *count)
{
    int rc = -ENOKEY;

    take_turn(c);
    for (int i = 0; rc == -ENOKEY && i < VIEW_TRIES; i++) {
        rc = send_view(c, io->view);
        if (rc)
            break;
        zc_io_start(c, io);
        rc = wait_once(c, io, count);
    }
    end_turn(c);
    return rc;
}

ssize_t zc_io_wait(struct zc_client *c, struct zc_io *io)
{
    uint64_t count;
    int rc = wait_once(c, io, &count);

    if (rc == -ENOKEY && io->view)
        rc = with_view(c, io, &count);
    if (rc)
        return rc;
    if (count > io->len)
        return zc_errorf(EPROTO, "%s: moved %llu bytes, asked for %llu", c->label,
                         (unsigned long long)count, (unsigned long long)io->len);
    return (ssize_t)count;
}

ssize_t zc_client_read(struct zc_client *c, uint64_t handle, void *buf, size_t len, uint64_t off)
{
    struct zc_io io = {.handle = handle, .buf = buf, .len = len, .off = off};

    zc_io_start(c, &io);
    return zc_io_wait(c, &io);
}

ssize_t zc_client_write(struct zc_client *c, uint64_t handle, const void *buf, size_t len,
                        uint64_t off)
{
    struct zc_io io = {.write = true,
                       .handle = handle,
                       .buf = (void *)(uintptr_t)buf, /* only read */
                       .len = len,
                       .off = off};

    zc_io_start(c, &io);
    return zc_io_wait(c, &io);
}
