/* zc_crew.h - threads that do the same work side by side, where a job may get stuck.
 *
 * `hands` of them are at work at a time.  Who has been at one job for stuck_ms is in a store that
 * hangs, and does not count any more: another one takes its place, up to `most` threads in all.
 *
 *              zc_crew_enter()              stuck_ms
 *     waiting ----------------> at work ----------------> stuck
 *        ^                         |                        |
 *        +-----zc_crew_leave()-----+------------------------+
 *
 * So that somebody is there to take it, the last that is neither at work nor stuck starts another
 * thread before it takes a job.  Threads that were started stay.
 *
 * The owner has a lock, which guards the crew, too, and what its members wait for.  Of a member:
 *
 *     zc_lock_get(lock);
 *     while (there may be jobs) {
 *         if (!zc_crew_turn(crew))
 *             continue;                 it has waited, or dropped the lock
 *         if (no job)                   none is taken about what zc_crew_stuck() says is stuck
 *             wait, by the owner's condition;
 *         zc_crew_enter(crew, &me, about);
 *         the job, without the lock
 *         zc_crew_leave(crew, &me);
 *     }
 */
#ifndef ZC_CREW_H
#define ZC_CREW_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "zc_list.h"
#include "zc_lock.h"

enum { ZC_CREW_STUCK_MS = 5000 }; /* unless the owner says another time */

struct zc_crew_config {
    const char *name;     /* of its threads, at most 15 bytes */
    unsigned hands, most; /* most: at least hands, or that is meant */
    unsigned stuck_ms;    /* 0: ZC_CREW_STUCK_MS */
    struct zc_lock *lock; /* the owner's */
    void *(*run)(void *); /* a member's life; returns when the owner wants it to */
    void *arg;
};

/* One that is at work. */
struct zc_member {
    struct zc_list link; /* zc_crew.busy */
    uint64_t about;      /* whatever tells jobs that get stuck together */
    uint64_t since;      /* ns */
};

/* Begins as zeros. */
struct zc_crew {
    struct zc_crew_config cfg;
    pthread_t *threads;
    /* The rest by cfg.lock. */
    unsigned nthreads;
    bool starting;       /* one more is being started */
    uint64_t retry;      /* that failed: it is tried again then, ns */
    struct zc_list busy; /* struct zc_member, by `since` */
    unsigned nbusy;
    unsigned nstuck; /* the first so many of them, at the last zc_crew_turn() */
    zc_cond turn;    /* those who wait because enough are at work */
};

/* Starts `hands` threads; without the lock.  0, or a negative errno explained by zc_errorf(); then
 * those that were started are to be told to end, and zc_crew_join() is called all the same. */
int zc_crew_start(struct zc_crew *c, const struct zc_crew_config *cfg);
/* The owner has told them to end: nobody waits for his turn any more.  With the lock; also of a
 * crew that was never started. */
void zc_crew_stop(struct zc_crew *c);
/* Waits until they have; without the lock.  Also of a crew that was never started. */
void zc_crew_join(struct zc_crew *c);

/* Whether the caller may take a job now.  False: the lock was dropped for a while. */
bool zc_crew_turn(struct zc_crew *c);
void zc_crew_enter(struct zc_crew *c, struct zc_member *m, uint64_t about);
void zc_crew_leave(struct zc_crew *c, struct zc_member *m);

/* How many are at work about that, stuck or not. */
unsigned zc_crew_busy(const struct zc_crew *c, uint64_t about);
/* Whether somebody is stuck about that, as of the last zc_crew_turn(). */
bool zc_crew_stuck(const struct zc_crew *c, uint64_t about);

#endif
