/* zcache_layout.c - datatypes as views or lists of runs, remembered with the datatype. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zcache_layout.h"
#include "zcache_mpi_lock.h"
#include "zcache_type_args.h"
#include "zcache_typemap.h"

/* The key is made, and an attribute looked at, by one thread at a time: it could be replaced before
 * the other has its reference.  MPI calls forget() meanwhile, which therefore waits for nothing. */
static struct zcache_mpi_lock turn = ZCACHE_MPI_LOCK_INITIALIZER(ZCACHE_MPI_LOCK_TYPES);
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
    free(l->runs);
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

static int64_t run_bytes(const struct zcache_run *r)
{
    return r->rows * r->count * r->len;
}

/* Joins pieces to a run that they continue: one piece that goes on without a gap, or pieces as long
 * and as far apart.  Returns whether it has. */
static bool join_run(struct zcache_run *r, int64_t off, int64_t len, int64_t stride, int64_t count)
{
    if (r->rows > 1)
        return false;
    if (r->count == 1 && count == 1 && r->off + r->len == off) {
        r->len += len;
        return true;
    }
    if (r->len != len || (count > 1 && r->count > 1 && r->stride != stride))
        return false;
    if (r->count == 1) {
        if (count > 1 && off - r->off != stride)
            return false;
        r->stride = off - r->off;
    } else if (r->off + r->count * r->stride != off) {
        return false;
    }
    r->count += count;
    return true;
}

/* The same, of pieces that are a row as the others are. */
static bool join_row(struct zcache_run *r, int64_t off, int64_t len, int64_t stride, int64_t count)
{
    if (count == 1 || r->count != count || r->len != len || r->stride != stride)
        return false;
    if (r->rows == 1)
        r->row_stride = off - r->off;
    else if (r->off + r->rows * r->row_stride != off)
        return false;
    r->rows++;
    return true;
}

/* Adds pieces to the list, which has room for one more run. */
static int add_to_list(void *arg, int64_t off, int64_t len, int64_t stride, int64_t count)
{
    struct zcache_layout *l = arg;
    struct zcache_run *r = &l->runs[l->nruns];

    if (stride == len) {
        len *= count;
        count = 1;
    }
    if (l->nruns &&
        (join_run(r - 1, off, len, stride, count) || join_row(r - 1, off, len, stride, count)))
        return 0;
    *r = (struct zcache_run){.off = off, .len = len, .stride = stride, .count = count, .rows = 1};
    if (l->nruns)
        r->before = r[-1].before + run_bytes(&r[-1]);
    l->nruns++;
    return 0;
}

static int count_runs(void *arg, int64_t off, int64_t len, int64_t stride, int64_t count)
{
    (void)off;
    (void)len;
    (void)stride;
    (void)count;
    ++*(int64_t *)arg;
    return 0;
}

static int make_list(struct zcache_layout *l, const struct zcache_typemap *t)
{
    int64_t most = 0;
    struct zcache_run *smaller;

    zcache_typemap_walk(t, count_runs, &most);
    l->runs = malloc((size_t)(most + 1) * sizeof *l->runs);
    if (!l->runs)
        return zc_errorf(ENOMEM, "no memory for the %lld runs of a datatype", (long long)most);
    l->nruns = 0;
    zcache_typemap_walk(t, add_to_list, l);
    smaller = realloc(l->runs, (size_t)(l->nruns + 1) * sizeof *l->runs);
    l->runs = smaller ? smaller : l->runs;
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
    return make_list(l, t);
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
    return &recent[(uint32_t)(uintptr_t)type * 2654435761u >> (32 - RECENT_BITS)];
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
    zcache_mpi_lock_get(&turn);
    if (key == MPI_KEYVAL_INVALID &&
        MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &key, NULL) != MPI_SUCCESS)
        rc = zc_errorf(ENOMEM, "MPI has no attribute for datatypes");
    if (rc == 0)
        rc = find_or_make(type, out, &kept);
    zcache_mpi_lock_put(&turn);
    if (kept)
        *r = (struct recent){type, now, *out};
    return rc;
}

/* ---- copying ---- */

/* Returns the run that has byte `within` of an element. */
static const struct zcache_run *run_of(const struct zcache_layout *l, int64_t within)
{
    const struct zcache_run *r = l->runs;

    for (int64_t n = l->nruns; n > 1;) { /* the answer is among r[0 .. n-1] */
        int64_t half = n / 2;

        r += r[half].before <= within ? half : 0;
        n -= half;
    }
    return r;
}

static inline void move(char *user, char *flat, size_t n, bool pack)
{
    if (pack)
        memcpy(flat, user, n);
    else
        memcpy(user, flat, n);
}

/* Inlined with a constant length, it is a loop of loads and stores. */
static inline __attribute__((always_inline)) void move_equal(char *user, int64_t stride, char *flat,
                                                             size_t len, int64_t count, bool pack)
{
    for (int64_t i = 0; i < count; i++)
        move(user + i * stride, flat + i * (int64_t)len, len, pack);
}

static void move_pieces(char *user, const struct zcache_run *r, char *flat, int64_t count,
                        bool pack)
{
    if (r->len == 8 && pack)
        move_equal(user, r->stride, flat, 8, count, true);
    else if (r->len == 8)
        move_equal(user, r->stride, flat, 8, count, false);
    else if (r->len == 4)
        move_equal(user, r->stride, flat, 4, count, pack);
    else
        move_equal(user, r->stride, flat, (size_t)r->len, count, pack);
}

/* Copies up to `len` bytes of a row from its byte `skip` on.  Returns how many there were. */
static int64_t copy_part(char *user, const struct zcache_run *r, int64_t skip, char *flat,
                         int64_t len, bool pack)
{
    int64_t i = skip / r->len, inside = skip % r->len, done = 0, rest = r->count * r->len - skip;
    int64_t n;

    if (len > rest)
        len = rest;
    if (inside) { /* the rest of a piece */
        done = r->len - inside < len ? r->len - inside : len;
        move(user + i++ * r->stride + inside, flat, (size_t)done, pack);
    }
    n = (len - done) / r->len;
    move_pieces(user + i * r->stride, r, flat + done, n, pack);
    done += n * r->len;
    if (done < len)
        move(user + (i + n) * r->stride, flat + done, (size_t)(len - done), pack);
    return len;
}

/* The same of a run. Most rows are copied whole, without a division. */
static int64_t copy_run(char *user, const struct zcache_run *r, int64_t skip, char *flat,
                        int64_t len, bool pack)
{
    int64_t whole = r->count * r->len, row = skip ? skip / whole : 0, done = 0, n;

    for (skip -= row * whole; row < r->rows && done < len; row++, done += n, skip = 0) {
        n = whole;
        if (skip || len - done < whole)
            n = copy_part(user + row * r->row_stride, r, skip, flat + done, len - done, pack);
        else
            move_pieces(user + row * r->row_stride, r, flat + done, r->count, pack);
    }
    return done;
}

static void copy_runs(const struct zcache_layout *l, char *user, int64_t pos, char *flat,
                      int64_t len, bool pack)
{
    int64_t tile = pos / l->size, skip = pos % l->size;
    const struct zcache_run *r = run_of(l, skip), *last = l->runs + l->nruns;

    for (skip -= r->before; len; skip = 0) {
        int64_t n = copy_run(user + tile * l->extent + r->off, r, skip, flat, len, pack);

        flat += n;
        len -= n;
        if (++r == last) {
            r = l->runs;
            tile++;
        }
    }
}

int64_t zcache_layout_first(const struct zcache_layout *l)
{
    return l->view ? zc_view_lower(l->view) : l->runs[0].off;
}

/* Finds the part of the buffer, [*low, *low + *n), with the elements of len > 0 bytes from `pos`
 * on. */
static void window(const struct zcache_layout *l, int64_t pos, int64_t len, int64_t *low,
                   int64_t *n)
{
    int64_t first = pos / l->size * l->extent, last = (pos + len - 1) / l->size * l->extent;

    *low = first + l->low;
    *n = last + l->high - *low;
}

/* Copies between the buffer `user` and contiguous memory: out of the buffer if `pack`. */
static int copy(const struct zcache_layout *l, char *user, int64_t pos, char *flat, int64_t len,
                bool pack)
{
    int64_t low, n, rc;

    if (len == 0)
        return 0;
    if (!l->view) {
        copy_runs(l, user, pos, flat, len, pack);
        return 0;
    }
    window(l, pos, len, &low, &n);
    rc = pack ? zc_view_gather(l->view, 0, pos, flat, len, user + low, low, n)
              : zc_view_scatter(l->view, 0, pos, flat, len, user + low, low, n);
    return rc < 0 ? (int)rc : 0;
}

int zcache_layout_pack(const struct zcache_layout *l, const void *user, int64_t pos, void *to,
                       int64_t len)
{
    return copy(l, (char *)(uintptr_t)user, pos, to, len, true);
}

int zcache_layout_unpack(const struct zcache_layout *l, void *user, int64_t pos, const void *from,
                         int64_t len)
{
    return copy(l, user, pos, (char *)(uintptr_t)from, len, false);
}
