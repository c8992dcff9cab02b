/*
 * What the methods of writing and reading dumps share.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "cells.h"
#include "io.h"

const char *const io_method_names[] = {"full", "simple", "epio", "none", NULL};

const struct io_method *io_method_get(int index)
{
    static const struct io_method *const methods[] = {&io_full, &io_simple, &io_epio, NULL};
    return methods[index];
}

bool io_numbered(int index)
{
    return io_method_get(index) == &io_epio;
}

MPI_Comm io_name(const struct io *io, const char *path, char *name)
{
    MPI_Comm comm = io->method->comm(io->all);
    int used;
    if (comm == io->all)
        used = snprintf(name, IO_NAME, "%s", path);
    else
        used = snprintf(name, IO_NAME, "%s.%04d", path, io->grid->rank);
    if (used >= IO_NAME)
        bench_abort("the name of the file is too long: %s", path);
    return comm;
}

void io_init(struct io *io)
{
    io->comm = io_name(io, io->file, io->name);
}

void io_delete(struct io *io, bool missing_ok)
{
    bench_delete(io->comm, io->name, io->info, missing_ok);
}

void io_open(struct io *io)
{
    int mode = io->writing ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY;
    int err = MPI_File_open(io->comm, io->name, mode, io->info, &io->fh);
    bench_check_all(io->comm, err, "MPI_File_open", io->name);
    io->point = cells_point_type();
    io->method->start(io);
}

void io_move(struct io *io, int dump)
{
    io->method->move(io, dump);
}

int64_t io_size(struct io *io)
{
    MPI_Offset size = -1;
    bench_check(MPI_File_get_size(io->fh, &size), "MPI_File_get_size", io->name);
    return size;
}

int64_t io_expected_size(const struct io *io, int dumps)
{
    int64_t n = io->grid->n;
    int64_t points = io->method->comm(io->all) == io->all ? n * n * n : io->grid->points;
    return dumps * points * (int64_t)sizeof(state);
}

void io_close(struct io *io)
{
    bench_check(MPI_File_close(&io->fh), "MPI_File_close", io->name);
    io->method->stop(io);
    MPI_Type_free(&io->point);
}

void io_check(const struct io *io, int err, const char *call, const MPI_Status *status,
              int64_t points)
{
    bench_check(err, call, io->name);
    /* Elements of a type made of doubles are doubles. */
    int64_t moved = bench_status_bytes(status, io->point);
    if (moved != points * NVAR)
        bench_abort("%s of %s is short: %" PRId64 " of %" PRId64 " numbers", call, io->name, moved,
                    points * NVAR);
}
