/* zc_server.h - requests of peers, served from a cache.
 *
 * One thread, the one in zc_server_run(), owns the sessions and the requests.  It never
 * blocks: accesses that wait for the cache are parked, calls that block in the store
 * (open, unlink, truncate) run on a small pool.  Payloads that do not travel inline are
 * pulled from or pushed to the client by RMA, straight between its memory and a page.
 */
#ifndef ZC_SERVER_H
#define ZC_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "zc_cache.h"
#include "zc_coord.h"
#include "zc_journal.h"
#include "zc_shake.h"
#include "zc_transport.h"
#include "zc_user.h"

struct zc_server;
struct zc_posts;

/* What a server counts, besides its cache: X(name, help). */
#define ZC_SERVER_STATS(X)                                                                         \
    X(sessions, "clients connected")                                                               \
    X(sessions_opened, "clients that ever connected")                                              \
    X(sessions_lost, "clients dropped because nothing was heard of them")                          \
    X(sessions_replaced, "clients that came back, and whose session before was ended")             \
    X(handshakes, "clients that have not shown yet that they know the secret")                     \
    X(handshakes_lapsed, "clients that did not show it in time")                                   \
    X(handshakes_refused, "attempts to show it that were none")                                    \
    X(users, "users of whom clients are connected, of a daemon of many")                           \
    X(sharers, "jobs, or users of a daemon of many, that share it in equal parts")                 \
    X(forged, "messages thrown away because their seal was wrong")                                 \
    X(replayed, "messages thrown away because they had come before")                               \
    X(requests, "requests served")                                                                 \
    X(requests_active, "requests under way")                                                       \
    X(requests_failed, "requests answered with an error")                                          \
    X(requests_refused, "requests refused: over the credits, or while stopping")                   \
    X(unread, "messages not read, of clients that do not take their answers")                      \
    X(client_bytes, "memory set aside for clients, of the budget for all of them")                 \
    X(malformed, "messages thrown away as malformed or unknown")                                   \
    X(pending_sent, "notices to clients that a request takes long")                                \
    X(stored_sent, "notices to clients that what they wrote is stored")                            \
    X(inline_in_bytes, "payload received inside messages")                                         \
    X(inline_out_bytes, "payload sent inside messages")                                            \
    X(rma_in_bytes, "payload pulled from clients by RMA")                                          \
    X(rma_out_bytes, "payload pushed to clients by RMA")                                           \
    X(rma_failed, "RMA operations that failed")                                                    \
    X(checksum_errors, "payloads with checksums that came damaged, and had to come again")         \
    X(checksum_bytes, "payload with checksums, moved in both directions")                          \
    X(views, "views kept for clients")                                                             \
    X(view_bytes, "memory that they take, and those being installed")                              \
    X(lists, "requests with a list of pieces")                                                     \
    X(store_hung, "store calls that take longer than hang-report and go on")                       \
    X(store_hangs, "store calls that ever did")                                                    \
    X(store_longest_ms, "milliseconds of the longest store call")

/* Memory for the views of clients, which servers of one process may share. */
struct zc_view_budget {
    size_t limit, used; /* bytes; atomic.  A lower limit takes nothing away that is in use */
    unsigned percent;   /* of a cache's size that was asked for, to be told; atomic */
};

struct zc_server_config {
    struct zc_cache *cache;
    struct zc_store *store;     /* below it; borrowed, to tell of its calls; or NULL */
    struct zc_journal *journal; /* what writes bring is in it before they are answered; borrowed,
                                   to be closed after the server; NULL: there is none */
    uint64_t boot_id;           /* random, one per start */
    uint64_t identity;          /* the same through all starts, in sets of daemons; 0: boot_id */
    struct zc_secret secret;    /* that clients know; has to be made */
    bool munge; /* it has many users, whom munge knows: the secret is none; see zc_user.h */
    struct zc_user_limits user; /* then */
    unsigned credits;           /* requests a client may have under way at most; 0: a default */
    size_t budget;              /* bytes that clients may make the server hold; 0: zc_account.h */
    unsigned silence_ms;        /* a client unheard of for this long is dropped; 0: what it said */
    /* Opens the endpoint: zc_tp_ofi_open or, in tests, zc_tp_loop_open. */
    int (*open_transport)(const struct zc_tp_config *cfg, struct zc_tp **out);
    const char *provider, *listen;
    bool early;        /* of its transport's configuration */
    unsigned stuck_ms; /* calls that take longer do not keep others waiting; 0: a default */
    struct zc_view_budget *views; /* borrowed; NULL: clients send lists */
    bool audit;                   /* who does what is logged, at level info */
    bool shares;                  /* its clients are of several jobs, or users: zc_sharer.h */
    bool for_all;                 /* a client may open files for all: see ZC_OPEN_FOR_ALL */
    bool shows;                   /* processes of this host may read the cache's pages by
                                     themselves (zc_cache_config.shown) */
    struct zc_posts *posts;       /* of its cache: clients of this host leave writes in memory;
                                     borrowed.  NULL: they do not */
    bool terse;                   /* clients name file and bytes: they get the cause alone */
    unsigned prefetch;            /* pages read ahead of these */
    /* Whether this process is of the group that the client names; then it stays that until
     * detach() was called as often.  On the pool.  NULL: it is of all. */
    bool (*attach)(uint64_t group);
    void (*detach)(uint64_t group);
};

/* The endpoint is ready when this returns. */
int zc_server_create(const struct zc_server_config *cfg, struct zc_server **out);

/* Own address; *len is in/out. */
int zc_server_address(struct zc_server *s, void *buf, size_t *len);

/* The same for processes of this host; *len is 0 where there is none. */
int zc_server_local_address(struct zc_server *s, void *buf, size_t *len);

/* libfabric's, which it was opened with; NULL: it does without. */
const char *zc_server_provider(const struct zc_server *s);

/* Registers the cache's pages again where they lie in more memory than before
 * (zc_cache_extend()).  By one thread at a time; it may be serving meanwhile. */
int zc_server_cover(struct zc_server *s);

/* Serves until zc_server_stop() or a CONTROL message asks to stop; then refuses new
 * requests, drains the cache and returns 0, or a negative errno when not all of it
 * could be written back. */
int zc_server_run(struct zc_server *s);

/* Makes zc_server_run() stop; may be called from a signal handler, and more than once. */
void zc_server_stop(struct zc_server *s);

void zc_server_destroy(struct zc_server *s);

/* Exports an open file to all clients under a handle number of its own; 0: no memory.  Any
 * thread.  `coord` is what they share besides its bytes, or NULL; it is used until the file
 * is taken back. */
uint64_t zc_server_export(struct zc_server *s, struct zc_handle *h, struct zc_coord *coord);
/* Takes it back when no request uses it any more; blocks, so not on the server's thread. */
void zc_server_unexport(struct zc_server *s, uint64_t number);

#endif
