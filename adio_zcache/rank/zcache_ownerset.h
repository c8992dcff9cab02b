/* zcache_ownerset.h - the owners of a file's blocks in this job.
 *
 * Pages, size and dirty bytes belong to the file, and the aggregators that cache them to the file's
 * owner set: the next open by any process, through whatever communicator and under whatever name,
 * uses the same aggregators (zcache_open_join.h).  An owner set begins with an open that finds
 * none, and lasts as long as any process has the file open, or an owner has bytes that could not be
 * written back, which the next open has to find.
 *
 * A process knows the owner sets of the files it has open, and those that it is an owner of while
 * others have files open at it: an owner that does not know a set reports that it has ended.  A
 * rendezvous record is an owner set as bytes, for others: its id, its stripe, the settings in force
 * in its caches, and the owners' addresses.
 *
 * Threads: any.  The public members do not change while a caller has a reference.
 */
#ifndef ZCACHE_OWNERSET_H
#define ZCACHE_OWNERSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zc_list.h"
#include "zc_options.h"
#include "zc_store.h"
#include "zc_stripe.h"
#include "zc_wire.h"
#include "zcache_agg.h"
#include "zcache_process.h"
#include "zcache_stores.h"

/* Contacts of an owner (zcache_agg_conn.h) for processes of its host, and for all; length 0:
 * none. */
struct zcache_member {
    unsigned char process[ZCACHE_PROCESS_ID];
    uint32_t world_rank; /* for messages: zcache_owner_label() */
    uint32_t near_len, far_len;
    unsigned char near[ZCACHE_CONTACT], far[ZCACHE_CONTACT];
};

struct zcache_ownerset {
    uint64_t dev, ino;    /* `dev` as numbered on this host, and not in the record; 0: unknown */
    unsigned char id[16]; /* random */
    struct zc_stripe stripe;
    struct zc_agreed agreed; /* in force; from the requests of the open that began it */
    uint32_t nowners;
    struct zcache_member *owners; /* the first holds the record */

    /* private, under the lock of zcache_ownerset.c */
    struct zc_list link;
    bool expected;              /* the file is not open at all of its owners yet */
    unsigned users;             /* opens of this process */
    unsigned attached;          /* handles of other processes here */
    bool owing;                 /* other owners may have bytes that could not be written back */
    bool whole;                 /* made by opens of the whole job only: every process knows it */
    bool over;                  /* its last open ends without a record: no process is admitted */
    bool paid;                  /* at the end: these have been tried once more */
    struct zcache_agg *agg;     /* this process's, which owns blocks; else NULL */
    struct zcache_store *store; /* below it; holds a reference */
    struct zc_publication *publication; /* the record published at the file */
};

/* Returns the owner set of a file that this process knows, or NULL.  Without daemons device numbers
 * differ between hosts, also for a shared file system.  Release with put(). */
struct zcache_ownerset *zcache_ownerset_find(uint64_t dev, uint64_t ino);
/* Returns a new one, with zeroed owners, unknown to others before enter(); NULL: no memory. */
struct zcache_ownerset *zcache_ownerset_new(const struct zc_stripe *place);
/* Admits processes that find its record from now on, before the file is open at its owners.
 * Returns `g`; or, with a reference, the one that another open of this process has got from the
 * record, and releases `g`. */
struct zcache_ownerset *zcache_ownerset_expect(struct zcache_ownerset *g);
/* Registers it as the file's, which is open at its owners.  If the file has another one and
 * `unless_known`: returns that, with a reference, and releases `g`; else returns `g`. */
struct zcache_ownerset *zcache_ownerset_enter(struct zcache_ownerset *g, bool unless_known);
/* Notes the result of the flush by all owners at the end of an open: after a failure each owner
 * stays, for the others' sake as well. */
void zcache_ownerset_owe(struct zcache_ownerset *g, int rc);
/* On the first owner, at the end of an open of the whole job; `rc`: the result of its flush.
 * Returns whether the owner set outlives the open and has no record; the caller then publishes one
 * before the ranks go on.  If false, no process is admitted from now on. */
bool zcache_ownerset_needs_record(struct zcache_ownerset *g, int rc);
/* Releases a reference; NULL: no effect.  May call the store. */
void zcache_ownerset_put(struct zcache_ownerset *g);

/* Makes the record, allocated; 0 or a negative errno, explained. */
int zcache_ownerset_record(const struct zcache_ownerset *g, void **record, size_t *len);
/* Returns the owner set of a record: the one this process knows, or one made from the record, of a
 * file on device `dev`.  -ESTALE: it has ended, as this process would know it. */
int zcache_ownerset_of_record(const void *record, size_t len, uint64_t dev,
                              struct zcache_ownerset **out);

/* Notes whether only opens by the whole job have used it (true), or some processes have joined it
 * by themselves. */
void zcache_ownerset_set_whole(struct zcache_ownerset *g, bool whole);
/* Whether every owner set that this process knows is known to all processes of the job. */
bool zcache_ownerset_all_whole(void);

/* Returns the index of this process among the owners, or -1. */
int zcache_ownerset_mine(const struct zcache_ownerset *g);
/* Returns its number, unique in the job. */
uint64_t zcache_ownerset_number(const struct zcache_ownerset *g);
/* Returns the aggregator of this process.  The owner set keeps the store. */
struct zcache_agg *zcache_ownerset_agg(struct zcache_ownerset *g);
struct zcache_agg *zcache_ownerset_own(struct zcache_ownerset *g, struct zcache_agg *agg,
                                       struct zcache_store *store);
/* Takes over the record published at the file, until its last close. */
void zcache_ownerset_sit(struct zcache_ownerset *g, struct zc_publication *publication);

#endif
