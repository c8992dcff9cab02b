/*
 * Patterns: which bytes of the file a rank touches in a phase.
 *
 * A pattern is a row of functions. To add one, write the functions in a file of their own and add
 * the row to the table at the end of pattern.c; options and report take it from there.
 *
 * In every phase a rank has one record in memory, shape.record bytes. The pattern cuts it into
 * segments, each contiguous in the file and, one after the other, in memory; and it describes the
 * same to MPI as a file view plus an offset in that view for each phase.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include <stdint.h>

#include <mpi.h>

#include "args.h"

#define SHAPE_DIMS 4

/* One rank's part of a run. */
struct shape {
    int rank, nranks, phases;
    int64_t record; /* bytes */
    int64_t piece;  /* bytes; 0: the pattern's default, or it has none */
    int seed;
    /* What patterns keep for themselves; made by prepare(). */
    int dims;              /* subarrays: 3 or 4 */
    int grid[SHAPE_DIMS];  /* ranks along each dimension */
    int block[SHAPE_DIMS]; /* elements of a rank along each dimension */
    int at[SHAPE_DIMS];    /* of this rank in the grid */
    MPI_Aint *map;         /* irregular: offsets in a phase, ascending */
};

struct segment {
    int64_t offset; /* in the file, bytes */
    int64_t length;
};

struct pattern {
    const char *name;
    /* Fills in defaults. Returns 0, or -EINVAL with a message that names the remedy. */
    int (*settle)(struct shape *s, char message[ARGS_MESSAGE]);
    /* Makes and frees what the functions below need, after settle(). Returns 0 or -ENOMEM. Both
     * may be NULL. */
    int (*prepare)(struct shape *s);
    void (*release)(struct shape *s);
    /* Segments of one record, and the i-th of them. */
    int64_t (*segments)(const struct shape *s);
    struct segment (*segment)(const struct shape *s, int phase, int64_t i);
    /* The view, etype MPI_BYTE. The file type is the caller's to free. NULL: the default view. */
    void (*view)(const struct shape *s, MPI_Offset *displacement, MPI_Datatype *filetype);
    /* Where the phase starts in the view, in bytes of the view. */
    MPI_Offset (*view_offset)(const struct shape *s, int phase);
    /* A few words for the report. */
    void (*describe)(const struct shape *s, char *buf, size_t size);
};

extern const struct pattern pattern_subarray3d, pattern_subarray4d, pattern_irregular;

/* In the order of the table; NULL-terminated. */
extern const char *const pattern_names[];
const struct pattern *pattern_get(int index);

/* Bytes of the whole file. Every pattern so far fills it without holes. */
int64_t pattern_file_bytes(const struct shape *s);

#endif
