/* ad_zcache_shfp.c - shared file pointers and atomic mode.
 *
 * Both ask the file's first aggregator (zcache_shared.h); there is no hidden file and no
 * fcntl lock.  In atomic mode an access holds a lock on the bytes from its first to its last,
 * shared by readers.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>

#include "ad_zcache.h"
#include "zc_log.h"
#include "zcache_error.h"
#include "zcache_fileview.h"
#include "ad_zcache_seams.h"
#include "zcache_shared.h"

void zcache_shared_pointer_add(ADIO_File fd, ADIO_Offset incr, ADIO_Offset *was, int *error_code)
{
    struct zcache_file *f = zcache_file_of(fd);
    int64_t old;
    int rc;

    zc_error_clear();
    rc = incr < 0 ? zc_errorf(EINVAL, "negative count")
                  : zcache_shared_pointer(f, ZC_POINTER_ADD, (uint64_t)incr, &old);
    zcache_set_error(error_code, rc, "cannot move the shared file pointer of", f->path);
    *was = rc ? -1 : old; /* ROMIO starts nonblocking accesses there all the same */
}

void zcache_shared_pointer_set(ADIO_File fd, ADIO_Offset value, int *error_code)
{
    struct zcache_file *f = zcache_file_of(fd);
    int64_t old;

    zc_error_clear();
    zcache_set_error(error_code, zcache_shared_pointer(f, ZC_POINTER_SET, (uint64_t)value, &old),
                     "cannot set the shared file pointer of", f->path);
}

/* What this rank asks for, in etypes; what is no count or no type is refused by its access. */
static int64_t etypes(ADIO_File fd, MPI_Aint count, MPI_Datatype type)
{
    MPI_Count size;
    int64_t bytes;

    if (count < 0 || type == MPI_DATATYPE_NULL || MPI_Type_size_x(type, &size) != MPI_SUCCESS ||
        __builtin_mul_overflow(count, size, &bytes))
        return 0;
    return bytes / fd->etype_size;
}

/* The last rank knows the sum, and moves the pointer for all. */
int zcache_ordered_offset(ADIO_File fd, MPI_Aint count, MPI_Datatype type, MPI_Offset *at)
{
    struct zcache_file *f = zcache_file_of(fd);
    struct {
        int64_t base;
        int32_t rc;
        char text[500];
    } o = {0};
    int64_t mine = etypes(fd, count, type), before = 0;
    int rank, size, code, rc;

    zc_error_clear();
    MPI_Comm_rank(fd->comm, &rank);
    MPI_Comm_size(fd->comm, &size);
    code = MPI_Exscan(&mine, &before, 1, MPI_INT64_T, MPI_SUM, fd->comm);
    if (code != MPI_SUCCESS)
        return code;
    if (rank == 0)
        before = 0; /* undefined until here */
    if (rank == size - 1) {
        o.rc = zcache_shared_pointer(f, ZC_POINTER_ADD, (uint64_t)(before + mine), &o.base);
        snprintf(o.text, sizeof o.text, "%s", o.rc ? zc_error_text(o.rc) : "");
    }
    code = MPI_Bcast(&o, sizeof o, MPI_BYTE, size - 1, fd->comm);
    if (code != MPI_SUCCESS)
        return code;
    *at = o.base + before;
    rc = o.rc ? zc_errorf(-o.rc, "%s", o.text) : 0;
    zcache_set_error(&code, rc, "cannot move the shared file pointer of", f->path);
    return code;
}

/* ---- atomic mode ---- */

/* All of a view whose tiles reach into each other. */
static void range_of(const struct zcache_access *a, int64_t *off, int64_t *len)
{
    int64_t last;

    *off = a->disp;
    *len = INT64_MAX - a->disp;
    if (!a->view) {
        *off += a->view_offset;
        *len = a->len;
    } else if (zc_view_monotone(a->view) &&
               zc_view_to_file(a->view, a->disp, a->view_offset, off) == 0 &&
               zc_view_to_file(a->view, a->disp, a->view_offset + a->len - 1, &last) == 0) {
        *len = last + 1 - *off;
    }
}

int64_t zcache_transfer_atomic(const struct zcache_access *a)
{
    struct zcache_lock lock;
    int64_t off, len, n;
    int rc;

    if (a->len == 0 || a->view_offset < 0)
        return zcache_transfer(a);
    range_of(a, &off, &len);
    rc = zcache_lock(a->f, a->dir == ZCACHE_WRITE, off, len, &lock);
    if (rc)
        return rc;
    n = zcache_transfer(a);
    if (n < 0) { /* its explanation is the one that counts */
        char text[400];

        snprintf(text, sizeof text, "%s", zc_error_text((int)n));
        zcache_unlock(a->f, &lock);
        return zc_errorf(-(int)n, "%s", text);
    }
    rc = zcache_unlock(a->f, &lock);
    return rc ? rc : n;
}
