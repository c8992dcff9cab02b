/* zc_net_deadline.c - deadlines of calls, and the end of a client whose server missed one.
 *
 * States of a client, and what makes each step
 *
 *     zc_net_add()
 *         |
 *         v        zc_net_accepted()
 *     connecting --------------------> in use
 *         |                              |
 *         +---------------+--------------+      zc_net_on_peer_error(), drive() when the endpoint
 *         |               |                     is unusable, EVICTED from the server or
 *         |   a deadline, |                     zc_..._give_up(): `failed`, and at the next look
 *         |   or failed   v
 *         |            broken                   break_client(), sever(): no call can be started
 *         |               |                     any more; waits for threads that post
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
 *  3. `broken` explains itself.
 *  4. A client that was removed is broken, none of its calls is under way, and no thread posts.
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
    assert(c->ncalls == under_way);                                     /* 1 */
    assert(c->ncalls <= c->credits);                                    /* 2 */
    assert(!c->broken.rc || c->broken.text[0]);                         /* 3 */
    assert(!c->removed || (c->broken.rc && !c->ncalls && !c->sending)); /* 4 */
    assert(c->session || c->credits == 1);                              /* 5 */
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

void zc_net_failed(struct zc_client *c, int rc, const void *reason, size_t len)
{
    zc_assert_held(&c->net->lock);
    if (c->failed.rc || c->broken.rc)
        return;
    if (len)
        zc_error_set(&c->failed, rc, "the session was ended: %.*s", (int)len, (const char *)reason);
    else
        zc_error_set(&c->failed, rc == -ECANCELED ? -ECONNRESET : rc, "connection lost: %s",
                     strerror(-rc));
}

void zc_net_on_peer_error(void *net, zc_peer peer, int err)
{
    struct zc_net *n = net;

    zc_lock_get(&n->lock);
    zc_list_each (&n->clients, cn) {
        struct zc_client *c = zc_list_entry(cn, struct zc_client, link);

        if (c->peer == peer)
            zc_net_failed(c, err, NULL, 0);
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

/* Ends all calls of a broken client. */
static void end_calls(struct zc_net *n, struct zc_client *c)
{
    zc_assert_held(&n->lock);
    c->removed = true;
    zc_list_each (&c->calls, cn) {
        struct zc_call *call = zc_list_entry(cn, struct zc_call, link);

        if (call->done)
            continue;
        call->error = c->broken;
        zc_call_done(c, call);
    }
    pthread_cond_broadcast(&n->changed);
}

static bool has_exposed(const struct zc_client *c)
{
    zc_list_each (&c->calls, cn) {
        struct zc_call *call = zc_list_entry(cn, struct zc_call, link);

        if (call->unprotected && !call->done)
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

/* The server of `c` may be writing into a caller's memory: ends the endpoint, and with it every
 * client.  By the driver, with the lock, which is dropped for a moment. */
static void sever(struct zc_net *n, struct zc_client *c, const struct zc_error *why)
{
    n->severed = true;
    zc_list_each (&n->clients, cn) {
        struct zc_client *k = zc_list_entry(cn, struct zc_client, link);

        if (k->broken.rc)
            continue;
        k->broken = *why;
        k->bystander = k != c && !k->failed.rc;
        if (k != c)
            zc_error_set(&k->broken, why->rc, "given up together with %s: %s", c->label, why->text);
    }
    while (anybody_sends(n))
        zc_cond_wait(&n->changed, &n->lock);
    zc_lock_put(&n->lock);
    zc_tp_sever(n->tp);
    zc_lock_get(&n->lock);
    zc_list_each (&n->clients, cn) {
        struct zc_client *k = zc_list_entry(cn, struct zc_client, link);

        if (k->broken.rc && !k->removed)
            end_calls(n, k);
    }
}

/* By the driver, with the lock, which is dropped for a moment. */
static void break_client(struct zc_net *n, struct zc_client *c, const struct zc_error *why)
{
    zc_assert_held(&n->lock);
    if (has_exposed(c) && zc_tp_severs(n->tp)) {
        sever(n, c, why);
        return;
    }
    c->broken = *why;
    while (c->sending)
        zc_cond_wait(&n->changed, &n->lock);
    zc_lock_put(&n->lock);
    zc_tp_peer_remove(n->tp, c->peer);
    zc_lock_get(&n->lock);
    end_calls(n, c);
}

/* ---- deadlines ---- */

/* Sets the reason to give up this client; false: none. */
static bool overdue(const struct zc_client *c, uint64_t now, struct zc_error *why)
{
    char name[16];

    if (c->failed.rc) {
        *why = c->failed;
        return true;
    }
    zc_list_each (&c->calls, cn) {
        struct zc_call *call = zc_list_entry(cn, struct zc_call, link);

        if (!call->done && now > call->last_sign + call->patience) {
            zc_error_set(why, -ETIMEDOUT,
                         "no sign of life for %.1f s while waiting for %s; is it running? "
                         "(ZCACHE_TIMEOUT sets how long to wait)",
                         (double)call->patience / 1e9, zc_type_name(call->type, name, sizeof name));
            return true;
        }
    }
    return false;
}

/* Silence counts only while this process listens: after it was stopped it receives earlier messages
 * in the next round. */
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

void zc_net_check_deadlines(struct zc_net *n)
{
    uint64_t now = zc_now();
    bool again;

    zc_assert_held(&n->lock);
    forgive_absence(n, now);
    do {
        again = false;
        zc_list_each (&n->clients, cn) {
            struct zc_client *c = zc_list_entry(cn, struct zc_client, link);
            struct zc_error why;

            if (!c->broken.rc && overdue(c, now, &why)) {
                break_client(n, c, &why); /* drops the lock: the list may have changed */
                again = true;
                break;
            }
        }
    } while (again);
    check(n);
}

void zc_net_check_now(struct zc_net *n)
{
    zc_assert_held(&n->lock);
    while (n->driven) { /* it checks when it has been woken */
        zc_lock_put(&n->lock);
        zc_tp_wake(n->tp);
        zc_lock_get(&n->lock);
        if (n->driven)
            zc_cond_wait_until(&n->changed, &n->lock, zc_now() + ZC_DRIVE_MS * ZC_NS_PER_MS / 10);
    }
    n->driven = true;
    zc_net_check_deadlines(n);
    n->driven = false;
    zc_net_leave(n);
}
