/* ad_zcache_seek.c - file pointers and offsets in etypes of the view.
 *
 * ROMIO's generic functions for these use its own flattening of datatypes.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "ad_zcache.h"
#include "ad_zcache_seams.h"
#include "zc_log.h"
#include "zcache_error.h"
#include "zcache_file.h"
#include "zcache_fileview.h"
#include "zcache_collective_error.h"
#include "zcache_coord.h"

ADIO_Offset ADIOI_ZCACHE_SeekIndividual(ADIO_File fd, ADIO_Offset offset, int whence,
                                        int *error_code)
{
    int64_t view_off;
    int rc;

    (void)whence;
    zc_error_clear();
    rc = zcache_view_etypes(fd, offset, &view_off);
    if (rc == 0)
        zcache_pointer_set(fd, view_off);
    zcache_set_error(error_code, rc, "cannot seek in", zcache_file_of(fd)->path);
    return fd->fp_ind;
}

ADIO_Offset zcache_position(ADIO_File fd)
{
    return zcache_pointer(fd) / fd->etype_size;
}

ADIO_Offset zcache_byte_offset(ADIO_File fd, ADIO_Offset offset)
{
    int64_t view_off, at;

    if (zcache_view_etypes(fd, offset, &view_off) ||
        zcache_view_to_file(fd, view_off, &at)) /* a view without bytes, or too far */
        return fd->disp;
    return at;
}

/* Returns the end in etypes; a partial last etype counts. */
static int end_of_file(ADIO_File fd, int64_t *offset)
{
    uint64_t size;
    int rc = zcache_owners_size(zcache_file_of(fd), &size);

    if (rc == 0)
        *offset = (zcache_view_before(fd, (int64_t)size) + fd->etype_size - 1) / fd->etype_size;
    return rc;
}

ADIO_Offset zcache_eof_offset(ADIO_File fd)
{
    int64_t offset = 0;

    return end_of_file(fd, &offset) ? 0 : offset;
}

int zcache_offset_error(ADIO_File fd, MPI_Offset offset)
{
    int64_t view_off;
    int code;

    zc_error_clear();
    zcache_set_error(&code, zcache_view_etypes(fd, offset, &view_off), "cannot access",
                     zcache_file_of(fd)->path);
    return code;
}

/* Computes the target of a seek from etype `from`: etype *offset, which is byte *view_off. */
static int target(ADIO_File fd, int64_t from, int whence, int64_t *offset, int64_t *view_off)
{
    int rc = 0;

    if (whence == MPI_SEEK_SET)
        from = 0;
    else if (whence == MPI_SEEK_END)
        rc = end_of_file(fd, &from);
    else if (whence != MPI_SEEK_CUR)
        rc = zc_errorf(EINVAL, "there is no such way to seek");
    if (rc == 0 && __builtin_add_overflow(from, *offset, offset))
        rc = zc_errorf(EOVERFLOW, "the offset lies beyond 2^63");
    return rc ? rc : zcache_view_etypes(fd, *offset, view_off);
}

static int seek(ADIO_File fd, int64_t offset, int whence)
{
    int64_t view_off;
    int rc = target(fd, zcache_position(fd), whence, &offset, &view_off);

    if (rc == 0)
        zcache_pointer_set(fd, view_off);
    return rc;
}

/* Done by one rank. */
static int seek_shared(ADIO_File fd, int64_t offset, int whence)
{
    struct zcache_file *f = zcache_file_of(fd);
    int64_t from, view_off;
    int rc = zcache_shared_pointer(f, ZC_POINTER_ADD, 0, &from);

    if (rc == 0)
        rc = target(fd, from, whence, &offset, &view_off);
    return rc ? rc : zcache_shared_pointer(f, ZC_POINTER_SET, (uint64_t)offset, &from);
}

/* Collective; the same error on each rank. */
static int seek_together(ADIO_File fd, int64_t offset, int whence)
{
    int64_t mine[2] = {offset, whence}, first[2] = {offset, whence};
    struct zc_error o = {0};
    int rank, rc;

    MPI_Comm_rank(fd->comm, &rank);
    rc = zcache_collective_error_mpi(MPI_Bcast(first, 2, MPI_INT64_T, 0, fd->comm));
    if (rc == 0 && memcmp(mine, first, sizeof mine))
        rc = zc_errorf(EINVAL, "not all ranks ask for the same place");
    zc_error_keep(&o, rc);
    rc = zcache_collective_error_agree(&o, fd->comm); /* no rank uses the old pointer any more */
    if (rc)
        return rc;
    if (rank == 0)
        zc_error_keep(&o, seek_shared(fd, offset, whence));
    return zcache_collective_error_bcast(&o, 0, fd->comm);
}

static int seek_by(ADIO_File fd, int (*how)(ADIO_File fd, int64_t offset, int whence),
                   MPI_Offset offset, int whence)
{
    const char *path = zcache_file_of(fd)->path;
    int code;

    if (fd->access_mode & ADIO_SEQUENTIAL)
        return zcache_mpi_errorf(MPI_ERR_UNSUPPORTED_OPERATION,
                                 "zcache: %s is open in sequential mode", path);
    zc_error_clear();
    zcache_set_error(&code, how(fd, offset, whence), "cannot seek in", path);
    return code;
}

int zcache_seek_shared(ADIO_File fd, MPI_Offset offset, int whence)
{
    return seek_by(fd, seek_together, offset, whence);
}

int zcache_seek(ADIO_File fd, MPI_Offset offset, int whence)
{
    return seek_by(fd, seek, offset, whence);
}
