/* zc_lock.h - mutexes and conditions that know their owner, and the order in which they are taken.
 *
 * zc_lock_order is the one table of all locks: a thread that holds locks may only take one that
 * stands below all of them.  Calls that may block (fabric, store, MPI) are made without any; the
 * wrappers of the seams (zc_store.h, zc_transport.h) assert that.  (Inside a store a lock may be
 * held over its own blocking calls: zc_store_posix_io.c.)
 *
 * In a build with --enable-debug zc_lock_get() aborts if the order is violated, zc_assert_held() if
 * the calling thread does not own the lock, zc_assert_none_held() if it owns any; in a release
 * build they cost nothing.  Use zc_assert_held() at the top of every function whose comment says
 * "call with the lock held".  A function that "drops the lock" releases it for a while, and holds
 * it again when it returns.
 *
 * Conditions run on CLOCK_MONOTONIC, so deadlines survive clock changes.
 */
#ifndef ZC_LOCK_H
#define ZC_LOCK_H

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "zc_clock.h"

/* Every lock of zcache, the outermost first.  (One more, around ROMIO's own state, is outside this
 * order: plugin/zcache_romio_lock.c.) */
enum zc_lock_order {
    ZC_ORDER_TOOL,         /* zcached's and zcachectl's own, outside all others */
    ZC_ORDER_PROCESS,      /* state of an MPI process: stores, aggregators, peers */
    ZC_ORDER_REQUESTS,     /* nonblocking accesses of an MPI process */
    ZC_ORDER_ASYNC,        /* the threads that make them */
    ZC_ORDER_HANDLES,      /* MPI's file handles: error handlers, Fortran numbers, state */
    ZC_ORDER_MPI_LOCK,     /* which thread may call MPI (zcache_mpi_lock.h) */
    ZC_ORDER_SHMRING,      /* zc_shmring: rings of other processes */
    ZC_ORDER_SERVER,       /* zc_server: notices, exported files */
    ZC_ORDER_COORD,        /* zc_coord: shared file pointers, range locks */
    ZC_ORDER_CACHE,        /* zc_cache: pages, files, handles */
    ZC_ORDER_CLIENT_VIEWS, /* zc_client: views at a server */
    ZC_ORDER_RING,         /* zc_client: its ring */
    ZC_ORDER_NET,          /* zc_net: clients and their calls */
    ZC_ORDER_POOL,         /* zc_pool: work that waits for a thread */
    ZC_ORDER_WAITER,       /* one thread that waits for a reply */
    ZC_ORDER_STORE,        /* inside a store; a journal */
    ZC_ORDER_INJECTION,    /* inside a transport with injected faults */
    ZC_ORDER_TRANSPORT,    /* inside a transport */
    ZC_ORDER_LIBFABRIC,    /* its calls, if it needs that; and loading it */
    ZC_ORDER_EVENTS,       /* the begin of a trace */
};

struct zc_lock {
    pthread_mutex_t mutex;
    uint64_t waits, wait_ns; /* under it: how often a thread has found it taken, and how long it
                                waited; not counting wake-ups from a condition */
#ifdef ZC_DEBUG
    enum zc_lock_order order;
    pthread_t owner;
    bool held;
#endif
};

typedef pthread_cond_t zc_cond;

#ifdef ZC_DEBUG
#define ZC_LOCK_INITIALIZER(o)                                                                     \
    {                                                                                              \
        .mutex = PTHREAD_MUTEX_INITIALIZER, .order = (o)                                           \
    }
/* For the calling thread: number of locks held; notes one more, or one less. */
unsigned zc_lock_count(void);
void zc_lock_taken(enum zc_lock_order order);
void zc_lock_given(enum zc_lock_order order);
#else
#define ZC_LOCK_INITIALIZER(o)                                                                     \
    {                                                                                              \
        .mutex = PTHREAD_MUTEX_INITIALIZER                                                         \
    }
#endif

static inline void zc_lock_init(struct zc_lock *l, enum zc_lock_order order)
{
    pthread_mutex_init(&l->mutex, NULL);
    l->waits = l->wait_ns = 0;
#ifdef ZC_DEBUG
    l->order = order;
    l->held = false;
#else
    (void)order;
#endif
}

static inline void zc_lock_destroy(struct zc_lock *l)
{
    pthread_mutex_destroy(&l->mutex);
}

static inline void zc_lock_owned(struct zc_lock *l, bool held)
{
#ifdef ZC_DEBUG
    if (held)
        zc_lock_taken(l->order);
    else
        zc_lock_given(l->order);
    l->owner = pthread_self();
    l->held = held;
#else
    (void)l;
    (void)held;
#endif
}

/* Waits for a lock that is taken. */
void zc_lock_wait(struct zc_lock *l);

static inline void zc_lock_get(struct zc_lock *l)
{
    if (pthread_mutex_trylock(&l->mutex))
        zc_lock_wait(l);
    zc_lock_owned(l, true);
}

static inline void zc_lock_put(struct zc_lock *l)
{
    zc_lock_owned(l, false);
    pthread_mutex_unlock(&l->mutex);
}

#ifdef ZC_DEBUG
#define zc_assert_held(l)     assert((l)->held &&pthread_equal((l)->owner, pthread_self()))
#define zc_assert_none_held() assert(zc_lock_count() == 0)
#define zc_debug_assert(x)    assert(x)
#else
#define zc_assert_held(l)     ((void)(l))
#define zc_assert_none_held() ((void)0)
#define zc_debug_assert(x)    ((void)0)
#endif

static inline void zc_cond_init(zc_cond *c)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(c, &attr);
    pthread_condattr_destroy(&attr);
}

static inline void zc_cond_wait(zc_cond *c, struct zc_lock *l)
{
    zc_lock_owned(l, false);
    pthread_cond_wait(c, &l->mutex);
    zc_lock_owned(l, true);
}

/* Waits until signalled or until the monotonic time `until` (ns); false on time-out. */
static inline bool zc_cond_wait_until(zc_cond *c, struct zc_lock *l, uint64_t until)
{
    struct timespec t = zc_clock_timespec(until);
    bool signalled;

    zc_lock_owned(l, false);
    if (zc_clock)
        signalled = zc_clock->cond_wait(c, &l->mutex, until);
    else
        signalled = pthread_cond_timedwait(c, &l->mutex, &t) != ETIMEDOUT;
    zc_lock_owned(l, true);
    return signalled;
}

#endif
