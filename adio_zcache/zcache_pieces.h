/* zcache_pieces.h - a datatype, repeated, as a walk over its contiguous pieces.
 *
 * Serves memory (a count of the buffer's type), and turns a file pointer into a view offset
 * where the view's tiles reach into each other; otherwise zc_view.h does that.
 *
 * Uses ROMIO's flattened datatypes, so call it where MPI may be called.
 */
#ifndef ZCACHE_PIECES_H
#define ZCACHE_PIECES_H

#include "adio.h"

struct zcache_pieces {
    const ADIOI_Flatlist_node *flat; /* NULL: one endless piece */
    MPI_Offset base;                 /* bytes; file offset or distance from the buffer of tile 0 */
    MPI_Offset extent, size;         /* of one tile, bytes */
    MPI_Offset tile;                 /* where the walk is: tile, */
    MPI_Count index;                 /* piece of the tile, */
    MPI_Offset within;               /* bytes of the piece passed */
};

/* Walks memory of `type`. */
void zcache_pieces_memory(struct zcache_pieces *p, MPI_Datatype type);

/* Up to `max` bytes of the piece the walk is in, and moves on; max > 0.  Returns how many;
 * 0 only when the type holds no data at all. */
MPI_Offset zcache_pieces_next(struct zcache_pieces *p, MPI_Offset max, MPI_Offset *at);

/* Where the next visible byte lies (at the end of a piece: the start of the one after). */
MPI_Offset zcache_pieces_at(struct zcache_pieces *p);

/* Visible bytes of the file's view before file offset `off`. */
MPI_Offset zcache_pieces_view_offset(ADIO_File fd, MPI_Offset off);

#endif
