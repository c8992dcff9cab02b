/*
 * "epio": each rank appends its cells to its own file. "Embarrassingly parallel": shows what the
 * file system can do, although such files are hard to use.
 */
#include "config.h"

#include <stdlib.h>

#include "cells.h"
#include "io.h"

static void epio_start(struct io *io)
{
    const struct grid *g = io->grid;
    struct box *boxes = calloc((size_t)g->q, sizeof *boxes);
    io->cells = calloc((size_t)g->q, sizeof(MPI_Datatype));
    if (boxes == NULL || io->cells == NULL)
        bench_abort("out of memory for datatypes of %d cells", g->q);
    for (int i = 0; i < g->q; i++) {
        boxes[i] = cells_whole(&g->cells[i]);
        io->cells[i] = cells_memory_type(g, boxes);
        boxes[i] = (struct box){.size = {0}};
    }
    free(boxes);
    io_set_view(io, io->point);
}

static void epio_move(struct io *io, int dump)
{
    const struct grid *g = io->grid;
    (void)dump; /* the file pointer is there already */
    for (int i = 0; i < g->q; i++) {
        const int *size = g->cells[i].size;
        IO_MOVE(io, (int64_t)size[0] * size[1] * size[2], , g->u, 1, io->cells[i]);
    }
}

static void epio_stop(struct io *io)
{
    for (int i = 0; i < io->grid->q; i++)
        MPI_Type_free(&io->cells[i]);
    free(io->cells);
    io->cells = NULL;
}

const struct io_method io_epio = {
    .alone = true,
    .start = epio_start,
    .move = epio_move,
    .stop = epio_stop,
};
