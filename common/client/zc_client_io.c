/* zc_client_io.c - data to and from a server: inline if small, else by RMA. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_net_internal.h"
#include "zc_way.h"

static uint8_t type_of(const struct zc_io *io)
{
    if (io->list)
        return io->write ? ZC_T_LIST_WRITE : ZC_T_LIST_READ;
    if (io->view)
        return io->write ? ZC_T_VWRITE : ZC_T_VREAD;
    return io->write ? ZC_T_WRITE : ZC_T_READ;
}

/* Sends or receives the data inside the messages. */
static void start_inline(struct zc_client *c, struct zc_io *io, struct zc_msg *m)
{
    if (io->write)
        m->data = (struct zc_bytes){io->buf, (uint32_t)io->len};
    io->status =
        zc_call_start(c, m, io->write ? NULL : io->buf, io->write ? 0 : io->len, &io->call);
}

/* Registers the buffer for the server, until the wait. */
static void start_rma(struct zc_client *c, struct zc_io *io, struct zc_msg *m)
{
    struct zc_tp *tp = c->net->tp;

    io->status = zc_tp_reg(tp, io->buf, io->len, &io->mr);
    if (io->status)
        return;
    m->flags |= ZC_F_RMA;
    m->raddr = io->mr.raddr;
    m->rkey = io->mr.rkey;
    io->status = zc_call_start(c, m, NULL, 0, &io->call);
    if (io->status && io->mr.priv)
        zc_tp_dereg(tp, &io->mr);
}

void zc_io_start(struct zc_client *c, struct zc_io *io)
{
    struct zc_msg m = {.type = type_of(io),
                       .handle = io->handle,
                       .off = io->off,
                       .len = io->len,
                       .view = io->view,
                       .disp = (uint64_t)io->disp,
                       .list = {io->list, (uint32_t)io->list_len}};
    size_t beside = (io->write ? io->list_len : 0) + /* beside the data, in the same message */
                    (io->checked ? ZC_CSUM_SIZE : 0);

    io->unstable_seq = io->committed_seq = io->pagedesc = io->file = 0;
    io->bad_lo = io->bad_hi = 0;
    io->call = NULL;
    io->mr.priv = NULL;
    io->status = 0;
    if (io->len == 0)
        return;
    io->by_rma =
        zc_way(&(struct zc_way_ask){
            .message = true, .len = io->len, .room = c->max_inline - beside}) == ZC_WAY_RMA;
    io->status = io->checked ? zc_io_csum(c, io, &m) : 0;
    if (io->status)
        return;
    if (io->by_rma)
        start_rma(c, io, &m);
    else
        start_inline(c, io, &m);
}

static int wait_once(struct zc_client *c, struct zc_io *io, uint64_t *count)
{
    struct zc_tp *tp = c->net->tp;
    struct zc_msg reply = {0};
    int rc;

    *count = 0;
    if (!io->call)
        return io->status;
    rc = zc_call_wait(c, io->call, &reply);
    if (io->mr.priv)
        zc_tp_dereg(tp, &io->mr);
    if (io->checked)
        rc = zc_io_check(c, io, rc, &reply);
    if (rc == 0) {
        *count = reply.count;
        io->unstable_seq = reply.unstable_seq;
        io->committed_seq = reply.committed_seq;
        io->pagedesc = reply.pagedesc;
        io->file = reply.file;
    }
    return rc;
}

ssize_t zc_io_wait(struct zc_client *c, struct zc_io *io)
{
    uint64_t count;
    int rc;

    for (;;) {
        rc = wait_once(c, io, &count);
        free(io->csums);
        io->csums = NULL;
        if (rc != -EAGAIN || !io->checked)
            break;
        zc_io_start(c, io); /* it was damaged, or overwritten, on the way */
    }
    zc_io_drop_copy(io);
    io->tries = 0;
    io->raced = false;
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

/* ---- commits ---- */

void zc_client_on_committed(struct zc_client *c, zc_client_committed_fn *fn, void *arg)
{
    zc_lock_get(&c->net->lock);
    c->on_committed = fn;
    c->on_committed_arg = arg;
    zc_lock_put(&c->net->lock);
}

/* The client stays as for a sending thread. */
void zc_client_committed(struct zc_client *c, const struct zc_msg *m)
{
    struct zc_net *n = c->net;
    zc_client_committed_fn *fn = c->on_committed;
    void *arg = c->on_committed_arg;

    zc_assert_held(&n->lock);
    if (!fn || c->broken.rc)
        return;
    c->sending++;
    zc_lock_put(&n->lock);
    fn(arg, c, m->handle, m->committed_seq);
    zc_lock_get(&n->lock);
    zc_net_sent(c);
}
