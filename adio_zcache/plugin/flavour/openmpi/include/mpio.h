/* mpio.h of ROMIO, with Open MPI's MPI_FILE_NULL instead of its own. */
#ifndef ZCACHE_OPENMPI_MPIO_H
#define ZCACHE_OPENMPI_MPIO_H

#include <mpi.h>

#undef MPI_FILE_NULL
#include_next <mpio.h>
#undef MPI_FILE_NULL
#define MPI_FILE_NULL OMPI_PREDEFINED_GLOBAL(MPI_File, ompi_mpi_file_null)

#endif
