/* zc_server.h - serves requests of peers from a cache.
 *
 * The thread in zc_server_run() owns the sessions and the requests.  It never blocks: accesses that
 * wait for the cache are parked, and calls that block in the store (open, unlink, truncate) run on
 * a small pool.  Payloads that are not inline are moved by RMA, directly between the client's
 * memory and a page.
 */
#ifndef ZC_SERVER_H
#define ZC_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "zc_cache.h"
#include "zc_coord.h"
#include "zc_handshake.h"
#include "zc_journal.h"
#include "zc_lock_reach.h"
#include "zc_transport.h"
#include "zc_user.h"

struct zc_server;
struct zc_shmring;

/* Counters of a server, besides those of its cache: X(name, kind, unit, help), see zc_cache.h. */
#define ZC_SERVER_STATS(X)                                                                         \
    X(sessions, GAUGE, NONE, "clients connected")                                                  \
    X(sessions_opened, COUNTER, NONE, "clients that ever connected")                               \
    X(sessions_lost, COUNTER, NONE, "clients dropped because nothing was heard of them")           \
    X(sessions_unsynced, COUNTER, NONE,                                                            \
      "of these, clients that had written to a file and not synced or closed it")                  \
    X(sessions_replaced, COUNTER, NONE,                                                            \
      "clients that came back, and whose session before was ended")                                \
    X(handshakes, GAUGE, NONE, "clients that have not shown yet that they know the secret")        \
    X(handshakes_lapsed, COUNTER, NONE, "clients that did not show it in time")                    \
    X(handshakes_refused, COUNTER, NONE, "attempts to show it that were none")                     \
    X(users, GAUGE, NONE, "users of whom clients are connected, of a daemon of many")              \
    X(sharers, GAUGE, NONE, "jobs, or users of a daemon of many, that share it in equal parts")    \
    X(forged, COUNTER, NONE, "messages thrown away because their MAC was wrong")                   \
    X(replayed, COUNTER, NONE, "messages thrown away because they had come before")                \
    X(requests, COUNTER, NONE, "requests served")                                                  \
    X(requests_active, GAUGE, NONE, "requests under way")                                          \
    X(requests_failed, COUNTER, NONE, "requests answered with an error")                           \
    X(requests_refused, COUNTER, NONE, "requests refused: over the credits, or while stopping")    \
    X(unread, COUNTER, NONE, "messages not read, of clients that do not take their answers")       \
    X(client_bytes, GAUGE, BYTES, "memory set aside for clients, of the budget for all of them")   \
    X(malformed, COUNTER, NONE, "messages thrown away as malformed or unknown")                    \
    X(pending_sent, COUNTER, NONE, "notices to clients that a request takes long")                 \
    X(stored_sent, COUNTER, NONE, "notices to clients that what they wrote is stored")             \
    X(inline_in_bytes, COUNTER, BYTES, "payload received inside messages")                         \
    X(inline_out_bytes, COUNTER, BYTES, "payload sent inside messages")                            \
    X(rma_in_bytes, COUNTER, BYTES, "payload pulled from clients by RMA")                          \
    X(rma_out_bytes, COUNTER, BYTES, "payload pushed to clients by RMA")                           \
    X(rma_failed, COUNTER, NONE, "RMA operations that failed")                                     \
    X(checksum_errors, COUNTER, NONE,                                                              \
      "payloads with checksums that came damaged, and had to come again")                          \
    X(checksum_races, COUNTER, NONE,                                                               \
      "payloads that were overwritten on their way, and came again: no damage")                    \
    X(checksum_bytes, COUNTER, BYTES, "payload with checksums, moved in both directions")          \
    X(views, GAUGE, NONE, "views kept for clients")                                                \
    X(view_bytes, GAUGE, BYTES, "memory that they take, and those being installed")                \
    X(lists, COUNTER, NONE, "requests with a list of pieces")                                      \
    X(steps_published, COUNTER, NONE, "steps that writers have finished")                          \
    X(step_waits, GAUGE, NONE, "clients that wait for a step")                                     \
    X(step_reads_refused, COUNTER, NONE,                                                           \
      "reads of a step whose bytes had been overwritten by a later one")                           \
    X(store_hung, GAUGE, NONE, "store calls that take longer than hang-report and go on")          \
    X(store_hangs, COUNTER, NONE, "store calls that ever did")                                     \
    X(store_longest_ms, GAUGE, MS, "milliseconds of the longest store call")

/* Memory for the views of clients, which servers of one process may share. */
struct zc_view_budget {
    size_t limit, used; /* bytes; atomic.  A lower limit does not free memory in use */
    unsigned percent;   /* of the cache size, as requested, for reports; atomic */
};

/* Whether a client may open files for all (ZC_OPEN_EXPORTED), and until when they stay open. */
enum zc_server_exports {
    ZC_EXPORTS_NONE,
    ZC_EXPORTS_OF_OPENER, /* until the opener is gone */
    ZC_EXPORTS_STAY,      /* until no session is left */
};

struct zc_server_config {
    struct zc_cache *cache;
    struct zc_store *store; /* below it; borrowed, for statistics of its calls; or NULL */
    const struct zc_lock_reach_info *locks; /* of its root; borrowed, or NULL */
    struct zc_journal *journal; /* writes are in it before they are answered; borrowed, to be closed
                                   after the server; NULL: none */
    uint64_t boot_id;           /* random, one per start */
    uint64_t identity;          /* in sets of daemons, constant over restarts; 0: boot_id */
    struct zc_secret secret;    /* shared with clients; required */
    bool munge; /* serves many users, identified by munge, without a secret; see zc_user.h */
    struct zc_user_limits user; /* with munge */
    unsigned credits;           /* requests a client may have under way at most; 0: a default */
    size_t budget;       /* bytes that clients may make the server hold; 0: zc_session_mem.h */
    unsigned silence_ms; /* silence after which a client is evicted; 0: as it asked */
    /* Opens the endpoint: zc_tp_ofi_open or, in tests, zc_tp_loop_open. */
    int (*open_transport)(const struct zc_tp_config *cfg, struct zc_tp **out);
    const char *provider, *listen;
    bool early;                   /* passed to the transport's configuration */
    unsigned stuck_ms;            /* calls that take longer do not delay others; 0: a default */
    struct zc_view_budget *views; /* borrowed; NULL: clients send lists */
    bool audit;                   /* write the audit log, at level info */
    bool tenants; /* divides cache, store and threads among jobs or users: zc_tenant.h */
    enum zc_server_exports exports;
    bool publishes;    /* processes of this host may read the cache's pages directly
                          (zc_cache_config.published) */
    unsigned *clients; /* number of clients, counted together by servers of one process; atomic,
                          borrowed.  NULL: not counted */
    struct zc_shmring *shmring; /* of its cache; borrowed, or NULL */
    bool terse;                 /* errors without file and bytes, which clients add */
    unsigned prefetch;          /* pages read ahead of these files */
    /* Whether this process knows the owner set that the client names; then it stays until detach()
     * was called as often.  On the pool.  NULL: knows all. */
    bool (*attach)(uint64_t group);
    void (*detach)(uint64_t group);
};

/* Creates a server; its endpoint is ready on return. */
int zc_server_create(const struct zc_server_config *cfg, struct zc_server **out);

/* Returns the server's address; *len is in/out. */
int zc_server_address(struct zc_server *s, void *buf, size_t *len);

/* The same for processes of this host; *len is 0 if there is none. */
int zc_server_local_address(struct zc_server *s, void *buf, size_t *len);

/* Returns the provider of libfabric; NULL: not used. */
const char *zc_server_provider(const struct zc_server *s);

/* Registers the cache's pages again after zc_cache_extend().  By one thread at a time; the server
 * may be running. */
int zc_server_cover(struct zc_server *s);

/* Serves until zc_server_stop() or a CONTROL message; then refuses new requests, drains the cache
 * and returns 0, or a negative errno if not all of it could be written back. */
int zc_server_run(struct zc_server *s);

/* Makes zc_server_run() stop; may be called from a signal handler, and more than once. */
void zc_server_stop(struct zc_server *s);

void zc_server_destroy(struct zc_server *s);

/* Exports an open file to all clients under a handle number of its own; 0: no memory.  Any thread.
 * `coord` is their shared pointer and locks, or NULL; it is used until unexport(). */
uint64_t zc_server_export(struct zc_server *s, struct zc_handle *h, struct zc_coord *coord);
/* Ends the export when no request uses it any more; blocks, so not on the server's thread. */
void zc_server_unexport(struct zc_server *s, uint64_t number);

#endif
