/* zc_ptrset.h - a set of pointers with lock-free lookups.
 *
 * Readers in any thread look pointers up while others are added and removed.  A pointer added
 * before the reader got it is found; one removed concurrently may be found or not.  Pointers are
 * not dereferenced.  A set lives as long as the process: a table that became too small is kept for
 * readers, and the next one has twice its size.
 */
#ifndef ZC_PTRSET_H
#define ZC_PTRSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zc_ptrset_table;

struct zc_ptrset {
    struct zc_ptrset_table *table; /* atomic; NULL while nothing was ever reserved */
};

/* Without a lock. Inline: called for every access to a file, also one that is not zcache's. */
static inline bool zc_ptrset_has(const struct zc_ptrset *s, const void *p);

/*
 * The functions below change the set; the caller lets one thread at a time do so.
 *
 * Reserves room for one more pointer, so that the zc_ptrset_add() that follows cannot fail.  0 or
 * -ENOMEM.  zc_ptrset_unreserve() gives the room back instead.
 */
int zc_ptrset_reserve(struct zc_ptrset *s);
void zc_ptrset_unreserve(struct zc_ptrset *s);

/* Adds `p`, not NULL and not a member, in room that was reserved. */
void zc_ptrset_add(struct zc_ptrset *s, void *p);

/* Removes `p`; nothing happens if it is no member. */
void zc_ptrset_remove(struct zc_ptrset *s, const void *p);

/* ---- private to zc_ptrset.c and zc_ptrset_has() ------------------------------------- */

struct zc_ptrset_table {
    struct zc_ptrset_table *older; /* kept for readers */
    size_t slots;                  /* a power of two */
    size_t members;
    size_t reserved;
    size_t filled; /* members, and slots that were removed */
    void *slot[];  /* atomic */
};

static inline size_t zc_ptrset_home(const struct zc_ptrset_table *t, const void *p)
{
    uint64_t x = (uint64_t)(uintptr_t)p >> 4;

    return (size_t)((x * 0x9e3779b97f4a7c15) >> 32) & (t->slots - 1);
}

static inline void *zc_ptrset_slot(const struct zc_ptrset_table *t, size_t i)
{
    return __atomic_load_n(&t->slot[i & (t->slots - 1)], __ATOMIC_ACQUIRE);
}

/* Returns the slot of `p`, or the end of the run where it would be. */
static inline size_t zc_ptrset_find(const struct zc_ptrset_table *t, const void *p)
{
    size_t i = zc_ptrset_home(t, p);
    void *q;

    while ((q = zc_ptrset_slot(t, i)) && q != p)
        i++;
    return i;
}

static inline bool zc_ptrset_has(const struct zc_ptrset *s, const void *p)
{
    const struct zc_ptrset_table *t = __atomic_load_n(&s->table, __ATOMIC_ACQUIRE);

    return t && p && zc_ptrset_slot(t, zc_ptrset_find(t, p)) == p;
}

#endif
