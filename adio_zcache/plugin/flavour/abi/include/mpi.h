/*
 * mpi.h of the standard binary interface of MPI-5, as the plugin and its ROMIO are compiled with
 * it: handles are pointers, and the predefined ones are small constants.
 *
 * ROMIO needs its own values of access modes and of MPI_SEEK_SET, _CUR and _END. The core uses
 * them, and the functions that programs call translate (zcache_flavour_amode_in, _out, _whence_in).
 */
#ifndef ZCACHE_ABI_MPI_H
#define ZCACHE_ABI_MPI_H

#define MPI_ABI_File ADIOI_FileD
#include_next <mpi_abi.h>

#ifndef MPI_ABI_VERSION
#error "this is not the mpi_abi.h of MPI-5"
#endif

typedef int MPI_Fint;

/* The standard's access modes, under other names. */
enum {
    ZCACHE_ABI_MODE_APPEND = MPI_MODE_APPEND,
    ZCACHE_ABI_MODE_CREATE = MPI_MODE_CREATE,
    ZCACHE_ABI_MODE_DELETE_ON_CLOSE = MPI_MODE_DELETE_ON_CLOSE,
    ZCACHE_ABI_MODE_EXCL = MPI_MODE_EXCL,
    ZCACHE_ABI_MODE_RDONLY = MPI_MODE_RDONLY,
    ZCACHE_ABI_MODE_RDWR = MPI_MODE_RDWR,
    ZCACHE_ABI_MODE_SEQUENTIAL = MPI_MODE_SEQUENTIAL,
    ZCACHE_ABI_MODE_UNIQUE_OPEN = MPI_MODE_UNIQUE_OPEN,
    ZCACHE_ABI_MODE_WRONLY = MPI_MODE_WRONLY,
};

/* ROMIO's access modes, as in its mpio.h. */
#define MPI_MODE_CREATE          1
#define MPI_MODE_RDONLY          2
#define MPI_MODE_WRONLY          4
#define MPI_MODE_RDWR            8
#define MPI_MODE_DELETE_ON_CLOSE 16
#define MPI_MODE_UNIQUE_OPEN     32
#define MPI_MODE_EXCL            64
#define MPI_MODE_APPEND          128
#define MPI_MODE_SEQUENTIAL      256

/*
 * Error handlers whose numbers differ between libraries of the standard interface. Those of the
 * library of this process are known from zcache_library_ready() on; until then they are NULL.
 */
extern struct zcache_abi_handlers {
    MPI_Errhandler returns;
    MPI_Errhandler aborts;
} zcache_abi_handlers;
#define ZCACHE_HANDLES_FOUND_AT_RUN_TIME /* for romio-register */
#undef MPI_ERRORS_RETURN
#undef MPI_ERRORS_ABORT
#define MPI_ERRORS_RETURN zcache_abi_handlers.returns
#define MPI_ERRORS_ABORT  zcache_abi_handlers.aborts

/* Constants that MPI-3 removed and ROMIO still uses: no datatype has these. */
#define MPI_COMBINER_HVECTOR_INTEGER  (-101)
#define MPI_COMBINER_HINDEXED_INTEGER (-102)
#define MPI_COMBINER_STRUCT_INTEGER   (-103)
#define MPI_UB                        MPI_DATATYPE_NULL
#define MPI_LB                        MPI_DATATYPE_NULL

#include "../../zcache_mpich_missing.h"

#endif
