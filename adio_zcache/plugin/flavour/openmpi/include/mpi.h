/*
 * mpi.h of Open MPI, as the plugin and its ROMIO are compiled with it.
 *
 * A predefined handle of Open MPI is the address of a variable in libmpi. The plugin is not linked
 * with libmpi, which a program may also load privately, so the addresses are looked up at run time
 * (zcache_predefined.h): a predefined handle is not a constant here.
 *
 * MPI_File is a pointer to ROMIO's structure; files of Open MPI's own are never dereferenced.
 */
#ifndef ZCACHE_OPENMPI_MPI_H
#define ZCACHE_OPENMPI_MPI_H

#define ompi_file_t ADIOI_FileD
#include_next <mpi.h>
#include "zcache_predefined.h"

#ifndef OPEN_MPI
#error "this is not the mpi.h of Open MPI"
#endif

#define ZCACHE_HANDLES_FOUND_AT_RUN_TIME /* for romio-register */
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)zcache_predefined.global)

/* Of Open MPI 5; NULL, which no handler is, under 4. */
#ifndef MPI_ERRORS_ABORT
#define MPI_ERRORS_ABORT OMPI_PREDEFINED_GLOBAL(MPI_Errhandler, ompi_mpi_errors_abort)
#endif

/* These are functions in libmpi, whose addresses would be resolved at load time. */
#undef MPI_COMM_NULL_COPY_FN
#undef MPI_COMM_NULL_DELETE_FN
#undef MPI_TYPE_NULL_COPY_FN
#undef MPI_TYPE_NULL_DELETE_FN
#undef MPI_NULL_COPY_FN
#undef MPI_NULL_DELETE_FN
#define MPI_COMM_NULL_COPY_FN   zcache_predefined_comm_copy
#define MPI_COMM_NULL_DELETE_FN zcache_predefined_comm_delete
#define MPI_TYPE_NULL_COPY_FN   zcache_predefined_type_copy
#define MPI_TYPE_NULL_DELETE_FN zcache_predefined_type_delete
#define MPI_NULL_COPY_FN        zcache_predefined_comm_copy
#define MPI_NULL_DELETE_FN      zcache_predefined_comm_delete

int zcache_predefined_comm_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out,
                                int *flag);
int zcache_predefined_comm_delete(MPI_Comm comm, int keyval, void *value, void *extra);
int zcache_predefined_type_copy(MPI_Datatype type, int keyval, void *extra, void *in, void *out,
                                int *flag);
int zcache_predefined_type_delete(MPI_Datatype type, int keyval, void *value, void *extra);

/* Constants that MPI-3 removed and ROMIO still uses. */
#if !OMPI_ENABLE_MPI1_COMPAT
#undef MPI_COMBINER_HVECTOR_INTEGER
#undef MPI_COMBINER_HINDEXED_INTEGER
#undef MPI_COMBINER_STRUCT_INTEGER
#define MPI_COMBINER_HVECTOR_INTEGER  OMPI_WAS_MPI_COMBINER_HVECTOR_INTEGER
#define MPI_COMBINER_HINDEXED_INTEGER OMPI_WAS_MPI_COMBINER_HINDEXED_INTEGER
#define MPI_COMBINER_STRUCT_INTEGER   OMPI_WAS_MPI_COMBINER_STRUCT_INTEGER
#endif
#undef MPI_UB
#undef MPI_LB
#define MPI_UB OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_ub)
#define MPI_LB OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_lb)

#include "../../zcache_mpich_missing.h"

#if MPI_VERSION < 4
typedef int(MPI_Datarep_conversion_function_c)(void *, MPI_Datatype, MPI_Count, void *, MPI_Offset,
                                               void *);
#endif

#endif
