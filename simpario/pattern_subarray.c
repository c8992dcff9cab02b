/*
 * Subarrays: in each phase the ranks write one array of three or four dimensions, in C order,
 * cut into blocks along all of them; every rank has one. The ranks form a grid as square as their
 * number allows, and so do the elements of a block. With 4 ranks as 2 x 2 x 1:
 *
 *   phase |row of r0|row of r0|...|row of r1|row of r1|...|row of r0|...|row of r2|...
 *
 * A row of a block is contiguous in the file; the rows of ranks beside each other take turns.
 *
 * A lattice is such an array of four dimensions, as lattice gauge theory has it: an element is a
 * site, of 24 doubles or 12, a block a brick whose sides are powers of two, a phase a field.
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
    return pattern_settle_elements(s, "subarray", message);
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
    pattern_element(s, &element);
    MPI_Type_create_subarray(dims, sizes, s->block, starts, MPI_ORDER_C, element, filetype);
    MPI_Type_commit(filetype);
    MPI_Type_free(&element);
    *displacement = 0;
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

/* Reduces the record to the size of such a brick. */
static int settle_lattice(struct shape *s, char message[ARGS_MESSAGE])
{
    int64_t sites = 1;
    s->dims = 4;
    if (s->piece == 0)
        s->piece = DEFAULT_SITE;
    if (s->piece > s->record) {
        snprintf(message, ARGS_MESSAGE,
                 "--record %" PRId64 " is less than a site of %" PRId64
                 " bytes: give more, or a smaller --piece",
                 s->record, s->piece);
        return -EINVAL;
    }
    while (2 * sites * s->piece <= s->record)
        sites *= 2;
    s->record = sites * s->piece;
    return settle(s, message);
}

static void describe_lattice(const struct shape *s, char *buf, size_t size)
{
    snprintf(buf, size,
             "lattice, bricks of %d x %d x %d x %d sites of %" PRId64
             " bytes, ranks %d x %d x %d x %d",
             s->block[0], s->block[1], s->block[2], s->block[3], s->piece, s->grid[0], s->grid[1],
             s->grid[2], s->grid[3]);
}

const struct pattern pattern_lattice = {
    .name = "lattice",
    .array4d = true,
    .settle = settle_lattice,
    .prepare = prepare,
    .segments = segments,
    .segment = segment,
    .view = view,
    .describe = describe_lattice,
};

const struct pattern pattern_subarray3d = {
    .name = "subarray3d",
    .settle = settle3,
    .prepare = prepare,
    .segments = segments,
    .segment = segment,
    .view = view,
    .describe = describe,
};

const struct pattern pattern_subarray4d = {
    .name = "subarray4d",
    .array4d = true,
    .settle = settle4,
    .prepare = prepare,
    .segments = segments,
    .segment = segment,
    .view = view,
    .describe = describe,
};
