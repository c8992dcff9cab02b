/* zcache_file.h - what the driver keeps of an open file, in ADIO_File.fs_ptr.
 *
 * ROMIO passes hints before it opens, so the struct exists from the first set_info on;
 * `owners` is NULL until the file is open.
 */
#ifndef ZCACHE_FILE_H
#define ZCACHE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "adio.h"
#include "zc_coord.h"
#include "zc_list.h"
#include "zc_settings.h"
#include "zcache_jobs.h"
#include "zcache_owner.h"
#include "zcache_stores.h"

struct zcache_measure;

struct zcache_file {
    struct zc_settings settings; /* the same on every rank once the file is open */
    struct zc_settings asked;    /* by MPI_File_set_info; shares the texts of settings */
    char bad_env[256];           /* what is wrong with the environment, or empty */
    struct zcache_store *store;  /* shared with other files: zcache_stores.h */
    bool near;                   /* all ranks are on one host: zcache_vote.h */
    bool accesses_ended;         /* before all ranks have met to close: zcache_close_begins() */
    struct zcache_agg *agg;      /* this rank's aggregator, if it is one of this file */
    struct zcache_group *group;  /* who owns the file in this job */
    struct zcache_owner *owners; /* the same on every rank, but for what is local */
    uint32_t nowners;
    struct zcache_in_force in_force; /* what the owners among the ranks did at the open, the least;
                                        UINT64_MAX: none is among them */
    uint64_t failures;               /* to reach aggregators, before this open: zcache_peer.h */
    struct zc_place place;
    struct zcache_layout *layout; /* of fd->filetype; NULL: never set, all bytes */
    struct zc_coord *coord;       /* if this rank is the first aggregator; else NULL */
    uint64_t epoch;               /* of the shared pointer: how often the view was set */
    int64_t pointer;              /* individual, as a view offset; see zcache_fileview.h */
    bool order_waived;            /* collective reads wait for nobody now: zcache_order.h */
    unsigned orders;              /* collective reads that have waited, or begun to */
    MPI_Request *owed;            /* what others were given instead of reads that failed here */
    int nowed;
    struct zcache_jobs jobs;        /* accesses under way in threads of their own */
    struct zc_list requests;        /* not completed; guarded by the lock of ad_zcache_nb.c */
    struct zcache_job *split;       /* a split collective access, between begin and end */
    char *path;                     /* absolute */
    struct zcache_measure *measure; /* NULL: nothing is measured */
};

static inline struct zcache_file *zcache_file_of(ADIO_File fd)
{
    return fd->fs_ptr;
}

/* The driver's part of a file handle, made at the first call; NULL: no memory. */
struct zcache_file *zcache_file_get(ADIO_File fd);
void zcache_file_free(ADIO_File fd);
/* What is known of its owners, with their secrets; none is left. */
void zcache_file_forget_owners(struct zcache_file *f);

/* Path and store of the file, for a rank that needs them; 0 or a negative errno, explained.  Calls
 * MPI. */
int zcache_file_store(ADIO_File fd, int rank);

/* The absolute path of a file name, allocated; NULL with errno. */
char *zcache_absolute(const char *name);

#endif
