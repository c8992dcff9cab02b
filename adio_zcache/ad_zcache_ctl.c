/* ad_zcache_ctl.c - sync, size, truncation, preallocation, deletion, features. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "ad_zcache.h"
#include "ad_zcache_seams.h"
#include "zc_events.h"
#include "zc_log.h"
#include "zc_options.h"
#include "zcache_collective_check.h"
#include "zcache_collective_error.h"
#include "zcache_error.h"
#include "zcache_file.h"
#include "zcache_network.h"
#include "zcache_steps.h"
#include "zcache_stores.h"
#include "zcache_timing.h"

/* Rank 0 does it, all learn what came of it. */
static int by_rank_0(ADIO_File fd, int (*fn)(struct zcache_file *, uint64_t), uint64_t arg)
{
    struct zcache_file *f = zcache_file_of(fd);
    struct zc_error o = {0};
    int rank;

    MPI_Comm_rank(fd->comm, &rank);
    if (rank == 0)
        zc_error_keep(&o, fn(f, arg));
    return zcache_collective_error_bcast(&o, 0, fd->comm);
}

/* Rank 0 asks for all, when all have written. */
static int sync_together(ADIO_File fd, uint64_t level)
{
    int rc;

    if (zcache_file_of(fd)->settings.steps)
        return zcache_steps_sync(fd, (enum zc_level)level);
    rc = zcache_collective_error_barrier(fd->comm);
    return rc ? rc : by_rank_0(fd, zcache_owners_sync_collective, level);
}

/* MPI_File_sync.  Programs also call it on single ranks, so no rank waits for another here, unless
 * the hint romio_synchronized_flush says that all ranks call, or zcache_steps requires it. */
void ADIOI_ZCACHE_Flush(ADIO_File fd, int *error_code)
{
    struct zcache_file *f = zcache_file_of(fd);
    uint64_t level = f->settings.sync_level;
    bool together = fd->hints->synchronizing_flush == ADIOI_HINT_ENABLE || f->settings.steps;
    struct zcache_stopwatch watch;
    uint64_t began = zc_event_begin();

    zc_error_clear();
    zcache_watch_start(f->timing, &watch);
    zcache_set_error(error_code, together ? sync_together(fd, level) : zcache_owners_sync(f, level),
                     "cannot write back", f->path);
    zcache_watch_sync(f->timing, &watch);
    zc_event_end(ZC_EVENT_SYNC, began, 0);
}

void ADIOI_ZCACHE_Resize(ADIO_File fd, ADIO_Offset size, int *error_code)
{
    zc_error_clear();
    zcache_set_error(error_code, by_rank_0(fd, zcache_owners_truncate, (uint64_t)size),
                     "cannot resize", zcache_file_of(fd)->path);
}

/* Whether all ranks ask for the same size, and may. */
static bool sizes_agree(ADIO_File fd, MPI_Offset size, struct zcache_collective_check *r)
{
    if (size < 0)
        zcache_refuse(r, MPI_ERR_ARG, "invalid size %lld", (long long)size);
    if (fd->access_mode & ADIO_RDONLY)
        zcache_refuse(r, MPI_ERR_READ_ONLY, "it is open for reading only");
    return zcache_collective_check_agree(r, size, "size", fd->comm);
}

int zcache_set_size(ADIO_File fd, MPI_Offset size)
{
    struct zcache_collective_check r = {0};
    int code;

    zc_error_clear();
    if (fd->access_mode & ADIO_SEQUENTIAL)
        zcache_refuse(&r, MPI_ERR_UNSUPPORTED_OPERATION, "it is open in sequential mode");
    if (!sizes_agree(fd, size, &r))
        return zcache_collective_check_code(&r, "cannot resize", zcache_file_of(fd)->path);
    ADIO_Resize(fd, size, &code);
    return code;
}

int zcache_preallocate(ADIO_File fd, MPI_Offset size)
{
    struct zcache_collective_check r = {0};
    int code, rc;

    zc_error_clear();
    if (!sizes_agree(fd, size, &r))
        return zcache_collective_check_code(&r, "cannot preallocate", zcache_file_of(fd)->path);
    rc = size ? by_rank_0(fd, zcache_owners_allocate, (uint64_t)size) : 0;
    zcache_set_error(&code, rc, "cannot preallocate", zcache_file_of(fd)->path);
    return code;
}

int zcache_set_atomicity(ADIO_File fd, int flag)
{
    struct zcache_collective_check r = {0};

    zc_error_clear();
    if (!zcache_collective_check_agree(&r, !!flag, "flag", fd->comm))
        return zcache_collective_check_code(&r, "cannot change the atomic mode of",
                                            zcache_file_of(fd)->path);
    fd->atomicity = !!flag;
    return MPI_SUCCESS;
}

static void get_size(ADIO_File fd, ADIO_Fcntl_t *arg, int *error_code)
{
    struct zcache_file *f = zcache_file_of(fd);
    uint64_t size;
    int rc = zcache_owners_size(f, &size);

    arg->fsize = rc ? -1 : (ADIO_Offset)size;
    zcache_set_error(error_code, rc, "cannot tell the size of", f->path);
}

void ADIOI_ZCACHE_Fcntl(ADIO_File fd, int flag, ADIO_Fcntl_t *arg, int *error_code)
{
    zc_error_clear();
    switch (flag) {
    case ADIO_FCNTL_GET_FSIZE:
        get_size(fd, arg, error_code);
        break;
    case ADIO_FCNTL_SET_DISKSPACE: /* by rank 0 alone: the others are in a barrier */
        zcache_set_error(error_code,
                         zcache_owners_allocate(zcache_file_of(fd), (uint64_t)arg->diskspace),
                         "cannot preallocate", zcache_file_of(fd)->path);
        break;
    case ADIO_FCNTL_SET_ATOMICITY:
        fd->atomicity = arg->atomicity != 0;
        *error_code = MPI_SUCCESS;
        break;
    default:
        *error_code = zcache_mpi_errorf(MPI_ERR_ARG, "zcache: unknown file control %d", flag);
    }
}

void ADIOI_ZCACHE_Delete(const char *filename, int *error_code)
{
    struct zc_settings settings;
    struct zcache_store *store;
    char *path;
    int rc;

    zc_error_clear();
    rc = zc_settings_init(&settings);
    if (rc == 0) {
        zcache_network_adopt(&settings);
        rc = zcache_store_get(&settings, -1, &store);
    }
    if (rc == 0) {
        path = zcache_absolute(filename);
        rc = path ? zc_store_unlink(zcache_store_files(store), path)
                  : zc_errorf(ENOMEM, "no absolute path");
        free(path);
        zcache_network_keep(&settings);
        zcache_store_put(store, zcache_network_is_loss(rc));
    }
    zc_settings_free(&settings);
    zcache_set_error(error_code, rc, "cannot delete", filename);
}

/* Only what is true of every file, with daemons or without. */
int ADIOI_ZCACHE_Feature(ADIO_File fd, int flag)
{
    (void)fd;
    switch (flag) {
    case ADIO_IMMEDIATELY_VISIBLE: /* a write returns when the owner of the block has it */
    case ADIO_SCALABLE_RESIZE:     /* rank 0 resizes for all */
    case ADIO_UNLINK_AFTER_CLOSE:
    case ADIO_SHARED_FP:
    case ADIO_ATOMIC_MODE: /* accesses lock what they touch themselves */
        return 1;
    default: /* no fcntl locks, no data sieving */
        return 0;
    }
}

/* ROMIO asks for a lock before some accesses in atomic mode, which take their own. */
int ADIOI_ZCACHE_SetLock(ADIO_File fd, int cmd, int type, ADIO_Offset offset, int whence,
                         ADIO_Offset len)
{
    (void)fd;
    (void)cmd;
    (void)type;
    (void)offset;
    (void)whence;
    (void)len;
    return MPI_SUCCESS;
}
