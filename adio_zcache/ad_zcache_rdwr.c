/* ad_zcache_rdwr.c - blocking reads and writes, independent and collective.
 *
 * A collective access is every rank's own access: owners of blocks, not rounds of
 * exchange, keep them from getting in each other's way.
 */
#include "config.h"

#include "ad_zcache.h"
#include "zc_log.h"
#include "zcache_file.h"

static void blocking(struct zcache_slot_args *s, ADIO_Status *status, int *error_code)
{
    struct zcache_access a;
    int64_t n;
    int rc;

    /* ROMIO converts external32 in the begin function itself. */
    if (status == &s->fd->split_status && !s->fd->is_external32) {
        zcache_split_begin(s, error_code);
        return;
    }
    zc_error_clear();
    rc = zcache_slot_begin(s, &a);
    n = rc ? rc : zcache_slot_run(&a);
    zcache_slot_error(a.dir, a.f->path, n < 0 ? (int)n : 0, error_code);
    if (rc == 0)
        zcache_slot_done(&a);
    if (status != MPI_STATUS_IGNORE)
        MPIR_Status_set_bytes(status, s->type, n < 0 ? 0 : n);
}

#define BLOCKING(name, constant, direction, is_strided)                                            \
    void ADIOI_ZCACHE_##name(ADIO_File fd, constant void *buf, zcache_count count,                 \
                             MPI_Datatype type, int file_ptr_type, ADIO_Offset offset,             \
                             ADIO_Status *status, int *error_code)                                 \
    {                                                                                              \
        struct zcache_slot_args s = {fd,     direction, (void *)(uintptr_t)buf,                    \
                                     count,  type,      file_ptr_type,                             \
                                     offset, is_strided};                                          \
                                                                                                   \
        blocking(&s, status, error_code);                                                          \
    }

BLOCKING(ReadContig, , ZCACHE_READ, 0)
BLOCKING(WriteContig, const, ZCACHE_WRITE, 0)
BLOCKING(ReadStrided, , ZCACHE_READ, 1)
BLOCKING(WriteStrided, const, ZCACHE_WRITE, 1)
