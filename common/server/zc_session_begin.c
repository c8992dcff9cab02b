/* zc_session_begin.c - the beginning of sessions: HELLO, AUTH, and sessions that replace others.
 *
 * zc_session.c has the states.
 *
 * What HELLO asks for is granted after AUTH has proved that its sender knows the secret, and in one
 * place, accept_client(); until then a session is an address and 32 bytes, and there are at most
 * ZC_SERVER_SHAKING of them.
 *
 * A client that has lost its connection reconnects with a new HELLO, which names the previous
 * session.  After a correct AUTH that session ends first, and AUTH is answered when it has been
 * freed: until then the new session is FOLLOWING it, and its requests are refused.  So nothing of
 * the old session takes effect after anything of the new one: late messages find no session, and
 * requests under way have ended.
 *
 * All attempts of a client to reconnect have one client_id.  An attempt that it gave up for want of
 * a reply may still be here, in any state: it ends when AUTH of a later one is correct.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "zc_cred.h"
#include "zc_log.h"
#include "zc_server_internal.h"

/* Finds the session that this client has. */
static struct zc_session *find_client(const struct zc_session *of)
{
    zc_list_each (&of->server->sessions, n) {
        struct zc_session *ss = zc_list_entry(n, struct zc_session, link);

        if (ss->client_id == of->client_id && ss->state == ZC_SESSION_ALIVE && zc_user_same(ss, of))
            return ss;
    }
    return NULL;
}

/* ---- hello: grants nothing ---- */

static uint64_t new_id(struct zc_server *s)
{
    uint64_t id = 0;

    while (id == 0 || zc_session_any(s, id))
        if (getrandom(&id, sizeof id, 0) != sizeof id)
            return 0;
    return id;
}

/* Allowed silence of its client, ms. */
static uint64_t silence_of(const struct zc_session *ss)
{
    uint64_t ms = ss->server->cfg.silence_ms ? ss->server->cfg.silence_ms : ss->asked_ms;

    if (ms < 100)
        ms = 100;
    return ms < ZC_SERVER_SILENCE_MAX_MS ? ms : ZC_SERVER_SILENCE_MAX_MS;
}

/* NULL: no memory, or no random number. */
static struct zc_session *session_new(struct zc_server *s, const struct zc_msg *m, zc_peer peer)
{
    struct zc_session *ss = calloc(1, sizeof *ss);
    uint64_t id = new_id(s);

    if (ss)
        ss->address = malloc(m->address.n);
    if (!ss || !ss->address || !id) {
        if (ss)
            free(ss->address);
        free(ss);
        return NULL;
    }
    memcpy(ss->address, m->address.p, m->address.n);
    ss->address_len = m->address.n;
    ss->server = s;
    ss->id = id;
    ss->client_id = m->client_id;
    ss->begun = ++s->begun;
    ss->replaces = m->replaces;
    ss->replaces_client = m->replaces_client;
    ss->peer = peer;
    ss->asked_ms = m->silence_ms;
    ss->silence_ns = silence_of(ss) * ZC_NS_PER_MS; /* its client gives up then */
    if (ss->silence_ns > ZC_SERVER_SHAKING_MS * ZC_NS_PER_MS)
        ss->silence_ns = ZC_SERVER_SHAKING_MS * ZC_NS_PER_MS;
    ss->last_heard = ss->heard = zc_now();
    memcpy(ss->name, m->name.p, m->name.n);
    zc_list_init(&ss->requests);
    zc_list_init(&ss->errseqs);
    zc_rendezvous_owner_init(&ss->records.records);
    zc_list_add_tail(&s->shaking, &ss->link);
    zc_list_add_tail(&s->by_id[ss->id % ZC_SERVER_BUCKETS], &ss->hash);
    s->stats.handshakes++;
    return ss;
}

static bool have_room(const struct zc_server *s)
{
    return s->stats.handshakes < ZC_SERVER_SHAKING && zc_session_mem_has_room(&s->session_mem);
}

/* Drops the oldest handshake when there are too many: a correct client answers at once.  Done by
 * the tick, as this is a callback. */
static void make_room(struct zc_server *s)
{
    if (have_room(s))
        return;
    zc_list_each (&s->shaking, n) {
        struct zc_session *ss = zc_list_entry(n, struct zc_session, link);

        if (zc_session_gone(ss) || ss->state == ZC_SESSION_FOLLOWING)
            continue;
        s->stats.handshakes_lapsed += ss->state == ZC_SESSION_SHAKING;
        ss->state = ZC_SESSION_DEAD;
        zc_session_mem_close(&s->session_mem, &ss->quota);
        s->next_tick = 0;
        return;
    }
}

/* Returns why this HELLO is refused; 0: it is accepted. */
static int objection(const struct zc_msg *m, bool munge)
{
    if (m->version_min > ZC_PROTOCOL || m->version_max < ZC_PROTOCOL || m->version != ZC_PROTOCOL)
        return zc_errorf(
            EPROTONOSUPPORT,
            "this daemon speaks protocol %u, the client %u to %u; use the same release",
            (unsigned)ZC_PROTOCOL, m->version_min, m->version_max);
    if (m->method != (munge ? ZC_METHOD_MUNGE : ZC_METHOD_SECRET))
        return zc_errorf(EOPNOTSUPP, "this daemon lets in %s, not by method %u",
                         munge ? "whom munge knows" : "who knows its secret", m->method);
    if (m->nonce.n != ZC_NONCE_SIZE)
        return zc_errorf(EPROTO, "HELLO with a nonce of %u bytes", m->nonce.n);
    return 0;
}

int zc_session_answer(struct zc_session *ss, uint64_t tag, const struct zc_error *e)
{
    struct zc_server *s = ss->server;
    unsigned char buf[1024], nonce[ZC_NONCE_SIZE], proof[ZC_PROOF_SIZE] = {0};
    struct zc_msg r = {.type = ZC_T_HELLO | ZC_REPLY,
                       .tag = tag,
                       .session = e->rc ? 0 : ss->id,
                       .status = e->rc,
                       .text = {e->text, (uint32_t)strlen(e->text)},
                       .version_min = ZC_PROTOCOL,
                       .version_max = ZC_PROTOCOL,
                       .boot_id = s->cfg.boot_id,
                       .identity = s->cfg.identity ? s->cfg.identity : s->cfg.boot_id,
                       .silence_ms = (uint32_t)silence_of(ss),
                       .max_inline = ss->quota.max_inline,
                       .credits = ss->quota.credits,
                       .page_size = zc_cache_page_size(s->cfg.cache),
                       .nonce = {nonce, sizeof nonce},
                       .proof = {proof, sizeof proof}};
    int len = zc_nonce_make(nonce);

    if (len == 0)
        len = zc_msg_encode(&r, buf, sizeof buf);
    if (len < 0)
        return len;
    if (!e->rc)
        zc_handshake_answer(&ss->handshake, buf, (size_t)len);
    return zc_session_post(ss, &r, buf, (size_t)len);
}

void zc_session_hello(struct zc_server *s, const struct zc_msg *m, const void *buf, size_t len)
{
    struct zc_session *ss;
    struct zc_error e;
    zc_peer peer;
    int rc;

    if (m->magic != ZC_MAGIC) {
        zc_server_complain(s, &s->stats.malformed, "HELLO with a wrong magic");
        return;
    }
    make_room(s);
    rc = zc_tp_peer_add(s->tp, m->address.p, m->address.n, &peer);
    if (rc) {
        zc_server_complain(s, &s->stats.malformed, zc_error_text(rc));
        return;
    }
    ss = session_new(s, m, peer);
    if (!ss) { /* the client has its deadline */
        zc_tp_peer_remove(s->tp, peer);
        return;
    }
    zc_error_keep(&e, objection(m, s->cfg.munge));
    if (!e.rc && !zc_session_mem_open(&s->session_mem, &ss->quota, s->cfg.credits))
        zc_error_set(&e, -EUSERS, "the daemon has no memory for more clients than %llu",
                     (unsigned long long)s->stats.sessions);
    if (e.rc) { /* removing the peer now would cancel the reply */
        ss->state = ZC_SESSION_REFUSED;
        ss->silence_ns = ZC_SERVER_REFUSED_MS * ZC_NS_PER_MS;
        zc_audit_kept_out(ss, e.text);
    } else {
        zc_handshake_begin(&ss->handshake, &s->cfg.secret, buf, len);
    }
    rc = zc_session_answer(ss, m->tag, &e);
    if (rc)
        zc_debug("cannot answer %s: %s", ss->name, zc_error_text(rc));
}

/* ---- auth: the session begins ---- */

/* Returns why the client is not admitted now; 0: it is, and is counted. */
static int full(struct zc_session *ss, const char **why)
{
    struct zc_server *s = ss->server;

    if (s->stopping) {
        *why = "the daemon is stopping";
        return -ESHUTDOWN;
    }
    if (s->stats.sessions >= ZC_SERVER_SESSIONS) {
        *why = "the daemon has too many clients";
        return -EUSERS;
    }
    *why = s->cfg.munge ? zc_user_enter(ss) : NULL;
    return *why ? -EUSERS : 0;
}

/* The type of message that proved the client's identity, and is answered now. */
static uint8_t proof_type(const struct zc_session *ss)
{
    return ss->server->cfg.munge ? ZC_T_CREDENTIAL : ZC_T_AUTH;
}

/* It stays for a moment to send this: removing the peer now would cancel it. */
static void refuse(struct zc_session *ss, uint64_t tag, int status, const char *why)
{
    struct zc_msg reply = {.type = proof_type(ss), .tag = tag};

    ss->state = ZC_SESSION_REFUSED;
    ss->last_heard = zc_now();
    ss->silence_ns = ZC_SERVER_REFUSED_MS * ZC_NS_PER_MS;
    zc_audit_kept_out(ss, why);
    zc_session_reply(ss, &reply, status, why);
}

/* The one place where a client is admitted: it has proved that it knows the secret, and the session
 * that this one replaces has ended. */
static void accept_client(struct zc_session *ss, uint64_t tag)
{
    struct zc_server *s = ss->server;
    struct zc_session *before = find_client(ss);
    struct zc_msg reply = {.type = proof_type(ss), .tag = tag};

    if (before) { /* it is a reconnect */
        before->state = ZC_SESSION_DEAD;
        s->next_tick = 0;
    }
    zc_list_del(&ss->link);
    zc_list_add_tail(&s->sessions, &ss->link);
    s->stats.handshakes--;
    s->stats.sessions++;
    if (s->cfg.clients)
        __atomic_add_fetch(s->cfg.clients, 1, __ATOMIC_ACQ_REL);
    s->stats.sessions_opened++;
    ss->state = ZC_SESSION_ALIVE;
    ss->accepted = true;
    ss->number = s->stats.sessions_opened;
    zc_tenant_enter(ss);
    ss->follows = 0;
    ss->silence_ns = silence_of(ss) * ZC_NS_PER_MS;
    ss->last_heard = ss->heard = zc_now();
    zc_debug("client %s, silence %llu ms", ss->name,
             (unsigned long long)(ss->silence_ns / ZC_NS_PER_MS));
    zc_audit_begins(ss);
    zc_session_reply(ss, &reply, 0, NULL);
}

/* Admits the client, or replies why not. */
static void decide(struct zc_session *ss, uint64_t tag)
{
    const char *why = NULL;
    int status = full(ss, &why);

    if (status)
        refuse(ss, tag, status, why);
    else
        accept_client(ss, tag);
}

/* ---- auth of a session that replaces another ---- */

/* Finds the session that HELLO names as replaced, in any state; NULL: there is none (any more). */
static struct zc_session *find_replaced(const struct zc_session *ss)
{
    struct zc_session *old = ss->replaces ? zc_session_any(ss->server, ss->replaces) : NULL;

    return old && old->accepted && old->client_id == ss->replaces_client && zc_user_same(old, ss)
               ? old
               : NULL;
}

static void say_pending(struct zc_session *ss, uint64_t now)
{
    struct zc_msg m = {.type = ZC_T_PENDING, .tag = ss->auth_tag};

    ss->auth_sign = now;
    if (zc_session_notify(ss, &m) == 0)
        ss->server->stats.pending_sent++;
}

/* At most one follows a session: so its waiting costs no more than the session itself. */
static void end_follower(struct zc_server *s, uint64_t id)
{
    zc_list_each (&s->shaking, n) {
        struct zc_session *ss = zc_list_entry(n, struct zc_session, link);

        if (ss->state != ZC_SESSION_FOLLOWING || ss->follows != id)
            continue;
        ss->state = ZC_SESSION_DEAD;
        zc_session_mem_close(&s->session_mem, &ss->quota);
        s->next_tick = 0;
    }
}

/* The old one is ended by the tick, outside the transport's callback. */
static void follow(struct zc_session *ss, struct zc_session *old, uint64_t tag)
{
    struct zc_server *s = ss->server;

    end_follower(s, old->id);
    s->stats.sessions_replaced++;
    ss->state = ZC_SESSION_FOLLOWING;
    ss->follows = old->id;
    ss->auth_tag = tag;
    ss->silence_ns = silence_of(ss) * ZC_NS_PER_MS;
    ss->last_heard = ss->heard = zc_now();
    say_pending(ss, zc_now());
    if (old->state == ZC_SESSION_ALIVE) {
        zc_session_withdraw_all(old);
        old->state = ZC_SESSION_DEAD;
        s->next_tick = 0;
    }
    if (zc_audit_may_say(ss, ZC_AUDIT_BACK))
        zc_info("client %s is back, in place of its session before", ss->name);
}

void zc_session_tell_follower(struct zc_session *ss, uint64_t now)
{
    ss->last_heard = now; /* it waits for the server */
    if (now - ss->heard > ss->silence_ns)
        refuse(ss, ss->auth_tag, -EBUSY,
               "the daemon still works for the session that this client had before");
    else if (now - ss->auth_sign >= ZC_SERVER_FOLLOW_MS * ZC_NS_PER_MS)
        say_pending(ss, now);
}

void zc_session_followed(struct zc_server *s, uint64_t id)
{
    zc_list_each_safe (&s->shaking, n) {
        struct zc_session *ss = zc_list_entry(n, struct zc_session, link);

        if (ss->state == ZC_SESSION_FOLLOWING && ss->follows == id)
            decide(ss, ss->auth_tag);
    }
}

/* Ends earlier attempts of this client: it does not wait for them any more, and a delayed AUTH of
 * one must not begin a session and end this one.  An attempt that munge has not identified yet may
 * be another user's: was_given_up() checks it then. */
static void end_attempts_before(struct zc_session *ss)
{
    zc_list_each (&ss->server->shaking, n) {
        struct zc_session *before = zc_list_entry(n, struct zc_session, link);

        if (before == ss)
            return; /* later messages belong to a later attempt */
        if (before->client_id != ss->client_id || !zc_user_same(before, ss) ||
            (before->state != ZC_SESSION_SHAKING && before->state != ZC_SESSION_FOLLOWING))
            continue;
        before->state = ZC_SESSION_DEAD;
        ss->server->next_tick = 0;
    }
}

static bool is_later(const struct zc_session *of, const struct zc_session *ss)
{
    return of->begun > ss->begun && of->client_id == ss->client_id && zc_user_same(of, ss) &&
           (of->state == ZC_SESSION_ALIVE || of->state == ZC_SESSION_FOLLOWING);
}

/* Whether its client has made a newer attempt, and succeeded. */
static bool was_given_up(const struct zc_session *ss)
{
    zc_list_each (&ss->server->sessions, n)
        if (is_later(zc_list_entry(n, struct zc_session, link), ss))
            return true;
    zc_list_each (&ss->server->shaking, n)
        if (is_later(zc_list_entry(n, struct zc_session, link), ss))
            return true;
    return false;
}

void zc_session_known(struct zc_session *ss, uint64_t tag)
{
    struct zc_server *s = ss->server;
    struct zc_session *old;

    ss->known = true;
    zc_handshake_keys(&ss->handshake, true, zc_tp_is_local(s->tp, ss->peer), &ss->keys);
    zc_forget(&ss->handshake, sizeof ss->handshake);
    if (was_given_up(ss)) {
        ss->state = ZC_SESSION_DEAD;
        s->next_tick = 0;
        return;
    }
    end_attempts_before(ss);
    old = s->stopping ? NULL : find_replaced(ss);
    if (old)
        follow(ss, old, tag);
    else
        decide(ss, tag);
}

/* A wrong proof changes nothing: the real client may still send the right one within its time, and
 * gets no reply to the wrong one, which it has not sent. */
void zc_session_auth(struct zc_server *s, const struct zc_msg *m)
{
    struct zc_session *ss = zc_session_any(s, m->session);

    if (!ss || ss->state != ZC_SESSION_SHAKING || s->cfg.munge ||
        !zc_handshake_check_proof(&ss->handshake, m->proof.p, m->proof.n)) {
        zc_server_complain(s, &s->stats.handshakes_refused,
                           "AUTH by a client that does not know the secret");
        if (ss && ss->state == ZC_SESSION_SHAKING)
            zc_audit_kept_out(ss, "it does not know the secret");
        return;
    }
    zc_session_known(ss, m->tag);
}
