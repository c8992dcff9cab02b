/* zc_store_fault.c - fails, delays or holds chosen calls of the store below. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zc_store_fault.h"

enum { HALF_IOV = 64 };

struct fault_store {
    struct zc_store store;
    struct zc_store *below;
    struct zc_lock lock;
    zc_cond released;
    /* all of these under lock */
    unsigned ops; /* kinds that fail */
    uint64_t skip, count;
    int err;
    unsigned delay_ops, delay_us;
    unsigned hold_ops, held;
    char *hold_path; /* NULL: any */
    uint64_t raised;
};

struct fault_sfile {
    struct zc_sfile sfile;
    struct zc_sfile *below;
    char *path; /* it was opened by */
};

static struct fault_store *fault_store(struct zc_store *s)
{
    return (struct fault_store *)s;
}

static struct zc_sfile *below(struct zc_sfile *f)
{
    return ((struct fault_sfile *)f)->below;
}

static const char *path_of(struct zc_sfile *f)
{
    return ((struct fault_sfile *)f)->path;
}

static void sleep_us(unsigned us)
{
    struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};

    while (nanosleep(&t, &t) < 0 && errno == EINTR)
        continue;
}

static bool holds(const struct fault_store *fs, const char *path, enum zc_fault_op op)
{
    return fs->hold_ops & op && (!fs->hold_path || strcmp(fs->hold_path, path) == 0);
}

/* Passes one call of kind `op`: 0, or the negative errno it is to fail with. */
static int gate(struct zc_store *s, const char *path, enum zc_fault_op op, const char *name)
{
    struct fault_store *fs = fault_store(s);
    unsigned us;
    int err = 0;

    zc_lock_get(&fs->lock);
    if (holds(fs, path, op)) {
        fs->held++;
        while (holds(fs, path, op))
            zc_cond_wait(&fs->released, &fs->lock);
        fs->held--;
    }
    us = fs->delay_ops & op ? fs->delay_us : 0;
    if ((fs->ops & op) && fs->count > 0) {
        if (fs->skip > 0) {
            fs->skip--;
        } else {
            fs->count--;
            fs->raised++;
            err = fs->err;
        }
    }
    zc_lock_put(&fs->lock);
    if (us)
        sleep_us(us);
    if (err)
        return zc_errorf(err, "fault injected into %s: %s", name, strerror(err));
    return 0;
}

static int fault_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                      struct zc_sfile **out, struct zc_attr *attr)
{
    struct fault_store *fs = fault_store(s);
    struct fault_sfile *f;
    int rc;

    *out = NULL;
    rc = gate(s, path, ZC_FAULT_OPEN, "open");
    if (rc < 0)
        return rc;
    f = calloc(1, sizeof(*f));
    if (!f)
        return zc_errorf(ENOMEM, "open %s: out of memory", path);
    f->path = strdup(path);
    rc = f->path ? zc_store_open_file(fs->below, path, flags, mode, &f->below, attr)
                 : zc_errorf(ENOMEM, "open %s: out of memory", path);
    if (rc < 0) {
        free(f->path);
        free(f);
        return rc;
    }
    f->sfile.store = s;
    *out = &f->sfile;
    return 0;
}

static int fault_close(struct zc_sfile *f, enum zc_level level)
{
    int rc = gate(f->store, path_of(f), ZC_FAULT_CLOSE, "close");
    int rc2 = zc_store_close_file(below(f), level);

    free(((struct fault_sfile *)f)->path);
    free(f);
    return rc < 0 ? rc : rc2;
}

static ssize_t fault_preadv(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off)
{
    ssize_t rc = gate(f->store, path_of(f), ZC_FAULT_READ, "read");
    int late;

    if (rc == 0)
        rc = zc_store_preadv(below(f), iov, n, off);
    late = gate(f->store, path_of(f), ZC_FAULT_READ_RESULT, "read");
    return late < 0 ? late : rc;
}

/* Writes the first half of the bytes, as a store that fails in the middle would. */
static void write_half(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off)
{
    struct iovec half[HALF_IOV];
    size_t total = 0;
    int used = 0;

    for (int i = 0; i < n; i++)
        total += iov[i].iov_len;
    total /= 2;
    for (int i = 0; i < n && total > 0 && used < HALF_IOV; i++) {
        half[used] = iov[i];
        if (half[used].iov_len > total)
            half[used].iov_len = total;
        total -= half[used++].iov_len;
    }
    if (used > 0)
        (void)zc_store_pwritev(f, half, used, off);
}

static ssize_t fault_pwritev(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off)
{
    int rc = gate(f->store, path_of(f), ZC_FAULT_WRITE, "write"), late;
    ssize_t done;

    if (rc < 0) {
        write_half(below(f), iov, n, off);
        return zc_errorf(-rc, "fault injected into write: %s", strerror(-rc));
    }
    done = zc_store_pwritev(below(f), iov, n, off);
    late = gate(f->store, path_of(f), ZC_FAULT_WRITE_RESULT, "write");
    return late < 0 ? late : done;
}

static ssize_t fault_write_ranges(struct zc_sfile *f, const char *data, const struct zc_range *r,
                                  uint32_t n, uint64_t off)
{
    int rc;

    if (!zc_store_writes_ranges(below(f)->store))
        return -EOPNOTSUPP;
    rc = gate(f->store, path_of(f), ZC_FAULT_WRITE, "write");
    if (rc < 0)
        return zc_errorf(-rc, "fault injected into write: %s", strerror(-rc));
    return zc_store_write_ranges(below(f), data, r, n, off);
}

static int fault_getattr(struct zc_sfile *f, struct zc_attr *attr)
{
    int rc = gate(f->store, path_of(f), ZC_FAULT_ATTR, "getattr");

    return rc < 0 ? rc : zc_store_getattr(below(f), attr);
}

static int fault_truncate(struct zc_sfile *f, uint64_t size)
{
    int rc = gate(f->store, path_of(f), ZC_FAULT_TRUNCATE, "truncate");

    return rc < 0 ? rc : zc_store_truncate(below(f), size);
}

static int fault_allocate(struct zc_sfile *f, uint64_t off, uint64_t len)
{
    int rc = gate(f->store, path_of(f), ZC_FAULT_TRUNCATE, "allocate");

    return rc < 0 ? rc : zc_store_allocate(below(f), off, len);
}

static int fault_sync(struct zc_sfile *f, enum zc_level level)
{
    int rc = gate(f->store, path_of(f), ZC_FAULT_SYNC, "sync");

    return rc < 0 ? rc : zc_store_sync(below(f), level);
}

static int fault_backlog(struct zc_sfile *f, uint64_t *bytes)
{
    int rc = gate(f->store, path_of(f), ZC_FAULT_ATTR, "backlog");

    *bytes = 0;
    return rc < 0 ? rc : zc_store_backlog(below(f), bytes);
}

/* The card is the store's below, which takes it back without us. */
static int fault_meet(struct zc_sfile *f, const char *job, const void *card, size_t len,
                      uint64_t replaces, struct zc_seat **mine, struct zc_card *theirs)
{
    int rc = gate(f->store, path_of(f), ZC_FAULT_MEET, "meet");

    return rc < 0 ? rc : zc_store_meet(below(f), job, card, len, replaces, mine, theirs);
}

static int fault_refresh(struct zc_sfile *f)
{
    int rc = gate(f->store, path_of(f), ZC_FAULT_ATTR, "refresh");

    return rc < 0 ? rc : zc_store_refresh(below(f));
}

static uint32_t fault_server(const struct zc_sfile *f, uint64_t off)
{
    return zc_store_server(((const struct fault_sfile *)f)->below, off);
}

static void fault_progress(struct zc_sfile *f, uint32_t server, struct zc_progress *out)
{
    zc_store_progress(below(f), server, out);
}

static void fault_watch(struct zc_store *s, struct zc_watch *w)
{
    zc_store_watch(fault_store(s)->below, w);
}

static void fault_unwatch(struct zc_store *s, struct zc_watch *w)
{
    zc_store_unwatch(fault_store(s)->below, w);
}

static int fault_unlink(struct zc_store *s, const char *path)
{
    struct zc_store *b = fault_store(s)->below;
    int rc = gate(s, path, ZC_FAULT_UNLINK, "unlink");

    return rc < 0 ? rc : zc_store_unlink(b, path);
}

static int fault_stat(struct zc_store *s, const char *path, struct zc_attr *attr)
{
    struct zc_store *b = fault_store(s)->below;
    int rc = gate(s, path, ZC_FAULT_ATTR, "stat");

    return rc < 0 ? rc : zc_store_stat(b, path, attr);
}

static void fault_destroy(struct zc_store *s)
{
    struct fault_store *fs = fault_store(s);

    zc_store_destroy(fs->below);
    free(fs->hold_path);
    pthread_cond_destroy(&fs->released);
    zc_lock_destroy(&fs->lock);
    free(fs);
}

static const struct zc_store_ops fault_ops = {
    .name = "fault",
    .open = fault_open,
    .close = fault_close,
    .preadv = fault_preadv,
    .pwritev = fault_pwritev,
    .write_ranges = fault_write_ranges,
    .getattr = fault_getattr,
    .truncate = fault_truncate,
    .allocate = fault_allocate,
    .sync = fault_sync,
    .backlog = fault_backlog,
    .meet = fault_meet,
    .refresh = fault_refresh,
    .server = fault_server,
    .progress = fault_progress,
    .watch = fault_watch,
    .unwatch = fault_unwatch,
    .unlink = fault_unlink,
    .stat = fault_stat,
    .destroy = fault_destroy,
};

int zc_store_fault_create(struct zc_store *below_store, struct zc_store **out)
{
    struct fault_store *fs = calloc(1, sizeof(*fs));

    *out = NULL;
    if (!fs)
        return zc_errorf(ENOMEM, "fault store: out of memory");
    fs->store.ops = &fault_ops;
    fs->store.names_bytes = below_store->names_bytes;
    fs->store.remembers = below_store->remembers;
    fs->store.servers = below_store->servers;
    fs->store.lossy = below_store->lossy;
    fs->below = below_store;
    zc_lock_init(&fs->lock, ZC_ORDER_STORE);
    zc_cond_init(&fs->released);
    *out = &fs->store;
    return 0;
}

void zc_store_fault_set(struct zc_store *s, unsigned ops, uint64_t nth, uint64_t count, int err)
{
    struct fault_store *fs = fault_store(s);

    zc_lock_get(&fs->lock);
    fs->ops = ops;
    fs->skip = nth > 0 ? nth - 1 : 0;
    fs->count = count;
    fs->err = err;
    zc_lock_put(&fs->lock);
}

void zc_store_fault_delay(struct zc_store *s, unsigned ops, unsigned us)
{
    struct fault_store *fs = fault_store(s);

    zc_lock_get(&fs->lock);
    fs->delay_ops = ops;
    fs->delay_us = us;
    zc_lock_put(&fs->lock);
}

void zc_store_fault_hold(struct zc_store *s, unsigned ops)
{
    zc_store_fault_hold_path(s, ops, NULL);
}

void zc_store_fault_hold_path(struct zc_store *s, unsigned ops, const char *path)
{
    struct fault_store *fs = fault_store(s);

    zc_lock_get(&fs->lock);
    free(fs->hold_path);
    fs->hold_path = path ? strdup(path) : NULL;
    fs->hold_ops = ops;
    pthread_cond_broadcast(&fs->released); /* those that are not among them */
    zc_lock_put(&fs->lock);
}

void zc_store_fault_release(struct zc_store *s)
{
    struct fault_store *fs = fault_store(s);

    zc_lock_get(&fs->lock);
    fs->hold_ops = 0;
    pthread_cond_broadcast(&fs->released);
    zc_lock_put(&fs->lock);
}

unsigned zc_store_fault_held(struct zc_store *s)
{
    struct fault_store *fs = fault_store(s);
    unsigned held;

    zc_lock_get(&fs->lock);
    held = fs->held;
    zc_lock_put(&fs->lock);
    return held;
}

uint64_t zc_store_fault_raised(struct zc_store *s)
{
    struct fault_store *fs = fault_store(s);
    uint64_t raised;

    zc_lock_get(&fs->lock);
    raised = fs->raised;
    zc_lock_put(&fs->lock);
    return raised;
}
