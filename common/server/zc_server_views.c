/* zc_server_views.c - the views that clients have installed.
 *
 * A session owns the views it has installed, by number, each for one open file; views with the same
 * hash are one in memory, whichever sessions own them.  A view is never taken from its owner: it
 * ends by VIEW_DROP, with its file, or with the session.  So memory is assigned once, from the
 * budget for all views of the process; a session that finds none gets -ENOSPC and sends lists
 * instead.
 *
 *     install --known by its hash----------------------------------------------> owned
 *        |                                                                         ^
 *        +--room for it?-- no, but others are being installed --> waiting          |
 *        |  no: -ENOSPC                                             |              |
 *        v                                                          v              |
 *     reserved: the encoded bytes, and what decoding takes <--------+              |
 *        |  inline, or pull()*: by RMA, one piece after the other                  |
 *        v                                                                         |
 *     decode(): on the pool ---> decoded(): the reservation shrinks to what is kept
 *
 * A session installs one view at a time, which limits the memory it can hold, too.  A request has a
 * reference to its view: dropped memory counts until the request has ended.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_server_internal.h"
#include "zc_view.h"

enum {
    PULL = 1 << 20,   /* bytes of an encoded view in one RMA operation */
    OWNED_MAX = 4096, /* views of a session */
};

struct zc_shared_view {
    struct zc_list link; /* in zc_server.views */
    struct zc_view *view;
    struct zc_view_hash hash;
    size_t bytes;
    unsigned owners; /* sessions' numbers and requests */
};

struct zc_install {
    struct zc_request *request;
    struct zc_list link; /* zc_server.installs_waiting */
    size_t reserved;     /* of the budget */
    unsigned char *buf;  /* the encoded view ... */
    size_t at;           /* ... of which so much is here */
    struct zc_mr mr;
    struct zc_op op;
    struct zc_view *view; /* once decoded */
};

/* ---- the budget ---- */

/* Other servers of this process share the budget. */
static bool reserve(struct zc_server *s, size_t bytes)
{
    struct zc_view_budget *b = s->cfg.views;
    size_t used = b ? __atomic_load_n(&b->used, __ATOMIC_RELAXED) : 0;
    size_t limit = b ? __atomic_load_n(&b->limit, __ATOMIC_RELAXED) : 0;

    do {
        if (!b || bytes > limit || used > limit - bytes)
            return false;
    } while (!__atomic_compare_exchange_n(&b->used, &used, used + bytes, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    s->stats.view_bytes += bytes;
    return true;
}

static void give_back(struct zc_server *s, size_t bytes)
{
    if (bytes)
        __atomic_sub_fetch(&s->cfg.views->used, bytes, __ATOMIC_RELAXED);
    s->stats.view_bytes -= bytes;
}

/* ---- shared views ---- */

static struct zc_list *bucket(struct zc_server *s, uint64_t low)
{
    return &s->views[low % ZC_SERVER_BUCKETS];
}

static struct zc_shared_view *find(struct zc_server *s, struct zc_view_hash h)
{
    zc_list_each (bucket(s, h.low), n) {
        struct zc_shared_view *v = zc_list_entry(n, struct zc_shared_view, link);

        if (v->hash.low == h.low && v->hash.high == h.high)
            return v;
    }
    return NULL;
}

static void shared_put(struct zc_server *s, struct zc_shared_view *v)
{
    if (--v->owners)
        return;
    zc_list_del(&v->link);
    give_back(s, v->bytes);
    s->stats.views--;
    zc_view_put(v->view);
    free(v);
}

/* Takes the view, whose memory is reserved; NULL: no memory, and nothing is taken. */
static struct zc_shared_view *share(struct zc_server *s, struct zc_view *view, size_t bytes)
{
    struct zc_shared_view *v = calloc(1, sizeof *v);

    if (!v)
        return NULL;
    v->view = view;
    v->hash = zc_view_hash(view);
    v->bytes = bytes;
    zc_list_add_tail(bucket(s, v->hash.low), &v->link);
    s->stats.views++;
    return v;
}

/* ---- views of a session ---- */

static uint64_t number_of(const struct zc_owned *o, uint32_t index)
{
    return (uint64_t)o->generation << 32 | (index + 1);
}

static struct zc_owned *owned(struct zc_session *ss, uint64_t number)
{
    uint32_t index = (uint32_t)number - 1;

    if (index >= ss->nowned || !ss->owned[index].view ||
        number_of(&ss->owned[index], index) != number)
        return NULL;
    return &ss->owned[index];
}

static struct zc_owned *free_number(struct zc_session *ss)
{
    uint32_t n = ss->nowned ? ss->nowned * 2 : 8;
    struct zc_owned *more;

    for (uint32_t i = 0; i < ss->nowned; i++)
        if (!ss->owned[i].view)
            return &ss->owned[i];
    if (n > OWNED_MAX)
        return NULL;
    more = realloc(ss->owned, n * sizeof *more);
    if (!more)
        return NULL;
    memset(more + ss->nowned, 0, (n - ss->nowned) * sizeof *more);
    ss->owned = more;
    more += ss->nowned;
    ss->nowned = n;
    return more;
}

/* Adds the view to the session; returns its number, 0: the session has too many. */
static uint64_t own(struct zc_session *ss, struct zc_shared_view *v, uint64_t handle)
{
    struct zc_owned *o = free_number(ss);

    if (!o)
        return 0;
    o->view = v;
    o->handle = handle;
    o->generation++;
    v->owners++;
    return number_of(o, (uint32_t)(o - ss->owned));
}

static void disown(struct zc_session *ss, struct zc_owned *o)
{
    shared_put(ss->server, o->view);
    o->view = NULL;
}

struct zc_shared_view *zc_session_view(struct zc_session *ss, uint64_t number, uint64_t handle)
{
    struct zc_owned *o = owned(ss, number);

    if (!o || o->handle != handle)
        return NULL;
    o->view->owners++;
    return o->view;
}

struct zc_view *zc_shared_view_of(struct zc_shared_view *v)
{
    return v->view;
}

void zc_session_view_put(struct zc_session *ss, struct zc_shared_view *v)
{
    if (v)
        shared_put(ss->server, v);
}

void zc_session_views_forget(struct zc_session *ss, uint64_t handle)
{
    for (uint32_t i = 0; i < ss->nowned; i++)
        if (ss->owned[i].view && (!handle || ss->owned[i].handle == handle))
            disown(ss, &ss->owned[i]);
}

/* Drops views of exports that were withdrawn, where clients have not. */
static void forget_gone(struct zc_server *s)
{
    zc_list_each (&s->sessions, n) {
        struct zc_session *ss = zc_list_entry(n, struct zc_session, link);

        for (uint32_t i = 0; i < ss->nowned; i++) {
            uint64_t handle = ss->owned[i].view ? ss->owned[i].handle : 0;

            if (zc_export_number(handle) && !zc_export_there(s, handle))
                disown(ss, &ss->owned[i]);
        }
    }
}

/* ---- installing ---- */

static void start(struct zc_install *in);

/* Retries the waiting installations: those that find room continue, and if none is under way any
 * more the others fail. */
static void serve_waiting(struct zc_server *s)
{
    struct zc_list all, *n;

    zc_list_init(&all);
    zc_list_splice(&all, &s->installs_waiting);
    while ((n = zc_list_pop(&all)))
        start(zc_list_entry(n, struct zc_install, link));
}

/* Ends an installation: releases what was reserved and is not kept. */
static void finish(struct zc_install *in)
{
    struct zc_request *r = in->request;
    struct zc_server *s = r->session->server;
    bool worked = in->reserved > 0;

    if (in->mr.priv)
        zc_tp_dereg(s->tp, &in->mr);
    give_back(s, in->reserved);
    zc_view_put(in->view);
    free(in->buf);
    free(in);
    r->install = NULL;
    r->session->installing = false;
    if (worked)
        s->installs--;
    zc_request_finish(r);
    if (worked)
        serve_waiting(s);
}

static void fail(struct zc_install *in, int rc)
{
    zc_error_join(&in->request->error, rc);
    finish(in);
}

static bool asked_for(const struct zc_msg *m, const struct zc_view *v)
{
    struct zc_view_hash h = zc_view_hash(v);

    return h.low == m->view_low && h.high == m->view_high;
}

/* On the server's thread again. */
static void decoded(struct zc_request *r)
{
    struct zc_install *in = r->install;
    struct zc_session *ss = r->session;
    struct zc_shared_view *v = NULL;
    size_t bytes;

    if (r->error.rc || zc_session_gone(ss)) {
        finish(in);
        return;
    }
    bytes = zc_view_memory(in->view);
    v = find(ss->server, zc_view_hash(in->view)); /* another client may have been faster */
    if (!v && bytes <= in->reserved) {
        v = share(ss->server, in->view, bytes);
        if (v) {
            in->view = NULL;
            in->reserved -= bytes;
            v->owners++; /* until it has an owner, which may fail */
            r->reply.view = own(ss, v, r->msg.handle);
            shared_put(ss->server, v);
        }
    } else if (v) {
        r->reply.view = own(ss, v, r->msg.handle);
    }
    if (!r->reply.view)
        zc_request_fail(r, -ENOSPC, "no memory for one view more");
    finish(in);
}

/* On the pool. */
static void decode(struct zc_request *r)
{
    struct zc_install *in = r->install;
    int rc = zc_view_decode(in->buf, r->msg.size, r->msg.memory, &in->view);

    if (rc == 0 && !asked_for(&r->msg, in->view))
        rc = zc_errorf(EPROTO, "a view that does not have the hash it was sent with");
    zc_error_join(&r->error, rc);
}

static void pull(struct zc_install *in);

static void pulled(struct zc_op *op, int status)
{
    struct zc_install *in = zc_list_entry(op, struct zc_install, op);
    struct zc_request *r = in->request;

    if (status) {
        r->session->server->stats.rma_failed++;
        zc_request_fail(r, status == -ECANCELED ? -EPIPE : status,
                        "the fabric could not move a view");
        finish(in);
        return;
    }
    in->at += op->len;
    if (in->at < r->msg.size)
        pull(in);
    else
        zc_request_submit(r, decode, decoded);
}

static void pull(struct zc_install *in)
{
    struct zc_request *r = in->request;
    size_t left = r->msg.size - in->at;
    int rc = -EPIPE;

    in->op.done = pulled;
    in->op.local = in->buf + in->at;
    in->op.desc = in->mr.desc;
    in->op.len = left < PULL ? left : PULL;
    in->op.raddr = r->msg.raddr + in->at;
    in->op.rkey = r->msg.rkey;
    if (!zc_session_gone(r->session))
        rc = zc_tp_rma(r->session->server->tp, r->session->peer, ZC_RMA_PULL, &in->op);
    if (rc)
        fail(in, rc);
}

/* Reserves room, or queues for it, or fails. */
static bool admit(struct zc_install *in)
{
    struct zc_request *r = in->request;
    struct zc_server *s = r->session->server;
    size_t need;

    if (__builtin_add_overflow(r->msg.size, r->msg.memory, &need) || need > SIZE_MAX / 2)
        need = SIZE_MAX / 2;
    if (!reserve(s, need)) {
        forget_gone(s);
        if (!reserve(s, need)) {
            if (s->installs && !zc_session_gone(r->session))
                zc_list_add_tail(&s->installs_waiting, &in->link);
            else
                fail(in, zc_errorf(ENOSPC, "no memory for a view of %llu bytes",
                                   (unsigned long long)r->msg.size));
            return false;
        }
    }
    in->reserved = need;
    s->installs++;
    return true;
}

/* Fetches the encoded view; an inline one is here already. */
static void fetch(struct zc_install *in)
{
    struct zc_request *r = in->request;
    int rc;

    if (in->at == r->msg.size) {
        zc_request_submit(r, decode, decoded);
        return;
    }
    in->buf = malloc(r->msg.size);
    rc = in->buf ? zc_tp_reg(r->session->server->tp, in->buf, r->msg.size, &in->mr)
                 : zc_errorf(ENOMEM, "no memory for a view");
    if (rc)
        fail(in, rc);
    else
        pull(in);
}

static void start(struct zc_install *in)
{
    struct zc_request *r = in->request;
    struct zc_view_hash h = {r->msg.view_low, r->msg.view_high};
    struct zc_shared_view *known = find(r->session->server, h);

    if (known) {
        r->reply.view = own(r->session, known, r->msg.handle);
        fail(in, r->reply.view ? 0 : zc_errorf(ENOSPC, "too many views of one process"));
    } else if (admit(in)) {
        fetch(in);
    }
}

static int check(const struct zc_request *r)
{
    const struct zc_msg *m = &r->msg;
    bool rma = m->flags & ZC_F_RMA;

    if (r->session->installing)
        return zc_errorf(EBUSY, "a process installs one view at a time");
    if (m->size == 0 || m->size > UINT32_MAX || m->memory > INT64_MAX)
        return zc_errorf(EPROTO, "a view of %llu bytes", (unsigned long long)m->size);
    if (m->data.n != (rma ? 0 : m->size))
        return zc_errorf(EPROTO, "a view of %llu bytes with %u of them",
                         (unsigned long long)m->size, m->data.n);
    return 0;
}

void zc_request_view_install(struct zc_request *r)
{
    struct zc_install *in = NULL;
    int rc = check(r);

    if (rc == 0) {
        in = calloc(1, sizeof *in);
        rc = in ? 0 : zc_errorf(ENOMEM, "no memory for a view");
    }
    if (rc == 0 && r->msg.data.n) { /* the message is freed when this returns */
        in->buf = malloc(r->msg.data.n);
        if (in->buf)
            memcpy(in->buf, r->msg.data.p, r->msg.data.n);
        else
            rc = zc_errorf(ENOMEM, "no memory for a view");
        in->at = r->msg.data.n;
    }
    zc_error_join(&r->error, rc);
    if (rc) {
        free(in);
        zc_request_finish(r);
        return;
    }
    in->request = r;
    r->install = in;
    r->session->installing = true;
    start(in);
}

void zc_request_view_drop(struct zc_request *r)
{
    struct zc_owned *o = owned(r->session, r->msg.view);

    if (o)
        disown(r->session, o);
    else
        zc_request_fail(r, -ENOKEY, "this view is not known here");
    zc_request_finish(r);
}

/* ---- all of them ---- */

void zc_server_views_init(struct zc_server *s)
{
    for (int i = 0; i < ZC_SERVER_BUCKETS; i++)
        zc_list_init(&s->views[i]);
    zc_list_init(&s->installs_waiting);
}
