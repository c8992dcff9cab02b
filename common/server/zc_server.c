/* zc_server.c - the server's endpoint and main loop.
 *
 *     running --stop--> stopping --no request under way--> draining --written back-->
 *     lingering --no client left, or some time--> done
 *
 * During stopping and draining, requests are answered with ESHUTDOWN, so that no client waits for a
 * deadline.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_log.h"
#include "zc_server_internal.h"

enum { COMPLAIN_EVERY_S = 60 };

void zc_server_notify(struct zc_server *s, struct zc_notice *n)
{
    zc_lock_get(&s->lock);
    zc_list_add_tail(&s->notices, &n->link);
    if (s->tp) /* waking never waits; the lock keeps the endpoint open */
        zc_tp_wake(s->tp);
    zc_lock_put(&s->lock);
}

static void handle_notices(struct zc_server *s)
{
    struct zc_list *n;

    for (;;) {
        struct zc_notice *notice;

        zc_lock_get(&s->lock);
        n = zc_list_pop(&s->notices);
        zc_lock_put(&s->lock);
        if (!n)
            return;
        notice = zc_list_entry(n, struct zc_notice, link);
        notice->handle(s, notice);
    }
}

/* Serves requests that wait for a buffer or a list; each may release either for the next. */
static void serve_waiting(struct zc_server *s)
{
    bool any;

    do {
        any = zc_bounce_serve(s);
        any = zc_transfer_serve(s) || any;
        zc_backpressure_serve(s);
    } while (any);
}

/* Number of messages thrown away so far, for any reason. */
static uint64_t thrown_away(const struct zc_server *s)
{
    return s->stats.malformed + s->stats.forged + s->stats.replayed + s->stats.handshakes_refused;
}

/* Logs at most one line a minute, however many invalid messages arrive. */
void zc_server_complain(struct zc_server *s, uint64_t *count, const char *text)
{
    uint64_t now = zc_now();

    ++*count;
    if (s->last_complaint && now - s->last_complaint < COMPLAIN_EVERY_S * 1000000000ull)
        return;
    s->last_complaint = now;
    zc_warn("message thrown away (%llu so far): %s", (unsigned long long)thrown_away(s), text);
}

/* Returns the session of a message if its MAC is right and it is no repetition; else NULL. */
static struct zc_session *sender(struct zc_server *s, const struct zc_msg *m, const void *buf,
                                 size_t len, int rc)
{
    struct zc_session *ss = m->session ? zc_session_find(s, m->session) : NULL;

    if (!ss) { /* from before a restart of this daemon, or invalid */
        if (rc || !zc_evicted_spoke(s, m->session, buf, len))
            zc_server_complain(s, &s->stats.malformed,
                               rc ? zc_error_text(rc) : "it belongs to no session");
    } else if (!zc_mac_check(&ss->keys, buf, len)) {
        zc_server_complain(s, &s->stats.forged, "its MAC is wrong");
        ss = NULL;
    } else if (!zc_session_slots_take(&ss->msg_slots, m->tag)) {
        zc_server_complain(s, &s->stats.replayed, "it has come before");
        ss = NULL;
    }
    return ss;
}

static void on_message(void *arg, const void *buf, size_t len)
{
    struct zc_server *s = arg;
    struct zc_session *ss;
    struct zc_msg m;
    char text[512];
    int rc = zc_msg_decode(&m, buf, len);

    if (zc_log_on(ZC_LOG_TRACE) && rc == 0)
        zc_trace("< %s", zc_msg_print(&m, text, sizeof text));
    if (rc == 0 && m.type == ZC_T_HELLO) {
        zc_session_hello(s, &m, buf, len);
        return;
    }
    if (rc == 0 && m.type == ZC_T_AUTH) {
        zc_session_auth(s, &m);
        return;
    }
    if (rc == 0 && m.type == ZC_T_CREDENTIAL) {
        zc_session_credential(s, &m);
        return;
    }
    ss = sender(s, &m, buf, len, rc);
    if (!ss)
        return;
    ss->last_heard = ss->heard = zc_now();
    if (rc == 0 && !(m.type & ZC_REPLY)) {
        if (!zc_backpressure_keep(ss, &m, buf, len))
            zc_request_arrived(s, ss, &m, (struct zc_bytes){buf, (uint32_t)len});
        return;
    }
    zc_server_complain(s, &s->stats.malformed, rc ? zc_error_text(rc) : "a reply to nothing");
    if (!(m.type & ZC_REPLY) && !zc_session_stalled(ss)) {
        struct zc_msg reply = {.type = m.type, .tag = m.tag};

        zc_session_reply(ss, &reply, rc, zc_error_text(rc));
    }
}

/* Sends to a client failed: it is checked at the next tick, outside the callback. */
static void cannot_reach(struct zc_server *s, struct zc_list *list, zc_peer peer, int err)
{
    zc_list_each (list, n) {
        struct zc_session *ss = zc_list_entry(n, struct zc_session, link);

        if (ss->peer == peer && !zc_session_gone(ss)) {
            zc_debug("cannot reach %s: %s", ss->name, strerror(-err));
            ss->last_heard = 0;
            s->next_tick = 0;
        }
    }
}

static void on_peer_error(void *arg, zc_peer peer, int err)
{
    struct zc_server *s = arg;

    cannot_reach(s, &s->sessions, peer, err);
    cannot_reach(s, &s->shaking, peer, err);
}

/* ---- deadlines ---- */

static void send_pending(struct zc_server *s, struct zc_session *ss, uint64_t now)
{
    zc_list_each (&ss->requests, n) {
        struct zc_request *r = zc_list_entry(n, struct zc_request, link);
        struct zc_msg m = {.type = ZC_T_PENDING, .tag = r->msg.tag};

        if (now - r->last_sign < ss->silence_ns / 4)
            continue;
        r->last_sign = now;
        if (zc_session_notify(ss, &m) == 0)
            s->stats.pending_sent++;
    }
}

static void forgive(struct zc_list *list, uint64_t away)
{
    zc_list_each (list, n) {
        struct zc_session *ss = zc_list_entry(n, struct zc_session, link);

        if (ss->last_heard)
            ss->last_heard += away;
    }
}

/* Silence counts only while the server listens: after it was stopped, or had no processor, its
 * clients' messages are received in the next round. */
static void forgive_absence(struct zc_server *s, uint64_t now)
{
    uint64_t away = s->last_look ? now - s->last_look : 0;

    s->last_look = now;
    if (away < 2 * ZC_SERVER_TICK_MS * ZC_NS_PER_MS)
        return;
    forgive(&s->sessions, away);
    forgive(&s->shaking, away);
}

/* Ends handshakes that have timed out, had to make room, or were refused; checks those that wait
 * for another session to end. */
static void look_at_shaking(struct zc_server *s, uint64_t now)
{
    zc_list_each_safe (&s->shaking, n) {
        struct zc_session *ss = zc_list_entry(n, struct zc_session, link);

        if (ss->state == ZC_SESSION_FOLLOWING)
            zc_session_tell_follower(ss, now);
        if (!zc_session_gone(ss) && now <= ss->last_heard + ss->silence_ns)
            continue;
        s->stats.handshakes_lapsed += ss->state == ZC_SESSION_SHAKING;
        zc_session_kill(s, ss, NULL);
    }
}

static void drop_silent(struct zc_server *s, struct zc_session *ss)
{
    bool unsynced = zc_unsynced_any(ss);

    s->stats.sessions_unsynced += unsynced;
    if (unsynced && zc_audit_may_say(ss, ZC_AUDIT_UNSYNCED))
        zc_warn(
            "client %s has written to a file, and is silent without having synced or closed it: "
            "what it had in a cache of its own is lost, unless it comes back",
            ss->name);
    zc_session_kill(s, ss, "nothing was heard of it");
}

static void tick(struct zc_server *s)
{
    uint64_t now = zc_now();

    forgive_absence(s, now);
    if (now < s->next_tick)
        return;
    s->next_tick = now + ZC_SERVER_TICK_MS * ZC_NS_PER_MS;
    zc_list_each_safe (&s->sessions, n) {
        struct zc_session *ss = zc_list_entry(n, struct zc_session, link);

        bool silent = now > ss->last_heard + ss->silence_ns;

        if (zc_session_gone(ss)) {
            zc_session_kill(s, ss, NULL);
        } else if (silent) {
            s->stats.sessions_lost++;
            drop_silent(s, ss);
        } else {
            send_pending(s, ss, now);
            zc_commit_notify_send(s, ss);
        }
    }
    look_at_shaking(s, now);
    zc_open_conflicts_check(s);
    zc_step_waits_check(s);
    zc_evicted_tick(s, now);
    zc_audit_tick(&s->audit, now);
    serve_waiting(s); /* vanished clients have released something */
    zc_server_check(s);
}

/* ---- stopping ---- */

struct drain {
    struct zc_work work;
    struct zc_notice done;
    struct zc_server *server;
    struct zc_error error;
};

static void drain_done(struct zc_server *s, struct zc_notice *n)
{
    struct drain *d = zc_list_entry(n, struct drain, done);

    s->drain_error = d->error;
    s->drained = true;
    s->drained_at = zc_now();
    free(d);
}

static void drain_work(struct zc_work *w)
{
    struct drain *d = zc_list_entry(w, struct drain, work);

    zc_error_keep(&d->error, zc_cache_drain(d->server->cfg.cache));
    zc_server_notify(d->server, &d->done);
}

static void start_drain(struct zc_server *s)
{
    struct drain *d = calloc(1, sizeof *d);

    s->drain_started = true;
    if (!d) {
        s->drained = true;
        zc_error_set(&s->drain_error, -ENOMEM, "no memory to drain");
        return;
    }
    d->server = s;
    d->work.run = drain_work;
    d->work.key = ZC_KEY_END;
    d->done.handle = drain_done;
    zc_pool_submit(s->pool, &d->work);
}

/* Waits for requests at a stop.  Those of dead clients may hang in the fabric, which does not
 * report that a node is gone: their clients were not told of success, so after a while closing the
 * endpoint ends them. */
static bool wait_for_requests(struct zc_server *s)
{
    uint64_t hopeless = 0;

    if (zc_now() - s->stopping_since > ZC_SERVER_ABANDON_MS * ZC_NS_PER_MS)
        zc_list_each (&s->leaving, n)
            hopeless += zc_list_entry(n, struct zc_session, link)->nrequests;
    return s->stats.requests_active > hopeless;
}

/* Advances the stop; true when there is nothing left to do. */
static bool stop_step(struct zc_server *s)
{
    if (!s->stopping) {
        s->stopping = s->draining = true;
        s->stopping_since = zc_now();
        zc_info("stopping: %llu requests under way", (unsigned long long)s->stats.requests_active);
    }
    if (!s->drain_started && !wait_for_requests(s))
        start_drain(s);
    return s->drained && (zc_list_empty(&s->sessions) ||
                          zc_now() - s->drained_at > ZC_SERVER_LINGER_MS * ZC_NS_PER_MS);
}

int zc_server_run(struct zc_server *s)
{
    for (;;) {
        int rc = zc_tp_progress(s->tp, s->drained ? 5 : ZC_SERVER_TICK_MS);

        if (rc < 0)
            return rc;
        handle_notices(s);
        serve_waiting(s);
        tick(s);
        if (__atomic_load_n(&s->stop_requested, __ATOMIC_ACQUIRE) && stop_step(s))
            break;
    }
    return zc_error_raise(&s->drain_error);
}

void zc_server_stop(struct zc_server *s)
{
    __atomic_store_n(&s->stop_requested, 1, __ATOMIC_RELEASE);
    zc_tp_wake(s->tp);
}

/* ---- create and destroy ---- */

int zc_server_address(struct zc_server *s, void *buf, size_t *len)
{
    return zc_tp_address(s->tp, buf, len);
}

int zc_server_local_address(struct zc_server *s, void *buf, size_t *len)
{
    return zc_tp_local_address(s->tp, buf, len);
}

/* The previous region stays: transfers under way use it. */
int zc_server_cover(struct zc_server *s)
{
    struct zc_arena *a;
    void *base;
    size_t len;
    int rc;

    zc_cache_arena(s->cfg.cache, &base, &len);
    if (s->arena && s->arena->len >= len)
        return 0;
    a = calloc(1, sizeof *a);
    if (!a)
        return zc_errorf(ENOMEM, "no memory for a server");
    rc = zc_tp_reg(s->tp, base, len, &a->mr);
    if (rc) {
        free(a);
        return rc;
    }
    a->len = len;
    a->older = s->arena;
    __atomic_store_n(&s->arena, a, __ATOMIC_RELEASE);
    return 0;
}

static void uncover(struct zc_server *s)
{
    while (s->arena) {
        struct zc_arena *a = s->arena;

        s->arena = a->older;
        zc_tp_dereg(s->tp, &a->mr);
        free(a);
    }
}

const char *zc_server_provider(const struct zc_server *s)
{
    return s->tp->provider;
}

/* Empty lists and tables; what needs memory or threads is made by the caller. */
static void init_parts(struct zc_server *s)
{
    zc_lock_init(&s->lock, ZC_ORDER_SERVER);
    zc_list_init(&s->shaking);
    zc_list_init(&s->users);
    zc_list_init(&s->sharers);
    zc_list_init(&s->sessions);
    zc_list_init(&s->leaving);
    zc_list_init(&s->evicted);
    zc_list_init(&s->notices);
    zc_list_init(&s->unread);
    zc_requests_init(s);
    s->session_mem.limit = s->cfg.budget;
    zc_server_views_init(s);
    zc_few_init(&s->lists, ZC_FEW_LISTS, ZC_SERVER_LISTS);
    s->lists.free = ZC_SERVER_LISTS;
    zc_rendezvous_init(&s->records, s->cfg.boot_id);
    zc_list_init(&s->conflicts);
    zc_list_init(&s->step_waits);
    zc_steps_init(&s->steps);
    zc_few_init(&s->bounce.few, ZC_FEW_BUFFERS, ZC_SERVER_BOUNCE);
    zc_cond_init(&s->export_idle);
    for (unsigned i = 0; i < ZC_SERVER_BUCKETS; i++)
        zc_list_init(&s->by_id[i]);
}

int zc_server_create(const struct zc_server_config *cfg, struct zc_server **out)
{
    struct zc_tp_config tp = {.provider = cfg->provider,
                              .listen = cfg->listen,
                              .early = cfg->early,
                              .max_msg = ZC_MAX_MESSAGE,
                              .nrecv = ZC_SERVER_RECEIVES,
                              .hurried = true,
                              .hidden = true,
                              .recv = on_message,
                              .peer_error = on_peer_error};
    const struct zc_pool_config pool = {.name = "zc-calls",
                                        .threads = ZC_SERVER_POOL,
                                        .most = ZC_SERVER_POOL_MOST,
                                        .per_key = ZC_SERVER_PER_FILE,
                                        .stuck_ms = cfg->stuck_ms};
    struct zc_server *s = calloc(1, sizeof *s);
    int rc;

    if (!zc_secret_is_made(&cfg->secret)) {
        free(s);
        return zc_errorf(EINVAL, "a server without a secret");
    }
    if (!s)
        return zc_errorf(ENOMEM, "no memory for a server");
    s->cfg = *cfg;
    if (!s->cfg.credits)
        s->cfg.credits = ZC_SERVER_CREDITS;
    s->started = zc_now();
    gethostname(s->host, sizeof s->host - 1);
    init_parts(s);
    tp.arg = s;
    rc = zc_pool_create(&pool, &s->pool);
    if (rc)
        goto fail;
    rc = cfg->open_transport(&tp, &s->tp);
    if (rc)
        goto fail;
    rc = zc_server_cover(s);
    if (rc)
        goto fail;
    *out = s;
    return 0;
fail:
    zc_server_destroy(s);
    return rc;
}

/* Ends all sessions and waits for what the pool and the cache still do for them, and for the fabric
 * for a while: closing the endpoint releases what it holds then. */
static void end_sessions(struct zc_server *s)
{
    uint64_t until = zc_now() + ZC_SERVER_ABANDON_MS * ZC_NS_PER_MS;

    while (!zc_list_empty(&s->shaking))
        zc_session_kill(s, zc_list_entry(s->shaking.next, struct zc_session, link), NULL);
    while (!zc_list_empty(&s->sessions))
        zc_session_kill(s, zc_list_entry(s->sessions.next, struct zc_session, link), NULL);
    zc_open_conflicts_check(s); /* no open waits any more */
    zc_step_waits_check(s);
    while (!zc_list_empty(&s->leaving) && zc_now() < until) {
        zc_tp_progress(s->tp, 10);
        handle_notices(s);
        serve_waiting(s);
    }
}

static void close_endpoint(struct zc_server *s)
{
    struct zc_tp *tp = s->tp;

    zc_lock_get(&s->lock);
    s->tp = NULL;
    zc_lock_put(&s->lock);
    zc_tp_close(tp);
    while (!zc_list_empty(&s->leaving)) { /* only the pool is needed now */
        handle_notices(s);
        serve_waiting(s);
        zc_clock_sleep(ZC_NS_PER_MS);
    }
}

void zc_server_destroy(struct zc_server *s)
{
    if (s->tp) {
        end_sessions(s);
        zc_requests_end(s);
        zc_evicted_forget(s);
        zc_bounce_deregister(s);
        uncover(s);
        close_endpoint(s);
        zc_server_rings_end(
            s); /* needs no endpoint, but possibly pages that its closing releases */
        zc_audit_rest(&s->audit);
    }
    if (s->pool)
        zc_pool_destroy(s->pool);
    handle_notices(s); /* for credentials that were being decoded for ended sessions */
    zc_users_free(s);
    zc_bounce_free(&s->bounce);
    zc_exports_free(s);
    zc_steps_free(&s->steps);
    zc_secret_forget(&s->cfg.secret);
    pthread_cond_destroy(&s->export_idle);
    zc_lock_destroy(&s->lock);
    free(s);
}
