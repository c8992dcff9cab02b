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

#include <stdbool.h>
#include <stdint.h>

#include <mpi.h>

#include "args.h"
#include "transfer.h"

#define SHAPE_DIMS 4

/* Defaults; where a pattern has its own, see there. */
#define DEFAULT_PHASES            20
#define DEFAULT_PHASES_CHECKPOINT 3
#define DEFAULT_PHASES_ARRAYS     10
#define DEFAULT_PHASES_CLIMATE    3
#define DEFAULT_RECORD_MIB        1
#define DEFAULT_PIECE_KIB         4   /* interleaved, or the record if that is smaller */
#define DEFAULT_ELEMENT           8   /* subarrays, blocks, bytes */
#define DEFAULT_SITE              192 /* lattice, bytes: 24 doubles */
#define DEFAULT_FILES             2   /* checkpoint, or 1 if that does not divide the ranks */
#define DEFAULT_PARTS             2   /* checkpoint */
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
    int climate_map;   /* climate: index in climate_map_names */
    bool external;     /* of patterns with array4d: elements are of 8-byte integers, which are
                          converted (datarep.h) */
    bool reading;      /* of the rank's reads; blocks: they differ from its writes */
    /* Private to patterns; set by settle() and prepare(). */
    int file;              /* checkpoint: which one this rank has */
    int dims;              /* subarrays: 3 or 4 */
    int grid[SHAPE_DIMS];  /* ranks along each dimension */
    int block[SHAPE_DIMS]; /* elements of a rank, or of an array, along each dimension */
    int at[SHAPE_DIMS];    /* of this rank in the grid; blocks, ragged4d: its first element */
    int sides[SHAPE_DIMS]; /* blocks: elements of what a rank writes, along each dimension;
                              ragged4d: of the array */
    MPI_Aint *map;         /* irregular: offsets in a phase, climate: in a level; ascending */
    int *runs;             /* climate: bytes of each run of this rank in a level */
    int64_t nruns;         /* climate: how many there are */
    int64_t level_part;    /* climate: bytes of all of them */
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
    bool array4d;            /* a record is a block of 4 dimensions of elements: permute.h */
    /* Fills in defaults. Returns 0, or -EINVAL with a message that names the remedy. */
    int (*settle)(struct shape *s, char message[ARGS_MESSAGE]);
    /* Makes and frees what the functions below need, after settle(). Returns 0 or -ENOMEM. Both
     * may be NULL. */
    int (*prepare)(struct shape *s);
    void (*release)(struct shape *s);
    /* Returns the bytes of this rank in a phase; NULL: one record. */
    int64_t (*bytes)(const struct shape *s);
    /* Returns the size of this rank's file; NULL: the records of all ranks and phases. */
    int64_t (*file_bytes)(const struct shape *s);
    /* Return the number of segments of this rank in a phase, and the i-th of them. */
    int64_t (*segments)(const struct shape *s);
    struct segment (*segment)(const struct shape *s, int phase, int64_t i);
    /* Makes the view, of etype MPI_BYTE, which shows this rank's bytes phase after phase. The
     * caller frees the file type. NULL: the default view, and one segment in each phase. */
    void (*view)(const struct shape *s, MPI_Offset *displacement, MPI_Datatype *filetype);
    /* Returns the size of a header, which the file's first rank writes and reads outside the
     * phases; NULL: none. */
    int64_t (*head_bytes)(const struct shape *s);
    /* Return the range around a file offset, and make the content of a RANGE_MADE, r->end -
     * r->start bytes. NULL: all is stamped. */
    struct range (*range)(const struct shape *s, int64_t offset);
    void (*make)(const struct shape *s, const struct range *r, unsigned char *buf);
    /* Writes a short description for the report. */
    void (*describe)(const struct shape *s, char *buf, size_t size);
};

extern const struct pattern pattern_subarray3d, pattern_subarray4d, pattern_irregular,
    pattern_checkpoint, pattern_arrays, pattern_climate, pattern_blocks, pattern_lattice,
    pattern_ragged4d;

/* NULL-terminated. */
extern const char *const climate_map_names[];

/* In the order of the table; NULL-terminated. */
extern const char *const pattern_names[];
const struct pattern *pattern_get(int index);

/* Makes the type of an element of a pattern with array4d. The caller frees it. */
void pattern_element(const struct shape *s, MPI_Datatype *element);

/* Return the bytes of this rank in a phase, of its file, and of the file's header. */
int64_t pattern_bytes(const struct pattern *p, const struct shape *s);
int64_t pattern_file_bytes(const struct pattern *p, const struct shape *s);
int64_t pattern_head_bytes(const struct pattern *p, const struct shape *s);
/* Returns where a phase of this rank starts in its view, in bytes of the view. */
MPI_Offset pattern_view_offset(const struct pattern *p, const struct shape *s, int phase);

/* For patterns that cut an array into blocks of elements: settles the size of an element.  `what`
 * names the array in messages. */
int pattern_settle_elements(struct shape *s, const char *what, char message[ARGS_MESSAGE]);

#endif
