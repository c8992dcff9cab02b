/*
 * "full": one collective call for each dump. The view shows a rank its cells, the memory type
 * skips ghosts: MPI-IO knows all that is to be known, and may rearrange it.
 */
#include "config.h"

#include <stdlib.h>

#include "cells.h"
#include "io.h"

static MPI_Comm full_comm(MPI_Comm all)
{
    return all;
}

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
    int err = MPI_File_set_view(io->fh, 0, io->point, view, "native", io->info);
    bench_check(err, "MPI_File_set_view", io->name);
    MPI_Type_free(&view);
}

static void full_move(struct io *io, int dump)
{
    const struct grid *g = io->grid;
    MPI_Offset offset = dump * g->points; /* etypes that the view shows */
    MPI_Status status;
    int err;
    if (io->writing)
        err = MPI_File_write_at_all(io->fh, offset, g->u, 1, io->memory, &status);
    else
        err = MPI_File_read_at_all(io->fh, offset, g->u, 1, io->memory, &status);
    io_check(io, err, io->writing ? "MPI_File_write_at_all" : "MPI_File_read_at_all", &status,
             g->points);
}

static void full_stop(struct io *io)
{
    MPI_Type_free(&io->memory);
}

const struct io_method io_full = {
    .comm = full_comm,
    .start = full_start,
    .move = full_move,
    .stop = full_stop,
};
