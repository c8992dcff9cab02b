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
    const struct io_method *method = io_method_get(index);
    return method != NULL && method->alone;
}

MPI_Comm io_name(const struct io *io, const char *path, char *name)
{
    int used;
    if (io->method->alone)
        used = snprintf(name, IO_NAME, "%s.%04d", path, io->grid->rank);
    else
        used = snprintf(name, IO_NAME, "%s", path);
    if (used >= IO_NAME)
        bench_abort("the name of the file is too long: %s", path);
    return io->method->alone ? MPI_COMM_SELF : io->all;
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
    int64_t points = io->method->alone ? io->grid->points : n * n * n;
    return dumps * points * (int64_t)sizeof(state);
}

void io_close(struct io *io)
{
    bench_check(MPI_File_close(&io->fh), "MPI_File_close", io->name);
    if (io->method->stop != NULL)
        io->method->stop(io);
    MPI_Type_free(&io->point);
}

void io_set_view(struct io *io, MPI_Datatype filetype)
{
    int err = MPI_File_set_view(io->fh, 0, io->point, filetype, "native", io->info);
    bench_check(err, "MPI_File_set_view", io->name);
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
