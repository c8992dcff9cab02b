/* zcache_owner.h - the aggregators that own the blocks of an open file.
 *
 * Known to every rank since the open; block b belongs to owner zc_place_aggregator(b).  A
 * rank that is the owner itself uses its cache directly, others connect at first use.
 */
#ifndef ZCACHE_OWNER_H
#define ZCACHE_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_client.h"
#include "zc_place.h"
#include "zc_wire.h"
#include "zcache_agg.h"

struct zcache_owner {
    int rank;            /* in the file's communicator, or -1 */
    bool elsewhere;      /* not in it: rank 0 has opened the file there, for all */
    uint32_t world_rank; /* of the job, for messages */
    uint64_t number;     /* of the open file there */
    uint32_t way_len;
    unsigned char way[ZCACHE_WAY];
    struct zc_handle *local;  /* this rank's own cache, or NULL: zcache_owner_here() */
    struct zc_client *client; /* else: the connection, once made; atomic */
};

struct zcache_file;

/* Connects to the owners in the background while the program goes on: loading libfabric alone
 * takes a third of a second.  A failure is met again by the first access.  One of f->jobs. */
void zcache_owners_warm(struct zcache_file *f);

/* This rank's own cache, if it is this rank, with all that others have left for it before; NULL: it
 * is not. */
struct zc_handle *zcache_owner_here(struct zcache_file *f, const struct zcache_owner *o);

/* The connection to an owner that is not this rank; another one, where the one there was broke
 * because of another owner. */
int zcache_owner_client(struct zcache_file *f, struct zcache_owner *o, struct zc_client **out);
/* A call through *c has failed with *rc.  True: because of another owner, and it is to be made
 * again through *c, which is another connection now.  Not for what has an effect twice. */
bool zcache_owner_again(struct zcache_file *f, struct zcache_owner *o, struct zc_client **c,
                        int *rc);

/* The view of this rank's handle has been replaced; or the file is to be closed, and no access is
 * under way: the owners need what they keep of it no more. */
void zcache_owners_view_replaced(struct zcache_file *f);
void zcache_owners_views_end(struct zcache_file *f);

/* The largest size any owner knows of, bytes. */
int zcache_owners_size(struct zcache_file *f, uint64_t *size);
/* Bytes of the file that wait to be written back: `dirty` in the job's aggregators, `unstored`
 * in them and in the daemons, other jobs' there included.  Never too few; bytes on their way
 * from one to the other may count twice. */
int zcache_owners_backlog(struct zcache_file *f, uint64_t *dirty, uint64_t *unstored);
/* By the first owner, then by the others.  -EREMOTEIO: the file has that size now, though not all
 * that cache it could be told; any other error: it is as it was, as far as is known. */
int zcache_owners_truncate(struct zcache_file *f, uint64_t size);
int zcache_owners_allocate(struct zcache_file *f, uint64_t size);
/* Those that are elsewhere write back everything written before; they close the file, of which
 * nothing is written back.  Every one is asked; the first failure is returned.  By rank 0, which
 * opened it there. */
int zcache_owners_flush_elsewhere(struct zcache_file *f, enum zc_level level);
int zcache_owners_close_elsewhere(struct zcache_file *f);
/* Begins that in the background, one of f->jobs.  Failures are told by later flushes. */
void zcache_owners_flush_later(struct zcache_file *f);
/* Everything written before reaches `level`; then owners drop what others may have changed.
 * Every owner is asked; the first failure is returned.  Every owner tells every rank as often as
 * any other of what has failed: a round of syncs, one of each rank, has the same verdict on all
 * of them, though none waits for another. */
int zcache_owners_sync(struct zcache_file *f, enum zc_level level);
/* The same by one rank, which tells the others what came of it. */
int zcache_owners_sync_for_all(struct zcache_file *f, enum zc_level level);

#endif
