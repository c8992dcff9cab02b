/* zc_store_fault.c - fails, delays or holds chosen calls of the store below. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zc_store_fault.h"
#include "zc_store_layer.h"

enum { HALF_IOV = 64 };

struct fault_store {
    struct zc_layer layer;
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

/* Which of the calls that are passed on are of which kind; the rest is not failed. */
static const unsigned kinds[ZC_CALL_KINDS] = {
    [ZC_CALL_OPEN] = ZC_FAULT_OPEN,         [ZC_CALL_CLOSE] = ZC_FAULT_CLOSE,
    [ZC_CALL_READ] = ZC_FAULT_READ,         [ZC_CALL_WRITE] = ZC_FAULT_WRITE,
    [ZC_CALL_GETATTR] = ZC_FAULT_ATTR,      [ZC_CALL_TRUNCATE] = ZC_FAULT_TRUNCATE,
    [ZC_CALL_ALLOCATE] = ZC_FAULT_TRUNCATE, [ZC_CALL_SYNC] = ZC_FAULT_SYNC,
    [ZC_CALL_BACKLOG] = ZC_FAULT_ATTR,      [ZC_CALL_RENDEZVOUS] = ZC_FAULT_RENDEZVOUS,
    [ZC_CALL_REFRESH] = ZC_FAULT_ATTR,      [ZC_CALL_UNLINK] = ZC_FAULT_UNLINK,
    [ZC_CALL_STAT] = ZC_FAULT_ATTR,
};

static struct fault_store *fault_store(struct zc_store *s)
{
    return zc_list_entry(s, struct fault_store, layer.store);
}

static const char *path_of(struct zc_sfile *f)
{
    return ((struct zc_layer_file *)f)->path;
}

static bool holds(const struct fault_store *fs, const char *path, unsigned op)
{
    return fs->hold_ops & op && (!fs->hold_path || strcmp(fs->hold_path, path) == 0);
}

/* Passes one call of kind `op`: 0, or the negative errno it is to fail with. */
static int gate(struct zc_store *s, const char *path, unsigned op, const char *name)
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
        zc_clock_sleep(us * 1000ull);
    if (err)
        return zc_errorf(err, "fault injected into %s: %s", name, strerror(err));
    return 0;
}

static int fault_enter(struct zc_layer *l, struct zc_store_call *c)
{
    return gate(&l->store, c->path, kinds[c->kind], c->name);
}

static const struct zc_layer_hooks hooks = {.enter = fault_enter};

static ssize_t fault_preadv(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off)
{
    ssize_t rc = gate(f->store, path_of(f), ZC_FAULT_READ, "read");
    int late;

    if (rc == 0)
        rc = zc_store_preadv(zc_layer_below(f), iov, n, off);
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
        write_half(zc_layer_below(f), iov, n, off);
        return zc_errorf(-rc, "fault injected into write: %s", strerror(-rc));
    }
    done = zc_store_pwritev(zc_layer_below(f), iov, n, off);
    late = gate(f->store, path_of(f), ZC_FAULT_WRITE_RESULT, "write");
    return late < 0 ? late : done;
}

static void fault_destroy(struct zc_store *s)
{
    struct fault_store *fs = fault_store(s);

    zc_store_destroy(fs->layer.below);
    free(fs->hold_path);
    pthread_cond_destroy(&fs->released);
    zc_lock_destroy(&fs->lock);
    free(fs);
}

static const struct zc_store_ops fault_ops = {
    .name = "fault",
    .preadv = fault_preadv,
    .pwritev = fault_pwritev,
    .destroy = fault_destroy,
};

int zc_store_fault_create(struct zc_store *below_store, struct zc_store **out)
{
    struct fault_store *fs = calloc(1, sizeof(*fs));

    *out = NULL;
    if (!fs)
        return zc_errorf(ENOMEM, "fault store: out of memory");
    zc_layer_init(&fs->layer, &fault_ops, &hooks, below_store);
    zc_lock_init(&fs->lock, ZC_ORDER_STORE);
    zc_cond_init(&fs->released);
    *out = &fs->layer.store;
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
