/*
 * Ragged blocks: in each phase the ranks write one array of four dimensions, in C order, whose
 * sides they do not divide evenly: each side has one element more than a whole number for each rank
 * along it. Blocks differ by one element along each dimension. Of 9 elements, 4 ranks along a row
 * have
 *
 *   | r0 r0 | r1 r1 | r2 r2 | r3 r3 r3 |
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pattern.h"

enum { DIMS = SHAPE_DIMS };

static int settle(struct shape *s, char message[ARGS_MESSAGE])
{
    s->dims = DIMS;
    if (s->piece == 0)
        s->piece = DEFAULT_ELEMENT;
    if (s->record % s->piece != 0) {
        snprintf(message, ARGS_MESSAGE,
                 "--record %" PRId64 " is not a multiple of --piece %" PRId64
                 ", the bytes of an element: give a --piece that divides it",
                 s->record, s->piece);
        return -EINVAL;
    }
    /* One element more along each dimension is at most 16 times the record. MPI counts sides with
     * an int. */
    if (s->record / s->piece > INT32_MAX / 16 / s->nranks) {
        snprintf(message, ARGS_MESSAGE,
                 "--record %" PRId64 " has too many elements of %" PRId64
                 " bytes for ragged blocks: give a larger --piece",
                 s->record, s->piece);
        return -EINVAL;
    }
    return 0;
}

/* Returns the first element of the rank at place `at` of the grid along a dimension. */
static int first_of(const struct shape *s, int d, int at)
{
    return (int)((int64_t)s->sides[d] * at / s->grid[d]);
}

/* Sets sides of the array, and block and at: the part of this rank, in elements. */
static int prepare(struct shape *s)
{
    int even[DIMS] = {0};
    int rest = s->rank;
    memset(s->grid, 0, sizeof s->grid);
    MPI_Dims_create(s->nranks, DIMS, s->grid);
    MPI_Dims_create((int)(s->record / s->piece), DIMS, even);
    for (int d = DIMS - 1; d >= 0; d--) {
        /* MPI has the largest first; here rows are to be long. */
        s->sides[d] = s->grid[d] * even[DIMS - 1 - d] + (s->grid[d] > 1);
        s->at[d] = first_of(s, d, rest % s->grid[d]);
        s->block[d] = first_of(s, d, rest % s->grid[d] + 1) - s->at[d];
        rest /= s->grid[d];
    }
    return 0;
}

static int64_t volume(const int sides[DIMS])
{
    int64_t n = 1;
    for (int d = 0; d < DIMS; d++)
        n *= sides[d];
    return n;
}

static int64_t bytes(const struct shape *s)
{
    return volume(s->block) * s->piece;
}

static int64_t file_bytes(const struct shape *s)
{
    return s->phases * volume(s->sides) * s->piece;
}

static int64_t segments(const struct shape *s)
{
    return volume(s->block) / s->block[DIMS - 1];
}

/* The i-th row of the block. */
static struct segment segment(const struct shape *s, int phase, int64_t i)
{
    int64_t index = s->at[DIMS - 1], stride = s->sides[DIMS - 1];
    for (int d = DIMS - 2; d >= 0; d--) {
        index += (s->at[d] + i % s->block[d]) * stride;
        i /= s->block[d];
        stride *= s->sides[d];
    }
    struct segment seg = {(phase * volume(s->sides) + index) * s->piece,
                          s->block[DIMS - 1] * s->piece};
    return seg;
}

/* The file type is as large as the array, so the next phase is the next instance of it. */
static void view(const struct shape *s, MPI_Offset *displacement, MPI_Datatype *filetype)
{
    MPI_Datatype element;
    pattern_element(s, &element);
    MPI_Type_create_subarray(DIMS, s->sides, s->block, s->at, MPI_ORDER_C, element, filetype);
    MPI_Type_commit(filetype);
    MPI_Type_free(&element);
    *displacement = 0;
}

static void describe(const struct shape *s, char *buf, size_t size)
{
    snprintf(buf, size, "ragged blocks of an array of %d x %d x %d x %d, ranks %d x %d x %d x %d",
             s->sides[0], s->sides[1], s->sides[2], s->sides[3], s->grid[0], s->grid[1], s->grid[2],
             s->grid[3]);
}

const struct pattern pattern_ragged4d = {
    .name = "ragged4d",
    .array4d = true,
    .settle = settle,
    .prepare = prepare,
    .bytes = bytes,
    .file_bytes = file_bytes,
    .segments = segments,
    .segment = segment,
    .view = view,
    .describe = describe,
};
