/* zc_coord.h - what the ranks of an open file share besides its bytes: the shared file
 * pointer, and locks on ranges of the file.  Kept by the file's first aggregator.
 *
 * The pointer belongs to an epoch, which begins when all ranks set a new view, at 0.  A rank
 * that is late still uses the one before: two are kept.
 *
 * Range locks are granted in the order they were asked for, as far as they conflict: ranges
 * that overlap, one of them exclusive.
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
struct zc_posts;

struct zc_coord *zc_coord_create(void); /* NULL: no memory */
/* The pointer comes to lie where clients of this host may add to it by themselves, if there is room
 * (zc_post.h); before anybody uses it.  `p` outlives it; NULL: nothing happens. */
void zc_coord_share(struct zc_coord *s, struct zc_posts *p);
/* Where: 1 and its number there; 0: it does not. */
uint32_t zc_coord_shared(const struct zc_coord *s);
void zc_coord_destroy(struct zc_coord *s); /* nobody holds a lock or waits; NULL is fine */

/* Adds to the pointer of an epoch, or sets it; *was is what it was before.  -EOVERFLOW: it
 * would lie beyond 2^63; -ESTALE: the epoch is long past.  Then nothing has changed. */
int zc_coord_pointer(struct zc_coord *s, enum zc_pointer what, uint64_t epoch, uint64_t value,
                     uint64_t *was);

/* A lock on [off, off + len), held or waited for.  Belongs to the caller until it is
 * unlocked. */
struct zc_range_lock {
    uint64_t off, len;
    bool exclusive;
    uint64_t owner;                           /* 0, or who is looked for by zc_coord_find() */
    void (*granted)(struct zc_range_lock *l); /* by the thread that unlocked another */
    uint64_t number;                          /* set by lock(); not 0 */
    bool held;                                /* private from here on */
    void *waiter;
    struct zc_list link;
};

/* True: granted, and granted() is not called. */
bool zc_coord_lock(struct zc_coord *s, struct zc_range_lock *l);
/* Waits instead; `granted` is set. */
void zc_coord_lock_wait(struct zc_coord *s, struct zc_range_lock *l);
void zc_coord_unlock(struct zc_coord *s, struct zc_range_lock *l);
/* Of the locks this owner holds, the one with the lowest number from `from` on; NULL: none. */
struct zc_range_lock *zc_coord_find(struct zc_coord *s, uint64_t owner, uint64_t from);
/* The same of all that are held, whoever holds them. */
struct zc_range_lock *zc_coord_held(struct zc_coord *s, uint64_t from);

#endif
