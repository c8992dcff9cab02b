/*
 * The grid cut into cells: multi-partition.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"

int grid_side(int nranks)
{
    int q = 1;
    while (q * q < nranks)
        q++;
    return q * q == nranks ? q : 0;
}

static int wrap(int x, int q)
{
    return (x % q + q) % q;
}

static void cell_place(struct cell *c, int n, int q)
{
    ptrdiff_t step = 1;
    for (int d = 0; d < 3; d++) {
        /* The first n % q slices are one point thicker. */
        int at = c->coord[d], extra = n % q;
        c->size[d] = n / q + (at < extra);
        c->low[d] = at * (n / q) + (at < extra ? at : extra);
        c->begin[d] = at == 0 ? 1 : 0;
        c->end[d] = c->size[d] - (at == q - 1 ? 1 : 0);
        c->step[d] = step;
        step *= c->size[d] + 2 * GHOST;
    }
}

static size_t cell_padded_points(const struct cell *c)
{
    return (size_t)c->step[2] * (size_t)(c->size[2] + 2 * GHOST);
}

struct cell *grid_slice(const struct grid *g, int d, int stage)
{
    int i = g->rank % g->q, j = g->rank / g->q;
    int c = d == 0 ? stage - i : d == 1 ? j - stage : stage;
    return &g->cells[wrap(c, g->q)];
}

static void cells_place(struct grid *g)
{
    int q = g->q, i = g->rank % q, j = g->rank / q;
    for (int c = 0; c < q; c++) {
        struct cell *cell = &g->cells[c];
        cell->coord[0] = wrap(i + c, q);
        cell->coord[1] = wrap(j - c, q);
        cell->coord[2] = c;
        cell_place(cell, g->n, q);
        g->points += (int64_t)cell->size[0] * cell->size[1] * cell->size[2];
        g->padded_points += cell_padded_points(cell);
    }
    /* The cell one further in z has c + 1, and the same x and y. */
    const int di[3] = {1, 0, -1}, dj[3] = {0, 1, 1};
    for (int d = 0; d < 3; d++) {
        g->next[d] = wrap(i + di[d], q) + q * wrap(j + dj[d], q);
        g->previous[d] = wrap(i - di[d], q) + q * wrap(j - dj[d], q);
    }
}

static struct row row_at(const struct cell *c, int y, int z)
{
    return (struct row){.cell = c, .y = y, .z = z, .u = c->u + cell_at(c, 0, y, z)};
}

struct row grid_first_row(const struct grid *g)
{
    return row_at(g->cells, 0, 0);
}

bool grid_next_row(const struct grid *g, struct row *row)
{
    const struct cell *c = row->cell;
    if (row->y + 1 < c->size[1])
        *row = row_at(c, row->y + 1, row->z);
    else if (row->z + 1 < c->size[2])
        *row = row_at(c, 0, row->z + 1);
    else if (c + 1 < g->cells + g->q)
        *row = row_at(c + 1, 0, 0);
    else
        return false;
    return true;
}

int grid_init(struct grid *g, int n, int q, int rank)
{
    *g = (struct grid){.n = n, .q = q, .rank = rank};
    g->cells = calloc((size_t)q, sizeof *g->cells);
    if (g->cells == NULL)
        return -ENOMEM;
    cells_place(g);
    g->u = calloc(g->padded_points, sizeof *g->u);
    g->rhs = calloc(g->padded_points, sizeof *g->rhs);
    g->forcing = calloc(g->padded_points, sizeof *g->forcing);
    g->flow = calloc(g->padded_points, sizeof *g->flow);
    if (g->u == NULL || g->rhs == NULL || g->forcing == NULL || g->flow == NULL) {
        grid_free(g);
        return -ENOMEM;
    }
    size_t at = 0;
    for (int c = 0; c < q; c++) {
        struct cell *cell = &g->cells[c];
        cell->u = g->u + at;
        cell->rhs = g->rhs + at;
        cell->forcing = g->forcing + at;
        cell->flow = g->flow + at;
        at += cell_padded_points(cell);
    }
    return 0;
}

void grid_free(struct grid *g)
{
    free(g->u);
    free(g->rhs);
    free(g->forcing);
    free(g->flow);
    free(g->cells);
    memset(g, 0, sizeof *g);
}
