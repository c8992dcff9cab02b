/* zc_server_views.c - the views clients have sent, shared by all of them through their hash.
 *
 * A view is kept until room is needed for another; who wants it then is told so and sends
 * it again.  Requests under way hold references of their own, and a session one to the view it
 * sent last, until its next transfer through it: what was sent again is there when it is wanted.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_server_internal.h"
#include "zc_view.h"

struct view {
    struct zc_list link; /* zc_server.views, least recently used first */
    uint64_t low, high;
    struct zc_view *view;
};

static struct view *find(struct zc_server *s, uint64_t low, uint64_t high)
{
    zc_list_each (&s->views, n) {
        struct view *v = zc_list_entry(n, struct view, link);

        if (v->low == low && v->high == high)
            return v;
    }
    return NULL;
}

/* The session's last view and the reference to it, if it is this one. */
static struct zc_view *take_sent(struct zc_sent *sent, uint64_t low, uint64_t high)
{
    struct zc_view *view = sent->view;

    if (!view || sent->low != low || sent->high != high)
        return NULL;
    sent->view = NULL;
    return view;
}

static void set_sent(struct zc_sent *sent, const struct view *v)
{
    zc_view_put(sent->view);
    *sent = (struct zc_sent){v->low, v->high, zc_view_get(v->view)};
}

struct zc_view *zc_session_view(struct zc_session *ss, uint64_t low, uint64_t high)
{
    struct view *v = find(ss->server, low, high);
    struct zc_view *sent = take_sent(&ss->sent, low, high);

    if (!v)
        return sent;
    zc_view_put(sent);
    zc_list_del(&v->link);
    zc_list_add_tail(&ss->server->views, &v->link);
    return zc_view_get(v->view);
}

static void drop_oldest(struct zc_server *s)
{
    struct view *v = zc_list_entry(s->views.next, struct view, link);

    zc_list_del(&v->link);
    s->view_bytes -= zc_view_memory(v->view);
    zc_view_put(v->view);
    free(v);
}

void zc_server_views_free(struct zc_server *s)
{
    while (!zc_list_empty(&s->views))
        drop_oldest(s);
}

static int keep(struct zc_session *ss, struct zc_partial *p, struct zc_view *view)
{
    struct zc_server *s = ss->server;
    struct zc_view_hash h = zc_view_hash(view);
    struct view *v;

    if (h.low != p->low || h.high != p->high) {
        zc_view_put(view);
        return zc_errorf(EPROTO, "a view that does not have the hash it was sent with");
    }
    v = calloc(1, sizeof *v);
    if (!v) {
        zc_view_put(view);
        return zc_errorf(ENOMEM, "no memory for a view");
    }
    v->low = p->low;
    v->high = p->high;
    v->view = view;
    s->view_bytes += zc_view_memory(view);
    zc_list_add_tail(&s->views, &v->link);
    set_sent(&ss->sent, v);
    while (s->view_bytes > ZC_SERVER_VIEWS && s->views.next != &v->link)
        drop_oldest(s);
    return 0;
}

static int begin(struct zc_partial *p, const struct zc_msg *m)
{
    if (m->size == 0 || m->size > UINT32_MAX / 2)
        return zc_errorf(EPROTO, "a view of %llu bytes", (unsigned long long)m->size);
    free(p->buf);
    *p = (struct zc_partial){.low = m->view_low, .high = m->view_high, .size = m->size};
    p->buf = malloc(m->size);
    return p->buf ? 0
                  : zc_errorf(ENOMEM, "no memory for a view of %llu bytes",
                              (unsigned long long)m->size);
}

static int complete(struct zc_session *ss, struct zc_partial *p)
{
    struct zc_view *view;
    int rc = zc_view_decode(p->buf, p->size, &view);

    if (rc == 0)
        rc = keep(ss, p, view);
    free(p->buf);
    p->buf = NULL;
    return rc;
}

/* Two clients may send the same view at a time: what is there already is fine. */
int zc_server_view_piece(struct zc_session *ss, const struct zc_msg *m)
{
    struct zc_partial *p = &ss->partial;
    bool same = p->buf && p->low == m->view_low && p->high == m->view_high && p->size == m->size;
    struct view *known = find(ss->server, m->view_low, m->view_high);
    int rc = 0;

    if (known) {
        set_sent(&ss->sent, known);
        return 0;
    }
    if (!same && m->off == 0)
        rc = begin(p, m);
    else if (!same)
        return zc_errorf(EINVAL, "a view that does not begin with its first piece");
    if (rc)
        return rc;
    if (m->off + m->data.n <= p->at)
        return 0;
    if (m->off != p->at || m->data.n == 0 || m->data.n > p->size - p->at)
        return zc_errorf(EINVAL, "a piece of a view out of order");
    memcpy(p->buf + p->at, m->data.p, m->data.n);
    p->at += m->data.n;
    return p->at == p->size ? complete(ss, p) : 0;
}
