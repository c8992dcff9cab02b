/* zc_coord.h - what the ranks of an open file share besides its bytes: the shared file pointer, and
 * locks on ranges of the file.  Kept by the file's first aggregator.
 *
 * The pointer belongs to an epoch, which begins at 0 when all ranks set a new view.  A late rank
 * still uses the previous epoch: two are kept.
 *
 * Conflicting range locks (ranges that overlap, one of them exclusive) are granted in the order of
 * the requests.
 *
 * Threads: any; one lock inside, not held while granted() runs.
 */
#ifndef ZC_COORD_H
#define ZC_COORD_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_list.h"
#include "zc_wire.h"

struct zc_coord;
struct zc_shmring;

struct zc_coord *zc_coord_create(void); /* NULL: no memory */
/* Moves the pointer to the control page, where clients of this host may add to it themselves, if
 * there is room (zc_ring.h); to call before its first use.  `p` must outlive it; NULL: no
 * effect. */
void zc_coord_use_ring(struct zc_coord *s, struct zc_shmring *p);
/* Returns 1 plus its index there; 0: it is not there. */
uint32_t zc_coord_shared(const struct zc_coord *s);
void zc_coord_destroy(struct zc_coord *s); /* no lock is held or waited for; NULL: no effect */

/* Adds to the pointer of an epoch, or sets it; *was: its previous value.  On an error nothing has
 * changed.  -EOVERFLOW: beyond 2^63; -ESTALE: an old epoch. */
int zc_coord_pointer(struct zc_coord *s, enum zc_pointer what, uint64_t epoch, uint64_t value,
                     uint64_t *was);

/* A lock on [off, off + len), held or waited for.  Owned by the caller until it is unlocked. */
struct zc_range_lock {
    uint64_t off, len;
    bool exclusive;
    uint64_t owner;                           /* 0, or the owner that zc_coord_find() searches */
    void (*granted)(struct zc_range_lock *l); /* called by the thread that releases another lock */
    uint64_t number;                          /* set by lock(); not 0 */
    bool held;                                /* private from here on */
    void *waiter;
    struct zc_list link;
};

/* Requests the lock.  True: granted, and granted() is not called. */
bool zc_coord_lock(struct zc_coord *s, struct zc_range_lock *l);
/* Requests the lock and blocks until it is granted; ignores `granted`. */
void zc_coord_lock_wait(struct zc_coord *s, struct zc_range_lock *l);
void zc_coord_unlock(struct zc_coord *s, struct zc_range_lock *l);
/* Returns the lock held by this owner (NULL: by any) with the lowest number from `from` on; NULL:
 * none. */
struct zc_range_lock *zc_coord_find(struct zc_coord *s, const uint64_t *owner, uint64_t from);

#endif
