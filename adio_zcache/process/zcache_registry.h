/* zcache_registry.h - shared items of a process, one for each key: stores, connections,
 * aggregators.
 *
 *                 get: make()                        last put, remove()
 *     (nothing) --------------> MAKING ---> READY ----------------------> GOING ---> (nothing)
 *                                  |  failed                                unmake()
 *                                  +------> FAILED if stands(), else (nothing)
 *
 * One thread makes an item, without any lock, while others make others.  A get of the same key
 * during that waits and gets the result of that attempt; later ones try again, unless the failure
 * stands.  A get of an item that is GOING waits until it has gone, and makes a new one.
 *
 * Threads: any; one lock a registry, held across none of the functions below but matches() and
 * usable().
 */
#ifndef ZCACHE_REGISTRY_H
#define ZCACHE_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "zc_error.h"
#include "zc_list.h"
#include "zc_lock.h"

/* Base of an item: its first member.  Private; guarded by the registry's lock. */
struct zcache_item {
    struct zc_list link;
    enum { ZCACHE_ITEM_MAKING, ZCACHE_ITEM_READY, ZCACHE_ITEM_FAILED, ZCACHE_ITEM_GOING } state;
    unsigned users;
    bool dropped;          /* get() does not find it any more; its last put() unmakes it */
    struct zc_error error; /* why it could not be made */
};

struct zcache_kind {
    const char *name; /* for messages */
    size_t size;      /* of the item, bytes */
    /* Copies the parts of the key that matches() compares; false: no memory. */
    bool (*init)(struct zcache_item *i, const void *key);
    bool (*matches)(const struct zcache_item *i, const void *key);
    /* Whether an item that was made may still be used; NULL: yes. */
    bool (*usable)(const struct zcache_item *i);
    /* Whether the failure of make() is the result of a get with this key, too, which then makes no
     * attempt; NULL: never. */
    bool (*stands)(const struct zcache_item *i, const void *key);
    /* Returns 0, or a negative errno, explained, and leaves only what init() made. */
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

/* Finds or makes the item of a key, and counts one user more.  Returns 0; 1 if it was made just
 * now, by this thread or one that it waited for; or a negative errno, explained. */
int zcache_registry_get(struct zcache_registry *r, const void *key, struct zcache_item **out);
/* Returns the item of a key if there is a usable one, without counting a user: for items that are
 * never put.  NULL: there is none yet.  Does not block. */
struct zcache_item *zcache_registry_find(struct zcache_registry *r, const void *key);
/* Counts one user less.  The item stays without users, unless `drop`: then its last user's put
 * unmakes it, and a get of the key makes a new one. */
void zcache_registry_put(struct zcache_registry *r, struct zcache_item *i, bool drop);
/* Counts one user more of an item in use. */
void zcache_registry_hold(struct zcache_registry *r, struct zcache_item *i);
/* Unmakes the items that `which` selects (NULL: all), one after the other, without regard to their
 * users. */
void zcache_registry_remove(struct zcache_registry *r,
                            bool (*which)(const struct zcache_item *i, const void *arg),
                            const void *arg);

#endif
