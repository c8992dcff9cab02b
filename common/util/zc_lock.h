/* zc_lock.h - mutexes and conditions that know their owner.
 *
 * In a build with --enable-debug, zc_assert_held() aborts when the calling
 * thread does not own the lock; in a release build it costs nothing.  Use it
 * at the top of every function whose comment says "call with the lock held".
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
#include <time.h>

struct zc_lock {
    pthread_mutex_t mutex;
#ifdef ZC_DEBUG
    pthread_t owner;
    bool held;
#endif
};

typedef pthread_cond_t zc_cond;

static inline void zc_lock_init(struct zc_lock *l)
{
    pthread_mutex_init(&l->mutex, NULL);
#ifdef ZC_DEBUG
    l->held = false;
#endif
}

static inline void zc_lock_destroy(struct zc_lock *l)
{
    pthread_mutex_destroy(&l->mutex);
}

static inline void zc_lock_owned(struct zc_lock *l, bool held)
{
#ifdef ZC_DEBUG
    l->owner = pthread_self();
    l->held = held;
#else
    (void)l;
    (void)held;
#endif
}

static inline void zc_lock_get(struct zc_lock *l)
{
    pthread_mutex_lock(&l->mutex);
    zc_lock_owned(l, true);
}

/* True when the lock was free and is now ours. */
static inline bool zc_lock_try(struct zc_lock *l)
{
    if (pthread_mutex_trylock(&l->mutex) != 0)
        return false;
    zc_lock_owned(l, true);
    return true;
}

static inline void zc_lock_put(struct zc_lock *l)
{
    zc_lock_owned(l, false);
    pthread_mutex_unlock(&l->mutex);
}

#ifdef ZC_DEBUG
#define zc_assert_held(l)  assert((l)->held &&pthread_equal((l)->owner, pthread_self()))
#define zc_debug_assert(x) assert(x)
#else
#define zc_assert_held(l)  ((void)(l))
#define zc_debug_assert(x) ((void)0)
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

/* Nanoseconds on the monotonic clock. */
static inline uint64_t zc_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#define ZC_NS_PER_MS 1000000ull

/* Waits until signalled or until the monotonic time `until` (ns); false on time-out. */
static inline bool zc_cond_wait_until(zc_cond *c, struct zc_lock *l, uint64_t until)
{
    struct timespec t = {.tv_sec = (time_t)(until / 1000000000u),
                         .tv_nsec = (long)(until % 1000000000u)};
    int rc;

    zc_lock_owned(l, false);
    rc = pthread_cond_timedwait(c, &l->mutex, &t);
    zc_lock_owned(l, true);
    return rc != ETIMEDOUT;
}

#endif
