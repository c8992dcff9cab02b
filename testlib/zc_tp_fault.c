/* zc_tp_fault.c - loses, delays and fails what passes through the loop.
 *
 * Every endpoint stands in front of one of the loop, whose callbacks come to us first.  What we
 * withhold we own: messages until they are handed on, transfers that never end until their peer is
 * removed or the endpoint closed, which reports them with -ECANCELED from progress or close, as a
 * fabric does.
 */
#include "config.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "zc_list.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_tp_fault.h"
#include "zc_tp_loop.h"

enum { DUE_MS = 1 }; /* what is withheld is looked at this often */

/* A message that waits to be handed on, the error of one that did not leave, or a transfer
 * that waits to begin. */
struct late {
    struct zc_list link;
    uint64_t due;
    zc_peer peer;
    int err;          /* 0: no error */
    struct zc_op *op; /* NULL: no transfer */
    enum zc_rma_dir dir;
    size_t len;
    unsigned char data[];
};

struct fault_tp {
    struct zc_tp tp;         /* fixed, as is the next */
    struct zc_tp_config cfg; /* of those above */

    struct zc_lock lock; /* guards all below */
    bool killed;
    unsigned ops, message_ms, transfer_ms;
    enum zc_tp_fault_how how;
    uint64_t skip, count, raised;
    struct zc_list late, transfers; /* struct late */
    struct zc_list stuck;           /* struct zc_op: never to end ... */
    struct zc_list hanging;         /* ... but with the endpoint */
    struct zc_list ended;           /* struct zc_op: to be reported with post.kind */
};

static struct zc_lock lock = /* guards `last` */
    ZC_LOCK_INITIALIZER(ZC_ORDER_INJECTION);
static struct zc_tp *last;
static atomic_uint_fast64_t raised_by_all;

static struct fault_tp *fault_of(struct zc_tp *tp)
{
    return zc_list_entry(tp, struct fault_tp, tp);
}

/* Whether this event is one that fails; *how then says how. */
static bool falls(struct fault_tp *f, enum zc_tp_fault_op op, enum zc_tp_fault_how *how)
{
    bool yes = false;

    zc_lock_get(&f->lock);
    if ((f->ops & op) && f->count > 0) {
        if (f->skip > 0) {
            f->skip--;
        } else {
            f->count--;
            f->raised++;
            atomic_fetch_add(&raised_by_all, 1);
            *how = f->how;
            yes = true;
        }
    }
    zc_lock_put(&f->lock);
    return yes;
}

/* Keeps something for later; without memory it is lost, which is what we are there for. */
static void withhold(struct fault_tp *f, const struct late *what, const void *msg, size_t len,
                     unsigned ms)
{
    struct late *l = malloc(sizeof *l + len);

    if (!l)
        return;
    *l = *what;
    l->len = len;
    if (len)
        memcpy(l->data, msg, len);
    l->due = zc_now() + ms * ZC_NS_PER_MS;
    zc_lock_get(&f->lock);
    zc_list_add_tail(what->op ? &f->transfers : &f->late, &l->link);
    zc_lock_put(&f->lock);
}

/* ---- from below ---- */

static void on_message(void *arg, const void *msg, size_t len)
{
    struct fault_tp *f = arg;
    enum zc_tp_fault_how how;
    struct late message = {0};
    bool late;
    unsigned ms;

    if (falls(f, ZC_TP_FAULT_RECV, &how))
        return;
    zc_lock_get(&f->lock);
    ms = f->message_ms;
    late = ms > 0 || !zc_list_empty(&f->late);
    zc_lock_put(&f->lock);
    if (late)
        withhold(f, &message, msg, len, ms);
    else
        f->cfg.recv(f->cfg.arg, msg, len);
}

static void on_peer_error(void *arg, zc_peer peer, int err)
{
    struct fault_tp *f = arg;

    f->cfg.peer_error(f->cfg.arg, peer, err);
}

/* ---- what passes through ---- */

static int fault_send(struct zc_tp *tp, zc_peer peer, const void *msg, size_t len)
{
    struct fault_tp *f = fault_of(tp);
    enum zc_tp_fault_how how;

    if (!falls(f, ZC_TP_FAULT_SEND, &how))
        return zc_tp_send(f->tp.below, peer, msg, len);
    if (how == ZC_TP_FAULT_FAIL)
        return zc_errorf(EIO, "fault injected into send");
    if (how == ZC_TP_FAULT_FLIP)
        return zc_tp_send(f->tp.below, peer, msg, len);
    if (how == ZC_TP_FAULT_BREAK) {
        withhold(f, &(struct late){.peer = peer, .err = -EIO}, NULL, 0, 0);
        zc_tp_wake(f->tp.below);
    }
    return 0;
}

/* A transfer by which a bit is flipped: pulled, in the memory it goes to; pushed, in a copy. */
struct flipped {
    struct zc_op op;
    struct zc_op *above;
    bool pull;
    unsigned char data[];
};

static void flipped_done(struct zc_op *op, int status)
{
    struct flipped *x = zc_list_entry(op, struct flipped, op);
    struct zc_op *above = x->above;

    if (x->pull && status == 0)
        ((unsigned char *)above->local)[above->len / 2] ^= 4;
    free(x);
    above->done(above, status);
}

static int flip(struct fault_tp *f, zc_peer peer, enum zc_rma_dir dir, struct zc_op *op)
{
    struct flipped *x = malloc(sizeof *x + op->len);
    int rc;

    if (!x)
        return zc_errorf(ENOMEM, "no memory to flip a bit");
    x->op = *op;
    x->op.done = flipped_done;
    x->above = op;
    x->pull = dir == ZC_RMA_PULL;
    if (!x->pull) {
        memcpy(x->data, op->local, op->len);
        x->data[op->len / 2] ^= 4;
        x->op.local = x->data;
    }
    rc = zc_tp_rma(f->tp.below, peer, dir, &x->op);
    if (rc)
        free(x);
    return rc;
}

static int fault_rma(struct zc_tp *tp, zc_peer peer, enum zc_rma_dir dir, struct zc_op *op)
{
    struct fault_tp *f = fault_of(tp);
    enum zc_tp_fault_how how;

    if (!falls(f, dir == ZC_RMA_PULL ? ZC_TP_FAULT_PULL : ZC_TP_FAULT_PUSH, &how)) {
        unsigned ms;

        zc_lock_get(&f->lock);
        ms = f->transfer_ms;
        zc_lock_put(&f->lock);
        if (!ms)
            return zc_tp_rma(f->tp.below, peer, dir, op);
        withhold(f, &(struct late){.peer = peer, .op = op, .dir = dir}, NULL, 0, ms);
        return 0;
    }
    if (how == ZC_TP_FAULT_FAIL)
        return zc_errorf(EIO, "fault injected into a transfer");
    if (how == ZC_TP_FAULT_FLIP)
        return flip(f, peer, dir, op);
    op->post.peer = peer;
    op->post.kind = -EIO;
    zc_list_init(&op->post.link);
    zc_lock_get(&f->lock);
    zc_list_add_tail(how == ZC_TP_FAULT_DROP   ? &f->stuck
                     : how == ZC_TP_FAULT_HANG ? &f->hanging
                                               : &f->ended,
                     &op->post.link);
    zc_lock_put(&f->lock);
    zc_tp_wake(f->tp.below);
    return 0;
}

/* ---- the end of what is withheld ---- */

/* Transfers that never end, or have not begun, are over: those with `peer`, or all. */
static void cancel(struct fault_tp *f, zc_peer peer, bool all)
{
    zc_lock_get(&f->lock);
    while (all && !zc_list_empty(&f->hanging))
        zc_list_add_tail(&f->stuck, zc_list_pop(&f->hanging));
    zc_list_each_safe (&f->stuck, n) {
        struct zc_post *post = zc_list_entry(n, struct zc_post, link);

        if (!all && post->peer != peer)
            continue;
        zc_list_del(n);
        post->kind = -ECANCELED;
        zc_list_add_tail(&f->ended, n);
    }
    zc_list_each_safe (&f->transfers, n) {
        struct late *l = zc_list_entry(n, struct late, link);

        if (!all && l->peer != peer)
            continue;
        zc_list_del(n);
        l->op->post.kind = -ECANCELED;
        zc_list_init(&l->op->post.link);
        zc_list_add_tail(&f->ended, &l->op->post.link);
        free(l);
    }
    zc_lock_put(&f->lock);
}

static int report_ended(struct fault_tp *f)
{
    struct zc_list *n;
    int handled = 0;

    for (;; handled++) {
        struct zc_op *op;

        zc_lock_get(&f->lock);
        n = zc_list_pop(&f->ended);
        zc_lock_put(&f->lock);
        if (!n)
            return handled;
        op = zc_list_entry(n, struct zc_op, post.link);
        op->done(op, op->post.kind);
    }
}

static struct late *next_due(struct fault_tp *f, struct zc_list *list)
{
    struct late *l = NULL;

    zc_lock_get(&f->lock);
    if (!zc_list_empty(list)) {
        l = zc_list_entry(list->next, struct late, link);
        if (l->due > zc_now())
            l = NULL;
        else
            zc_list_del(&l->link);
    }
    zc_lock_put(&f->lock);
    return l;
}

static int hand_on(struct fault_tp *f)
{
    struct late *l;
    int handled = 0;

    for (; (l = next_due(f, &f->transfers)); handled++) {
        int rc = zc_tp_rma(f->tp.below, l->peer, l->dir, l->op);

        if (rc)
            l->op->done(l->op, rc);
        free(l);
    }
    for (; (l = next_due(f, &f->late)); handled++) {
        if (l->err)
            f->cfg.peer_error(f->cfg.arg, l->peer, l->err);
        else
            f->cfg.recv(f->cfg.arg, l->data, l->len);
        free(l);
    }
    return handled;
}

static int fault_progress(struct zc_tp *tp, int timeout_ms)
{
    struct fault_tp *f = fault_of(tp);
    bool waiting, killed;
    int handled, rc;

    zc_lock_get(&f->lock);
    killed = f->killed;
    zc_lock_put(&f->lock);
    if (killed)
        cancel(f, 0, true);
    handled = report_ended(f) + hand_on(f);
    zc_lock_get(&f->lock);
    waiting =
        !zc_list_empty(&f->late) || !zc_list_empty(&f->ended) || !zc_list_empty(&f->transfers);
    zc_lock_put(&f->lock);
    if (handled)
        timeout_ms = 0;
    else if (waiting && timeout_ms > DUE_MS)
        timeout_ms = DUE_MS;
    rc = zc_tp_progress(f->tp.below, timeout_ms);
    if (rc < 0)
        return rc;
    return rc + handled + report_ended(f) + hand_on(f);
}

static void fault_peer_remove(struct zc_tp *tp, zc_peer peer)
{
    struct fault_tp *f = fault_of(tp);

    zc_tp_peer_remove(f->tp.below, peer);
    cancel(f, peer, false);
    zc_tp_wake(f->tp.below);
}

static void fault_close(struct zc_tp *tp)
{
    struct fault_tp *f = fault_of(tp);
    struct zc_list *n;

    zc_lock_get(&lock);
    if (last == tp)
        last = NULL;
    zc_lock_put(&lock);
    cancel(f, 0, true);
    zc_tp_close(f->tp.below);
    report_ended(f);
    while ((n = zc_list_pop(&f->late)))
        free(zc_list_entry(n, struct late, link));
    zc_lock_destroy(&f->lock);
    free(f);
}

static const struct zc_tp_ops fault_ops = {
    .name = "fault",
    .close = fault_close,
    .peer_remove = fault_peer_remove,
    .send = fault_send,
    .rma = fault_rma,
    .progress = fault_progress,
};

/* ---- open, and settings ---- */

int zc_tp_fault_open(const struct zc_tp_config *cfg, struct zc_tp **out)
{
    struct fault_tp *f = calloc(1, sizeof *f);
    struct zc_tp_config ours = *cfg;
    int rc;

    if (!f)
        return zc_errorf(ENOMEM, "no memory for an endpoint");
    f->cfg = *cfg;
    zc_lock_init(&f->lock, ZC_ORDER_INJECTION);
    zc_list_init(&f->late);
    zc_list_init(&f->transfers);
    zc_list_init(&f->stuck);
    zc_list_init(&f->hanging);
    zc_list_init(&f->ended);
    ours.recv = on_message;
    ours.peer_error = on_peer_error;
    ours.arg = f;
    rc = zc_tp_loop_open(&ours, &f->tp.below);
    if (rc) {
        zc_lock_destroy(&f->lock);
        free(f);
        return rc;
    }
    f->tp.ops = &fault_ops;
    zc_lock_get(&lock);
    last = &f->tp;
    zc_lock_put(&lock);
    *out = &f->tp;
    return 0;
}

struct zc_tp *zc_tp_fault_last(void)
{
    struct zc_tp *tp;

    zc_lock_get(&lock);
    tp = last;
    zc_lock_put(&lock);
    return tp;
}

void zc_tp_fault_set(struct zc_tp *tp, unsigned ops, enum zc_tp_fault_how how, uint64_t nth,
                     uint64_t count)
{
    struct fault_tp *f = fault_of(tp);

    zc_lock_get(&f->lock);
    f->ops = ops;
    f->how = how;
    f->skip = nth > 0 ? nth - 1 : 0;
    f->count = count;
    zc_lock_put(&f->lock);
}

void zc_tp_fault_kill(struct zc_tp *tp)
{
    struct fault_tp *f = fault_of(tp);

    zc_tp_fault_set(tp, ZC_TP_FAULT_ALL, ZC_TP_FAULT_FAIL, 1, UINT64_MAX);
    zc_lock_get(&f->lock);
    f->killed = true; /* the next progress cancels */
    zc_lock_put(&f->lock);
    zc_tp_wake(f->tp.below);
}

void zc_tp_fault_delay(struct zc_tp *tp, unsigned messages_ms, unsigned transfers_ms)
{
    struct fault_tp *f = fault_of(tp);

    zc_lock_get(&f->lock);
    f->message_ms = messages_ms;
    f->transfer_ms = transfers_ms;
    zc_lock_put(&f->lock);
}

uint64_t zc_tp_fault_raised_by_all(void)
{
    return atomic_load(&raised_by_all);
}

uint64_t zc_tp_fault_raised(struct zc_tp *tp)
{
    struct fault_tp *f = fault_of(tp);
    uint64_t raised;

    zc_lock_get(&f->lock);
    raised = f->raised;
    zc_lock_put(&f->lock);
    return raised;
}
