/* zc_store_watchdog.c - notes every call to the store below and reports those that take long.
 *
 *     begin() --> under way --limit--> reported: watch() --> end(): its end is reported
 *                     |
 *                     +--> end()
 *
 * Invariants (lock)
 * 1. `calls` is sorted by start; reported calls come first.
 * 2.  For all reported calls of one path, `trouble` is the start of the first of them.  Only the
 *    first is logged, and the log gets one line when the last of them ends.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "zc_list.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_store_layer.h"
#include "zc_store_watchdog.h"
#include "zc_thread.h"

struct slow_store {
    struct zc_layer layer;
    uint64_t limit; /* ns */
    pthread_t watcher;
    bool watched; /* the thread was started */
    struct zc_lock lock;
    zc_cond stopped;
    /* the rest is guarded by lock */
    bool stop;
    struct zc_list calls; /* struct zc_store_call */
    uint64_t hangs, longest;
};

static struct slow_store *slow_store(struct zc_layer *l)
{
    return zc_list_entry(l, struct slow_store, layer);
}

/* ---- calls ---- */

static int begin(struct zc_layer *l, struct zc_store_call *c)
{
    struct slow_store *ss = slow_store(l);

    zc_lock_get(&ss->lock);
    c->since = c->trouble = zc_now();
    zc_list_add_tail(&ss->calls, &c->link);
    zc_lock_put(&ss->lock);
    return 0;
}

/* Returns another reported call of the path, or NULL. */
static struct zc_store_call *other(struct slow_store *ss, const struct zc_store_call *c)
{
    zc_list_each (&ss->calls, n) {
        struct zc_store_call *o = zc_list_entry(n, struct zc_store_call, link);

        if (!o->told)
            break;
        if (o != c && strcmp(o->path, c->path) == 0)
            return o;
    }
    return NULL;
}

static void end(struct zc_layer *l, struct zc_store_call *c)
{
    struct slow_store *ss = slow_store(l);
    bool tell = false;
    uint64_t now;

    zc_lock_get(&ss->lock);
    now = zc_now();
    if (now - c->since > ss->longest)
        ss->longest = now - c->since;
    zc_list_del(&c->link);
    if (c->told)
        tell = !other(ss, c);
    zc_lock_put(&ss->lock);
    if (tell)
        zc_warn("%s: the store answers again, after %" PRIu64 " s", c->path,
                (now - c->trouble) / 1000000000);
}

static const struct zc_layer_hooks hooks = {.enter = begin, .leave = end};

/* ---- the watchdog thread ---- */

/* Returns the oldest call that is not reported, or NULL. */
static struct zc_store_call *next_call(struct slow_store *ss)
{
    zc_list_each (&ss->calls, n) {
        struct zc_store_call *c = zc_list_entry(n, struct zc_store_call, link);

        if (!c->told)
            return c;
    }
    return NULL;
}

/* Reports a call; with the lock, which is released to log. */
static void tell(struct slow_store *ss, struct zc_store_call *c, uint64_t took)
{
    const struct zc_store_call *first = other(ss, c);
    const char *what = c->name;
    char *path;

    c->told = true;
    ss->hangs++;
    if (first) {
        c->trouble = first->trouble;
        return;
    }
    path = strdup(c->path);
    zc_lock_put(&ss->lock); /* the call may end from here on */
    if (path)
        zc_warn("%s: a call to the store (%s) has taken %" PRIu64 " s and goes on", path, what,
                took / 1000000000);
    free(path);
    zc_lock_get(&ss->lock);
}

/* A call that begins now is not due before a full limit has passed, so begin() need not wake this
 * thread. */
static void *watch(void *arg)
{
    struct slow_store *ss = arg;

    zc_lock_get(&ss->lock);
    while (!ss->stop) {
        struct zc_store_call *c = next_call(ss);
        uint64_t now = zc_now(), due = c ? c->since + ss->limit : now + ss->limit;

        if (c && due <= now)
            tell(ss, c, now - c->since);
        else
            zc_cond_wait_until(&ss->stopped, &ss->lock, due);
    }
    zc_lock_put(&ss->lock);
    return NULL;
}

/* ---- the layer ---- */

static void slow_destroy(struct zc_store *s)
{
    struct slow_store *ss = slow_store(zc_layer_of(s));

    if (ss->watched) {
        zc_lock_get(&ss->lock);
        ss->stop = true;
        pthread_cond_signal(&ss->stopped);
        zc_lock_put(&ss->lock);
        pthread_join(ss->watcher, NULL);
    }
    zc_store_destroy(ss->layer.below);
    pthread_cond_destroy(&ss->stopped);
    zc_lock_destroy(&ss->lock);
    free(ss);
}

static const struct zc_store_ops slow_ops = {.destroy = slow_destroy};

int zc_store_watchdog_create(struct zc_store *below_store, uint64_t report_ms,
                             struct zc_store **out)
{
    struct slow_store *ss = calloc(1, sizeof *ss);
    int rc;

    *out = NULL;
    if (!ss)
        return zc_errorf(ENOMEM, "slow store: out of memory");
    zc_layer_init(&ss->layer, &slow_ops, &hooks, below_store);
    ss->limit = report_ms * ZC_NS_PER_MS;
    zc_list_init(&ss->calls);
    zc_lock_init(&ss->lock, ZC_ORDER_STORE);
    zc_cond_init(&ss->stopped);
    rc = zc_thread_start(&ss->watcher, "zc-watchdog", watch, ss);
    if (rc < 0) {
        ss->layer.below = NULL;
        slow_destroy(&ss->layer.store);
        return rc;
    }
    ss->watched = true;
    *out = &ss->layer.store;
    return 0;
}

void zc_store_watchdog_stats(struct zc_store *s, struct zc_store_watchdog_stats *out)
{
    struct slow_store *ss;

    *out = (struct zc_store_watchdog_stats){0};
    if (!s || s->ops->destroy != slow_destroy)
        return;
    ss = slow_store(zc_layer_of(s));
    zc_lock_get(&ss->lock);
    out->hangs = ss->hangs;
    out->longest_ms = ss->longest;
    zc_list_each (&ss->calls, n) {
        const struct zc_store_call *c = zc_list_entry(n, struct zc_store_call, link);
        uint64_t took = zc_now() - c->since;

        out->hung += c->told;
        if (took > out->longest_ms)
            out->longest_ms = took;
    }
    zc_lock_put(&ss->lock);
    out->longest_ms /= ZC_NS_PER_MS;
}
