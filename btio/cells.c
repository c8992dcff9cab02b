/*
 * Boxes of points as MPI datatypes: a subarray in each cell, all cells in a struct.
 */
#include "config.h"

#include <stdlib.h>

#include "bench.h"
#include "cells.h"

MPI_Datatype cells_point_type(void)
{
    MPI_Datatype point;
    MPI_Type_contiguous(NVAR, MPI_DOUBLE, &point);
    MPI_Type_commit(&point);
    return point;
}

/* MPI's order C has the slowest dimension first, ours x. */
static MPI_Datatype subarray(const int whole[3], const struct box *box, MPI_Datatype point)
{
    MPI_Datatype type;
    int sizes[3], subsizes[3], starts[3];
    for (int d = 0; d < 3; d++) {
        sizes[2 - d] = whole[d];
        subsizes[2 - d] = box->size[d];
        starts[2 - d] = box->low[d];
    }
    MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, point, &type);
    return type;
}

/* Subarrays, and where each begins. */
struct parts {
    int n;
    MPI_Datatype *types;
    MPI_Aint *places;
    int *ones;
};

static struct parts parts_create(int most)
{
    size_t n = (size_t)most;
    struct parts p = {.types = calloc(n, sizeof *p.types),
                      .places = calloc(n, sizeof *p.places),
                      .ones = calloc(n, sizeof *p.ones)};
    if (p.types == NULL || p.places == NULL || p.ones == NULL)
        bench_abort("out of memory for a datatype of %d cells", most);
    return p;
}

static void parts_add(struct parts *p, MPI_Datatype type, MPI_Aint place)
{
    p->types[p->n] = type;
    p->places[p->n] = place;
    p->ones[p->n++] = 1;
}

/* Puts the parts together and frees them. */
static MPI_Datatype parts_join(struct parts *p)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (p->n > 0) {
        MPI_Type_create_struct(p->n, p->ones, p->places, p->types, &type);
        MPI_Type_commit(&type);
    }
    for (int i = 0; i < p->n; i++)
        MPI_Type_free(&p->types[i]);
    free(p->types);
    free(p->places);
    free(p->ones);
    return type;
}

struct box cells_whole(const struct cell *c)
{
    return (struct box){.size = {c->size[0], c->size[1], c->size[2]}};
}

MPI_Datatype cells_memory_type(const struct grid *g, const struct box *boxes)
{
    MPI_Datatype point = cells_point_type();
    struct parts p = parts_create(g->q);
    for (int i = 0; i < g->q; i++) {
        const struct cell *c = &g->cells[i];
        struct box box = boxes[i];
        int padded[3];
        if (box.size[0] == 0 || box.size[1] == 0 || box.size[2] == 0)
            continue;
        for (int d = 0; d < 3; d++) {
            padded[d] = c->size[d] + 2 * GHOST;
            box.low[d] += GHOST;
        }
        parts_add(&p, subarray(padded, &box, point), (MPI_Aint)((char *)c->u - (char *)g->u));
    }
    MPI_Type_free(&point);
    return parts_join(&p);
}

MPI_Datatype cells_file_type(const struct grid *g)
{
    MPI_Datatype point = cells_point_type();
    struct parts p = parts_create(g->q);
    const int whole[3] = {g->n, g->n, g->n};
    for (int i = 0; i < g->q; i++) {
        const struct cell *c = &g->cells[i];
        struct box box = cells_whole(c);
        for (int d = 0; d < 3; d++)
            box.low[d] = c->low[d];
        parts_add(&p, subarray(whole, &box, point), 0);
    }
    MPI_Type_free(&point);
    return parts_join(&p);
}
