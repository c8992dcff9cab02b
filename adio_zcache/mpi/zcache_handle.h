/* File handles: the memory behind an MPI_File, and its Fortran number. */
#ifndef ZCACHE_HANDLE_H
#define ZCACHE_HANDLE_H

#include "adio.h"
#include "zcache_turn.h"

/*
 * What the plugin knows of a file handle; lies behind ROMIO's part in the same allocation,
 * since ROMIO frees a handle whose open failed without telling. Until the open has succeeded it
 * must therefore own nothing.
 */
struct zcache_handle {
    struct zcache_turn turn; /* independent calls; see zcache_entry.h */
    MPI_Errhandler errh;     /* written by zcache_errh.c, under its lock */
    MPI_Fint fint;           /* Fortran handle, 0 while there is none; lock of zcache_handle.c */
    MPI_Datatype *kept; /* types that nonblocking calls may still need; freed with the handle */
    int nkept;          /* lock of zcache_handle.c */
};

/* The record of FH, or NULL if FH is MPI_FILE_NULL or was closed. */
struct zcache_handle *zcache_handle_of(MPI_File fh);

/* Free *TYPE when the handle goes. */
void zcache_handle_keep(struct zcache_handle *h, MPI_Datatype *type);

/* What ROMIO expects of the MPI library. */
MPI_File MPIO_File_create(int size);
ADIO_File MPIO_File_resolve(MPI_File fh);
void MPIO_File_free(MPI_File *fh);
MPI_Fint MPIO_File_c2f(MPI_File fh);
MPI_File MPIO_File_f2c(MPI_Fint fint);

#endif
