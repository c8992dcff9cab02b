/*
 * The grid cut into cells, and which rank has which: the multi-partition scheme.
 *
 * With q x q ranks the cube is cut into q x q x q cells. Rank i + q j has q of them, at
 *
 *     ((i + c) mod q, (j - c) mod q, c)     for c = 0 ... q - 1
 *
 * so that every slice of the cube across any of the three directions holds one cell of every
 * rank: a sweep along a direction keeps all ranks busy in each of its q stages. Moreover the
 * neighbours in one direction of all cells of a rank belong to one rank, so a rank talks to six.
 *
 * A cell's arrays have GHOST more points on each side; those next to another cell are copies of
 * its points (halo.h), those outside the cube hold a harmless state and are not looked at. Local
 * indices begin with 0 at the first point of the cell; x runs fastest. Needs no MPI.
 */
#ifndef GRID_H
#define GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "problem.h"

#define GHOST 2

/* What several directions of the right-hand side need of a state. */
struct flow {
    double per_rho;  /* 1 / density */
    double speed[3]; /* velocity */
    double kinetic;  /* energy of motion by volume, */
    double q;        /* and by mass */
};

struct cell {
    int coord[3];      /* among the q x q x q cells */
    int low[3];        /* global index of the first point */
    int size[3];       /* points, at least GRID_THINNEST */
    int begin[3];      /* local range of the points that change: */
    int end[3];        /*   all but those on the surface of the cube */
    ptrdiff_t step[3]; /* from one point to the next, in the arrays */
    state *u;          /* the solution */
    state *rhs;        /* right-hand side, and then the change of the solution; 0 on the surface */
    state *forcing;    /* 0 on the surface */
    struct flow *flow;
};

#define GRID_THINNEST 3

struct grid {
    int n, q, rank;
    int next[3], previous[3]; /* ranks with the neighbours, towards larger and smaller indices */
    struct cell *cells;       /* [q] */
    /* All cells' arrays, one after the other. */
    size_t padded_points;
    state *u, *rhs, *forcing;
    struct flow *flow;
    int64_t points; /* of the cells, without ghosts */
};

/* The number of ranks along an edge, or 0 when `nranks` is not a square. */
int grid_side(int nranks);
/* Requires n >= GRID_THINNEST * q. Returns 0 or -ENOMEM, when nothing is left to free. */
int grid_init(struct grid *g, int n, int q, int rank);
void grid_free(struct grid *g);

/* The points of all cells, row by row along x. */
struct row {
    const struct cell *cell;
    int y, z; /* local */
    state *u; /* [cell->size[0]] */
};
/* The first one; then the next one, false after the last. */
struct row grid_first_row(const struct grid *g);
bool grid_next_row(const struct grid *g, struct row *row);

/* The rank's cell in slice `stage` across direction d. */
struct cell *grid_slice(const struct grid *g, int d, int stage);

/* Where a point is in the cell's arrays, from -GHOST to size + GHOST - 1 in each direction. */
static inline ptrdiff_t cell_at(const struct cell *c, int x, int y, int z)
{
    return (x + GHOST) + (y + GHOST) * c->step[1] + (z + GHOST) * c->step[2];
}

/* The offset of a point in a dump, in points. */
static inline int64_t grid_place(const struct grid *g, const struct cell *c, int x, int y, int z)
{
    return ((int64_t)(c->low[2] + z) * g->n + (c->low[1] + y)) * g->n + (c->low[0] + x);
}

#endif
