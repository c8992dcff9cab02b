/* zc_clock.h - the time, and waits that end at a time: a seam.
 *
 * Every wait of common/ with a limit goes through zc_cond_wait_until() (zc_lock.h),
 * zc_clock_sleep() or zc_clock_poll(), but for the futex of a shared-memory ring (zc_futex.h).
 * Tests put a clock of their own here (testlib/zc_clock_sim.h), on which a limit of 30 s takes
 * milliseconds, and a busy machine reaches none early.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC, or of what stands for it, and never go back.
 */
#ifndef ZC_CLOCK_H
#define ZC_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define ZC_NS_PER_MS 1000000ull

struct pollfd;

struct zc_clock {
    uint64_t (*now)(void);
    /* Like pthread_cond_timedwait(); false on time-out, also if a signal came as well. */
    bool (*cond_wait)(pthread_cond_t *c, pthread_mutex_t *m, uint64_t until);
    void (*sleep)(uint64_t ns);
    /* Like poll(2); `ns` > 0. */
    int (*poll)(struct pollfd *fds, unsigned n, uint64_t ns);
};

/* NULL: the clock of the machine.  Set while the process has one thread. */
extern const struct zc_clock *zc_clock;

static inline uint64_t zc_now_of(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t zc_now(void)
{
    return zc_clock ? zc_clock->now() : zc_now_of(CLOCK_MONOTONIC);
}

static inline struct timespec zc_clock_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};
}

/* Signals do not end it. */
void zc_clock_sleep(uint64_t ns);

/* poll(2); its result. */
int zc_clock_poll(struct pollfd *fds, unsigned n, uint64_t ns);

#endif
