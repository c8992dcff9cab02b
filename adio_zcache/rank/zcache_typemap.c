/* zcache_typemap.c - the constructors of a datatype, as a tree that is walked.
 *
 * A node is one piece of bytes, a child repeated with a stride, or a list of blocks, each a
 * child repeated with the child's extent.  What is one piece in the end is made one piece at
 * once, so that an array of structures without gaps costs nothing.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "zc_log.h"
#include "zcache_type_args.h"
#include "zcache_typemap.h"

enum kind { PIECE, REPEAT, LIST };

struct block {
    int64_t off, count; /* so many of: */
    uint32_t child;
};

struct zcache_typemap {
    enum kind kind;
    int64_t off;           /* of all of it, from where the parent puts it */
    int64_t len;           /* PIECE: bytes, 0: nothing */
    int64_t extent;        /* of the datatype; from one element to the next */
    int64_t count, stride; /* REPEAT: of child[0] */
    struct block *blocks;  /* LIST */
    int64_t nblocks;
    struct zcache_typemap **child; /* owned */
    uint32_t nchild;
};

typedef struct zcache_typemap node;

void zcache_typemap_free(node *t)
{
    if (!t)
        return;
    for (uint32_t i = 0; i < t->nchild; i++)
        zcache_typemap_free(t->child[i]);
    free(t->child);
    free(t->blocks);
    free(t);
}

static int no_memory(void)
{
    return zc_errorf(ENOMEM, "no memory to look at a datatype");
}

static node *new_node(enum kind kind, uint32_t nchild)
{
    node *t = calloc(1, sizeof *t);

    if (!t)
        return NULL;
    t->kind = kind;
    t->child = nchild ? calloc(nchild, sizeof *t->child) : NULL;
    if (nchild && !t->child) {
        free(t);
        return NULL;
    }
    return t;
}

static node *piece(int64_t off, int64_t len)
{
    node *t = new_node(PIECE, 0);

    if (t) {
        t->off = off;
        t->len = t->extent = len;
    }
    return t;
}

static bool is_empty(const node *t)
{
    return t->kind == PIECE && t->len == 0;
}

/* Whether `count` of them, `stride` apart, are one piece. */
static bool is_solid(const node *t, int64_t count, int64_t stride)
{
    return t->kind == PIECE && (t->len == stride || count == 1);
}

/* ---- putting together ----
 * These take their child over, also when they fail. */

/* `count` times, `stride` apart, all of it moved by `off`. */
static int repeat(node *c, int64_t off, int64_t count, int64_t stride, node **out)
{
    node *t;

    if (count == 0 || is_empty(c)) {
        zcache_typemap_free(c);
        *out = piece(0, 0);
        return *out ? 0 : no_memory();
    }
    if (is_solid(c, count, stride)) {
        c->off += off;
        c->len *= count;
        *out = c;
        return 0;
    }
    if (count == 1) {
        c->off += off;
        *out = c;
        return 0;
    }
    t = new_node(REPEAT, 1);
    if (!t) {
        zcache_typemap_free(c);
        return no_memory();
    }
    t->off = off;
    t->count = count;
    t->stride = stride;
    t->child[t->nchild++] = c;
    *out = t;
    return 0;
}

/* A list whose blocks follow each other without gaps is a piece. */
static void solidify(node *t)
{
    int64_t start = 0, end = 0;
    bool any = false;

    for (int64_t i = 0; i < t->nblocks; i++) {
        const struct block *b = &t->blocks[i];
        const node *c = t->child[b->child];

        if (b->count == 0 || is_empty(c))
            continue;
        if (!is_solid(c, b->count, c->extent) || (any && b->off + c->off != end))
            return;
        if (!any)
            start = b->off + c->off;
        end = b->off + c->off + b->count * c->len;
        any = true;
    }
    for (uint32_t i = 0; i < t->nchild; i++)
        zcache_typemap_free(t->child[i]);
    t->nchild = 0;
    free(t->blocks);
    t->blocks = NULL;
    t->nblocks = 0;
    t->kind = PIECE;
    t->off = start;
    t->len = end - start;
}

/* ---- the constructors ---- */

static int build(MPI_Datatype type, node **out);

/* One child, `n` blocks: lengths from `lens` or all `len`; places in bytes or in extents. */
static int build_blocks(const struct zcache_type_args *a, const int64_t *lens, int64_t len,
                        const int64_t *elements, node **out)
{
    node *t = new_node(LIST, 1);
    int rc;

    if (!t)
        return no_memory();
    rc = build(a->types[0], &t->child[0]);
    t->nchild = rc == 0;
    t->blocks = rc == 0 ? calloc((size_t)a->v[0] + 1, sizeof *t->blocks) : NULL;
    if (rc == 0 && !t->blocks)
        rc = no_memory();
    if (rc) {
        zcache_typemap_free(t);
        return rc;
    }
    t->nblocks = a->v[0];
    for (int64_t i = 0; i < t->nblocks; i++)
        t->blocks[i] = (struct block){
            .off = elements ? elements[i] * t->child[0]->extent : a->at[i],
            .count = lens ? lens[i] : len,
        };
    solidify(t);
    *out = t;
    return 0;
}

static int build_struct(const struct zcache_type_args *a, node **out)
{
    int64_t n = a->v[0];
    node *t = new_node(LIST, (uint32_t)n + 1);
    int rc = 0;

    if (!t)
        return no_memory();
    t->blocks = calloc((size_t)n + 1, sizeof *t->blocks);
    if (!t->blocks)
        rc = no_memory();
    for (int64_t i = 0; i < n && rc == 0; i++) {
        if (i == 0 || a->types[i] != a->types[i - 1]) {
            rc = build(a->types[i], &t->child[t->nchild]);
            t->nchild += rc == 0;
        }
        t->blocks[i] = (struct block){a->at[i], a->v[1 + i], t->nchild - 1};
    }
    if (rc) {
        zcache_typemap_free(t);
        return rc;
    }
    t->nblocks = n;
    solidify(t);
    *out = t;
    return 0;
}

/* Blocks of `len` elements; `stride` in bytes, or in extents. */
static int build_vector(const struct zcache_type_args *a, int64_t stride, bool in_bytes, node **out)
{
    node *c;
    int64_t extent;
    int rc = build(a->types[0], &c);

    if (rc)
        return rc;
    extent = c->extent;
    rc = repeat(c, 0, a->v[1], extent, &c);
    return rc ? rc : repeat(c, 0, a->v[0], in_bytes ? stride : stride * extent, out);
}

/* Dimensions from the one that varies fastest; `d` counts as the constructor does. */
static int64_t dimension(int64_t i, int64_t ndims, int64_t order)
{
    return order == MPI_ORDER_C ? ndims - 1 - i : i;
}

/* v: ndims, sizes, subsizes, starts, order */
static int build_subarray(const struct zcache_type_args *a, node **out)
{
    int64_t ndims = a->v[0], stride;
    const int64_t *sizes = a->v + 1, *sub = sizes + ndims, *start = sub + ndims;
    node *t;
    int rc = build(a->types[0], &t);

    stride = rc ? 0 : t->extent;
    for (int64_t i = 0; i < ndims && rc == 0; i++) {
        int64_t d = dimension(i, ndims, start[ndims]);

        rc = repeat(t, start[d] * stride, sub[d], stride, &t);
        stride *= sizes[d];
    }
    *out = t;
    return rc;
}

/* Elements of one dimension of a distributed array, dealt out in blocks. */
struct deal {
    int64_t size, block, procs, me;
};

static struct deal deal_of(int64_t size, int64_t how, int64_t arg, int64_t procs, int64_t me)
{
    struct deal d = {size, arg, procs, me};

    if (how == MPI_DISTRIBUTE_NONE)
        return (struct deal){size, size, 1, 0};
    if (arg == MPI_DISTRIBUTE_DFLT_DARG)
        d.block = how == MPI_DISTRIBUTE_CYCLIC ? 1 : (size + procs - 1) / procs;
    return d;
}

/* Whole blocks of this process, and what is left for it in a last, shorter one. */
static int deal_out(const struct deal *d, int64_t stride, node *c, node **out)
{
    int64_t whole = d->size / d->block, rest = d->size % d->block;
    int64_t mine = whole > d->me ? (whole - d->me - 1) / d->procs + 1 : 0;
    bool last = rest && whole % d->procs == d->me;
    int64_t first = d->me * d->block * stride;
    node *t;

    if (!last) {
        int rc = repeat(c, 0, d->block, stride, &c);

        return rc ? rc : repeat(c, first, mine, d->procs * d->block * stride, out);
    }
    t = new_node(LIST, 1);
    if (t)
        t->blocks = calloc((size_t)mine + 1, sizeof *t->blocks);
    if (!t || !t->blocks) {
        zcache_typemap_free(t);
        zcache_typemap_free(c);
        return no_memory();
    }
    c->extent = stride; /* from one element of this dimension to the next */
    t->child[t->nchild++] = c;
    for (int64_t i = 0; i < mine; i++)
        t->blocks[i] = (struct block){first + i * d->procs * d->block * stride, d->block, 0};
    t->blocks[mine] = (struct block){whole * d->block * stride, rest, 0};
    t->nblocks = mine + 1;
    *out = t;
    return 0;
}

/* v: size, rank, ndims, gsizes, distribs, dargs, psizes, order */
static int build_darray(const struct zcache_type_args *a, node **out)
{
    int64_t ndims = a->v[2], left = a->v[0], rank = a->v[1], stride;
    const int64_t *sizes = a->v + 3, *how = sizes + ndims, *arg = how + ndims, *procs = arg + ndims;
    int64_t *me = calloc((size_t)ndims + 1, sizeof *me);
    node *t;
    int rc = me ? build(a->types[0], &t) : no_memory();

    if (rc) {
        free(me);
        return rc;
    }
    for (int64_t d = 0; d < ndims; d++) { /* processes are always numbered as in C */
        left /= procs[d];
        me[d] = rank / left;
        rank %= left;
    }
    stride = t->extent;
    for (int64_t i = 0; i < ndims && rc == 0; i++) {
        int64_t d = dimension(i, ndims, procs[ndims]);
        struct deal deal = deal_of(sizes[d], how[d], arg[d], procs[d], me[d]);

        rc = deal_out(&deal, stride, t, &t);
        stride *= sizes[d];
    }
    free(me);
    *out = t;
    return rc;
}

/* ---- the types of the library itself ---- */

/* A value and its index, in a C structure: not all have the bytes of what they are made of
 * side by side. */
static bool find_pair(MPI_Datatype type, int64_t *len, int64_t *index)
{
#define PAIR(t, handle)                                                                            \
    if (type == (handle)) {                                                                        \
        struct pair {                                                                              \
            t value;                                                                               \
            int index;                                                                             \
        };                                                                                         \
        *len = sizeof(t);                                                                          \
        *index = offsetof(struct pair, index);                                                     \
        return true;                                                                               \
    }
    PAIR(float, MPI_FLOAT_INT)
    PAIR(double, MPI_DOUBLE_INT)
    PAIR(long, MPI_LONG_INT)
    PAIR(short, MPI_SHORT_INT)
    PAIR(long double, MPI_LONG_DOUBLE_INT)
#undef PAIR
    return false;
}

static int build_pair(int64_t len, int64_t index, node **out)
{
    node *t = new_node(LIST, 2);

    if (t)
        t->blocks = calloc(2, sizeof *t->blocks);
    if (!t || !t->blocks || !(t->child[0] = piece(0, len)) ||
        !(t->child[1] = piece(0, sizeof(int)))) {
        if (t)
            t->nchild = t->child[0] ? 1 : 0;
        zcache_typemap_free(t);
        return no_memory();
    }
    t->nchild = t->nblocks = 2;
    t->blocks[0] = (struct block){0, 1, 0};
    t->blocks[1] = (struct block){index, 1, 1};
    solidify(t);
    *out = t;
    return 0;
}

static int build_basic(MPI_Datatype type, int64_t size, node **out)
{
    int64_t len, index;

    if (find_pair(type, &len, &index))
        return build_pair(len, index, out);
    *out = piece(0, size);
    return *out ? 0 : no_memory();
}

/* ---- all of them ---- */

static int construct(const struct zcache_type_args *a, MPI_Datatype type, int64_t size, node **out)
{
    switch (a->combiner) {
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
        return build_basic(type, size, out);
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: /* another extent, which MPI tells */
        return build(a->types[0], out);
    case MPI_COMBINER_CONTIGUOUS: {
        node *c;
        int rc = build(a->types[0], &c);

        return rc ? rc : repeat(c, 0, a->v[0], c->extent, out);
    }
    case MPI_COMBINER_VECTOR:
        return build_vector(a, a->v[2], false, out);
    case MPI_COMBINER_HVECTOR:
        return build_vector(a, a->at[0], true, out);
    case MPI_COMBINER_INDEXED:
        return build_blocks(a, a->v + 1, 0, a->v + 1 + a->v[0], out);
    case MPI_COMBINER_HINDEXED:
        return build_blocks(a, a->v + 1, 0, NULL, out);
    case MPI_COMBINER_INDEXED_BLOCK:
        return build_blocks(a, NULL, a->v[1], a->v + 2, out);
    case MPI_COMBINER_HINDEXED_BLOCK:
        return build_blocks(a, NULL, a->v[1], NULL, out);
    case MPI_COMBINER_STRUCT:
        return build_struct(a, out);
    case MPI_COMBINER_SUBARRAY:
        return build_subarray(a, out);
    case MPI_COMBINER_DARRAY:
        return build_darray(a, out);
    default:
        return zc_errorf(ENOTSUP, "a datatype made by constructor %d, which zcache does not know",
                         a->combiner);
    }
}

static int build(MPI_Datatype type, node **out)
{
    struct zcache_type_args args;
    MPI_Count size = 0, lb, extent = 0;
    int rc = zcache_type_args_get(type, &args);

    if (rc)
        return rc;
    if (MPI_Type_size_x(type, &size) != MPI_SUCCESS || size == MPI_UNDEFINED ||
        MPI_Type_get_extent_x(type, &lb, &extent) != MPI_SUCCESS)
        rc = zc_errorf(EOVERFLOW, "a datatype whose size MPI cannot tell");
    if (rc == 0)
        rc = construct(&args, type, size, out);
    if (rc == 0)
        (*out)->extent = extent;
    zcache_type_args_free(&args);
    return rc;
}

static int add_size(void *arg, int64_t off, int64_t len, int64_t stride, int64_t count)
{
    (void)off;
    (void)stride;
    *(int64_t *)arg += len * count;
    return 0;
}

int zcache_typemap_create(MPI_Datatype type, node **out)
{
    MPI_Count size;
    int64_t found = 0;
    node *t;
    int rc = build(type, &t);

    if (rc)
        return rc;
    MPI_Type_size_x(type, &size);
    zcache_typemap_walk(t, add_size, &found);
    if (found != size) {
        zcache_typemap_free(t);
        return zc_errorf(ENOTSUP, "a datatype of %lld bytes of which zcache finds %" PRId64,
                         (long long)size, found);
    }
    *out = t;
    return 0;
}

/* ---- walking ---- */

struct walk {
    zcache_typemap_visit *visit;
    void *arg;
};

static int walk_node(const struct walk *w, const node *t, int64_t at);

static int walk_times(const struct walk *w, const node *c, int64_t at, int64_t count,
                      int64_t stride)
{
    int rc = 0;

    if (count == 0 || is_empty(c))
        return 0;
    if (is_solid(c, count, stride))
        return w->visit(w->arg, at + c->off, c->len * count, 0, 1);
    if (c->kind == PIECE)
        return w->visit(w->arg, at + c->off, c->len, stride, count);
    for (int64_t i = 0; i < count && rc == 0; i++)
        rc = walk_node(w, c, at + i * stride);
    return rc;
}

static int walk_node(const struct walk *w, const node *t, int64_t at)
{
    int rc = 0;

    switch (t->kind) {
    case PIECE:
        return walk_times(w, t, at, 1, 0);
    case REPEAT:
        return walk_times(w, t->child[0], at + t->off, t->count, t->stride);
    case LIST:
        for (int64_t i = 0; i < t->nblocks && rc == 0; i++) {
            const struct block *b = &t->blocks[i];
            const node *c = t->child[b->child];

            rc = walk_times(w, c, at + t->off + b->off, b->count, c->extent);
        }
    }
    return rc;
}

int zcache_typemap_walk(const node *t, zcache_typemap_visit *visit, void *arg)
{
    struct walk w = {visit, arg};

    return walk_node(&w, t, 0);
}
