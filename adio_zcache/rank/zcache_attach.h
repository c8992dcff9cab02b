/* zcache_attach.h - an open finds those who own the file, or makes its ranks own it; together.
 *
 * All opens of a file by processes of the job use the same owners (zcache_group.h), if they can
 * know of each other: a rank of the communicator has the file open, or the card of those who have
 * lies at the file (zc_store_meet()).  Each open has handles of its own at the owners, so that
 * pointers, locks and modes are its own: owners that are among its ranks open and export the file
 * themselves, the others are asked to by rank 0, for all (ZC_OPEN_FOR_ALL).
 */
#ifndef ZCACHE_ATTACH_H
#define ZCACHE_ATTACH_H

#include "adio.h"
#include "zc_store.h"
#include "zc_tp_local.h"

struct zcache_file;

struct zcache_opening {
    int rank;                     /* in the communicator */
    unsigned flags;               /* ZC_OPEN_READ, _WRITE */
    struct zc_attr attr;          /* of the file, the same on every rank: as rank 0 sees it */
    uint64_t dev;                 /* its device as it is numbered here; 0: not known */
    uint32_t servers;             /* daemons */
    struct zc_sfile *sfile;       /* rank 0: the file in the store */
    struct zc_tp_local_card card; /* this rank's, for others to try; no pid: none */
};

/* Collective; the same outcome on every rank.  Fills in group, place, owners and settings in force
 * of the file. */
int zcache_attach(ADIO_File fd, const struct zcache_opening *o);

/* This rank's share of writing everything back, and then, when all ranks have done that, with what
 * came of it, of closing: nobody else uses this open any more. */
int zcache_detach_flush(ADIO_File fd, enum zc_level level);
/* Instead of that: the file is deleted when it is closed. */
void zcache_detach_doom(ADIO_File fd);
int zcache_detach(ADIO_File fd, int flushed);

#endif
