/* zc_stripe_ask.h - requests to one or all servers of a striped file.
 *
 * A rank's file is striped over aggregators (adio_zcache/rank/zcache_owner.c), an aggregator's file
 * over daemons (zc_store_remote_file.c).  The difference is in a table, struct zc_stripe_ops: how a
 * server is reached, for how long that is tried, and what replaces requests to a server that has no
 * client (the rank's own cache, or a bypassed daemon).
 *
 * Functions return 0 or a negative errno, explained.  They block, and may be called from any
 * thread, without locks held.
 */
#ifndef ZC_STRIPE_ASK_H
#define ZC_STRIPE_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_client.h"
#include "zc_stripe.h"

struct remote;
struct session;
struct zc_stripe_ops;

/* May be copied; valid as long as what it points to. */
struct zc_stripe_file {
    const struct zc_stripe_ops *ops;
    void *file;                    /* argument of the functions in the table */
    const struct zc_stripe *place; /* placement of its blocks */
    uint32_t n;                    /* number of servers */
};

/* A server, reached for one call. */
struct zc_stripe_use {
    uint32_t index;
    struct zc_client *client; /* NULL: the functions in the table do what a request would */
    uint64_t handle;          /* number of the file there */
    void *here;               /* for these functions, where there is no client */

    struct remote *remote; /* for zc_store_remote.c */
    struct session *session;
};

struct zc_stripe_ops {
    const char *servers; /* name of one, in messages: "daemon" */
    /* Returns the server that owns a block: zc_stripe_daemon() or zc_stripe_aggregator(). */
    uint32_t (*server)(const struct zc_stripe *place, uint64_t block);

    /* Reaches a server; waits while a disconnected one is tried again.  After an error no put(). */
    int (*get)(const struct zc_stripe_file *f, uint32_t i, struct zc_stripe_use *use);
    /* Ends the use; rc is the result of the call, and stays explained.  True: the call failed
     * because the connection broke, and has to be repeated after another get(). */
    bool (*put)(struct zc_stripe_use *use, int rc);

    /* Instead of requests, for a server without a client: */
    int (*getattr)(const struct zc_stripe_file *f, const struct zc_stripe_use *use,
                   struct zc_attr *attr);
    int (*truncate)(const struct zc_stripe_file *f, const struct zc_stripe_use *use, uint64_t size);
    int (*allocate)(const struct zc_stripe_file *f, const struct zc_stripe_use *use, uint64_t off,
                    uint64_t len);
    /* Called after another server has truncated the file.  NULL: nothing to do. */
    int (*cut)(const struct zc_stripe_file *f, const struct zc_stripe_use *use, uint64_t size,
               uint64_t *count);
    /* Notes bytes that a server accepted, with these numbers (zc_store.h).  NULL: not needed. */
    void (*took)(const struct zc_stripe_file *f, const struct zc_stripe_use *use, uint64_t bytes,
                 uint64_t unstable_seq, uint64_t committed_seq);
};

/* ---- one server ---- */

typedef int zc_stripe_call_fn(const struct zc_stripe_file *f, const struct zc_stripe_use *use,
                              void *arg);
/* Makes a call, and repeats it if put() says so. */
int zc_stripe_call(const struct zc_stripe_file *f, uint32_t i, zc_stripe_call_fn *call, void *arg);

/* Allocates space through the first server. */
int zc_stripe_allocate(const struct zc_stripe_file *f, uint64_t off, uint64_t len);

/* ---- all of them ---- */

/* A request to each server from number `from` on that asks() selects. */
struct zc_stripe_request {
    zc_client_start_fn *start;
    /* Called by this thread for each server without a client.  NULL: nothing to do there. */
    int (*here)(const struct zc_stripe_file *f, const struct zc_stripe_use *use, uint64_t arg,
                uint64_t *count);
    bool (*asks)(const struct zc_stripe_file *f, uint32_t i); /* NULL: all */
    uint64_t arg;
    uint32_t from;
    uint64_t sum; /* out: sum of the servers' counts */
};
/* Starts all requests, then calls here(), then waits for all.  Every server is asked; returns the
 * first failure.  Without memory for all it asks eight servers at a time. */
int zc_stripe_ask(const struct zc_stripe_file *f, struct zc_stripe_request *q);

/* Waits until each server has answered a request, one after the other. */
int zc_stripe_ping(const struct zc_stripe_file *f);

/* Returns the first server's attributes, with the largest size that any server knows of. */
int zc_stripe_getattr(const struct zc_stripe_file *f, struct zc_attr *attr);
/* As zc_stripe_getattr(), by another call, whose argument is a struct zc_attr. */
int zc_stripe_attr(const struct zc_stripe_file *f, zc_stripe_call_fn *call, struct zc_attr *attr);

/* Truncates at the first server, after all servers have answered a ping; then the others truncate
 * what they have cached.  -EREMOTEIO: the file has the new size, but not every server could be
 * told; after any other error the file is unchanged, as far as is known. */
int zc_stripe_truncate(const struct zc_stripe_file *f, uint64_t size);

#endif
