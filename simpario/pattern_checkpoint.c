/*
 * Partitioned checkpoints, as written by solvers whose unstructured grid is cut into parts: F files
 * for N ranks, so neither one file per rank nor one shared file. N / F consecutive ranks share a
 * file, each with some parts of the grid; in each phase they write one field of all their parts.
 * With 2 ranks to a file and 2 parts to a rank:
 *
 *   | header | field 0: r0 r0 r1 r1 | field 1: r0 r0 r1 r1 | ...
 *
 * The header, which the file's first rank writes before the first phase, has the offset of each
 * block; a block is a header of its own and the data of one field of one part. A restart reads the
 * table first, and so does the reading pass. With --align, blocks begin at multiples of that with
 * gaps between them, otherwise they are contiguous.
 *
 * The layout is modelled on the one described by Liu, Fu, Carothers, Sahni, Jansen and Shephard,
 * Massively Parallel I/O for Partitioned Solver Systems (Parallel Processing Letters, 2010).
 * Numbers are 64 bits wide and little endian:
 *
 *   header   magic, file, files, parts in the file, fields, bytes of a block, alignment, 0;
 *            then for each field the offsets of the blocks of all parts
 *   block    magic, part (of all files together), field, bytes of data, name of the field (32)
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pattern.h"
#include "units.h"

#define FIXED_HEAD  64 /* bytes of the header before the table */
#define BLOCK_HEAD  64
#define FIELD_NAME  32
#define HEAD_MAGIC  UINT64_C(0x3174706b63706d73) /* "smpckpt1" */
#define BLOCK_MAGIC UINT64_C(0x316b636f6c626d73) /* "smblock1" */

static int ranks_per_file(const struct shape *s)
{
    return s->nranks / s->files;
}

static int64_t parts_per_file(const struct shape *s)
{
    return (int64_t)ranks_per_file(s) * s->parts;
}

static int64_t block_bytes(const struct shape *s)
{
    return BLOCK_HEAD + s->record / s->parts;
}

static int64_t head_bytes(const struct shape *s)
{
    return FIXED_HEAD + 8 * parts_per_file(s) * s->phases;
}

static int64_t round_up(int64_t n, int64_t unit)
{
    return unit > 0 ? (n + unit - 1) / unit * unit : n;
}

/* Distance from one block to the next. */
static int64_t slot_bytes(const struct shape *s)
{
    return round_up(block_bytes(s), s->align);
}

/* `part` counts in this file. */
static int64_t block_offset(const struct shape *s, int64_t field, int64_t part)
{
    return round_up(head_bytes(s), s->align) + (field * parts_per_file(s) + part) * slot_bytes(s);
}

/* This rank's first part in its file. */
static int64_t first_part(const struct shape *s)
{
    return (int64_t)(s->rank % ranks_per_file(s)) * s->parts;
}

/* ---- settling -------------------------------------------------------------------------------- */

static int settle(struct shape *s, char message[ARGS_MESSAGE])
{
    if (s->files == 0)
        s->files = s->nranks % DEFAULT_FILES == 0 ? DEFAULT_FILES : 1;
    if (s->parts == 0)
        s->parts = DEFAULT_PARTS;
    if (s->piece != 0) {
        strcpy(message, "--pattern checkpoint has blocks: drop --piece, give --record and --parts");
        return -EINVAL;
    }
    if (s->nranks % s->files != 0) {
        snprintf(message, ARGS_MESSAGE,
                 "--files %d does not divide %d ranks evenly: give another number", s->files,
                 s->nranks);
        return -EINVAL;
    }
    if (s->record % s->parts != 0) {
        snprintf(message, ARGS_MESSAGE,
                 "--record %" PRId64 " is not a multiple of --parts %d: give another of them",
                 s->record, s->parts);
        return -EINVAL;
    }
    if (s->record / s->parts > INT32_MAX - BLOCK_HEAD) {
        snprintf(message, ARGS_MESSAGE,
                 "--record %" PRId64 " makes blocks of 2 GiB or more: give more --parts",
                 s->record);
        return -EINVAL;
    }
    /* Computed once for the blocks, and once more with the additions. */
    int64_t blocks = parts_per_file(s) * s->phases, all;
    if (8 * blocks > INT32_MAX - FIXED_HEAD ||
        __builtin_mul_overflow(slot_bytes(s), 2 * (blocks + 1), &all)) {
        strcpy(message, "the table of offsets would have 2 GiB, or the file 4 EiB: give fewer "
                        "--parts or --phases, or less --align");
        return -EINVAL;
    }
    s->file = s->rank / ranks_per_file(s);
    return 0;
}

/* ---- where things are ------------------------------------------------------------------------ */

static int64_t bytes(const struct shape *s)
{
    return s->parts * block_bytes(s);
}

/* Nothing is written behind the last block. */
static int64_t file_bytes(const struct shape *s)
{
    return block_offset(s, s->phases - 1, parts_per_file(s) - 1) + block_bytes(s);
}

static int64_t segments(const struct shape *s)
{
    return s->parts;
}

static struct segment segment(const struct shape *s, int phase, int64_t i)
{
    struct segment seg = {block_offset(s, phase, first_part(s) + i), block_bytes(s)};
    return seg;
}

/* A tile is one field of all parts, with this rank's blocks visible. */
static void view(const struct shape *s, MPI_Offset *displacement, MPI_Datatype *filetype)
{
    MPI_Datatype blocks;
    MPI_Type_create_hvector(s->parts, (int)block_bytes(s), (MPI_Aint)slot_bytes(s), MPI_BYTE,
                            &blocks);
    MPI_Type_create_resized(blocks, 0, (MPI_Aint)(parts_per_file(s) * slot_bytes(s)), filetype);
    MPI_Type_commit(filetype);
    MPI_Type_free(&blocks);
    *displacement = block_offset(s, 0, first_part(s));
}

/* ---- headers --------------------------------------------------------------------------------- */

static struct range range(const struct shape *s, int64_t offset)
{
    int64_t head = head_bytes(s), first = block_offset(s, 0, 0), slot = slot_bytes(s);
    if (offset < head)
        return (struct range){RANGE_MADE, 0, head};
    if (offset < first)
        return (struct range){RANGE_HOLE, head, first};
    int64_t start = offset - (offset - first) % slot;
    int64_t data = start + BLOCK_HEAD, end = start + block_bytes(s);
    if (offset < data)
        return (struct range){RANGE_MADE, start, data};
    if (offset < end)
        return (struct range){RANGE_STAMPED, data, end};
    return (struct range){RANGE_HOLE, end, start + slot};
}

static unsigned char *put(unsigned char *at, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        *at++ = (unsigned char)(value >> (8 * i));
    return at;
}

static void make_head(const struct shape *s, unsigned char *at)
{
    const int64_t fixed[] = {s->file,  s->files, parts_per_file(s), s->phases, block_bytes(s),
                             s->align, 0};
    at = put(at, HEAD_MAGIC);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        at = put(at, (uint64_t)fixed[i]);
    for (int field = 0; field < s->phases; field++)
        for (int64_t part = 0; part < parts_per_file(s); part++)
            at = put(at, (uint64_t)block_offset(s, field, part));
}

static void make_block_head(const struct shape *s, int64_t number, unsigned char *at)
{
    static const char *const names[] = {"solution", "time derivative of solution",
                                        "discretization error"};
    int64_t field = number / parts_per_file(s), part = number % parts_per_file(s);
    char name[FIELD_NAME] = "";
    if (field < (int64_t)(sizeof names / sizeof *names))
        snprintf(name, sizeof name, "%s", names[field]);
    else
        snprintf(name, sizeof name, "field %" PRId64, field);
    at = put(at, BLOCK_MAGIC);
    at = put(at, (uint64_t)(s->file * parts_per_file(s) + part));
    at = put(at, (uint64_t)field);
    at = put(at, (uint64_t)(block_bytes(s) - BLOCK_HEAD));
    memcpy(at, name, sizeof name);
}

static void make(const struct shape *s, const struct range *r, unsigned char *buf)
{
    if (r->start == 0)
        make_head(s, buf);
    else
        make_block_head(s, (r->start - block_offset(s, 0, 0)) / slot_bytes(s), buf);
}

static void describe(const struct shape *s, char *buf, size_t size)
{
    char block[UNITS_TEXT], align[UNITS_TEXT] = "not aligned";
    if (s->align > 0) {
        char unit[UNITS_TEXT];
        snprintf(align, sizeof align, "aligned to %.12s", units_size(unit, s->align));
    }
    snprintf(buf, size, "checkpoint in %d file%s, %d part%s per rank, blocks of %s %s", s->files,
             s->files == 1 ? "" : "s", s->parts, s->parts == 1 ? "" : "s",
             units_size(block, block_bytes(s)), align);
}

const struct pattern pattern_checkpoint = {
    .name = "checkpoint",
    .phases = DEFAULT_PHASES_CHECKPOINT,
    .settle = settle,
    .bytes = bytes,
    .file_bytes = file_bytes,
    .segments = segments,
    .segment = segment,
    .view = view,
    .head_bytes = head_bytes,
    .range = range,
    .make = make,
    .describe = describe,
};
