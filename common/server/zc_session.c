/* zc_session.c - clients of the server and the files they have open.
 *
 *                    zc_session_hello()
 *                     |              |
 *                     v              v
 *    accepted()    ALIVE         REFUSED
 *           BYE:     |   |           |
 *           bye()    v   |           |
 *                  DEAD  | silence   | its time is over
 *                    |   |           |
 *                    v   v           v
 *                 LEAVING   zc_session_kill(), by the tick or as the server ends: the peer is
 *                    |      removed, nothing is posted to it any more
 *                    |  its last request has ended: zc_session_settle()
 *                    v
 *                 CLOSING   close_handle(), on the pool, each under the key of its file
 *                    |  the last one: handles_closed()
 *                    v
 *                  freed
 *
 * A client that has lost its connection comes back with a new HELLO, which names the session
 * before. That one ends first, on the way above, and HELLO is answered when it has been freed:
 * until then the new session `follows` it, and no message can be of it, for its number is not known
 * yet.  So nothing of the old one takes effect after anything of the new one: what arrives late
 * finds no session, what was being worked on has ended.
 *
 * Closing handles writes nothing back and reports nothing: what a client that is gone has
 * written stays dirty in the cache and is written back like everything else.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_server_internal.h"

struct zc_session *zc_session_find(struct zc_server *s, uint64_t id)
{
    zc_list_each (&s->by_id[id % ZC_SERVER_BUCKETS], n) {
        struct zc_session *ss = zc_list_entry(n, struct zc_session, hash);

        if (ss->id == id)
            return ss->state == ZC_SESSION_ALIVE ? ss : NULL;
    }
    return NULL;
}

static struct zc_session *find_client(struct zc_server *s, uint64_t client_id)
{
    zc_list_each (&s->sessions, n) {
        struct zc_session *ss = zc_list_entry(n, struct zc_session, link);

        if (ss->client_id == client_id && ss->state == ZC_SESSION_ALIVE)
            return ss;
    }
    return NULL;
}

/* ---- handles ---- */

static uint64_t number_of(const struct zc_slot *slot, uint32_t index)
{
    return (uint64_t)slot->generation << 32 | (index + 1);
}

struct zc_slot *zc_session_slot(struct zc_session *ss, uint64_t handle)
{
    uint32_t index = (uint32_t)handle - 1;

    if (index >= ss->nslots || !ss->slots[index].handle || ss->slots[index].closing ||
        number_of(&ss->slots[index], index) != handle)
        return NULL;
    return &ss->slots[index];
}

static struct zc_slot *free_slot(struct zc_session *ss)
{
    uint32_t n = ss->nslots ? ss->nslots * 2 : 8;
    struct zc_slot *more;

    for (uint32_t i = 0; i < ss->nslots; i++)
        if (!ss->slots[i].handle)
            return &ss->slots[i];
    if (n > ZC_SERVER_HANDLES)
        return NULL;
    more = calloc(n, sizeof *more);
    if (!more)
        return NULL;
    if (ss->nslots)
        memcpy(more, ss->slots, ss->nslots * sizeof *more);
    free(ss->slots);
    ss->slots = more;
    more += ss->nslots;
    ss->nslots = n;
    return more;
}

uint64_t zc_session_add(struct zc_session *ss, struct zc_handle *h, const struct zc_attr *attr,
                        bool through)
{
    struct zc_slot *slot = free_slot(ss);

    if (!slot)
        return 0;
    slot->handle = h;
    slot->attr = *attr;
    slot->through = through;
    slot->busy = 0;
    slot->closing = false;
    slot->generation++;
    return number_of(slot, (uint32_t)(slot - ss->slots));
}

uint64_t zc_session_number(const struct zc_session *ss, const struct zc_slot *slot)
{
    return number_of(slot, (uint32_t)(slot - ss->slots));
}

/* ---- the answer to HELLO ---- */

static void answer(struct zc_server *s, zc_peer peer, uint64_t tag, const struct zc_session *ss,
                   int status, const char *text)
{
    struct zc_msg r = {.type = ZC_T_HELLO,
                       .tag = tag,
                       .session = ss ? ss->id : 0,
                       .version_min = ZC_PROTOCOL,
                       .version_max = ZC_PROTOCOL,
                       .boot_id = s->cfg.boot_id,
                       .identity = s->cfg.identity ? s->cfg.identity : s->cfg.boot_id,
                       .silence_ms = ss ? (uint32_t)(ss->silence_ns / ZC_NS_PER_MS) : 0,
                       .max_inline = ZC_MAX_INLINE,
                       .credits = s->cfg.credits,
                       .page_size = zc_cache_page_size(s->cfg.cache)};

    zc_server_reply(s, peer, &r, status, text);
}

/* The session `id` is no more: who waited for that may begin. */
static void answer_followers(struct zc_server *s, uint64_t id)
{
    zc_list_each (&s->sessions, n) {
        struct zc_session *ss = zc_list_entry(n, struct zc_session, link);

        if (ss->follows != id || ss->state != ZC_SESSION_ALIVE)
            continue;
        ss->follows = 0;
        ss->last_heard = zc_now();
        answer(s, ss->peer, ss->hello_tag, ss, 0, NULL);
    }
}

/* It stays for a moment only, to send this: removing the peer now would cancel it. */
static void refuse(struct zc_session *ss, uint64_t tag, int status, const char *why)
{
    ss->state = ZC_SESSION_REFUSED;
    ss->follows = 0;
    ss->last_heard = zc_now();
    ss->silence_ns = ZC_SERVER_REFUSED_MS * ZC_NS_PER_MS;
    zc_info("client %s refused: %s", ss->name, why);
    answer(ss->server, ss->peer, tag, NULL, status, why);
}

static void say_pending(struct zc_session *ss, uint64_t now)
{
    struct zc_msg m = {.type = ZC_T_PENDING, .tag = ss->hello_tag};
    unsigned char buf[64];
    int len = zc_msg_encode(&m, buf, sizeof buf);

    ss->hello_sign = now;
    if (len > 0 && zc_tp_send(ss->server->tp, ss->peer, buf, (size_t)len) == 0)
        ss->server->stats.pending_sent++;
}

void zc_session_tell_follower(struct zc_session *ss, uint64_t now)
{
    ss->last_heard = now; /* it waits for us */
    if (now - ss->heard > ss->silence_ns)
        refuse(ss, ss->hello_tag, -EBUSY,
               "the daemon still works for the session that this client had before");
    else if (now - ss->hello_sign >= ZC_SERVER_FOLLOW_MS * ZC_NS_PER_MS)
        say_pending(ss, now);
}

/* ---- the end of a session ---- */

static void session_free(struct zc_session *ss)
{
    struct zc_server *s = ss->server;
    uint64_t id = ss->id;
    struct zc_list *n;

    zc_list_del(&ss->link);
    zc_list_del(&ss->hash);
    while ((n = zc_list_pop(&ss->told)))
        free(zc_list_entry(n, struct zc_told, link));
    free(ss->slots);
    free(ss->info);
    zc_session_views_forget(ss, 0);
    free(ss->owned);
    free(ss->address);
    free(ss);
    answer_followers(s, id);
}

static void handles_closed(struct zc_server *s, struct zc_notice *n)
{
    (void)s;
    session_free(zc_list_entry(n, struct zc_session, closed));
}

static void one_closed(struct zc_session *ss)
{
    if (__atomic_sub_fetch(&ss->closing, 1, __ATOMIC_ACQ_REL) == 0)
        zc_server_notify(ss->server, &ss->closed);
}

static void close_handle(struct zc_work *w)
{
    struct zc_slot *slot = zc_list_entry(w, struct zc_slot, close_work);

    zc_cache_disown(slot->handle);
    zc_cache_close(slot->handle);
    one_closed(slot->session);
}

void zc_session_settle(struct zc_session *ss)
{
    if (ss->state != ZC_SESSION_LEAVING || ss->nrequests)
        return;
    ss->state = ZC_SESSION_CLOSING;
    ss->closed.handle = handles_closed;
    ss->closing = 1; /* by us, until all are on their way */
    for (uint32_t i = 0; i < ss->nslots; i++) {
        struct zc_slot *slot = &ss->slots[i];

        if (!slot->handle)
            continue;
        slot->session = ss;
        slot->close_work.run = close_handle;
        slot->close_work.key = zc_cache_key(slot->handle);
        __atomic_add_fetch(&ss->closing, 1, __ATOMIC_RELAXED);
        zc_pool_submit(ss->server->pool, &slot->close_work);
    }
    one_closed(ss);
}

void zc_session_kill(struct zc_server *s, struct zc_session *ss, const char *why)
{
    if (why)
        zc_warn("client %s is dropped: %s; what it wrote is kept and written back", ss->name, why);
    ss->state = ZC_SESSION_LEAVING;
    s->stats.sessions--;
    zc_list_del(&ss->link);
    zc_list_add_tail(&s->leaving, &ss->link);
    zc_tp_peer_remove(s->tp, ss->peer);
    if (why)
        zc_dropped_add(s, ss, why);
    zc_exports_forget(s, ss->id);
    zc_session_leave_meeting(ss);
    zc_session_settle(ss);
}

/* ---- hello ---- */

static struct zc_session *session_new(struct zc_server *s, const struct zc_msg *m, zc_peer peer)
{
    struct zc_session *ss = calloc(1, sizeof *ss);
    uint64_t silence = s->cfg.silence_ms ? s->cfg.silence_ms : m->silence_ms;

    if (!ss)
        return NULL;
    ss->address = malloc(m->address.n);
    if (!ss->address) {
        free(ss);
        return NULL;
    }
    memcpy(ss->address, m->address.p, m->address.n);
    ss->address_len = m->address.n;
    if (silence < 100)
        silence = 100;
    if (silence > ZC_SERVER_SILENCE_MAX_MS)
        silence = ZC_SERVER_SILENCE_MAX_MS;
    ss->server = s;
    ss->id = ++s->next_session ? s->next_session : ++s->next_session;
    ss->client_id = m->client_id;
    ss->peer = peer;
    ss->silence_ns = silence * ZC_NS_PER_MS;
    ss->last_heard = ss->heard = zc_now();
    memcpy(ss->name, m->name.p, m->name.n);
    zc_list_init(&ss->requests);
    zc_list_init(&ss->told);
    zc_cards_owner_init(&ss->meeting.cards);
    zc_list_add_tail(&s->sessions, &ss->link);
    zc_list_add_tail(&s->by_id[ss->id % ZC_SERVER_BUCKETS], &ss->hash);
    s->stats.sessions++;
    zc_debug("client %s, silence %llu ms", ss->name, (unsigned long long)silence);
    return ss;
}

/* Why this HELLO is refused; NULL: it is not. */
static const char *refusal(struct zc_server *s, const struct zc_msg *m, int *status, char *buf,
                           size_t len)
{
    if (m->version_min > ZC_PROTOCOL || m->version_max < ZC_PROTOCOL) {
        *status = -EPROTONOSUPPORT;
        snprintf(buf, len,
                 "this daemon speaks protocol %u, the client %u to %u; use the same release",
                 (unsigned)ZC_PROTOCOL, m->version_min, m->version_max);
        return buf;
    }
    if (s->stopping) {
        *status = -ESHUTDOWN;
        return "the daemon is stopping";
    }
    if (s->stats.sessions >= ZC_SERVER_SESSIONS) {
        *status = -EUSERS;
        return "the daemon has too many clients";
    }
    return NULL;
}

/* The session that HELLO says it takes the place of, in whatever state; NULL: there is none (any
 * more). */
static struct zc_session *find_replaced(struct zc_server *s, const struct zc_msg *m)
{
    zc_list_each (&s->by_id[m->replaces % ZC_SERVER_BUCKETS], n) {
        struct zc_session *ss = zc_list_entry(n, struct zc_session, hash);

        if (ss->id == m->replaces && ss->client_id == m->replaces_client &&
            ss->state != ZC_SESSION_REFUSED)
            return ss;
    }
    return NULL;
}

/* HELLO takes effect: the session it replaces ends, and the new one is told of when that is over,
 * at once if there is none.  The old one is killed by the tick, outside the transport's callback.
 */
static void accepted(struct zc_server *s, struct zc_session *ss, const struct zc_msg *m)
{
    struct zc_session *old = m->replaces ? find_replaced(s, m) : NULL;

    s->stats.sessions_opened++;
    if (!old) {
        answer(s, ss->peer, m->tag, ss, 0, NULL);
        return;
    }
    s->stats.sessions_replaced++;
    ss->follows = old->id;
    ss->hello_tag = m->tag;
    say_pending(ss, zc_now());
    if (old->state == ZC_SESSION_ALIVE) {
        zc_session_leave_meeting(old);
        old->state = ZC_SESSION_DEAD;
        s->next_tick = 0;
    }
    zc_info("client %s is back, in place of its session before", ss->name);
}

void zc_session_hello(struct zc_server *s, const struct zc_msg *m)
{
    struct zc_session *ss = find_client(s, m->client_id);
    const char *why;
    char buf[160];
    zc_peer peer;
    int status = 0, rc;

    if (ss) { /* said twice */
        if (!ss->follows)
            answer(s, ss->peer, m->tag, ss, 0, NULL);
        return;
    }
    if (m->magic != ZC_MAGIC) {
        zc_server_complain(s, "HELLO with a wrong magic");
        return;
    }
    rc = zc_tp_peer_add(s->tp, m->address.p, m->address.n, &peer);
    if (rc) {
        zc_server_complain(s, zc_error_text(rc));
        return;
    }
    ss = session_new(s, m, peer);
    if (!ss)
        return; /* no memory: the client's deadline tells it */
    why = refusal(s, m, &status, buf, sizeof buf);
    if (!why) {
        accepted(s, ss, m);
        return;
    }
    refuse(ss, m->tag, status, why);
}
