/* zc_tp_both.c - an endpoint that is reached over libfabric and, by processes of its host, locally.
 *
 * Two endpoints with one progress: the fabric's sleeps for both.  A peer is the fabric's or
 * the local one's, which the lowest bit of its number tells (they are addresses of structs).
 * Memory is registered with both, for use as the local side of RMA; what peers are told to
 * reach it by is the fabric's.  Where there can be no local endpoint it is the fabric's alone.
 *
 *     starting  --progress() finds the fabric open-->  both
 *        |  the local endpoint has its own wait; memory is registered with it alone
 *        +--progress() finds that it cannot be opened-->  the local one alone
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_fabric.h"
#include "zc_list.h"
#include "zc_log.h"
#include "zc_tp_both.h"
#include "zc_tp_local.h"
#include "zc_tp_ofi.h"
#include "zc_tp_start.h"

enum {
    LOCAL = 1,          /* in a peer's number */
    EARLY_ADDRESS = 16, /* bytes of an IPv4 address with its port */
};

struct both {
    struct zc_tp tp;
    struct zc_tp_config cfg;
    struct zc_tp *fabric, *local;         /* either, or NULL; fabric: comes later, by progress() */
    struct zc_tp_start *start;            /* until then, or, if it fails, to the end; else NULL */
    bool failed;                          /* it has */
    unsigned char address[EARLY_ADDRESS]; /* what it will have, or would have had */
    size_t address_len;
    struct zc_list regions; /* that the fabric does not know */
};

struct region {
    struct zc_list link;
    struct zc_mr fabric, local;
    void *buf;
    size_t len;
};

static inline struct both *both_of(struct zc_tp *tp)
{
    return zc_list_entry(tp, struct both, tp);
}

static struct zc_tp *fabric_of(struct both *b)
{
    return __atomic_load_n(&b->fabric, __ATOMIC_ACQUIRE);
}

/* The endpoint of a peer, and what the peer is called there. */
static struct zc_tp *side(struct zc_tp *tp, zc_peer *peer)
{
    struct zc_tp *s = *peer & LOCAL ? both_of(tp)->local : fabric_of(both_of(tp));

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
    struct both *b = both_of(tp);
    struct zc_tp *f = fabric_of(b);

    if (f)
        return zc_tp_address(f, buf, len);
    if (*len < b->address_len)
        return zc_errorf(ENOSPC, "address needs %zu bytes", b->address_len);
    memcpy(buf, b->address, b->address_len);
    *len = b->address_len;
    return 0;
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
        return fabric_of(b) ? zc_tp_peer_add(fabric_of(b), addr, len, out)
                            : zc_errorf(EHOSTUNREACH, "libfabric has not started");
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
    r->buf = buf;
    r->len = len;
    zc_list_init(&r->link);
    rc = b->fabric ? zc_tp_reg(b->fabric, buf, len, &r->fabric) : 0;
    if (rc == 0 && b->local) {
        rc = zc_tp_reg(b->local, buf, len, &r->local);
        if (rc && b->fabric)
            zc_tp_dereg(b->fabric, &r->fabric);
    }
    if (rc == 0 && !b->fabric)
        zc_list_add_tail(&b->regions, &r->link);
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

    if (zc_list_linked(&r->link))
        zc_list_del(&r->link);
    else
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

/* ---- opening the fabric later ---- */

static void fabric_has_started(void *both)
{
    struct both *b = both;

    zc_tp_wake(b->local);
}

static void dereg_with(struct both *b, struct zc_tp *fabric, const struct zc_list *end)
{
    for (struct zc_list *n = b->regions.next; n != end; n = n->next)
        zc_tp_dereg(fabric, &zc_list_entry(n, struct region, link)->fabric);
}

/* Registers with the fabric the memory that was registered before the fabric was open. */
static int introduce(struct both *b, struct zc_tp *fabric)
{
    zc_list_each (&b->regions, at) {
        struct region *r = zc_list_entry(at, struct region, link);
        int rc = zc_tp_reg(fabric, r->buf, r->len, &r->fabric);

        if (rc) {
            dereg_with(b, fabric, at);
            return rc;
        }
    }
    while (zc_list_pop(&b->regions))
        ;
    return 0;
}

static void look_for_fabric(struct both *b)
{
    struct zc_tp *fabric = NULL;
    int rc = zc_tp_start_take(b->start, &fabric);

    if (rc == 0)
        return;
    if (rc > 0)
        rc = introduce(b, fabric);
    if (rc < 0) {
        zc_error("only processes of this host are served, by the local socket: %s",
                 zc_error_text(rc));
        if (fabric)
            zc_tp_close(fabric);
        b->failed = true;
        return;
    }
    zc_tp_ofi_watch(fabric, zc_tp_local_fd(b->local));
    __atomic_store_n(&b->fabric, fabric, __ATOMIC_RELEASE);
    zc_tp_wake(fabric); /* a wake() of the local one may have been meant for this wait */
    zc_debug("libfabric has started");
    zc_tp_start_end(b->start);
    b->start = NULL;
}

static int progress(struct zc_tp *tp, int timeout_ms)
{
    struct both *b = both_of(tp);
    int here, there;

    if (b->start && !b->failed)
        look_for_fabric(b);
    if (!b->fabric)
        return zc_tp_progress(b->local, timeout_ms);
    here = b->local ? zc_tp_progress(b->local, 0) : 0;
    there = zc_tp_progress(b->fabric, here ? 0 : timeout_ms);
    if (b->local && here == 0 && there >= 0)
        here = zc_tp_progress(b->local, 0); /* what ended the wait */
    return there < 0 ? there : here + there;
}

static void wake(struct zc_tp *tp)
{
    struct zc_tp *f = fabric_of(both_of(tp));

    zc_tp_wake(f ? f : both_of(tp)->local);
}

static void both_close(struct zc_tp *tp)
{
    struct both *b = both_of(tp);

    if (b->start)
        zc_tp_start_end(b->start);
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

/* Begins with the local endpoint alone; false: the fabric has to be opened at once. */
static bool open_early(struct both *b, const struct zc_tp_config *here,
                       const struct zc_tp_config *there)
{
    int rc = zc_tp_local_open(here, &b->local);

    if (rc)
        return false;
    zc_fabric_prepare();
    rc = zc_tp_start_begin(there, zc_tp_ofi_open, fabric_has_started, b, &b->start);
    if (rc == 0) {
        b->address_len = sizeof b->address;
        rc = zc_tp_start_address(b->start, b->address, &b->address_len);
    }
    if (rc == 0)
        return true;
    zc_debug("libfabric starts first: %s", zc_error_text(rc));
    return false;
}

int zc_tp_both_open(const struct zc_tp_config *cfg, struct zc_tp **out)
{
    struct both *b = calloc(1, sizeof *b);
    struct zc_tp_config here = *cfg, there = *cfg;
    int rc = 0;

    if (!b)
        return zc_errorf(ENOMEM, "no memory for an endpoint");
    b->tp.ops = &both_ops;
    b->cfg = *cfg;
    zc_list_init(&b->regions);
    here.arg = there.arg = b;
    here.recv = there.recv = on_message;
    here.peer_error = on_local_error;
    there.peer_error = on_fabric_error;
    if (cfg->early && open_early(b, &here, &there)) {
        b->tp.provider = cfg->provider ? cfg->provider : ZC_DEFAULT_PROVIDER;
        *out = &b->tp;
        return 0;
    }
    rc = zc_tp_ofi_open(&there, &b->fabric);
    if (rc) {
        both_close(&b->tp);
        return rc;
    }
    b->tp.provider = b->fabric->provider;
    if (!b->local)
        rc = zc_tp_local_open(&here, &b->local);
    if (rc == 0)
        zc_tp_ofi_watch(b->fabric, zc_tp_local_fd(b->local));
    else
        zc_warn("processes of this host will use libfabric, too: %s", zc_error_text(rc));
    *out = &b->tp;
    return 0;
}
