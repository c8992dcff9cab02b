/*
 * How an exported function is made from the one of ROMIO.
 *
 * ROMIO's PMPI_File_x was renamed to ROMIO_File_x when its library was copied (see
 * romio-symbols). Each function here locks what has to be locked, calls it, and raises the error
 * that came back, with no lock held: an error handler may use the file, or leave by longjmp.
 */
#ifndef ZCACHE_ENTRY_H
#define ZCACHE_ENTRY_H

#include "zcache_plugin.h"
#include "ad_zcache_seams.h"

/* When a call takes the lock of the file; see zcache_plugin.h. Never for a collective call. */
enum zcache_locking {
    LOCK_NEVER,
    LOCK_FOREIGN, /* unless the file is one of zcache's: explicit offsets */
    LOCK_ALWAYS,  /* file pointers */
};

/* The record whose lock was taken, NULL if none was. */
static inline struct zcache_handle *zcache_enter(MPI_File fh, enum zcache_locking locking)
{
    struct zcache_handle *h;

    if (locking == LOCK_NEVER)
        return NULL;
    h = zcache_handle_of(fh);
    if (!h || (locking == LOCK_FOREIGN && fh->file_system == ADIO_ZCACHE))
        return NULL;
    pthread_mutex_lock(&h->lock);
    return h;
}

static inline int zcache_leave(struct zcache_handle *locked, MPI_File fh, int rc, const char *fn)
{
    if (locked)
        pthread_mutex_unlock(&locked->lock);
    return rc == MPI_SUCCESS ? rc : zcache_raise(fh, rc, fn);
}

/*
 * Whether etype OFFSET of the view can be a byte of a file: ROMIO multiplies without looking. An
 * MPI error code. Negative offsets are left to ROMIO.
 */
static inline int zcache_check_offset(MPI_File fh, MPI_Offset offset)
{
    if (offset <= 0 || !zcache_handle_of(fh) || fh->file_system != ADIO_ZCACHE)
        return MPI_SUCCESS;
    return zcache_offset_error(fh, offset);
}

/* PMPI_File_NAME and MPI_File_NAME, for an access at etype AT; PARAMS begin with MPI_File fh. */
#define ENTRY_AT(name, at, locking, params, args)                                                  \
    int ROMIO_File_##name params;                                                                  \
    int PMPI_File_##name params;                                                                   \
    int MPI_File_##name params;                                                                    \
    int PMPI_File_##name params                                                                    \
    {                                                                                              \
        int rc = zcache_check_offset(fh, at);                                                      \
        struct zcache_handle *locked;                                                              \
                                                                                                   \
        if (rc != MPI_SUCCESS)                                                                     \
            return zcache_raise(fh, rc, "MPI_File_" #name);                                        \
        locked = zcache_enter(fh, locking);                                                        \
        return zcache_leave(locked, fh, ROMIO_File_##name args, "MPI_File_" #name);                \
    }                                                                                              \
    int MPI_File_##name params __attribute__((alias("PMPI_File_" #name)))

/* The same without an offset. */
#define ENTRY(name, locking, params, args) ENTRY_AT(name, 0, locking, params, args)

#endif
