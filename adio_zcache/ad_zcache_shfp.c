/* ad_zcache_shfp.c - shared file pointers: the file's first aggregator has them (zcache_coord.h),
 * and no hidden file.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>

#include "ad_zcache_seams.h"
#include "zc_error.h"
#include "zc_log.h"
#include "zcache_error.h"
#include "zcache_file.h"
#include "zcache_coord.h"

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
        struct zc_error error;
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
        rc = zcache_shared_pointer(f, ZC_POINTER_ADD, (uint64_t)(before + mine), &o.base);
        zc_error_keep(&o.error, rc);
    }
    code = MPI_Bcast(&o, sizeof o, MPI_BYTE, size - 1, fd->comm);
    if (code != MPI_SUCCESS)
        return code;
    *at = o.base + before;
    rc = zc_error_raise(&o.error);
    zcache_set_error(&code, rc, "cannot move the shared file pointer of", f->path);
    return code;
}
