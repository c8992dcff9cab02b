/* zcache_registry.c - what a process has one of for each key, and shares. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "zc_log.h"
#include "zcache_registry.h"

static void item_free(struct zcache_registry *r, struct zcache_item *i)
{
    if (r->kind->free)
        r->kind->free(i);
    free(i);
}

/* Forgets an attempt that failed; those that wait for it have its error first. */
static void forget(struct zcache_registry *r, struct zcache_item *i)
{
    zc_list_del(&i->link);
    if (!i->users)
        item_free(r, i);
}

/* Under the lock, which is given back meanwhile. */
static void unmake(struct zcache_registry *r, struct zcache_item *i)
{
    zc_assert_held(&r->lock);
    i->state = ZCACHE_ITEM_GOING;
    zc_lock_put(&r->lock);
    r->kind->unmake(i);
    zc_lock_get(&r->lock);
    zc_list_del(&i->link);
    item_free(r, i);
    pthread_cond_broadcast(&r->changed);
}

static bool is_good(const struct zcache_registry *r, const struct zcache_item *i, const void *key)
{
    if (i->state == ZCACHE_ITEM_FAILED)
        return r->kind->stands(i, key);
    return i->state == ZCACHE_ITEM_MAKING || (i->state == ZCACHE_ITEM_READY && !i->dropped &&
                                              (!r->kind->usable || r->kind->usable(i)));
}

/* One to use or to wait for: rather that than one that is going. */
static struct zcache_item *find(struct zcache_registry *r, const void *key)
{
    struct zcache_item *going = NULL;

    zc_assert_held(&r->lock);
    zc_list_each (&r->items, n) {
        struct zcache_item *i = zc_list_entry(n, struct zcache_item, link);

        if (!r->kind->matches(i, key))
            continue;
        if (is_good(r, i, key))
            return i;
        if (i->state == ZCACHE_ITEM_GOING)
            going = i;
    }
    return going;
}

/* The attempt of one thread is over: the waiting threads see its result, and the last frees what
 * came to nothing.  Under the lock. */
static int attempt_over(struct zcache_registry *r, struct zcache_item *i)
{
    int rc = zc_error_raise(&i->error);

    if (rc == 0)
        return 1;
    if (--i->users == 0 && !zc_list_linked(&i->link))
        item_free(r, i);
    return rc;
}

/* Keeps a failure that stands, in place of earlier ones. */
static void failed(struct zcache_registry *r, struct zcache_item *i, const void *key)
{
    i->state = ZCACHE_ITEM_FAILED;
    if (!r->kind->stands || !r->kind->stands(i, key)) {
        zc_list_del(&i->link);
        return;
    }
    zc_list_each_safe (&r->items, n) {
        struct zcache_item *was = zc_list_entry(n, struct zcache_item, link);

        if (was != i && was->state == ZCACHE_ITEM_FAILED && r->kind->matches(was, key))
            forget(r, was);
    }
}

static int wait_for_it(struct zcache_registry *r, struct zcache_item *i)
{
    i->users++;
    while (i->state == ZCACHE_ITEM_MAKING)
        zc_cond_wait(&r->changed, &r->lock);
    return attempt_over(r, i);
}

static int make(struct zcache_registry *r, const void *key, struct zcache_item **out)
{
    struct zcache_item *i = calloc(1, r->kind->size);
    int rc;

    if (!i || !r->kind->init(i, key)) {
        free(i);
        return zc_errorf(ENOMEM, "no memory for %s", r->kind->name);
    }
    i->users = 1;
    zc_list_add_tail(&r->items, &i->link);
    zc_lock_put(&r->lock);
    rc = r->kind->make(i, key);
    zc_error_keep(&i->error, rc);
    zc_lock_get(&r->lock);
    i->state = ZCACHE_ITEM_READY;
    if (rc)
        failed(r, i, key);
    pthread_cond_broadcast(&r->changed);
    *out = i;
    return attempt_over(r, i);
}

struct zcache_item *zcache_registry_find(struct zcache_registry *r, const void *key)
{
    struct zcache_item *i;

    zc_lock_get(&r->lock);
    i = find(r, key);
    if (i && i->state != ZCACHE_ITEM_READY)
        i = NULL;
    zc_lock_put(&r->lock);
    return i;
}

int zcache_registry_get(struct zcache_registry *r, const void *key, struct zcache_item **out)
{
    struct zcache_item *i;
    int rc = 0;

    zc_lock_get(&r->lock);
    while ((i = find(r, key)) && i->state == ZCACHE_ITEM_GOING)
        zc_cond_wait(&r->changed, &r->lock);
    if (!i)
        rc = make(r, key, &i);
    else if (i->state == ZCACHE_ITEM_MAKING)
        rc = wait_for_it(r, i);
    else if (i->state == ZCACHE_ITEM_FAILED)
        rc = zc_error_raise(&i->error);
    else
        i->users++;
    zc_lock_put(&r->lock);
    *out = i;
    return rc;
}

void zcache_registry_hold(struct zcache_registry *r, struct zcache_item *i)
{
    zc_lock_get(&r->lock);
    i->users++;
    zc_lock_put(&r->lock);
}

void zcache_registry_put(struct zcache_registry *r, struct zcache_item *i, bool drop)
{
    zc_lock_get(&r->lock);
    i->users--;
    i->dropped = i->dropped || drop;
    if (i->dropped && !i->users)
        unmake(r, i);
    zc_lock_put(&r->lock);
}

/* Returns an item that which() selects, preferably one that is not being made or unmade; NULL:
 * there is no such item. */
static struct zcache_item *one_of(struct zcache_registry *r,
                                  bool (*which)(const struct zcache_item *i, const void *arg),
                                  const void *arg)
{
    struct zcache_item *found = NULL;

    zc_list_each (&r->items, n) {
        struct zcache_item *i = zc_list_entry(n, struct zcache_item, link);

        if (which && !which(i, arg))
            continue;
        if (i->state == ZCACHE_ITEM_READY || i->state == ZCACHE_ITEM_FAILED)
            return i;
        found = i;
    }
    return found;
}

void zcache_registry_remove(struct zcache_registry *r,
                            bool (*which)(const struct zcache_item *i, const void *arg),
                            const void *arg)
{
    struct zcache_item *i;

    zc_lock_get(&r->lock);
    while ((i = one_of(r, which, arg))) {
        if (i->state == ZCACHE_ITEM_READY)
            unmake(r, i);
        else if (i->state == ZCACHE_ITEM_FAILED)
            forget(r, i);
        else
            zc_cond_wait(&r->changed, &r->lock);
    }
    zc_lock_put(&r->lock);
}
