/* zc_tp_ofi_post.c - handing messages and RMA to the fabric, and trying again when it is busy. */
#include "config.h"

#include <rdma/fi_rma.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_tp_ofi_internal.h"

static ssize_t call_fabric(struct ofi *o, struct zc_post *post)
{
    fi_addr_t addr = peer_of(post->peer)->addr;
    struct buffer *b = zc_list_entry(post, struct buffer, post);
    struct zc_op *op = zc_list_entry(post, struct zc_op, post);
    struct iovec iov;
    struct fi_rma_iov rma;
    struct fi_msg_rma msg;

    if (!o->ep)
        return -FI_ENOTCONN;
    if (post->kind == KIND_SEND)
        return fi_send(o->ep, b->data, b->len, b->slab->desc, addr, post);
    if (post->kind == KIND_PULL)
        return fi_read(o->ep, op->local, op->len, op->desc, addr, op->raddr, op->rkey, post);
    iov = (struct iovec){op->local, op->len};
    rma = (struct fi_rma_iov){op->raddr, op->len, op->rkey};
    msg = (struct fi_msg_rma){.msg_iov = &iov,
                              .desc = &op->desc,
                              .iov_count = 1,
                              .addr = addr,
                              .rma_iov = &rma,
                              .rma_iov_count = 1,
                              .context = post};
    return fi_writemsg(o->ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE);
}

/* Hands a post to the fabric: 0, -FI_EAGAIN, or another libfabric error. */
static ssize_t hand_over(struct ofi *o, struct zc_post *post)
{
    ssize_t rc;

    ofi_enter(o);
    rc = call_fabric(o, post);
    ofi_leave(o);
    return rc;
}

void zc_tp_ofi_peer_free_if_idle(struct ofi *o, struct peer *p)
{
    zc_assert_held(&o->lock);
    if (p->removed && p->with_fabric == 0 && !p->retrying) {
        zc_list_del(&p->link);
        free(p);
    }
}

/* A post counts as with the fabric from just before hand_over(), ... */
static void goes_to_fabric(struct ofi *o, struct zc_post *post)
{
    zc_assert_held(&o->lock);
    peer_of(post->peer)->with_fabric++;
    zc_list_add_tail(&o->flying, &post->link);
}

/* ... until it was refused or completed.  Its peer stays. */
static void off_fabric(struct ofi *o, struct zc_post *post)
{
    zc_lock_get(&o->lock);
    zc_list_del(&post->link);
    zc_lock_put(&o->lock);
}

static void peer_put(struct ofi *o, struct peer *p)
{
    zc_lock_get(&o->lock);
    p->with_fabric--;
    zc_tp_ofi_peer_free_if_idle(o, p);
    zc_lock_put(&o->lock);
}

/* Its peer was removed, and may be freed before it is reported. */
void zc_tp_ofi_cancel(struct ofi *o, struct zc_post *post)
{
    zc_assert_held(&o->lock);
    post->peer = 0;
    zc_list_add_tail(&o->cancelled, &post->link);
}

/* The fabric has refused the first post of the peer's queue. */
static void pace(struct ofi *o, struct peer *p)
{
    uint64_t now = zc_now(), since, wait;

    if (!p->busy_since)
        p->busy_since = now;
    since = now - p->busy_since;
    wait = since < BUSY_MS * ZC_NS_PER_MS ? 0 : since / RETRY_PART;
    p->retry_at = now + (wait < RETRY_MOST_MS * ZC_NS_PER_MS ? wait : RETRY_MOST_MS * ZC_NS_PER_MS);
    if (p->retry_at < o->retry_at)
        o->retry_at = p->retry_at;
}

/* The fabric has taken or completed one: there is room. */
static void hurry(struct ofi *o, struct peer *p)
{
    p->busy_since = p->retry_at = o->retry_at = 0;
}

/* Puts a post the fabric had no room for on its peer's queue. */
static void enqueue(struct ofi *o, struct peer *p, struct zc_post *post, bool first)
{
    zc_lock_get(&o->lock);
    zc_list_del(&post->link);
    p->with_fabric--;
    if (p->removed) {
        zc_tp_ofi_cancel(o, post);
        zc_tp_ofi_peer_free_if_idle(o, p);
    } else {
        if (first || zc_list_empty(&p->queue))
            pace(o, p);
        zc_list_add_tail(first ? p->queue.next : &p->queue, &post->link);
        if (!zc_list_linked(&p->pending))
            zc_list_add_tail(&o->pending, &p->pending);
    }
    zc_lock_put(&o->lock);
}

static int post(struct ofi *o, struct zc_post *post)
{
    struct peer *p = peer_of(post->peer);
    ssize_t rc;

    zc_lock_get(&o->lock);
    goes_to_fabric(o, post);
    zc_lock_put(&o->lock);
    rc = hand_over(o, post);
    if (rc == -FI_EAGAIN) {
        enqueue(o, p, post, false);
        return 0;
    }
    if (rc) {
        off_fabric(o, post);
        peer_put(o, p);
        return zc_tp_ofi_failed(o, "post", rc);
    }
    return 0;
}

int zc_tp_ofi_send(struct zc_tp *tp, zc_peer peer, const void *msg, size_t len)
{
    struct ofi *o = ofi_of(tp);
    struct buffer *b;
    int rc;

    if (len > o->cfg.max_msg)
        return zc_errorf(EMSGSIZE, "message of %zu bytes, limit %zu", len, o->cfg.max_msg);
    b = zc_tp_ofi_send_buffer(o, peer, len);
    if (!b)
        return zc_errorf(ENOMEM, "no memory for a send buffer");
    memcpy(b->data, msg, len);
    b->len = len;
    rc = post(o, &b->post);
    if (rc)
        zc_tp_ofi_send_buffer_put(o, b);
    return rc;
}

int zc_tp_ofi_rma(struct zc_tp *tp, zc_peer peer, enum zc_rma_dir dir, struct zc_op *op)
{
    op->post.kind = dir == ZC_RMA_PULL ? KIND_PULL : KIND_PUSH;
    op->post.peer = peer;
    return post(ofi_of(tp), &op->post);
}

/* ---- completion ---- */

void zc_tp_ofi_report(struct ofi *o, struct zc_post *post, int status)
{
    if (post->kind == KIND_SEND) {
        struct buffer *b = zc_list_entry(post, struct buffer, post);

        if (status && status != -ECANCELED && o->cfg.peer_error)
            o->cfg.peer_error(o->cfg.arg, post->peer, status);
        zc_tp_ofi_send_buffer_put(o, b);
    } else {
        struct zc_op *op = zc_list_entry(post, struct zc_op, post);

        op->done(op, status);
    }
}

/* Takes back a post that the fabric has completed or refused. */
void zc_tp_ofi_completed(struct ofi *o, struct zc_post *post, int status)
{
    struct peer *p = peer_of(post->peer);
    bool removed;

    zc_lock_get(&o->lock);
    zc_list_del(&post->link);
    if (status == 0)
        hurry(o, p);
    else
        o->any_gone = true;
    removed = p->removed;
    zc_lock_put(&o->lock);
    zc_tp_ofi_report(o, post, status && removed ? -ECANCELED : status);
    peer_put(o, p);
}

/* ---- trying again ---- */

/* Tries a peer's queue again until the fabric is busy; true when anything moved. */
static bool retry_peer(struct ofi *o, struct peer *p)
{
    bool moved = false;
    ssize_t rc = -1;

    for (;;) {
        struct zc_list *n;
        struct zc_post *next;

        zc_lock_get(&o->lock);
        if (rc == 0)
            hurry(o, p);
        n = p->removed ? NULL : zc_list_pop(&p->queue);
        next = n ? zc_list_entry(n, struct zc_post, link) : NULL;
        if (next)
            goes_to_fabric(o, next);
        zc_lock_put(&o->lock);
        if (!next)
            return moved;
        rc = hand_over(o, next);
        if (rc == -FI_EAGAIN) {
            enqueue(o, p, next, true);
            return moved;
        }
        moved = true;
        if (rc)
            zc_tp_ofi_completed(o, next, -fi_errno_of(rc));
    }
}

/* Goes once over the peers whose posts wait and are due. */
bool zc_tp_ofi_retry_pending(struct ofi *o)
{
    uint64_t now = zc_now();
    struct zc_list round, *n;
    bool moved = false;

    zc_list_init(&round);
    zc_lock_get(&o->lock);
    if (now >= o->retry_at) {
        o->retry_at = UINT64_MAX;
        zc_list_splice(&round, &o->pending);
    }
    while ((n = zc_list_pop(&round))) {
        struct peer *p = zc_list_entry(n, struct peer, pending);

        if (now < p->retry_at) {
            zc_list_add_tail(&o->pending, &p->pending);
            if (p->retry_at < o->retry_at)
                o->retry_at = p->retry_at;
            continue;
        }
        p->retrying = true;
        zc_lock_put(&o->lock);
        moved |= retry_peer(o, p);
        zc_lock_get(&o->lock);
        p->retrying = false;
        pthread_cond_broadcast(&o->retried);
        zc_tp_ofi_peer_free_if_idle(o, p);
    }
    zc_lock_put(&o->lock);
    return moved;
}

uint64_t zc_tp_ofi_retry_at(struct ofi *o)
{
    uint64_t at;

    zc_lock_get(&o->lock);
    at = !zc_list_empty(&o->cancelled) ? 0 : zc_list_empty(&o->pending) ? UINT64_MAX : o->retry_at;
    zc_lock_put(&o->lock);
    return at;
}

bool zc_tp_ofi_may_be_gone(struct ofi *o)
{
    bool yes;

    zc_lock_get(&o->lock);
    yes = o->any_gone || !zc_list_empty(&o->pending) || !zc_list_empty(&o->flying);
    zc_lock_put(&o->lock);
    return yes;
}

bool zc_tp_ofi_have_pending(struct ofi *o)
{
    bool yes;

    zc_lock_get(&o->lock);
    yes = !zc_list_empty(&o->pending) || !zc_list_empty(&o->cancelled);
    zc_lock_put(&o->lock);
    return yes;
}
