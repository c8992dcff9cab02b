/* File handles: the memory behind an MPI_File, and its Fortran number. */
#ifndef ZCACHE_HANDLE_H
#define ZCACHE_HANDLE_H

#include "adio.h"
#include "zc_ptrset.h"
#include "zcache_mpi_lock.h"

/*
 * The plugin's record of a file handle. It lies behind ROMIO's part in the same allocation, since
 * ROMIO frees a handle whose open failed without telling. Until the open has succeeded it must
 * therefore own nothing.
 */
struct zcache_handle {
    struct zcache_mpi_lock mpi_lock; /* independent calls; see zcache_entry.h */
    MPI_Errhandler errh;             /* written by zcache_errh.c, under its lock */
    MPI_Fint fint;      /* Fortran handle, 0 while there is none; lock of zcache_handle.c */
    MPI_Datatype *kept; /* types that nonblocking calls may still need; freed with the handle */
    int nkept;          /* lock of zcache_handle.c */
};

#define ZCACHE_HANDLE_OFFSET ((sizeof(struct ADIOI_FileD) + 15) & ~(size_t)15)

/* The plugin's open files; written by zcache_handle.c, under its lock. */
extern struct zc_ptrset zcache_handle_set;

/* Returns the record of FH, one of the plugin's handles. */
static inline struct zcache_handle *zcache_handle_record(MPI_File fh)
{
    return (struct zcache_handle *)((char *)fh + ZCACHE_HANDLE_OFFSET);
}

/* Returns the record of FH, one of the plugin's open files; NULL if FH is MPI_FILE_NULL, was
 * closed, or is a handle of the MPI library's. Without a lock. */
static inline struct zcache_handle *zcache_handle_of(MPI_File fh)
{
    return zc_ptrset_has(&zcache_handle_set, fh) ? zcache_handle_record(fh) : NULL;
}

/*
 * An open reserves room first, and afterwards gives the handle, which is one of the plugin's from
 * now on, or MPI_FILE_NULL if it failed. Returns 0 or -ENOMEM.
 */
int zcache_handle_reserve(void);
void zcache_handle_opened(MPI_File fh);

/* Frees *TYPE when the handle goes. */
void zcache_handle_keep(struct zcache_handle *h, MPI_Datatype *type);

/* Functions that ROMIO expects in the MPI library. */
MPI_File MPIO_File_create(int size);
ADIO_File MPIO_File_resolve(MPI_File fh);
void MPIO_File_free(MPI_File *fh);
MPI_Fint MPIO_File_c2f(MPI_File fh);
MPI_File MPIO_File_f2c(MPI_Fint fint);

#endif
