/* zc_transfer.c - moves the data of a request between pages and its client.
 *
 * A client's bytes are contiguous; offsets in them are those of the request: file offsets, or, with
 * a view (VREAD, VWRITE), view offsets; the list of a LIST_READ or LIST_WRITE is a view of its own.
 * A transfer is cut into pieces, each inside one page, where its bytes are
 *
 *     plain      in one run: all of READ and WRITE, and a long run of a view
 *     scattered  where the view has them
 *
 * and they move in one of three ways:
 *
 *     inline     the message's payload, in memory     -- copied --  page
 *     straight   the client  -- RMA -->  page                            plain pieces
 *     buffered   the client  -- RMA -->  a buffer     -- copied --  page scattered ones, and
 *                                                                        writes with checksums, and
 *                                                                        repeated reads
 *
 * with these steps, where * may wait:
 *
 *     inline             start_piece, enter_page*, on_page: copy, leave
 *     straight           start_piece, enter_page*, on_page: move*, moved: leave
 *     buffered, writing  start_piece, get_buffer*, move*, moved: enter_page*, on_page: copy, leave
 *     buffered, reading  start_piece, get_buffer*, enter_page*, on_page: copy, leave, move*, moved
 *
 * In a view or list with checksums each checksum covers more than the bytes in one page: there a
 * piece is the range of one checksum, and its buffer meets its pages one after the other (to_pages,
 * page_left).
 *
 * With a journal, written bytes go there before the write leaves its page (zc_transfer_journal.c).
 *
 * 1.  A piece holds at most one page, and no piece waits for another while it holds one, so
 *    requests cannot block each other for want of pages.
 * 2.  Between move() and moved() the page (straight) or the buffer belongs to the fabric.  A
 *    scattered piece holds its page only while bytes are copied in memory.
 * 3.  Buffers are few (zc_few.h); pieces hold nothing while they wait for one.
 *
 * Counts: a write replies with the number of bytes before the first one that did not arrive: all of
 * them, or the reply is an error.  A read ends at the end of the file.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_transfer_internal.h"
#include "zc_tsan.h"
#include "zc_view.h"
#include "zc_vspan.h"

enum { LONG_RUN = 32 << 10 }; /* bytes of a run worth an RMA of its own */

static void moved(struct zc_op *op, int status);

/* Whether the client still waits for the bytes; else no RMA may be posted to it. */
static bool wanted(const struct zc_request *r)
{
    return !r->error.rc && !zc_session_gone(r->session);
}

static uint32_t page_size(const struct zc_request *r)
{
    return zc_cache_page_size(zc_server_of(r)->cfg.cache);
}

/* Ends the piece, which holds nothing any more. */
static void piece_over(struct piece *p)
{
    struct zc_bounce *b = &zc_server_of(p->request)->bounce;
    struct zc_transfer *t = p->request->transfer;

    if (!p->arrived && p->off < t->missing)
        t->missing = p->off;
    if (p->buf)
        zc_bounce_give(b, p->buf);
    if (p->buf && !p->lost)
        zc_few_gave(&b->few, &p->wait.few);
    b->lost -= p->lost;
    p->lost = false;
    p->buf = NULL;
    p->used = false;
    t->flying--;
}

static void piece_fail(struct piece *p, const struct zc_error *e)
{
    bool terse = zc_server_of(p->request)->cfg.terse;

    zc_request_fail(p->request, e->rc, terse ? e->text + e->cause : e->text);
    piece_over(p);
}

void zc_transfer_leave_page(struct piece *p, uint32_t arrived)
{
    if (p->plain || p->access.dir == ZC_READ)
        zc_cache_end(&p->access, arrived);
    else
        zc_cache_end_ranges(&p->access, p->ranges.r, p->ranges.n);
}

/* ---- between the client and a page, or a buffer ---- */

static void move(struct piece *p)
{
    struct zc_request *r = p->request;
    struct zc_server *s = zc_server_of(r);
    bool straight = !p->buf;
    int rc = 0;

    if (wanted(r) && p->whole) {
        zc_transfer_csum_go(p);
        p->op.done = moved;
        p->op.local = straight ? p->access.data : p->buf;
        p->op.desc = straight ? __atomic_load_n(&s->arena, __ATOMIC_ACQUIRE)->mr.desc
                              : zc_bounce_desc(&s->bounce, p->buf);
        p->op.len = p->whole;
        p->op.raddr = r->msg.raddr + (p->base - r->msg.off);
        p->op.rkey = r->msg.rkey;
        rc = zc_tp_rma(s->tp, r->session->peer, zc_transfer_writes(r) ? ZC_RMA_PULL : ZC_RMA_PUSH,
                       &p->op);
        if (rc == 0)
            return;
    }
    zc_error_join(&r->error, rc);
    if (straight)
        zc_transfer_leave_page(p, 0);
    piece_over(p);
}

/* ---- pieces and their pages ---- */

/* Whether a read can go straight from a page: a long run of the view is next, and its part in this
 * page is long, too. */
static bool long_run(const struct piece *p, int64_t from, int64_t room, int64_t *first,
                     int64_t *len)
{
    const struct zc_request *r = p->request;
    const struct zc_transfer *t = r->transfer;
    struct zc_view_iter it;

    if (zc_transfer_writes(r) || !zc_transfer_by_rma(r) || t->csums || room < LONG_RUN ||
        zc_view_start(&it, t->view, t->disp, from) || zc_view_next(&it, room, first, len))
        return false;
    if (*len > page_size(r) - *first % page_size(r))
        *len = page_size(r) - *first % page_size(r);
    return *len >= LONG_RUN;
}

/* Sets the piece to the part of [from, end) inside the first page. */
static int cut(struct piece *p, uint64_t from, uint64_t end)
{
    const struct zc_request *r = p->request;
    const struct zc_transfer *t = r->transfer;
    int64_t room = (int64_t)(end - from), first = (int64_t)from;
    int64_t len = page_size(r) - first % page_size(r);
    int rc = 0;

    p->plain = !t->view || long_run(p, (int64_t)from, room, &first, &len);
    if (!p->plain)
        rc = zc_vspan(t->view, t->disp, (int64_t)from,
                      room < ZC_SERVER_CHUNK ? room : ZC_SERVER_CHUNK, page_size(r), &first, &len);
    p->off = from;
    p->first = (uint64_t)first;
    p->len = (uint32_t)(len < room ? len : room);
    return rc;
}

/* The piece has left its page; true: it has advanced to its next one. */
static bool page_left(struct piece *p)
{
    struct zc_request *r = p->request;
    uint64_t next = p->off + p->len, end = p->base + p->whole;

    if (next < end) {
        zc_error_join(&r->error, cut(p, next, end));
        if (wanted(r))
            return true;
        piece_over(p);
        return false;
    }
    p->arrived = true;
    if (r->transfer->data || zc_transfer_writes(r))
        piece_over(p);
    else
        move(p);
    return false;
}

static void to_pages(struct piece *p);

void zc_transfer_kept(struct piece *p, const struct zc_error *e)
{
    if (e->rc)
        piece_fail(p, e);
    else if (page_left(p))
        to_pages(p);
}

/* ---- the page is there ---- */

/* A read ends at the end of the file. */
static void cut_at_eof(struct piece *p)
{
    struct zc_request *r = p->request;
    struct zc_transfer *t = r->transfer;
    const struct zc_access *a = &p->access;

    if (a->avail >= a->len)
        return;
    p->len = p->plain ? a->avail
                      : (uint32_t)zc_vspan_before(t->view, t->disp, (int64_t)p->off, p->len,
                                                  (int64_t)(a->off + a->avail));
    p->whole = (uint32_t)(p->off + p->len - p->base);
    if (p->off + p->len < t->eof)
        t->eof = p->off + p->len;
}

/* Copies all bytes of the piece between the page and `mem`. */
static void copy(struct piece *p, unsigned char *mem)
{
    const struct zc_transfer *t = p->request->transfer;
    const struct zc_access *a = &p->access;
    int64_t off = (int64_t)p->off, at = (int64_t)a->off;

    if (!p->plain && a->dir == ZC_WRITE) {
        zc_view_scatter(t->view, t->disp, off, mem, p->len, a->data, at, a->len);
    } else if (!p->plain) {
        zc_view_gather(t->view, t->disp, off, mem, p->len, a->data, at, a->len);
    } else if (a->dir == ZC_WRITE) {
        memcpy(a->data, mem, p->len);
    } else {
        ZC_TSAN_RACY_BEGIN(); /* others may write to it */
        memcpy(mem, a->data, p->len);
        ZC_TSAN_RACY_END();
    }
}

/* Tells a client of this host where it can read the page directly. */
static void show(struct piece *p)
{
    struct zc_request *r = p->request;
    struct zc_server *s = zc_server_of(r);

    /* Only to clients that can see earlier ring entries: others could read older bytes. */
    if (s->cfg.publishes && r->session->ring_writer)
        zc_cache_pagedesc(&p->access, &r->reply.pagedesc, &r->reply.file);
}

/* Inline bytes are copied even if another piece has failed: a write that ends with less leaves
 * undefined bytes in the page.  True: continues with the next page. */
static bool on_page(struct piece *p)
{
    struct zc_request *r = p->request;
    unsigned char *data = r->transfer->data;

    if (!zc_transfer_writes(r)) {
        cut_at_eof(p);
        show(p);
    }
    if (!data && !p->buf) {
        move(p);
        return false;
    }
    copy(p, p->buf ? p->buf + (p->off - p->base) : data + (p->off - r->msg.off));
    if (zc_transfer_writes(r) && zc_transfer_journal(p))
        return false;
    zc_transfer_leave_page(p, p->len);
    return page_left(p);
}

static void page_ready(struct zc_server *s, struct zc_notice *n)
{
    struct piece *p = zc_list_entry(n, struct piece, ready);
    struct zc_request *r = p->request;

    (void)s;
    if (p->access.status)
        piece_fail(p, &p->error);
    else if (on_page(p))
        to_pages(p);
    zc_transfer_advance(r);
}

/* On a thread of the cache. */
static void access_ready(struct zc_access *a)
{
    struct piece *p = zc_list_entry(a, struct piece, access);

    zc_error_keep(&p->error, a->status);
    zc_server_notify(zc_server_of(p->request), &p->ready);
}

/* Sets the access to the range of the file that the piece needs, from its first to its last
 * byte. */
static int aim(struct piece *p)
{
    struct zc_request *r = p->request;
    struct zc_transfer *t = r->transfer;
    struct zc_access *a = &p->access;
    uint64_t base = p->first - p->first % page_size(r);
    int rc;

    a->off = p->first;
    a->len = p->len;
    a->nranges = 1;
    if (p->plain)
        return 0;
    p->ranges.n = 0;
    rc = zc_view_touched(t->view, t->disp, (int64_t)p->off, p->len, (int64_t)base, page_size(r),
                         &p->ranges);
    if (rc)
        return rc;
    a->off = base + p->ranges.r[0].lo;
    a->len = p->ranges.r[p->ranges.n - 1].hi - p->ranges.r[0].lo;
    a->nranges = p->ranges.n;
    return 0;
}

/* 0: the page is there; -EINPROGRESS: it will be. */
static int enter_page(struct piece *p)
{
    struct zc_request *r = p->request;
    struct zc_transfer *t = r->transfer;
    struct zc_access *a = &p->access;
    int rc = aim(p);

    a->handle = r->handle;
    a->dir = zc_transfer_writes(r) ? ZC_WRITE : ZC_READ;
    a->view = t->listed ? NULL : t->view; /* lists are not reused */
    a->disp = t->disp;
    a->view_off = (int64_t)p->off;
    a->view_len = p->len;
    a->ready = access_ready;
    p->ready.handle = page_ready;
    return rc ? rc : zc_cache_begin(a);
}

/* Continues with the current page and the following ones, until it waits or is done. */
static void to_pages(struct piece *p)
{
    int rc;

    do
        rc = enter_page(p);
    while (rc == 0 && on_page(p));
    if (!rc || rc == -EINPROGRESS)
        return;
    zc_error_keep(&p->error, rc);
    piece_fail(p, &p->error);
}

static void moved(struct zc_op *op, int status)
{
    struct piece *p = zc_list_entry(op, struct piece, op);
    struct zc_request *r = p->request;
    struct zc_server_stats *st = &zc_server_of(r)->stats;
    bool straight = !p->buf;

    if (status)
        st->rma_failed++;
    else if (zc_transfer_writes(r))
        st->rma_in_bytes += op->len;
    else
        st->rma_out_bytes += op->len;
    if (!status && zc_transfer_writes(r) && !zc_transfer_csum_came(p)) {
        piece_over(p);
        zc_transfer_advance(r);
        return;
    }
    if (straight && !status && zc_transfer_writes(r) && zc_transfer_journal(p))
        return;
    if (straight) {
        zc_transfer_leave_page(p, status ? 0 : p->len);
        p->arrived = !status;
    }
    if (status)
        zc_request_fail(r, status == -ECANCELED ? -EPIPE : status,
                        "the fabric could not move the data");
    if (!status && zc_transfer_writes(r) && !straight)
        to_pages(p);
    else
        piece_over(p);
    zc_transfer_advance(r);
}

/* ---- buffers ---- */

static void with_buffer(struct piece *p)
{
    if (!wanted(p->request))
        piece_over(p);
    else if (zc_transfer_writes(p->request))
        move(p);
    else
        to_pages(p);
}

/* From the main loop. */
static void got_buffer(struct zc_bounce_wait *w, unsigned char *buf)
{
    struct piece *p = zc_list_entry(w, struct piece, wait);
    struct zc_request *r = p->request;

    p->buf = buf;
    with_buffer(p);
    zc_transfer_advance(r);
}

static bool lacks_room(const struct zc_few_wait *w)
{
    const struct piece *p = zc_list_entry(w, struct piece, wait.few);

    return zc_transfer_may_wait(p->request) && zc_cache_lacks_room(w->handle, w->at, w->at);
}

static void get_buffer(struct piece *p)
{
    p->wait.got = got_buffer;
    p->wait.few.session = p->request->session;
    p->wait.few.writes = zc_transfer_writes(p->request);
    p->wait.few.lacks_room = lacks_room;
    p->wait.few.handle = p->request->handle;
    p->wait.few.at = p->first;
    p->buf = zc_bounce_get(&zc_server_of(p->request)->bounce, &p->wait);
    if (p->buf)
        with_buffer(p);
}

/* ---- pieces ---- */

static void start_piece(struct zc_request *r, struct piece *p)
{
    struct zc_transfer *t = r->transfer;
    uint64_t stretch = zc_transfer_csum_stretch(r, t->next);
    int rc;

    p->request = r;
    rc = cut(p, t->next, stretch ? stretch : t->end);
    zc_error_join(&r->error, rc);
    if (rc)
        return;
    p->used = true;
    p->arrived = false;
    p->base = t->next;
    p->whole = stretch ? (uint32_t)(stretch - t->next) : p->len;
    t->next += p->whole;
    t->flying++;
    if (zc_transfer_by_rma(r) && (!p->plain || stretch))
        get_buffer(p);
    else
        to_pages(p);
}

static struct piece *free_piece(struct zc_transfer *t)
{
    for (unsigned i = 0; i < t->window; i++)
        if (!t->pieces[i].used)
            return &t->pieces[i];
    return NULL;
}

static void finish(struct zc_request *r)
{
    struct zc_transfer *t = r->transfer;
    struct zc_server_stats *st = &zc_server_of(r)->stats;
    uint64_t end = t->eof < t->end ? t->eof : t->end;
    uint64_t n = end > r->msg.off ? end - r->msg.off : 0;

    r->reply.count = n;
    if (!zc_transfer_writes(r))
        zc_request_steps_check(r);
    if (r->error.rc == 0 && !zc_transfer_by_rma(r))
        *(zc_transfer_writes(r) ? &st->inline_in_bytes : &st->inline_out_bytes) += n;
    if (!zc_transfer_writes(r) || !zc_request_through(r))
        zc_transfer_leave_view(r->session, t);
    else /* zc_transfer_give_up() may need it */
        zc_few_not_idle(&zc_server_of(r)->lists, &t->list_wait);
    if (zc_transfer_writes(r)) {
        zc_request_written(r);
        return;
    }
    if (t->data)
        r->reply.data = (struct zc_bytes){t->data, (uint32_t)n};
    zc_transfer_csum_end(r);
    zc_request_finish(r);
}

/* Keeps the window full; finishes the request when nothing is left to do or under way.  Called once
 * for each callback, and never by what it calls: these end inside the transport's progress or in
 * the main loop. */
void zc_transfer_advance(struct zc_request *r)
{
    struct zc_transfer *t = r->transfer;
    struct piece *p;

    while (wanted(r) && t->next < t->end && t->next < t->eof && (p = free_piece(t)))
        start_piece(r, p);
    if (t->flying == 0)
        finish(r);
}

/* Discards only what this request has written: beyond it there may be others' refused bytes. */
void zc_transfer_give_up(struct zc_request *r)
{
    const struct zc_transfer *t = r->transfer;
    uint64_t end = t->missing < t->next ? t->missing : t->next, len = end - r->msg.off;

    if (t->view)
        zc_cache_discard_view(r->handle, t->view, t->disp, len, (int64_t)r->msg.off);
    else
        zc_cache_discard(r->handle, r->msg.off, len);
}
