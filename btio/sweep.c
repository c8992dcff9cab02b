/*
 * Block tridiagonal systems along lines: Thomas' algorithm with 5 x 5 blocks.
 *
 * Of the system  A[k] x[k-1] + B[k] x[k] + C[k] x[k+1] = r[k]  each point keeps, after elimination,
 *
 *   C'[k] = (B - A C'[k-1])^-1 C[k]    and    r'[k] = (B - A C'[k-1])^-1 (r[k] - A r'[k-1])
 *
 * and x[k] = r'[k] - C'[k] x[k+1] follows from the top. On the surface of the cube nothing
 * changes, x = 0, so lines on it are left out, and lines through it begin and end inside.
 *
 * Lines of a cell are taken LANES at a time, in bundles; what is kept for a bundle is contiguous
 * and not in the order of the grid. The last bundle is filled up with its last line.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "jacobian.h"
#include "sweep.h"

/* What elimination leaves behind at a point of each line of a bundle. */
struct eliminated {
    block c;
    column r;
};

/* The lines of one cell in one direction. */
struct lines {
    struct cell *cell;
    int d;
    int across[2];  /* the other two directions */
    int count;      /* lines */
    int bundles;    /* of LANES lines */
    int length;     /* points along, without those on the surface */
    ptrdiff_t step; /* from one point of a line to the next */
};

struct sweep {
    const struct problem *problem;
    const struct grid *grid;
    MPI_Comm comm;
    /* For all cells of the rank; stage by stage, bundle by bundle, point by point. */
    struct eliminated *kept;
    /* For each bundle: the message of elimination, or that of substitution (a column). */
    struct eliminated *in, *out;
};

/* ---- lines ----------------------------------------------------------------------------------- */

static struct lines lines_of(const struct grid *g, int d, int stage)
{
    struct lines l = {.cell = grid_slice(g, d, stage), .d = d};
    l.across[0] = d == 0 ? 1 : 0;
    l.across[1] = d == 2 ? 1 : 2;
    const struct cell *c = l.cell;
    int wide = c->end[l.across[0]] - c->begin[l.across[0]];
    int high = c->end[l.across[1]] - c->begin[l.across[1]];
    l.count = wide * high;
    l.bundles = (l.count + LANES - 1) / LANES;
    l.length = c->end[d] - c->begin[d];
    l.step = c->step[d];
    return l;
}

/* Where the lines of a bundle begin, inside the surface. */
static void bundle_begin(const struct lines *l, int bundle, ptrdiff_t at[LANES])
{
    const struct cell *c = l->cell;
    int wide = c->end[l->across[0]] - c->begin[l->across[0]];
    for (int lane = 0; lane < LANES; lane++) {
        int line = bundle * LANES + lane;
        if (line >= l->count)
            line = l->count - 1;
        int local[3];
        local[l->d] = c->begin[l->d];
        local[l->across[0]] = c->begin[l->across[0]] + line % wide;
        local[l->across[1]] = c->begin[l->across[1]] + line / wide;
        at[lane] = cell_at(c, local[0], local[1], local[2]);
    }
}

static inline void gather(const state *array, const ptrdiff_t at[LANES], ptrdiff_t offset,
                          column out)
{
    for (int lane = 0; lane < LANES; lane++) {
        const double *from = array[at[lane] + offset];
        for (int m = 0; m < NVAR; m++)
            out[m][lane] = from[m];
    }
}

static inline void scatter(const column in, state *array, const ptrdiff_t at[LANES],
                           ptrdiff_t offset)
{
    for (int lane = 0; lane < LANES; lane++) {
        double *to = array[at[lane] + offset];
        for (int m = 0; m < NVAR; m++)
            to[m] = in[m][lane];
    }
}

/* ---- one cell -------------------------------------------------------------------------------- */

static void couple_at(const struct sweep *s, const struct lines *l, const ptrdiff_t at[LANES],
                      ptrdiff_t offset, struct coupling *out)
{
    column u;
    gather(l->cell->u, at, offset, u);
    jacobian_coupling(s->problem, l->d, u, out);
}

/* `before` is what the cell below found, or NULL at the bottom. */
static void eliminate_bundle(const struct sweep *s, const struct lines *l, int bundle,
                             const struct eliminated *before, struct eliminated *kept)
{
    ptrdiff_t at[LANES];
    struct coupling three[3];
    struct coupling *below = &three[0], *here = &three[1], *above = &three[2];
    bundle_begin(l, bundle, at);
    couple_at(s, l, at, -l->step, below);
    couple_at(s, l, at, 0, here);
    for (int k = 0; k < l->length; k++) {
        couple_at(s, l, at, (k + 1) * l->step, above);
        memcpy(kept[k].c, above->above, sizeof(block));
        gather(l->cell->rhs, at, k * l->step, kept[k].r);
        if (before != NULL) {
            block_subtract_applied(kept[k].r, below->below, before->r);
            block_subtract_product(here->here, below->below, before->c);
        }
        block_solve(here->here, kept[k].c, kept[k].r);
        before = &kept[k];
        struct coupling *unused = below;
        below = here;
        here = above;
        above = unused;
    }
}

/* `after` is x at the first point of the cell above, or NULL at the top. Leaves x at the first
 * point of this cell in kept[0].r. */
static void substitute_bundle(const struct lines *l, int bundle, const column *after,
                              struct eliminated *kept)
{
    ptrdiff_t at[LANES];
    bundle_begin(l, bundle, at);
    for (int k = l->length - 1; k >= 0; k--) {
        if (after != NULL)
            block_subtract_applied(kept[k].r, kept[k].c, *after);
        scatter(kept[k].r, l->cell->rhs, at, k * l->step);
        after = &kept[k].r;
    }
}

/* ---- all stages ------------------------------------------------------------------------------ */

/* Hands on what was found on the lines of stage `done`, and gets what is needed for the next. */
static void hand_on(const struct sweep *s, int d, int done, int next, size_t each)
{
    const struct grid *g = s->grid;
    bool upwards = next > done;
    int to = upwards ? g->next[d] : g->previous[d];
    int from = upwards ? g->previous[d] : g->next[d];
    int sent = (int)(each * (size_t)lines_of(g, d, done).bundles);
    int received = (int)(each * (size_t)lines_of(g, d, next).bundles);
    MPI_Sendrecv(s->out, sent, MPI_BYTE, to, 0, s->in, received, MPI_BYTE, from, 0, s->comm,
                 MPI_STATUS_IGNORE);
}

static struct eliminated *eliminate(struct sweep *s, int d)
{
    const struct grid *g = s->grid;
    struct eliminated *kept = s->kept;
    for (int stage = 0; stage < g->q; stage++) {
        struct lines l = lines_of(g, d, stage);
        for (int b = 0; b < l.bundles; b++, kept += l.length) {
            eliminate_bundle(s, &l, b, stage > 0 ? &s->in[b] : NULL, kept);
            s->out[b] = kept[l.length - 1];
        }
        if (stage < g->q - 1)
            hand_on(s, d, stage, stage + 1, sizeof s->out[0]);
    }
    return kept;
}

static void substitute(struct sweep *s, int d, struct eliminated *kept)
{
    const struct grid *g = s->grid;
    column *in = (column *)s->in, *out = (column *)s->out;
    for (int stage = g->q - 1; stage >= 0; stage--) {
        struct lines l = lines_of(g, d, stage);
        kept -= (ptrdiff_t)l.bundles * l.length;
        for (int b = 0; b < l.bundles; b++) {
            struct eliminated *k = kept + (ptrdiff_t)b * l.length;
            substitute_bundle(&l, b, stage < g->q - 1 ? (const column *)&in[b] : NULL, k);
            memcpy(out[b], k[0].r, sizeof(column));
        }
        if (stage > 0)
            hand_on(s, d, stage, stage - 1, sizeof out[0]);
    }
}

void sweep_solve(struct sweep *s, int d)
{
    substitute(s, d, eliminate(s, d));
}

/* ---- memory ---------------------------------------------------------------------------------- */

struct sweep *sweep_create(const struct problem *p, const struct grid *g, MPI_Comm comm)
{
    struct sweep *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    size_t points = 0, bundles = 0;
    for (int d = 0; d < 3; d++) {
        size_t sum = 0;
        for (int stage = 0; stage < g->q; stage++) {
            struct lines l = lines_of(g, d, stage);
            sum += (size_t)l.bundles * (size_t)l.length;
            bundles = (size_t)l.bundles > bundles ? (size_t)l.bundles : bundles;
        }
        points = sum > points ? sum : points;
    }
    s->problem = p;
    s->grid = g;
    s->comm = comm;
    /* Sizes are multiples of a vector's. */
    s->kept = aligned_alloc(sizeof(lanes), points * sizeof *s->kept);
    s->in = aligned_alloc(sizeof(lanes), bundles * sizeof *s->in);
    s->out = aligned_alloc(sizeof(lanes), bundles * sizeof *s->out);
    if (s->kept == NULL || s->in == NULL || s->out == NULL) {
        sweep_destroy(s);
        return NULL;
    }
    return s;
}

void sweep_destroy(struct sweep *s)
{
    if (s == NULL)
        return;
    free(s->kept);
    free(s->in);
    free(s->out);
    free(s);
}
