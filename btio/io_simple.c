/*
 * "simple": an independent call for each row of each cell, all of it contiguous in memory and in
 * the file. Nothing can be rearranged without a cache.
 */
#include "config.h"

#include "io.h"

static void simple_start(struct io *io)
{
    io_set_view(io, io->point);
}

static void simple_move(struct io *io, int dump)
{
    const struct grid *g = io->grid;
    MPI_Offset begin = (MPI_Offset)dump * g->n * g->n * g->n;
    struct row row = grid_first_row(g);
    do {
        const struct cell *c = row.cell;
        IO_MOVE(io, c->size[0], _at, begin + grid_place(g, c, 0, row.y, row.z), row.u, c->size[0],
                io->point);
    } while (grid_next_row(g, &row));
}

const struct io_method io_simple = {
    .start = simple_start,
    .move = simple_move,
};
