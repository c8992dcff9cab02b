/* zc_view_list.c - the pieces of one access in the encoding of a view.
 *
 * The pieces are written behind room for the head, which is filled in at the end: it has their
 * number.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "zc_view_internal.h"

enum {
    HEAD = 32,                 /* version, nodes, extent, lower, entries: less than this */
    PIECE = 2 * ZC_VARINT_MAX, /* a piece takes less than this */
};

void zc_view_list_begin(struct zc_view_list *l, void *buf, size_t cap)
{
    *l = (struct zc_view_list){.buf = buf};
    l->at = l->buf + HEAD;
    l->end = l->buf + cap;
}

bool zc_view_list_add(struct zc_view_list *l, int64_t off, int64_t len)
{
    if (l->end - l->at < PIECE || (l->n > 0 && off < l->last) || len > ZC_VIEW_LIMIT - l->bytes)
        return false;
    if (l->n == 0)
        l->first = l->high = off;
    else if (off - l->first > ZC_VIEW_LIMIT - len)
        return false;
    else
        l->at = zc_varint_put(l->at, (uint64_t)(off - l->last));
    l->at = zc_varint_put(l->at, (uint64_t)len << 1);
    l->last = off;
    if (off + len > l->high)
        l->high = off + len;
    l->bytes += len;
    l->n++;
    return true;
}

int zc_view_list_fill(struct zc_view_list *l, const struct zc_view *v, int64_t disp,
                      int64_t view_off, int64_t max)
{
    struct zc_view_iter it;
    int64_t off, len;
    int rc = zc_view_start(&it, v, disp, view_off);

    while (rc == 0 && max > 0) {
        rc = zc_view_next(&it, max, &off, &len);
        if (rc == 0 && !zc_view_list_add(l, off, len))
            break;
        max -= len;
    }
    if (rc == 0 && l->n == 0 && max > 0)
        return -ENOSPC;
    return l->n > 0 ? 0 : rc; /* what comes before an error is fine */
}

size_t zc_view_list_end(struct zc_view_list *l)
{
    unsigned char head[HEAD], *h = head;
    size_t body = (size_t)(l->at - l->buf) - HEAD;

    h = zc_varint_put(h, ZC_VIEW_FORMAT);
    h = zc_varint_put(h, 0);
    h = zc_varint_put(h, (uint64_t)(l->high - l->first));
    h = zc_varint_put(h, 0);
    h = zc_varint_put(h, (uint64_t)l->n << 1 | 1);
    memmove(l->buf + (h - head), l->buf + HEAD, body);
    memcpy(l->buf, head, (size_t)(h - head));
    return (size_t)(h - head) + body;
}
