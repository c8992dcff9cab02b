/* tm_shape.h - random datatypes.
 *
 * For files: offsets that never go down, as MPI wants of filetypes.  For memory: anything
 * whose bytes do not overlap, also backwards and below address 0.
 */
#ifndef TM_SHAPE_H
#define TM_SHAPE_H

#include "tm_type.h"

enum { TM_MAX_BLOCKS = 64 };

/* Only types that ROMIO's ADIOI_Flatten() gets right.  What it gets wrong (MPICH 4.0.2):
 *   - resized with a lower bound other than 0 of a type with gaps: moved by the bound;
 *   - blocks of length 0 of a type with gaps: wrong bytes, or no end to it;
 *   - a struct of types that begin below 0: moved;
 *   - blocks of a resized type, a subarray or a darray: wrong extents. */
extern bool tm_shape_only_romio;

struct tm_type *tm_shape_etype(struct tm_rng *r);
/* `reach`: about how many bytes it may span. */
struct tm_type *tm_shape_file(struct tm_rng *r, struct tm_type *etype, int64_t reach);
struct tm_type *tm_shape_memory(struct tm_rng *r, struct tm_type *base);

/* 1..max dimensions; procs[] multiply to nprocs; the caller chooses sizes[]. */
void tm_shape_grid(struct tm_rng *r, struct tm_grid *g, int max, int nprocs);
/* Sizes and distributions of an array for darray. */
void tm_shape_distribute(struct tm_rng *r, struct tm_grid *g);

#endif
