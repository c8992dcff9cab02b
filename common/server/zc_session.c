/* zc_session.c - clients of the server and the files they have open.
 *
 *                    zc_session_hello()
 *                     |              |
 *                     v              |
 *                  SHAKING ----.     |        SHAKING, with no AUTH in time or no room: DEAD
 *  zc_session_auth(): |         \    |
 *         follow()    |------.   |   |
 *                     |      v   |   |
 *                     | FOLLOWING |  |        another session, until that is freed
 *   accept_client()   |   /    \  |  |
 *                     v  v      v v  v
 *                   ALIVE         REFUSED
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
 * How one begins is in zc_session_begin.c.
 *
 * Closing handles writes nothing back and reports nothing: what a client that is gone has
 * written stays dirty in the cache and is written back like everything else.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_cred.h"
#include "zc_log.h"
#include "zc_server_internal.h"

struct zc_session *zc_session_any(struct zc_server *s, uint64_t id)
{
    zc_list_each (&s->by_id[id % ZC_SERVER_BUCKETS], n) {
        struct zc_session *ss = zc_list_entry(n, struct zc_session, hash);

        if (ss->id == id)
            return ss;
    }
    return NULL;
}

struct zc_session *zc_session_shaking(struct zc_server *s, uint64_t id)
{
    struct zc_session *ss = zc_session_any(s, id);

    return ss && ss->state == ZC_SESSION_SHAKING ? ss : NULL;
}

struct zc_session *zc_session_find(struct zc_server *s, uint64_t id)
{
    struct zc_session *ss = zc_session_any(s, id);

    return ss && ss->state == ZC_SESSION_ALIVE ? ss : NULL;
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
    slot->unsynced = (struct zc_unsynced){0, 0};
    slot->steps = NULL;
    slot->busy = 0;
    slot->closing = false;
    slot->generation++;
    return number_of(slot, (uint32_t)(slot - ss->slots));
}

uint64_t zc_session_number(const struct zc_session *ss, const struct zc_slot *slot)
{
    return number_of(slot, (uint32_t)(slot - ss->slots));
}

/* ---- what is said to a client ---- */

int zc_session_post(struct zc_session *ss, const struct zc_msg *m, const void *buf, size_t len)
{
    char line[512];

    if (zc_log_on(ZC_LOG_TRACE))
        zc_trace("> %s", zc_msg_print(m, line, sizeof line));
    return zc_tp_send(ss->server->tp, ss->peer, buf, len);
}

static int send_sealed(struct zc_session *ss, struct zc_msg *m)
{
    unsigned char buf[ZC_MAX_MESSAGE];
    int len;

    m->session = ss->id;
    len = zc_msg_encode(m, buf, sizeof buf);
    if (len < 0)
        return len;
    zc_mac_put(&ss->keys, buf, (size_t)len);
    return zc_session_post(ss, m, buf, (size_t)len);
}

void zc_session_reply(struct zc_session *ss, struct zc_msg *m, int status, const char *text)
{
    int rc;

    m->type |= ZC_REPLY;
    m->version = ZC_PROTOCOL;
    m->status = status;
    if (status && text)
        m->text = (struct zc_bytes){text, (uint32_t)strlen(text)};
    rc = send_sealed(ss, m);
    if (rc) /* the client's deadline tells it */
        zc_debug("cannot reply: %s", zc_error_text(rc));
}

int zc_session_notify(struct zc_session *ss, struct zc_msg *m)
{
    if (zc_session_stalled(ss))
        return -EAGAIN;
    m->count = ++ss->notices;
    return send_sealed(ss, m);
}

/* ---- the end of a session ---- */

static void session_free(struct zc_session *ss)
{
    struct zc_server *s = ss->server;
    uint64_t id = ss->id;
    struct zc_list *n;

    zc_list_del(&ss->link);
    zc_list_del(&ss->hash);
    s->stats.checksum_errors += ss->mismatches;
    while ((n = zc_list_pop(&ss->errseqs)))
        free(zc_list_entry(n, struct zc_session_errseq, link));
    free(ss->slots);
    free(ss->info);
    zc_session_views_forget(ss, 0);
    free(ss->owned);
    free(ss->address);
    zc_user_leave(ss);
    zc_tenant_leave(ss);
    zc_cred_free(ss->cred);
    zc_session_mem_close(&s->session_mem, &ss->quota);
    zc_backpressure_forget(ss);
    zc_forget(&ss->handshake, sizeof ss->handshake);
    zc_forget(&ss->keys, sizeof ss->keys);
    free(ss);
    zc_session_followed(s, id);
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
        zc_request_steps_leave(ss, slot, false);
        slot->session = ss;
        slot->close_work.run = close_handle;
        slot->close_work.key = zc_cache_key(slot->handle);
        slot->close_work.flow = zc_tenant_flow(ss);
        __atomic_add_fetch(&ss->closing, 1, __ATOMIC_RELAXED);
        zc_pool_submit(ss->server->pool, &slot->close_work);
    }
    one_closed(ss);
}

void zc_session_kill(struct zc_server *s, struct zc_session *ss, const char *why)
{
    if (why && zc_audit_may_say(ss, ZC_AUDIT_EVICTED))
        zc_warn("client %s is dropped: %s; what it wrote is kept and written back", ss->name, why);
    zc_audit_ends(ss, why ? why : "it said goodbye, or began anew");
    ss->state = ZC_SESSION_LEAVING;
    if (ss->accepted)
        s->stats.sessions--;
    else
        s->stats.handshakes--;
    if (ss->accepted && s->cfg.clients)
        __atomic_sub_fetch(s->cfg.clients, 1, __ATOMIC_ACQ_REL);
    zc_list_del(&ss->link);
    zc_list_add_tail(&s->leaving, &ss->link);
    zc_tp_peer_remove(s->tp, ss->peer);
    if (why)
        zc_evicted_add(s, ss, why);
    zc_session_ring_close(ss);
    zc_exports_forget(s, ss->id);
    zc_session_withdraw_all(ss);
    zc_transfer_write_off(ss);
    zc_requests_abandon(ss);
    zc_session_settle(ss);
}
