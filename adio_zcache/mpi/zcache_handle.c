/*
 * File handles: which are the plugin's, the memory behind an MPI_File, and its Fortran number.
 *
 * The MPI library has handles of the same type for the files that it serves. A set tells which are
 * the plugin's: nothing of a handle is looked at before.
 *
 * A Fortran handle is the low half of the address wherever that is free, so that a pointer to an
 * MPI_File is also, on a little-endian machine, a pointer to the Fortran handle. Error handlers
 * written in Fortran are called like those in C, with such a pointer, and nothing tells the two
 * apart: this way both find what they expect. The MPI library counts its files from 1, so none of
 * the plugin's numbers is below LIBRARY_FINTS.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "zc_lock.h"
#include "zcache_errh.h"
#include "zcache_handle.h"

/* Fortran handles that the MPI library may give to its files; a power of two. */
#define LIBRARY_FINTS ((uint32_t)1 << 20)

static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_HANDLES);

/* The plugin's open files; changed under the lock. */
struct zc_ptrset zcache_handle_set;

/* Open files that have a Fortran handle, in no order; under the lock. */
static MPI_File *fint_table;
static int fint_used, fint_size;

int zcache_handle_reserve(void)
{
    int rc;

    zc_lock_get(&lock);
    rc = zc_ptrset_reserve(&zcache_handle_set);
    zc_lock_put(&lock);
    return rc;
}

void zcache_handle_opened(MPI_File fh)
{
    zc_lock_get(&lock);
    if (fh == MPI_FILE_NULL)
        zc_ptrset_unreserve(&zcache_handle_set);
    else
        zc_ptrset_add(&zcache_handle_set, fh);
    zc_lock_put(&lock);
}

static uint32_t low_half(const void *p)
{
    return (uint32_t)(uintptr_t)p;
}

/* Zeroed memory whose address can be a Fortran handle, below 4 GiB of which LIBRARY_FINTS begin. */
static void *allocate(size_t size)
{
    void *p = calloc(1, size), *other;

    if (!p || low_half(p) >= LIBRARY_FINTS)
        return p;
    free(p);
    /* Of two different multiples of LIBRARY_FINTS one will do. */
    p = aligned_alloc(LIBRARY_FINTS, (size + LIBRARY_FINTS - 1) & ~(size_t)(LIBRARY_FINTS - 1));
    if (p && !low_half(p)) {
        other = aligned_alloc(LIBRARY_FINTS, LIBRARY_FINTS);
        free(p);
        p = other;
    }
    return p ? memset(p, 0, size) : NULL;
}

/* Zeroed memory that free() frees: ROMIO does so itself when an open fails. */
MPI_File MPIO_File_create(int size)
{
    MPI_File fh;
    struct zcache_handle *h;

    if ((size_t)size != sizeof(struct ADIOI_FileD))
        return MPI_FILE_NULL;
    fh = allocate(ZCACHE_HANDLE_OFFSET + sizeof(*h));
    if (!fh)
        return MPI_FILE_NULL;
    h = zcache_handle_record(fh);
    zcache_mpi_lock_init(&h->mpi_lock, ZCACHE_MPI_LOCK_FILE);
    h->errh = MPI_ERRORS_RETURN;
    return fh;
}

ADIO_File MPIO_File_resolve(MPI_File fh)
{
    return fh;
}

void zcache_handle_keep(struct zcache_handle *h, MPI_Datatype *type)
{
    MPI_Datatype *bigger;

    zc_lock_get(&lock);
    bigger = realloc(h->kept, (h->nkept + 1) * sizeof(*bigger));
    /* Without memory the type leaks, which harms less than freeing it under an access. */
    if (bigger) {
        h->kept = bigger;
        h->kept[h->nkept++] = *type;
    }
    zc_lock_put(&lock);
    *type = MPI_DATATYPE_NULL;
}

static void fint_forget(MPI_File fh)
{
    zc_lock_get(&lock);
    for (int i = 0; i < fint_used; i++) {
        if (fint_table[i] == fh) {
            fint_table[i] = fint_table[--fint_used];
            break;
        }
    }
    zc_lock_put(&lock);
}

void MPIO_File_free(MPI_File *fh)
{
    struct zcache_handle *h = zcache_handle_record(*fh);

    zc_lock_get(&lock);
    zc_ptrset_remove(&zcache_handle_set, *fh);
    zc_lock_put(&lock);
    if (h->fint)
        fint_forget(*fh);
    for (int i = 0; i < h->nkept; i++)
        PMPI_Type_free(&h->kept[i]);
    free(h->kept);
    zcache_errh_release(h->errh);
    zcache_mpi_lock_destroy(&h->mpi_lock);
    (*fh)->cookie = 0; /* a stale handle is refused for as long as the memory is not reused */
    free(*fh);
    *fh = MPI_FILE_NULL;
}

/* With the lock held. */
static MPI_File fint_find(MPI_Fint fint)
{
    zc_assert_held(&lock);
    for (int i = 0; i < fint_used; i++) {
        if (zcache_handle_record(fint_table[i])->fint == fint)
            return fint_table[i];
    }
    return MPI_FILE_NULL;
}

MPI_Fint MPIO_File_c2f(MPI_File fh)
{
    struct zcache_handle *h = zcache_handle_of(fh);
    MPI_Fint fint;

    if (!h)
        return 0; /* MPI_FILE_NULL */
    zc_lock_get(&lock);
    if (!h->fint && fint_used == fint_size) {
        int size = fint_size ? 2 * fint_size : 16;
        MPI_File *bigger = realloc(fint_table, size * sizeof(*bigger));

        if (bigger) {
            fint_table = bigger;
            fint_size = size;
        }
    }
    if (!h->fint && fint_used < fint_size) {
        fint = (MPI_Fint)low_half(fh);
        while ((uint32_t)fint < LIBRARY_FINTS || fint_find(fint) != MPI_FILE_NULL)
            fint = (MPI_Fint)((uint32_t)fint + 1);
        h->fint = fint;
        fint_table[fint_used++] = fh;
    }
    fint = h->fint;
    zc_lock_put(&lock);
    return fint;
}

MPI_File MPIO_File_f2c(MPI_Fint fint)
{
    MPI_File fh;

    if (!fint)
        return MPI_FILE_NULL;
    zc_lock_get(&lock);
    fh = fint_find(fint);
    zc_lock_put(&lock);
    return fh;
}
