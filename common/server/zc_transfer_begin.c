/* zc_transfer_begin.c - what a request that moves data needs before it moves any: its view, its
 * list.
 *
 * Lists in memory are few (zc_few.h): a request whose list is not decoded yet waits with a copy of
 * its message, and is begun by the main loop (zc_transfer_serve()).  It gives its view or
 * list back as soon as its bytes have moved; a write-through only when they are stored, which needs
 * no list, for what is refused is given up by it.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_transfer_internal.h"

static int check_payload(const struct zc_request *r)
{
    const struct zc_msg *m = &r->msg;

    if (zc_transfer_by_rma(r))
        return m->data.n ? zc_errorf(EPROTO, "a payload both inline and by RMA") : 0;
    if (zc_transfer_writes(r) && m->data.n != m->len)
        return zc_errorf(EPROTO, "inline payload and length differ");
    if (m->len > ZC_MAX_INLINE)
        return zc_errorf(EPROTO, "too long for an inline payload");
    return 0;
}

static int find_view(struct zc_request *r)
{
    struct zc_transfer *t = r->transfer;

    t->shared = zc_session_view(r->session, r->msg.view, r->msg.handle);
    if (!t->shared)
        return zc_errorf(ENOKEY, "this view is not known here");
    t->view = zc_shared_view_of(t->shared);
    if (r->msg.len && zc_view_size(t->view) == 0)
        return zc_errorf(EINVAL, "the view shows no bytes");
    return 0;
}

static int take_list(struct zc_request *r)
{
    const struct zc_msg *m = &r->msg;
    struct zc_transfer *t = r->transfer;
    int rc = zc_view_decode_list(m->list.p, m->list.n, &t->view);

    if (rc)
        return rc;
    if (m->len > (uint64_t)zc_view_size(t->view))
        return zc_errorf(EPROTO, "%llu bytes, and a list of %lld", (unsigned long long)m->len,
                         (long long)zc_view_size(t->view));
    return 0;
}

/* What is looked at through one. */
static int prepare_view(struct zc_request *r)
{
    int rc = zc_transfer_by_rma(r) ? zc_bounce_make(zc_server_of(r)) : 0;

    if (rc)
        return rc;
    if (r->msg.disp > INT64_MAX)
        return zc_errorf(EINVAL, "negative displacement");
    r->transfer->disp = (int64_t)r->msg.disp;
    r->transfer->window = ZC_VIEW_WINDOW;
    return zc_transfer_has_list(r) ? take_list(r) : find_view(r);
}

static int prepare(struct zc_request *r)
{
    struct zc_transfer *t = r->transfer;
    int rc = check_payload(r);

    if (rc)
        return rc;
    t->next = r->msg.off;
    t->end = r->msg.off + r->msg.len;
    t->eof = t->missing = UINT64_MAX;
    t->window = ZC_TRANSFER_WINDOW;
    if (!zc_transfer_is_plain(r))
        rc = prepare_view(r);
    if (rc || !r->msg.len)
        return rc;
    if (zc_transfer_by_rma(r))
        return zc_transfer_csum_begin(r);
    t->data = malloc(r->msg.len);
    if (!t->data)
        return zc_errorf(ENOMEM, "the daemon has no memory");
    if (zc_transfer_writes(r))
        memcpy(t->data, r->msg.data.p, r->msg.len);
    return zc_transfer_csum_begin(r);
}

static void begin(struct zc_request *r)
{
    int rc = prepare(r);

    if (zc_transfer_writes(r))
        zc_unsynced_wrote(r);
    if (rc == 0 && zc_transfer_writes(r))
        zc_request_steps_write(r);
    else if (rc == 0)
        r->transfer->end = zc_request_steps_end(r, r->transfer->end);
    zc_error_join(&r->error, rc);
    if (rc)
        zc_request_finish(r);
    else
        zc_transfer_advance(r);
}

/* ---- lists wait for each other ---- */

static void begin_list(struct zc_request *r)
{
    r->transfer->listed = true;
    zc_server_of(r)->lists.free--;
    zc_server_of(r)->stats.lists++;
    begin(r);
}

static bool list_lacks_room(const struct zc_few_wait *w)
{
    const struct zc_transfer *t = zc_list_entry(w, struct zc_transfer, list_wait);

    return zc_transfer_may_wait(t->request) && zc_cache_lacks_room(w->handle, w->at, t->list_last);
}

bool zc_transfer_serve(struct zc_server *s)
{
    struct zc_few_wait *w;
    bool any = false;

    for (; (w = zc_few_pop(&s->lists)) != NULL; any = true)
        begin_list(zc_list_entry(w, struct zc_transfer, list_wait)->request);
    return any;
}

/* A request that waits keeps its message, which goes when this returns. */
static void start_list(struct zc_request *r)
{
    struct zc_few *lists = &zc_server_of(r)->lists;
    struct zc_few_wait *w = &r->transfer->list_wait;
    uint64_t span;

    w->session = r->session;
    w->writes = zc_transfer_writes(r);
    w->lacks_room = list_lacks_room;
    w->handle = r->handle;
    span = zc_view_list_span(r->msg.list.p, r->msg.list.n);
    w->at = r->msg.disp; /* of its first piece, as the client says; it is checked later */
    r->transfer->list_last = w->at + (span ? span - 1 : 0);
    if (zc_few_get(lists, w)) {
        begin_list(r);
    } else if (!zc_request_keep(r)) {
        zc_list_del(&w->link);
        zc_request_finish(r);
    }
}

void zc_transfer_start(struct zc_request *r)
{
    r->transfer = calloc(1, sizeof *r->transfer);
    if (!r->transfer) {
        zc_request_fail(r, -ENOMEM, "the daemon has no memory");
        zc_request_finish(r);
        return;
    }
    r->transfer->request = r;
    if (!zc_transfer_has_list(r))
        begin(r);
    else
        start_list(r);
}

void zc_transfer_leave_view(struct zc_session *ss, struct zc_transfer *t)
{
    if (t->shared)
        zc_session_view_put(ss, t->shared);
    else
        zc_view_put(t->view);
    t->shared = NULL;
    t->view = NULL;
    if (t->listed)
        zc_few_gave(&ss->server->lists, &t->list_wait);
    ss->server->lists.free += t->listed;
    ss->server->lists_lost -= t->list_lost;
    t->listed = t->list_lost = false;
}

static void write_off(struct zc_session *ss, struct zc_transfer *t)
{
    struct zc_server *s = ss->server;

    if (t->listed && s->lists_lost < ZC_SERVER_LISTS) { /* memory for as many again */
        s->lists.free++;
        s->lists_lost++;
        t->listed = false;
        t->list_lost = true;
        zc_few_gave(&s->lists, &t->list_wait);
    }
    for (int i = 0; i < ZC_TRANSFER_WINDOW; i++) {
        struct piece *p = &t->pieces[i];

        if (!p->buf || p->lost)
            continue;
        s->bounce.lost++;
        zc_few_gave(&s->bounce.few, &p->wait.few);
        p->lost = true;
    }
}

void zc_transfer_write_off(struct zc_session *ss)
{
    zc_list_each (&ss->requests, n) {
        struct zc_request *r = zc_list_entry(n, struct zc_request, link);

        if (r->transfer)
            write_off(ss, r->transfer);
    }
}

void zc_transfer_free(struct zc_session *ss, struct zc_transfer *t)
{
    if (!t)
        return;
    for (int i = 0; i < ZC_TRANSFER_WINDOW; i++)
        free(t->pieces[i].ranges.r);
    zc_transfer_leave_view(ss, t);
    free(t->data);
    free(t->csums);
    free(t);
}
