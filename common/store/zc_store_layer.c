/* zc_store_layer.c - passes the operations of a store on to the store below, between hooks. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_store_layer.h"

static const char *const names[ZC_CALL_KINDS] = {
    [ZC_CALL_OPEN] = "open",         [ZC_CALL_CLOSE] = "close",     [ZC_CALL_READ] = "read",
    [ZC_CALL_WRITE] = "write",       [ZC_CALL_GETATTR] = "getattr", [ZC_CALL_TRUNCATE] = "truncate",
    [ZC_CALL_ALLOCATE] = "allocate", [ZC_CALL_SYNC] = "sync",       [ZC_CALL_BACKLOG] = "backlog",
    [ZC_CALL_RENDEZVOUS] = "meet",   [ZC_CALL_REFRESH] = "refresh", [ZC_CALL_UNLINK] = "unlink",
    [ZC_CALL_STAT] = "stat",
};

static int enter(struct zc_store *s, const char *path, enum zc_call_kind kind,
                 struct zc_store_call *c)
{
    struct zc_layer *l = zc_layer_of(s);

    *c = (struct zc_store_call){.kind = kind, .name = names[kind], .path = path};
    return l->hooks && l->hooks->enter ? l->hooks->enter(l, c) : 0;
}

static void leave(struct zc_store *s, struct zc_store_call *c)
{
    struct zc_layer *l = zc_layer_of(s);

    if (l->hooks && l->hooks->leave)
        l->hooks->leave(l, c);
}

/* Ends an operation with the result of `call`, the one of the store below, between the hooks. */
#define PASS_ON(store, path, kind, call)                                                           \
    do {                                                                                           \
        struct zc_store_call c;                                                                    \
        __typeof__(call) rc = enter(store, path, kind, &c);                                        \
        if (rc == 0) {                                                                             \
            rc = call;                                                                             \
            leave(store, &c);                                                                      \
        }                                                                                          \
        return rc;                                                                                 \
    } while (0)

static const char *path_of(const struct zc_sfile *f)
{
    return ((const struct zc_layer_file *)f)->path;
}

static void free_file(struct zc_layer_file *f)
{
    free(f->path);
    free(f);
}

static int layer_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                      struct zc_sfile **out, struct zc_attr *attr)
{
    struct zc_layer_file *f = calloc(1, sizeof *f);
    struct zc_store_call c;
    int rc;

    *out = NULL;
    if (f)
        f->path = strdup(path);
    if (!f || !f->path) {
        free(f);
        return zc_errorf(ENOMEM, "open %s: out of memory", path);
    }
    rc = enter(s, path, ZC_CALL_OPEN, &c);
    if (rc == 0) {
        rc = zc_store_open_file(zc_layer_of(s)->below, path, flags, mode, &f->below, attr);
        leave(s, &c);
    }
    if (rc < 0) {
        free_file(f);
        return rc;
    }
    f->sfile.store = s;
    *out = &f->sfile;
    return 0;
}

static int layer_close(struct zc_sfile *f, enum zc_level level)
{
    struct zc_store_call c;
    int refused = enter(f->store, path_of(f), ZC_CALL_CLOSE, &c);
    int rc = zc_store_close_file(zc_layer_below(f), level);

    if (refused == 0)
        leave(f->store, &c);
    free_file((struct zc_layer_file *)f);
    return refused < 0 ? refused : rc;
}

static ssize_t layer_preadv(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off)
{
    PASS_ON(f->store, path_of(f), ZC_CALL_READ, zc_store_preadv(zc_layer_below(f), iov, n, off));
}

static ssize_t layer_pwritev(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off)
{
    PASS_ON(f->store, path_of(f), ZC_CALL_WRITE, zc_store_pwritev(zc_layer_below(f), iov, n, off));
}

static ssize_t layer_write_ranges(struct zc_sfile *f, const char *data, const struct zc_range *r,
                                  uint32_t n, uint64_t off, struct zc_merge *m)
{
    PASS_ON(f->store, path_of(f), ZC_CALL_WRITE,
            zc_store_write_ranges(zc_layer_below(f), data, r, n, off, m));
}

static int layer_descriptor(struct zc_sfile *f)
{
    return zc_store_descriptor(zc_layer_below(f));
}

static int layer_getattr(struct zc_sfile *f, struct zc_attr *attr)
{
    PASS_ON(f->store, path_of(f), ZC_CALL_GETATTR, zc_store_getattr(zc_layer_below(f), attr));
}

static int layer_truncate(struct zc_sfile *f, uint64_t size)
{
    PASS_ON(f->store, path_of(f), ZC_CALL_TRUNCATE, zc_store_truncate(zc_layer_below(f), size));
}

static int layer_allocate(struct zc_sfile *f, uint64_t off, uint64_t len)
{
    PASS_ON(f->store, path_of(f), ZC_CALL_ALLOCATE, zc_store_allocate(zc_layer_below(f), off, len));
}

static int layer_sync(struct zc_sfile *f, enum zc_level level)
{
    PASS_ON(f->store, path_of(f), ZC_CALL_SYNC, zc_store_sync(zc_layer_below(f), level));
}

static int layer_backlog(struct zc_sfile *f, uint64_t *bytes)
{
    PASS_ON(f->store, path_of(f), ZC_CALL_BACKLOG, zc_store_backlog(zc_layer_below(f), bytes));
}

static int layer_rendezvous(struct zc_sfile *f, const char *job, const void *record, size_t len,
                            uint64_t replaces, struct zc_publication **mine,
                            struct zc_rendezvous_record *theirs)
{
    PASS_ON(f->store, path_of(f), ZC_CALL_RENDEZVOUS,
            zc_store_rendezvous(zc_layer_below(f), job, record, len, replaces, mine, theirs));
}

static int layer_refresh(struct zc_sfile *f)
{
    PASS_ON(f->store, path_of(f), ZC_CALL_REFRESH, zc_store_refresh(zc_layer_below(f)));
}

/* Has no hooks: it may wait for other jobs without limit. */
static int layer_step(struct zc_sfile *f, struct zc_step_request *q)
{
    return zc_store_step(zc_layer_below(f), q);
}

/* These four do not block, and have no hooks. */
static uint32_t layer_server(const struct zc_sfile *f, uint64_t off)
{
    return zc_store_server(((const struct zc_layer_file *)f)->below, off);
}

static void layer_progress(struct zc_sfile *f, uint32_t server, struct zc_progress *out)
{
    zc_store_progress(zc_layer_below(f), server, out);
}

static void layer_watch(struct zc_store *s, struct zc_watch *w)
{
    zc_store_watch(zc_layer_of(s)->below, w);
}

static void layer_unwatch(struct zc_store *s, struct zc_watch *w)
{
    zc_store_unwatch(zc_layer_of(s)->below, w);
}

static int layer_unlink(struct zc_store *s, const char *path)
{
    PASS_ON(s, path, ZC_CALL_UNLINK, zc_store_unlink(zc_layer_of(s)->below, path));
}

static int layer_stat(struct zc_store *s, const char *path, struct zc_attr *attr)
{
    PASS_ON(s, path, ZC_CALL_STAT, zc_store_stat(zc_layer_of(s)->below, path, attr));
}

/* It has a deadline of its own, and no hooks. */
static int layer_ping(struct zc_store *s)
{
    return zc_store_ping(zc_layer_of(s)->below);
}

/* Operation `op`: the layer's own, or the one that passes it on; NULL if the store below has
 * none. */
#define CHOOSE(op) (!below->ops->op ? NULL : own->op ? own->op : layer_##op)

void zc_layer_init(struct zc_layer *l, const struct zc_store_ops *own,
                   const struct zc_layer_hooks *hooks, struct zc_store *below)
{
    l->ops = (struct zc_store_ops){
        .name = own->name ? own->name : below->ops->name,
        .open = own->open ? own->open : layer_open,
        .close = CHOOSE(close),
        .preadv = CHOOSE(preadv),
        .pwritev = CHOOSE(pwritev),
        .write_ranges = CHOOSE(write_ranges),
        .descriptor = CHOOSE(descriptor),
        .getattr = CHOOSE(getattr),
        .truncate = CHOOSE(truncate),
        .allocate = CHOOSE(allocate),
        .sync = CHOOSE(sync),
        .backlog = CHOOSE(backlog),
        .rendezvous = CHOOSE(rendezvous),
        .refresh = CHOOSE(refresh),
        .step = CHOOSE(step),
        .server = CHOOSE(server),
        .progress = CHOOSE(progress),
        .watch = CHOOSE(watch),
        .unwatch = CHOOSE(unwatch),
        .unlink = CHOOSE(unlink),
        .stat = CHOOSE(stat),
        .ping = CHOOSE(ping),
        .destroy = own->destroy,
    };
    l->store = *below;
    l->store.ops = &l->ops;
    l->below = below;
    l->hooks = hooks;
}
