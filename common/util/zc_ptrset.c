/* zc_ptrset.c - a set of pointers that is read without a lock.
 *
 * An open-addressed table with linear probing, at most half full.  A reader follows a run of slots
 * from the pointer's home slot to the first empty one.  Invariants that make this safe without a
 * lock:
 *   - a slot that holds a member changes by zc_ptrset_remove() of that member alone;
 *   - a run is never shortened below a member: a removed slot becomes empty only when the next one
 *     is empty, else it becomes REMOVED;
 *   - a table that was replaced is kept, with what it held then.  A reader that still uses it looks
 *     for a pointer that was added before, since a later one comes with the new table.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "zc_ptrset.h"

enum { FIRST_SLOTS = 64 };

static char removed;
#define REMOVED ((void *)&removed)

static void slot_set(struct zc_ptrset_table *t, size_t i, void *p)
{
    __atomic_store_n(&t->slot[i & (t->slots - 1)], p, __ATOMIC_RELEASE);
}

/* Puts `p` into a table that has room. */
static void put(struct zc_ptrset_table *t, void *p)
{
    size_t i = zc_ptrset_home(t, p);
    void *q;

    while ((q = zc_ptrset_slot(t, i)) && q != REMOVED)
        i++;
    t->filled += !q;
    t->members++;
    slot_set(t, i, p);
}

/* Makes a table of `slots` with the members of `old`, which may be NULL. */
static struct zc_ptrset_table *bigger(struct zc_ptrset_table *old, size_t slots)
{
    struct zc_ptrset_table *t = calloc(1, sizeof *t + slots * sizeof *t->slot);

    if (!t)
        return NULL;
    t->slots = slots;
    t->older = old;
    t->reserved = old ? old->reserved : 0;
    for (size_t i = 0; old && i < old->slots; i++) {
        void *p = zc_ptrset_slot(old, i);

        if (p && p != REMOVED)
            put(t, p);
    }
    return t;
}

int zc_ptrset_reserve(struct zc_ptrset *s)
{
    struct zc_ptrset_table *t = s->table, *made;

    if (!t || 2 * (t->filled + t->reserved + 1) > t->slots) {
        made = bigger(t, t ? 2 * t->slots : FIRST_SLOTS);
        if (!made)
            return -ENOMEM;
        t = made;
        __atomic_store_n(&s->table, t, __ATOMIC_RELEASE);
    }
    t->reserved++;
    return 0;
}

void zc_ptrset_unreserve(struct zc_ptrset *s)
{
    s->table->reserved--;
}

void zc_ptrset_add(struct zc_ptrset *s, void *p)
{
    s->table->reserved--;
    put(s->table, p);
}

void zc_ptrset_remove(struct zc_ptrset *s, const void *p)
{
    struct zc_ptrset_table *t = s->table;
    size_t i;

    if (!t || !p || zc_ptrset_slot(t, i = zc_ptrset_find(t, p)) != p)
        return;
    t->members--;
    slot_set(t, i, REMOVED);
    if (zc_ptrset_slot(t, i + 1))
        return;
    for (i += t->slots; zc_ptrset_slot(t, i) == REMOVED; i--) {
        slot_set(t, i, NULL);
        t->filled--;
    }
}
