/* zc_view_copy.c - scatter and gather, and which bytes of a page they touch.
 *
 * The bytes of a monotone view inside a window of the file are one stretch of view offsets:
 * both ends are looked up once, and the loops never ask again.  Other views take each piece
 * and clip it.  The direction is a constant in each copy of the loops.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_view_internal.h"

#define INLINE static inline __attribute__((always_inline))

/* ---- loops ------------------------------------------------------------------------------ */

/* n bytes between the buffer that holds file bytes and the contiguous one. */
INLINE void move(bool scatter, char *file, char *buf, size_t n)
{
    if (scatter)
        memcpy(file, buf, n);
    else
        memcpy(buf, file, n);
}

/* As move(), for n that is often small: two moves that may overlap instead of a call. */
INLINE void move_any(bool scatter, char *file, char *buf, size_t n)
{
    if (n > 32) {
        move(scatter, file, buf, n);
    } else if (n >= 16) {
        move(scatter, file, buf, 16);
        move(scatter, file + n - 16, buf + n - 16, 16);
    } else if (n >= 8) {
        move(scatter, file, buf, 8);
        move(scatter, file + n - 8, buf + n - 8, 8);
    } else if (n >= 4) {
        move(scatter, file, buf, 4);
        move(scatter, file + n - 4, buf + n - 4, 4);
    } else {
        for (size_t i = 0; i < n; i++)
            move(scatter, file + i, buf + i, 1);
    }
}

INLINE void equal_steps(bool scatter, char *file, int64_t stride, char *buf, size_t len,
                        int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        move(scatter, file, buf, len);
        file += stride;
        buf += len;
    }
}

/* `at` may be negative, each at + offs[i] is not. */
INLINE void equal_places(bool scatter, char *file, int64_t at, const int64_t *offs, char *buf,
                         size_t len, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        move(scatter, file + (at + offs[i]), buf, len);
        buf += len;
    }
}

/* With a constant length each loop is loads and stores alone. */
#define LENGTHS(X) X(1) X(2) X(4) X(8) X(12) X(16) X(24) X(32) X(48) X(64)

INLINE void copy_equal(bool scatter, const struct zc_vchunk *c, char *file, int64_t at, char *buf)
{
#define STEPS(n)                                                                                   \
    case n:                                                                                        \
        equal_steps(scatter, file + at, c->stride, buf, n, c->count);                              \
        break;
    switch (c->len) {
        LENGTHS(STEPS)
    default:
        equal_steps(scatter, file + at, c->stride, buf, (size_t)c->len, c->count);
        break;
    }
}

INLINE void copy_places(bool scatter, const struct zc_vchunk *c, char *file, int64_t at, char *buf)
{
#define PLACES(n)                                                                                  \
    case n:                                                                                        \
        equal_places(scatter, file, at, c->offs, buf, n, c->count);                                \
        break;
    switch (c->len) {
        LENGTHS(PLACES)
    default:
        equal_places(scatter, file, at, c->offs, buf, (size_t)c->len, c->count);
        break;
    }
}

INLINE void copy_row(bool scatter, const struct zc_vchunk *c, char *file, int64_t at, char *buf)
{
    if (c->ents) {
        int64_t first = c->ents[0].before;

        for (int64_t i = 0; i < c->count; i++) {
            int64_t from = c->ents[i].before - first;
            int64_t end = i + 1 < c->count ? c->ents[i + 1].before - first : c->bytes;

            move_any(scatter, file + (at + c->ents[i].off), buf + from, (size_t)(end - from));
        }
    } else if (c->offs) {
        copy_places(scatter, c, file, at, buf);
    } else if (c->count == 1) {
        move_any(scatter, file + at, buf, (size_t)c->len);
    } else {
        copy_equal(scatter, c, file, at, buf);
    }
}

INLINE void copy_chunk(bool scatter, const struct zc_vchunk *c, char *file, int64_t at, char *buf)
{
    for (int64_t row = 0; row < c->rows; row++)
        copy_row(scatter, c, file, at + row * c->row_stride, buf + row * c->bytes);
}

/* ---- what lies inside ------------------------------------------------------------------- */

/* Arguments make sense; the end of the window is at most INT64_MAX. */
static int check(int64_t len, int64_t file_off, int64_t file_len)
{
    return len < 0 || file_len < 0 || (file_off > 0 && file_len > INT64_MAX - file_off) ? -EINVAL
                                                                                        : 0;
}

/* Cuts [*view_off, + *len) to the window of a monotone view. */
static int cut(const struct zc_view *v, int64_t disp, int64_t *view_off, int64_t *len,
               int64_t file_off, int64_t file_len)
{
    int64_t from, to, end;
    int rc = zc_view_before(v, disp, file_off, &from);

    if (rc == 0)
        rc = zc_view_before(v, disp, file_off + file_len, &to);
    if (rc < 0)
        return rc;
    if (__builtin_add_overflow(*view_off, *len, &end))
        end = INT64_MAX;
    if (from > *view_off)
        *view_off = from;
    if (to < end)
        end = to;
    *len = end > *view_off ? end - *view_off : 0;
    return 0;
}

/* Returns the part of a piece inside the window, from its start; false: none of it. */
static bool clip(int64_t *off, int64_t *len, int64_t *skipped, int64_t file_off, int64_t file_len)
{
    int64_t end = *off + *len;

    *skipped = *off < file_off ? file_off - *off : 0;
    if (end > file_off + file_len)
        end = file_off + file_len;
    if (*skipped >= *len || end <= *off + *skipped)
        return false;
    *off += *skipped;
    *len = end - *off;
    return true;
}

/* ---- copying ---------------------------------------------------------------------------- */

/* Copies in one direction; `buf` holds visible bytes from view_off on. */
INLINE int64_t copy_monotone(bool scatter, struct zc_view_iter *it, char *buf, int64_t len,
                             char *file, int64_t file_off)
{
    for (int64_t done = 0; done < len;) {
        struct zc_vchunk c;
        int rc = zc_view_chunk(it, len - done, &c);

        if (rc < 0)
            return rc;
        copy_chunk(scatter, &c, file, c.off - file_off, buf + done);
        done += c.bytes * c.rows;
    }
    return len;
}

static int64_t copy_clipped(bool scatter, struct zc_view_iter *it, char *buf, int64_t len,
                            char *file, int64_t file_off, int64_t file_len)
{
    int64_t copied = 0;

    for (int64_t done = 0; done < len;) {
        int64_t off, n, part, skipped;
        int rc = zc_view_next(it, len - done, &off, &n);

        if (rc < 0)
            return rc;
        part = n;
        if (clip(&off, &part, &skipped, file_off, file_len)) {
            move(scatter, file + (off - file_off), buf + done + skipped, (size_t)part);
            copied += part;
        }
        done += n;
    }
    return copied;
}

INLINE int64_t copy(bool scatter, const struct zc_view *v, int64_t disp, int64_t view_off,
                    char *buf, int64_t len, char *file, int64_t file_off, int64_t file_len)
{
    struct zc_view_iter it;
    int64_t first = view_off;
    int rc = check(len, file_off, file_len);

    if (rc == 0 && v->monotone && view_off >= 0)
        rc = cut(v, disp, &view_off, &len, file_off, file_len);
    if (rc < 0 || (len == 0 && view_off >= 0))
        return rc;
    rc = zc_view_start(&it, v, disp, view_off);
    if (rc < 0)
        return rc;
    if (v->monotone)
        return copy_monotone(scatter, &it, buf + (view_off - first), len, file, file_off);
    return copy_clipped(scatter, &it, buf, len, file, file_off, file_len);
}

int64_t zc_view_scatter(const struct zc_view *v, int64_t disp, int64_t view_off, const void *src,
                        int64_t len, void *file, int64_t file_off, int64_t file_len)
{
    return copy(true, v, disp, view_off, (char *)src, len, file, file_off, file_len);
}

int64_t zc_view_gather(const struct zc_view *v, int64_t disp, int64_t view_off, void *dst,
                       int64_t len, const void *file, int64_t file_off, int64_t file_len)
{
    return copy(false, v, disp, view_off, dst, len, (char *)file, file_off, file_len);
}

/* ---- touched bytes ---------------------------------------------------------------------- */

static int reserve(struct zc_view_ranges *out, int64_t more)
{
    struct zc_range *r;
    uint64_t cap = out->n + (uint64_t)more;

    if (cap <= out->cap)
        return 0;
    if (cap > UINT32_MAX)
        return -ENOMEM;
    if (cap < out->cap + (uint64_t)out->cap / 2)
        cap = out->cap + (uint64_t)out->cap / 2;
    if (cap > UINT32_MAX)
        cap = UINT32_MAX;
    r = realloc(out->r, cap * sizeof(*r));
    if (!r)
        return -ENOMEM;
    out->r = r;
    out->cap = (uint32_t)cap;
    return 0;
}

static inline void append(struct zc_view_ranges *out, uint32_t from, int64_t lo, int64_t len)
{
    uint32_t hi = (uint32_t)(lo + len);

    if (out->n > from && out->r[out->n - 1].hi == (uint32_t)lo)
        out->r[out->n - 1].hi = hi;
    else
        out->r[out->n++] = (struct zc_range){(uint32_t)lo, hi};
}

/* `at` is where the origin of the row lies in the page. */
static inline void append_row(struct zc_view_ranges *out, uint32_t from, const struct zc_vchunk *c,
                              int64_t at)
{
    for (int64_t i = 0; i < c->count; i++) {
        int64_t lo = at + (c->ents ? c->ents[i].off : c->offs ? c->offs[i] : i * c->stride);
        int64_t len = c->len;

        if (c->ents)
            len = (i + 1 < c->count ? c->ents[i + 1].before : c->ents[0].before + c->bytes) -
                  c->ents[i].before;
        append(out, from, lo, len);
    }
}

static int append_chunk(struct zc_view_ranges *out, uint32_t from, const struct zc_vchunk *c,
                        int64_t at)
{
    int rc = reserve(out, c->count * c->rows);

    for (int64_t row = 0; row < c->rows && rc == 0; row++)
        append_row(out, from, c, at + row * c->row_stride);
    return rc;
}

static int by_lo(const void *a, const void *b)
{
    const struct zc_range *x = a, *y = b;

    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Sorts all and merges those that overlap or touch. */
static void tidy(struct zc_view_ranges *out)
{
    uint32_t n = 0;

    qsort(out->r, out->n, sizeof(*out->r), by_lo);
    for (uint32_t i = 0; i < out->n; i++) {
        struct zc_range r = out->r[i];

        if (n > 0 && r.lo <= out->r[n - 1].hi) {
            if (r.hi > out->r[n - 1].hi)
                out->r[n - 1].hi = r.hi;
        } else {
            out->r[n++] = r;
        }
    }
    out->n = n;
}

static bool sorted_from(const struct zc_view_ranges *out, uint32_t from)
{
    for (uint32_t i = from > 0 ? from : 1; i < out->n; i++) {
        if (out->r[i].lo <= out->r[i - 1].hi)
            return false;
    }
    return true;
}

static int touch_clipped(struct zc_view_iter *it, int64_t len, int64_t file_off, int64_t file_len,
                         struct zc_view_ranges *out, uint32_t from)
{
    for (int64_t done = 0; done < len;) {
        int64_t off, n, skipped;
        int rc = zc_view_next(it, len - done, &off, &n);

        if (rc < 0)
            return rc;
        done += n;
        if (!clip(&off, &n, &skipped, file_off, file_len))
            continue;
        rc = reserve(out, 1);
        if (rc < 0)
            return rc;
        append(out, from, off - file_off, n);
    }
    return 0;
}

static int touch(struct zc_view_iter *it, int64_t len, int64_t file_off, struct zc_view_ranges *out,
                 uint32_t from)
{
    for (int64_t done = 0; done < len;) {
        struct zc_vchunk c;
        int rc = zc_view_chunk(it, len - done, &c);

        if (rc == 0)
            rc = append_chunk(out, from, &c, c.off - file_off);
        if (rc < 0)
            return rc;
        done += c.bytes * c.rows;
    }
    return 0;
}

int zc_view_touched(const struct zc_view *v, int64_t disp, int64_t view_off, int64_t len,
                    int64_t file_off, int64_t file_len, struct zc_view_ranges *out)
{
    const uint32_t from = out->n;
    struct zc_view_iter it;
    int rc = file_len > UINT32_MAX ? -EINVAL : check(len, file_off, file_len);

    if (rc == 0 && v->monotone && view_off >= 0)
        rc = cut(v, disp, &view_off, &len, file_off, file_len);
    if (rc < 0 || (len == 0 && view_off >= 0))
        return rc;
    rc = zc_view_start(&it, v, disp, view_off);
    if (rc == 0)
        rc = v->monotone ? touch(&it, len, file_off, out, from)
                         : touch_clipped(&it, len, file_off, file_len, out, from);
    if (rc < 0) {
        out->n = from;
        return rc;
    }
    if (!sorted_from(out, from))
        tidy(out);
    return 0;
}
