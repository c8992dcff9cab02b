/* zc_request.c - one request, from its message to its reply.
 *
 * A request is checked, then does its work in one of three ways: at once (GETATTR, PING),
 * in pieces of pages (READ, WRITE: zc_request_io.c), or blocking on the pool (OPEN, CLOSE,
 * TRUNCATE, ...).  FLUSH, and CLOSE before it closes, wait for the cache's write-back.
 * zc_request_finish() is the only way out.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_server_internal.h"

void zc_server_reply(struct zc_server *s, zc_peer peer, struct zc_msg *m, int status,
                     const char *text)
{
    unsigned char buf[ZC_MAX_MESSAGE];
    char line[512];
    int len;

    m->type |= ZC_REPLY;
    m->version = ZC_PROTOCOL;
    m->status = status;
    if (status && text)
        m->text = (struct zc_bytes){text, (uint32_t)strlen(text)};
    len = zc_msg_encode(m, buf, sizeof buf);
    if (len > 0 && zc_log_on(ZC_LOG_TRACE))
        zc_trace("> %s", zc_msg_print(m, line, sizeof line));
    if (len > 0)
        len = zc_tp_send(s->tp, peer, buf, (size_t)len);
    if (len < 0) /* the client's deadline tells it */
        zc_debug("cannot reply: %s", zc_error_text(len));
}

void zc_request_fail(struct zc_request *r, int status, const char *text)
{
    if (r->status)
        return;
    r->status = status;
    snprintf(r->text, sizeof r->text, "%s", text);
}

void zc_request_finish(struct zc_request *r)
{
    struct zc_session *ss = r->session;
    struct zc_server *s = ss->server;

    if (r->slot)
        ss->slots[r->slot - 1].busy--;
    if (r->export)
        zc_export_put(s, r->export - 1);
    if (r->status)
        s->stats.requests_failed++;
    if (!ss->dead) {
        r->reply.type = r->msg.type;
        r->reply.tag = r->msg.tag;
        r->reply.session = ss->id;
        zc_server_reply(s, ss->peer, &r->reply, r->status, r->text);
    }
    s->stats.requests_active--;
    ss->nrequests--;
    zc_list_del(&r->link);
    free(r->data);
    free(r->path);
    free(r);
    zc_session_settle(ss);
}

/* ---- calls that block, on the pool ---- */

static void call_work(struct zc_work *w)
{
    struct zc_request *r = zc_list_entry(w, struct zc_request, work);

    zc_error_clear();
    r->call(r);
    zc_server_notify(r->session->server, &r->finished);
}

static void call_finished(struct zc_server *s, struct zc_notice *n)
{
    (void)s;
    zc_request_finish(zc_list_entry(n, struct zc_request, finished));
}

static void submit(struct zc_request *r, void (*call)(struct zc_request *))
{
    r->call = call;
    r->work.run = call_work;
    if (!r->finished.handle)
        r->finished.handle = call_finished;
    zc_pool_submit(r->session->server->pool, &r->work);
}

static void check(struct zc_request *r, int rc)
{
    if (rc)
        zc_request_fail(r, rc, zc_error_text(rc));
}

static void do_truncate(struct zc_request *r)
{
    check(r, zc_cache_truncate(r->handle, r->msg.size));
}

static void do_refresh(struct zc_request *r)
{
    check(r, zc_cache_refresh(r->handle));
}

static void do_allocate(struct zc_request *r)
{
    check(r, zc_cache_allocate(r->handle, r->msg.off, r->msg.len));
}

static void do_backlog_below(struct zc_request *r)
{
    check(r, zc_cache_backlog_below(r->handle, &r->reply.count));
}

static void do_unlink(struct zc_request *r)
{
    check(r, zc_cache_unlink(r->session->server->cfg.cache, r->path));
}

static void do_close(struct zc_request *r)
{
    check(r, zc_cache_close(r->opened));
}

static void do_drain(struct zc_request *r)
{
    struct zc_cache *c = r->session->server->cfg.cache;

    check(r, zc_cache_drain(c));
    if (r->msg.what == ZC_CONTROL_EVICT)
        r->reply.count = zc_cache_evict(c);
}

static void fill_attr(struct zc_msg *m, const struct zc_attr *a)
{
    m->size = a->size;
    m->block_size = a->block_size;
    m->dev = a->dev;
    m->ino = a->ino;
    m->nlink = a->nlink;
    m->mtime_ns = (uint64_t)a->mtime_ns;
    m->ctime_ns = (uint64_t)a->ctime_ns;
}

/* A file may be remembered with another block size, and bytes not written back under it:
 * when the size is decided elsewhere, they are written first. */
static int open_as_placed(struct zc_request *r, struct zc_attr *attr)
{
    struct zc_cache *c = r->session->server->cfg.cache;
    uint64_t decided = attr->block_size;
    int rc;

    for (int tries = 0;; tries++) {
        attr->block_size = decided;
        attr->stride = r->msg.stride;
        rc = zc_cache_open(c, r->path, r->msg.open_flags, r->msg.mode & 07777, &r->opened, attr);
        if (rc || !(r->msg.open_flags & ZC_OPEN_PLACED) || attr->block_size == decided || tries)
            return rc;
        rc = zc_cache_flush(r->opened, ZC_LEVEL_STORED);
        zc_cache_close(r->opened);
        if (rc)
            return rc;
    }
}

static void do_open(struct zc_request *r)
{
    struct zc_attr *attr = &r->attr;

    /* A page inside one block: what is merged to be written back is all this server's. */
    attr->block_size = r->msg.block_size;
    if (attr->block_size < zc_cache_page_size(r->session->server->cfg.cache))
        attr->block_size = zc_cache_page_size(r->session->server->cfg.cache);
    check(r, open_as_placed(r, attr));
}

static void open_finished(struct zc_server *s, struct zc_notice *n)
{
    struct zc_request *r = zc_list_entry(n, struct zc_request, finished);

    if (r->status == 0) {
        bool through = (r->msg.open_flags & ZC_OPEN_THROUGH) || zc_cache_uncached(s->cfg.cache);

        r->reply.handle = zc_session_add(r->session, r->opened, &r->attr, through);
        fill_attr(&r->reply, &r->attr);
        if (!r->reply.handle) {
            zc_request_fail(r, -EMFILE, "too many open files in this process");
            r->finished.handle = NULL;
            submit(r, do_close);
            return;
        }
    }
    zc_request_finish(r);
}

static void do_stat(struct zc_request *r)
{
    struct zc_cache *c = r->session->server->cfg.cache;
    struct zc_handle *h;

    /* Through the cache, because it may know a larger size than the store. */
    check(r, zc_cache_open(c, r->path, ZC_OPEN_READ, 0, &h, &r->attr));
    if (r->status)
        return;
    fill_attr(&r->reply, &r->attr);
    zc_cache_close(h);
}

/* ---- write-back ---- */

static void flush_notice(struct zc_server *s, struct zc_notice *n)
{
    struct zc_request *r = zc_list_entry(n, struct zc_request, finished);

    (void)s;
    if (r->flush.status)
        zc_request_fail(r, r->flush.status, r->flush.text);
    r->finished.handle = NULL;
    if ((r->msg.flags & ZC_F_REFRESH) && !r->status) {
        submit(r, do_refresh);
        return;
    }
    if (r->msg.type == ZC_T_CLOSE) {
        r->opened = r->handle;
        r->session->slots[r->slot - 1].handle = NULL;
        r->slot = 0;
        submit(r, do_close);
        return;
    }
    zc_request_finish(r);
}

static void flush_done(struct zc_flush *f)
{
    struct zc_request *r = zc_list_entry(f, struct zc_request, flush);

    zc_server_notify(r->session->server, &r->finished);
}

static void start_flush(struct zc_request *r)
{
    if (r->msg.level > ZC_LEVEL_DURABLE) {
        zc_request_fail(r, -EINVAL, "no such level of commit");
        zc_request_finish(r);
        return;
    }
    if (r->msg.type == ZC_T_CLOSE && r->session->slots[r->slot - 1].busy > 1) {
        zc_request_fail(r, -EBUSY, "requests on this file are under way");
        zc_request_finish(r);
        return;
    }
    if (r->export) {
        struct zc_told *t = zc_export_told(r->session, r->export - 1);

        if (!t) {
            zc_request_fail(r, -ENOMEM, "no memory to flush");
            zc_request_finish(r);
            return;
        }
        r->flush.told = &t->syncs;
    }
    r->finished.handle = flush_notice;
    r->flush.handle = r->handle;
    r->flush.level = (enum zc_level)r->msg.level;
    r->flush.done = flush_done;
    zc_cache_flush_start(&r->flush);
}

/* What the store refuses is the client's again: it has the bytes, and is told. */
static void through_notice(struct zc_server *s, struct zc_notice *n)
{
    struct zc_request *r = zc_list_entry(n, struct zc_request, finished);

    (void)s;
    if (r->flush.status) {
        zc_request_fail(r, r->flush.status, r->flush.text);
        if (r->msg.type == ZC_T_WRITE) /* a VWRITE's bytes lie anywhere: the close gives them up */
            zc_cache_give_up(r->handle, r->msg.off, r->msg.len);
    }
    zc_request_finish(r);
}

void zc_request_written(struct zc_request *r)
{
    if (r->status || !r->slot || !r->session->slots[r->slot - 1].through) {
        zc_request_finish(r);
        return;
    }
    r->finished.handle = through_notice;
    r->flush.handle = r->handle;
    r->flush.level = ZC_LEVEL_STORED;
    r->flush.quiet = true;
    r->flush.done = flush_done;
    zc_cache_flush_start(&r->flush);
}

static void backlog(struct zc_request *r)
{
    if (r->msg.what == ZC_BACKLOG_BELOW) {
        submit(r, do_backlog_below);
        return;
    }
    if (r->msg.what == ZC_BACKLOG_HERE)
        r->reply.count = zc_cache_backlog(r->handle);
    else
        zc_request_fail(r, -EINVAL, "no such backlog");
    zc_request_finish(r);
}

/* ---- the server itself ---- */

static void info(struct zc_request *r)
{
    struct zc_session *ss = r->session;
    uint64_t off = r->msg.off;

    if (off == 0) {
        free(ss->info);
        ss->info = zc_server_info(ss->server, r->msg.what, &ss->info_len);
    }
    if (!ss->info || off > ss->info_len) {
        zc_request_fail(r, -EINVAL, "no such information");
    } else {
        uint64_t n = ss->info_len - off;

        r->reply.size = ss->info_len;
        r->reply.data.p = ss->info + off;
        r->reply.data.n = n < ZC_MAX_INLINE ? (uint32_t)n : ZC_MAX_INLINE;
    }
    zc_request_finish(r);
}

static void stop_finished(struct zc_server *s, struct zc_notice *n)
{
    zc_request_finish(zc_list_entry(n, struct zc_request, finished));
    zc_server_stop(s);
}

static void control(struct zc_request *r)
{
    struct zc_server *s = r->session->server;

    if (r->msg.what < ZC_CONTROL_FLUSH || r->msg.what > ZC_CONTROL_STOP) {
        zc_request_fail(r, -EINVAL, "no such control");
        zc_request_finish(r);
        return;
    }
    if (r->msg.what >= ZC_CONTROL_DRAIN)
        s->draining = true;
    if (r->msg.what == ZC_CONTROL_STOP)
        r->finished.handle = stop_finished;
    submit(r, do_drain);
}

/* ---- dispatch ---- */

static bool uses_handle(uint8_t type)
{
    return type == ZC_T_CLOSE || type == ZC_T_READ || type == ZC_T_WRITE || type == ZC_T_GETATTR ||
           type == ZC_T_TRUNCATE || type == ZC_T_ALLOCATE || type == ZC_T_FLUSH ||
           type == ZC_T_VREAD || type == ZC_T_VWRITE || type == ZC_T_BACKLOG ||
           type == ZC_T_POINTER || type == ZC_T_LOCK || type == ZC_T_UNLOCK;
}

/* Why a well-formed request cannot be taken; 0: it can. */
static int objection(struct zc_server *s, struct zc_session *ss, const struct zc_msg *m,
                     const char **text)
{
    if (ss->nrequests >= s->cfg.credits * 2) {
        *text = "too many requests at once";
        return -EBUSY;
    }
    if (m->type == ZC_T_PENDING || m->type == ZC_T_HELLO) {
        *text = "not a request";
        return -EPROTO;
    }
    if (s->stopping && m->type != ZC_T_PING && m->type != ZC_T_BYE && m->type != ZC_T_CLOSE) {
        *text = "the daemon is stopping";
        return -ESHUTDOWN;
    }
    if (s->draining && m->type == ZC_T_OPEN) {
        *text = "the daemon is draining and opens no more files";
        return -ESHUTDOWN;
    }
    if ((m->type == ZC_T_OPEN || m->type == ZC_T_UNLINK || m->type == ZC_T_STAT) && !m->path.n) {
        *text = "the path is empty";
        return -ENOENT;
    }
    if (m->type == ZC_T_OPEN &&
        (m->open_flags > ZC_OPEN_ALL || !(m->open_flags & (ZC_OPEN_READ | ZC_OPEN_WRITE)))) {
        *text = "unknown flags, or neither for reading nor for writing";
        return -EINVAL;
    }
    if (m->off > INT64_MAX || m->len > INT64_MAX - m->off || m->size > INT64_MAX) {
        *text = "file offset beyond 2^63";
        return -EFBIG;
    }
    return 0;
}

static struct zc_request *request_new(struct zc_session *ss, const struct zc_msg *m)
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
    r->msg = *m;
    r->started = r->last_sign = zc_now();
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
    uint32_t index;

    if (!uses_handle(r->msg.type))
        return true;
    if (zc_export_number(r->msg.handle)) {
        if (r->msg.type == ZC_T_CLOSE)
            return false; /* its owner closes it */
        r->handle = zc_export_get(ss->server, r->msg.handle, &index);
        if (r->handle)
            r->export = index + 1;
        return r->handle;
    }
    slot = zc_session_slot(ss, r->msg.handle);
    if (!slot)
        return false;
    r->handle = slot->handle;
    r->slot = (uint32_t)(slot - ss->slots) + 1;
    slot->busy++;
    return true;
}

static void dispatch(struct zc_request *r, const struct zc_msg *m)
{
    int rc;

    if (!take_handle(r)) {
        zc_request_fail(r, -EBADF, "no such open file");
        zc_request_finish(r);
        return;
    }
    switch (m->type) {
    case ZC_T_READ:
    case ZC_T_WRITE:
        zc_request_io_start(r, m);
        return;
    case ZC_T_VREAD:
    case ZC_T_VWRITE:
        zc_request_view_start(r, m);
        return;
    case ZC_T_POINTER:
    case ZC_T_LOCK:
    case ZC_T_UNLOCK:
        zc_request_coord_start(r);
        return;
    case ZC_T_VIEW:
        rc = zc_server_view_piece(r->session, m);
        if (rc)
            zc_request_fail(r, rc, zc_error_text(rc));
        zc_request_finish(r);
        return;
    case ZC_T_OPEN:
        r->finished.handle = open_finished;
        submit(r, do_open);
        return;
    case ZC_T_CLOSE:
    case ZC_T_FLUSH:
        start_flush(r);
        return;
    case ZC_T_GETATTR:
        if (r->slot)
            r->attr = r->session->slots[r->slot - 1].attr;
        r->attr.size = zc_cache_size(r->handle);
        fill_attr(&r->reply, &r->attr);
        zc_request_finish(r);
        return;
    case ZC_T_BACKLOG:
        backlog(r);
        return;
    case ZC_T_TRUNCATE:
        submit(r, do_truncate);
        return;
    case ZC_T_ALLOCATE:
        submit(r, do_allocate);
        return;
    case ZC_T_UNLINK:
        submit(r, do_unlink);
        return;
    case ZC_T_STAT:
        submit(r, do_stat);
        return;
    case ZC_T_INFO:
        info(r);
        return;
    case ZC_T_CONTROL:
        control(r);
        return;
    default: /* PING, BYE */
        zc_request_finish(r);
    }
}

void zc_request_arrived(struct zc_server *s, struct zc_session *ss, const struct zc_msg *m)
{
    const char *text = NULL;
    int status = objection(s, ss, m, &text);
    struct zc_request *r = status ? NULL : request_new(ss, m);

    if (!r) {
        struct zc_msg reply = {.type = m->type, .tag = m->tag, .session = ss->id};

        s->stats.requests_refused++;
        zc_server_reply(s, ss->peer, &reply, status ? status : -ENOMEM,
                        status ? text : "the daemon has no memory");
        return;
    }
    dispatch(r, m);
    if (m->type == ZC_T_BYE) { /* killed at the next tick, outside this callback */
        ss->dead = true;
        s->next_tick = 0;
    }
}
