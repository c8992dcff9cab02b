/* zcache_owner.h - the aggregators that own the blocks of an open file.
 *
 * Known to every rank since the open; block b belongs to owner zc_stripe_aggregator(b).  A
 * rank that is the owner itself uses its cache directly, others connect at first use.
 */
#ifndef ZCACHE_OWNER_H
#define ZCACHE_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_client.h"
#include "zc_pagedesc.h"
#include "zc_stripe_ask.h"
#include "zc_wire.h"
#include "zcache_agg.h"

struct zcache_owner {
    int rank;                        /* in the file's communicator, or -1 */
    bool elsewhere;                  /* not in it: rank 0 has opened the file there, for all */
    uint32_t world_rank;             /* of the job, for messages: zcache_owner_label() */
    uint64_t number;                 /* of the open file there */
    struct zc_quiescence quiescence; /* of it, at the open */
    uint32_t contact_len;
    unsigned char contact[ZCACHE_CONTACT];
    struct zc_handle *local;  /* this rank's own cache, or NULL: zcache_owner_here() */
    struct zc_client *client; /* else: the connection, once made; atomic */
};

struct zcache_file;

/* Added to the number of a dedicated aggregator, which is no rank, in place of a world rank. */
#define ZCACHE_DEDICATED_BIT (1u << 31)

/* Writes the name of an owner for messages: "aggregator on rank 3", "dedicated aggregator 3". */
enum { ZCACHE_OWNER_LABEL = 64 };
char *zcache_owner_label(uint32_t world_rank, char label[ZCACHE_OWNER_LABEL]);

/* Connects to the owners in the background while the program goes on: loading libfabric alone
 * takes a third of a second.  A failure is met again by the first access.  One of f->async. */
void zcache_owners_warm(struct zcache_file *f);

/* Returns this rank's own cache if it is the owner, after all entries that other ranks have left in
 * its rings; else NULL. */
struct zc_handle *zcache_owner_here(struct zcache_file *f, const struct zcache_owner *o);

/* Returns the connection to an owner that is not this rank; makes a new one if the old one broke
 * because of another owner. */
int zcache_owner_client(struct zcache_file *f, struct zcache_owner *o, struct zc_client **out);
/* Returns the file for zc_stripe_ask.h and zc_stripe_part.h. */
struct zc_stripe_file zcache_owners_striped(struct zcache_file *f);

/* Tell the owners that this rank's view has been replaced, or that the file will be closed (no
 * access is under way): they need not keep the view any more. */
void zcache_owners_view_replaced(struct zcache_file *f);
void zcache_owners_views_end(struct zcache_file *f);

/* Makes all owners read that step from now on (zc_cache_read_step()); 0: none. */
int zcache_owners_read_step(struct zcache_file *f, uint64_t step);
/* Returns the largest size that an owner knows, bytes. */
int zcache_owners_size(struct zcache_file *f, uint64_t *size);
/* Returns how many bytes of the file wait to be written back: `dirty` in the job's aggregators,
 * `unstored` in them and in the daemons, those of other jobs included.  Never too few; bytes on
 * their way from an aggregator to a daemon may count twice. */
int zcache_owners_backlog(struct zcache_file *f, uint64_t *dirty, uint64_t *unstored);
/* Truncates at the first owner, then at the others.  -EREMOTEIO: the file has the new size, but an
 * owner may still cache bytes beyond it; any other error: it is unchanged as far as is known. */
int zcache_owners_truncate(struct zcache_file *f, uint64_t size);
int zcache_owners_allocate(struct zcache_file *f, uint64_t size);
/* Flush or close the file at the owners outside the communicator; a close writes nothing back.  Ask
 * all of them, and return the first failure.  Called by rank 0, which opened it there. */
int zcache_owners_flush_elsewhere(struct zcache_file *f, enum zc_level level);
int zcache_owners_close_elsewhere(struct zcache_file *f);
/* Brings all that was written before to `level`, at owners that this process is connected to: it
 * has written nothing at others.  Calls no MPI. */
int zcache_owners_flush_connected(struct zcache_file *f, enum zc_level level);
/* Starts zcache_owners_flush_elsewhere() in the background, in f->async.  A later flush reports its
 * failure. */
void zcache_owners_flush_later(struct zcache_file *f);
/* Brings all that was written before to `level`, an enum zc_level; then owners drop clean bytes
 * that others may have changed.  Asks all owners, and returns the first failure.  An owner reports
 * a failure to each rank once: a round of syncs, one of each rank, has the same result on all
 * ranks, though none waits for another. */
int zcache_owners_sync(struct zcache_file *f, uint64_t level);
/* As zcache_owners_sync(), by one rank, which passes the result to the others. */
int zcache_owners_sync_collective(struct zcache_file *f, uint64_t level);
/* As zcache_owners_sync_collective(), without dropping anything, for a file that no other job
 * writes. */
int zcache_owners_flush_collective(struct zcache_file *f, uint64_t level);

#endif
