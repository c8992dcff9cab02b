/* zcache_file.h - the driver's state of an open file, in ADIO_File.fs_ptr.
 *
 * ROMIO passes hints before it opens, so the struct exists from the first set_info on; `owners` is
 * NULL until the file is open.
 */
#ifndef ZCACHE_FILE_H
#define ZCACHE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "adio.h"
#include "zc_coord.h"
#include "zc_error.h"
#include "zc_list.h"
#include "zc_settings.h"
#include "zcache_async.h"
#include "zcache_owner.h"
#include "zcache_read_around.h"
#include "zcache_stores.h"

struct zcache_timing;

struct zcache_file {
    struct zc_settings settings; /* the same on every rank once the file is open */
    struct zc_settings asked;    /* by MPI_File_set_info; shares the texts of settings */
    struct zc_error bad_env;     /* an error in the environment */
    struct zcache_store *store;  /* shared with other files: zcache_stores.h */
    bool near;                   /* all ranks are on one host: zcache_agree.h */
    bool accesses_ended;         /* before all ranks have met to close: zcache_close_begins() */
    struct zcache_agg *agg;      /* this rank's aggregator, if it owns blocks of this file */
    struct zcache_ownerset *ownerset; /* the owners of the file in this job */
    struct zcache_owner *owners;      /* the same on every rank, except local members */
    uint32_t nowners;
    struct zcache_in_force in_force; /* minimum of the owners' settings at the open; UINT64_MAX:
                                        none is among the ranks */
    uint64_t failures;      /* failed connects to aggregators before this open: zcache_agg_conn.h */
    uint64_t striping_unit; /* value of that hint: as requested, or the file system's; bytes, 0:
                               unknown.  Rank 0 decides. */
    struct zc_stripe stripe;
    struct zcache_layout *layout;         /* of fd->filetype; NULL: never set, all bytes */
    struct zc_coord *coord;               /* if this rank is the first aggregator; else NULL */
    uint64_t epoch;                       /* of the shared pointer: how often the view was set */
    const char *datarep_name;             /* of its view; NULL: as ROMIO has it */
    const struct zcache_datarep *datarep; /* if it converts; then, too: */
    MPI_Datatype asked_types[2];          /* etype and filetype as the program sees them; copies */
    int64_t pointer;                      /* individual, as a view offset; see zcache_fileview.h */
    bool order_waived; /* collective reads do not wait now: zcache_read_barrier.h */
    unsigned orders;   /* collective reads that have waited, or begun to */
    MPI_Request *owed; /* barriers of reads that have failed here, or did not wait */
    int nowed;
    struct zcache_async_group async; /* accesses under way in background threads */
    struct zc_list requests;         /* not completed; guarded by the lock of ad_zcache_nb.c */
    struct zcache_async_op *split;   /* a split collective access, between begin and end */
    char *path;                      /* absolute */
    struct zcache_read_around around;
    struct zc_sfile *step_file;   /* rank 0: open at the daemons; for zcache_steps.c, as are: */
    bool step_reader;             /* it was opened with zcache_wait_step */
    uint64_t step, step_tried;    /* read, or published last; rank 0: last one tried */
    uint64_t step_until;          /* rank 0: end of waits during an open; ns */
    struct zcache_timing *timing; /* NULL: no measurements */

    struct zc_list open_link; /* zcache_open_files.c, under its lock, as is: */
    unsigned flushing;        /* flushes under way at the process's end */
    uint64_t flush_round;     /* the round that flushed it last */
};

static inline struct zcache_file *zcache_file_of(ADIO_File fd)
{
    return fd->fs_ptr;
}

/* Returns the placement of its blocks, for opens at a cache or a store. */
static inline struct zc_attr zcache_file_placement(const struct zcache_file *f)
{
    return (struct zc_attr){
        .block_size = f->stripe.block_size, .width = f->stripe.width, .first = f->stripe.first};
}

/* Returns the driver's part of a file handle, made at the first call; NULL: no memory. */
struct zcache_file *zcache_file_get(ADIO_File fd);
void zcache_file_free(ADIO_File fd);
/* Frees the owners, erasing their secrets. */
void zcache_file_forget_owners(struct zcache_file *f);

/* Sets path and store of the file, for a rank that needs them; 0 or a negative errno, explained.
 * Calls MPI.  The second one does not ask the store's daemons first (zcache_store_get_unasked()).
 */
int zcache_file_store(ADIO_File fd, int rank);
int zcache_file_store_unasked(ADIO_File fd, int rank);

/* Returns the flags for opens of the store's file: `access` (ZC_OPEN_READ, _WRITE, _CREATE, _EXCL),
 * with ZC_OPEN_BYPASS according to the settings. */
unsigned zcache_file_flags(const struct zcache_file *f, unsigned access);

/* Returns the absolute path of a file name, allocated; NULL with errno. */
char *zcache_absolute(const char *name);

#endif
