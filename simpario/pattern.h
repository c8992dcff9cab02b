/*
 * Patterns: which bytes of the file a rank touches in a phase.
 *
 * A pattern is a row of functions. To add one, write the functions in a file of their own and add
 * the row to the table at the end of pattern.c; options and report take it from there.
 *
 * In every phase a rank has one record in memory, shape.record bytes unless the pattern says
 * otherwise. The pattern cuts it into segments, each contiguous in the file and, one after the
 * other, in memory; and it describes the same to MPI as a file view plus an offset in that view
 * for each phase. All ranks share one file unless shape.files says otherwise.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include <stdint.h>

#include <mpi.h>

#include "args.h"
#include "transfer.h"

#define SHAPE_DIMS 4

/* Defaults; where a pattern has its own, see there. */
#define DEFAULT_PHASES            20
#define DEFAULT_PHASES_CHECKPOINT 3
#define DEFAULT_PHASES_ARRAYS     10
#define DEFAULT_RECORD_MIB        1
#define DEFAULT_PIECE_KIB         4 /* interleaved, or the record if that is smaller */
#define DEFAULT_ELEMENT           8 /* subarrays, bytes */
#define DEFAULT_FILES             2 /* checkpoint, or 1 if that does not divide the ranks */
#define DEFAULT_PARTS             2 /* checkpoint */
#define DEFAULT_ARRAY             "360x180x35"

/* One rank's part of a run. */
struct shape {
    int rank, nranks, phases;
    int64_t record; /* bytes */
    int64_t piece;  /* bytes; 0: the pattern's default, or it has none */
    int seed;
    int files, parts;  /* checkpoint: 0 for the default */
    int64_t align;     /* checkpoint: bytes, 0: not aligned */
    const char *array; /* arrays: "360x180x35", or NULL for the default */
    /* What patterns keep for themselves; made by settle() and prepare(). */
    int file;              /* checkpoint: which one this rank has */
    int dims;              /* subarrays: 3 or 4 */
    int grid[SHAPE_DIMS];  /* ranks along each dimension */
    int block[SHAPE_DIMS]; /* elements of a rank, or of an array, along each dimension */
    int at[SHAPE_DIMS];    /* of this rank in the grid */
    MPI_Aint *map;         /* irregular: offsets in a phase, ascending */
};

struct segment {
    int64_t offset; /* in the file, bytes */
    int64_t length;
};

/* A part of the file that has one kind of content. */
enum range_kind {
    RANGE_STAMPED,
    RANGE_MADE, /* by the pattern: a header */
    RANGE_HOLE  /* not written */
};
struct range {
    enum range_kind kind;
    int64_t start, end; /* file offsets */
};

struct pattern {
    const char *name;
    int phases;              /* by default; 0: that of all patterns */
    enum access_kind access; /* by default */
    /* Fills in defaults. Returns 0, or -EINVAL with a message that names the remedy. */
    int (*settle)(struct shape *s, char message[ARGS_MESSAGE]);
    /* Makes and frees what the functions below need, after settle(). Returns 0 or -ENOMEM. Both
     * may be NULL. */
    int (*prepare)(struct shape *s);
    void (*release)(struct shape *s);
    /* What this rank has in a phase; NULL: one record. */
    int64_t (*bytes)(const struct shape *s);
    /* The size of this rank's file; NULL: that of the records of all ranks and phases. */
    int64_t (*file_bytes)(const struct shape *s);
    /* Segments of what a rank has in a phase, and the i-th of them. */
    int64_t (*segments)(const struct shape *s);
    struct segment (*segment)(const struct shape *s, int phase, int64_t i);
    /* The view, etype MPI_BYTE. The file type is the caller's to free. NULL: the default view. */
    void (*view)(const struct shape *s, MPI_Offset *displacement, MPI_Datatype *filetype);
    /* Where the phase starts in the view, in bytes of the view. */
    MPI_Offset (*view_offset)(const struct shape *s, int phase);
    /* Bytes at the beginning of the file that its first rank writes, and reads, apart from all
     * phases; NULL: none. */
    int64_t (*head_bytes)(const struct shape *s);
    /* The range around a file offset, and what is in one that is made, r->end - r->start bytes.
     * NULL: all is stamped. */
    struct range (*range)(const struct shape *s, int64_t offset);
    void (*make)(const struct shape *s, const struct range *r, unsigned char *buf);
    /* A few words for the report. */
    void (*describe)(const struct shape *s, char *buf, size_t size);
};

extern const struct pattern pattern_subarray3d, pattern_subarray4d, pattern_irregular,
    pattern_checkpoint, pattern_arrays;

/* In the order of the table; NULL-terminated. */
extern const char *const pattern_names[];
const struct pattern *pattern_get(int index);

/* Of this rank in a phase, of its file, of the file's head. */
int64_t pattern_bytes(const struct pattern *p, const struct shape *s);
int64_t pattern_file_bytes(const struct pattern *p, const struct shape *s);
int64_t pattern_head_bytes(const struct pattern *p, const struct shape *s);

#endif
