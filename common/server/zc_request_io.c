/* zc_request_io.c - READ and WRITE: a request as a train of pieces, each inside one page.
 *
 *     idle --begin--> waiting for the cache --ready--> moving --moved--> idle
 *
 * At most ZC_SERVER_WINDOW pieces of a request are under way, each holding one page, and no
 * piece waits for another, so that requests cannot block each other for want of pages.
 * A page belongs to the fabric while its piece is moving by RMA.
 *
 * Counts: a WRITE answers with the bytes before the first one that did not arrive, which is
 * all of them or the reply is an error.  A READ ends at the end of the file.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_server_internal.h"

static void advance(struct zc_request *r);

static bool by_rma(const struct zc_request *r)
{
    return r->msg.flags & ZC_F_RMA;
}

/* The piece gives its page back. */
static void piece_end(struct zc_piece *p)
{
    zc_cache_end(&p->access, p->moved);
    p->used = false;
    p->request->flying--;
}

static void rma_done(struct zc_op *op, int status)
{
    struct zc_piece *p = zc_list_entry(op, struct zc_piece, op);
    struct zc_request *r = p->request;
    struct zc_server_stats *st = &r->session->server->stats;

    if (status) {
        st->rma_failed++;
        p->moved = 0;
        zc_request_fail(r, status == -ECANCELED ? -EPIPE : status,
                        "the fabric could not move the data");
    } else if (p->access.dir == ZC_WRITE) {
        st->rma_in_bytes += op->len;
    } else {
        st->rma_out_bytes += op->len;
    }
    piece_end(p);
    advance(r);
}

/* Starts moving by RMA; the page is the fabric's until rma_done(). */
static void move_by_rma(struct zc_piece *p, uint32_t len)
{
    struct zc_request *r = p->request;
    struct zc_server *s = r->session->server;
    bool in = p->access.dir == ZC_WRITE;
    int rc;

    p->op.done = rma_done;
    p->op.local = p->access.data;
    p->op.desc = s->arena.desc;
    p->op.len = len;
    p->op.raddr = r->msg.raddr + (p->access.off - r->msg.off);
    p->op.rkey = r->msg.rkey;
    p->moved = len;
    rc = zc_tp_rma(s->tp, r->session->peer, in ? ZC_RMA_PULL : ZC_RMA_PUSH, &p->op);
    if (rc) {
        p->moved = 0;
        zc_request_fail(r, rc, zc_error_text(rc));
        piece_end(p);
    }
}

static void move_inline(struct zc_piece *p, uint32_t len)
{
    struct zc_request *r = p->request;
    unsigned char *mine = r->data + (p->access.off - r->msg.off);

    if (p->access.dir == ZC_WRITE)
        memcpy(p->access.data, mine, len);
    else
        memcpy(mine, p->access.data, len);
    p->moved = len;
    piece_end(p);
}

/* The page is there: moves the piece's bytes. */
static void move(struct zc_piece *p)
{
    struct zc_request *r = p->request;
    uint32_t len = p->access.len;

    if (p->access.dir == ZC_READ && p->access.avail < len) {
        uint64_t eof = p->access.off + p->access.avail;

        len = p->access.avail;
        if (eof < r->eof)
            r->eof = eof;
    }
    if (r->status || r->session->dead || len == 0) {
        p->moved = 0;
        piece_end(p);
    } else if (by_rma(r)) {
        move_by_rma(p, len);
    } else {
        move_inline(p, len);
    }
}

/* ---- waiting for the cache ---- */

static void piece_ready(struct zc_server *s, struct zc_notice *n)
{
    struct zc_piece *p = zc_list_entry(n, struct zc_piece, ready);
    struct zc_request *r = p->request;

    (void)s;
    if (p->access.status) {
        p->used = false;
        r->flying--;
        zc_request_fail(r, p->access.status, p->text);
    } else {
        move(p);
    }
    advance(r);
}

/* On a thread of the cache. */
static void access_ready(struct zc_access *a)
{
    struct zc_piece *p = zc_list_entry(a, struct zc_piece, access);

    if (a->status)
        snprintf(p->text, sizeof p->text, "%s", zc_error_text(a->status));
    zc_server_notify(p->request->session->server, &p->ready);
}

/* Starts the next piece; false when it must not go on. */
static bool start_piece(struct zc_request *r, struct zc_piece *p)
{
    uint32_t page = zc_cache_page_size(r->session->server->cfg.cache);
    uint64_t room = page - r->next % page, left = r->end - r->next;
    int rc;

    p->used = true;
    p->request = r;
    p->ready.handle = piece_ready;
    p->access.handle = r->handle;
    p->access.dir = r->msg.type == ZC_T_WRITE ? ZC_WRITE : ZC_READ;
    p->access.off = r->next;
    p->access.len = (uint32_t)(left < room ? left : room);
    p->access.ready = access_ready;
    r->next += p->access.len;
    r->flying++;
    rc = zc_cache_begin(&p->access);
    if (rc == -EINPROGRESS)
        return true;
    if (rc) {
        p->used = false;
        r->flying--;
        zc_request_fail(r, rc, zc_error_text(rc));
        return false;
    }
    move(p);
    return true;
}

static struct zc_piece *free_piece(struct zc_request *r)
{
    for (int i = 0; i < ZC_SERVER_WINDOW; i++)
        if (!r->pieces[i].used)
            return &r->pieces[i];
    return NULL;
}

static void io_finish(struct zc_request *r)
{
    struct zc_server *s = r->session->server;
    uint64_t end = r->eof < r->end ? r->eof : r->end;

    r->reply.count = end > r->msg.off ? end - r->msg.off : 0;
    if (r->status == 0 && !by_rma(r)) {
        if (r->msg.type == ZC_T_READ) {
            r->reply.data.p = r->data;
            r->reply.data.n = (uint32_t)r->reply.count;
            s->stats.inline_out_bytes += r->reply.count;
        } else {
            s->stats.inline_in_bytes += r->reply.count;
        }
    }
    if (r->msg.type == ZC_T_WRITE)
        zc_request_written(r);
    else
        zc_request_finish(r);
}

/* Keeps the window full; finishes the request when nothing is left to do or under way. */
static void advance(struct zc_request *r)
{
    struct zc_piece *p;

    while (!r->status && !r->session->dead && r->next < r->end && r->next < r->eof &&
           (p = free_piece(r)))
        if (!start_piece(r, p))
            break;
    if (r->flying == 0)
        io_finish(r);
}

static const char *bad_payload(const struct zc_msg *m)
{
    if (m->flags & ZC_F_RMA)
        return m->data.n ? "a payload both inline and by RMA" : NULL;
    if (m->type == ZC_T_WRITE && m->data.n != m->len)
        return "inline payload and length differ";
    if (m->len > ZC_MAX_INLINE)
        return "too long for an inline payload";
    return NULL;
}

void zc_request_io_start(struct zc_request *r)
{
    const struct zc_msg *m = &r->msg;
    const char *bad = bad_payload(m);

    r->next = m->off;
    r->end = m->off + m->len;
    r->eof = UINT64_MAX;
    if (bad) {
        zc_request_fail(r, -EPROTO, bad);
    } else if (!by_rma(r) && m->len) {
        r->data = malloc(m->len);
        if (!r->data)
            zc_request_fail(r, -ENOMEM, "the daemon has no memory");
        else if (m->type == ZC_T_WRITE)
            memcpy(r->data, m->data.p, m->len);
    }
    advance(r);
}
