/* tm_shape.c - random datatypes. */
#include <string.h>

#include "tm_shape.h"

bool tm_shape_only_romio;

struct tm_type *tm_shape_etype(struct tm_rng *r)
{
    struct tm_type *parts[2];
    int lens[2] = {1, 1};
    int64_t at[2];

    switch (tm_pick(r, 8)) {
    case 0:
        return tm_type_named(MPI_INT, "int");
    case 1:
        return tm_type_named(MPI_DOUBLE, "double");
    case 2:
        return tm_type_named(MPI_SHORT, "short");
    case 3: /* with a gap inside */
        parts[0] = tm_type_named(MPI_CHAR, "char");
        parts[1] = tm_type_named(MPI_INT, "int");
        at[0] = 0;
        at[1] = 4;
        return tm_type_struct(parts, 2, lens, at);
    case 4: /* with a gap at the end */
        parts[0] = tm_type_named(MPI_DOUBLE, "double");
        parts[1] = tm_type_named(MPI_INT, "int");
        at[0] = 0;
        at[1] = 8;
        return tm_type_struct(parts, 2, lens, at);
    case 5:
        return tm_type_contiguous(tm_type_named(MPI_BYTE, "byte"), 3);
    default:
        return tm_type_named(MPI_BYTE, "byte");
    }
}

/* Blocks at rising places: lengths 0..4, gaps 0..5.  Returns how many. */
static int rising(struct tm_rng *r, int *lens, int *at)
{
    int n = (int)tm_between(r, 1, 6), place = (int)tm_between(r, 0, 3);

    for (int i = 0; i < n; i++) {
        at[i] = place;
        lens[i] = (int)tm_between(r, i && !tm_shape_only_romio ? 0 : 1, 4);
        place += lens[i];
        place += (int)tm_between(r, 0, 5);
    }
    return n;
}

static void in_bytes(const struct tm_type *c, int n, const int *at, int64_t *bytes)
{
    for (int i = 0; i < n; i++)
        bytes[i] = at[i] * c->extent;
}

static struct tm_type *blocks(struct tm_type *c, int how, int n, const int *lens, const int *at)
{
    struct tm_type *same[TM_MAX_BLOCKS];
    int64_t bytes[TM_MAX_BLOCKS];

    if (tm_shape_only_romio && c->bounded)
        return tm_type_contiguous(c, n);
    in_bytes(c, n, at, bytes);
    for (int i = 0; i < n; i++)
        same[i] = c;
    switch (how) {
    case 0:
        return tm_type_indexed(c, n, lens, at);
    case 1:
        return tm_type_hindexed(c, n, lens, bytes);
    default:
        return tm_type_struct(same, n, lens, bytes);
    }
}

/* ---- arrays ---- */

void tm_shape_grid(struct tm_rng *r, struct tm_grid *g, int max, int nprocs)
{
    memset(g, 0, sizeof *g);
    g->ndims = (int)tm_between(r, 1, max);
    g->order = tm_chance(r, 50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    for (int d = 0; d < g->ndims; d++)
        g->procs[d] = 1;
    for (int f = 2; nprocs > 1; f++)
        for (; nprocs % f == 0; nprocs /= f)
            g->procs[tm_pick(r, g->ndims)] *= f;
}

void tm_shape_distribute(struct tm_rng *r, struct tm_grid *g)
{
    for (int d = 0; d < g->ndims; d++) {
        int n = g->ndims > 2 ? 4 : 9, p = g->procs[d];

        g->sizes[d] = (int)tm_between(r, p, p + n);
        g->distribs[d] = tm_chance(r, 50) ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC;
        if (p == 1 && tm_chance(r, 40))
            g->distribs[d] = MPI_DISTRIBUTE_NONE;
        g->dargs[d] = MPI_DISTRIBUTE_DFLT_DARG;
        if (g->ndims > 1) /* MPICH itself gets some blocks of several dimensions wrong */
            continue;
        if (g->distribs[d] == MPI_DISTRIBUTE_CYCLIC && tm_chance(r, 60))
            g->dargs[d] = (int)tm_between(r, 1, 3);
        if (g->distribs[d] == MPI_DISTRIBUTE_BLOCK && tm_chance(r, 30))
            g->dargs[d] = (g->sizes[d] + p - 1) / p + (int)tm_between(r, 0, 1);
    }
}

static struct tm_type *subarray(struct tm_rng *r, struct tm_type *c)
{
    struct tm_grid g;
    int sub[TM_MAX_DIMS], start[TM_MAX_DIMS];

    tm_shape_grid(r, &g, 4, 1);
    for (int d = 0; d < g.ndims; d++) {
        g.sizes[d] = (int)tm_between(r, 1, g.ndims > 2 ? 5 : 9);
        sub[d] = (int)tm_between(r, 1, g.sizes[d]);
        start[d] = (int)tm_between(r, 0, g.sizes[d] - sub[d]);
    }
    return tm_type_subarray(c, &g, sub, start);
}

static struct tm_type *darray(struct tm_rng *r, struct tm_type *c)
{
    struct tm_grid g;
    int n = (int)tm_between(r, 1, 6), rank = tm_pick(r, n);
    struct tm_type *t;

    if (c->size != c->extent || c->lb) /* MPICH itself gets some of these wrong */
        return tm_type_contiguous(c, n);
    tm_shape_grid(r, &g, 3, n);
    tm_shape_distribute(r, &g);
    t = tm_type_darray(c, &g, n, rank);
    return t->size ? t : tm_type_darray(c, &g, n, 0);
}

/* ---- for files ---- */

static struct tm_type *file_once(struct tm_rng *r, struct tm_type *c)
{
    int lens[TM_MAX_BLOCKS], at[TM_MAX_BLOCKS];
    int n = (int)tm_between(r, 1, 6), len = (int)tm_between(r, 1, 4);
    int stride = len + (int)tm_between(r, 0, 6), how = tm_pick(r, 11);

    switch (how) {
    case 0:
    case 1:
    case 2:
        n = rising(r, lens, at);
        return blocks(c, how, n, lens, at);
    case 3:
        return tm_type_vector(c, n, len, stride);
    case 4:
        return tm_type_hvector(c, n, len, stride * c->extent);
    case 5:
        for (int i = 0, place = 0; i < n; i++) {
            place += (int)tm_between(r, 0, 5);
            at[i] = place;
            place += len;
        }
        if (tm_shape_only_romio && c->bounded)
            return tm_type_vector(c, n, len, stride);
        return tm_type_block(c, n, len, at);
    case 6:
    case 7:
        return subarray(r, c);
    case 8:
        return darray(r, c);
    case 9:
        return tm_type_resized(c, 0, c->extent * tm_between(r, 1, 5));
    default:
        return tm_type_contiguous(c, n);
    }
}

struct tm_type *tm_shape_file(struct tm_rng *r, struct tm_type *etype, int64_t reach)
{
    int depth = (int)tm_between(r, 0, 3);
    struct tm_type *t = etype;

    for (int i = 0; i < depth; i++) {
        struct tm_type *outer;

        if (t->npieces > 100 || t->extent > reach / 4)
            break;
        outer = file_once(r, t);
        if (outer->extent > reach || outer->npieces > 2000)
            break;
        t = outer;
        if (tm_chance(r, 10))
            t = tm_type_dup(t);
    }
    return t;
}

/* ---- for memory ---- */

/* The same blocks in another order. */
static void shuffle(struct tm_rng *r, int n, int *lens, int *at)
{
    for (int i = n - 1; i > 0; i--) {
        int k = tm_pick(r, i + 1), len = lens[i], place = at[i];

        lens[i] = lens[k];
        at[i] = at[k];
        lens[k] = len;
        at[k] = place;
    }
}

/* Blocks of different basic types, each on its own multiple of 8. */
static struct tm_type *mixture(struct tm_rng *r)
{
    struct tm_type *parts[3];
    int lens[3];
    int64_t at[3];

    parts[0] = tm_type_named(MPI_INT, "int");
    parts[1] = tm_type_named(MPI_CHAR, "char");
    parts[2] = tm_type_named(MPI_DOUBLE, "double");
    for (int i = 0; i < 3; i++) {
        lens[i] = (int)tm_between(r, i == 1 && !tm_shape_only_romio ? 0 : 1, 3);
        at[i] = 32 * i;
    }
    return tm_type_struct(parts, 3, lens, at);
}

static struct tm_type *memory_once(struct tm_rng *r, struct tm_type *c)
{
    int lens[TM_MAX_BLOCKS], at[TM_MAX_BLOCKS];
    int n = (int)tm_between(r, 1, 6), len = (int)tm_between(r, 1, 4), shift;
    int stride = len + (int)tm_between(r, 0, 4), how = tm_pick(r, 9);
    int64_t below;

    switch (how) {
    case 0:
    case 1:
    case 2:
        n = rising(r, lens, at);
        shuffle(r, n, lens, at);
        shift = tm_chance(r, 30) ? (int)tm_between(r, 1, 20) : 0;
        if (tm_shape_only_romio)
            shift = 0;
        for (int i = 0; i < n; i++)
            at[i] -= shift;
        return blocks(c, how, n, lens, at);
    case 3:
        return tm_type_vector(c, n, len, tm_chance(r, 25) ? -stride : stride);
    case 4:
        return tm_type_hvector(c, n, len, stride * c->extent + tm_between(r, 0, 7));
    case 5:
        below = tm_chance(r, 40) ? tm_between(r, 1, 24) : 0;
        if (tm_shape_only_romio && c->lb != below)
            return tm_type_dup(c);
        return tm_type_resized(c, c->lb - below, c->extent + below + tm_between(r, 0, 24));
    case 6:
        return subarray(r, c);
    case 7:
        return c->npieces == 1 && c->size == 1 ? mixture(r) : tm_type_dup(c);
    default:
        return tm_type_contiguous(c, n);
    }
}

struct tm_type *tm_shape_memory(struct tm_rng *r, struct tm_type *base)
{
    struct tm_type *t = base;
    int depth = (int)tm_between(r, 0, 2);

    for (int i = 0; i < depth && t->npieces < 100 && t->extent < 4096; i++)
        t = memory_once(r, t);
    return t;
}
