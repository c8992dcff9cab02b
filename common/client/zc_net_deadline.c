/* zc_net_deadline.c - deadlines of calls, and the end of a client whose server missed one.
 *
 * States of a client, and who makes each step
 *
 *     zc_net_add()
 *         |
 *         v        zc_net_accepted()
 *     connecting --------------------> in use
 *         |                              |
 *         +---------------+--------------+      zc_net_on_peer_error(), drive() when the endpoint
 *         |               |                     is unusable, DROPPED from the server or
 *         |   a deadline, |                     zc_..._give_up(): `failed`, and at the next look
 *         |   or failed   v
 *         |            broken                   break_client(), sever(): no call can be started
 *         |               |                     any more; who posts is waited for
 *         |               v
 *         |            removed                  end_calls(): the peer is gone, its calls are done
 *         |               |
 *         +---------------+
 *         | zc_net_remove()
 *         v
 *        gone
 *
 * A call of a client that breaks returns after the step to `removed` only: nothing can reach the
 * memory of callers then.  Where removing the peer is not enough for that, because memory is
 * exposed to a transfer and the transport cannot take it back, the endpoint is severed: all of
 * its clients take the steps to `removed` together, and clients that are made afterwards need
 * another endpoint (zc_net_severed()).
 *
 * Invariants of a client, whenever the lock is free
 *  1. ncalls is the number of its calls that are not done.
 *  2. ncalls <= credits.
 *  3. `why` says why it is broken.
 *  4. A client that was removed is broken, none of its calls is under way, and nobody posts.
 *  5. A client has a session when it was accepted; in `connecting` it has one credit, for HELLO.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "zc_net_internal.h"

#ifdef ZC_DEBUG
static void check_client(const struct zc_client *c)
{
    unsigned under_way = 0;

    zc_list_each (&c->calls, cn)
        under_way += !zc_list_entry(cn, struct zc_call, link)->done;
    assert(c->ncalls == under_way);                                  /* 1 */
    assert(c->ncalls <= c->credits);                                 /* 2 */
    assert(!c->broken || c->why[0]);                                 /* 3 */
    assert(!c->removed || (c->broken && !c->ncalls && !c->sending)); /* 4 */
    assert(c->session || c->credits == 1);                           /* 5 */
}

static void check(struct zc_net *n)
{
    zc_list_each (&n->clients, cn)
        check_client(zc_list_entry(cn, struct zc_client, link));
}
#else
static void check(struct zc_net *n)
{
    (void)n;
}
#endif

void zc_net_on_peer_error(void *net, zc_peer peer, int err)
{
    struct zc_net *n = net;

    zc_lock_get(&n->lock);
    zc_list_each (&n->clients, cn) {
        struct zc_client *c = zc_list_entry(cn, struct zc_client, link);

        if (c->peer == peer && !c->failed)
            c->failed = err;
    }
    zc_lock_put(&n->lock);
}

/* ---- breaking ---- */

void zc_net_sent(struct zc_client *c)
{
    zc_assert_held(&c->net->lock);
    if (--c->sending == 0)
        pthread_cond_broadcast(&c->net->changed);
}

/* All calls of a broken client are over. */
static void end_calls(struct zc_net *n, struct zc_client *c)
{
    zc_assert_held(&n->lock);
    c->removed = true;
    zc_list_each (&c->calls, cn) {
        struct zc_call *call = zc_list_entry(cn, struct zc_call, link);

        if (call->done)
            continue;
        call->status = c->broken;
        snprintf(call->text, sizeof call->text, "%s", c->why);
        zc_call_done(c, call);
    }
    pthread_cond_broadcast(&n->changed);
}

static bool has_exposed(const struct zc_client *c)
{
    zc_list_each (&c->calls, cn) {
        struct zc_call *call = zc_list_entry(cn, struct zc_call, link);

        if (call->exposed && !call->done)
            return true;
    }
    return false;
}

static bool anybody_sends(struct zc_net *n)
{
    zc_list_each (&n->clients, cn)
        if (zc_list_entry(cn, struct zc_client, link)->sending)
            return true;
    return false;
}

/* The server of `c` may be writing into memory of a caller: ends the endpoint, and with it
 * every client.  By the driver, with the lock, which is dropped for a moment. */
static void sever(struct zc_net *n, struct zc_client *c, int err)
{
    n->severed = true;
    zc_list_each (&n->clients, cn) {
        struct zc_client *k = zc_list_entry(cn, struct zc_client, link);

        if (k->broken)
            continue;
        k->broken = err;
        k->bystander = k != c && !k->failed;
        if (k != c)
            snprintf(k->why, sizeof k->why, "given up together with %.100s: %.120s", c->label,
                     c->why);
    }
    while (anybody_sends(n))
        zc_cond_wait(&n->changed, &n->lock);
    zc_lock_put(&n->lock);
    zc_tp_sever(n->tp);
    zc_lock_get(&n->lock);
    zc_list_each (&n->clients, cn) {
        struct zc_client *k = zc_list_entry(cn, struct zc_client, link);

        if (k->broken && !k->removed)
            end_calls(n, k);
    }
}

/* By the driver, with the lock, which is dropped for a moment. */
static void break_client(struct zc_net *n, struct zc_client *c, int err)
{
    zc_assert_held(&n->lock);
    if (has_exposed(c) && zc_tp_severs(n->tp)) {
        sever(n, c, err);
        return;
    }
    c->broken = err;
    while (c->sending)
        zc_cond_wait(&n->changed, &n->lock);
    zc_lock_put(&n->lock);
    zc_tp_peer_remove(n->tp, c->peer);
    zc_lock_get(&n->lock);
    end_calls(n, c);
}

/* ---- deadlines ---- */

/* The reason this client is not to be waited for any longer; 0: none. */
static int overdue(struct zc_client *c, uint64_t now)
{
    char name[16];

    if (c->failed && c->dropped[0]) {
        snprintf(c->why, sizeof c->why, "the session was ended: %s", c->dropped);
        return c->failed;
    }
    if (c->failed) {
        snprintf(c->why, sizeof c->why, "connection lost: %s", strerror(-c->failed));
        return c->failed == -ECANCELED ? -ECONNRESET : c->failed;
    }
    zc_list_each (&c->calls, cn) {
        struct zc_call *call = zc_list_entry(cn, struct zc_call, link);

        if (!call->done && now > call->last_sign + call->patience) {
            snprintf(c->why, sizeof c->why,
                     "no sign of life for %.1f s while waiting for %s; is it running? "
                     "(ZCACHE_TIMEOUT sets how long to wait)",
                     (double)call->patience / 1e9, zc_type_name(call->type, name, sizeof name));
            return -ETIMEDOUT;
        }
    }
    return 0;
}

/* Silence counts while we listen only: a process that was stopped finds what servers said
 * meanwhile in the next round. */
static void forgive_absence(struct zc_net *n, uint64_t now)
{
    uint64_t away = now - n->last_look;

    n->last_look = now;
    if (away < 2 * (n->background_ns + ZC_DRIVE_MS * ZC_NS_PER_MS))
        return;
    zc_list_each (&n->clients, cn) {
        struct zc_client *c = zc_list_entry(cn, struct zc_client, link);

        zc_list_each (&c->calls, n2) {
            struct zc_call *call = zc_list_entry(n2, struct zc_call, link);

            call->last_sign = now - call->last_sign > away ? call->last_sign + away : now;
        }
        if (c->unanswered)
            c->unanswered = now;
    }
}

void zc_net_look_at_deadlines(struct zc_net *n)
{
    uint64_t now = zc_now();
    bool again;

    zc_assert_held(&n->lock);
    forgive_absence(n, now);
    do {
        again = false;
        zc_list_each (&n->clients, cn) {
            struct zc_client *c = zc_list_entry(cn, struct zc_client, link);
            int err = c->broken ? 0 : overdue(c, now);

            if (err) {
                break_client(n, c, err); /* drops the lock: the list may have changed */
                again = true;
                break;
            }
        }
    } while (again);
    check(n);
}

void zc_net_look_now(struct zc_net *n)
{
    zc_assert_held(&n->lock);
    while (n->driven) { /* it looks when it has been woken */
        zc_lock_put(&n->lock);
        zc_tp_wake(n->tp);
        zc_lock_get(&n->lock);
        if (n->driven)
            zc_cond_wait_until(&n->changed, &n->lock, zc_now() + ZC_DRIVE_MS * ZC_NS_PER_MS / 10);
    }
    n->driven = true;
    zc_net_look_at_deadlines(n);
    n->driven = false;
    zc_net_leave(n);
}
