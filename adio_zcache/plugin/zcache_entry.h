/*
 * How an exported function is made from the one of ROMIO.
 *
 *     MPI_File_x = PMPI_File_x   (zcache_entry*.c, exported)
 *         turns, large counts, raising of errors
 *     ROMIO_File_x               (ROMIO's PMPI_File_x, renamed when its library was copied)
 *         calls back: MPIO_File_create, MPIO_Err_create_code, ... (zcache_handle.c,
 * zcache_romio_error.c) ADIOI_Fns slots            (the driver, or one of ROMIO's)
 *
 * Threads. ROMIO built this way has no locks of its own. Protected here:
 *   - its initialisation and its attribute keys     zcache_once.c, one process-wide lock
 *   - the flattened datatypes it caches              zcache_once.c
 *   - the parser of cb_config_list                   zcache_once.c
 *   - registered data representations                zcache_entry.c
 *   - Fortran handles, error handlers, error codes   zcache_handle.c, zcache_errh.c, zcache_error.c
 *   - the individual and the shared file pointer of one file against other threads of the same
 *     process: independent calls that use one wait for their turn at the file (zcache_turn.h). For
 *     files of other drivers those with an explicit offset do so too, since some drivers seek.
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
#include "zcache_handle.h"

/* ROMIO's: a request that is complete, with a status of BYTES. */
void MPIO_Completed_request_create(MPI_File *fh, MPI_Offset bytes, int *error_code,
                                   MPI_Request *request);

/* When a call waits for its turn at the file. Never a collective call. */
enum zcache_alone {
    ALONE_NEVER,
    ALONE_FOREIGN, /* unless the file is one of zcache's: explicit offsets */
    ALONE_ALWAYS,  /* file pointers */
};

static inline bool zcache_is_ours(MPI_File fh)
{
    return zcache_handle_of(fh) && fh->file_system == ADIO_ZCACHE;
}

/* The record of the file whose turn was taken, NULL if none was. */
static inline struct zcache_handle *zcache_enter(MPI_File fh, enum zcache_alone alone)
{
    struct zcache_handle *h;

    if (alone == ALONE_NEVER)
        return NULL;
    h = zcache_handle_of(fh);
    if (!h || (alone == ALONE_FOREIGN && fh->file_system == ADIO_ZCACHE))
        return NULL;
    zcache_turn_take(&h->turn);
    return h;
}

static inline int zcache_leave(struct zcache_handle *taken, MPI_File fh, int rc, const char *fn)
{
    if (taken)
        zcache_turn_give(&taken->turn);
    return rc == MPI_SUCCESS ? rc : zcache_raise(fh, rc, fn);
}

/*
 * Whether etype OFFSET of the view can be a byte of a file: ROMIO multiplies without looking. An
 * MPI error code. Negative offsets are left to ROMIO.
 */
static inline int zcache_check_offset(MPI_File fh, MPI_Offset offset)
{
    if (offset <= 0 || !zcache_is_ours(fh))
        return MPI_SUCCESS;
    return zcache_offset_error(fh, offset);
}

/* PMPI_File_NAME and MPI_File_NAME, for an access at etype AT; PARAMS begin with MPI_File fh. */
#define ENTRY_AT(name, at, alone, params, args)                                                    \
    int ROMIO_File_##name params;                                                                  \
    int PMPI_File_##name params;                                                                   \
    int MPI_File_##name params;                                                                    \
    int PMPI_File_##name params                                                                    \
    {                                                                                              \
        int rc = zcache_check_offset(fh, at);                                                      \
        struct zcache_handle *taken;                                                               \
                                                                                                   \
        if (rc != MPI_SUCCESS)                                                                     \
            return zcache_raise(fh, rc, "MPI_File_" #name);                                        \
        taken = zcache_enter(fh, alone);                                                           \
        return zcache_leave(taken, fh, ROMIO_File_##name args, "MPI_File_" #name);                 \
    }                                                                                              \
    int MPI_File_##name params __attribute__((alias("PMPI_File_" #name)))

/* The same without an offset. */
#define ENTRY(name, alone, params, args) ENTRY_AT(name, 0, alone, params, args)

#endif
