/* zcache_layout.c - datatypes as runs or pieces, remembered with the datatype. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zcache_layout.h"
#include "zcache_turn.h"
#include "zcache_typeargs.h"
#include "zcache_typemap.h"

/* The key is made, and an attribute looked at, by one thread at a time: it could be replaced before
 * the other has its reference.  MPI calls forget() meanwhile, which therefore waits for nothing. */
static struct zcache_turn turn = ZCACHE_TURN_INITIALIZER(ZCACHE_TURN_TYPES);
static int key = MPI_KEYVAL_INVALID;

/* What this thread looked up lately, without MPI or lock: small accesses ask several times for
 * the same types.  An entry holds no reference: it is of no use any more when an attribute has
 * gone since, this one's or another's. */
enum { RECENT_BITS = 2 };
static unsigned gone; /* attributes; atomic */
static _Thread_local struct recent {
    MPI_Datatype type;
    unsigned gone;
    struct zcache_layout *layout;
} recent[1 << RECENT_BITS];

/* ---- life ---- */

/* One more reference. */
static struct zcache_layout *one_more(struct zcache_layout *l)
{
    __atomic_add_fetch(&l->references, 1, __ATOMIC_RELAXED);
    return l;
}

void zcache_layout_put(struct zcache_layout *l)
{
    if (!l || __atomic_sub_fetch(&l->references, 1, __ATOMIC_ACQ_REL))
        return;
    zc_view_put(l->view);
    free(l->pieces);
    free(l);
}

/* The datatype goes, or its attribute is replaced. */
static int forget(MPI_Datatype type, int k, void *value, void *extra)
{
    (void)type;
    (void)k;
    (void)extra;
    __atomic_add_fetch(&gone, 1, __ATOMIC_RELEASE);
    zcache_layout_put(value);
    return MPI_SUCCESS;
}

/* ---- pieces ---- */

/* What the pieces are like: can it have a view? */
struct survey {
    struct zcache_layout *l;
    bool any;
    int64_t last, end; /* of the piece before: its start and end */
};

static int survey(void *arg, int64_t off, int64_t len, int64_t stride, int64_t count)
{
    struct survey *s = arg;
    struct zcache_layout *l = s->l;
    int64_t last = off + (count - 1) * stride;
    int64_t low = off < last ? off : last, high = (off < last ? last : off) + len;

    l->decreases |= (s->any && off < s->last) || (count > 1 && stride < 0);
    l->overlaps |= (s->any && low < s->end) || (count > 1 && llabs(stride) < len);
    if (!s->any || low < l->low)
        l->low = low;
    if (!s->any || high > l->high)
        l->high = high;
    s->last = last;
    s->end = s->any && s->end > high ? s->end : high;
    s->any = true;
    return 0;
}

static int add_run(void *arg, int64_t off, int64_t len, int64_t stride, int64_t count)
{
    return zc_view_add_run(arg, off, len, stride, count);
}

static int make_view(struct zcache_layout *l, const struct zcache_typemap *t)
{
    struct zc_view_builder *b;
    int rc = zc_view_builder_create(&b);

    if (rc)
        return zc_errorf(-rc, "no memory for a datatype");
    rc = zcache_typemap_walk(t, add_run, b);
    if (rc) {
        zc_view_builder_destroy(b);
        return rc;
    }
    return zc_view_finish(b, l->extent, &l->view);
}

/* Merges with the one before; before the first, npieces is 0. */
static int add_pieces(void *arg, int64_t off, int64_t len, int64_t stride, int64_t count)
{
    struct zcache_layout *l = arg;

    for (int64_t i = 0; i < count; i++, off += stride) {
        struct zcache_piece *p = &l->pieces[l->npieces];

        if (l->npieces && p[-1].off + p[-1].len == off) {
            p[-1].len += len;
            continue;
        }
        *p = (struct zcache_piece){off, len, l->npieces ? p[-1].before + p[-1].len : 0};
        l->npieces++;
    }
    return 0;
}

static int count_pieces(void *arg, int64_t off, int64_t len, int64_t stride, int64_t count)
{
    (void)off;
    (void)len;
    (void)stride;
    *(int64_t *)arg += count;
    return 0;
}

static int make_pieces(struct zcache_layout *l, const struct zcache_typemap *t)
{
    int64_t most = 0;
    struct zcache_piece *smaller;

    zcache_typemap_walk(t, count_pieces, &most);
    l->pieces = malloc((size_t)(most + 1) * sizeof *l->pieces);
    if (!l->pieces)
        return zc_errorf(ENOMEM, "no memory for the %lld pieces of a datatype", (long long)most);
    l->npieces = 0;
    zcache_typemap_walk(t, add_pieces, l);
    smaller = realloc(l->pieces, (size_t)(l->npieces + 1) * sizeof *l->pieces);
    l->pieces = smaller ? smaller : l->pieces;
    /* cppcheck-suppress memleak ; it is in l */
    return 0;
}

static int fill_in(struct zcache_layout *l, const struct zcache_typemap *t)
{
    struct survey s = {.l = l};
    int rc;

    zcache_typemap_walk(t, survey, &s);
    if (!l->decreases && (l->extent > 0 || l->size == 0)) {
        if (l->size == 0)
            l->extent = 0;
        rc = make_view(l, t);
        if (rc == 0)
            l->contiguous = l->size == 0 || (zc_view_contiguous(l->view) && l->low == 0);
        if (rc != -EOVERFLOW)
            return rc;
    }
    return make_pieces(l, t);
}

static int make(MPI_Datatype type, struct zcache_layout **out)
{
    struct zcache_layout *l;
    struct zcache_typemap *t;
    MPI_Count size, lb, extent;
    int rc = zcache_typemap_create(type, &t);

    if (rc)
        return rc;
    MPI_Type_size_x(type, &size);
    MPI_Type_get_extent_x(type, &lb, &extent);
    l = calloc(1, sizeof *l);
    if (l) {
        *l = (struct zcache_layout){.size = size, .extent = extent, .lb = lb, .references = 1};
        rc = fill_in(l, t);
    } else {
        rc = zc_errorf(ENOMEM, "no memory for a datatype");
    }
    zcache_typemap_free(t);
    if (rc)
        zcache_layout_put(l);
    else
        *out = l;
    return rc;
}

/* ---- remembering ---- */

static int find_or_make(MPI_Datatype type, struct zcache_layout **out, bool *kept);

/* A duplicate is laid out as the type it was made of, which may live on when this one goes. */
static int make_or_share(MPI_Datatype type, struct zcache_layout **out)
{
    struct zcache_type_args args;
    int rc = zcache_type_args_get(type, &args);
    bool kept;

    if (rc)
        return rc;
    if (args.combiner == MPI_COMBINER_DUP ||
        (args.combiner == MPI_COMBINER_CONTIGUOUS && args.v[0] == 1))
        rc = find_or_make(args.types[0], out, &kept);
    else
        rc = make(type, out);
    zcache_type_args_free(&args);
    return rc;
}

/* One reference more for the caller.  *kept: the type has it as its attribute.  In the turn. */
static int find_or_make(MPI_Datatype type, struct zcache_layout **out, bool *kept)
{
    int found = 0, rc;

    if (MPI_Type_get_attr(type, key, out, &found) == MPI_SUCCESS && found) {
        one_more(*out);
        *kept = true;
        return 0;
    }
    rc = make_or_share(type, out);
    if (rc)
        return rc;
    /* The attribute has a reference of its own; without it the type is looked at again. */
    *kept = MPI_Type_set_attr(type, key, one_more(*out)) == MPI_SUCCESS;
    if (!*kept)
        zcache_layout_put(*out);
    return 0;
}

static struct recent *recent_of(MPI_Datatype type)
{
    return &recent[(uint32_t)type * 2654435761u >> (32 - RECENT_BITS)];
}

int zcache_layout_get(MPI_Datatype type, struct zcache_layout **out)
{
    struct recent *r = recent_of(type);
    unsigned now = __atomic_load_n(&gone, __ATOMIC_ACQUIRE);
    bool kept = false;
    int rc = 0;

    if (r->layout && r->type == type && r->gone == now) {
        *out = one_more(r->layout);
        return 0;
    }
    zcache_turn_take(&turn);
    if (key == MPI_KEYVAL_INVALID &&
        MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &key, NULL) != MPI_SUCCESS)
        rc = zc_errorf(ENOMEM, "MPI has no attribute for datatypes");
    if (rc == 0)
        rc = find_or_make(type, out, &kept);
    zcache_turn_give(&turn);
    if (kept)
        *r = (struct recent){type, now, *out};
    return rc;
}

/* ---- copying ---- */

static const struct zcache_piece *piece_of(const struct zcache_layout *l, int64_t within)
{
    const struct zcache_piece *p = l->pieces;

    for (int64_t n = l->npieces; n > 1;) { /* the answer is among p[0 .. n-1] */
        int64_t half = n / 2;

        p += p[half].before <= within ? half : 0;
        n -= half;
    }
    return p;
}

static void copy_pieces(const struct zcache_layout *l, char *user, int64_t pos, char *flat,
                        int64_t len, bool pack)
{
    int64_t tile = pos / l->size, skip = pos % l->size;
    const struct zcache_piece *p = piece_of(l, skip), *last = l->pieces + l->npieces;

    for (skip -= p->before; len; skip = 0) {
        int64_t n = p->len - skip < len ? p->len - skip : len;
        char *at = user + tile * l->extent + p->off + skip;

        if (pack)
            memcpy(flat, at, (size_t)n);
        else
            memcpy(at, flat, (size_t)n);
        flat += n;
        len -= n;
        if (++p == last) {
            p = l->pieces;
            tile++;
        }
    }
}

int64_t zcache_layout_first(const struct zcache_layout *l)
{
    return l->view ? zc_view_lower(l->view) : l->pieces[0].off;
}

/* The elements that hold len > 0 bytes from `pos` on lie in [*low, *low + *n) of the buffer. */
static void window(const struct zcache_layout *l, int64_t pos, int64_t len, int64_t *low,
                   int64_t *n)
{
    int64_t first = pos / l->size * l->extent, last = (pos + len - 1) / l->size * l->extent;

    *low = first + l->low;
    *n = last + l->high - *low;
}

int zcache_layout_pack(const struct zcache_layout *l, const void *user, int64_t pos, void *to,
                       int64_t len)
{
    int64_t low, n, rc;

    if (len == 0)
        return 0;
    if (!l->view) {
        copy_pieces(l, (char *)(uintptr_t)user, pos, to, len, true);
        return 0;
    }
    window(l, pos, len, &low, &n);
    rc = zc_view_gather(l->view, 0, pos, to, len, (const char *)user + low, low, n);
    return rc < 0 ? (int)rc : 0;
}

int zcache_layout_unpack(const struct zcache_layout *l, void *user, int64_t pos, const void *from,
                         int64_t len)
{
    int64_t low, n, rc;

    if (len == 0)
        return 0;
    if (!l->view) {
        copy_pieces(l, user, pos, (char *)(uintptr_t)from, len, false);
        return 0;
    }
    window(l, pos, len, &low, &n);
    rc = zc_view_scatter(l->view, 0, pos, from, len, (char *)user + low, low, n);
    return rc < 0 ? (int)rc : 0;
}
