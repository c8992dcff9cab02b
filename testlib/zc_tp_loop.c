/* zc_tp_loop.c - the transport inside one process: endpoints that share memory.
 *
 * For tests of client and server without a network.  One lock guards everything; RMA is
 * a memcpy made when it is posted, checked against the peer's registrations as strictly
 * as a fabric would; completions are reported by the poster's next progress().
 *
 * An endpoint that was closed is silent, as a dead peer behind reliable datagrams is:
 * messages to it vanish, RMA with it never completes until the poster gives up.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_list.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_tp_loop.h"
#include "zc_tsan.h"

struct message {
    struct zc_list link;
    size_t len;
    unsigned char data[];
};

struct registration {
    struct zc_list link;
    uint64_t key;
    unsigned char *base;
    size_t len;
};

struct loop {
    struct zc_tp tp;
    struct zc_tp_config cfg;
    uint64_t id;         /* its address */
    struct zc_list link; /* endpoints */
    struct zc_list inbox, done, stuck, mrs;
    bool woken;
    zc_cond event;
};

/* Guards everything in this file but what callbacks are given. */
static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_TRANSPORT);
static struct zc_list endpoints = {&endpoints, &endpoints};
static uint64_t next_id = 1, next_key = 1000;

static inline struct loop *loop_of(struct zc_tp *tp)
{
    return zc_list_entry(tp, struct loop, tp);
}

static struct loop *find(uint64_t id)
{
    zc_assert_held(&lock);
    zc_list_each (&endpoints, n)
        if (zc_list_entry(n, struct loop, link)->id == id)
            return zc_list_entry(n, struct loop, link);
    return NULL;
}

static int loop_address(struct zc_tp *tp, void *buf, size_t *len)
{
    if (*len < sizeof(uint64_t))
        return zc_errorf(ENOSPC, "address needs 8 bytes");
    memcpy(buf, &loop_of(tp)->id, sizeof(uint64_t));
    *len = sizeof(uint64_t);
    return 0;
}

static int loop_peer_add(struct zc_tp *tp, const void *addr, size_t len, zc_peer *out)
{
    (void)tp;
    if (len != sizeof(uint64_t))
        return zc_errorf(EINVAL, "address of %zu bytes; a loop address has 8", len);
    memcpy(out, addr, sizeof(uint64_t));
    return 0;
}

static void loop_peer_remove(struct zc_tp *tp, zc_peer peer)
{
    struct loop *l = loop_of(tp);

    zc_lock_get(&lock);
    zc_list_each_safe (&l->stuck, n) {
        struct zc_post *post = zc_list_entry(n, struct zc_post, link);

        if (post->peer == peer) {
            zc_list_del(n);
            post->kind = -ECANCELED;
            zc_list_add_tail(&l->done, n);
        }
    }
    zc_lock_put(&lock);
}

static int loop_send(struct zc_tp *tp, zc_peer peer, const void *msg, size_t len)
{
    struct message *m;
    struct loop *to;

    if (len > loop_of(tp)->cfg.max_msg)
        return zc_errorf(EMSGSIZE, "message of %zu bytes", len);
    m = malloc(sizeof *m + len);
    if (!m)
        return zc_errorf(ENOMEM, "no memory for a message");
    m->len = len;
    memcpy(m->data, msg, len);
    zc_lock_get(&lock);
    to = find(peer);
    if (to) {
        zc_list_add_tail(&to->inbox, &m->link);
        pthread_cond_signal(&to->event);
    }
    zc_lock_put(&lock);
    if (!to)
        free(m);
    return 0;
}

static int loop_reg(struct zc_tp *tp, void *buf, size_t len, struct zc_mr *out)
{
    struct registration *r = calloc(1, sizeof *r);

    if (!r)
        return zc_errorf(ENOMEM, "no memory for a registration");
    r->base = buf;
    r->len = len;
    zc_lock_get(&lock);
    r->key = next_key++;
    zc_list_init(&r->link);
    if (!loop_of(tp)->cfg.hidden)
        zc_list_add_tail(&loop_of(tp)->mrs, &r->link);
    zc_lock_put(&lock);
    *out = (struct zc_mr){.desc = r, .raddr = (uintptr_t)buf, .rkey = r->key, .priv = r};
    return 0;
}

static void loop_dereg(struct zc_tp *tp, struct zc_mr *mr)
{
    struct registration *r = mr->priv;

    (void)tp;
    zc_lock_get(&lock);
    zc_list_del(&r->link);
    zc_lock_put(&lock);
    free(r);
    mr->priv = NULL;
}

/* The memory a peer granted under this key, or NULL. */
static unsigned char *granted(struct loop *peer, uint64_t raddr, size_t len, uint64_t key)
{
    zc_list_each (&peer->mrs, n) {
        struct registration *r = zc_list_entry(n, struct registration, link);
        uint64_t base = (uintptr_t)r->base;

        if (r->key == key && raddr >= base && raddr - base <= r->len &&
            len <= r->len - (raddr - base))
            return r->base + (raddr - base);
    }
    return NULL;
}

static int loop_rma(struct zc_tp *tp, zc_peer peer, enum zc_rma_dir dir, struct zc_op *op)
{
    struct loop *l = loop_of(tp), *to;
    unsigned char *p;

    op->post.peer = peer;
    op->post.kind = 0; /* here: the status to report */
    zc_list_init(&op->post.link);
    zc_lock_get(&lock);
    to = find(peer);
    if (!to) {
        zc_list_add_tail(&l->stuck, &op->post.link);
    } else {
        p = granted(to, op->raddr, op->len, op->rkey);
        if (!p)
            op->post.kind = -EACCES;
        ZC_TSAN_RACY_BEGIN(); /* of pages that are being written to, as the fabric reads them */
        if (p && dir == ZC_RMA_PULL)
            memcpy(op->local, p, op->len);
        else if (p)
            memcpy(p, op->local, op->len);
        ZC_TSAN_RACY_END();
        zc_list_add_tail(&l->done, &op->post.link);
        pthread_cond_signal(&l->event);
    }
    zc_lock_put(&lock);
    return 0;
}

/* Handles one event; call with the lock held, which is dropped around the callback. */
static bool handle_one(struct loop *l)
{
    struct zc_list *n = zc_list_pop(&l->done);

    if (n) {
        struct zc_op *op = zc_list_entry(n, struct zc_op, post.link);

        zc_lock_put(&lock);
        op->done(op, op->post.kind);
        zc_lock_get(&lock);
        return true;
    }
    n = zc_list_pop(&l->inbox);
    if (n) {
        struct message *m = zc_list_entry(n, struct message, link);

        zc_lock_put(&lock);
        l->cfg.recv(l->cfg.arg, m->data, m->len);
        free(m);
        zc_lock_get(&lock);
        return true;
    }
    return false;
}

static int loop_progress(struct zc_tp *tp, int timeout_ms)
{
    struct loop *l = loop_of(tp);
    uint64_t until = zc_now() + (uint64_t)timeout_ms * ZC_NS_PER_MS;
    int handled = 0;

    zc_lock_get(&lock);
    while (zc_list_empty(&l->inbox) && zc_list_empty(&l->done) && !l->woken && timeout_ms > 0)
        if (!zc_cond_wait_until(&l->event, &lock, until))
            break;
    l->woken = false;
    while (handled < 64 && handle_one(l))
        handled++;
    zc_lock_put(&lock);
    return handled;
}

static void loop_wake(struct zc_tp *tp)
{
    struct loop *l = loop_of(tp);

    zc_lock_get(&lock);
    l->woken = true;
    pthread_cond_signal(&l->event);
    zc_lock_put(&lock);
}

static void loop_close(struct zc_tp *tp)
{
    struct loop *l = loop_of(tp);
    struct zc_list *n;

    zc_lock_get(&lock);
    zc_list_del(&l->link);
    while ((n = zc_list_pop(&l->inbox)))
        free(zc_list_entry(n, struct message, link));
    while ((n = zc_list_pop(&l->mrs)))
        free(zc_list_entry(n, struct registration, link));
    zc_list_splice(&l->done, &l->stuck);
    zc_lock_put(&lock);
    while ((n = zc_list_pop(&l->done))) {
        struct zc_op *op = zc_list_entry(n, struct zc_op, post.link);

        op->done(op, -ECANCELED);
    }
    pthread_cond_destroy(&l->event);
    free(l);
}

static const struct zc_tp_ops loop_ops = {
    .name = "loop",
    .close = loop_close,
    .address = loop_address,
    .peer_add = loop_peer_add,
    .peer_remove = loop_peer_remove,
    .send = loop_send,
    .reg = loop_reg,
    .dereg = loop_dereg,
    .rma = loop_rma,
    .progress = loop_progress,
    .wake = loop_wake,
};

int zc_tp_loop_open(const struct zc_tp_config *cfg, struct zc_tp **out)
{
    struct loop *l = calloc(1, sizeof *l);

    if (!l)
        return zc_errorf(ENOMEM, "no memory for an endpoint");
    l->tp.ops = &loop_ops;
    l->cfg = *cfg;
    zc_cond_init(&l->event);
    zc_list_init(&l->inbox);
    zc_list_init(&l->done);
    zc_list_init(&l->stuck);
    zc_list_init(&l->mrs);
    zc_lock_get(&lock);
    l->id = next_id++;
    zc_list_add_tail(&endpoints, &l->link);
    zc_lock_put(&lock);
    *out = &l->tp;
    return 0;
}
