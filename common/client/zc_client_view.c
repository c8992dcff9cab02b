/* zc_client_view.c - transfers through views: installed at the server once, or listed each time.
 *
 * A view is installed when that pays: a small one at once, a large one when the lists of pieces
 * that were sent for it have come to as many bytes as it has itself.  A server that has no memory
 * for it is asked again when they have doubled.  Lists are never wrong, so nothing that happens to
 * a view at the server is an error of the transfer.
 *
 *     hold() --price paid--> install() --> number --VREAD, VWRITE-->  let_go()
 *        |                      |refused                |ENOKEY           |  old: drop(), or kept
 *        +---- not yet ---------+--> list --LIST_READ, LIST_WRITE--> ----+   for when it comes
 * again
 *
 * A view that was replaced (old) is dropped when no transfer uses it any more; a few small ones are
 * kept, since programs set the same ones in turn, and go when the server is short of memory.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_net_internal.h"
#include "zc_view.h"

enum {
    SMALL = 4 << 10, /* bytes, encoded, of a view that is installed at once */
    KEEP = 32,       /* old views of a client, and ... */
    KEPT = 8 << 10,  /* ... their memory at the server, bytes each at most */
};

struct zc_held_view {
    struct zc_list link; /* zc_client.views; the client's view_lock guards: */
    struct zc_view *view;
    uint64_t handle;
    uint64_t number; /* at the server; 0: it is not installed */
    unsigned users;  /* transfers */
    bool old;
    uint64_t listed, price; /* bytes of lists sent; so many, and it is installed */
};

/* ---- what is held ---- */

static bool same(const struct zc_view *a, const struct zc_view *b)
{
    struct zc_view_hash x = zc_view_hash(a), y = zc_view_hash(b);

    return a == b || (x.low == y.low && x.high == y.high);
}

static struct zc_held_view *find(struct zc_client *c, uint64_t handle, const struct zc_view *v)
{
    zc_list_each (&c->views, n) {
        struct zc_held_view *h = zc_list_entry(n, struct zc_held_view, link);

        if (h->handle == handle && same(h->view, v))
            return h;
    }
    return NULL;
}

static void held_free(struct zc_held_view *h)
{
    zc_view_put(h->view);
    free(h);
}

/* Found or made, and used until let_go(); NULL: no memory. */
static struct zc_held_view *hold(struct zc_client *c, uint64_t handle, struct zc_view *v)
{
    struct zc_held_view *h;

    zc_lock_get(&c->view_lock);
    h = find(c, handle, v);
    if (!h) {
        h = calloc(1, sizeof *h);
        if (h) {
            h->view = zc_view_get(v);
            h->handle = handle;
            h->price = zc_view_encoded(v) > SMALL ? zc_view_encoded(v) : 0;
            zc_list_add_tail(&c->views, &h->link);
        }
    }
    if (h) {
        h->users++;
        h->old = false;
    }
    zc_lock_put(&c->view_lock);
    return h;
}

/* Tells the server, if it has it; what it says matters to nobody. */
static void drop(struct zc_client *c, struct zc_held_view *h)
{
    struct zc_msg m = {.type = ZC_T_VIEW_DROP, .view = h->number};
    int rc = h->number ? zc_call(c, &m, NULL) : 0;

    if (rc)
        zc_debug("a view is not dropped: %s", zc_error_text(rc));
    held_free(h);
}

static void drop_all(struct zc_client *c, struct zc_list *gone)
{
    struct zc_list *n;

    while ((n = zc_list_pop(gone)))
        drop(c, zc_list_entry(n, struct zc_held_view, link));
}

/* Moves old views that nobody uses to `gone`, the oldest first: the large ones, those that are not
 * installed, and others until `keep` are left.  With the lock. */
static void sort_out(struct zc_client *c, unsigned keep, struct zc_list *gone)
{
    unsigned kept = 0;

    zc_assert_held(&c->view_lock);
    zc_list_each (&c->views, n)
        kept += zc_list_entry(n, struct zc_held_view, link)->old;
    zc_list_each_safe (&c->views, n) {
        struct zc_held_view *h = zc_list_entry(n, struct zc_held_view, link);

        if (!h->old || h->users)
            continue;
        if (kept > keep || !h->number || zc_view_memory(h->view) > KEPT) {
            zc_list_del(&h->link);
            zc_list_add_tail(gone, &h->link);
            kept--;
        }
    }
}

static void let_go(struct zc_client *c, struct zc_held_view *h)
{
    struct zc_list gone;

    zc_list_init(&gone);
    zc_lock_get(&c->view_lock);
    if (--h->users == 0 && h->old)
        sort_out(c, KEEP, &gone);
    zc_lock_put(&c->view_lock);
    drop_all(c, &gone);
}

static void make_old(struct zc_client *c, uint64_t handle, unsigned keep)
{
    struct zc_list gone;

    zc_list_init(&gone);
    zc_lock_get(&c->view_lock);
    zc_list_each (&c->views, n) {
        struct zc_held_view *h = zc_list_entry(n, struct zc_held_view, link);

        if (h->handle == handle && !h->old) {
            h->old = true;
            h->listed = 0; /* another time is another price */
        }
    }
    sort_out(c, keep, &gone);
    zc_lock_put(&c->view_lock);
    drop_all(c, &gone);
}

void zc_client_view_replaced(struct zc_client *c, uint64_t handle)
{
    make_old(c, handle, KEEP);
}

void zc_client_views_end(struct zc_client *c, uint64_t handle)
{
    make_old(c, handle, 0);
}

void zc_client_views_free(struct zc_client *c)
{
    struct zc_list *n;

    while ((n = zc_list_pop(&c->views)))
        held_free(zc_list_entry(n, struct zc_held_view, link));
}

/* ---- installing ---- */

/* The server reaches for it until this returns. */
static int send_view(struct zc_client *c, const struct zc_held_view *h, void *buf, uint64_t *number)
{
    struct zc_view_hash hash = zc_view_hash(h->view);
    struct zc_msg reply, m = {.type = ZC_T_VIEW_INSTALL,
                              .handle = h->handle,
                              .view_low = hash.low,
                              .view_high = hash.high,
                              .size = zc_view_encoded(h->view),
                              .memory = zc_view_decoding(h->view)};
    struct zc_mr mr = {0};
    int rc = 0;

    if (m.size <= c->max_inline) {
        m.data = (struct zc_bytes){buf, (uint32_t)m.size};
    } else {
        rc = zc_tp_reg(c->net->tp, buf, m.size, &mr);
        m.flags = ZC_F_RMA;
        m.raddr = mr.raddr;
        m.rkey = mr.rkey;
    }
    if (rc == 0)
        rc = zc_call(c, &m, &reply);
    if (mr.priv)
        zc_tp_dereg(c->net->tp, &mr);
    if (rc == 0)
        *number = reply.view;
    return rc;
}

static bool drop_kept(struct zc_client *c)
{
    struct zc_list gone;
    bool some;

    zc_list_init(&gone);
    zc_lock_get(&c->view_lock);
    sort_out(c, 0, &gone);
    some = !zc_list_empty(&gone);
    zc_lock_put(&c->view_lock);
    drop_all(c, &gone);
    return some;
}

/* Its number, or 0. */
static uint64_t install(struct zc_client *c, const struct zc_held_view *h)
{
    size_t size = zc_view_encoded(h->view);
    unsigned char *buf = malloc(size);
    uint64_t number = 0;
    int rc = buf ? zc_view_encode(h->view, buf, size) : -ENOMEM;

    if (rc == 0)
        rc = send_view(c, h, buf, &number);
    if (rc == -ENOSPC && drop_kept(c))
        rc = send_view(c, h, buf, &number);
    if (rc)
        zc_debug("%s: a view of %zu bytes is not installed: %s", c->label, size, zc_error_text(rc));
    free(buf);
    return rc ? 0 : number;
}

/* The number for a transfer, 0: there is none.  One thread of a client installs at a time, and
 * those who want one meanwhile wait; no lock is held while it does. */
static uint64_t number_of(struct zc_client *c, struct zc_held_view *h)
{
    uint64_t number;

    zc_lock_get(&c->view_lock);
    while (!h->number && h->listed >= h->price && c->installing)
        zc_cond_wait(&c->installed, &c->view_lock);
    number = h->number;
    if (!number && h->listed >= h->price) {
        c->installing = true;
        zc_lock_put(&c->view_lock);
        number = install(c, h);
        zc_lock_get(&c->view_lock);
        c->installing = false;
        h->number = number;
        if (!number)
            h->price = 2 * h->listed + zc_view_encoded(h->view);
        pthread_cond_broadcast(&c->installed);
    }
    zc_lock_put(&c->view_lock);
    return number;
}

/* ---- transfers ---- */

static int make_list(struct zc_client *c, struct zc_vio *v)
{
    struct zc_view_list l;
    int rc;

    v->list = v->list ? v->list : malloc(c->max_inline);
    if (!v->list)
        return zc_errorf(ENOMEM, "no memory for a list of pieces");
    zc_view_list_begin(&l, v->list, c->max_inline);
    rc = zc_view_list_fill(&l, v->view, v->disp, (int64_t)v->off, (int64_t)v->len);
    if (rc)
        return rc;
    v->len = (size_t)l.bytes;
    v->io = (struct zc_io){.disp = l.first, .list = v->list, .list_len = zc_view_list_end(&l)};
    zc_lock_get(&c->view_lock);
    v->held->listed += v->io.list_len;
    zc_lock_put(&c->view_lock);
    return 0;
}

static void end(struct zc_client *c, struct zc_vio *v)
{
    let_go(c, v->held);
    free(v->list);
}

int zc_vio_aim(struct zc_client *c, struct zc_vio *v)
{
    uint64_t number;
    int rc = 0;

    v->list = NULL;
    v->held = hold(c, v->handle, v->view);
    if (!v->held)
        return zc_errorf(ENOMEM, "no memory for a view");
    number = number_of(c, v->held);
    if (number)
        v->io = (struct zc_io){.view = number, .disp = v->disp, .off = v->off};
    else
        rc = make_list(c, v);
    if (rc)
        end(c, v);
    return rc;
}

void zc_vio_forget(struct zc_client *c, struct zc_vio *v)
{
    end(c, v);
}

void zc_vio_start(struct zc_client *c, struct zc_vio *v)
{
    v->io.write = v->write;
    v->io.handle = v->handle;
    v->io.buf = v->buf;
    v->io.len = v->len;
    zc_io_start(c, &v->io);
}

/* The server has not got the view after all. */
static ssize_t by_lists(struct zc_client *c, struct zc_vio *v)
{
    struct zc_vio part = *v;
    size_t done = 0;

    zc_lock_get(&c->view_lock);
    v->held->number = 0;
    zc_lock_put(&c->view_lock);
    while (done < v->len) {
        ssize_t n;

        part.off = v->off + done;
        part.len = v->len - done;
        part.buf = (char *)v->buf + done;
        n = make_list(c, &part);
        v->list = part.list;
        if (n == 0) {
            zc_vio_start(c, &part);
            n = zc_io_wait(c, &part.io);
        }
        if (n < 0)
            return n;
        done += (size_t)n;
        if ((size_t)n < part.len)
            break;
    }
    return (ssize_t)done;
}

ssize_t zc_vio_wait(struct zc_client *c, struct zc_vio *v)
{
    ssize_t n = zc_io_wait(c, &v->io);

    if (n == -ENOKEY && v->io.view)
        n = by_lists(c, v);
    end(c, v);
    return n;
}
