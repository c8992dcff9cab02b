/*
 * "epio": each rank appends its cells to a file of its own. "Embarrassingly parallel": what the
 * file system can do, though nobody would like to work with such files.
 */
#include "config.h"

#include <stdlib.h>

#include "cells.h"
#include "io.h"

static MPI_Comm epio_comm(MPI_Comm all)
{
    (void)all;
    return MPI_COMM_SELF;
}

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
    int err = MPI_File_set_view(io->fh, 0, io->point, io->point, "native", io->info);
    bench_check(err, "MPI_File_set_view", io->name);
}

static void epio_move(struct io *io, int dump)
{
    const struct grid *g = io->grid;
    (void)dump; /* the file pointer is there */
    for (int i = 0; i < g->q; i++) {
        const int *size = g->cells[i].size;
        MPI_Status status;
        int err;
        if (io->writing)
            err = MPI_File_write(io->fh, g->u, 1, io->cells[i], &status);
        else
            err = MPI_File_read(io->fh, g->u, 1, io->cells[i], &status);
        io_check(io, err, io->writing ? "MPI_File_write" : "MPI_File_read", &status,
                 (int64_t)size[0] * size[1] * size[2]);
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
    .comm = epio_comm,
    .start = epio_start,
    .move = epio_move,
    .stop = epio_stop,
};
