/* zc_workers.h - threads that do the same work side by side, where a job may get stuck.
 *
 * At most `hands` members work at a time.  A member that has been at one job for stuck_ms counts as
 * stuck (the store hangs) and no longer as at work: another one replaces it, up to `most` threads.
 *
 * A guest is a thread of others that does one job itself.  It is not among the hands, looks for no
 * further job, and may get stuck like a member.
 *
 *              zc_workers_enter()              stuck_ms
 *     waiting ----------------> at work ----------------> stuck
 *        ^                         |                        |
 *        +---zc_workers_leave()----+------------------------+
 *
 * The last member that is neither at work nor stuck starts another thread before it takes a job, so
 * that a thread is free for the next one.  Threads stay once started.
 *
 * The owner's lock guards this struct and what its members wait for.  The loop of a member:
 *
 *     zc_lock_get(lock);
 *     while (there may be jobs) {
 *         if (!zc_workers_wait_turn(crew))
 *             continue;                 it waited, or dropped the lock
 *         if (no job)                   takes no job about what zc_workers_stuck() reports
 *             wait, by the owner's condition;
 *         zc_workers_enter(crew, &me, about);
 *         the job, without the lock
 *         zc_workers_leave(crew, &me);
 *     }
 */
#ifndef ZC_WORKERS_H
#define ZC_WORKERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "zc_list.h"
#include "zc_lock.h"

enum { ZC_WORKERS_STUCK_MS = 5000 }; /* unless the owner says another time */

struct zc_workers_config {
    const char *name;     /* of its threads, at most 15 bytes */
    unsigned hands, most; /* most: at least hands, else hands */
    unsigned stuck_ms;    /* 0: ZC_WORKERS_STUCK_MS */
    struct zc_lock *lock; /* the owner's */
    void *(*run)(void *); /* body of a thread; returns when the owner asks for it */
    void *arg;
};

/* A member, or guest, at work. */
struct zc_member {
    struct zc_list link; /* zc_workers.busy */
    bool guest;
    uint64_t about; /* equal for jobs that get stuck together */
    uint64_t since; /* ns */
};

/* Begins as zeros. */
struct zc_workers {
    struct zc_workers_config cfg;
    pthread_t *threads;
    /* Guarded by cfg.lock. */
    unsigned nthreads;
    bool starting;           /* another one is being started */
    uint64_t retry;          /* when a failed start is repeated, ns */
    struct zc_list busy;     /* struct zc_member, by `since` */
    unsigned nbusy, nguests; /* all, and the guests among them */
    unsigned nstuck;        /* how many of these, the first ones, were stuck at the last look ... */
    unsigned nstuck_guests; /* ... and the guests among those */
    zc_cond may_work;       /* members that wait because `hands` are at work */
};

/* Starts `hands` threads; without the lock.  0, or a negative errno explained by zc_errorf(); then
 * the owner tells the threads that were started to end, and calls zc_workers_join(). */
int zc_workers_start(struct zc_workers *c, const struct zc_workers_config *cfg);
/* Wakes all members, after the owner has told them to end.  With the lock.  Also of workers that
 * were never started. */
void zc_workers_stop(struct zc_workers *c);
/* Waits until all have ended; without the lock.  Also of workers that were never started. */
void zc_workers_join(struct zc_workers *c);

/* Returns whether the caller may take a job now.  False: the lock was dropped meanwhile. */
bool zc_workers_wait_turn(struct zc_workers *c);
void zc_workers_enter(struct zc_workers *c, struct zc_member *m, uint64_t about);
/* A guest enters at any time.  False: one is stuck about that, and it does not. */
bool zc_workers_enter_guest(struct zc_workers *c, struct zc_member *m, uint64_t about);
void zc_workers_leave(struct zc_workers *c, struct zc_member *m);

/* Number of members and guests at work about that, stuck or not. */
unsigned zc_workers_busy(const struct zc_workers *c, uint64_t about);
/* Whether one is stuck about that, as of the last zc_workers_wait_turn(), or entry of a guest.
 */
bool zc_workers_stuck(const struct zc_workers *c, uint64_t about);
/* Returns when the first one counts as stuck, ns; 0: one did then; UINT64_MAX: none is at work. */
uint64_t zc_workers_stuck_at(const struct zc_workers *c);

#endif
