/* zcache_open_owners.h - opens a file at all owners of an owner set, for the ranks of a
 * communicator.
 *
 * If the attempt fails, everything opened is closed again, and what the file has taken over is
 * taken back.
 */
#ifndef ZCACHE_OPEN_OWNERS_H
#define ZCACHE_OPEN_OWNERS_H

#include <stdbool.h>

#include "zcache_open_join.h"
#include "zcache_owner.h"
#include "zcache_ownerset.h"

/* An owner's message to all ranks: this open's handle there, and, in a new owner set, its
 * address. */
struct zcache_entry {
    uint64_t number;
    int32_t rc; /* the owner's result: 0 or a negative errno */
    uint32_t contact_len;
    unsigned char contact[ZCACHE_CONTACT];
    unsigned char ownerset[16]; /* of a new owner set's first owner: the set's id */
    struct zcache_member member;
    struct zcache_in_force in_force; /* at the owner, once it has the file open, as is: */
    struct zc_quiescence quiescence;
};

struct zcache_open_owners {
    ADIO_File fd;
    const struct zcache_opening *o;
    struct zcache_file *f;
    struct zcache_ownerset *g;
    bool new;                    /* the owner set is only being made */
    bool reachable;              /* all ranks can reach the owners by the local transport */
    bool served;                 /* this owner serves other processes */
    int *ranks;                  /* of the owners, or -1 for one elsewhere */
    struct zcache_entry *all;    /* of the owners */
    struct zcache_owner *owners; /* memory for the file's owners, or NULL: take() allocates it */
    struct zc_handle *handle;    /* this rank's own */
    int mine;                    /* index of this owner, or -1 */
    struct zcache_entry entry;   /* this one's */
};

/* Returns the flags an owner opens the file with; the store gets those in ZC_OPEN_ALL. */
unsigned zcache_open_owners_flags(const struct zcache_file *f, unsigned access);

/* Combines the results; collective.  Returns, on every rank, that of the lowest rank that
 * failed. */
int zcache_open_owners_agree(struct zcache_open_owners *a, int rc);
/* Local: makes the attempt's owner set the file's, with its settings. */
int zcache_open_owners_take(struct zcache_open_owners *a);
/* Collective: finds which owners are among the ranks, and whether all ranks can reach the owners by
 * the local transport. */
int zcache_open_owners_check(struct zcache_open_owners *a);
/* Collective: the owners of a new owner set are ready, and this rank knows them; other ranks may
 * not yet. */
int zcache_open_owners_introduce(struct zcache_open_owners *a);
/* Collective: opens at all owners; which of them are among the ranks is known. */
int zcache_open_owners_open(struct zcache_open_owners *a);
/* Local, for a new owner set with one owner; by that owner: the first part of introduce() and of
 * open(), into a->entry; and by each rank, with that entry: the rest of both. */
int zcache_open_owners_present(struct zcache_open_owners *a);
int zcache_open_owners_open_here(struct zcache_open_owners *a);
void zcache_open_owners_receive(struct zcache_open_owners *a, const struct zcache_entry *e);
/* An open by the whole job whose ranks are known to be on one host, with rank 0 as the only owner:
 * one message from rank 0 has both the file's layout and the owner's entry (zcache_open_join.c).
 * begin() returns whether this rank could take part; all ranks have to, otherwise they call
 * quick_end().  own() is for rank 0, which sends its entry to the others; *done false: nothing has
 * changed, else the result is that of the open.  take() is for the others. */
bool zcache_open_quick_begin(ADIO_File fd, struct zcache_open_owners *a);
int zcache_open_quick_own(struct zcache_open_owners *a, const struct zcache_opening *o,
                          struct zcache_entry *e, bool *done);
void zcache_open_quick_take(struct zcache_open_owners *a, const struct zcache_opening *o,
                            const struct zcache_entry *e);
void zcache_open_quick_end(struct zcache_open_owners *a);
/* Local: undoes a failed attempt. */
void zcache_open_owners_undo(struct zcache_open_owners *a);
/* Frees what the attempt itself has. */
void zcache_open_owners_end(struct zcache_open_owners *a);

#endif
