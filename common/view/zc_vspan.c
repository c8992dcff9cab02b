/* zc_vspan.c - cuts the visible bytes of a view at pages and blocks. */
#include "config.h"

#include <errno.h>

#include "zc_vspan.h"

/* Returns where the unit of a file offset ends; the last one ends at INT64_MAX, where no file has a
 * byte. */
static int64_t end_of_unit(int64_t off, uint64_t unit)
{
    int64_t room = (int64_t)(unit - (uint64_t)off % unit);

    return off > INT64_MAX - room ? INT64_MAX : off + room;
}

int zc_vspan(const struct zc_view *v, int64_t disp, int64_t view_off, int64_t max, uint64_t unit,
             int64_t *first, int64_t *len)
{
    struct zc_view_iter it;
    int64_t end;
    int rc;

    if (zc_view_monotone(v)) {
        rc = zc_view_to_file(v, disp, view_off, first);
        if (rc == 0)
            rc = *first == INT64_MAX ? -EOVERFLOW
                                     : zc_view_before(v, disp, end_of_unit(*first, unit), &end);
        if (rc)
            return rc;
        *len = end - view_off < max ? end - view_off : max;
        return 0;
    }
    rc = zc_view_start(&it, v, disp, view_off);
    if (rc == 0)
        rc = zc_view_next(&it, max, first, len);
    if (rc == 0 && (uint64_t)*len > unit - (uint64_t)*first % unit)
        *len = (int64_t)(unit - (uint64_t)*first % unit);
    return rc;
}

int64_t zc_vspan_before(const struct zc_view *v, int64_t disp, int64_t view_off, int64_t len,
                        int64_t eof)
{
    struct zc_view_iter it;
    int64_t done = 0, off, n;

    if (zc_view_start(&it, v, disp, view_off))
        return 0;
    while (done < len && zc_view_next(&it, len - done, &off, &n) == 0 && off < eof)
        done += off + n <= eof ? n : eof - off;
    return done;
}
