/* zc_client_view.c - transfers through views: installed at the server once, or listed each time.
 *
 * A view is installed when that pays: a small one at once, a large one when the lists of pieces
 * sent for it, with those that the rest of the access would need, reach its own size.  So an access
 * to a whole tile installs it before its first transfer: lists would be as long, and later accesses
 * need none.  A server without memory for it is asked again when twice as many bytes of lists have
 * been sent.  Lists always work, so a failure to install a view is no error of the transfer.
 *
 *     hold() --price paid--> install() --> number --VREAD, VWRITE-->  let_go()
 *        |                      |refused                |ENOKEY           |  old: drop(), or kept
 *        +---- not yet ---------+--> list --LIST_READ, LIST_WRITE--> -----+  for its next use
 *
 * Of a large view the server gets the slice for its own part of the file, if one slice serves all
 * transfers alike: those in the first tile, or in any when all tiles are cut in the same way.  View
 * offsets of a slice count its own bytes.
 *
 * A replaced (old) view is dropped when no transfer uses it any more; a few small ones are kept,
 * since programs alternate between views, and dropped when the server is short of memory.
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
    NEARLY = 8,      /* lists that are shorter than the view by 1/NEARLY do not pay: estimates */
};

struct zc_held_view {
    struct zc_list link; /* zc_client.views; the client's view_lock guards: */
    struct zc_view *view;
    uint64_t handle;
    bool sliced;           /* the server gets: */
    struct zc_view *slice; /* of `view` at `disp`; made when it is installed */
    int64_t disp;          /* 0 if not sliced */
    uint64_t number;       /* at the server; 0: not installed */
    unsigned users;        /* transfers */
    bool old;
    uint64_t listed, price; /* bytes of lists sent; the amount at which it is installed */
};

/* ---- held views ---- */

static bool same(const struct zc_view *a, const struct zc_view *b)
{
    struct zc_view_hash x = zc_view_hash(a), y = zc_view_hash(b);

    return a == b || (x.low == y.low && x.high == y.high);
}

/* Whether a slice serves this transfer as well as the whole view. */
static bool sliceable(const struct zc_vio *v)
{
    return v->slice.count > 1 && zc_view_encoded(v->view) > SMALL && zc_view_monotone(v->view) &&
           (zc_view_slices_alike(v->view, &v->slice) ||
            (v->off <= (uint64_t)zc_view_size(v->view) &&
             v->len <= (uint64_t)zc_view_size(v->view) - v->off));
}

static struct zc_held_view *find(struct zc_client *c, const struct zc_vio *v, bool sliced)
{
    zc_list_each (&c->views, n) {
        struct zc_held_view *h = zc_list_entry(n, struct zc_held_view, link);

        if (h->handle == v->handle && h->sliced == sliced && h->disp == (sliced ? v->disp : 0) &&
            same(h->view, v->view))
            return h;
    }
    return NULL;
}

static void held_free(struct zc_held_view *h)
{
    zc_view_put(h->view);
    zc_view_put(h->slice);
    free(h);
}

static uint64_t price(const struct zc_held_view *h, const struct zc_view_slice *s)
{
    size_t bytes = zc_view_encoded(h->view);

    if (bytes <= SMALL)
        return 0;
    return h->sliced ? bytes / s->count : bytes;
}

/* Finds or creates it, in use until let_go(); NULL: no memory. */
static struct zc_held_view *hold(struct zc_client *c, const struct zc_vio *v)
{
    bool sliced = sliceable(v);
    struct zc_held_view *h;

    zc_lock_get(&c->view_lock);
    h = find(c, v, sliced);
    if (!h) {
        h = calloc(1, sizeof *h);
        if (h) {
            h->view = zc_view_get(v->view);
            h->handle = v->handle;
            h->sliced = sliced;
            h->disp = sliced ? v->disp : 0;
            h->price = price(h, &v->slice);
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

/* Drops the view at the server, if installed there; the reply is ignored. */
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

/* Moves old unused views to `gone`, the oldest first: the large ones, those that are not
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
            h->listed = 0; /* its price may differ next time */
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

/* The server reads the view from `buf` until this returns. */
static int send_view(struct zc_client *c, uint64_t handle, const struct zc_view *v, void *buf,
                     uint64_t *number)
{
    struct zc_view_hash hash = zc_view_hash(v);
    struct zc_msg reply, m = {.type = ZC_T_VIEW_INSTALL,
                              .handle = handle,
                              .view_low = hash.low,
                              .view_high = hash.high,
                              .size = zc_view_encoded(v),
                              .memory = zc_view_decoding(v)};
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

/* Returns 0 and the view's number, or an error. */
static int install_view(struct zc_client *c, uint64_t handle, const struct zc_view *v,
                        uint64_t *number)
{
    size_t size = zc_view_encoded(v);
    unsigned char *buf = malloc(size);
    int rc = buf ? zc_view_encode(v, buf, size) : -ENOMEM;

    if (rc == 0)
        rc = send_view(c, handle, v, buf, number);
    if (rc == -ENOSPC && drop_kept(c))
        rc = send_view(c, handle, v, buf, number);
    free(buf);
    return rc;
}

/* Returns its number, or 0. */
static uint64_t install(struct zc_client *c, struct zc_held_view *h, const struct zc_view_slice *s)
{
    uint64_t number = 0;
    int rc = 0;

    if (h->sliced && !h->slice)
        rc = zc_view_cut(h->view, h->disp, s, &h->slice);
    if (rc == 0)
        rc = install_view(c, h->handle, h->sliced ? h->slice : h->view, &number);
    if (rc)
        zc_debug("%s: a view of %zu bytes is not installed: %s", c->label, zc_view_encoded(h->view),
                 zc_error_text(rc));
    return rc ? 0 : number;
}

/* Returns about how many bytes the lists for the rest of the access have at this server, which has
 * the block at its beginning and every count-th one after that; of one tile at most. */
static uint64_t list_bytes(const struct zc_vio *v)
{
    double tile = (double)zc_view_size(v->view), len = (double)v->len;
    double left = v->left > v->len ? (double)v->left : len;
    double count = v->left && v->slice.count > 1 ? v->slice.count : 1;

    left = (left + (count - 1) * len) / count;
    left = left < tile / count ? left : tile / count;
    return (uint64_t)((double)zc_view_encoded(v->view) * (left / tile));
}

static bool pays(const struct zc_held_view *h, const struct zc_vio *v)
{
    return !h->number && h->listed + list_bytes(v) >= h->price - h->price / NEARLY;
}

/* Returns the number of the installed view, installing it if that pays; 0: send lists.  One thread
 * per client installs at a time and others wait; no lock is held during that. */
static uint64_t number_of(struct zc_client *c, const struct zc_vio *v)
{
    struct zc_held_view *h = v->held;
    uint64_t number;

    zc_lock_get(&c->view_lock);
    while (pays(h, v) && c->installing)
        zc_cond_wait(&c->installed, &c->view_lock);
    number = h->number;
    if (pays(h, v)) {
        c->installing = true;
        zc_lock_put(&c->view_lock);
        number = install(c, h, &v->slice);
        zc_lock_get(&c->view_lock);
        c->installing = false;
        h->number = number;
        if (!number)
            h->price = 2 * (h->listed + list_bytes(v)) + price(h, &v->slice);
        pthread_cond_broadcast(&c->installed);
    }
    zc_lock_put(&c->view_lock);
    return number;
}

/* ---- transfers ---- */

static int make_list(struct zc_client *c, struct zc_vio *v)
{
    size_t room = c->max_inline; /* in a message, beside the checksums */
    struct zc_view_list l;
    int rc;

    if (v->checked)
        room -= ZC_CSUM_SIZE * zc_wire_csum_count(0, v->len, ZC_CSUMS_UNIT);
    v->list = v->list ? v->list : malloc(c->max_inline);
    if (!v->list)
        return zc_errorf(ENOMEM, "no memory for a list of pieces");
    zc_view_list_begin(&l, v->list, room);
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

/* Computes where the transfer begins in the server's slice. */
static int place_in_slice(const struct zc_vio *v, uint64_t *off)
{
    int64_t at;
    int rc = zc_view_to_file(v->view, v->disp, (int64_t)v->off, &at);

    if (rc == 0)
        rc = zc_view_before(v->held->slice, v->disp, at, &at);
    *off = (uint64_t)at;
    return rc;
}

int zc_vio_aim(struct zc_client *c, struct zc_vio *v)
{
    uint64_t number, off = v->off;
    int rc = 0;

    v->list = NULL;
    v->held = hold(c, v);
    if (!v->held)
        return zc_errorf(ENOMEM, "no memory for a view");
    number = number_of(c, v);
    if (number && v->held->sliced)
        rc = place_in_slice(v, &off);
    if (number && rc == 0)
        v->io = (struct zc_io){.view = number, .disp = v->disp, .off = off};
    else if (rc == 0)
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
    v->io.checked = v->checked;
    zc_io_start(c, &v->io);
}

/* Adds the file range to errors about damaged bytes. */
static ssize_t wait_for(struct zc_client *c, struct zc_vio *v)
{
    ssize_t n = zc_io_wait(c, &v->io);
    int64_t lo = (int64_t)v->off + (int64_t)v->io.bad_lo, first, last;

    if (n != -EIO || v->io.bad_lo == v->io.bad_hi)
        return n;
    if (zc_view_to_file(v->view, v->disp, lo, &first) ||
        zc_view_to_file(v->view, v->disp, (int64_t)v->off + (int64_t)v->io.bad_hi - 1, &last))
        return n;
    return zc_errorf_because(EIO, zc_error_text((int)n), "bytes within %lld-%lld", (long long)first,
                             (long long)last);
}

/* The server does not have the view after all. */
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
            n = wait_for(c, &part);
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
    ssize_t n = wait_for(c, v);

    if (n == -ENOKEY && v->io.view)
        n = by_lists(c, v);
    end(c, v);
    return n;
}
