/* mpio.h of ROMIO, with the standard's constants instead of its own, except access modes
 * and MPI_SEEK_SET, _CUR and _END. */
#ifndef ZCACHE_ABI_MPIO_H
#define ZCACHE_ABI_MPIO_H

#include <mpi.h>

#define HAVE_MPI_OFFSET            1
#define HAVE_MPI_DATAREP_FUNCTIONS 1
#undef MPI_FILE_NULL
#undef MPI_DISPLACEMENT_CURRENT
#undef MPI_MAX_DATAREP_STRING
#include_next <mpio.h>
#undef MPI_FILE_NULL
#undef MPI_DISPLACEMENT_CURRENT
#define MPI_FILE_NULL            ((MPI_File)0x118)
#define MPI_DISPLACEMENT_CURRENT ((MPI_Offset)-1)

#endif
