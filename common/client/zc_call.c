/* zc_call.c - one request to a server, and its reply.
 *
 * A call is registered with its client, which needs a credit; it is done when its reply has arrived
 * or its client is broken, and the thread that waits for it frees it.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_events.h"
#include "zc_log.h"
#include "zc_net_internal.h"
#include "zc_wait_time.h"

enum { COMPLAIN_EVERY_S = 60 };

/* ---- arrivals ---- */

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

/* Returns the client of the session of a message; NULL: none.  With the lock. */
static struct zc_client *client_of(struct zc_net *n, const struct zc_msg *m)
{
    zc_assert_held(&n->lock);
    zc_list_each (&n->clients, cn) {
        struct zc_client *c = zc_list_entry(cn, struct zc_client, link);

        if (c->session && c->session == m->session)
            return c;
    }
    return NULL;
}

/* Notes that the server is alive.  With the lock. */
static void heard(struct zc_client *c)
{
    zc_assert_held(&c->net->lock);
    c->unanswered = c->ncalls ? zc_now() : 0; /* other calls still wait */
}

/* Handles EVICTED: the server has ended the session. */
static void dropped(struct zc_client *c, const struct zc_msg *m)
{
    zc_net_failed(c, m->status < 0 ? m->status : -ECONNRESET, m->text.p, m->text.n);
}

/* Copies what must outlive the receive buffer. */
static void take_reply(struct zc_call *call, const struct zc_msg *m)
{
    call->reply = *m;
    if (m->status)
        zc_error_set(&call->error, m->status, "%.*s", (int)m->text.n,
                     m->text.n ? (const char *)m->text.p : "");
    if (m->data.n > call->data_cap) {
        zc_error_set(&call->error, -EPROTO, "reply with %u bytes of data, asked for %zu", m->data.n,
                     call->data_cap);
    } else if (m->data.n) {
        memcpy(call->data, m->data.p, m->data.n);
        call->reply.data.p = call->data;
    }
    if (m->csums.n > call->csums_cap) {
        zc_error_set(&call->error, -EPROTO, "reply with %u bytes of checksums, asked for %zu",
                     m->csums.n, call->csums_cap);
    } else if (m->csums.n) {
        memcpy(call->csums, m->csums.p, m->csums.n);
        call->reply.csums.p = call->csums;
    }
}

/* Checks the proof in R-HELLO: the server knows the secret, and has sent and received these
 * bytes. */
static void check_hello(struct zc_client *c, struct zc_call *call, const struct zc_msg *m,
                        const void *buf, size_t len)
{
    if (m->nonce.n != ZC_NONCE_SIZE || m->proof.n != ZC_PROOF_SIZE ||
        !zc_handshake_check_answer(&c->handshake, buf, len)) {
        zc_error_set(&call->error, -ESTALE,
                     "another process answers at its address, and does not know its secret");
        return;
    }
    zc_handshake_keys(&c->handshake, false, zc_tp_is_local(c->net->tp, c->peer), &c->keys);
    c->keyed = true;
}

static bool answers_hello(const struct zc_call *call, const struct zc_msg *m)
{
    return call && call->type == ZC_T_HELLO && m->type == (ZC_T_HELLO | ZC_REPLY);
}

/* Whether the message refuses our credential, without a MAC: a server that cannot decode it has no
 * key.  A process that intercepts messages may have forged it, but it could also drop ours. */
static bool refuses_credential(const struct zc_call *call, const struct zc_msg *m)
{
    return call && call->type == ZC_T_CREDENTIAL && m->type == (ZC_T_HELLO | ZC_REPLY) && m->status;
}

/* A reply to a credential needs a MAC by the key in it.  A process that cannot decode it is no
 * daemon of root's, even if the address file names it and it knows the boot id.  The message may
 * also be forged, which is no worse than above. */
static void disproves(struct zc_client *c, struct zc_call *call, const struct zc_msg *m)
{
    zc_assert_held(&c->net->lock);
    if (!call || call->type != ZC_T_CREDENTIAL || m->type != (ZC_T_CREDENTIAL | ZC_REPLY))
        return;
    zc_error_set(
        &call->error, -ESTALE,
        "another process answers at its address, and cannot read what munge made for root");
    zc_call_done(c, call);
}

/* Returns why a message to this client is refused; NULL: it is its server's, and new.  `call`: the
 * one it is about, if under way, or NULL.  COMMITTED is accepted in any order, and repeatedly, as
 * it stays true; it must not be lost for its order. */
static const char *objection(struct zc_client *c, const struct zc_call *call,
                             const struct zc_msg *m, const void *buf, size_t len)
{
    if (!zc_msg_has_mac(m->type))
        return answers_hello(call, m) || refuses_credential(call, m) ? NULL : "it has no MAC";
    if (!c->keyed || !zc_mac_check(&c->keys, buf, len))
        return "its MAC is wrong";
    if (m->type & ZC_REPLY || (m->type == ZC_T_COMMITTED && m->count <= c->notices))
        return NULL;
    if (m->count <= c->notices)
        return "it has come before";
    c->notices = m->count;
    heard(c);
    return NULL;
}

/* Counts a message that is thrown away, and logs it now and then; with the lock. */
static void complain(struct zc_net *n, const char *whose, const char *text)
{
    uint64_t now = zc_now();

    zc_assert_held(&n->lock);
    n->refused++;
    if (n->last_complaint && now - n->last_complaint < COMPLAIN_EVERY_S * 1000 * ZC_NS_PER_MS)
        return;
    n->last_complaint = now;
    zc_warn("message from %s thrown away (%llu so far): %s", whose, (unsigned long long)n->refused,
            text);
}

static unsigned free_lane(const struct zc_client *c)
{
    unsigned lane = 1;

    while (lane < ZC_SESSION_SLOTS && c->msg_slots >> (lane - 1) & 1)
        lane++;
    assert(lane < ZC_SESSION_SLOTS); /* there are at most as many as credits */
    return lane;
}

void zc_call_done(struct zc_client *c, struct zc_call *call)
{
    zc_assert_held(&c->net->lock);
    call->done = true;
    if (--c->ncalls == 0)
        c->unanswered = 0;
    c->msg_slots &= ~(UINT64_C(1) << (zc_tag_slot(call->tag) - 1));
    pthread_cond_broadcast(&c->net->changed);
}

/* Handles a reply to a call, or a PENDING. */
static void take_for(struct zc_client *c, struct zc_call *call, const struct zc_msg *m,
                     const void *buf, size_t len)
{
    call->last_sign = zc_now();
    if (m->type == (call->type | ZC_REPLY) || refuses_credential(call, m)) {
        heard(c);
        take_reply(call, m);
        if (m->type == (ZC_T_HELLO | ZC_REPLY) && m->status == 0)
            check_hello(c, call, m, buf, len);
        zc_call_done(c, call);
    } else if (m->type != ZC_T_PENDING) {
        complain(c->net, c->label, "a reply of another type");
    }
}

/* Takes the reply to a heartbeat PING, once. */
static void take_pong(struct zc_client *c, const struct zc_msg *m)
{
    if (m->tag <= c->ponged || m->tag > c->pinged)
        return;
    c->ponged = m->tag;
    heard(c);
}

/* Whether this is a reply to a finished call, or to none: it is ignored. */
static bool is_late(const struct zc_call *call, const struct zc_msg *m)
{
    bool pong = m->type == (ZC_T_PING | ZC_REPLY) && zc_tag_slot(m->tag) == 0;

    return m->type & ZC_REPLY && !call && !pong;
}

/* With the lock, which is dropped for a COMMITTED. */
static void take(struct zc_net *n, const struct zc_msg *m, const void *buf, size_t len)
{
    struct zc_client *c = NULL;
    struct zc_call *call = find_call(n, m, &c);
    const char *why;

    if (!c)
        c = client_of(n, m);
    if (call && call->done)
        call = NULL;
    if (!c || is_late(call, m))
        return;
    why = objection(c, call, m, buf, len);
    if (why) {
        complain(n, c->label, why);
        disproves(c, call, m);
    } else if (m->type == ZC_T_COMMITTED) {
        zc_client_committed(c, m);
    } else if (m->type == ZC_T_EVICTED) {
        dropped(c, m);
    } else if (call) {
        take_for(c, call, m, buf, len);
    } else if (m->type & ZC_REPLY) {
        take_pong(c, m);
    }
}

void zc_call_on_message(void *net, const void *buf, size_t len)
{
    struct zc_net *n = net;
    struct zc_msg m;
    char text[512];
    int rc = zc_msg_decode(&m, buf, len);

    if (rc == 0 && zc_log_on(ZC_LOG_TRACE))
        zc_trace("< %s", zc_msg_print(&m, text, sizeof text));
    zc_lock_get(&n->lock);
    if (rc)
        complain(n, "a server", zc_error_text(rc));
    else
        take(n, &m, buf, len);
    zc_lock_put(&n->lock);
}

/* ---- start and wait ---- */

static void wait_for_credit(struct zc_client *c)
{
    uint64_t began = zc_now();

    while (c->ncalls >= c->credits && !c->broken.rc)
        zc_net_wait_for_change(c->net);
    zc_wait_time.credit += zc_now() - began;
    zc_event_was(ZC_EVENT_CREDIT, began, zc_now(), 0);
}

/* Waits for a credit and takes it; an error: why the client is broken. */
static int enter(struct zc_client *c, struct zc_call *call, struct zc_msg *msg)
{
    struct zc_net *n = c->net;
    int rc = 0;

    zc_lock_get(&n->lock);
    if (c->ncalls >= c->credits && !c->broken.rc)
        wait_for_credit(c);
    zc_net_leave(n);
    if (c->broken.rc) {
        rc = zc_errorf(-c->broken.rc, "%s: %s", c->label, c->broken.text);
    } else {
        unsigned lane = free_lane(c);

        call->tag = msg->tag = zc_tag(lane, ++n->next_count);
        call->last_sign = c->last_sent = zc_now();
        if (!c->unanswered)
            c->unanswered = c->last_sent;
        if (c->session)
            msg->session = c->session;
        c->msg_slots |= UINT64_C(1) << (lane - 1);
        c->ncalls++;
        c->sending++;
        zc_list_add_tail(&c->calls, &call->link);
    }
    zc_lock_put(&n->lock);
    return rc;
}

static int post(struct zc_client *c, const struct zc_msg *msg)
{
    unsigned char buf[ZC_MAX_MESSAGE];
    char line[512];
    int len = zc_msg_encode(msg, buf, sizeof buf);

    if (len <= 0)
        return len;
    if (zc_log_on(ZC_LOG_TRACE))
        zc_trace("> %s", zc_msg_print(msg, line, sizeof line));
    if (msg->type == ZC_T_HELLO)
        zc_handshake_begin(&c->handshake, &c->secret, buf, (size_t)len);
    else if (zc_msg_has_mac(msg->type))
        zc_mac_put(&c->keys, buf, (size_t)len);
    return zc_tp_send(c->net->tp, c->peer, buf, (size_t)len);
}

/* Whether the send failed because the other end is gone: then the client ends, and all its
 * calls. */
static bool is_lost(int rc)
{
    return rc == -ECONNRESET || rc == -EPIPE || rc == -ENOTCONN || rc == -ECONNREFUSED;
}

int zc_call_start(struct zc_client *c, struct zc_msg *msg, void *data, size_t data_cap,
                  struct zc_call **out)
{
    struct zc_net *n = c->net;
    struct zc_call *call = calloc(1, sizeof *call);
    int rc;

    if (!call)
        return zc_errorf(ENOMEM, "no memory for a request");
    call->type = msg->type;
    call->data = data;
    call->data_cap = data_cap;
    if (msg->type == ZC_T_READ || msg->type == ZC_T_VREAD || msg->type == ZC_T_LIST_READ) {
        call->csums = (void *)(uintptr_t)msg->csums.p;
        call->csums_cap = msg->csums.n;
    }
    call->patience = n->timeout_ns;
    call->unprotected = msg->flags & ZC_F_RMA;
    rc = enter(c, call, msg);
    if (rc) {
        free(call);
        return rc;
    }
    rc = post(c, msg);
    zc_lock_get(&n->lock);
    if (is_lost(rc)) {
        zc_net_failed(c, rc, NULL, 0);
    } else if (rc < 0 && !call->done) { /* zc_call_wait() returns it */
        zc_error_keep(&call->error, rc);
        zc_call_done(c, call);
    }
    zc_net_sent(c);
    zc_lock_put(&n->lock);
    *out = call;
    return 0;
}

int zc_call_wait(struct zc_client *c, struct zc_call *call, struct zc_msg *reply)
{
    struct zc_net *n = c->net;
    uint64_t began = zc_now();
    int rc;

    zc_lock_get(&n->lock);
    while (!call->done || (c->broken.rc && !c->removed))
        zc_net_wait_for_change(n);
    zc_wait_time.reply += zc_now() - began;
    zc_event_was(ZC_EVENT_WIRE, began, zc_now(), 0);
    zc_net_leave(n);
    zc_list_del(&call->link);
    zc_lock_put(&n->lock);
    rc = call->error.rc;
    if (rc)
        zc_errorf(-rc, "%s: %s", c->label, call->error.text[0] ? call->error.text : strerror(-rc));
    if (reply)
        *reply = call->reply;
    free(call);
    return rc;
}

int zc_call(struct zc_client *c, struct zc_msg *msg, struct zc_msg *reply)
{
    struct zc_call *call;
    int rc = zc_call_start(c, msg, NULL, 0, &call);

    return rc ? rc : zc_call_wait(c, call, reply);
}

int zc_call_brief(struct zc_client *c, struct zc_msg *msg, struct zc_msg *reply,
                  uint64_t patience_ms)
{
    struct zc_call *call;
    int rc = zc_call_start(c, msg, NULL, 0, &call);

    if (rc)
        return rc;
    zc_lock_get(&c->net->lock);
    if (call->patience > patience_ms * ZC_NS_PER_MS)
        call->patience = patience_ms * ZC_NS_PER_MS;
    zc_lock_put(&c->net->lock);
    return zc_call_wait(c, call, reply);
}
