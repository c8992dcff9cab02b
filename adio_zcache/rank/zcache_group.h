/* zcache_group.h - who owns the blocks of a file in this job.
 *
 * Pages, size and dirty bytes belong to the file, and the aggregators that have them to the group
 * of the file: whichever process opens it next, through whatever communicator and under whatever
 * name, uses the same ones (zcache_attach.h).  A group begins with an open that finds none, and
 * lasts as long as any process has the file open, or an owner has bytes of it that could not be
 * written back: whoever opens it then is to find them.
 *
 * A process knows the groups of the files it has open, and those whose owner it is while others
 * have them open at it: an owner that does not know a group says that it is gone.  A card is a
 * group as bytes, for others: its id, placement, what is in force for its caches, and where the
 * owners are.
 *
 * Threads: any.  What a group says of itself does not change while one has it.
 */
#ifndef ZCACHE_GROUP_H
#define ZCACHE_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zc_list.h"
#include "zc_place.h"
#include "zc_settings.h"
#include "zc_store.h"
#include "zc_wire.h"
#include "zcache_agg.h"
#include "zcache_process.h"
#include "zcache_stores.h"

/* The ways to an owner (zcache_peer.h) for processes of its host, and for all; no length: there is
 * none. */
struct zcache_member {
    unsigned char process[ZCACHE_PROCESS_ID];
    uint32_t world_rank; /* for messages */
    uint32_t near_len, far_len;
    unsigned char near[ZCACHE_WAY], far[ZCACHE_WAY];
};

struct zcache_group {
    uint64_t dev, ino;    /* `dev` as it is numbered here, and not in the card; 0: not known */
    unsigned char id[16]; /* random */
    struct zc_place place;
    uint64_t write_back;     /* as in zc_settings: of the open that began it, ... */
    uint64_t replay;         /* ... and what it came to */
    uint64_t on_daemon_loss; /* ... likewise */
    uint64_t checksum;       /* ... likewise */
    uint32_t nowners;
    struct zcache_member *owners; /* the first keeps the card */

    /* private, under the lock of zcache_group.c */
    struct zc_list link;
    bool expected;              /* nobody has opened the file at all of its owners yet */
    unsigned users;             /* opens of this process */
    unsigned attached;          /* handles of others here */
    bool owing;                 /* other owners may have bytes that could not be written back */
    bool paid;                  /* at the end: they have been tried once more */
    struct zcache_agg *agg;     /* of this process, which owns blocks; else NULL */
    struct zcache_store *store; /* below it, one user of which we are */
    struct zc_seat *seat;       /* the card, which is left at the file */
};

/* The group of a file as this process knows it, or NULL.  Without daemons each host has numbers of
 * its own for devices, also for a file system that all share.  Give it back with put(). */
struct zcache_group *zcache_group_find(uint64_t dev, uint64_t ino);
/* A new one, with zeros for owners, of which nobody knows before enter(); NULL: no memory. */
struct zcache_group *zcache_group_new(const struct zc_place *place);
/* Those who find its card are let in from now on, though its file is not known to be its own.
 * Returns `g`; or, with one user more, what another open of this process has by its card, and gives
 * `g` back. */
struct zcache_group *zcache_group_expect(struct zcache_group *g);
/* The file is open at its owners, and known to be its own.  When there is another one of the file,
 * and `unless_known`: returns that, with one user more, and gives `g` back; else returns `g`. */
struct zcache_group *zcache_group_enter(struct zcache_group *g, bool unless_known);
/* What a flush by all owners has come to, of an open that is about to end: each stays for the
 * others' sake, too, as long as that is not well. */
void zcache_group_owe(struct zcache_group *g, int rc);
/* One user less; NULL: nothing.  May talk to the store. */
void zcache_group_put(struct zcache_group *g);

/* As bytes, allocated; 0 or a negative errno, explained. */
int zcache_group_card(const struct zcache_group *g, void **card, size_t *len);
/* The group of a card: the one this process knows, or as the card says, of a file on device `dev`.
 * -ESTALE: it is gone, for this process would know it. */
int zcache_group_of_card(const void *card, size_t len, uint64_t dev, struct zcache_group **out);

/* Which owner this process is, or -1. */
int zcache_group_mine(const struct zcache_group *g);
/* Names it among the groups of the job. */
uint64_t zcache_group_number(const struct zcache_group *g);
/* The aggregator of this process: what was said first.  The group keeps the store. */
struct zcache_agg *zcache_group_agg(struct zcache_group *g);
struct zcache_agg *zcache_group_own(struct zcache_group *g, struct zcache_agg *agg,
                                    struct zcache_store *store);
/* The group's card lies at the file, until nobody has it open. */
void zcache_group_sit(struct zcache_group *g, struct zc_seat *seat);

#endif
