/* zc_store_slow.c - notes every call of the store below, and tells which take long.
 *
 *     begin() --> under way --limit--> told: watch() --> end(): told that it is over
 *                     |
 *                     +--> end()
 *
 * Invariants (lock)
 * 1. `calls` is sorted by when they began; those that are told come first.
 * 2. Of calls of one path that are told, `trouble` of each says when the first of them began, and
 *    the log has been told of one: it hears of the end when the last of them ends.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "zc_list.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_store_slow.h"
#include "zc_thread.h"

struct slow_store {
    struct zc_store store;
    struct zc_store_ops ops; /* without what the store below has not */
    struct zc_store *below;
    uint64_t limit; /* ns */
    pthread_t watcher;
    bool watched; /* it was started */
    struct zc_lock lock;
    zc_cond stopped;
    /* all of these under lock */
    bool stop;
    struct zc_list calls; /* struct call */
    uint64_t hangs, longest;
};

struct slow_sfile {
    struct zc_sfile sfile;
    struct zc_sfile *below;
    char *path;
};

/* One that is under way; on the stack of who makes it. */
struct call {
    struct zc_list link;
    const char *what, *path;
    uint64_t since, trouble; /* ns */
    bool told;
};

static struct slow_store *slow_store(struct zc_store *s)
{
    return (struct slow_store *)s;
}

static struct zc_sfile *below(struct zc_sfile *f)
{
    return ((struct slow_sfile *)f)->below;
}

/* ---- calls ---- */

static void begin(struct zc_store *s, const char *path, const char *what, struct call *c)
{
    struct slow_store *ss = slow_store(s);

    *c = (struct call){.what = what, .path = path};
    zc_lock_get(&ss->lock);
    c->since = c->trouble = zc_now();
    zc_list_add_tail(&ss->calls, &c->link);
    zc_lock_put(&ss->lock);
}

/* Another one of the path that is told; NULL: there is none. */
static struct call *other(struct slow_store *ss, const struct call *c)
{
    zc_list_each (&ss->calls, n) {
        struct call *o = zc_list_entry(n, struct call, link);

        if (!o->told)
            break;
        if (o != c && strcmp(o->path, c->path) == 0)
            return o;
    }
    return NULL;
}

static void end(struct zc_store *s, struct call *c)
{
    struct slow_store *ss = slow_store(s);
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

static void begin_file(struct zc_sfile *f, const char *what, struct call *c)
{
    begin(f->store, ((struct slow_sfile *)f)->path, what, c);
}

/* ---- the watcher ---- */

/* The first that has not been told of; NULL: all are. */
static struct call *next_call(struct slow_store *ss)
{
    zc_list_each (&ss->calls, n) {
        struct call *c = zc_list_entry(n, struct call, link);

        if (!c->told)
            return c;
    }
    return NULL;
}

/* With the lock, which is dropped to tell of it. */
static void tell(struct slow_store *ss, struct call *c, uint64_t took)
{
    const struct call *first = other(ss, c);
    const char *what = c->what;
    char *path;

    c->told = true;
    ss->hangs++;
    if (first) {
        c->trouble = first->trouble;
        return;
    }
    path = strdup(c->path);
    zc_lock_put(&ss->lock); /* the call may end meanwhile */
    if (path)
        zc_warn("%s: a call to the store (%s) has taken %" PRIu64 " s and goes on", path, what,
                took / 1000000000);
    free(path);
    zc_lock_get(&ss->lock);
}

/* A call that begins from now on is not due before the limit has passed: nobody has to wake us. */
static void *watch(void *arg)
{
    struct slow_store *ss = arg;

    zc_lock_get(&ss->lock);
    while (!ss->stop) {
        struct call *c = next_call(ss);
        uint64_t now = zc_now(), due = c ? c->since + ss->limit : now + ss->limit;

        if (c && due <= now)
            tell(ss, c, now - c->since);
        else
            zc_cond_wait_until(&ss->stopped, &ss->lock, due);
    }
    zc_lock_put(&ss->lock);
    return NULL;
}

/* ---- the seam ---- */

static int slow_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                     struct zc_sfile **out, struct zc_attr *attr)
{
    struct slow_sfile *f = calloc(1, sizeof *f);
    struct call c;
    int rc;

    *out = NULL;
    if (f)
        f->path = strdup(path);
    if (!f || !f->path) {
        free(f);
        return zc_errorf(ENOMEM, "open %s: out of memory", path);
    }
    begin(s, path, "open", &c);
    rc = zc_store_open_file(slow_store(s)->below, path, flags, mode, &f->below, attr);
    end(s, &c);
    if (rc < 0) {
        free(f->path);
        free(f);
        return rc;
    }
    f->sfile.store = s;
    *out = &f->sfile;
    return 0;
}

static int slow_close(struct zc_sfile *f, enum zc_level level)
{
    struct slow_sfile *sf = (struct slow_sfile *)f;
    struct call c;
    int rc;

    begin_file(f, "close", &c);
    rc = zc_store_close_file(sf->below, level);
    end(f->store, &c);
    free(sf->path);
    free(sf);
    return rc;
}

static ssize_t slow_preadv(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off)
{
    struct call c;
    ssize_t rc;

    begin_file(f, "read", &c);
    rc = zc_store_preadv(below(f), iov, n, off);
    end(f->store, &c);
    return rc;
}

static ssize_t slow_pwritev(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off)
{
    struct call c;
    ssize_t rc;

    begin_file(f, "write", &c);
    rc = zc_store_pwritev(below(f), iov, n, off);
    end(f->store, &c);
    return rc;
}

static ssize_t slow_write_ranges(struct zc_sfile *f, const char *data, const struct zc_range *r,
                                 uint32_t n, uint64_t off)
{
    struct call c;
    ssize_t rc;

    begin_file(f, "write", &c);
    rc = zc_store_write_ranges(below(f), data, r, n, off);
    end(f->store, &c);
    return rc;
}

static int slow_getattr(struct zc_sfile *f, struct zc_attr *attr)
{
    struct call c;
    int rc;

    begin_file(f, "getattr", &c);
    rc = zc_store_getattr(below(f), attr);
    end(f->store, &c);
    return rc;
}

static int slow_truncate(struct zc_sfile *f, uint64_t size)
{
    struct call c;
    int rc;

    begin_file(f, "truncate", &c);
    rc = zc_store_truncate(below(f), size);
    end(f->store, &c);
    return rc;
}

static int slow_allocate(struct zc_sfile *f, uint64_t off, uint64_t len)
{
    struct call c;
    int rc;

    begin_file(f, "allocate", &c);
    rc = zc_store_allocate(below(f), off, len);
    end(f->store, &c);
    return rc;
}

static int slow_sync(struct zc_sfile *f, enum zc_level level)
{
    struct call c;
    int rc;

    begin_file(f, "sync", &c);
    rc = zc_store_sync(below(f), level);
    end(f->store, &c);
    return rc;
}

static int slow_backlog(struct zc_sfile *f, uint64_t *bytes)
{
    struct call c;
    int rc;

    begin_file(f, "backlog", &c);
    rc = zc_store_backlog(below(f), bytes);
    end(f->store, &c);
    return rc;
}

/* The card is the store's below, which takes it back without us. */
static int slow_meet(struct zc_sfile *f, const char *job, const void *card, size_t len,
                     uint64_t replaces, struct zc_seat **mine, struct zc_card *theirs)
{
    struct call c;
    int rc;

    begin_file(f, "meet", &c);
    rc = zc_store_meet(below(f), job, card, len, replaces, mine, theirs);
    end(f->store, &c);
    return rc;
}

static int slow_refresh(struct zc_sfile *f)
{
    struct call c;
    int rc;

    begin_file(f, "refresh", &c);
    rc = zc_store_refresh(below(f));
    end(f->store, &c);
    return rc;
}

/* What does not block is not noted. */
static uint32_t slow_server(const struct zc_sfile *f, uint64_t off)
{
    return zc_store_server(((const struct slow_sfile *)f)->below, off);
}

static void slow_progress(struct zc_sfile *f, uint32_t server, struct zc_progress *out)
{
    zc_store_progress(below(f), server, out);
}

static void slow_watch(struct zc_store *s, struct zc_watch *w)
{
    zc_store_watch(slow_store(s)->below, w);
}

static void slow_unwatch(struct zc_store *s, struct zc_watch *w)
{
    zc_store_unwatch(slow_store(s)->below, w);
}

static int slow_unlink(struct zc_store *s, const char *path)
{
    struct call c;
    int rc;

    begin(s, path, "unlink", &c);
    rc = zc_store_unlink(slow_store(s)->below, path);
    end(s, &c);
    return rc;
}

static int slow_stat(struct zc_store *s, const char *path, struct zc_attr *attr)
{
    struct call c;
    int rc;

    begin(s, path, "stat", &c);
    rc = zc_store_stat(slow_store(s)->below, path, attr);
    end(s, &c);
    return rc;
}

/* It has a deadline of its own. */
static int slow_ping(struct zc_store *s)
{
    return zc_store_ping(slow_store(s)->below);
}

static void slow_destroy(struct zc_store *s)
{
    struct slow_store *ss = slow_store(s);

    if (ss->watched) {
        zc_lock_get(&ss->lock);
        ss->stop = true;
        pthread_cond_signal(&ss->stopped);
        zc_lock_put(&ss->lock);
        pthread_join(ss->watcher, NULL);
    }
    zc_store_destroy(ss->below);
    pthread_cond_destroy(&ss->stopped);
    zc_lock_destroy(&ss->lock);
    free(ss);
}

static const struct zc_store_ops slow_ops = {
    .open = slow_open,
    .close = slow_close,
    .preadv = slow_preadv,
    .pwritev = slow_pwritev,
    .write_ranges = slow_write_ranges,
    .getattr = slow_getattr,
    .truncate = slow_truncate,
    .allocate = slow_allocate,
    .sync = slow_sync,
    .backlog = slow_backlog,
    .meet = slow_meet,
    .refresh = slow_refresh,
    .server = slow_server,
    .progress = slow_progress,
    .watch = slow_watch,
    .unwatch = slow_unwatch,
    .unlink = slow_unlink,
    .stat = slow_stat,
    .ping = slow_ping,
    .destroy = slow_destroy,
};

/* That it cannot do something, or need not, is to be seen through us. */
static struct zc_store_ops ops_over(const struct zc_store_ops *below_ops)
{
    struct zc_store_ops ops = slow_ops;

    ops.name = below_ops->name;
    if (!below_ops->write_ranges)
        ops.write_ranges = NULL;
    if (!below_ops->backlog)
        ops.backlog = NULL;
    if (!below_ops->meet)
        ops.meet = NULL;
    if (!below_ops->refresh)
        ops.refresh = NULL;
    if (!below_ops->ping)
        ops.ping = NULL;
    return ops;
}

int zc_store_slow_create(struct zc_store *below_store, uint64_t report_ms, struct zc_store **out)
{
    struct slow_store *ss = calloc(1, sizeof *ss);
    int rc;

    *out = NULL;
    if (!ss)
        return zc_errorf(ENOMEM, "slow store: out of memory");
    ss->store = *below_store;
    ss->ops = ops_over(below_store->ops);
    ss->store.ops = &ss->ops;
    ss->limit = report_ms * ZC_NS_PER_MS;
    zc_list_init(&ss->calls);
    zc_lock_init(&ss->lock, ZC_ORDER_STORE);
    zc_cond_init(&ss->stopped);
    rc = zc_thread_start(&ss->watcher, "zc-slow", watch, ss);
    if (rc < 0) {
        slow_destroy(&ss->store);
        return rc;
    }
    ss->watched = true;
    ss->below = below_store;
    *out = &ss->store;
    return 0;
}

void zc_store_slow_stats(struct zc_store *s, struct zc_store_slow_stats *out)
{
    struct slow_store *ss;

    *out = (struct zc_store_slow_stats){0};
    if (!s || s->ops->destroy != slow_destroy)
        return;
    ss = slow_store(s);
    zc_lock_get(&ss->lock);
    out->hangs = ss->hangs;
    out->longest_ms = ss->longest;
    zc_list_each (&ss->calls, n) {
        const struct call *c = zc_list_entry(n, struct call, link);
        uint64_t took = zc_now() - c->since;

        out->hung += c->told;
        if (took > out->longest_ms)
            out->longest_ms = took;
    }
    zc_lock_put(&ss->lock);
    out->longest_ms /= ZC_NS_PER_MS;
}
