/*
 * "simple": an independent call for each row of each cell, all of it contiguous in memory and in
 * the file. Nothing can be rearranged without a cache.
 */
#include "config.h"

#include "io.h"

static MPI_Comm simple_comm(MPI_Comm all)
{
    return all;
}

static void simple_start(struct io *io)
{
    int err = MPI_File_set_view(io->fh, 0, io->point, io->point, "native", io->info);
    bench_check(err, "MPI_File_set_view", io->name);
}

static void move_row(struct io *io, MPI_Offset offset, state *row, int points)
{
    MPI_Status status;
    int err;
    if (io->writing)
        err = MPI_File_write_at(io->fh, offset, row, points, io->point, &status);
    else
        err = MPI_File_read_at(io->fh, offset, row, points, io->point, &status);
    io_check(io, err, io->writing ? "MPI_File_write_at" : "MPI_File_read_at", &status, points);
}

static void simple_move(struct io *io, int dump)
{
    const struct grid *g = io->grid;
    MPI_Offset begin = (MPI_Offset)dump * g->n * g->n * g->n;
    struct row row = grid_first_row(g);
    do {
        const struct cell *c = row.cell;
        move_row(io, begin + grid_place(g, c, 0, row.y, row.z), row.u, c->size[0]);
    } while (grid_next_row(g, &row));
}

static void simple_stop(struct io *io)
{
    (void)io;
}

const struct io_method io_simple = {
    .comm = simple_comm,
    .start = simple_start,
    .move = simple_move,
    .stop = simple_stop,
};
