/* zcache_pieces.c - walking over the contiguous pieces of a datatype. */
#include "config.h"

#include <stdint.h>

#include "zcache_pieces.h"

static MPI_Count piece_len(const struct zcache_pieces *p, MPI_Count i)
{
    return p->flat->blocklens[i];
}

static MPI_Offset piece_at(const struct zcache_pieces *p)
{
    return p->base + p->tile * p->extent + p->flat->indices[p->index];
}

/* Leaves pieces that are passed, and those without bytes (lower and upper bounds). */
static void settle(struct zcache_pieces *p)
{
    while (p->within >= piece_len(p, p->index)) {
        p->within = 0;
        if (++p->index == p->flat->count) {
            p->index = 0;
            p->tile++;
        }
    }
}

static void describe(struct zcache_pieces *p, MPI_Datatype type, MPI_Offset base)
{
    MPI_Count size, lb, extent;
    int contiguous;

    *p = (struct zcache_pieces){.base = base};
    MPI_Type_size_x(type, &size);
    p->size = size;
    ADIOI_Datatype_iscontig(type, &contiguous);
    if (contiguous)
        return;
    MPI_Type_get_extent_x(type, &lb, &extent);
    p->extent = extent;
    p->flat = ADIOI_Flatten_and_find(type);
}

void zcache_pieces_memory(struct zcache_pieces *p, MPI_Datatype type)
{
    describe(p, type, 0);
}

MPI_Offset zcache_pieces_at(struct zcache_pieces *p)
{
    if (!p->flat)
        return p->base + p->within;
    settle(p);
    return piece_at(p) + p->within;
}

MPI_Offset zcache_pieces_next(struct zcache_pieces *p, MPI_Offset max, MPI_Offset *at)
{
    MPI_Offset len = max;

    if (p->flat && !p->size)
        return 0;
    *at = zcache_pieces_at(p);
    if (p->flat && piece_len(p, p->index) - p->within < max)
        len = piece_len(p, p->index) - p->within;
    p->within += len;
    return len;
}

/* The tile before which all pieces end at or before `off`. */
static MPI_Offset first_tile(const struct zcache_pieces *p, MPI_Offset off)
{
    MPI_Offset reach = 0;

    for (MPI_Count i = 0; i < p->flat->count; i++)
        if (piece_len(p, i) && p->flat->indices[i] + piece_len(p, i) > reach)
            reach = p->flat->indices[i] + piece_len(p, i);
    off -= p->base + reach;
    return off < 0 || p->extent <= 0 ? 0 : off / p->extent;
}

MPI_Offset zcache_pieces_view_offset(ADIO_File fd, MPI_Offset off)
{
    struct zcache_pieces p;
    MPI_Offset passed;

    describe(&p, fd->filetype, fd->disp);
    if (!p.flat)
        return off - p.base;
    if (!p.size)
        return 0;
    p.tile = first_tile(&p, off);
    passed = p.tile * p.size;
    for (;;) {
        MPI_Offset at = piece_at(&p), len = piece_len(&p, p.index);

        if (len && off < at + len)
            return passed + (off > at ? off - at : 0);
        passed += len;
        p.within = len;
        if (++p.index == p.flat->count) {
            p.index = 0;
            p.tile++;
        }
    }
}
