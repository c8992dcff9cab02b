/*
 * An irregular map of elements, as climate models have that give every process its cells of an
 * unstructured grid: in each phase the ranks write n * record / 8 elements of 8 bytes, and a
 * random permutation deals them out. Every rank has as many as the others, scattered over all of
 * the phase, in ascending order in memory (a file view may not go back); all phases are alike.
 *
 * The permutation is a Feistel network over the next power of four, walked along until it is back
 * within range (Black and Rogaway, Ciphers with Arbitrary Finite Domains, 2002). So a rank makes
 * its own part of the map and needs no memory for that of others.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "order.h"
#include "pattern.h"

#define ELEMENT 8

static int settle(struct shape *s, char message[ARGS_MESSAGE])
{
    if (s->piece != 0) {
        strcpy(message, "--pattern irregular has elements of 8 bytes: drop --piece");
        return -EINVAL;
    }
    if (s->record % ELEMENT != 0 || s->record / ELEMENT > INT32_MAX) {
        snprintf(message, ARGS_MESSAGE,
                 "--record %" PRId64 " does not go with --pattern irregular: give a multiple of 8"
                 " below 16G",
                 s->record);
        return -EINVAL;
    }
    return 0;
}

static int ascending(const void *a, const void *b)
{
    MPI_Aint x = *(const MPI_Aint *)a, y = *(const MPI_Aint *)b;
    return (x > y) - (x < y);
}

static int prepare(struct shape *s)
{
    int64_t n = s->record / ELEMENT;
    s->map = malloc((size_t)n * sizeof *s->map);
    if (s->map == NULL)
        return -ENOMEM;
    for (int64_t i = 0; i < n; i++)
        s->map[i] = (MPI_Aint)(order_permute((uint64_t)(s->rank * n + i), (uint64_t)(s->nranks * n),
                                             (unsigned)s->seed) *
                               ELEMENT);
    qsort(s->map, (size_t)n, sizeof *s->map, ascending);
    return 0;
}

static void release(struct shape *s)
{
    free(s->map);
    s->map = NULL;
}

static int64_t segments(const struct shape *s)
{
    return s->record / ELEMENT;
}

static struct segment segment(const struct shape *s, int phase, int64_t i)
{
    struct segment seg = {phase * (s->nranks * s->record) + s->map[i], ELEMENT};
    return seg;
}

static void view(const struct shape *s, MPI_Offset *displacement, MPI_Datatype *filetype)
{
    MPI_Datatype elements;
    MPI_Type_create_hindexed_block((int)(s->record / ELEMENT), ELEMENT, s->map, MPI_BYTE,
                                   &elements);
    MPI_Type_create_resized(elements, 0, (MPI_Aint)(s->nranks * s->record), filetype);
    MPI_Type_commit(filetype);
    MPI_Type_free(&elements);
    *displacement = 0;
}

static void describe(const struct shape *s, char *buf, size_t size)
{
    snprintf(buf, size, "irregular, elements of %d bytes, seed %d", ELEMENT, s->seed);
}

const struct pattern pattern_irregular = {
    .name = "irregular",
    .settle = settle,
    .prepare = prepare,
    .release = release,
    .segments = segments,
    .segment = segment,
    .view = view,
    .describe = describe,
};
