/* How a datatype was made, for callers that handle int counts only. */
#ifndef ZCACHE_TYPE_CONTENTS_H
#define ZCACHE_TYPE_CONTENTS_H

#include <mpi.h>

/*
 * MPI_Type_get_envelope and MPI_Type_get_contents that also take types made with large counts
 * (MPI_Type_..._c); MPI's own end the program on these. Use these instead. The caller frees the
 * derived types among the contents, as with MPI's.
 */
int zcache_type_get_envelope(MPI_Datatype type, int *ni, int *na, int *nt, int *combiner);
int zcache_type_get_contents(MPI_Datatype type, int ni, int na, int nt, int *ints, MPI_Aint *aints,
                             MPI_Datatype *types);

#endif
