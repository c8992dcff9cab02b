/* zc_transport.c - every call through the seam to the fabric: no lock is held. */
#include "config.h"

#include <errno.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zc_transport.h"

void zc_tp_close(struct zc_tp *tp)
{
    zc_assert_none_held();
    tp->ops->close(tp);
}

bool zc_tp_severs(const struct zc_tp *tp)
{
    return tp->ops->sever != NULL;
}

void zc_tp_sever(struct zc_tp *tp)
{
    zc_assert_none_held();
    tp->ops->sever(tp);
}

int zc_tp_address(struct zc_tp *tp, void *buf, size_t *len)
{
    zc_assert_none_held();
    return tp->ops->address(tp, buf, len);
}

int zc_tp_local_address(struct zc_tp *tp, void *buf, size_t *len)
{
    zc_assert_none_held();
    if (tp->ops->local_address)
        return tp->ops->local_address(tp, buf, len);
    *len = 0;
    return 0;
}

int zc_tp_peer_add(struct zc_tp *tp, const void *addr, size_t len, zc_peer *out)
{
    zc_assert_none_held();
    return tp->ops->peer_add(tp, addr, len, out);
}

void zc_tp_peer_remove(struct zc_tp *tp, zc_peer peer)
{
    zc_assert_none_held();
    tp->ops->peer_remove(tp, peer);
}

bool zc_tp_is_local(struct zc_tp *tp, zc_peer peer)
{
    return tp->ops->is_local && tp->ops->is_local(tp, peer);
}

int zc_tp_send(struct zc_tp *tp, zc_peer peer, const void *msg, size_t len)
{
    zc_assert_none_held();
    return tp->ops->send(tp, peer, msg, len);
}

size_t zc_tp_backlog(struct zc_tp *tp, zc_peer peer)
{
    zc_assert_none_held();
    return tp->ops->backlog ? tp->ops->backlog(tp, peer) : 0;
}

int zc_tp_reg(struct zc_tp *tp, void *buf, size_t len, struct zc_mr *out)
{
    zc_assert_none_held();
    return tp->ops->reg(tp, buf, len, out);
}

void zc_tp_dereg(struct zc_tp *tp, struct zc_mr *mr)
{
    zc_assert_none_held();
    tp->ops->dereg(tp, mr);
}

int zc_tp_rma(struct zc_tp *tp, zc_peer peer, enum zc_rma_dir dir, struct zc_op *op)
{
    zc_assert_none_held();
    return tp->ops->rma(tp, peer, dir, op);
}

int zc_tp_peek(struct zc_tp *tp, zc_peer peer, const struct zc_peek *v, unsigned n)
{
    zc_assert_none_held();
    return tp->ops->peek ? tp->ops->peek(tp, peer, v, n) : -EOPNOTSUPP;
}

int zc_tp_map(struct zc_tp *tp, zc_peer peer, int fd, size_t len, bool write, void **out)
{
    zc_assert_none_held();
    if (!tp->ops->map)
        return zc_errorf(EOPNOTSUPP, "memory of other hosts cannot be shared");
    return tp->ops->map(tp, peer, fd, len, write, out);
}

int zc_tp_progress(struct zc_tp *tp, int timeout_ms)
{
    zc_assert_none_held();
    return tp->ops->progress(tp, timeout_ms);
}

void zc_tp_wake(struct zc_tp *tp)
{
    tp->ops->wake(tp);
}
