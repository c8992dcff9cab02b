/* zc_transport.c - checks at every call to a transport that the thread holds no lock. */
#include "config.h"

#include <errno.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zc_transport.h"

/* Returns the endpoint that has operation `op`: `tp` or the first below it; the lowest, if none
 * has. */
#define WITH(tp, op)                                                                               \
    do {                                                                                           \
        while (!(tp)->ops->op && (tp)->below)                                                      \
            (tp) = (tp)->below;                                                                    \
    } while (0)

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
    WITH(tp, address);
    return tp->ops->address(tp, buf, len);
}

int zc_tp_local_address(struct zc_tp *tp, void *buf, size_t *len)
{
    zc_assert_none_held();
    WITH(tp, local_address);
    if (tp->ops->local_address)
        return tp->ops->local_address(tp, buf, len);
    *len = 0;
    return 0;
}

int zc_tp_peer_add(struct zc_tp *tp, const void *addr, size_t len, zc_peer *out)
{
    zc_assert_none_held();
    WITH(tp, peer_add);
    return tp->ops->peer_add(tp, addr, len, out);
}

void zc_tp_peer_remove(struct zc_tp *tp, zc_peer peer)
{
    zc_assert_none_held();
    WITH(tp, peer_remove);
    tp->ops->peer_remove(tp, peer);
}

bool zc_tp_is_local(struct zc_tp *tp, zc_peer peer)
{
    WITH(tp, is_local);
    return tp->ops->is_local && tp->ops->is_local(tp, peer);
}

int zc_tp_send(struct zc_tp *tp, zc_peer peer, const void *msg, size_t len)
{
    zc_assert_none_held();
    WITH(tp, send);
    return tp->ops->send(tp, peer, msg, len);
}

size_t zc_tp_backlog(struct zc_tp *tp, zc_peer peer)
{
    zc_assert_none_held();
    WITH(tp, backlog);
    return tp->ops->backlog ? tp->ops->backlog(tp, peer) : 0;
}

int zc_tp_reg(struct zc_tp *tp, void *buf, size_t len, struct zc_mr *out)
{
    zc_assert_none_held();
    WITH(tp, reg);
    return tp->ops->reg(tp, buf, len, out);
}

void zc_tp_dereg(struct zc_tp *tp, struct zc_mr *mr)
{
    zc_assert_none_held();
    WITH(tp, dereg);
    tp->ops->dereg(tp, mr);
}

int zc_tp_rma(struct zc_tp *tp, zc_peer peer, enum zc_rma_dir dir, struct zc_op *op)
{
    zc_assert_none_held();
    WITH(tp, rma);
    return tp->ops->rma(tp, peer, dir, op);
}

int zc_tp_peek(struct zc_tp *tp, zc_peer peer, const struct zc_peek *v, unsigned n)
{
    zc_assert_none_held();
    WITH(tp, peek);
    return tp->ops->peek ? tp->ops->peek(tp, peer, v, n) : -EOPNOTSUPP;
}

int zc_tp_map(struct zc_tp *tp, zc_peer peer, int fd, size_t len, bool write, void **out)
{
    zc_assert_none_held();
    WITH(tp, map);
    if (!tp->ops->map)
        return zc_errorf(EOPNOTSUPP, "memory of other hosts cannot be shared");
    return tp->ops->map(tp, peer, fd, len, write, out);
}

int zc_tp_progress(struct zc_tp *tp, int timeout_ms)
{
    zc_assert_none_held();
    WITH(tp, progress);
    return tp->ops->progress(tp, timeout_ms);
}

void zc_tp_wake(struct zc_tp *tp)
{
    WITH(tp, wake);
    tp->ops->wake(tp);
}
