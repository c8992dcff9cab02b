/* zc_workers.c - threads that do the same work side by side, where a job may get stuck.
 *
 * Invariants
 * 1. `busy` is sorted by `since`: a member that enters goes to its end, so stuck ones come first.
 * 2. A member waits for its turn only after it has seen `hands` members at work, without guests:
 * each of those looks for a job when it is done, or is stuck when the wait ends.  So every queued
 * job is run.
 * 3. One thread at a time is being started, by a member: when all threads up to nthreads have
 *    ended, there will be no more.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "zc_log.h"
#include "zc_thread.h"
#include "zc_workers.h"

int zc_workers_start(struct zc_workers *c, const struct zc_workers_config *cfg)
{
    int rc = 0;

    c->cfg = *cfg;
    if (c->cfg.most < c->cfg.hands)
        c->cfg.most = c->cfg.hands;
    if (!c->cfg.stuck_ms)
        c->cfg.stuck_ms = ZC_WORKERS_STUCK_MS;
    zc_list_init(&c->busy);
    zc_cond_init(&c->may_work);
    c->threads = calloc(c->cfg.most, sizeof *c->threads);
    if (!c->threads)
        return zc_errorf(ENOMEM, "threads %s: out of memory", cfg->name);
    c->starting = true; /* no member does */
    for (unsigned i = 0; i < cfg->hands && rc == 0; i++) {
        rc = zc_thread_start(&c->threads[i], cfg->name, cfg->run, cfg->arg);
        zc_lock_get(cfg->lock);
        c->nthreads += rc == 0;
        c->starting = rc == 0 && i + 1 < cfg->hands;
        zc_lock_put(cfg->lock);
    }
    return rc;
}

void zc_workers_stop(struct zc_workers *c)
{
    if (!c->cfg.lock)
        return;
    zc_assert_held(c->cfg.lock);
    c->cfg.hands = c->cfg.most;
    pthread_cond_broadcast(&c->may_work);
}

void zc_workers_join(struct zc_workers *c)
{
    unsigned n;

    if (!c->cfg.lock)
        return;
    for (unsigned i = 0;; i++) {
        zc_lock_get(c->cfg.lock);
        n = c->nthreads;
        zc_lock_put(c->cfg.lock);
        if (i == n)
            break;
        pthread_join(c->threads[i], NULL);
    }
    pthread_cond_destroy(&c->may_work);
    free(c->threads);
    *c = (struct zc_workers){0};
}

/* ---- one more ---- */

/* The caller is the last member that is not at work, and is about to be. */
static bool last(const struct zc_workers *c, uint64_t now)
{
    unsigned busy = c->nbusy - c->nguests;

    return c->nthreads - busy < 2 && busy + 1 >= c->cfg.hands && c->nthreads < c->cfg.most &&
           !c->starting && now >= c->retry;
}

/* Drops the lock. */
static void start_another(struct zc_workers *c)
{
    pthread_t *next = &c->threads[c->nthreads];
    int rc;

    c->starting = true;
    zc_lock_put(c->cfg.lock);
    rc = zc_thread_start(next, c->cfg.name, c->cfg.run, c->cfg.arg);
    zc_lock_get(c->cfg.lock);
    c->starting = false;
    c->nthreads += rc == 0;
    if (rc)
        c->retry = zc_now() + c->cfg.stuck_ms * ZC_NS_PER_MS;
}

/* ---- a member ---- */

static uint64_t stuck_at(const struct zc_workers *c, const struct zc_member *m)
{
    return m->since + c->cfg.stuck_ms * ZC_NS_PER_MS;
}

/* Counts those that are stuck; returns when that number changes next, ns. */
static uint64_t count_stuck(struct zc_workers *c, uint64_t now)
{
    c->nstuck = c->nstuck_guests = 0;
    zc_list_each (&c->busy, n) {
        const struct zc_member *m = zc_list_entry(n, struct zc_member, link);
        uint64_t at = stuck_at(c, m);

        if (at > now)
            return at;
        c->nstuck++;
        c->nstuck_guests += m->guest;
    }
    return UINT64_MAX;
}

/* Returns how many members are at work, and not stuck. */
static unsigned at_work(const struct zc_workers *c)
{
    return c->nbusy - c->nguests - (c->nstuck - c->nstuck_guests);
}

bool zc_workers_wait_turn(struct zc_workers *c)
{
    uint64_t now = zc_now(), next;

    zc_assert_held(c->cfg.lock);
    if (last(c, now)) {
        start_another(c);
        return false;
    }
    next = count_stuck(c, now);
    if (at_work(c) < c->cfg.hands)
        return true;
    zc_cond_wait_until(&c->may_work, c->cfg.lock, next);
    return false;
}

static void enter(struct zc_workers *c, struct zc_member *m, uint64_t about, bool guest)
{
    zc_assert_held(c->cfg.lock);
    m->about = about;
    m->guest = guest;
    m->since = zc_now();
    zc_list_add_tail(&c->busy, &m->link);
    c->nbusy++;
    c->nguests += guest;
}

void zc_workers_enter(struct zc_workers *c, struct zc_member *m, uint64_t about)
{
    enter(c, m, about, false);
}

bool zc_workers_enter_guest(struct zc_workers *c, struct zc_member *m, uint64_t about)
{
    zc_assert_held(c->cfg.lock);
    count_stuck(c, zc_now());
    if (zc_workers_stuck(c, about))
        return false;
    enter(c, m, about, true);
    return true;
}

void zc_workers_leave(struct zc_workers *c, struct zc_member *m)
{
    zc_assert_held(c->cfg.lock);
    zc_list_del(&m->link);
    c->nbusy--;
    c->nguests -= m->guest;
    c->nstuck = c->nstuck_guests = 0; /* until the next one looks */
}

unsigned zc_workers_busy(const struct zc_workers *c, uint64_t about)
{
    unsigned n = 0;

    zc_assert_held(c->cfg.lock);
    zc_list_each (&c->busy, i)
        n += zc_list_entry(i, struct zc_member, link)->about == about;
    return n;
}

bool zc_workers_stuck(const struct zc_workers *c, uint64_t about)
{
    unsigned left = c->nstuck;

    zc_assert_held(c->cfg.lock);
    if (!left)
        return false;
    zc_list_each (&c->busy, i) {
        if (zc_list_entry(i, struct zc_member, link)->about == about)
            return true;
        if (--left == 0)
            break;
    }
    return false;
}

uint64_t zc_workers_stuck_at(const struct zc_workers *c)
{
    zc_assert_held(c->cfg.lock);
    if (c->nstuck > 0)
        return 0;
    return zc_list_empty(&c->busy)
               ? UINT64_MAX
               : stuck_at(c, zc_list_entry(c->busy.next, struct zc_member, link));
}
