/* zc_net.c - a process's endpoint: calls under way, who drives progress, deadlines.
 *
 * Progress has one driver at a time.  A thread that waits for a call becomes the driver if
 * there is none, else it sleeps until its call is done or the driver has left; leaving, a
 * driver wakes the sleepers so that one of them takes over.  The background thread drives
 * for a moment now and then, for heartbeats, when nobody else did.
 *
 * A client breaks when its server was silent for the time-out, or a call was.  Breaking
 * removes the peer before any of its calls returns, so that nothing can reach the memory of
 * callers afterwards.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_tp_local.h"
#include "zc_log.h"
#include "zc_net.h"
#include "zc_thread.h"
#include "zc_tp_ofi.h"

enum {
    RECEIVES = 64,      /* receive buffers */
    TIMEOUT_MS = 30000, /* default */
    DRIVE_MS = 100,     /* a driver looks at the deadlines this often, */
    CONNECT_MS = 1,     /* or so often while it connects */
    BACKGROUND_MS_MAX = 1000,
};

struct zc_net {
    struct zc_tp *tp; /* fixed, as are name and timeout */
    char name[ZC_MAX_NAME];
    uint64_t timeout_ns;
    pthread_t thread;
    bool have_thread;

    struct zc_lock lock;
    uint64_t background_ns; /* the background thread looks this often */
    zc_cond changed;        /* a call is done, a credit free, or the driver has left */
    zc_cond stop_cond;
    struct zc_list clients;
    bool driven, stop, severed;
    uint64_t last_driven, last_look; /* last_look: at the deadlines */
    uint64_t next_tag;
};

struct zc_tp *zc_net_transport(struct zc_net *n)
{
    return n->tp;
}

bool zc_net_severed(struct zc_net *n)
{
    bool yes;

    zc_lock_get(&n->lock);
    yes = n->severed;
    zc_lock_put(&n->lock);
    return yes;
}

bool zc_client_broken(struct zc_client *c)
{
    bool yes;

    zc_lock_get(&c->net->lock);
    yes = c->broken != 0;
    zc_lock_put(&c->net->lock);
    return yes;
}

const char *zc_net_name(const struct zc_net *n)
{
    return n->name;
}

uint64_t zc_net_timeout_ms(const struct zc_net *n)
{
    return n->timeout_ns / ZC_NS_PER_MS;
}

/* ---- what arrives ---- */

static struct zc_call *find_call(struct zc_net *n, const struct zc_msg *m, struct zc_client **out)
{
    zc_assert_held(&n->lock);
    zc_list_each (&n->clients, cn) {
        struct zc_client *c = zc_list_entry(cn, struct zc_client, link);

        zc_list_each (&c->calls, n2) {
            struct zc_call *call = zc_list_entry(n2, struct zc_call, link);

            if (call->tag == m->tag && (!c->session || c->session == m->session)) {
                *out = c;
                return call;
            }
        }
    }
    return NULL;
}

/* Copies what must outlive the receive buffer. */
static void take_reply(struct zc_call *call, const struct zc_msg *m)
{
    call->reply = *m;
    call->status = m->status;
    snprintf(call->text, sizeof call->text, "%.*s", (int)m->text.n,
             m->text.n ? (const char *)m->text.p : "");
    if (m->data.n > call->data_cap) {
        call->status = -EPROTO;
        snprintf(call->text, sizeof call->text, "reply with %u bytes of data, asked for %zu",
                 m->data.n, call->data_cap);
    } else if (m->data.n) {
        memcpy(call->data, m->data.p, m->data.n);
        call->reply.data.p = call->data;
    }
}

/* Gives the credit back: a finished call that nobody has waited for yet costs none. */
static void call_done(struct zc_client *c, struct zc_call *call)
{
    zc_assert_held(&c->net->lock);
    call->done = true;
    c->ncalls--;
    pthread_cond_broadcast(&c->net->changed);
}

static void on_message(void *arg, const void *buf, size_t len)
{
    struct zc_net *n = arg;
    struct zc_client *c;
    struct zc_call *call;
    struct zc_msg m;
    char text[512];
    int rc = zc_msg_decode(&m, buf, len);

    if (rc) {
        zc_warn("message from a server thrown away: %s", zc_error_text(rc));
        return;
    }
    if (zc_log_on(ZC_LOG_TRACE))
        zc_trace("< %s", zc_msg_print(&m, text, sizeof text));
    zc_lock_get(&n->lock);
    call = find_call(n, &m, &c);
    if (call && !call->done) {
        c->last_heard = call->last_sign = zc_now();
        if (m.type == (call->type | ZC_REPLY)) {
            take_reply(call, &m);
            call_done(c, call);
        } else if (m.type != ZC_T_PENDING) {
            zc_warn("%s: reply of another type thrown away", c->label);
        }
    }
    zc_lock_put(&n->lock);
}

static void on_peer_error(void *arg, zc_peer peer, int err)
{
    struct zc_net *n = arg;

    zc_lock_get(&n->lock);
    zc_list_each (&n->clients, cn) {
        struct zc_client *c = zc_list_entry(cn, struct zc_client, link);

        if (c->peer == peer && !c->failed)
            c->failed = err;
    }
    zc_lock_put(&n->lock);
}

/* ---- broken clients ---- */

/* A thread that raised `sending` has posted. */
static void sent(struct zc_client *c)
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
        call_done(c, call);
    }
    pthread_cond_broadcast(&n->changed);
}

static bool has_lent(const struct zc_client *c)
{
    zc_list_each (&c->calls, cn) {
        struct zc_call *call = zc_list_entry(cn, struct zc_call, link);

        if (call->lent && !call->done)
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
    if (c->broken)
        return;
    if (has_lent(c) && zc_tp_severs(n->tp)) {
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

/* The reason this client is not to be waited for any longer; 0: none. */
static int overdue(struct zc_client *c, uint64_t now)
{
    char name[16];

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
    if (away < 2 * (n->background_ns + DRIVE_MS * ZC_NS_PER_MS))
        return;
    zc_list_each (&n->clients, cn) {
        struct zc_client *c = zc_list_entry(cn, struct zc_client, link);

        zc_list_each (&c->calls, n2) {
            struct zc_call *call = zc_list_entry(n2, struct zc_call, link);

            call->last_sign = now - call->last_sign > away ? call->last_sign + away : now;
        }
    }
}

static void look_at_deadlines(struct zc_net *n)
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
}

/* ---- driving ---- */

/* Drives for up to `ms`; call with the lock held and nobody driving. */
static void drive(struct zc_net *n, int ms)
{
    int rc;

    zc_assert_held(&n->lock);
    n->driven = true;
    zc_lock_put(&n->lock);
    rc = zc_tp_progress(n->tp, ms);
    zc_lock_get(&n->lock);
    n->last_driven = zc_now();
    if (rc < 0)
        zc_list_each (&n->clients, cn)
            zc_list_entry(cn, struct zc_client, link)->failed = rc;
    /* also when there is something to handle all the time */
    if (rc <= 0 || n->last_driven - n->last_look > DRIVE_MS * ZC_NS_PER_MS)
        look_at_deadlines(n);
    n->driven = false;
}

/* A driver has what it waited for; one of the sleepers takes over. */
static void leave(struct zc_net *n)
{
    if (!n->driven)
        pthread_cond_broadcast(&n->changed);
}

/* Connections are made while progress is driven, without an event that would wake us. */
static bool connecting(struct zc_net *n)
{
    zc_list_each (&n->clients, cn) {
        struct zc_client *c = zc_list_entry(cn, struct zc_client, link);

        if (!c->session && !c->broken)
            return true;
    }
    return false;
}

/* Sleeps or drives until something has changed; who needs no more of it calls leave(). */
static void wait_for_change(struct zc_net *n)
{
    if (n->driven)
        zc_cond_wait(&n->changed, &n->lock);
    else
        drive(n, connecting(n) ? CONNECT_MS : DRIVE_MS);
}

int zc_call_wait(struct zc_client *c, struct zc_call *call, struct zc_msg *reply)
{
    struct zc_net *n = c->net;
    char text[sizeof call->text];
    int status;

    zc_lock_get(&n->lock);
    while (!call->done || (c->broken && !c->removed))
        wait_for_change(n);
    leave(n);
    zc_list_del(&call->link);
    zc_lock_put(&n->lock);
    status = call->status;
    if (reply)
        *reply = call->reply;
    memcpy(text, call->text, sizeof text);
    free(call);
    if (status)
        return zc_errorf(-status, "%s: %s", c->label, text[0] ? text : strerror(-status));
    return 0;
}

int zc_call_start(struct zc_client *c, struct zc_msg *msg, void *data, size_t data_cap,
                  struct zc_call **out)
{
    struct zc_net *n = c->net;
    struct zc_call *call = calloc(1, sizeof *call);
    unsigned char buf[ZC_MAX_MESSAGE];
    char line[512];
    int rc;

    if (!call)
        return zc_errorf(ENOMEM, "no memory for a request");
    zc_lock_get(&n->lock);
    while (c->ncalls >= c->credits && !c->broken)
        wait_for_change(n);
    leave(n);
    if (c->broken) {
        rc = zc_errorf(-c->broken, "%s: %s", c->label, c->why);
        zc_lock_put(&n->lock);
        free(call);
        return rc;
    }
    call->tag = msg->tag = ++n->next_tag;
    call->type = msg->type;
    call->data = data;
    call->data_cap = data_cap;
    call->last_sign = c->last_sent = zc_now();
    call->patience = n->timeout_ns;
    call->lent = msg->flags & ZC_F_RMA;
    msg->session = c->session;
    c->ncalls++;
    c->sending++;
    zc_list_add_tail(&c->calls, &call->link);
    zc_lock_put(&n->lock);

    rc = zc_msg_encode(msg, buf, sizeof buf);
    if (rc > 0 && zc_log_on(ZC_LOG_TRACE))
        zc_trace("> %s", zc_msg_print(msg, line, sizeof line));
    if (rc > 0)
        rc = zc_tp_send(n->tp, c->peer, buf, (size_t)rc);
    zc_lock_get(&n->lock);
    if (rc < 0 && !call->done) { /* zc_call_wait() returns it */
        call->status = rc;
        snprintf(call->text, sizeof call->text, "%s", zc_error_text(rc));
        call_done(c, call);
    }
    sent(c);
    zc_lock_put(&n->lock);
    *out = call;
    return 0;
}

int zc_call(struct zc_client *c, struct zc_msg *msg, struct zc_msg *reply)
{
    struct zc_call *call;
    int rc = zc_call_start(c, msg, NULL, 0, &call);

    return rc ? rc : zc_call_wait(c, call, reply);
}

int zc_call_brief(struct zc_client *c, struct zc_msg *msg, uint64_t patience_ms)
{
    struct zc_call *call;
    int rc = zc_call_start(c, msg, NULL, 0, &call);

    if (rc)
        return rc;
    zc_lock_get(&c->net->lock);
    if (call->patience > patience_ms * ZC_NS_PER_MS)
        call->patience = patience_ms * ZC_NS_PER_MS;
    zc_lock_put(&c->net->lock);
    return zc_call_wait(c, call, NULL);
}

/* ---- the background thread ---- */

/* A client that should say it is alive; NULL: none. */
static struct zc_client *quiet_client(struct zc_net *n, uint64_t now)
{
    zc_list_each (&n->clients, cn) {
        struct zc_client *c = zc_list_entry(cn, struct zc_client, link);

        if (!c->broken && c->session && now - c->last_sent > c->ping_ns)
            return c;
    }
    return NULL;
}

/* Sends a PING nobody waits for; silence is noticed by its deadline like any call's. */
static void send_heartbeat(struct zc_net *n, struct zc_client *c)
{
    struct zc_msg m = {.type = ZC_T_PING, .session = c->session, .tag = ++n->next_tag};
    unsigned char buf[ZC_HEADER_SIZE];
    int len = zc_msg_encode(&m, buf, sizeof buf);
    zc_peer peer = c->peer;

    zc_assert_held(&n->lock);
    c->last_sent = zc_now();
    c->sending++;
    zc_lock_put(&n->lock);
    if (len > 0)
        zc_tp_send(n->tp, peer, buf, (size_t)len);
    zc_lock_get(&n->lock);
    sent(c);
}

static void *background(void *arg)
{
    struct zc_net *n = arg;

    zc_lock_get(&n->lock);
    while (!n->stop) {
        uint64_t now = zc_now();
        struct zc_client *c = quiet_client(n, now);

        if (c)
            send_heartbeat(n, c);
        else if (!n->driven && !zc_list_empty(&n->clients) &&
                 now - n->last_driven >= n->background_ns) {
            drive(n, 0);
            leave(n);
        } else
            zc_cond_wait_until(&n->stop_cond, &n->lock, now + n->background_ns);
    }
    zc_lock_put(&n->lock);
    return NULL;
}

/* ---- create and destroy ---- */

void zc_net_add(struct zc_net *n, struct zc_client *c)
{
    zc_lock_get(&n->lock);
    zc_list_add_tail(&n->clients, &c->link);
    zc_lock_put(&n->lock);
}

void zc_net_accepted(struct zc_client *c, const struct zc_msg *reply)
{
    struct zc_net *n = c->net;
    uint64_t silence = reply->silence_ms * ZC_NS_PER_MS;

    zc_lock_get(&n->lock);
    if (silence > n->timeout_ns || silence == 0)
        silence = n->timeout_ns;
    c->ping_ns = silence / 4;
    if (n->background_ns > silence / 8)
        n->background_ns = silence / 8;
    pthread_cond_broadcast(&n->stop_cond);
    c->boot_id = reply->boot_id;
    c->page_size = reply->page_size;
    c->max_inline = reply->max_inline < ZC_MAX_INLINE ? reply->max_inline : ZC_MAX_INLINE;
    c->credits = reply->credits ? reply->credits : 1;
    c->session = reply->session;
    zc_lock_put(&n->lock);
}

void zc_net_remove(struct zc_net *n, struct zc_client *c)
{
    bool removed;

    zc_lock_get(&n->lock);
    while (c->sending || (c->broken && !c->removed))
        zc_cond_wait(&n->changed, &n->lock);
    zc_list_del(&c->link);
    removed = c->removed;
    zc_lock_put(&n->lock);
    if (!removed)
        zc_tp_peer_remove(n->tp, c->peer);
}

static zc_tp_open_fn *transport_of(const struct zc_net_config *cfg)
{
    return zc_tp_local_is_address(cfg->toward, cfg->toward_len) ? zc_tp_local_open : zc_tp_ofi_open;
}

int zc_net_create(const struct zc_net_config *cfg, struct zc_net **out)
{
    struct zc_tp_config tp = {.provider = cfg->provider,
                              .toward = cfg->toward,
                              .toward_len = cfg->toward_len,
                              .max_msg = ZC_MAX_MESSAGE,
                              .nrecv = RECEIVES,
                              .spin_us = cfg->spin_us,
                              .recv = on_message,
                              .peer_error = on_peer_error};
    struct zc_net *n = calloc(1, sizeof *n);
    int rc;

    if (!n)
        return zc_errorf(ENOMEM, "no memory for an endpoint");
    tp.arg = n;
    n->timeout_ns = (cfg->timeout_ms ? cfg->timeout_ms : TIMEOUT_MS) * ZC_NS_PER_MS;
    n->background_ns = n->timeout_ns / 8;
    if (n->background_ns > BACKGROUND_MS_MAX * ZC_NS_PER_MS)
        n->background_ns = BACKGROUND_MS_MAX * ZC_NS_PER_MS;
    snprintf(n->name, sizeof n->name, "%s", cfg->name ? cfg->name : "?");
    zc_lock_init(&n->lock, ZC_ORDER_NET);
    zc_cond_init(&n->changed);
    zc_cond_init(&n->stop_cond);
    zc_list_init(&n->clients);
    rc = (cfg->open_transport ? cfg->open_transport : transport_of(cfg))(&tp, &n->tp);
    if (rc == 0)
        rc = zc_thread_start(&n->thread, "zc-heartbeat", background, n);
    n->have_thread = rc == 0;
    if (rc) {
        zc_net_destroy(n);
        return rc;
    }
    *out = n;
    return 0;
}

void zc_net_destroy(struct zc_net *n)
{
    zc_lock_get(&n->lock);
    n->stop = true;
    pthread_cond_broadcast(&n->stop_cond);
    zc_lock_put(&n->lock);
    if (n->have_thread)
        pthread_join(n->thread, NULL);
    if (n->tp)
        zc_tp_close(n->tp);
    zc_lock_destroy(&n->lock);
    pthread_cond_destroy(&n->changed);
    pthread_cond_destroy(&n->stop_cond);
    free(n);
}
