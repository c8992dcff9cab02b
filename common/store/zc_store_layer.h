/* zc_store_layer.h - default operations of a store in front of another one.
 *
 * A layer is a store that passes each operation on to the store below.  Its own table has only the
 * operations that it changes; operations that the store below lacks, the layer lacks as well.  A
 * layer that treats many operations alike gives hooks, which are called around each operation that
 * is passed on and may block.
 *
 * A layer with an open of its own fills a struct zc_layer_file there.  A rendezvous record
 * (zc_store_rendezvous()) belongs to the lowest store, which withdraws it without the layers.
 */
#ifndef ZC_STORE_LAYER_H
#define ZC_STORE_LAYER_H

#include "zc_store.h"

enum zc_call_kind {
    ZC_CALL_OPEN,
    ZC_CALL_CLOSE,
    ZC_CALL_READ,
    ZC_CALL_WRITE, /* pwritev and write_ranges */
    ZC_CALL_GETATTR,
    ZC_CALL_TRUNCATE,
    ZC_CALL_ALLOCATE,
    ZC_CALL_SYNC,
    ZC_CALL_BACKLOG,
    ZC_CALL_RENDEZVOUS,
    ZC_CALL_REFRESH,
    ZC_CALL_UNLINK,
    ZC_CALL_STAT,
    ZC_CALL_KINDS,
};

/* One call under way; on the stack of the thread that makes it. */
struct zc_store_call {
    enum zc_call_kind kind;
    const char *name; /* of the kind, for messages */
    const char *path; /* of the open, or of the call */
    /* Private to the hooks. */
    struct zc_list link;
    uint64_t since, trouble;
    bool told;
};

struct zc_layer;

struct zc_layer_hooks {
    /* Called before each operation.  0: it goes on.  A negative errno, explained by zc_errorf(),
     * becomes its result without a call of the store below; a close is passed on all the same.
     * NULL: 0. */
    int (*enter)(struct zc_layer *l, struct zc_store_call *c);
    /* Called after enter() has returned 0 and the store below has returned.  NULL: not called. */
    void (*leave)(struct zc_layer *l, struct zc_store_call *c);
};

/* Base of a layer: its first member. */
struct zc_layer {
    struct zc_store store;
    struct zc_store_ops ops;
    struct zc_store *below;
    const struct zc_layer_hooks *hooks; /* NULL: none */
};

/* Base of a layer's files: their first member. */
struct zc_layer_file {
    struct zc_sfile sfile;
    struct zc_sfile *below;
    char *path;
};

static inline struct zc_layer *zc_layer_of(struct zc_store *s)
{
    return (struct zc_layer *)s;
}

static inline struct zc_sfile *zc_layer_below(struct zc_sfile *f)
{
    return ((struct zc_layer_file *)f)->below;
}

/* Makes `l` a layer over `below`, and takes its properties.  `own` has the operations that the
 * layer changes, including destroy(), and a name, or NULL for that of the store below. */
void zc_layer_init(struct zc_layer *l, const struct zc_store_ops *own,
                   const struct zc_layer_hooks *hooks, struct zc_store *below);

#endif
