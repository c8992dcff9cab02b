/* zcache_file.h - what the driver keeps of an open file, in ADIO_File.fs_ptr.
 *
 * ROMIO passes hints before it opens, so the struct exists from the first set_info on;
 * `owners` is NULL until the file is open.
 */
#ifndef ZCACHE_FILE_H
#define ZCACHE_FILE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "adio.h"
#include "zc_list.h"
#include "zc_settings.h"
#include "zc_shared.h"
#include "zc_store.h"
#include "zc_view.h"
#include "zcache_agg.h"
#include "zcache_layout.h"
#include "zcache_owner.h"

struct zcache_file {
    struct zc_settings settings; /* the same on every rank once the file is open */
    char bad_env[256];           /* what is wrong with the environment, or empty */
    struct zc_store *store;      /* shared with other files: zcache_stores.h */
    bool near;                   /* all ranks are on one host: zcache_near.h */
    struct zcache_agg *agg;      /* this rank's aggregator, if it is one of this file */
    struct zcache_owner *owners; /* the same on every rank, but for what is local */
    uint32_t nowners;
    struct zc_place place;
    pthread_t warm; /* connects to the owners */
    bool warming;
    struct zcache_layout *layout; /* of fd->filetype; NULL: never set, all bytes */
    struct zc_shared *shared;     /* if this rank is the first aggregator; else NULL */
    uint64_t epoch;               /* of the shared pointer: how often the view was set */
    int64_t pointer;              /* individual, as a view offset; see zcache_fileview.h */
    unsigned jobs;                /* under way; guarded by the lock of zcache_jobs.c */
    struct zc_list requests;      /* not completed; guarded by the lock of ad_zcache_nb.c */
    struct zcache_job *split;     /* a split collective access, between begin and end */
    char *path;                   /* absolute */
    uint64_t read_bytes, written_bytes, reads, writes; /* of this rank */
};

static inline struct zcache_file *zcache_file_of(ADIO_File fd)
{
    return fd->fs_ptr;
}

/* The driver's part of a file handle, made at the first call; NULL: no memory. */
struct zcache_file *zcache_file_get(ADIO_File fd);
void zcache_file_free(ADIO_File fd);

/* The absolute path of a file name, allocated; NULL with errno. */
char *zcache_absolute(const char *name);

/* ---- zcache_access.c ---- */

enum zcache_dir { ZCACHE_READ, ZCACHE_WRITE };

/* One access of this rank.  All it needs is in here, so that any thread can make it, without
 * MPI; layout and view are borrowed. */
struct zcache_access {
    struct zcache_file *f;
    enum zcache_dir dir;
    void *buf;
    const struct zcache_layout *mem; /* of the buffer's elements */
    const struct zc_view *view;      /* NULL: every byte from the displacement on */
    int64_t disp;
    int64_t view_offset, len; /* bytes */
    bool atomic;              /* against other accesses through this handle */
};

/* Moves the bytes; returns how many, up to the end of the file for a read, or a negative
 * errno, explained. */
int64_t zcache_transfer(const struct zcache_access *a);
/* The same in atomic mode (ad_zcache_shfp.c). */
int64_t zcache_transfer_atomic(const struct zcache_access *a);

/* ---- ad_zcache_info.c ---- */

/* What the hint zcache_flush asks for; a call that has no use for it says so. */
enum zcache_flush { ZCACHE_FLUSH_NONE, ZCACHE_FLUSH_START, ZCACHE_FLUSH_WAIT };
void zcache_info_unused(ADIO_File fd);

/* ---- zcache_stats.c ---- */

/* Prints what was accessed and what the caches did; collective, before the caches close. */
void zcache_stats_report(ADIO_File fd);

/* ---- zcache_counters.c ---- */

/* Adds what the caches of both levels did to INFO; asks every aggregator and daemon.  0 or a
 * negative errno, explained. */
int zcache_counters_report(struct zcache_file *f, MPI_Info info);

/* ---- ad_zcache_hints.c ---- */

/* Says it once, on rank 0. */
void zcache_hints_complain(ADIO_File fd, const char *text);
/* Timeout and provider are the process's: those that cannot be had any more become those
 * in force, which is said once. */
void zcache_hints_network(ADIO_File fd);
/* Echoes the values in force. */
void zcache_hints_echo(ADIO_File fd);
/* Every rank takes the settings of rank 0 of the file's communicator. */
int zcache_hints_agree(ADIO_File fd, struct zcache_file *f);

#endif
