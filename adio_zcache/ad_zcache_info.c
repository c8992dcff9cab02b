/* ad_zcache_info.c - what MPI_File_set_info starts and MPI_File_get_info counts.
 *
 * ROMIO's slot for hints is called for views and opens as well, so the write-back that the
 * hint zcache_flush asks for begins in a call of its own, when MPI_File_set_info is through.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "ad_zcache_hints.h"
#include "ad_zcache_seams.h"
#include "zc_cache.h"
#include "zc_log.h"
#include "zcache_collective_error.h"
#include "zcache_counters.h"
#include "zcache_error.h"
#include "zcache_file.h"
#include "zcache_owner.h"
#include "zcache_steps.h"

/* This rank's blocks, and, for all, those of aggregators that are not among the ranks. */
static int flush_mine(struct zcache_file *f, int rank, int how)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < f->nowners; i++) {
        struct zc_handle *h = zcache_owner_here(f, &f->owners[i]);

        if (h)
            rc = how == ZCACHE_FLUSH_WAIT ? zc_cache_flush_collective(h, ZC_LEVEL_STORED)
                                          : zc_cache_flush_later(h, ZC_LEVEL_STORED);
    }
    if (rank == 0 && how == ZCACHE_FLUSH_START)
        zcache_owners_flush_later(f);
    else if (rank == 0 && rc == 0)
        rc = zcache_owners_flush_elsewhere(f, ZC_LEVEL_STORED);
    return rc;
}

/* The exchange of hints is also a barrier: the other ranks' earlier writes have ended behind it. */
void zcache_info_changed(ADIO_File fd, int *error_code)
{
    struct zcache_file *f = zcache_file_of(fd);
    struct zc_error o = {0};
    uint64_t step;
    int how, rank, rc;

    zc_error_clear();
    how = zcache_hints_change(fd, &step);
    rc = step ? zcache_steps_wait(fd, step) : 0;
    zcache_set_error(error_code, rc, "cannot read a step of", f->path);
    if (rc || how == ZCACHE_FLUSH_NONE)
        return;
    MPI_Comm_rank(fd->comm, &rank);
    zc_error_keep(&o, flush_mine(f, rank, how));
    zcache_set_error(error_code, zcache_collective_error_agree(&o, fd->comm), "cannot write back",
                     f->path);
}

static void set_bytes(MPI_Info info, const char *key, uint64_t bytes)
{
    char value[24];

    snprintf(value, sizeof value, "%" PRIu64, bytes);
    MPI_Info_set(info, key, value);
}

void zcache_info_report(ADIO_File fd, MPI_Info info, int *error_code)
{
    struct zcache_file *f = zcache_file_of(fd);
    struct zcache_in_force now;
    uint64_t dirty, unstored;
    int rc;

    zc_error_clear();
    rc = zcache_owners_backlog(f, &dirty, &unstored);
    if (rc == 0)
        rc = zcache_counters_in_force(f, &now);
    zcache_set_error(error_code, rc, "cannot tell what is not written back of", f->path);
    if (rc)
        return;
    /* Not set by ROMIO of MPICH 4.0; HDF5 looks whether it needs a sync. */
    MPI_Info_set(info, "romio_visibility_immediate", "true");
    zcache_hints_tell_size(info, now.cache_size);
    set_bytes(info, "zcache_dirty_bytes", dirty);
    set_bytes(info, "zcache_unstored_bytes", unstored);
    if (f->settings.steps || f->step_reader)
        set_bytes(info, "zcache_step", f->step);
    if (!f->settings.counters)
        return;
    rc = zcache_counters_report(f, info);
    zcache_set_error(error_code, rc, "cannot tell what the caches did for", f->path);
}
