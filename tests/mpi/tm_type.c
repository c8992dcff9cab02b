/* tm_type.c - datatypes and the bytes they cover. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tm_type.h"

/* ---- all types there are ---- */

static struct tm_type **types;
static int ntypes, room;

static void die(const char *what, const char *text)
{
    fprintf(stderr, "t_model: %s: %s\n", what, text);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static void *grown(void *p, size_t size)
{
    p = realloc(p, size);
    if (!p)
        die("no memory", "datatypes");
    return p;
}

static struct tm_type *begin(void)
{
    struct tm_type *t = calloc(1, sizeof *t);

    if (!t)
        die("no memory", "datatypes");
    if (ntypes == room) {
        room = room ? 2 * room : 64;
        types = grown(types, (size_t)room * sizeof *types);
    }
    types[ntypes++] = t;
    return t;
}

int tm_types_mark(void)
{
    return ntypes;
}

void tm_types_release(int mark)
{
    while (ntypes > mark) {
        struct tm_type *t = types[--ntypes];

        if (!t->named && t->mpi != MPI_DATATYPE_NULL)
            MPI_Type_free(&t->mpi);
        free(t->pieces);
        free(t->before);
        free(t);
    }
}

/* ---- pieces ---- */

static void put(struct tm_type *t, int64_t off, int64_t len)
{
    struct tm_piece *last = t->npieces ? &t->pieces[t->npieces - 1] : NULL;

    if (len == 0)
        return;
    if (!t->npieces || off < t->low)
        t->low = off;
    if (!t->npieces || off + len > t->high)
        t->high = off + len;
    t->size += len;
    if (last && last->off + last->len == off) {
        last->len += len;
        return;
    }
    if (t->npieces == t->room) {
        t->room = t->room ? 2 * t->room : 8;
        t->pieces = grown(t->pieces, (size_t)t->room * sizeof *t->pieces);
    }
    t->pieces[t->npieces++] = (struct tm_piece){off, len};
}

/* n of c, one after the other, from byte `at` on. */
static void copies(struct tm_type *t, const struct tm_type *c, int64_t at, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < c->npieces; k++)
            put(t, at + i * c->extent + c->pieces[k].off, c->pieces[k].len);
    t->elements += n * c->elements;
    t->bounded |= c->bounded;
    t->darray |= c->darray;
}

/* Whether MPI_Pack takes the same bytes in the same order. */
static int packs_alike(const struct tm_type *t)
{
    unsigned char *memory, *packed;
    int64_t n = 0;
    int pos = 0, alike;

    if (t->darray)
        return 1;
    memory = grown(NULL, (size_t)(t->high - t->low + 1));
    packed = grown(NULL, (size_t)t->size + 1);
    for (int64_t i = 0; i < t->high - t->low; i++)
        memory[i] = (unsigned char)tm_mix((uint64_t)i);
    MPI_Pack(memory - t->low, 1, t->mpi, packed, (int)t->size, &pos, MPI_COMM_SELF);
    alike = pos == t->size;
    for (int k = 0; k < t->npieces && alike; k++) {
        alike = !memcmp(packed + n, memory - t->low + t->pieces[k].off, (size_t)t->pieces[k].len);
        n += t->pieces[k].len;
    }
    free(memory);
    free(packed);
    return alike;
}

/* Asks MPI whether it thinks the same. */
static struct tm_type *done(struct tm_type *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static struct tm_type *done(struct tm_type *t, const char *fmt, ...)
{
    MPI_Count size, lb, extent, low, span;
    int64_t sum = 0;
    va_list args;

    va_start(args, fmt);
    vsnprintf(t->text, sizeof t->text, fmt, args);
    va_end(args);
    if (!t->named)
        MPI_Type_commit(&t->mpi);
    MPI_Type_size_x(t->mpi, &size);
    MPI_Type_get_extent_x(t->mpi, &lb, &extent);
    MPI_Type_get_true_extent_x(t->mpi, &low, &span);
    if (size != t->size || (size && (low != t->low || low + span != t->high)) || !packs_alike(t))
        die("MPI and this test do not agree on a type", t->text);
    t->lb = lb;
    t->extent = extent;
    t->before = grown(NULL, (size_t)(t->npieces + 1) * sizeof *t->before);
    for (int i = 0; i < t->npieces; i++) {
        t->before[i] = sum;
        sum += t->pieces[i].len;
    }
    t->before[t->npieces] = sum;
    return t;
}

/* ---- one function per constructor ---- */

struct tm_type *tm_type_named(MPI_Datatype mpi, const char *name)
{
    struct tm_type *t = begin();
    MPI_Count size;

    MPI_Type_size_x(mpi, &size);
    t->mpi = mpi;
    t->named = 1;
    put(t, 0, size);
    t->elements = mpi == MPI_DOUBLE_INT ? 2 : 1;
    return done(t, "%s", name);
}

struct tm_type *tm_type_contiguous(struct tm_type *c, int n)
{
    struct tm_type *t = begin();

    copies(t, c, 0, n);
    MPI_Type_contiguous(n, c->mpi, &t->mpi);
    return done(t, "contiguous(%d %.100s)", n, c->text);
}

struct tm_type *tm_type_vector(struct tm_type *c, int n, int len, int stride)
{
    struct tm_type *t = begin();

    for (int i = 0; i < n; i++)
        copies(t, c, i * stride * c->extent, len);
    MPI_Type_vector(n, len, stride, c->mpi, &t->mpi);
    return done(t, "vector(%d,%d,%d %.100s)", n, len, stride, c->text);
}

struct tm_type *tm_type_hvector(struct tm_type *c, int n, int len, int64_t stride)
{
    struct tm_type *t = begin();

    for (int i = 0; i < n; i++)
        copies(t, c, i * stride, len);
    MPI_Type_create_hvector(n, len, (MPI_Aint)stride, c->mpi, &t->mpi);
    return done(t, "hvector(%d,%d,%lld %.100s)", n, len, (long long)stride, c->text);
}

/* "2@8,1@4": lengths and places. */
static const char *blocks_text(int n, const int *lens, int len, const int *at, const int64_t *bytes,
                               char buf[60])
{
    int used = 0;

    buf[0] = 0;
    for (int i = 0; i < n && used < 59; i++)
        used += snprintf(buf + used, 60 - (size_t)used, "%s%d@%lld", i ? "," : "",
                         lens ? lens[i] : len, at ? (long long)at[i] : (long long)bytes[i]);
    return buf;
}

struct tm_type *tm_type_indexed(struct tm_type *c, int n, const int *lens, const int *at)
{
    struct tm_type *t = begin();
    char text[60];

    for (int i = 0; i < n; i++)
        copies(t, c, at[i] * c->extent, lens[i]);
    MPI_Type_indexed(n, lens, at, c->mpi, &t->mpi);
    return done(t, "indexed(%s %.100s)", blocks_text(n, lens, 0, at, NULL, text), c->text);
}

static MPI_Aint *aints(const int64_t *at, int n)
{
    MPI_Aint *a = grown(NULL, (size_t)(n + 1) * sizeof *a);

    for (int i = 0; i < n; i++)
        a[i] = (MPI_Aint)at[i];
    return a;
}

struct tm_type *tm_type_hindexed(struct tm_type *c, int n, const int *lens, const int64_t *at)
{
    struct tm_type *t = begin();
    MPI_Aint *a = aints(at, n);
    char text[60];

    for (int i = 0; i < n; i++)
        copies(t, c, at[i], lens[i]);
    MPI_Type_create_hindexed(n, lens, a, c->mpi, &t->mpi);
    free(a);
    return done(t, "hindexed(%s %.100s)", blocks_text(n, lens, 0, NULL, at, text), c->text);
}

struct tm_type *tm_type_block(struct tm_type *c, int n, int len, const int *at)
{
    struct tm_type *t = begin();
    char text[60];

    for (int i = 0; i < n; i++)
        copies(t, c, at[i] * c->extent, len);
    MPI_Type_create_indexed_block(n, len, at, c->mpi, &t->mpi);
    return done(t, "block(%s %.100s)", blocks_text(n, NULL, len, at, NULL, text), c->text);
}

struct tm_type *tm_type_struct(struct tm_type *const *c, int n, const int *lens, const int64_t *at)
{
    struct tm_type *t = begin();
    MPI_Aint *a = aints(at, n);
    MPI_Datatype *m = grown(NULL, (size_t)(n + 1) * sizeof *m);
    char text[60];

    for (int i = 0; i < n; i++) {
        copies(t, c[i], at[i], lens[i]);
        m[i] = c[i]->mpi;
    }
    MPI_Type_create_struct(n, lens, a, m, &t->mpi);
    free(a);
    free(m);
    return done(t, "struct(%s %.100s)", blocks_text(n, lens, 0, NULL, at, text), c[0]->text);
}

struct tm_type *tm_type_resized(struct tm_type *c, int64_t lb, int64_t extent)
{
    struct tm_type *t = begin();

    copies(t, c, 0, 1);
    t->bounded = 1;
    MPI_Type_create_resized(c->mpi, (MPI_Aint)lb, (MPI_Aint)extent, &t->mpi);
    return done(t, "resized(%lld,%lld %.100s)", (long long)lb, (long long)extent, c->text);
}

struct tm_type *tm_type_dup(struct tm_type *c)
{
    struct tm_type *t = begin();

    copies(t, c, 0, 1);
    MPI_Type_dup(c->mpi, &t->mpi);
    return done(t, "dup(%.100s)", c->text);
}

/* ---- arrays ---- */

/* Process `rank` of the grid. */
void tm_grid_coords(const struct tm_grid *g, int rank, int *coords)
{
    for (int d = g->ndims - 1; d >= 0; d--) {
        coords[d] = rank % g->procs[d];
        rank /= g->procs[d];
    }
}

/* Which process of its dimension has index i. */
static int owner(const struct tm_grid *g, int d, int i)
{
    int arg = g->dargs[d], n = g->sizes[d], p = g->procs[d];

    switch (g->distribs[d]) {
    case MPI_DISTRIBUTE_BLOCK:
        return i / (arg == MPI_DISTRIBUTE_DFLT_DARG ? (n + p - 1) / p : arg);
    case MPI_DISTRIBUTE_CYCLIC:
        return i / (arg == MPI_DISTRIBUTE_DFLT_DARG ? 1 : arg) % p;
    default:
        return 0;
    }
}

typedef int (*has_fn)(const struct tm_grid *g, int d, int i, const int *mine, const int *len);

static int in_box(const struct tm_grid *g, int d, int i, const int *start, const int *len)
{
    (void)g;
    return i >= start[d] && i < start[d] + len[d];
}

static int is_owned(const struct tm_grid *g, int d, int i, const int *coords, const int *len)
{
    (void)len;
    return owner(g, d, i) == coords[d];
}

/* Every element of the array in the order of storage, those that `has` wants. */
static void elements(struct tm_type *t, const struct tm_type *c, const struct tm_grid *g,
                     has_fn has, const int *mine, const int *len)
{
    int64_t total = 1;

    for (int d = 0; d < g->ndims; d++)
        total *= g->sizes[d];
    for (int64_t e = 0; e < total; e++) {
        int64_t left = e;
        int wanted = 1;

        for (int k = 0; k < g->ndims; k++) { /* the fastest dimension first */
            int d = g->order == MPI_ORDER_C ? g->ndims - 1 - k : k;

            wanted = wanted && has(g, d, (int)(left % g->sizes[d]), mine, len);
            left /= g->sizes[d];
        }
        if (wanted)
            copies(t, c, e * c->extent, 1);
    }
}

static const char *dims_text(const struct tm_grid *g, char buf[48])
{
    int n = 0;

    for (int d = 0; d < g->ndims; d++)
        n += snprintf(buf + n, 48 - (size_t)n, "%s%d", d ? "x" : "", g->sizes[d]);
    return buf;
}

struct tm_type *tm_type_subarray(struct tm_type *c, const struct tm_grid *g, const int *sub,
                                 const int *start)
{
    struct tm_type *t = begin();
    char dims[48];

    elements(t, c, g, in_box, start, sub);
    t->bounded = 1;
    MPI_Type_create_subarray(g->ndims, g->sizes, sub, start, g->order, c->mpi, &t->mpi);
    return done(t, "subarray(%s %.100s)", dims_text(g, dims), c->text);
}

struct tm_type *tm_type_darray(struct tm_type *c, const struct tm_grid *g, int nprocs, int rank)
{
    struct tm_type *t = begin();
    int coords[TM_MAX_DIMS];
    char dims[48];

    tm_grid_coords(g, rank, coords);
    elements(t, c, g, is_owned, coords, NULL);
    t->bounded = t->darray = 1;
    MPI_Type_create_darray(nprocs, rank, g->ndims, g->sizes, g->distribs, g->dargs, g->procs,
                           g->order, c->mpi, &t->mpi);
    return done(t, "darray(%s rank %d of %d %.80s)", dims_text(g, dims), rank, nprocs, c->text);
}
