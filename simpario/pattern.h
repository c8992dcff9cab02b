/*
 * Patterns: which bytes of the file a rank touches in a phase.
 *
 * A pattern is a row of functions. To add one, write the functions and add the row to the table
 * at the end of pattern.c; options, help and report take it from there.
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

/* One rank's part of a run. */
struct shape {
    int rank, nranks, phases;
    int64_t record; /* bytes */
    int64_t piece;  /* bytes; 0: the pattern's default */
};

struct segment {
    int64_t offset; /* in the file, bytes */
    int64_t length;
};

struct pattern {
    const char *name;
    /* Fills in defaults. Returns 0, or -EINVAL with a message that names the remedy. */
    int (*settle)(struct shape *s, char message[ARGS_MESSAGE]);
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

/* In the order of the table; NULL-terminated. */
extern const char *const pattern_names[];
const struct pattern *pattern_get(int index);

/* Bytes of the whole file. Every pattern so far fills it without holes. */
int64_t pattern_file_bytes(const struct shape *s);

#endif
