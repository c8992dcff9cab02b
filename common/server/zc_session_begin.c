/* zc_session_begin.c - how sessions begin: HELLO, AUTH, and those that take the place of others.
 *
 * zc_session.c has the states.
 *
 * What HELLO asks for happens when AUTH has shown that its sender knows the secret, and in one
 * place, accept_client(); until then a session is an address and 32 bytes, of which there are not
 * more than ZC_SERVER_SHAKING.
 *
 * A client that has lost its connection comes back with a new HELLO, which names the session
 * before.  When AUTH was right that one ends first, as any does, and AUTH is answered when it
 * has been freed: until then the new session is FOLLOWING it, and no request of it is taken.  So
 * nothing of the old one takes effect after anything of the new one: what arrives late finds no
 * session, what was being worked on has ended.
 *
 * Its attempts to come back have one client_id.  One that it gave up, because it heard nothing, may
 * be here still, in any state: it ends when AUTH of a later one is right.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "zc_cred.h"
#include "zc_log.h"
#include "zc_server_internal.h"

/* The one that this client has. */
static struct zc_session *find_client(const struct zc_session *of)
{
    zc_list_each (&of->server->sessions, n) {
        struct zc_session *ss = zc_list_entry(n, struct zc_session, link);

        if (ss->client_id == of->client_id && ss->state == ZC_SESSION_ALIVE && zc_user_same(ss, of))
            return ss;
    }
    return NULL;
}

/* ---- hello: nobody is let in by it ---- */

static uint64_t new_id(struct zc_server *s)
{
    uint64_t id = 0;

    while (id == 0 || zc_session_any(s, id))
        if (getrandom(&id, sizeof id, 0) != sizeof id)
            return 0;
    return id;
}

/* How long its client may be silent, ms. */
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
    ss->silence_ns = silence_of(ss) * ZC_NS_PER_MS; /* it waits no longer for us */
    if (ss->silence_ns > ZC_SERVER_SHAKING_MS * ZC_NS_PER_MS)
        ss->silence_ns = ZC_SERVER_SHAKING_MS * ZC_NS_PER_MS;
    ss->last_heard = ss->heard = zc_now();
    memcpy(ss->name, m->name.p, m->name.n);
    zc_list_init(&ss->requests);
    zc_list_init(&ss->told);
    zc_cards_owner_init(&ss->meeting.cards);
    zc_list_add_tail(&s->shaking, &ss->link);
    zc_list_add_tail(&s->by_id[ss->id % ZC_SERVER_BUCKETS], &ss->hash);
    s->stats.handshakes++;
    return ss;
}

static bool have_room(const struct zc_server *s)
{
    return s->stats.handshakes < ZC_SERVER_SHAKING && zc_account_has_room(&s->account);
}

/* Who has waited the longest has to go where there are too many: who means it has answered at once.
 * The tick does it, as this is a callback. */
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
        zc_account_close(&s->account, &ss->purse);
        s->next_tick = 0;
        return;
    }
}

/* Why nobody can be let in by this HELLO; 0: he can. */
static int objection(const struct zc_msg *m, bool munge, char *text, size_t len)
{
    if (m->version_min > ZC_PROTOCOL || m->version_max < ZC_PROTOCOL || m->version != ZC_PROTOCOL) {
        snprintf(text, len,
                 "this daemon speaks protocol %u, the client %u to %u; use the same release",
                 (unsigned)ZC_PROTOCOL, m->version_min, m->version_max);
        return -EPROTONOSUPPORT;
    }
    if (m->method != (munge ? ZC_METHOD_MUNGE : ZC_METHOD_SECRET)) {
        snprintf(text, len, "this daemon lets in %s, not by method %u",
                 munge ? "whom munge knows" : "who knows its secret", m->method);
        return -EOPNOTSUPP;
    }
    if (m->nonce.n != ZC_NONCE_SIZE) {
        snprintf(text, len, "HELLO with a nonce of %u bytes", m->nonce.n);
        return -EPROTO;
    }
    return 0;
}

int zc_session_answer(struct zc_session *ss, uint64_t tag, int status, const char *why)
{
    struct zc_server *s = ss->server;
    unsigned char buf[1024], nonce[ZC_NONCE_SIZE], proof[ZC_PROOF_SIZE] = {0};
    struct zc_msg r = {.type = ZC_T_HELLO | ZC_REPLY,
                       .tag = tag,
                       .session = status ? 0 : ss->id,
                       .status = status,
                       .text = {why, status ? (uint32_t)strlen(why) : 0},
                       .version_min = ZC_PROTOCOL,
                       .version_max = ZC_PROTOCOL,
                       .boot_id = s->cfg.boot_id,
                       .identity = s->cfg.identity ? s->cfg.identity : s->cfg.boot_id,
                       .silence_ms = (uint32_t)silence_of(ss),
                       .max_inline = ss->purse.max_inline,
                       .credits = ss->purse.credits,
                       .page_size = zc_cache_page_size(s->cfg.cache),
                       .nonce = {nonce, sizeof nonce},
                       .proof = {proof, sizeof proof}};
    int len = zc_nonce_make(nonce);

    if (len == 0)
        len = zc_msg_encode(&r, buf, sizeof buf);
    if (len < 0)
        return len;
    if (status == 0)
        zc_shake_answer(&ss->shake, buf, (size_t)len);
    return zc_session_post(ss, &r, buf, (size_t)len);
}

void zc_session_hello(struct zc_server *s, const struct zc_msg *m, const void *buf, size_t len)
{
    struct zc_session *ss;
    char why[160] = "";
    zc_peer peer;
    int status, rc;

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
    if (!ss) { /* the client's deadline tells it */
        zc_tp_peer_remove(s->tp, peer);
        return;
    }
    status = objection(m, s->cfg.munge, why, sizeof why);
    if (status == 0 && !zc_account_open(&s->account, &ss->purse, s->cfg.credits)) {
        snprintf(why, sizeof why, "the daemon has no memory for more clients than %llu",
                 (unsigned long long)s->stats.sessions);
        status = -EUSERS;
    }
    if (status) { /* removing the peer now would cancel the answer */
        ss->state = ZC_SESSION_REFUSED;
        ss->silence_ns = ZC_SERVER_REFUSED_MS * ZC_NS_PER_MS;
        zc_audit_kept_out(ss, why);
    } else {
        zc_shake_begin(&ss->shake, &s->cfg.secret, buf, len);
    }
    rc = zc_session_answer(ss, m->tag, status, why);
    if (rc)
        zc_debug("cannot answer %s: %s", ss->name, zc_error_text(rc));
}

/* ---- auth: the session begins ---- */

/* Why nobody is let in now, or this one is not; 0: he is, and counted. */
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

/* What showed who the client is, and is answered now. */
static uint8_t proof_type(const struct zc_session *ss)
{
    return ss->server->cfg.munge ? ZC_T_VOUCH : ZC_T_AUTH;
}

/* It stays for a moment only, to send this: removing the peer now would cancel it. */
static void refuse(struct zc_session *ss, uint64_t tag, int status, const char *why)
{
    struct zc_msg reply = {.type = proof_type(ss), .tag = tag};

    ss->state = ZC_SESSION_REFUSED;
    ss->last_heard = zc_now();
    ss->silence_ns = ZC_SERVER_REFUSED_MS * ZC_NS_PER_MS;
    zc_audit_kept_out(ss, why);
    zc_session_reply(ss, &reply, status, why);
}

/* The one place where a client is let in: it has shown that it knows the secret, and the session
 * that this one takes the place of is no more. */
static void accept_client(struct zc_session *ss, uint64_t tag)
{
    struct zc_server *s = ss->server;
    struct zc_session *before = find_client(ss);
    struct zc_msg reply = {.type = proof_type(ss), .tag = tag};

    if (before) { /* it has begun anew */
        before->state = ZC_SESSION_DEAD;
        s->next_tick = 0;
    }
    zc_list_del(&ss->link);
    zc_list_add_tail(&s->sessions, &ss->link);
    s->stats.handshakes--;
    s->stats.sessions++;
    s->stats.sessions_opened++;
    ss->state = ZC_SESSION_ALIVE;
    ss->accepted = true;
    ss->number = s->stats.sessions_opened;
    zc_sharer_enter(ss);
    ss->follows = 0;
    ss->silence_ns = silence_of(ss) * ZC_NS_PER_MS;
    ss->last_heard = ss->heard = zc_now();
    zc_debug("client %s, silence %llu ms", ss->name,
             (unsigned long long)(ss->silence_ns / ZC_NS_PER_MS));
    zc_audit_begins(ss);
    zc_session_reply(ss, &reply, 0, NULL);
}

/* Lets it in, or says why not. */
static void decide(struct zc_session *ss, uint64_t tag)
{
    const char *why = NULL;
    int status = full(ss, &why);

    if (status)
        refuse(ss, tag, status, why);
    else
        accept_client(ss, tag);
}

/* ---- auth, of one that takes the place of another session ---- */

/* The session that HELLO said it takes the place of, in whatever state; NULL: there is none (any
 * more). */
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

/* One at most follows a session: so what waits is counted with those that it waits for. */
static void end_follower(struct zc_server *s, uint64_t id)
{
    zc_list_each (&s->shaking, n) {
        struct zc_session *ss = zc_list_entry(n, struct zc_session, link);

        if (ss->state != ZC_SESSION_FOLLOWING || ss->follows != id)
            continue;
        ss->state = ZC_SESSION_DEAD;
        zc_account_close(&s->account, &ss->purse);
        s->next_tick = 0;
    }
}

/* The old one is killed by the tick, outside the transport's callback. */
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
        zc_session_leave_meeting(old);
        old->state = ZC_SESSION_DEAD;
        s->next_tick = 0;
    }
    if (zc_audit_may_say(ss, ZC_AUDIT_BACK))
        zc_info("client %s is back, in place of its session before", ss->name);
}

void zc_session_tell_follower(struct zc_session *ss, uint64_t now)
{
    ss->last_heard = now; /* it waits for us */
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

/* Those in whose place this one has come: nobody waits for them any more, and an AUTH that was
 * delayed must not begin a session, in which accept_client() would end ours.  One that is nobody's
 * yet, as munge has not said whose, may be of somebody else: was_given_up() looks at it, then. */
static void end_attempts_before(struct zc_session *ss)
{
    zc_list_each (&ss->server->shaking, n) {
        struct zc_session *before = zc_list_entry(n, struct zc_session, link);

        if (before == ss)
            return; /* what comes now is later */
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

/* Its client has begun anew since, and got through. */
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
    zc_shake_keys(&ss->shake, true, zc_tp_is_local(s->tp, ss->peer), &ss->keys);
    zc_forget(&ss->shake, sizeof ss->shake);
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

/* A wrong proof changes nothing: who sent HELLO may still send the right one, until his time is
 * over.  He is not told either: it was not him. */
void zc_session_auth(struct zc_server *s, const struct zc_msg *m)
{
    struct zc_session *ss = zc_session_any(s, m->session);

    if (!ss || ss->state != ZC_SESSION_SHAKING || s->cfg.munge ||
        !zc_shake_check_proof(&ss->shake, m->proof.p, m->proof.n)) {
        zc_server_complain(s, &s->stats.handshakes_refused,
                           "AUTH by somebody who does not know the secret");
        if (ss && ss->state == ZC_SESSION_SHAKING)
            zc_audit_kept_out(ss, "it does not know the secret");
        return;
    }
    zc_session_known(ss, m->tag);
}
