/*
 * Boxes of points in all cells of a rank, as one MPI datatype.
 */
#ifndef CELLS_H
#define CELLS_H

#include <mpi.h>

#include "grid.h"

/* Points of a cell, by local indices; ghosts may be among them. Empty where a size is 0. */
struct box {
    int low[3], size[3];
};

/* Returns the type of a point: NVAR doubles. The caller frees these types. */
MPI_Datatype cells_point_type(void);
/* Returns the type of boxes[q], one of each cell, in an array of states like g->u;
 * MPI_DATATYPE_NULL if all are empty. */
MPI_Datatype cells_memory_type(const struct grid *g, const struct box *boxes);
/* Returns the box of all points of a cell, without ghosts. */
struct box cells_whole(const struct cell *c);
/* Returns the type of all cells in a dump of the n x n x n points. */
MPI_Datatype cells_file_type(const struct grid *g);

#endif
