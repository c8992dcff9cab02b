/* zcache_registry.h - what a process has one of for each key, and shares: stores, connections,
 * aggregators.
 *
 *                 get: make()                        last put, remove()
 *     (nothing) --------------> MAKING ---> READY ----------------------> GOING ---> (nothing)
 *                                  |  failed                                unmake()
 *                                  +------> (nothing)
 *
 * One thread makes an item, without any lock, while others make others.  Who asks for the same one
 * meanwhile waits, and gets what that attempt comes to; later ones try again.  Who asks for one
 * that is going waits until it has gone, and makes a new one.
 *
 * Threads: any; one lock a registry, held across none of the functions below but matches() and
 * usable().
 */
#ifndef ZCACHE_REGISTRY_H
#define ZCACHE_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "zc_list.h"
#include "zc_lock.h"

/* The first member of what is kept; private, all under the registry's lock. */
struct zcache_item {
    struct zc_list link;
    enum { ZCACHE_ITEM_MAKING, ZCACHE_ITEM_READY, ZCACHE_ITEM_GOING } state;
    unsigned users;
    bool dropped; /* nobody gets it any more: it goes with its last user */
    int rc;       /* why it could not be made */
    char text[512];
};

struct zcache_kind {
    const char *name; /* for messages */
    size_t size;      /* of the item, bytes */
    /* Takes over what matches() looks at; false: no memory. */
    bool (*init)(struct zcache_item *i, const void *key);
    bool (*matches)(const struct zcache_item *i, const void *key);
    /* Whether one that was made is as good as new; NULL: yes. */
    bool (*usable)(const struct zcache_item *i);
    /* 0 or a negative errno, explained; then nothing is left but what init() took. */
    int (*make)(struct zcache_item *i, const void *key);
    void (*unmake)(struct zcache_item *i);
    void (*free)(struct zcache_item *i); /* undoes init(); NULL: nothing to do */
};

struct zcache_registry {
    const struct zcache_kind *kind;
    struct zc_lock lock;
    zc_cond changed; /* an item was made, or has gone */
    struct zc_list items;
};

#define ZCACHE_REGISTRY_INITIALIZER(registry, k)                                                   \
    {                                                                                              \
        .kind = (k), .lock = ZC_LOCK_INITIALIZER(ZC_ORDER_PROCESS),                                \
        .changed = PTHREAD_COND_INITIALIZER, .items = {                                            \
            &(registry).items,                                                                     \
            &(registry).items                                                                      \
        }                                                                                          \
    }

/* The item of a key, with one user more: 0; or 1: it was made just now, by this thread or the one
 * it waited for.  Else a negative errno, explained. */
int zcache_registry_get(struct zcache_registry *r, const void *key, struct zcache_item **out);
/* The item of a key if there is a good one, with no user more: for items that are nobody's to give
 * back.  NULL: there is none yet.  Waits for nothing. */
struct zcache_item *zcache_registry_look(struct zcache_registry *r, const void *key);
/* One user less.  The item stays for others, unless `drop`: then it goes with its last user, and
 * who asks for the key meanwhile gets a new one. */
void zcache_registry_put(struct zcache_registry *r, struct zcache_item *i, bool drop);
/* One user more of an item that has one. */
void zcache_registry_hold(struct zcache_registry *r, struct zcache_item *i);
/* Unmakes those that `which` chooses (NULL: all), one after the other, whatever their users: there
 * are none any more that matter. */
void zcache_registry_remove(struct zcache_registry *r,
                            bool (*which)(const struct zcache_item *i, const void *arg),
                            const void *arg);

#endif
