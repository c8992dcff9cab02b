/*
 * The order of an array's dimensions in memory.
 */
#include "config.h"

#include <string.h>

#include "permute.h"

enum { DIMS = SHAPE_DIMS };

const char *const permute_by_names[] = {"type", "copy", NULL};

/* Permutations are numbered in lexical order. */
static void dims_of(int permutation, int dims[DIMS])
{
    int left[DIMS] = {0, 1, 2, 3}, ways = PERMUTATIONS;
    for (int d = 0; d < DIMS; d++) {
        ways /= DIMS - d;
        int pick = permutation / ways;
        permutation %= ways;
        dims[d] = left[pick];
        memmove(&left[pick], &left[pick + 1], (size_t)(DIMS - 1 - pick) * sizeof *left);
    }
}

bool permute_parse(const char *text, int *permute)
{
    *permute = PERMUTE_NONE;
    if (text == NULL || strcmp(text, "none") == 0)
        return true;
    for (int k = 0; k < PERMUTATIONS; k++) {
        int dims[DIMS];
        char name[DIMS + 1] = "";
        dims_of(k, dims);
        for (int d = 0; d < DIMS; d++)
            name[d] = (char)('0' + dims[d]);
        if (strcmp(text, name) == 0)
            *permute = k;
    }
    if (strcmp(text, "all") == 0)
        *permute = PERMUTE_ALL;
    return *permute != PERMUTE_NONE;
}

int permute_of_phase(int permute, int phase)
{
    if (permute == PERMUTE_NONE)
        return 0;
    return permute == PERMUTE_ALL ? phase % PERMUTATIONS : permute;
}

/* Sets the distance in memory, in bytes, from one element to the next along each dimension. */
static void strides_of(const struct shape *s, int permutation, int64_t strides[DIMS])
{
    int dims[DIMS];
    int64_t stride = s->piece;
    dims_of(permutation, dims);
    for (int d = DIMS - 1; d >= 0; d--) {
        strides[dims[d]] = stride;
        stride *= s->block[dims[d]];
    }
}

void permute_type(const struct shape *s, int permutation, MPI_Datatype *type)
{
    int64_t strides[DIMS];
    MPI_Datatype inner;
    strides_of(s, permutation, strides);
    pattern_element(s, &inner);
    for (int d = DIMS - 1; d >= 0; d--) {
        MPI_Type_create_hvector(s->block[d], 1, (MPI_Aint)strides[d], inner, type);
        MPI_Type_free(&inner);
        inner = *type;
    }
    MPI_Type_commit(type);
}

/* ---- copying -------------------------------------------------------------------------------- */

/* Copies `n` elements, of which those at `to` and at `from` are so many bytes apart. */
static void copy_row(int n, int64_t piece, char *to, int64_t to_stride, const char *from,
                     int64_t from_stride)
{
    for (int i = 0; i < n; i++, to += to_stride, from += from_stride) {
        if (piece == 8) /* a constant size makes it one instruction */
            memcpy(to, from, 8);
        else
            memcpy(to, from, (size_t)piece);
    }
}

/* Copies a block row by row of the file; `out`: to memory. */
static void copy(const struct shape *s, int permutation, bool out, char *file, char *memory)
{
    int64_t strides[DIMS], stride;
    const int last = DIMS - 1;
    strides_of(s, permutation, strides);
    stride = strides[last];
    for (int i = 0; i < s->block[0]; i++) {
        for (int j = 0; j < s->block[1]; j++) {
            for (int k = 0; k < s->block[2]; k++) {
                char *row = memory + i * strides[0] + j * strides[1] + k * strides[2];
                if (out)
                    copy_row(s->block[last], s->piece, row, stride, file, s->piece);
                else
                    copy_row(s->block[last], s->piece, file, s->piece, row, stride);
                file += s->block[last] * s->piece;
            }
        }
    }
}

void permute_to_memory(const struct shape *s, int permutation, const void *file, void *memory)
{
    copy(s, permutation, true, (char *)file, memory);
}

void permute_from_memory(const struct shape *s, int permutation, const void *memory, void *file)
{
    copy(s, permutation, false, file, (char *)memory);
}
