/* zc_call.c - one request on its way to a server, and its reply.
 *
 * A call is entered with its client while that has a credit, is done when its reply has come or
 * its client is broken, and is freed by the thread that waits for it.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_events.h"
#include "zc_log.h"
#include "zc_net_internal.h"
#include "zc_waited.h"

enum { COMPLAIN_EVERY_S = 60 };

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

/* The client of the session that a message is of; NULL: none.  With the lock. */
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

/* The server has said something, now: it is there.  With the lock. */
static void heard(struct zc_client *c)
{
    zc_assert_held(&c->net->lock);
    c->unanswered = c->ncalls ? zc_now() : 0; /* others are still waited for */
}

/* The server has ended the session. */
static void dropped(struct zc_client *c, const struct zc_msg *m)
{
    if (c->failed || c->broken)
        return;
    c->failed = m->status < 0 ? m->status : -ECONNRESET;
    snprintf(c->dropped, sizeof c->dropped, "%.*s", (int)m->text.n,
             m->text.n ? (const char *)m->text.p : "");
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
    if (m->sums.n > call->sums_cap) {
        call->status = -EPROTO;
        snprintf(call->text, sizeof call->text, "reply with %u bytes of checksums, asked for %zu",
                 m->sums.n, call->sums_cap);
    } else if (m->sums.n) {
        memcpy(call->sums, m->sums.p, m->sums.n);
        call->reply.sums.p = call->sums;
    }
}

/* What R-HELLO proves: the server knows the secret, and said and heard this. */
static void check_hello(struct zc_client *c, struct zc_call *call, const struct zc_msg *m,
                        const void *buf, size_t len)
{
    if (m->nonce.n != ZC_NONCE_SIZE || m->proof.n != ZC_PROOF_SIZE ||
        !zc_shake_check_answer(&c->shake, buf, len)) {
        call->status = -ESTALE;
        snprintf(call->text, sizeof call->text,
                 "somebody else answers at its address, who does not know its secret");
        return;
    }
    zc_shake_keys(&c->shake, false, zc_tp_is_local(c->net->tp, c->peer), &c->keys);
    c->keyed = true;
}

static bool answers_hello(const struct zc_call *call, const struct zc_msg *m)
{
    return call && call->type == ZC_T_HELLO && m->type == (ZC_T_HELLO | ZC_REPLY);
}

/* Who cannot read our credential has no key to seal that with.  It may have been said by anybody
 * who hears us, and who could as well keep our messages from arriving. */
static bool refuses_credential(const struct zc_call *call, const struct zc_msg *m)
{
    return call && call->type == ZC_T_VOUCH && m->type == (ZC_T_HELLO | ZC_REPLY) && m->status;
}

/* What answers a credential has to be sealed with the key that is in it.  Who cannot read that may
 * be called a daemon in the address file, and know its boot id: he is none of root's.  That
 * somebody else has said it is possible, too, and no worse than above. */
static void disproves(struct zc_client *c, struct zc_call *call, const struct zc_msg *m)
{
    zc_assert_held(&c->net->lock);
    if (!call || call->type != ZC_T_VOUCH || m->type != (ZC_T_VOUCH | ZC_REPLY))
        return;
    call->status = -ESTALE;
    snprintf(call->text, sizeof call->text,
             "somebody else answers at its address, who cannot read what munge made for root");
    zc_call_done(c, call);
}

/* Why a message to this client is not its server's; NULL: it is, and new.  `call`: that it is
 * about, and that is under way, or NULL.
 * A STORED is taken in whatever order they come, and more than once, as it says the same for ever;
 * what it says must not be lost with an order. */
static const char *objection(struct zc_client *c, const struct zc_call *call,
                             const struct zc_msg *m, const void *buf, size_t len)
{
    if (!zc_msg_is_sealed(m->type))
        return answers_hello(call, m) || refuses_credential(call, m) ? NULL : "it has no seal";
    if (!c->keyed || !zc_seal_check(&c->keys, buf, len))
        return "its seal is wrong";
    if (m->type & ZC_REPLY || (m->type == ZC_T_STORED && m->count <= c->notices))
        return NULL;
    if (m->count <= c->notices)
        return "it has come before";
    c->notices = m->count;
    heard(c);
    return NULL;
}

/* Counts a message that is thrown away, and says so now and then; with the lock. */
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

    while (lane < ZC_LANES && c->lanes >> (lane - 1) & 1)
        lane++;
    assert(lane < ZC_LANES); /* there are as many as credits at most */
    return lane;
}

void zc_call_done(struct zc_client *c, struct zc_call *call)
{
    zc_assert_held(&c->net->lock);
    call->done = true;
    if (--c->ncalls == 0)
        c->unanswered = 0;
    c->lanes &= ~(UINT64_C(1) << (zc_tag_lane(call->tag) - 1));
    pthread_cond_broadcast(&c->net->changed);
}

/* A reply that was waited for, or a sign of life. */
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

/* The reply to a PING nobody waits for, once. */
static void take_pong(struct zc_client *c, const struct zc_msg *m)
{
    if (m->tag <= c->ponged || m->tag > c->pinged)
        return;
    c->ponged = m->tag;
    heard(c);
}

/* A reply to a call that is over, or to none: nobody looks at it. */
static bool is_late(const struct zc_call *call, const struct zc_msg *m)
{
    bool pong = m->type == (ZC_T_PING | ZC_REPLY) && zc_tag_lane(m->tag) == 0;

    return m->type & ZC_REPLY && !call && !pong;
}

/* With the lock, which is dropped where the message is a STORED. */
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
    } else if (m->type == ZC_T_STORED) {
        zc_client_stored(c, m);
    } else if (m->type == ZC_T_DROPPED) {
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

    while (c->ncalls >= c->credits && !c->broken)
        zc_net_wait_for_change(c->net);
    zc_waited.credit += zc_now() - began;
    zc_event_was(ZC_EVENT_CREDIT, began, zc_now(), 0);
}

/* Waits for a credit and takes it; or why the client is broken. */
static int enter(struct zc_client *c, struct zc_call *call, struct zc_msg *msg)
{
    struct zc_net *n = c->net;
    int rc = 0;

    zc_lock_get(&n->lock);
    if (c->ncalls >= c->credits && !c->broken)
        wait_for_credit(c);
    zc_net_leave(n);
    if (c->broken) {
        rc = zc_errorf(-c->broken, "%s: %s", c->label, c->why);
    } else {
        unsigned lane = free_lane(c);

        call->tag = msg->tag = zc_tag(lane, ++n->next_count);
        call->last_sign = c->last_sent = zc_now();
        if (!c->unanswered)
            c->unanswered = c->last_sent;
        if (c->session)
            msg->session = c->session;
        c->lanes |= UINT64_C(1) << (lane - 1);
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
        zc_shake_begin(&c->shake, &c->secret, buf, (size_t)len);
    else if (zc_msg_is_sealed(msg->type))
        zc_seal_put(&c->keys, buf, (size_t)len);
    return zc_tp_send(c->net->tp, c->peer, buf, (size_t)len);
}

/* What cannot be sent because the other end is gone ends with the client, as all its calls do. */
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
        call->sums = (void *)(uintptr_t)msg->sums.p;
        call->sums_cap = msg->sums.n;
    }
    call->patience = n->timeout_ns;
    call->exposed = msg->flags & ZC_F_RMA;
    rc = enter(c, call, msg);
    if (rc) {
        free(call);
        return rc;
    }
    rc = post(c, msg);
    zc_lock_get(&n->lock);
    if (is_lost(rc)) {
        if (!c->failed)
            c->failed = rc;
    } else if (rc < 0 && !call->done) { /* zc_call_wait() returns it */
        call->status = rc;
        snprintf(call->text, sizeof call->text, "%s", zc_error_text(rc));
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
    char text[sizeof call->text];
    uint64_t began = zc_now();
    int status;

    zc_lock_get(&n->lock);
    while (!call->done || (c->broken && !c->removed))
        zc_net_wait_for_change(n);
    zc_waited.reply += zc_now() - began;
    zc_event_was(ZC_EVENT_WIRE, began, zc_now(), 0);
    zc_net_leave(n);
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
