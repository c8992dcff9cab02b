/* ad_zcache_rdwr.c - blocking reads and writes, independent and collective.
 *
 * A collective access is every rank's own access: owners of blocks, not rounds of
 * exchange, keep them from getting in each other's way.
 */
#include "config.h"

#include "ad_zcache.h"
#include "zc_log.h"
#include "zcache_file.h"
#include "zcache_mpi.h"
#include "zcache_pieces.h"

/* The view offset (bytes) an access begins at.  In the contiguous slots an explicit offset
 * is a byte of the file, in the strided ones an etype of the view. */
static MPI_Offset start_of(ADIO_File fd, int file_ptr_type, ADIO_Offset offset, int strided)
{
    if (file_ptr_type == ADIO_INDIVIDUAL)
        return zcache_view_offset(fd, fd->fp_ind);
    return strided ? offset * fd->etype_size : zcache_view_offset(fd, offset);
}

static void count_bytes(struct zcache_file *f, enum zcache_dir dir, MPI_Offset n)
{
    if (dir == ZCACHE_WRITE) {
        __atomic_add_fetch(&f->writes, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&f->written_bytes, (uint64_t)n, __ATOMIC_RELAXED);
    } else {
        __atomic_add_fetch(&f->reads, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&f->read_bytes, (uint64_t)n, __ATOMIC_RELAXED);
    }
}

MPI_Offset zcache_slot(struct zcache_slot_args *s, int *error_code)
{
    struct zcache_file *f = zcache_file_of(s->fd);
    struct zcache_access a = {s->fd, s->dir, s->buf, s->count, s->type, 0};
    int individual = s->file_ptr_type == ADIO_INDIVIDUAL;
    MPI_Offset n, end;
    int rc = 0;

    zc_error_clear();
    a.view_offset = start_of(s->fd, s->file_ptr_type, s->offset, s->strided);
    n = zcache_transfer(&a, individual ? &end : NULL);
    if (n < 0) {
        rc = (int)n;
        n = 0;
    } else {
        count_bytes(f, s->dir, n);
        if (individual)
            s->fd->fp_ind = s->strided ? end : s->fd->fp_ind + n;
    }
    zcache_set_error(error_code, rc, s->dir == ZCACHE_WRITE ? "cannot write" : "cannot read",
                     f->path);
    return n;
}

static void blocking(struct zcache_slot_args *s, ADIO_Status *status, int *error_code)
{
    MPI_Offset n = zcache_slot(s, error_code);

    if (status != MPI_STATUS_IGNORE)
        MPIR_Status_set_bytes(status, s->type, n);
}

#define BLOCKING(name, constant, direction, is_strided)                                            \
    void ADIOI_ZCACHE_##name(ADIO_File fd, constant void *buf, int count, MPI_Datatype type,       \
                             int file_ptr_type, ADIO_Offset offset, ADIO_Status *status,           \
                             int *error_code)                                                      \
    {                                                                                              \
        struct zcache_slot_args s = {fd,   direction,     (void *)(uintptr_t)buf, count,           \
                                     type, file_ptr_type, offset,                 is_strided};     \
                                                                                                   \
        blocking(&s, status, error_code);                                                          \
    }

BLOCKING(ReadContig, , ZCACHE_READ, 0)
BLOCKING(WriteContig, const, ZCACHE_WRITE, 0)
BLOCKING(ReadStrided, , ZCACHE_READ, 1)
BLOCKING(WriteStrided, const, ZCACHE_WRITE, 1)
