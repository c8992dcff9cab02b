/* zc_request.c - one request, from its message to its reply.
 *
 *     arrived --checked, its open file found--> runs (zc_request_kinds.c) --> finished
 *                                               |    ^
 *                      zc_request_submit(): the pool |
 *                      zc_request_flush(): write-back| zc_request_resume(), from any thread
 *                      a lock that others hold       |
 *
 * Pieces of pages that READ and WRITE wait for come back by themselves (zc_transfer.c).
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
    if (r->status)
        return;
    r->status = status;
    snprintf(r->text, sizeof r->text, "%s", text);
}

void zc_request_check(struct zc_request *r, int rc)
{
    if (rc)
        zc_request_fail(r, rc, zc_error_text(rc));
}

void zc_request_finish(struct zc_request *r)
{
    struct zc_session *ss = r->session;
    struct zc_server *s = ss->server;

    if (r->slot)
        ss->slots[r->slot - 1].busy--;
    if (r->export)
        zc_export_put(s, r->export);
    if (r->status)
        s->stats.requests_failed++;
    zc_audit_request(r);
    if (!zc_session_gone(ss)) {
        r->reply.type = r->msg.type;
        r->reply.tag = r->msg.tag;
        zc_session_reply(ss, &r->reply, r->status, r->text);
    }
    s->stats.requests_active--;
    ss->nrequests--;
    ss->purse.active -= r->cost;
    zc_list_del(&r->link);
    zc_transfer_free(ss, r->transfer);
    free(r->mine);
    free(r->path);
    free(r);
    zc_session_settle(ss);
}

/* ---- waiting for others ---- */

/* The pool, the cache or a lock is done with the request. */
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
    zc_cred_use(r->session->cred); /* it is his call */
    r->call(r);
    zc_cred_use(NULL);
    zc_request_resume(r);
}

/* What the call may get stuck on.  Views are decoded a few at a time, to leave threads for calls.
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
    r->work.turn = zc_sharer_turn(r->session);
    zc_pool_submit(r->session->server->pool, &r->work);
}

static void flush_done(struct zc_flush *f)
{
    zc_request_resume(zc_list_entry(f, struct zc_request, flush));
}

static void flushed(struct zc_request *r)
{
    if (r->flush.status)
        zc_request_fail(r, r->flush.status, r->flush.text);
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

/* What the store refuses is the client's again: it has the bytes, and is told. */
static void written_through(struct zc_request *r)
{
    zc_taken_reply(r);
    if (r->flush.status)
        zc_request_submit(r, zc_transfer_give_up, zc_request_finish);
    else
        zc_request_finish(r);
}

/* Also when a part of it has failed: the rest is in the cache, and would stay. */
bool zc_request_through(const struct zc_request *r)
{
    return r->slot && r->session->slots[r->slot - 1].through;
}

void zc_request_written(struct zc_request *r)
{
    if (!zc_request_through(r)) {
        zc_taken_reply(r);
        zc_request_finish(r);
        return;
    }
    r->flush.quiet = true;
    zc_request_flush(r, ZC_LEVEL_STORED, written_through);
}

/* ---- a message arrives ---- */

static bool bad_open_flags(const struct zc_server *s, const struct zc_msg *m)
{
    unsigned for_all = ZC_OPEN_FOR_ALL | ZC_OPEN_REPLAY | ZC_OPEN_REPLAY_STRICT;
    unsigned known = ZC_OPEN_ALL | (s->cfg.for_all ? for_all : 0);

    return m->open_flags & ~known || !(m->open_flags & (ZC_OPEN_READ | ZC_OPEN_WRITE));
}

/* Why a well-formed message cannot be taken; 0: it can.  `k`: NULL if it is no request. */
static int objection(struct zc_server *s, struct zc_session *ss, const struct zc_msg *m,
                     const struct zc_request_kind *k, const char **text)
{
    if (!k) {
        *text = "not a request";
        return -EPROTO;
    }
    if (ss->nrequests >= ss->purse.credits * 2 && !(k->flags & ZC_KIND_LIFE)) {
        *text = "too many requests at once";
        return -EBUSY;
    }
    if (zc_account_cost(m) > ZC_ACCOUNT_REQUEST + ss->purse.max_inline) {
        *text = "more data in a message than was agreed upon";
        return -EMSGSIZE;
    }
    if (s->stopping && !(k->flags & ZC_KIND_ALWAYS)) {
        *text = "the daemon is stopping";
        return -ESHUTDOWN;
    }
    if (s->draining && k->flags & ZC_KIND_OPENS) {
        *text = "the daemon is draining and opens no more files; zcachectl resume opens files "
                "again";
        return -ESHUTDOWN;
    }
    if (k->flags & ZC_KIND_PATH && !m->path.n) {
        *text = "the path is empty";
        return -ENOENT;
    }
    if (k->flags & ZC_KIND_OPENS && bad_open_flags(s, m)) {
        *text = "unknown flags, or neither for reading nor for writing";
        return -EINVAL;
    }
    if (m->off > INT64_MAX || m->len > INT64_MAX - m->off || m->size > INT64_MAX) {
        *text = "file offset beyond 2^63";
        return -EFBIG;
    }
    return 0;
}

static struct zc_request *request_new(struct zc_session *ss, const struct zc_request_kind *k,
                                      const struct zc_msg *m)
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
    r->finished.handle = resume;
    r->cost = zc_account_cost(m);
    ss->purse.active += r->cost;
    r->last_sign = zc_now();
    zc_list_init(&r->conflict);
    zc_list_add_tail(&ss->requests, &r->link);
    ss->nrequests++;
    ss->server->stats.requests++;
    ss->server->stats.requests_active++;
    return r;
}

/* Finds the open file a request is about; false: there is none. */
static bool take_handle(struct zc_request *r)
{
    struct zc_session *ss = r->session;
    struct zc_slot *slot;

    if (!(r->kind->flags & ZC_KIND_HANDLE))
        return true;
    if (zc_export_number(r->msg.handle)) {
        r->export = zc_export_get(ss->server, r->msg.handle);
        if (!r->export || (r->kind->flags & ZC_KIND_OWN && r->export->opener != ss->id))
            return false; /* what is in use is given back as the request ends */
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

void zc_request_arrived(struct zc_server *s, struct zc_session *ss, const struct zc_msg *m)
{
    const struct zc_request_kind *k = zc_request_kind(m->type);
    const char *text = "the daemon has no memory";
    int status = objection(s, ss, m, k, &text);
    struct zc_request *r = status ? NULL : request_new(ss, k, m);

    if (!r) {
        struct zc_msg reply = {.type = m->type, .tag = m->tag};

        s->stats.requests_refused++;
        zc_session_reply(ss, &reply, status ? status : -ENOMEM, text);
    } else if (!take_handle(r)) {
        zc_request_fail(r, -EBADF, "no such open file");
        zc_request_finish(r);
    } else if (k->flags & ZC_KIND_BLOCKS) {
        zc_request_submit(r, k->run, zc_request_finish);
    } else {
        k->run(r);
    }
}
