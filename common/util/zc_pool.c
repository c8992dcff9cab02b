/* zc_pool.c - work that waits for threads, by key.
 *
 *     submit --first of its key--> ready --take()--> runs      ready: of its turn
 *        |                           ^
 *        +--others before it--> rest of the first one: the next is first when that is taken
 *
 * Invariants
 * 1. Each key that has works waiting has a first one, in `keys`; all others are in that one's
 *    `rest`, in order.
 * 2. A first one is in `ready` of its turn iff fewer than per_key works of its key run.  Keys come
 *    to its end when one of their works was taken, and turns to that of `flows`: so both take
 *    turns.
 * 3. A thread ends only when it was told to stop and nothing is ready: what waits for works of its
 *    key to end is run by the threads that run those.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zc_pool.h"
#include "zc_workers.h"

enum { BUCKETS = 64 };

struct zc_pool {
    struct zc_lock lock; /* guards the rest */
    zc_cond some;
    struct zc_workers workers;
    unsigned per_key;
    struct zc_list keys[BUCKETS]; /* zc_work.hash */
    struct zc_list flows;         /* zc_pool_flow.link: those with works in `ready` */
    struct zc_pool_flow no_flow;  /* of works that name none */
    bool stop;
};

uint64_t zc_pool_key(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ b << 32 ^ b >> 32) * 0x9e3779b97f4a7c15ull;

    return (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull ^ b;
}

uint64_t zc_pool_key_of(const void *bytes, size_t n)
{
    const unsigned char *b = bytes;
    uint64_t x = n;

    for (size_t i = 0; i < n; i++)
        x = (x ^ b[i]) * 0x100000001b3ull;
    return zc_pool_key(x, n);
}

/* ---- queues ---- */

static struct zc_list *bucket(struct zc_pool *p, uint64_t key)
{
    return &p->keys[key % BUCKETS];
}

static struct zc_work *first_of(struct zc_pool *p, uint64_t key)
{
    zc_list_each (bucket(p, key), n) {
        struct zc_work *w = zc_list_entry(n, struct zc_work, hash);

        if (w->key == key)
            return w;
    }
    return NULL;
}

static void init_turn(struct zc_pool_flow *t)
{
    zc_list_init(&t->link);
    zc_list_init(&t->ready);
}

static struct zc_pool_flow *turn_of(struct zc_pool *p, const struct zc_work *w)
{
    struct zc_pool_flow *t = w->flow ? w->flow : &p->no_flow;

    if (!t->link.next)
        init_turn(t);
    return t;
}

/* Returns the first ready item of the next flow; NULL: no item is ready. */
static struct zc_work *next_ready(struct zc_pool *p)
{
    struct zc_list *n = zc_list_pop(&p->flows);
    struct zc_pool_flow *t;

    if (!n)
        return NULL;
    t = zc_list_entry(n, struct zc_pool_flow, link);
    n = zc_list_pop(&t->ready);
    if (!zc_list_empty(&t->ready))
        zc_list_add_tail(&p->flows, &t->link);
    return zc_list_entry(n, struct zc_work, link);
}

/* Of a first one. */
static void make_ready(struct zc_pool *p, struct zc_work *w)
{
    struct zc_pool_flow *flow = turn_of(p, w);

    if (zc_list_linked(&w->link) ||
        (p->per_key && zc_workers_busy(&p->workers, w->key) >= p->per_key))
        return;
    zc_list_add_tail(&flow->ready, &w->link);
    if (!zc_list_linked(&flow->link))
        zc_list_add_tail(&p->flows, &flow->link);
    pthread_cond_signal(&p->some);
}

static void make_first(struct zc_pool *p, struct zc_work *w)
{
    zc_list_init(&w->link);
    zc_list_add_tail(bucket(p, w->key), &w->hash);
}

/* Takes a ready item, as `me`; NULL: none is ready. */
static struct zc_work *take(struct zc_pool *p, struct zc_member *me)
{
    struct zc_work *w = next_ready(p), *next;
    struct zc_list *n;

    if (!w)
        return NULL;
    zc_list_del(&w->hash);
    zc_workers_enter(&p->workers, me, w->key);
    n = zc_list_pop(&w->rest);
    if (n) {
        next = zc_list_entry(n, struct zc_work, link);
        zc_list_init(&next->rest);
        zc_list_splice(&next->rest, &w->rest);
        make_first(p, next);
        make_ready(p, next);
    }
    return w;
}

/* Ends a work of the key. */
static void ended(struct zc_pool *p, struct zc_member *me)
{
    struct zc_work *w;

    zc_workers_leave(&p->workers, me);
    w = first_of(p, me->about);
    if (w)
        make_ready(p, w);
}

void zc_pool_submit(struct zc_pool *p, struct zc_work *w)
{
    struct zc_work *first;

    zc_lock_get(&p->lock);
    first = first_of(p, w->key);
    if (first) {
        zc_list_add_tail(&first->rest, &w->link);
    } else {
        zc_list_init(&w->rest);
        make_first(p, w);
        make_ready(p, w);
    }
    zc_lock_put(&p->lock);
}

/* ---- threads ---- */

static void *pool_thread(void *arg)
{
    struct zc_pool *p = arg;
    struct zc_member me;
    struct zc_work *w;

    zc_lock_get(&p->lock);
    while (!p->stop || !zc_list_empty(&p->flows)) {
        if (!zc_workers_wait_turn(&p->workers))
            continue;
        w = take(p, &me);
        if (!w) {
            zc_cond_wait(&p->some, &p->lock);
            continue;
        }
        zc_lock_put(&p->lock);
        w->run(w);
        zc_lock_get(&p->lock);
        ended(p, &me);
    }
    zc_lock_put(&p->lock);
    return NULL;
}

int zc_pool_create(const struct zc_pool_config *cfg, struct zc_pool **out)
{
    struct zc_workers_config workers = {.name = cfg->name,
                                        .hands = cfg->threads,
                                        .most = cfg->most,
                                        .stuck_ms = cfg->stuck_ms,
                                        .run = pool_thread};
    struct zc_pool *p;
    int rc;

    *out = NULL;
    if (cfg->threads == 0)
        return zc_errorf(EINVAL, "thread pool %s needs at least one thread", cfg->name);
    p = calloc(1, sizeof(*p));
    if (!p)
        return zc_errorf(ENOMEM, "thread pool %s: out of memory", cfg->name);
    zc_lock_init(&p->lock, ZC_ORDER_POOL);
    zc_cond_init(&p->some);
    p->per_key = cfg->per_key;
    zc_list_init(&p->flows);
    for (unsigned i = 0; i < BUCKETS; i++)
        zc_list_init(&p->keys[i]);
    workers.lock = &p->lock;
    workers.arg = p;
    rc = zc_workers_start(&p->workers, &workers);
    if (rc) {
        zc_pool_destroy(p);
        return rc;
    }
    *out = p;
    return 0;
}

void zc_pool_destroy(struct zc_pool *p)
{
    if (!p)
        return;
    zc_lock_get(&p->lock);
    p->stop = true;
    zc_workers_stop(&p->workers);
    pthread_cond_broadcast(&p->some);
    zc_lock_put(&p->lock);
    zc_workers_join(&p->workers);
    pthread_cond_destroy(&p->some);
    zc_lock_destroy(&p->lock);
    free(p);
}
