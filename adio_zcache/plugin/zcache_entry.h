/*
 * How a call of MPI-IO gets to the driver, or past it.
 *
 *     MPI_File_x, PMPI_File_x    (zcache_passthrough.c, exported)
 *         a file of the MPI library's: the next MPI_File_x or PMPI_File_x, which is the library's
 *     zcache_entry_x             (zcache_entry*.c)
 *         turns, raising of errors; for functions that move data, conversion
 *     zcache_plain_x             (zcache_entry_data.c: functions that move data)
 *         turns, large counts, raising of errors
 *     ROMIO_File_x               (ROMIO's PMPI_File_x, renamed when its library was copied)
 *         calls back: MPIO_File_create, MPIO_Err_create_code, ... (zcache_handle.c,
 *         zcache_romio_error.c)
 *     ADIOI_Fns slots            (the driver)
 *
 * Threads. ROMIO built this way has no locks of its own. Protected here:
 *   - its initialisation and its attribute keys     zcache_romio_lock.c, one process-wide lock
 *   - the flattened datatypes it caches              zcache_romio_lock.c
 *   - the parser of cb_config_list                   zcache_romio_lock.c
 *   - registered data representations                zcache_datarep.c
 *   - Fortran handles, error handlers, error codes   zcache_handle.c, zcache_errh.c, zcache_error.c
 *   - the individual and the shared file pointer of one file against other threads of the same
 *     process: independent calls that use one wait for their turn at the file (zcache_mpi_lock.h)
 * Not protected: two threads in collective calls on one file (MPI forbids that), a view that
 * changes while another thread accesses the file (a program's race), hint files read by the
 * first two opens at the same time (at worst read twice). No lock is held and no turn kept across
 * a collective call, nor while an error handler runs: it may use the file, or leave by longjmp.
 */
#ifndef ZCACHE_ENTRY_H
#define ZCACHE_ENTRY_H

#include <stdbool.h>

#include "adio.h"
#include "ad_zcache_seams.h"
#include "zcache_errh.h"
#include "zcache_error.h"
#include "zcache_functions.h"
#include "zcache_handle.h"

/* ROMIO's: a request that is complete, with a status of BYTES. */
void MPIO_Completed_request_create(MPI_File *fh, MPI_Offset bytes, int *error_code,
                                   MPI_Request *request);

/* When a call waits for its turn at the file.  Collective calls never do. */
enum zcache_alone {
    ALONE_NEVER,
    ALONE_ALWAYS, /* file pointers */
};

/* Takes a turn at the file where the call needs one. Returns the record of the file whose turn was
 * taken, NULL if none was. */
static inline struct zcache_handle *zcache_enter(MPI_File fh, enum zcache_alone alone)
{
    struct zcache_handle *h = alone == ALONE_NEVER ? NULL : zcache_handle_of(fh);

    if (h)
        zcache_mpi_lock_get(&h->mpi_lock);
    return h;
}

static inline int zcache_leave(struct zcache_handle *taken, MPI_File fh, int rc, const char *fn)
{
    if (taken)
        zcache_mpi_lock_put(&taken->mpi_lock);
    return rc == MPI_SUCCESS ? rc : zcache_raise(fh, rc, fn);
}

/*
 * Checks that view offset OFFSET (in etypes) maps to a valid file offset: ROMIO multiplies without
 * an overflow check. Returns an MPI error code. Leaves negative offsets to ROMIO.
 */
static inline int zcache_check_offset(MPI_File fh, MPI_Offset offset)
{
    return offset <= 0 ? MPI_SUCCESS : zcache_offset_error(fh, offset);
}

/* Defines KIND_NAME: checks AT, an offset in etypes, takes the turn, and calls ROMIO.  PARAMS
 * begins with `MPI_File fh`. */
#define ENTRY_AT(kind, name, at, alone, params, args)                                              \
    int ROMIO_File_##name params;                                                                  \
    int kind##_##name params                                                                       \
    {                                                                                              \
        int rc = zcache_check_offset(fh, at);                                                      \
        struct zcache_handle *taken;                                                               \
                                                                                                   \
        if (rc != MPI_SUCCESS)                                                                     \
            return zcache_raise(fh, rc, "MPI_File_" #name);                                        \
        taken = zcache_enter(fh, alone);                                                           \
        return zcache_leave(taken, fh, ROMIO_File_##name args, "MPI_File_" #name);                 \
    }                                                                                              \
    int kind##_##name params

/* As ENTRY_AT(), for calls without an offset, zcache_entry_NAME. */
#define ENTRY(name, alone, params, args) ENTRY_AT(zcache_entry, name, 0, alone, params, args)

#endif
