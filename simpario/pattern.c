/*
 * The table of patterns, and the simple ones of them. With n ranks, phase p begins at
 * p * n * record:
 *
 *   contiguous     | r0 r0 r0 | r1 r1 r1 | r2 r2 r2 |      rank r at r * record
 *   interleaved    | r0 r1 r2 | r0 r1 r2 | r0 r1 r2 |      piece k of rank r at (k * n + r) * piece
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pattern.h"
#include "units.h"

int64_t pattern_bytes(const struct pattern *p, const struct shape *s)
{
    return p->bytes != NULL ? p->bytes(s) : s->record;
}

int64_t pattern_file_bytes(const struct pattern *p, const struct shape *s)
{
    return p->file_bytes != NULL ? p->file_bytes(s) : s->phases * s->nranks * s->record;
}

int64_t pattern_head_bytes(const struct pattern *p, const struct shape *s)
{
    return p->head_bytes != NULL ? p->head_bytes(s) : 0;
}

MPI_Offset pattern_view_offset(const struct pattern *p, const struct shape *s, int phase)
{
    return p->view != NULL ? phase * pattern_bytes(p, s) : p->segment(s, phase, 0).offset;
}

int pattern_settle_elements(struct shape *s, const char *what, char message[ARGS_MESSAGE])
{
    if (s->piece == 0)
        s->piece = DEFAULT_ELEMENT;
    if (s->record % s->piece != 0) {
        snprintf(message, ARGS_MESSAGE,
                 "--record %" PRId64 " is not a multiple of --piece %" PRId64
                 ", the bytes of an element: give a --piece that divides it",
                 s->record, s->piece);
        return -EINVAL;
    }
    /* No side of the array is longer than this, and MPI counts sides with an int. */
    if (s->record / s->piece > INT32_MAX / s->nranks) {
        snprintf(message, ARGS_MESSAGE,
                 "--record %" PRId64 " has too many elements of %" PRId64
                 " bytes for a %s: give a larger --piece",
                 s->record, s->piece, what);
        return -EINVAL;
    }
    return 0;
}

void pattern_element(const struct shape *s, MPI_Datatype *element)
{
    if (s->external)
        MPI_Type_contiguous((int)(s->piece / 8), MPI_INT64_T, element);
    else
        MPI_Type_contiguous((int)s->piece, MPI_BYTE, element);
}

static int64_t phase_base(const struct shape *s, int phase)
{
    return phase * (s->nranks * s->record);
}

/* ---- contiguous ----------------------------------------------------------------------------- */

static int contiguous_settle(struct shape *s, char message[ARGS_MESSAGE])
{
    if (s->piece == 0)
        return 0;
    strcpy(message, "--pattern contiguous has no pieces: drop --piece, or give another --pattern");
    return -EINVAL;
}

static int64_t contiguous_segments(const struct shape *s)
{
    (void)s;
    return 1;
}

static struct segment contiguous_segment(const struct shape *s, int phase, int64_t i)
{
    (void)i;
    struct segment seg = {phase_base(s, phase) + s->rank * s->record, s->record};
    return seg;
}

static void contiguous_describe(const struct shape *s, char *buf, size_t size)
{
    (void)s;
    snprintf(buf, size, "contiguous");
}

/* ---- interleaved ---------------------------------------------------------------------------- */

static int interleaved_settle(struct shape *s, char message[ARGS_MESSAGE])
{
    const int64_t piece = DEFAULT_PIECE_KIB << 10;

    if (s->piece == 0)
        s->piece = s->record < piece ? s->record : piece;
    if (s->record % s->piece == 0)
        return 0;
    snprintf(message, ARGS_MESSAGE,
             "--record %" PRId64 " is not a multiple of --piece %" PRId64
             ": give a --piece that divides it",
             s->record, s->piece);
    return -EINVAL;
}

static int64_t interleaved_segments(const struct shape *s)
{
    return s->record / s->piece;
}

static struct segment interleaved_segment(const struct shape *s, int phase, int64_t i)
{
    struct segment seg = {phase_base(s, phase) + (i * s->nranks + s->rank) * s->piece, s->piece};
    return seg;
}

/* One piece, then the gap that the other ranks fill: as a phase ends where the next begins, one
 * view serves them all. */
static void interleaved_view(const struct shape *s, MPI_Offset *displacement,
                             MPI_Datatype *filetype)
{
    MPI_Datatype piece;
    MPI_Type_contiguous((int)s->piece, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, (MPI_Aint)(s->nranks * s->piece), filetype);
    MPI_Type_commit(filetype);
    MPI_Type_free(&piece);
    *displacement = s->rank * s->piece;
}

static void interleaved_describe(const struct shape *s, char *buf, size_t size)
{
    char piece[UNITS_TEXT];
    snprintf(buf, size, "interleaved in pieces of %s", units_size(piece, s->piece));
}

/* ---- the table ------------------------------------------------------------------------------ */

static const struct pattern contiguous = {
    .name = "contiguous",
    .settle = contiguous_settle,
    .segments = contiguous_segments,
    .segment = contiguous_segment,
    .describe = contiguous_describe,
};

static const struct pattern interleaved = {
    .name = "interleaved",
    .settle = interleaved_settle,
    .segments = interleaved_segments,
    .segment = interleaved_segment,
    .view = interleaved_view,
    .describe = interleaved_describe,
};

static const struct pattern *const patterns[] = {
    &contiguous,        &interleaved,        &pattern_subarray3d, &pattern_subarray4d,
    &pattern_irregular, &pattern_checkpoint, &pattern_arrays,     &pattern_climate,
    &pattern_blocks,    &pattern_lattice,    &pattern_ragged4d,
};

const char *const pattern_names[] = {"contiguous", "interleaved", "subarray3d", "subarray4d",
                                     "irregular",  "checkpoint",  "arrays",     "climate",
                                     "blocks",     "lattice",     "ragged4d",   NULL};

_Static_assert(sizeof pattern_names / sizeof pattern_names[0] ==
                   sizeof patterns / sizeof patterns[0] + 1,
               "one name per pattern");

const struct pattern *pattern_get(int index)
{
    return patterns[index];
}
