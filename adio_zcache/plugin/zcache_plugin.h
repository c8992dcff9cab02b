/*
 * Internals of the plugin: what goes on between an exported MPI_File function and ROMIO.
 *
 *     MPI_File_x = PMPI_File_x   (zcache_entry*.c, exported)
 *         locks, large counts, raising of errors
 *     ROMIO_File_x               (ROMIO's PMPI_File_x, renamed when its library was copied)
 *         calls back: MPIO_File_create, MPIO_Err_create_code, ... (zcache_handle.c, zcache_error.c)
 *     ADIOI_Fns slots            (the driver, or one of ROMIO's)
 *
 * Threads. ROMIO built this way has no locks of its own. Protected here:
 *   - its initialisation and its attribute keys     zcache_once.c, one process-wide lock
 *   - the flattened datatypes it caches              zcache_once.c
 *   - the parser of cb_config_list                   zcache_once.c
 *   - registered data representations                zcache_entry.c
 *   - Fortran handles, error handlers, error codes   zcache_handle.c, zcache_errh.c, zcache_error.c
 *   - the individual and the shared file pointer of one file against other threads of the same
 *     process: independent calls that use one take the lock of the file (zcache_entry.h). For
 *     files of other drivers those with an explicit offset do so too, since some drivers seek.
 * Not protected: two threads in collective calls on one file (MPI forbids that), a view that
 * changes while another thread accesses the file (a program's race), hint files read by the
 * first two opens at the same time (at worst read twice). No lock is held across a collective
 * call, and none while an error handler runs.
 *
 * Lock order: file lock, then once lock; the others are leaves.
 */
#ifndef ZCACHE_PLUGIN_H
#define ZCACHE_PLUGIN_H

#include <pthread.h>
#include <stdbool.h>

#include "adio.h"
#include "zcache_mpi.h"

/*
 * What the plugin knows of a file handle; lies behind ROMIO's part in the same allocation,
 * since ROMIO frees a handle whose open failed without telling. Until the open has succeeded it
 * must therefore own nothing.
 */
struct zcache_handle {
    pthread_mutex_t lock; /* independent calls; see above */
    MPI_Errhandler errh;  /* written by zcache_errh.c under its lock */
    MPI_Fint fint;        /* Fortran handle, 0 while there is none; lock of zcache_handle.c */
    MPI_Datatype *kept;   /* types that nonblocking calls may still need; freed with the handle */
    int nkept;            /* under lock */
};

/* The record of FH, or NULL if FH is MPI_FILE_NULL or was closed. */
struct zcache_handle *zcache_handle_of(MPI_File fh);

/* Free *TYPE when the handle goes. Takes the lock of the file. */
void zcache_handle_keep(struct zcache_handle *h, MPI_Datatype *type);

/* A new file gets the handler of MPI_FILE_NULL. */
void zcache_errh_inherit(struct zcache_handle *h);

/*
 * A committed type that covers COUNT elements of TYPE, for COUNT > INT_MAX. On success the caller
 * frees *BIG. Returns an MPI error code.
 */
int zcache_bigtype(MPI_Count count, MPI_Datatype type, MPI_Datatype *big);

/* What ROMIO expects of the MPI library, for all its own objects. */
MPI_File MPIO_File_create(int size);
ADIO_File MPIO_File_resolve(MPI_File fh);
void MPIO_File_free(MPI_File *fh);
MPI_Fint MPIO_File_c2f(MPI_File fh);
MPI_File MPIO_File_f2c(MPI_Fint fint);
int MPIO_Err_return_file(MPI_File fh, int rc);
int MPIO_Err_return_comm(MPI_Comm comm, int rc);
void MPIR_Datatype_iscontig(MPI_Datatype type, int *flag);

/* ROMIO's: a request that is complete, with a status of BYTES. */
void MPIO_Completed_request_create(MPI_File *fh, MPI_Offset bytes, int *error_code,
                                   MPI_Request *request);

#endif
