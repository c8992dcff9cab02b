/*
 * "full": one collective call for each dump. The view shows a rank its cells, the memory type
 * skips ghosts: MPI-IO knows all that is to be known, and may rearrange it.
 */
#include "config.h"

#include <stdlib.h>

#include "cells.h"
#include "io.h"

static void full_start(struct io *io)
{
    const struct grid *g = io->grid;
    struct box *boxes = calloc((size_t)g->q, sizeof *boxes);
    if (boxes == NULL)
        bench_abort("out of memory for a datatype of %d cells", g->q);
    for (int i = 0; i < g->q; i++)
        boxes[i] = cells_whole(&g->cells[i]);
    io->memory = cells_memory_type(g, boxes);
    free(boxes);

    MPI_Datatype view = cells_file_type(g);
    io_set_view(io, view);
    MPI_Type_free(&view);
}

static void full_move(struct io *io, int dump)
{
    const struct grid *g = io->grid;
    MPI_Offset offset = dump * g->points; /* etypes that the view shows */
    IO_MOVE(io, g->points, _at_all, offset, g->u, 1, io->memory);
}

static void full_stop(struct io *io)
{
    MPI_Type_free(&io->memory);
}

const struct io_method io_full = {
    .start = full_start,
    .move = full_move,
    .stop = full_stop,
};
