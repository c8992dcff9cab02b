/* ad_zcache_rdwr.c - blocking reads and writes, independent and collective.
 *
 * A collective access is every rank's own access: owners of blocks, not rounds of
 * exchange, keep them from getting in each other's way.  Only reads wait for the other ranks
 * first, where they may have written (zcache_read_barrier.h).
 */
#include "config.h"

#include "ad_zcache.h"
#include "ad_zcache_seams.h"
#include "zc_events.h"
#include "zc_log.h"
#include "zcache_file.h"
#include "zcache_read_barrier.h"
#include "zcache_timing.h"

static int wait_for_ranks(ADIO_File fd)
{
    struct zcache_file *f = zcache_file_of(fd);
    struct zcache_stopwatch watch;
    int rc;

    zcache_watch_start(f->timing, &watch);
    rc = zcache_read_barrier_wait(fd);
    zcache_watch_ranks(f->timing, &watch);
    return rc;
}

static void blocking(struct zcache_slot_args *s, bool collective, ADIO_Status *status,
                     int *error_code)
{
    struct zcache_access a;
    int64_t n;
    int rc;

    zc_error_clear();
    rc = collective ? wait_for_ranks(s->fd) : 0;
    if (rc) {
        zcache_slot_error(s->dir, zcache_file_of(s->fd)->path, rc, error_code);
        return;
    }
    /* ROMIO converts external32 in the begin function itself. */
    if (status == &s->fd->split_status && !s->fd->is_external32) {
        zcache_split_begin(s, error_code);
        return;
    }
    rc = zcache_slot_begin(s, &a);
    n = rc ? rc : zcache_slot_run(&a);
    zcache_slot_error(a.dir, a.f->path, n < 0 ? (int)n : 0, error_code);
    if (rc == 0)
        zcache_slot_done(&a);
    if (status != MPI_STATUS_IGNORE)
        MPIR_Status_set_bytes(status, s->type, n < 0 ? 0 : n);
}

unsigned zcache_read_turn(ADIO_File fd)
{
    return zcache_file_of(fd)->orders;
}

void zcache_read_left(ADIO_File fd, unsigned turn, int nonblocking)
{
    if (zcache_file_of(fd)->orders == turn)
        zcache_read_barrier_join(fd, !nonblocking);
}

void zcache_reads_at_once(ADIO_File fd, int yes)
{
    zcache_file_of(fd)->order_waived = yes;
}

#define BLOCKING(name, constant, direction, is_strided, is_collective)                             \
    void ADIOI_ZCACHE_##name(ADIO_File fd, constant void *buf, zcache_count count,                 \
                             MPI_Datatype type, int file_ptr_type, ADIO_Offset offset,             \
                             ADIO_Status *status, int *error_code)                                 \
    {                                                                                              \
        struct zcache_slot_args s = {fd,     direction, (void *)(uintptr_t)buf,                    \
                                     count,  type,      file_ptr_type,                             \
                                     offset, is_strided};                                          \
        uint64_t began = zc_event_begin();                                                         \
                                                                                                   \
        blocking(&s, is_collective, status, error_code);                                           \
        zc_event_end(direction == ZCACHE_WRITE ? ZC_EVENT_WRITE : ZC_EVENT_READ, began, 0);        \
    }

BLOCKING(ReadContig, , ZCACHE_READ, 0, false)
BLOCKING(WriteContig, const, ZCACHE_WRITE, 0, false)
BLOCKING(ReadStrided, , ZCACHE_READ, 1, false)
BLOCKING(ReadStridedColl, , ZCACHE_READ, 1, true)
BLOCKING(WriteStrided, const, ZCACHE_WRITE, 1, false)
