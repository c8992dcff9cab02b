/* zcache_open_join.h - finds the owner set of a file, or makes the ranks of an open its owners;
 * collective.
 *
 * All opens of a file by processes of the job use the same owners (zcache_ownerset.h), if they can
 * find each other: a rank of the communicator has the file open, or there is a rendezvous record at
 * the file (zc_store_rendezvous()).  Each open has its own handles at the owners, and so its own
 * pointers, locks and modes: owners among its ranks open and export the file themselves, the others
 * do so for all on request of rank 0 (ZC_OPEN_EXPORTED).
 */
#ifndef ZCACHE_OPEN_JOIN_H
#define ZCACHE_OPEN_JOIN_H

#include "adio.h"
#include "zc_store.h"
#include "zc_tp_local.h"

struct zcache_file;

struct zcache_opening {
    int rank;                /* in the communicator */
    unsigned flags;          /* ZC_OPEN_READ, _WRITE, _SOLE */
    struct zc_attr attr;     /* of the file, the same on every rank: rank 0's */
    uint64_t dev;            /* its device number on this host; 0: unknown */
    uint32_t servers;        /* daemons */
    struct zc_sfile **sfile; /* rank 0: the file in the store; NULL there after the owner's cache
                                has taken it over */
    unsigned sfile_flags;    /* flags of that open */
    bool give; /* the owner's cache may take it over: its own open would have no other effect */
    uint64_t before; /* zc_cache_changes() before that open, where no rank but 0 has acted since;
                        else ZC_CHANGES_UNKNOWN */
    struct zc_tp_local_probe probe; /* this rank's, for others to try; no pid: none */
};

/* Opens the file at its owners; collective, the same result on every rank.  Fills in owner set,
 * stripe, owners and settings in force. */
int zcache_open_join(ADIO_File fd, const struct zcache_opening *o);

/* This rank's part of writing everything back, and then, when all ranks have done that, with its
 * result, of closing: this open is not used any more. */
int zcache_detach_flush(ADIO_File fd, enum zc_level level);
/* Instead of a flush: the file is deleted when it is closed. */
void zcache_detach_unlink_pending(ADIO_File fd);
int zcache_detach(ADIO_File fd, int flushed);

#endif
