/* zc_tp_ofi_progress.c - completions of the fabric, and waiting for them. */
#include "config.h"

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include "zc_log.h"
#include "zc_tp_ofi_internal.h"

ssize_t zc_tp_ofi_post_recv(struct ofi *o, struct buffer *b)
{
    ssize_t rc;

    ofi_enter(o);
    rc = fi_recv(o->ep, b->data, o->cfg.max_msg, b->slab->desc, FI_ADDR_UNSPEC, &b->post);
    ofi_leave(o);
    return rc;
}

static void received(struct ofi *o, struct buffer *b, size_t len)
{
    ssize_t rc;

    o->cfg.recv(o->cfg.arg, b->data, len);
    while ((rc = zc_tp_ofi_post_recv(o, b)) == -FI_EAGAIN)
        sched_yield();
    if (rc)
        zc_error("a receive buffer is lost: %s", o->lib->strerror((int)-rc));
}

static int read_error(struct ofi *o)
{
    struct fi_cq_err_entry e = {0};
    struct zc_post *post;
    ssize_t rc;

    ofi_enter(o);
    rc = fi_cq_readerr(o->cq, &e, 0);
    ofi_leave(o);
    if (rc < 0)
        return 0;
    post = e.op_context;
    /* A connection that ends cancels what was under way on it: that is a failure like any
     * other, of which nothing else will be heard.  Only close() cancels all by itself. */
    if (!post || (o->closing && (e.err == FI_ECANCELED || post->kind == KIND_RECV)))
        return 1;
    zc_debug("fabric: operation of kind %d failed: %s", post->kind, o->lib->strerror(e.err));
    if (post->kind == KIND_RECV) /* truncated or broken: the message is gone, its sender waits */
        while (zc_tp_ofi_post_recv(o, zc_list_entry(post, struct buffer, post)) == -FI_EAGAIN)
            sched_yield();
    else
        zc_tp_ofi_completed(o, post, -fi_errno_of(e.err));
    return 1;
}

/* Handles completions that are there; > 0: how many, < 0: the queue is broken. */
int zc_tp_ofi_drain_cq(struct ofi *o)
{
    struct fi_cq_msg_entry e[16];
    ssize_t n;

    ofi_enter(o);
    n = fi_cq_read(o->cq, e, sizeof e / sizeof *e);
    ofi_leave(o);
    if (n == -FI_EAGAIN)
        return 0;
    if (n == -FI_EAVAIL)
        return read_error(o);
    if (n < 0)
        return zc_tp_ofi_failed(o, "fi_cq_read", n);
    for (ssize_t i = 0; i < n; i++) {
        struct zc_post *post = e[i].op_context;

        if (o->closing && post->kind == KIND_RECV)
            continue;
        if (post->kind == KIND_RECV)
            received(o, zc_list_entry(post, struct buffer, post), e[i].len);
        else
            zc_tp_ofi_completed(o, post, 0);
    }
    return (int)n;
}

int zc_tp_ofi_report_cancelled(struct ofi *o)
{
    struct zc_list *n;
    int count = 0;

    for (;;) {
        zc_lock_get(&o->lock);
        n = zc_list_pop(&o->cancelled);
        zc_lock_put(&o->lock);
        if (!n)
            return count;
        zc_tp_ofi_report(o, zc_list_entry(n, struct zc_post, link), -ECANCELED);
        count++;
    }
}

/* ---- waiting ---- */

/* What ends a wait beside the fabric: a wake(), which says nothing of peers, or the watched
 * descriptor, behind which there are others. */
enum woken { NOT_WOKEN, WOKEN, WATCHED };

static enum woken woken_by(struct ofi *o, const struct pollfd *wake, const struct pollfd *watch)
{
    uint64_t v;

    if (watch->revents)
        return WATCHED;
    if (!wake->revents || read(o->wake_fd, &v, sizeof v) < 0)
        return NOT_WOKEN;
    return WOKEN;
}

static enum woken look_for_wake(struct ofi *o)
{
    struct pollfd fds[2] = {{.fd = o->wake_fd, .events = POLLIN},
                            {.fd = o->watch_fd, .events = POLLIN}};

    return zc_clock_poll(fds, 2, 0) > 0 ? woken_by(o, &fds[0], &fds[1]) : NOT_WOKEN;
}

/* Whether waiting on the descriptor is enough, because the endpoint has no peers.  A daemon has it
 * beside an endpoint for processes of this host, whose messages end each wait: polling the fabric
 * every time would cost more calls than the messages themselves. */
static bool is_idle(struct ofi *o)
{
    bool alone;

    if (o->watch_fd < 0 || !__atomic_load_n(&o->armed, __ATOMIC_RELAXED) ||
        zc_now() >= o->armed_until)
        return false;
    zc_lock_get(&o->lock);
    alone = zc_list_empty(&o->peers);
    zc_lock_put(&o->lock);
    return alone;
}

/* Returns FI_SUCCESS if cq_fd signals all events from now on. */
static int arm(struct ofi *o, int timeout_ms)
{
    struct fid *fid = &o->cq->fid;
    int rc;

    if (is_idle(o))
        return 0;
    ofi_enter(o);
    rc = fi_trywait(o->fabric, &fid, 1);
    ofi_leave(o);
    if (rc == FI_SUCCESS) { /* accepting connections takes polling, as no event announces them */
        o->armed_until =
            zc_now() + (uint64_t)(timeout_ms < CONNECT_MS ? timeout_ms : CONNECT_MS) * ZC_NS_PER_MS;
        __atomic_store_n(&o->armed, true, __ATOMIC_RELAXED);
    }
    return rc;
}

/* An event of the fabric was waited for since then, and came; whether such events have followed one
 * another for a while, brought nothing, and may be of a peer that has gone: "net" of libfabric 1.17
 * connects to it again and again, and each refusal is an event; and once it was removed, the event
 * may never end.  (The bytes of a transfer that a peer has begun are such events, too.) */
static bool is_vain(struct ofi *o, uint64_t asked)
{
    uint64_t now = zc_now();

    if (!o->vain_since || now - asked > NAP_US_MAX * 1000ull)
        o->vain_since = now;
    return now - o->vain_since > VAIN_MS * ZC_NS_PER_MS && zc_tp_ofi_may_be_gone(o);
}

/* Sleeps until something may have happened. */
static enum woken sleep_for_event(struct ofi *o, int timeout_ms)
{
    struct pollfd fds[3] = {{.fd = o->wake_fd, .events = POLLIN},
                            {.fd = o->watch_fd, .events = POLLIN},
                            {.fd = o->cq_fd, .events = POLLIN}};
    uint64_t asked;
    int rc;

    if (o->cq_fd >= 0) {
        if (arm(o, timeout_ms) != FI_SUCCESS)
            return NOT_WOKEN;
        asked = zc_now();
        rc = zc_clock_poll(fds, 3, (uint64_t)timeout_ms * ZC_NS_PER_MS);
        if (rc <= 0 || fds[2].revents)
            __atomic_store_n(&o->armed, false, __ATOMIC_RELAXED);
        if (rc > 0 && fds[2].revents && is_vain(o, asked))
            rc = zc_clock_poll(fds, 2, NAP_US_MAX * 1000ull);
    } else { /* the provider cannot wake us: look again soon, ever less often */
        rc = zc_clock_poll(fds, 2, o->nap_us * 1000ull);
        if (o->nap_us < NAP_US_MAX)
            o->nap_us *= 2;
    }
    return rc > 0 ? woken_by(o, &fds[0], &fds[1]) : NOT_WOKEN;
}

/* How long to sleep at most, of `left` ms. */
static int nap_of(struct ofi *o, uint64_t now, int left)
{
    int most = now > o->awake ? SELDOM_MS : CONNECT_MS;
    uint64_t at = zc_tp_ofi_retry_at(o);

    if (at < now + RETRY_MS * ZC_NS_PER_MS)
        most = RETRY_MS;
    else if (at < now + (uint64_t)most * ZC_NS_PER_MS)
        most = (int)((at - now) / ZC_NS_PER_MS) + 1;
    return left < most ? left : most;
}

static int look(struct ofi *o)
{
    int n = is_idle(o) ? 0 : zc_tp_ofi_drain_cq(o);

    if (n < 0)
        return n;
    n += zc_tp_ofi_report_cancelled(o);
    if (zc_tp_ofi_have_pending(o))
        n += zc_tp_ofi_retry_pending(o);
    if (n > 0)
        o->vain_since = 0;
    return n;
}

/* A wait that began then has ended, with something from a peer. */
static void learn(struct ofi *o, uint64_t began, bool looked)
{
    if (looked)
        zc_adaptive_poll_checked(&o->spin, true);
    else
        zc_adaptive_poll_slept(&o->spin, zc_now() - began);
}

int zc_tp_ofi_progress(struct zc_tp *tp, int timeout_ms)
{
    struct ofi *o = ofi_of(tp);
    uint64_t now = 0, began = 0, until = 0;
    bool looks = zc_adaptive_poll_checks(&o->spin);

    if (!o->ep) { /* severed: nothing will ever arrive */
        struct pollfd fd = {.fd = o->wake_fd, .events = POLLIN};
        struct pollfd none = {.fd = -1};

        zc_clock_poll(&fd, 1, (uint64_t)timeout_ms * ZC_NS_PER_MS);
        woken_by(o, &fd, &none);
        return zc_tp_ofi_report_cancelled(o);
    }
    for (;;) {
        enum woken woken;
        int n = look(o);

        if (n > 0) {
            now = zc_now() + AFTER_MS * ZC_NS_PER_MS;
            o->awake = o->awake > now ? o->awake : now;
            o->nap_us = 50;
            if (began)
                learn(o, began, looks);
        }
        if (n != 0 || timeout_ms == 0)
            return n;
        now = zc_now();
        if (!began) {
            began = now;
            until = now + (uint64_t)timeout_ms * ZC_NS_PER_MS;
        }
        if (now >= until)
            return 0;
        if (looks && now - began >= ZC_POLL_NS) {
            looks = false;
            zc_adaptive_poll_checked(&o->spin, false);
        }
        woken = looks ? look_for_wake(o)
                      : sleep_for_event(o, nap_of(o, now, (int)((until - now) / ZC_NS_PER_MS) + 1));
        if (woken == WATCHED)
            learn(o, began, looks);
        if (woken)
            return look(o);
        if (looks)
            sched_yield();
    }
}

void zc_tp_ofi_wake(struct zc_tp *tp)
{
    uint64_t one = 1;
    ssize_t rc = write(ofi_of(tp)->wake_fd, &one, sizeof one);

    (void)rc; /* full: a wake is on its way already */
}
