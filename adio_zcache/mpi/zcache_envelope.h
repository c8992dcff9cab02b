/* How a datatype was made, for those who know int counts alone. */
#ifndef ZCACHE_ENVELOPE_H
#define ZCACHE_ENVELOPE_H

#include <mpi.h>

/*
 * MPI_Type_get_envelope and MPI_Type_get_contents that also take types made with large counts
 * (MPI_Type_..._c), on which MPI's own end the program. Use them instead. Derived types among the
 * contents are the caller's to free, as with MPI's.
 */
int zcache_type_get_envelope(MPI_Datatype type, int *ni, int *na, int *nt, int *combiner);
int zcache_type_get_contents(MPI_Datatype type, int ni, int na, int nt, int *ints, MPI_Aint *aints,
                             MPI_Datatype *types);

#endif
