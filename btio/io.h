/*
 * Writing and reading dumps of the solution: the methods of BTIO ("NAS Parallel Benchmarks I/O
 * Version 2.4", report NAS-03-002).
 *
 * A dump is u at all points of the grid. The shared file of "full" and "simple" holds one dump
 * after the other, each in the order of z, y, x, variable, the last fastest; a file of "epio"
 * holds, for each dump, the cells of its rank one after the other, each in that order.
 *
 * Everything here is collective, and aborts when an MPI call fails or falls short.
 */
#ifndef IO_H
#define IO_H

#include <stdbool.h>

#include <mpi.h>

#include "bench.h"
#include "grid.h"

struct io;

struct io_method {
    bool alone;                   /* each rank has a file of its own */
    void (*start)(struct io *io); /* after opening: views and datatypes */
    void (*move)(struct io *io, int dump);
    void (*stop)(struct io *io); /* frees datatypes; NULL: there are none */
};

/* "full", "simple", "epio", "none", NULL */
extern const char *const io_method_names[];
/* Returns NULL for "none". */
const struct io_method *io_method_get(int index);
extern const struct io_method io_full, io_simple, io_epio;

#define IO_NAME 4096

/* Whether each rank has its own file: FILE.0000, FILE.0001 and so on. */
bool io_numbered(int index);

/* An open file. The caller sets what is above the line. */
struct io {
    const struct io_method *method;
    const struct grid *grid; /* u is what is written or read */
    MPI_Comm all;
    const char *file; /* as the user named it */
    MPI_Info info;
    bool writing;
    /* ------------------------------------------------------------------------- */
    char name[IO_NAME]; /* the file's own name */
    MPI_Comm comm;      /* of the ranks that share the file */
    MPI_File fh;
    MPI_Datatype point;  /* one point, in memory and in the file */
    MPI_Datatype memory; /* full: the points of all cells */
    MPI_Datatype *cells; /* epio: the points of each cell */
};

/* Writes this rank's name of the file or files at `path`, "PATH" or "PATH.0000"; aborts if it does
 * not fit into name[IO_NAME]. Returns the communicator of the ranks that share the file. */
MPI_Comm io_name(const struct io *io, const char *path, char *name);
/* Sets the name and the communicator; to call first. */
void io_init(struct io *io);
/* Removes the file or files; with `missing_ok`, they may not be there. */
void io_delete(struct io *io, bool missing_ok);
/* Opens, creating it when writing, and sets the view. */
void io_open(struct io *io);
/* Writes or reads dump `dump`; "epio" takes them in order. */
void io_move(struct io *io, int dump);
/* The size of the open file, and what it should be after `dumps` dumps. */
int64_t io_size(struct io *io);
int64_t io_expected_size(const struct io *io, int dumps);
void io_close(struct io *io);

/* For the methods. */

/* Shows the file as points, through a view of `filetype`. */
void io_set_view(struct io *io, MPI_Datatype filetype);
/* Checks a call by bench_check(), and the number of points it has moved. */
void io_check(const struct io *io, int err, const char *call, const MPI_Status *status,
              int64_t points);
/* Calls MPI_File_write##suffix or MPI_File_read##suffix, with the file, these arguments and a
 * status, and checks that it moves `points` points. */
#define IO_MOVE(io, points, suffix, ...)                                                           \
    do {                                                                                           \
        MPI_Status status;                                                                         \
        bool writing = (io)->writing;                                                              \
        int err = writing ? MPI_File_write##suffix((io)->fh, __VA_ARGS__, &status)                 \
                          : MPI_File_read##suffix((io)->fh, __VA_ARGS__, &status);                 \
        io_check(io, err, writing ? "MPI_File_write" #suffix : "MPI_File_read" #suffix, &status,   \
                 points);                                                                          \
    } while (0)

#endif
