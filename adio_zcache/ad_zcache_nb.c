/* ad_zcache_nb.c - nonblocking reads and writes.
 *
 * MPI allows a nonblocking call to do its work at once; these do, and hand out a request
 * that is complete.  An error is the result of the call that starts the operation.
 */
#include "config.h"

#include "ad_zcache.h"
#include "zc_log.h"
#include "zcache_file.h"

static void at_once(struct zcache_slot_args *s, ADIO_Request *request, int *error_code)
{
    struct zcache_access a;
    int64_t n;
    int rc;

    zc_error_clear();
    rc = zcache_slot_begin(s, &a);
    n = rc ? rc : zcache_slot_run(&a);
    zcache_slot_error(&a, n < 0 ? (int)n : 0, error_code);
    if (rc == 0)
        zcache_slot_done(&a);
    MPIO_Completed_request_create(&s->fd, n < 0 ? 0 : n, error_code, request);
}

#define AT_ONCE(name, constant, direction, is_strided)                                             \
    void ADIOI_ZCACHE_##name(ADIO_File fd, constant void *buf, int count, MPI_Datatype type,       \
                             int file_ptr_type, ADIO_Offset offset, ADIO_Request *request,         \
                             int *error_code)                                                      \
    {                                                                                              \
        struct zcache_slot_args s = {fd,   direction,     (void *)(uintptr_t)buf, count,           \
                                     type, file_ptr_type, offset,                 is_strided};     \
                                                                                                   \
        at_once(&s, request, error_code);                                                          \
    }

AT_ONCE(IreadContig, , ZCACHE_READ, 0)
AT_ONCE(IwriteContig, const, ZCACHE_WRITE, 0)
AT_ONCE(IreadStrided, , ZCACHE_READ, 1)
AT_ONCE(IwriteStrided, const, ZCACHE_WRITE, 1)
