/* zcache_attempt.h - an open of a file at all owners of a group, for the ranks of a communicator.
 *
 * What has been opened is closed again when the attempt comes to nothing, and what the file has
 * got of it is taken back.
 */
#ifndef ZCACHE_ATTEMPT_H
#define ZCACHE_ATTEMPT_H

#include <stdbool.h>

#include "zcache_attach.h"
#include "zcache_group.h"
#include "zcache_owner.h"

/* What all ranks learn of an owner: where this open is, and, in a new group, where he is. */
struct zcache_entry {
    uint64_t number;
    int32_t rc; /* what the owner met: 0 or a negative errno */
    uint32_t way_len;
    unsigned char way[ZCACHE_WAY];
    unsigned char group[16]; /* of a new group's first owner: its id */
    struct zcache_member member;
    struct zcache_in_force in_force; /* there, once it has the file open */
};

struct zcache_attempt {
    ADIO_File fd;
    const struct zcache_opening *o;
    struct zcache_file *f;
    struct zcache_group *g;
    bool new;                  /* the group is only being made */
    bool reachable;            /* owners elsewhere, by what is for processes of their host */
    bool served;               /* other processes may ask us */
    int *ranks;                /* of the owners, or -1 for one elsewhere */
    struct zcache_entry *all;  /* of the owners */
    struct zc_handle *handle;  /* this rank's own */
    int mine;                  /* which owner this is, or -1 */
    struct zcache_entry entry; /* this one's */
};

/* Collective: the same outcome on every rank: that of the lowest that failed. */
int zcache_attempt_agree(struct zcache_attempt *a, int rc);
/* Local: the attempt's group becomes the file's, and its settings those in force. */
int zcache_attempt_take(struct zcache_attempt *a);
/* Collective: which owners are among the ranks, and whether those who are not can be reached by all
 * as processes of their host. */
int zcache_attempt_look(struct zcache_attempt *a);
/* Collective: the owners of a new group are ready for others, and this rank knows who they are; the
 * others may not yet. */
int zcache_attempt_introduce(struct zcache_attempt *a);
/* Collective: opens at all owners; which of them are among the ranks is known. */
int zcache_attempt_open(struct zcache_attempt *a);
/* Local, where a rank is the only owner of a new group, by that rank: the first of introduce(), and
 * of open(), into a->entry; and by each rank, with that: the rest of both. */
int zcache_attempt_present(struct zcache_attempt *a);
int zcache_attempt_open_here(struct zcache_attempt *a);
void zcache_attempt_hear(struct zcache_attempt *a, const struct zcache_entry *e);
/* Local: it came to nothing. */
void zcache_attempt_undo(struct zcache_attempt *a);
/* Frees what the attempt itself has. */
void zcache_attempt_end(struct zcache_attempt *a);

#endif
