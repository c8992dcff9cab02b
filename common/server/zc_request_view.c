/* zc_request_view.c - VREAD and VWRITE: contiguous data on the wire, pieces in the file.
 *
 * A request is cut into chunks, each at most ZC_SERVER_CHUNK visible bytes inside one page:
 *
 *     write:  buffer -> pull from the client -> page -> scatter -> end
 *     read:   buffer -> page -> gather -> end -> push to the client
 *
 *
 * The page is pinned while bytes are copied in memory only, never while the fabric moves
 * them.  Buffers are few; chunks wait for one in order, and hold nothing while they wait.
 *
 * A long visible piece that is read goes as READ does it, straight from the page, which
 * belongs to the fabric meanwhile:
 *
 *     direct: page -> push to the client -> end
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_server_internal.h"
#include "zc_view.h"
#include "zc_vspan.h"

enum {
    CHUNKS = 2,        /* of a request under way */
    DIRECT = 32 << 10, /* bytes of a piece worth an RMA of its own */
};

struct zc_vchunk {
    struct zc_access access;
    struct zc_op op;
    struct zc_notice ready;
    struct zc_list wait; /* zc_server.bounce_wait */
    struct zc_request *request;
    bool used;
    bool direct;
    unsigned char *buf; /* NULL when direct */
    int64_t view_off;
    uint32_t len;                 /* visible bytes */
    struct zc_view_ranges ranges; /* relative to the page */
    char text[ZC_TEXT_MAX];
};

struct zc_vio {
    struct zc_view *view;
    struct zc_vchunk chunks[CHUNKS];
};

static void advance(struct zc_request *r);
static void with_buffer(struct zc_vchunk *k);

static bool writes(const struct zc_request *r)
{
    return r->msg.type == ZC_T_VWRITE;
}

static struct zc_server *server_of(const struct zc_request *r)
{
    return r->session->server;
}

/* ---- buffers ---- */

static int make_buffers(struct zc_server *s)
{
    size_t len = (size_t)ZC_SERVER_BOUNCE * ZC_SERVER_CHUNK;
    int rc;

    if (s->bounce)
        return 0;
    s->bounce = aligned_alloc(4096, len);
    if (!s->bounce)
        return zc_errorf(ENOMEM, "no memory for %zu bytes of buffers", len);
    rc = zc_tp_reg(s->tp, s->bounce, len, &s->bounce_mr);
    if (rc) {
        free(s->bounce);
        s->bounce = NULL;
        return rc;
    }
    for (unsigned i = 0; i < ZC_SERVER_BOUNCE; i++)
        s->bounce_free[s->nbounce_free++] = s->bounce + (size_t)i * ZC_SERVER_CHUNK;
    return 0;
}

static void get_buffer(struct zc_vchunk *k)
{
    struct zc_server *s = server_of(k->request);

    if (s->nbounce_free && zc_list_empty(&s->bounce_wait)) {
        k->buf = s->bounce_free[--s->nbounce_free];
        with_buffer(k);
    } else {
        zc_list_add_tail(&s->bounce_wait, &k->wait);
    }
}

/* The chunk is over; who waits for its buffer is served by the main loop. */
static void chunk_end(struct zc_vchunk *k)
{
    struct zc_server *s = server_of(k->request);

    k->used = false;
    k->request->flying--;
    if (k->buf)
        s->bounce_free[s->nbounce_free++] = k->buf;
}

void zc_server_serve_buffers(struct zc_server *s)
{
    struct zc_list *n;

    while (s->nbounce_free && (n = zc_list_pop(&s->bounce_wait))) {
        struct zc_vchunk *k = zc_list_entry(n, struct zc_vchunk, wait);
        struct zc_request *r = k->request;

        k->buf = s->bounce_free[--s->nbounce_free];
        with_buffer(k);
        advance(r);
    }
}

/* ---- page ---- */

static void chunk_fail(struct zc_vchunk *k, int rc, const char *text)
{
    zc_request_fail(k->request, rc, text);
    chunk_end(k);
}

static void move_done(struct zc_op *op, int status);

static void move(struct zc_vchunk *k, enum zc_rma_dir dir)
{
    struct zc_request *r = k->request;
    struct zc_server *s = server_of(r);
    int rc;

    k->op.done = move_done;
    k->op.local = k->direct ? k->access.data : k->buf;
    k->op.desc = k->direct ? s->arena.desc : s->bounce_mr.desc;
    k->op.len = k->len;
    k->op.raddr = r->msg.raddr + ((uint64_t)k->view_off - r->msg.off);
    k->op.rkey = r->msg.rkey;
    rc = zc_tp_rma(s->tp, r->session->peer, dir, &k->op);
    if (rc) {
        zc_request_fail(r, rc, zc_error_text(rc));
        if (k->direct)
            zc_cache_end(&k->access, 0);
        chunk_end(k);
    }
}

/* The page is there, and the bytes lie in it one after the other. */
static void push_page(struct zc_vchunk *k)
{
    struct zc_request *r = k->request;

    if (k->access.avail < k->len) {
        k->len = k->access.avail;
        if ((uint64_t)k->view_off + k->len < r->eof)
            r->eof = (uint64_t)k->view_off + k->len;
    }
    if (k->len && !r->status && !r->session->dead) {
        move(k, ZC_RMA_PUSH);
    } else {
        zc_cache_end(&k->access, 0);
        chunk_end(k);
    }
}

/* The page is there: copies between it and the buffer. */
static void on_page(struct zc_vchunk *k)
{
    struct zc_request *r = k->request;
    struct zc_access *a = &k->access;
    int64_t disp = (int64_t)r->msg.disp;

    if (k->direct) {
        push_page(k);
        return;
    }
    if (writes(r)) {
        zc_view_scatter(r->vio->view, disp, k->view_off, k->buf, k->len, a->data, (int64_t)a->off,
                        a->len);
        zc_cache_end_ranges(a, k->ranges.r, k->ranges.n);
        chunk_end(k);
        return;
    }
    zc_view_gather(r->vio->view, disp, k->view_off, k->buf, k->len, a->data, (int64_t)a->off,
                   a->len);
    if (a->avail < a->len) { /* the file ends in this chunk */
        k->len = (uint32_t)zc_vspan_before(r->vio->view, disp, k->view_off, k->len,
                                           (int64_t)(a->off + a->avail));
        if ((uint64_t)k->view_off + k->len < r->eof)
            r->eof = (uint64_t)k->view_off + k->len;
    }
    zc_cache_end(a, 0);
    if (k->len == 0) {
        chunk_end(k);
    } else if (r->msg.flags & ZC_F_RMA) {
        move(k, ZC_RMA_PUSH);
    } else {
        memcpy(r->data + ((uint64_t)k->view_off - r->msg.off), k->buf, k->len);
        chunk_end(k);
    }
}

static void page_ready(struct zc_server *s, struct zc_notice *n)
{
    struct zc_vchunk *k = zc_list_entry(n, struct zc_vchunk, ready);
    struct zc_request *r = k->request;

    (void)s;
    if (k->access.status)
        chunk_fail(k, k->access.status, k->text);
    else
        on_page(k);
    advance(r);
}

/* On a thread of the cache. */
static void access_ready(struct zc_access *a)
{
    struct zc_vchunk *k = zc_list_entry(a, struct zc_vchunk, access);

    if (a->status)
        snprintf(k->text, sizeof k->text, "%s", zc_error_text(a->status));
    zc_server_notify(server_of(k->request), &k->ready);
}

static void enter_page(struct zc_vchunk *k)
{
    struct zc_request *r = k->request;
    struct zc_access *a = &k->access;
    uint32_t page = zc_cache_page_size(server_of(r)->cfg.cache);
    uint64_t base;
    int64_t first;
    int rc = zc_view_to_file(r->vio->view, (int64_t)r->msg.disp, k->view_off, &first);

    base = (uint64_t)first - (uint64_t)first % page;
    k->ranges.n = 0;
    if (rc == 0)
        rc = zc_view_touched(r->vio->view, (int64_t)r->msg.disp, k->view_off, k->len, (int64_t)base,
                             page, &k->ranges);
    if (rc) {
        chunk_fail(k, rc, zc_error_text(rc));
        return;
    }
    a->handle = r->handle;
    a->dir = writes(r) ? ZC_WRITE : ZC_READ;
    a->off = base + k->ranges.r[0].lo;
    a->len = k->ranges.r[k->ranges.n - 1].hi - k->ranges.r[0].lo;
    a->nranges = k->ranges.n;
    a->view = r->vio->view;
    a->disp = (int64_t)r->msg.disp;
    a->view_off = k->view_off;
    a->view_len = k->len;
    a->ready = access_ready;
    k->ready.handle = page_ready;
    rc = zc_cache_begin(a);
    if (rc == 0)
        on_page(k);
    else if (rc != -EINPROGRESS)
        chunk_fail(k, rc, zc_error_text(rc));
}

/* ---- the buffer is there ---- */

static void move_done(struct zc_op *op, int status)
{
    struct zc_vchunk *k = zc_list_entry(op, struct zc_vchunk, op);
    struct zc_request *r = k->request;
    struct zc_server_stats *st = &server_of(r)->stats;

    if (k->direct)
        zc_cache_end(&k->access, 0);
    if (status) {
        st->rma_failed++;
        chunk_fail(k, status == -ECANCELED ? -EPIPE : status, "the fabric could not move the data");
    } else if (writes(r)) {
        st->rma_in_bytes += op->len;
        enter_page(k);
    } else {
        st->rma_out_bytes += op->len;
        chunk_end(k);
    }
    advance(r);
}

static void with_buffer(struct zc_vchunk *k)
{
    struct zc_request *r = k->request;

    if (r->status || r->session->dead) {
        chunk_end(k);
    } else if (!writes(r)) {
        enter_page(k);
    } else if (r->msg.flags & ZC_F_RMA) {
        move(k, ZC_RMA_PULL);
    } else {
        memcpy(k->buf, r->data + ((uint64_t)k->view_off - r->msg.off), k->len);
        enter_page(k);
    }
}

/* ---- chunks ---- */

/* Bytes of the piece at r->next if it can go from the page; else 0. */
static int64_t direct_bytes(const struct zc_request *r)
{
    uint32_t page = zc_cache_page_size(server_of(r)->cfg.cache);
    int64_t first, len, room = (int64_t)(r->end - r->next);
    struct zc_view_iter it;

    if (writes(r) || !(r->msg.flags & ZC_F_RMA) || room < DIRECT ||
        zc_view_start(&it, r->vio->view, (int64_t)r->msg.disp, (int64_t)r->next) ||
        zc_view_next(&it, room, &first, &len))
        return 0;
    if (len > page - first % page)
        len = page - first % page;
    return len < DIRECT ? 0 : len;
}

static bool start_chunk(struct zc_request *r, struct zc_vchunk *k)
{
    int64_t room = (int64_t)(r->end - r->next), first, len, direct = direct_bytes(r);
    int rc = direct ? 0
                    : zc_vspan(r->vio->view, (int64_t)r->msg.disp, (int64_t)r->next,
                               room < ZC_SERVER_CHUNK ? room : ZC_SERVER_CHUNK,
                               zc_cache_page_size(server_of(r)->cfg.cache), &first, &len);

    if (rc) {
        zc_request_fail(r, rc, zc_error_text(rc));
        return false;
    }
    k->used = true;
    k->request = r;
    k->direct = direct;
    k->buf = NULL;
    k->view_off = (int64_t)r->next;
    k->len = (uint32_t)(direct ? direct : len);
    zc_list_init(&k->wait);
    r->next += k->len;
    r->flying++;
    if (direct)
        enter_page(k);
    else
        get_buffer(k);
    return true;
}

static void finish(struct zc_request *r)
{
    struct zc_server *s = server_of(r);
    uint64_t end = r->eof < r->end ? r->eof : r->end;

    r->reply.count = end > r->msg.off ? end - r->msg.off : 0;
    if (r->status == 0 && !(r->msg.flags & ZC_F_RMA)) {
        if (writes(r)) {
            s->stats.inline_in_bytes += r->reply.count;
        } else {
            r->reply.data = (struct zc_bytes){r->data, (uint32_t)r->reply.count};
            s->stats.inline_out_bytes += r->reply.count;
        }
    }
    if (r->vio) {
        for (int i = 0; i < CHUNKS; i++)
            free(r->vio->chunks[i].ranges.r);
        zc_view_put(r->vio->view);
        free(r->vio);
        r->vio = NULL;
    }
    if (writes(r))
        zc_request_written(r);
    else
        zc_request_finish(r);
}

/* Keeps chunks under way; finishes the request when there is nothing left.  A chunk that
 * ends at once calls back here: `advancing` keeps that from nesting. */
static void advance(struct zc_request *r)
{
    if (r->advancing)
        return;
    r->advancing = true;
    while (!r->status && !r->session->dead && r->next < r->end && r->next < r->eof) {
        struct zc_vchunk *k = NULL;

        for (int i = 0; i < CHUNKS && !k; i++)
            if (!r->vio->chunks[i].used)
                k = &r->vio->chunks[i];
        if (!k || !start_chunk(r, k))
            break;
    }
    r->advancing = false;
    if (r->flying == 0)
        finish(r);
}

static int prepare(struct zc_request *r, const struct zc_msg *m)
{
    struct zc_server *s = server_of(r);
    bool rma = m->flags & ZC_F_RMA;
    int rc = make_buffers(s);

    if (rc)
        return rc;
    if (m->disp > INT64_MAX)
        return zc_errorf(EINVAL, "negative displacement");
    if (rma ? m->data.n != 0 : m->len > ZC_MAX_INLINE || (writes(r) && m->data.n != m->len))
        return zc_errorf(EPROTO, "payload and length do not agree");
    r->vio = calloc(1, sizeof *r->vio);
    if (!r->vio)
        return zc_errorf(ENOMEM, "no memory for a request");
    r->vio->view = zc_session_view(r->session, m->view_low, m->view_high);
    if (!r->vio->view)
        return zc_errorf(ENOKEY, "this view is not known here");
    if (m->len && zc_view_size(r->vio->view) == 0)
        return zc_errorf(EINVAL, "the view shows no bytes");
    if (!rma && m->len) {
        r->data = malloc(m->len);
        if (!r->data)
            return zc_errorf(ENOMEM, "no memory for a request");
        if (writes(r))
            memcpy(r->data, m->data.p, m->len);
    }
    return 0;
}

void zc_request_view_start(struct zc_request *r)
{
    const struct zc_msg *m = &r->msg;
    int rc;

    r->next = m->off;
    r->end = m->off + m->len;
    r->eof = UINT64_MAX;
    rc = prepare(r, m);
    if (rc)
        zc_request_fail(r, rc, zc_error_text(rc));
    advance(r);
}
