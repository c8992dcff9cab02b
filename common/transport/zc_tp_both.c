/* zc_tp_both.c - an endpoint that is reached over libfabric and, by processes of its host, locally.
 *
 * Two endpoints with one progress: the fabric's sleeps for both.  A peer is the fabric's or
 * the local one's, which the lowest bit of its number tells (they are addresses of structs).
 * Memory is registered with both, for use as the local side of RMA; what peers are told to
 * reach it by is the fabric's.  Where there can be no local endpoint it is the fabric's alone.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "zc_list.h"
#include "zc_log.h"
#include "zc_tp_both.h"
#include "zc_tp_local.h"
#include "zc_tp_ofi.h"

enum { LOCAL = 1 }; /* in a peer's number */

struct both {
    struct zc_tp tp;
    struct zc_tp_config cfg;
    struct zc_tp *fabric, *local; /* local: or NULL */
};

struct region {
    struct zc_mr fabric, local;
};

static inline struct both *both_of(struct zc_tp *tp)
{
    return zc_list_entry(tp, struct both, tp);
}

/* The endpoint of a peer, and what the peer is called there. */
static struct zc_tp *side(struct zc_tp *tp, zc_peer *peer)
{
    struct zc_tp *s = *peer & LOCAL ? both_of(tp)->local : both_of(tp)->fabric;

    *peer &= ~(zc_peer)LOCAL;
    return s;
}

/* ---- callbacks of the two ---- */

static void on_message(void *arg, const void *msg, size_t len)
{
    struct both *b = arg;

    b->cfg.recv(b->cfg.arg, msg, len);
}

static void on_fabric_error(void *arg, zc_peer peer, int err)
{
    struct both *b = arg;

    if (b->cfg.peer_error)
        b->cfg.peer_error(b->cfg.arg, peer, err);
}

static void on_local_error(void *arg, zc_peer peer, int err)
{
    on_fabric_error(arg, peer | LOCAL, err);
}

/* ---- the table ---- */

static int address(struct zc_tp *tp, void *buf, size_t *len)
{
    struct zc_tp *f = both_of(tp)->fabric;

    return zc_tp_address(f, buf, len);
}

static int local_address(struct zc_tp *tp, void *buf, size_t *len)
{
    struct zc_tp *l = both_of(tp)->local;

    if (l)
        return zc_tp_address(l, buf, len);
    *len = 0;
    return 0;
}

static int peer_add(struct zc_tp *tp, const void *addr, size_t len, zc_peer *out)
{
    struct both *b = both_of(tp);
    int rc;

    if (!b->local || !zc_tp_local_is_address(addr, len))
        return zc_tp_peer_add(b->fabric, addr, len, out);
    rc = zc_tp_peer_add(b->local, addr, len, out);
    if (rc == 0)
        *out |= LOCAL;
    return rc;
}

static void peer_remove(struct zc_tp *tp, zc_peer peer)
{
    struct zc_tp *s = side(tp, &peer);

    zc_tp_peer_remove(s, peer);
}

static bool is_local(struct zc_tp *tp, zc_peer peer)
{
    struct zc_tp *s = side(tp, &peer);

    return zc_tp_is_local(s, peer);
}

static int send_to(struct zc_tp *tp, zc_peer peer, const void *msg, size_t len)
{
    struct zc_tp *s = side(tp, &peer);

    return zc_tp_send(s, peer, msg, len);
}

static size_t backlog(struct zc_tp *tp, zc_peer peer)
{
    struct zc_tp *s = side(tp, &peer);

    return zc_tp_backlog(s, peer);
}

static int reg(struct zc_tp *tp, void *buf, size_t len, struct zc_mr *out)
{
    struct both *b = both_of(tp);
    struct region *r = calloc(1, sizeof *r);
    int rc;

    if (!r)
        return zc_errorf(ENOMEM, "no memory for a registration");
    rc = zc_tp_reg(b->fabric, buf, len, &r->fabric);
    if (rc == 0 && b->local) {
        rc = zc_tp_reg(b->local, buf, len, &r->local);
        if (rc)
            zc_tp_dereg(b->fabric, &r->fabric);
    }
    if (rc) {
        free(r);
        return rc;
    }
    *out = (struct zc_mr){.desc = r, .raddr = r->fabric.raddr, .rkey = r->fabric.rkey, .priv = r};
    return 0;
}

static void dereg(struct zc_tp *tp, struct zc_mr *mr)
{
    struct both *b = both_of(tp);
    struct region *r = mr->priv;

    zc_tp_dereg(b->fabric, &r->fabric);
    if (b->local)
        zc_tp_dereg(b->local, &r->local);
    free(r);
    mr->priv = NULL;
}

static int rma(struct zc_tp *tp, zc_peer peer, enum zc_rma_dir dir, struct zc_op *op)
{
    struct region *r = op->desc;
    struct zc_tp *s = side(tp, &peer);
    int rc;

    op->desc = s == both_of(tp)->local ? r->local.desc : r->fabric.desc;
    rc = zc_tp_rma(s, peer, dir, op);
    if (rc)
        op->desc = r; /* it may be tried again */
    return rc;
}

static int peek(struct zc_tp *tp, zc_peer peer, const struct zc_peek *v, unsigned n)
{
    struct zc_tp *s = side(tp, &peer);

    return zc_tp_peek(s, peer, v, n);
}

static int map(struct zc_tp *tp, zc_peer peer, int fd, size_t len, bool write, void **out)
{
    struct zc_tp *s = side(tp, &peer);

    return zc_tp_map(s, peer, fd, len, write, out);
}

static int progress(struct zc_tp *tp, int timeout_ms)
{
    struct both *b = both_of(tp);
    int here = b->local ? zc_tp_progress(b->local, 0) : 0;
    int there = zc_tp_progress(b->fabric, here ? 0 : timeout_ms);

    if (b->local && here == 0 && there >= 0)
        here = zc_tp_progress(b->local, 0); /* what ended the wait */
    return there < 0 ? there : here + there;
}

static void wake(struct zc_tp *tp)
{
    struct zc_tp *f = both_of(tp)->fabric;

    zc_tp_wake(f);
}

static void both_close(struct zc_tp *tp)
{
    struct both *b = both_of(tp);

    if (b->local)
        zc_tp_close(b->local);
    if (b->fabric)
        zc_tp_close(b->fabric);
    free(b);
}

static const struct zc_tp_ops both_ops = {
    .name = "both",
    .close = both_close,
    .address = address,
    .local_address = local_address,
    .peer_add = peer_add,
    .peer_remove = peer_remove,
    .is_local = is_local,
    .send = send_to,
    .backlog = backlog,
    .reg = reg,
    .dereg = dereg,
    .rma = rma,
    .peek = peek,
    .map = map,
    .progress = progress,
    .wake = wake,
};

int zc_tp_both_open(const struct zc_tp_config *cfg, struct zc_tp **out)
{
    struct both *b = calloc(1, sizeof *b);
    struct zc_tp_config c = *cfg;
    int rc;

    if (!b)
        return zc_errorf(ENOMEM, "no memory for an endpoint");
    b->tp.ops = &both_ops;
    b->cfg = *cfg;
    c.arg = b;
    c.recv = on_message;
    c.peer_error = on_fabric_error;
    rc = zc_tp_ofi_open(&c, &b->fabric);
    c.peer_error = on_local_error;
    if (rc) {
        both_close(&b->tp);
        return rc;
    }
    b->tp.provider = b->fabric->provider;
    rc = zc_tp_local_open(&c, &b->local);
    if (rc == 0)
        zc_tp_ofi_watch(b->fabric, zc_tp_local_fd(b->local));
    else
        zc_warn("processes of this host will use libfabric, too: %s", zc_error_text(rc));
    *out = &b->tp;
    return 0;
}
