/*
 * Subarrays: in each phase the ranks write one array of three or four dimensions, in C order,
 * cut into blocks along all of them; every rank has one. The ranks form a grid as square as their
 * number allows, and so do the elements of a block. With 4 ranks as 2 x 2 x 1:
 *
 *   phase |row of r0|row of r0|...|row of r1|row of r1|...|row of r0|...|row of r2|...
 *
 * A row of a block is contiguous in the file; the rows of ranks beside each other take turns.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pattern.h"

static int prepare(struct shape *s)
{
    int dims = s->dims;
    int block[SHAPE_DIMS] = {0};
    memset(s->grid, 0, sizeof s->grid);
    MPI_Dims_create(s->nranks, dims, s->grid);
    MPI_Dims_create((int)(s->record / s->piece), dims, block);
    int rest = s->rank;
    for (int d = dims - 1; d >= 0; d--) {
        /* MPI has the largest first; here rows are to be long. */
        s->block[d] = block[dims - 1 - d];
        s->at[d] = rest % s->grid[d];
        rest /= s->grid[d];
    }
    return 0;
}

static int settle(struct shape *s, char message[ARGS_MESSAGE])
{
    if (s->piece == 0)
        s->piece = DEFAULT_ELEMENT;
    if (s->record % s->piece != 0) {
        snprintf(message, ARGS_MESSAGE,
                 "--record %" PRId64 " is not a multiple of --piece %" PRId64
                 ", the bytes of an element: give a --piece that divides it",
                 s->record, s->piece);
        return -EINVAL;
    }
    /* No side of the array is longer than this, and MPI counts sides with an int. */
    if (s->record / s->piece > INT32_MAX / s->nranks) {
        snprintf(message, ARGS_MESSAGE,
                 "--record %" PRId64 " has too many elements of %" PRId64
                 " bytes for a subarray: give a larger --piece",
                 s->record, s->piece);
        return -EINVAL;
    }
    return 0;
}

static int64_t segments(const struct shape *s)
{
    return s->record / s->piece / s->block[s->dims - 1];
}

/* The i-th row of the block. */
static struct segment segment(const struct shape *s, int phase, int64_t i)
{
    int dims = s->dims;
    int64_t index = (int64_t)s->at[dims - 1] * s->block[dims - 1];
    int64_t stride = (int64_t)s->grid[dims - 1] * s->block[dims - 1];
    for (int d = dims - 2; d >= 0; d--) {
        index += ((int64_t)s->at[d] * s->block[d] + i % s->block[d]) * stride;
        i /= s->block[d];
        stride *= (int64_t)s->grid[d] * s->block[d];
    }
    struct segment seg = {phase * (s->nranks * s->record) + index * s->piece,
                          s->block[dims - 1] * s->piece};
    return seg;
}

/* The file type is as large as the array, so the next phase is the next instance of it. */
static void view(const struct shape *s, MPI_Offset *displacement, MPI_Datatype *filetype)
{
    int dims = s->dims;
    int sizes[SHAPE_DIMS], starts[SHAPE_DIMS];
    for (int d = 0; d < dims; d++) {
        sizes[d] = s->grid[d] * s->block[d];
        starts[d] = s->at[d] * s->block[d];
    }
    MPI_Datatype element;
    MPI_Type_contiguous((int)s->piece, MPI_BYTE, &element);
    MPI_Type_create_subarray(dims, sizes, s->block, starts, MPI_ORDER_C, element, filetype);
    MPI_Type_commit(filetype);
    MPI_Type_free(&element);
    *displacement = 0;
}

static MPI_Offset view_offset(const struct shape *s, int phase)
{
    return phase * s->record;
}

static void describe(const struct shape *s, char *buf, size_t size)
{
    int dims = s->dims;
    int used = snprintf(buf, size, "%d-D subarrays, blocks of", dims);
    for (int d = 0; d < dims && used >= 0 && (size_t)used < size; d++)
        used += snprintf(buf + used, size - (size_t)used, "%s%d", d > 0 ? " x " : " ", s->block[d]);
    for (int d = 0; d < dims && used >= 0 && (size_t)used < size; d++)
        used += snprintf(buf + used, size - (size_t)used, "%s%d", d > 0 ? " x " : ", ranks ",
                         s->grid[d]);
}

/* ---- the rows of functions ------------------------------------------------------------------ */

static int settle3(struct shape *s, char message[ARGS_MESSAGE])
{
    s->dims = 3;
    return settle(s, message);
}

static int settle4(struct shape *s, char message[ARGS_MESSAGE])
{
    s->dims = 4;
    return settle(s, message);
}

const struct pattern pattern_subarray3d = {
    .name = "subarray3d",
    .settle = settle3,
    .prepare = prepare,
    .segments = segments,
    .segment = segment,
    .view = view,
    .view_offset = view_offset,
    .describe = describe,
};

const struct pattern pattern_subarray4d = {
    .name = "subarray4d",
    .settle = settle4,
    .prepare = prepare,
    .segments = segments,
    .segment = segment,
    .view = view,
    .view_offset = view_offset,
    .describe = describe,
};
