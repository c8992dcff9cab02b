/* zcache_owner.h - the aggregators that own the blocks of an open file.
 *
 * Known to every rank since the open; block b belongs to owner zc_place_aggregator(b).  A
 * rank that is the owner itself uses its cache directly, others connect at first use.
 */
#ifndef ZCACHE_OWNER_H
#define ZCACHE_OWNER_H

#include <stdint.h>

#include "zc_client.h"
#include "zc_place.h"
#include "zc_wire.h"
#include "zcache_agg.h"

struct zcache_owner {
    int rank;        /* in the file's communicator */
    uint64_t number; /* of the open file there */
    uint32_t addr_len;
    unsigned char addr[ZC_MAX_ADDRESS];
    struct zc_handle *local;  /* this rank's own cache, or NULL */
    struct zc_client *client; /* else: the connection, once made; atomic */
};

struct zcache_file;

/* Connects to the owners in the background while the program goes on: loading libfabric alone
 * takes a third of a second.  A failure is met again by the first access.  One of f->jobs. */
void zcache_owners_warm(struct zcache_file *f);

/* The connection to an owner that is not this rank. */
int zcache_owner_client(struct zcache_file *f, struct zcache_owner *o, struct zc_client **out);

/* The largest size any owner knows of, bytes. */
int zcache_owners_size(struct zcache_file *f, uint64_t *size);
/* Bytes of the file that wait to be written back: `dirty` in the job's aggregators, `unstored`
 * in them and in the daemons, other jobs' there included.  Never too few; bytes on their way
 * from one to the other may count twice. */
int zcache_owners_backlog(struct zcache_file *f, uint64_t *dirty, uint64_t *unstored);
int zcache_owners_truncate(struct zcache_file *f, uint64_t size);
int zcache_owners_allocate(struct zcache_file *f, uint64_t size);
/* Everything written before reaches `level`; then owners drop what others may have changed.
 * Every owner is asked; the first failure is returned.  Every owner tells every rank as often as
 * any other of what has failed: a round of syncs, one of each rank, has the same verdict on all
 * of them, though none waits for another. */
int zcache_owners_sync(struct zcache_file *f, enum zc_level level);
/* The same by one rank, which tells the others what came of it. */
int zcache_owners_sync_for_all(struct zcache_file *f, enum zc_level level);

#endif
