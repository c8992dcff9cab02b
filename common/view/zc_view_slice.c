/* zc_view_slice.c - the part of a view that lies in one owner's parts of a file. */
#include "config.h"

#include <errno.h>

#include "zc_view_internal.h"

bool zc_view_slices_alike(const struct zc_view *v, const struct zc_view_slice *s)
{
    return (uint64_t)zc_view_extent(v) % s->unit == 0 &&
           (uint64_t)zc_view_extent(v) / s->unit % s->count == 0;
}

/* Adds what the slice has of the bytes [lo, hi) of the file. */
static int add(struct zc_view_builder *b, const struct zc_view_slice *s, int64_t disp, uint64_t lo,
               uint64_t hi)
{
    int rc = 0;

    while (rc == 0 && lo < hi) {
        uint64_t k = lo / s->unit, turn = k % s->count;
        uint64_t room = s->unit - lo % s->unit, skip;

        if (turn == s->index) {
            uint64_t len = room < hi - lo ? room : hi - lo;

            rc = zc_view_add(b, (int64_t)lo - disp, (int64_t)len);
            skip = room;
        } else { /* to the owner's next unit */
            uint64_t units = ((uint64_t)s->index + s->count - turn) % s->count - 1;

            skip = units > (hi - lo) / s->unit ? hi - lo : room + units * s->unit;
        }
        lo = skip < hi - lo ? lo + skip : hi;
    }
    return rc;
}

int zc_view_cut(const struct zc_view *v, int64_t disp, const struct zc_view_slice *s,
                struct zc_view **out)
{
    int64_t left = zc_view_size(v), off, len;
    struct zc_view_builder *b;
    struct zc_view_iter it;
    int rc;

    *out = NULL;
    if (!zc_view_monotone(v))
        return -ENOTSUP;
    rc = zc_view_builder_create(&b);
    if (rc)
        return rc;
    if (left > 0)
        rc = zc_view_start(&it, v, disp, 0);
    while (rc == 0 && left > 0) {
        rc = zc_view_next(&it, left, &off, &len);
        if (rc == 0)
            rc = add(b, s, disp, (uint64_t)off, (uint64_t)off + (uint64_t)len);
        left -= len;
    }
    if (rc) {
        zc_view_builder_destroy(b);
        return rc;
    }
    return zc_view_finish(b, zc_view_extent(v), out);
}
