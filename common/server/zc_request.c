/* zc_request.c - one request, from its message to its reply.
 *
 *     arrived --checked--> begins: its open file is found, it runs (zc_request_kinds.c) -->
 * finished |                   ^                       |    ^
 *         +--> deferred ------+    zc_request_submit(): the pool |
 *              (ring entries)      zc_request_flush(): write-back| zc_request_resume(), any thread
 *                                  a lock that others hold       |
 *
 * A request that sees bytes of files comes after all writes that were in rings (zc_shmring.h) when
 * it arrived.  While such an entry waits for the cache, the request is deferred, and later ones
 * that see files queue behind it.  Entries that arrive meanwhile do not count: it might wait for
 * ever.
 *
 * The pieces of pages that READ and WRITE wait for are handled by zc_transfer.c.
 * zc_request_finish() is the only way out.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_cred.h"
#include "zc_log.h"
#include "zc_server_internal.h"

void zc_request_fail(struct zc_request *r, int status, const char *text)
{
    if (!r->error.rc)
        zc_error_set(&r->error, status, "%s", text);
}

void zc_request_finish(struct zc_request *r)
{
    struct zc_session *ss = r->session;
    struct zc_server *s = ss->server;

    if (r->slot)
        ss->slots[r->slot - 1].busy--;
    if (r->export)
        zc_export_put(s, r->export);
    if (r->error.rc)
        s->stats.requests_failed++;
    zc_audit_request(r);
    if (!zc_session_gone(ss)) {
        r->reply.type = r->msg.type;
        r->reply.tag = r->msg.tag;
        zc_session_reply(ss, &r->reply, r->error.rc, r->error.text);
    }
    s->stats.requests_active--;
    ss->nrequests--;
    ss->quota.active -= r->cost;
    zc_list_del(&r->link);
    zc_transfer_free(ss, r->transfer);
    free(r->kept);
    free(r->mine);
    free(r->path);
    free(r);
    zc_session_settle(ss);
}

/* ---- waiting ---- */

/* The pool, the cache or a lock has finished its part of the request. */
static void resume(struct zc_server *s, struct zc_notice *n)
{
    struct zc_request *r = zc_list_entry(n, struct zc_request, finished);

    (void)s;
    r->then(r);
}

void zc_request_resume(struct zc_request *r)
{
    zc_server_notify(r->session->server, &r->finished);
}

static void call_work(struct zc_work *w)
{
    struct zc_request *r = zc_list_entry(w, struct zc_request, work);

    zc_error_clear();
    zc_cred_use(r->session->cred); /* runs as the request's user */
    zc_cred_create_in(r->msg.type == ZC_T_OPEN ? (gid_t)r->msg.gid : ZC_CRED_NO_GROUP);
    r->call(r);
    zc_cred_create_in(ZC_CRED_NO_GROUP);
    zc_cred_use(NULL);
    zc_request_resume(r);
}

/* Key of what the call may get stuck on.  Few views are decoded at a time, which leaves threads for
 * calls.
 */
static uint64_t key_of(const struct zc_request *r)
{
    if (r->install)
        return ZC_KEY_VIEWS;
    if (r->handle)
        return zc_cache_key(r->handle);
    if (r->path)
        return zc_pool_key_of(r->path, strlen(r->path));
    return r->kind->flags & ZC_KIND_TELLS ? ZC_KEY_INFO : ZC_KEY_ALL;
}

void zc_request_submit(struct zc_request *r, void (*call)(struct zc_request *),
                       void (*then)(struct zc_request *))
{
    r->call = call;
    r->then = then;
    r->work.run = call_work;
    r->work.key = key_of(r);
    r->work.flow = zc_tenant_flow(r->session);
    zc_pool_submit(r->session->server->pool, &r->work);
}

static void flush_done(struct zc_flush *f)
{
    zc_request_resume(zc_list_entry(f, struct zc_request, flush));
}

static void flushed(struct zc_request *r)
{
    zc_error_merge(&r->error, &r->flush.error);
    r->flushed(r);
}

void zc_request_flush(struct zc_request *r, enum zc_level level, void (*then)(struct zc_request *))
{
    r->then = flushed;
    r->flushed = then;
    r->flush.handle = r->handle;
    r->flush.level = level;
    r->flush.done = flush_done;
    zc_cache_flush_start(&r->flush);
}

/* Discards what the store refuses: the client has the bytes, and gets the error. */
static void written_through(struct zc_request *r)
{
    zc_commit_notify_reply(r);
    if (r->flush.error.rc)
        zc_request_submit(r, zc_transfer_give_up, zc_request_finish);
    else
        zc_request_finish(r);
}

/* Also after a partial failure: the rest is in the cache, and would stay. */
bool zc_request_through(const struct zc_request *r)
{
    return r->slot && r->session->slots[r->slot - 1].through;
}

void zc_request_written(struct zc_request *r)
{
    if (!zc_request_through(r)) {
        zc_commit_notify_reply(r);
        zc_request_finish(r);
        return;
    }
    r->flush.quiet = true;
    zc_request_flush(r, ZC_LEVEL_STORED, written_through);
}

/* ---- a message arrives ---- */

static bool bad_open_flags(const struct zc_server *s, const struct zc_msg *m)
{
    unsigned for_all = ZC_OPEN_EXPORTED | ZC_OPEN_REPLAY | ZC_OPEN_REPLAY_STRICT;
    unsigned known = ZC_OPEN_ALL | (s->cfg.exports != ZC_EXPORTS_NONE ? for_all : 0);

    bool writes = m->open_flags & ZC_OPEN_WRITE;

    if (m->open_flags & (writes ? ZC_OPEN_STEP_READER : ZC_OPEN_STEPS))
        return true; /* a reader must not delay other readers */
    if (m->open_flags & ZC_OPEN_STEPS_BEGUN && !(m->open_flags & ZC_OPEN_STEPS))
        return true;
    return m->open_flags & ~known || !(m->open_flags & (ZC_OPEN_READ | ZC_OPEN_WRITE));
}

/* Returns why a well-formed message is refused; 0: it is accepted.  `k`: NULL if it is no
 * request. */
static int objection(struct zc_server *s, struct zc_session *ss, const struct zc_msg *m,
                     const struct zc_request_kind *k)
{
    if (!k)
        return zc_errorf(EPROTO, "not a request");
    if (ss->nrequests >= ss->quota.credits * 2 && !(k->flags & ZC_KIND_LIFE))
        return zc_errorf(EBUSY, "too many requests at once");
    if (zc_session_mem_cost(m) > ZC_SESSION_MEM_REQUEST + ss->quota.max_inline)
        return zc_errorf(EMSGSIZE, "more data in a message than was agreed upon");
    if (s->stopping && !(k->flags & ZC_KIND_ALWAYS))
        return zc_errorf(ESHUTDOWN, "the daemon is stopping");
    if (s->draining && k->flags & ZC_KIND_OPENS)
        return zc_errorf(ESHUTDOWN, "the daemon is draining and opens no more files; "
                                    "zcachectl resume opens files again");
    if (k->flags & ZC_KIND_PATH && !m->path.n)
        return zc_errorf(ENOENT, "the path is empty");
    if (k->flags & ZC_KIND_OPENS && bad_open_flags(s, m))
        return zc_errorf(EINVAL, "unknown flags, or neither for reading nor for writing");
    if (m->off > INT64_MAX || m->len > INT64_MAX - m->off || m->size > INT64_MAX)
        return zc_errorf(EFBIG, "file offset beyond 2^63");
    return 0;
}

static struct zc_request *request_new(struct zc_session *ss, const struct zc_request_kind *k,
                                      const struct zc_msg *m, struct zc_bytes encoded)
{
    struct zc_request *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    if (m->path.n) {
        r->path = strndup(m->path.p, m->path.n);
        if (!r->path) {
            free(r);
            return NULL;
        }
    }
    r->session = ss;
    r->kind = k;
    r->msg = *m;
    r->encoded = encoded;
    r->finished.handle = resume;
    r->cost = zc_session_mem_cost(m);
    ss->quota.active += r->cost;
    r->last_sign = zc_now();
    zc_list_init(&r->deferred);
    zc_list_init(&r->conflict);
    zc_list_init(&r->step_wait);
    zc_list_add_tail(&ss->requests, &r->link);
    ss->nrequests++;
    ss->server->stats.requests++;
    ss->server->stats.requests_active++;
    return r;
}

/* Finds the open file of a request; false: there is none. */
static bool take_handle(struct zc_request *r)
{
    struct zc_session *ss = r->session;
    struct zc_slot *slot;

    if (!(r->kind->flags & ZC_KIND_HANDLE))
        return true;
    if (zc_export_number(r->msg.handle)) {
        r->export = zc_export_get(ss->server, r->msg.handle);
        if (!r->export || (r->kind->flags & ZC_KIND_OWN && r->export->opener != ss->id))
            return false; /* released when the request ends */
        r->handle = r->export->handle;
        return true;
    }
    slot = zc_session_slot(ss, r->msg.handle);
    if (!slot)
        return false;
    r->handle = slot->handle;
    r->slot = (uint32_t)(slot - ss->slots) + 1;
    slot->busy++;
    return true;
}

static void begin(struct zc_request *r)
{
    if (!take_handle(r)) {
        zc_request_fail(r, -EBADF, "no such open file");
        zc_request_finish(r);
    } else if (r->kind->flags & ZC_KIND_BLOCKS) {
        zc_request_submit(r, r->kind->run, zc_request_finish);
    } else {
        r->kind->run(r);
    }
}

bool zc_request_keep(struct zc_request *r)
{
    if (r->kept)
        return true;
    r->kept = malloc(r->encoded.n);
    if (r->kept)
        memcpy(r->kept, r->encoded.p, r->encoded.n);
    if (r->kept && zc_msg_decode(&r->msg, r->kept, r->encoded.n) == 0)
        return true;
    zc_request_fail(r, -ENOMEM, "the daemon has no memory");
    return false;
}

/* ---- behind ring entries ---- */

/* Whether no entry before `until` has to be waited for; else a callback follows when that is
 * over. */
static bool entries_applied(struct zc_server *s, uint64_t until)
{
    if (!s->deferred_notified) {
        s->deferred_wait.until = until;
        s->deferred_notified = !zc_shmring_drained(s->cfg.shmring, &s->deferred_wait);
    }
    return !s->deferred_notified;
}

static void entries_over(struct zc_shmring_wait *w)
{
    struct zc_server *s = zc_list_entry(w, struct zc_server, deferred_wait);

    zc_server_notify(s, &s->deferred_notice);
}

/* Fails a request of a session that is over: its reply has no receiver. */
static void abandon(struct zc_request *r)
{
    zc_request_fail(r, -ESHUTDOWN, "its session is over");
    zc_request_finish(r);
}

static void resume_deferred(struct zc_server *s, struct zc_notice *n)
{
    (void)n;
    s->deferred_notified = false;
    while (!zc_list_empty(&s->deferred)) {
        struct zc_request *r = zc_list_entry(s->deferred.next, struct zc_request, deferred);

        if (!entries_applied(s, r->until))
            break;
        zc_list_del(&r->deferred);
        if (zc_session_gone(r->session))
            abandon(r);
        else
            begin(r);
    }
}

/* Defers the request if an earlier ring entry is not applied; false: it may begin now. */
static bool defer(struct zc_request *r)
{
    struct zc_server *s = r->session->server;

    if (!s->cfg.shmring || !(r->kind->flags & ZC_KIND_BYTES))
        return false;
    r->until = zc_shmring_stamp(s->cfg.shmring);
    zc_debug_assert(s->deferred_notified ||
                    zc_list_empty(&s->deferred)); /* else resume_deferred() would have continued */
    if (entries_applied(s, r->until))
        return false;
    if (zc_request_keep(r))
        zc_list_add_tail(&s->deferred, &r->deferred);
    else
        zc_request_finish(r);
    return true;
}

void zc_requests_abandon(struct zc_session *ss)
{
    zc_list_each_safe (&ss->requests, n) {
        struct zc_request *r = zc_list_entry(n, struct zc_request, link);

        if (!zc_list_linked(&r->deferred))
            continue;
        zc_list_del(&r->deferred);
        abandon(r);
    }
}

void zc_requests_init(struct zc_server *s)
{
    zc_list_init(&s->deferred);
    zc_list_init(&s->deferred_wait.link);
    s->deferred_wait.over = entries_over;
    s->deferred_notice.handle = resume_deferred;
}

void zc_requests_end(struct zc_server *s)
{
    zc_debug_assert(zc_list_empty(&s->deferred));
    if (s->cfg.shmring)
        zc_shmring_unwait(s->cfg.shmring, &s->deferred_wait);
}

void zc_request_arrived(struct zc_server *s, struct zc_session *ss, const struct zc_msg *m,
                        struct zc_bytes encoded)
{
    const struct zc_request_kind *k = zc_request_kind(m->type);
    int rc = objection(s, ss, m, k);
    struct zc_request *r = rc ? NULL : request_new(ss, k, m, encoded);

    if (!r) {
        struct zc_msg reply = {.type = m->type, .tag = m->tag};

        if (!rc)
            rc = zc_errorf(ENOMEM, "the daemon has no memory");
        s->stats.requests_refused++;
        zc_session_reply(ss, &reply, rc, zc_error_text(rc));
    } else if (!defer(r)) {
        begin(r);
    }
}
