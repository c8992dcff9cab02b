/*
 * Variables of a climate model, as the cases F, G and I of E3SM write them through PnetCDF: in each
 * phase many variables of 8-byte elements, 2D ones of one level and 3D ones of several, leave in
 * one call, whose file view covers all of them (a flush of nonblocking PnetCDF requests).
 *
 *   | T, level 0 | T, level 1 | ... | PS | Q, level 0 | ... | next phase
 *    r3 r0 r0 r7 r1 ...           the same map on each level
 *
 * A level has the same number of elements everywhere. It is cut into runs of random length, which a
 * random permutation deals to the ranks, the same number to each but for one. What differs between
 * the maps is how long runs are and how many variables and levels there are:
 *
 *   f  atmosphere, spectral elements: runs of 1 to 4 elements
 *   g  ocean, columns stored level by level within a cell: runs of 40 to 400
 *   i  land, points of a grid: runs of 1 to 40
 *
 * Every rank makes the whole map and keeps its own runs.
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

static const struct kind {
    const char *name;
    int shortest, longest; /* runs, in elements */
    int flat, deep;        /* 2D variables, 3D variables */
    int levels;            /* of a 3D variable */
} kinds[] = {{"f", 1, 4, 40, 8, 30}, {"g", 40, 400, 8, 4, 10}, {"i", 1, 40, 32, 8, 15}};

const char *const climate_map_names[] = {"f", "g", "i", NULL};

_Static_assert(sizeof climate_map_names / sizeof climate_map_names[0] ==
                   sizeof kinds / sizeof kinds[0] + 1,
               "one name per map");

static const struct kind *kind_of(const struct shape *s)
{
    return &kinds[s->climate_map];
}

/* Levels of all variables of a phase. */
static int64_t slabs(const struct shape *s)
{
    return kind_of(s)->flat + (int64_t)kind_of(s)->deep * kind_of(s)->levels;
}

static int settle(struct shape *s, char message[ARGS_MESSAGE])
{
    int64_t unit = ELEMENT * slabs(s);
    if (s->piece != 0) {
        strcpy(message, "--pattern climate has elements of 8 bytes: drop --piece");
        return -EINVAL;
    }
    if (s->record % unit != 0)
        s->record += unit - s->record % unit;
    if (s->record / ELEMENT > INT32_MAX) {
        snprintf(message, ARGS_MESSAGE,
                 "--record %" PRId64 " is too much for --pattern climate: give less than 16G",
                 s->record);
        return -EINVAL;
    }
    return 0;
}

/* ---- the map --------------------------------------------------------------------------------- */

/* Elements of a level. */
static int64_t level_elements(const struct shape *s)
{
    return s->nranks * (s->record / ELEMENT / slabs(s));
}

static int64_t level_bytes(const struct shape *s)
{
    return level_elements(s) * ELEMENT;
}

/* Of the k-th run, unless the level ends before. */
static int64_t run_elements(const struct shape *s, int64_t k)
{
    const struct kind *kind = kind_of(s);
    uint64_t x = ((uint64_t)k + 1) * 0x9e3779b97f4a7c15u + (uint64_t)s->seed * 0xd6e8feb86659fd93u;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    x ^= x >> 29;
    return kind->shortest + (int64_t)(x % (uint64_t)(kind->longest - kind->shortest + 1));
}

static int64_t count_runs(const struct shape *s)
{
    int64_t at = 0, n = 0;
    while (at < level_elements(s))
        at += run_elements(s, n++);
    return n;
}

static int prepare(struct shape *s)
{
    int64_t end = level_elements(s), at = 0, all = count_runs(s);
    s->nruns = 0;
    s->level_part = 0;
    s->map = malloc((size_t)(all / s->nranks + 1) * sizeof *s->map);
    s->runs = malloc((size_t)(all / s->nranks + 1) * sizeof *s->runs);
    if (s->map == NULL || s->runs == NULL) {
        free(s->map);
        free(s->runs);
        s->map = NULL;
        s->runs = NULL;
        return -ENOMEM;
    }
    for (int64_t k = 0; k < all; k++) {
        int64_t n = run_elements(s, k);
        if (n > end - at)
            n = end - at;
        uint64_t dealt = order_permute((uint64_t)k, (uint64_t)all, (unsigned)s->seed);
        if (dealt % (uint64_t)s->nranks == (uint64_t)s->rank) {
            s->map[s->nruns] = (MPI_Aint)(at * ELEMENT);
            s->runs[s->nruns++] = (int)(n * ELEMENT);
            s->level_part += n * ELEMENT;
        }
        at += n;
    }
    return 0;
}

static void release(struct shape *s)
{
    free(s->map);
    free(s->runs);
    s->map = NULL;
    s->runs = NULL;
}

/* ---- where things are ------------------------------------------------------------------------ */

static int64_t bytes(const struct shape *s)
{
    return slabs(s) * s->level_part;
}

static int64_t segments(const struct shape *s)
{
    return slabs(s) * s->nruns;
}

static struct segment segment(const struct shape *s, int phase, int64_t i)
{
    int64_t level = phase * slabs(s) + i / s->nruns, run = i % s->nruns;
    struct segment seg = {level * level_bytes(s) + s->map[run], s->runs[run]};
    return seg;
}

/* All variables of a phase in one type, as PnetCDF makes it of the requests of a flush. */
static void view(const struct shape *s, MPI_Offset *displacement, MPI_Datatype *filetype)
{
    int64_t n = segments(s);
    int *lengths = malloc((size_t)n * sizeof *lengths + 1);
    MPI_Aint *offsets = malloc((size_t)n * sizeof *offsets + 1);
    MPI_Datatype runs;
    *displacement = 0;
    if (lengths == NULL || offsets == NULL) {
        fprintf(stderr, "simpario: no memory for the map of %" PRId64 " runs\n", n);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    for (int64_t i = 0; i < n; i++) {
        struct segment seg = segment(s, 0, i);
        lengths[i] = (int)seg.length;
        offsets[i] = (MPI_Aint)seg.offset;
    }
    if (n > 0)
        MPI_Type_create_hindexed((int)n, lengths, offsets, MPI_BYTE, &runs);
    else
        MPI_Type_contiguous(1, MPI_BYTE, &runs); /* a rank without elements moves no bytes */
    MPI_Type_create_resized(runs, 0, (MPI_Aint)(slabs(s) * level_bytes(s)), filetype);
    MPI_Type_commit(filetype);
    MPI_Type_free(&runs);
    free(lengths);
    free(offsets);
}

static void describe(const struct shape *s, char *buf, size_t size)
{
    const struct kind *k = kind_of(s);
    snprintf(buf, size, "climate, map %s, %d variables in a call, runs of %d to %d elements",
             k->name, k->flat + k->deep, k->shortest, k->longest);
}

const struct pattern pattern_climate = {
    .name = "climate",
    .phases = DEFAULT_PHASES_CLIMATE,
    .settle = settle,
    .prepare = prepare,
    .release = release,
    .bytes = bytes,
    .segments = segments,
    .segment = segment,
    .view = view,
    .describe = describe,
};
