/*
 * Blocks: in each phase the ranks write one matrix, in C order, that is cut into blocks along rows
 * and columns, one per rank; they read it by columns, each rank all rows of its share of the
 * columns. The ranks form a grid as square as their number allows, and so do the elements of a
 * block. With 4 ranks:
 *
 *   written  | r0 | r1 |        read  | r0 | r1 | r2 | r3 |
 *            | r2 | r3 |              | r0 | r1 | r2 | r3 |
 *
 * Each row of a rank's part is contiguous in the file. If the number of columns is not a multiple
 * of the number of ranks, some ranks read one column more than others.
 */
#include "config.h"

#include <stdio.h>

#include "pattern.h"

enum { ROWS, COLUMNS, DIMS };

static int settle(struct shape *s, char message[ARGS_MESSAGE])
{
    return pattern_settle_elements(s, "matrix", message);
}

/* Returns a side of the matrix, in elements. */
static int side(const struct shape *s, int d)
{
    return s->grid[d] * s->sides[d];
}

/* Returns the first column that rank `r` reads; r = nranks: the end. */
static int first_column(const struct shape *s, int r)
{
    return (int)((int64_t)side(s, COLUMNS) * r / s->nranks);
}

/* Sets grid and sides of the matrix, and block and at: the part of this rank, in elements. */
static int prepare(struct shape *s)
{
    int sides[DIMS] = {0}, grid[DIMS] = {0};
    MPI_Dims_create(s->nranks, DIMS, grid);
    MPI_Dims_create((int)(s->record / s->piece), DIMS, sides);
    for (int d = 0; d < DIMS; d++) {
        s->grid[d] = grid[d];
        s->sides[d] =
            sides[DIMS - 1 - d]; /* MPI_Dims_create() has the largest first; rows should be long */
    }
    if (s->reading) {
        s->at[ROWS] = 0;
        s->block[ROWS] = side(s, ROWS);
        s->at[COLUMNS] = first_column(s, s->rank);
        s->block[COLUMNS] = first_column(s, s->rank + 1) - s->at[COLUMNS];
        return 0;
    }
    s->at[ROWS] = s->rank / grid[COLUMNS] * s->sides[ROWS];
    s->at[COLUMNS] = s->rank % grid[COLUMNS] * s->sides[COLUMNS];
    s->block[ROWS] = s->sides[ROWS];
    s->block[COLUMNS] = s->sides[COLUMNS];
    return 0;
}

static int64_t bytes(const struct shape *s)
{
    return (int64_t)s->block[ROWS] * s->block[COLUMNS] * s->piece;
}

static int64_t segments(const struct shape *s)
{
    return s->block[COLUMNS] > 0 ? s->block[ROWS] : 0;
}

/* The i-th row. */
static struct segment segment(const struct shape *s, int phase, int64_t i)
{
    int64_t index = (s->at[ROWS] + i) * side(s, COLUMNS) + s->at[COLUMNS];
    struct segment seg = {phase * (s->nranks * s->record) + index * s->piece,
                          s->block[COLUMNS] * s->piece};
    return seg;
}

/* The file type is as large as the matrix, so the next phase is the next instance of it. */
static void view(const struct shape *s, MPI_Offset *displacement, MPI_Datatype *filetype)
{
    MPI_Datatype element;
    int sizes[DIMS] = {side(s, ROWS), side(s, COLUMNS)};
    int sub[DIMS] = {s->block[ROWS], s->block[COLUMNS]}, at[DIMS] = {s->at[ROWS], s->at[COLUMNS]};
    if (sub[COLUMNS] == 0) { /* this rank moves no bytes */
        sub[COLUMNS] = 1;
        at[COLUMNS] = 0;
    }
    MPI_Type_contiguous((int)s->piece, MPI_BYTE, &element);
    MPI_Type_create_subarray(DIMS, sizes, sub, at, MPI_ORDER_C, element, filetype);
    MPI_Type_commit(filetype);
    MPI_Type_free(&element);
    *displacement = 0;
}

static void describe(const struct shape *s, char *buf, size_t size)
{
    snprintf(buf, size, "blocks of %d x %d, ranks %d x %d; read by columns", s->sides[ROWS],
             s->sides[COLUMNS], s->grid[ROWS], s->grid[COLUMNS]);
}

const struct pattern pattern_blocks = {
    .name = "blocks",
    .settle = settle,
    .prepare = prepare,
    .bytes = bytes,
    .segments = segments,
    .segment = segment,
    .view = view,
    .describe = describe,
};
