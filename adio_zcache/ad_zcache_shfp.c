/* ad_zcache_shfp.c - shared file pointers.
 *
 * ADIO_SHARED_FP is not offered, so ROMIO refuses shared and ordered accesses before it comes
 * here; should it come all the same, it hears a clear no.
 */
#include "config.h"

#include "ad_zcache.h"
#include "zcache_mpi.h"
#include "zcache_seams.h"

static int unsupported(ADIO_File fd)
{
    return zcache_mpi_errorf(MPI_ERR_UNSUPPORTED_OPERATION,
                             "zcache: %s: shared file pointers are not supported", fd->filename);
}

void zcache_shared_pointer_add(ADIO_File fd, ADIO_Offset incr, ADIO_Offset *was, int *error_code)
{
    (void)incr;
    *was = 0;
    *error_code = unsupported(fd);
}

void zcache_shared_pointer_set(ADIO_File fd, ADIO_Offset value, int *error_code)
{
    (void)value;
    *error_code = unsupported(fd);
}
