/* tm_type.h - datatypes, each with the program's own idea of which bytes it covers.
 *
 * The pieces are worked out from the arguments, never asked from MPI; when a type is made,
 * they are compared with what MPI_Pack takes.
 */
#ifndef TM_TYPE_H
#define TM_TYPE_H

#include <mpi.h>
#include <stdint.h>

#include "tm_rng.h"

struct tm_piece {
    int64_t off, len;
};

struct tm_type {
    MPI_Datatype mpi; /* committed */
    int64_t size, lb, extent;
    int64_t low, high; /* the bytes covered lie in [low, high) */
    int64_t elements;  /* basic ones */
    int npieces, room;
    struct tm_piece *pieces; /* in the order of the typemap; neighbours are one piece */
    int64_t *before;         /* bytes of the type before each piece */
    int named;
    int bounded; /* bounds were set: resized, subarray, darray, or made of these */
    int darray;  /* or made of one: MPI_Pack of MPICH 4.0.2 gets some of these wrong */
    char text[160];
};

enum { TM_MAX_DIMS = 4 };

/* An array divided among processes: what subarray and darray are made from. */
struct tm_grid {
    int ndims, order;
    int sizes[TM_MAX_DIMS], procs[TM_MAX_DIMS];
    int distribs[TM_MAX_DIMS], dargs[TM_MAX_DIMS];
};

/* Types live until they are released, all that were made after the mark at once. */
int tm_types_mark(void);
void tm_types_release(int mark);

struct tm_type *tm_type_named(MPI_Datatype mpi, const char *name);
struct tm_type *tm_type_contiguous(struct tm_type *c, int n);
struct tm_type *tm_type_vector(struct tm_type *c, int n, int len, int stride);
struct tm_type *tm_type_hvector(struct tm_type *c, int n, int len, int64_t stride);
/* `at` in extents of c, for the h form in bytes. */
struct tm_type *tm_type_indexed(struct tm_type *c, int n, const int *lens, const int *at);
struct tm_type *tm_type_hindexed(struct tm_type *c, int n, const int *lens, const int64_t *at);
struct tm_type *tm_type_block(struct tm_type *c, int n, int len, const int *at);
struct tm_type *tm_type_struct(struct tm_type *const *c, int n, const int *lens, const int64_t *at);
struct tm_type *tm_type_resized(struct tm_type *c, int64_t lb, int64_t extent);
struct tm_type *tm_type_dup(struct tm_type *c);
struct tm_type *tm_type_subarray(struct tm_type *c, const struct tm_grid *g, const int *sub,
                                 const int *start);
struct tm_type *tm_type_darray(struct tm_type *c, const struct tm_grid *g, int nprocs, int rank);

/* Which coordinates a process has; the last dimension varies fastest. */
void tm_grid_coords(const struct tm_grid *g, int rank, int *coords);

#endif
