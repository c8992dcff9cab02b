/* zc_transport.h - the seam to the fabric: messages and RMA between endpoints.
 *
 * Implementations: ofi (libfabric reliable datagrams, zc_tp_ofi.c), local (processes of one
 * host, zc_tp_local.c), both of them in one (a daemon's, zc_tp_both.c), loop (inside one process,
 * for tests, zc_tp_loop.c), fault (wraps another one, zc_tp_fault.c).
 *
 * Reliable datagrams hide dead peers: a send to one may wait for ever, silently.
 * The layers above keep deadlines; removing a peer cancels what was not handed to
 * the fabric yet, closing the endpoint ends everything.
 *
 * Threads: send, rma, reg, dereg, peer_add and wake may be called from any thread, also
 * from callbacks; peer_remove from any thread but not from a callback, and the caller makes
 * sure that no thread posts to that peer any more; progress by one thread at a time.  Callbacks run
 * inside progress (or close) only, without locks of the transport held.
 *
 * Ownership: send copies the message; a buffer given to rma belongs to the fabric until
 * its op is done.
 */
#ifndef ZC_TRANSPORT_H
#define ZC_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zc_list.h"

struct zc_tp;
typedef uint64_t zc_peer; /* a peer's address in this endpoint's table */

#define ZC_DEFAULT_PROVIDER  "tcp;ofi_rxm"
#define ZC_DEFAULT_TIMEOUT_S 30 /* silence after which a peer counts as gone; option "timeout" */

struct zc_tp_config {
    /* ofi: "tcp;ofi_rxm", "net", "shm", ...; NULL: the first available one over TCP, for endpoints
     * that only talk to those of the same libfabric. */
    const char *provider;
    const char *listen; /* own host or address, or NULL: the provider's first */
    const char *port;   /* port, as text, reserved by ... */
    int port_socket;    /* ... this socket, made shareable when it is bound to; NULL: any */
    const void *toward; /* a peer's address, to choose an interface that reaches it */
    size_t toward_len;
    size_t max_msg; /* bytes of the largest message */
    unsigned nrecv; /* messages that may arrive between two calls of progress */
    bool hurried;   /* does not wait for a peer that cannot be added at once, as others are served
                       meanwhile: -EAGAIN */
    bool hidden;    /* registers memory for its own RMA only: no peer can access it */
    bool early; /* processes of this host may connect before libfabric has started: zc_tp_both.h */

    /* Called for a message; `msg` is valid during the call. */
    void (*recv)(void *arg, const void *msg, size_t len);
    /* Called when a message to this peer could not be delivered.  Never called for a silent
     * peer. */
    void (*peer_error)(void *arg, zc_peer peer, int err);
    void *arg;
};

/* Base of everything that is posted: its first member. */
struct zc_post {
    void *fabric[8]; /* room for struct fi_context2 */
    int kind;
    zc_peer peer;
    struct zc_list link;
};

/* One RMA operation; owned by the fabric until done(). */
struct zc_op {
    struct zc_post post;                        /* private */
    void (*done)(struct zc_op *op, int status); /* 0 or negative errno */
    void *local, *desc;                         /* filled by zc_tp_rma() ... */
    size_t len;
    uint64_t raddr, rkey;
};

/* Memory registered with the fabric. */
struct zc_mr {
    void *desc;     /* for local use in rma */
    uint64_t raddr; /* remote address of its first byte */
    uint64_t rkey;
    void *priv;
};

/* Bytes to be copied from a peer's memory. */
struct zc_peek {
    void *here;
    uint64_t there; /* an address in the peer's process */
    size_t len;
};

enum zc_rma_dir {
    ZC_RMA_PULL, /* from the peer into local memory */
    ZC_RMA_PUSH, /* into the peer's memory; done when it has arrived there */
};

struct zc_tp_ops {
    const char *name;
    void (*close)(struct zc_tp *tp); /* ops under way end with -ECANCELED */
    /* Ends all traffic for good: afterwards no peer can access our memory, operations under way
     * have ended with -ECANCELED, and posts fail.  No thread may post or drive progress meanwhile.
     * NULL: closed memory regions are inaccessible anyway. */
    void (*sever)(struct zc_tp *tp);
    /* Returns the own address; *len is in/out. */
    int (*address)(struct zc_tp *tp, void *buf, size_t *len);
    /* The same for processes of this host; NULL: there is no other. */
    int (*local_address)(struct zc_tp *tp, void *buf, size_t *len);
    int (*peer_add)(struct zc_tp *tp, const void *addr, size_t len, zc_peer *out);
    void (*peer_remove)(struct zc_tp *tp, zc_peer peer);
    /* NULL: no peer is local. */
    bool (*is_local)(struct zc_tp *tp, zc_peer peer);
    int (*send)(struct zc_tp *tp, zc_peer peer, const void *msg, size_t len);
    /* Returns the memory of messages to this peer that are not taken yet, bytes.  NULL: always
     * 0. */
    size_t (*backlog)(struct zc_tp *tp, zc_peer peer);
    int (*reg)(struct zc_tp *tp, void *buf, size_t len, struct zc_mr *out);
    void (*dereg)(struct zc_tp *tp, struct zc_mr *mr);
    /* Starts an RMA operation; op->local, desc, len, raddr, rkey are set.  0: op->done() will be
     * called.  Else an error and it will not. */
    int (*rma)(struct zc_tp *tp, zc_peer peer, enum zc_rma_dir dir, struct zc_op *op);
    /* Copies `n` pieces, one after the other, from the memory of the peer's process, without its
     * help; it may be asleep.  0 or a negative errno, not explained.  NULL: not possible. */
    int (*peek)(struct zc_tp *tp, zc_peer peer, const struct zc_peek *v, unsigned n);
    /* Maps memory of the process at the other end, which has it as this descriptor: `len` bytes of
     * it, which it cannot take away.  0 or a negative errno.  NULL: not from any peer. */
    int (*map)(struct zc_tp *tp, zc_peer peer, int fd, size_t len, bool write, void **out);
    /* Handles what has happened; waits up to timeout_ms (0: only looks) for something to
     * happen.  > 0: something was handled; 0: nothing; < 0: the endpoint is unusable. */
    int (*progress)(struct zc_tp *tp, int timeout_ms);
    void (*wake)(struct zc_tp *tp); /* ends a waiting progress; ofi: also from signal handlers */
};

struct zc_tp {
    const struct zc_tp_ops *ops;
    const char *provider; /* libfabric's, in use; NULL: it does without */
    struct zc_tp *below;  /* takes the operations that the table leaves out; NULL: no endpoint */
};

/* Opens an endpoint: zc_tp_ofi_open() and its like, each in the header of its implementation. */
typedef int zc_tp_open_fn(const struct zc_tp_config *cfg, struct zc_tp **out);

/* The calls, through the table above: without any lock held (zc_lock.h), but for the three that
 * only look or wake.  What they return and need is told there. */
void zc_tp_close(struct zc_tp *tp);
bool zc_tp_severs(const struct zc_tp *tp); /* any lock may be held */
void zc_tp_sever(struct zc_tp *tp);
int zc_tp_address(struct zc_tp *tp, void *buf, size_t *len);
/* *len is 0 when there is no other. */
int zc_tp_local_address(struct zc_tp *tp, void *buf, size_t *len);
int zc_tp_peer_add(struct zc_tp *tp, const void *addr, size_t len, zc_peer *out);
void zc_tp_peer_remove(struct zc_tp *tp, zc_peer peer);
/* Whether messages to and from this peer are carried by this host's kernel between processes of one
 * user, so that no other process can change them.  Reads a table of its own: any lock above the
 * transport's may be held. */
bool zc_tp_is_local(struct zc_tp *tp, zc_peer peer);
int zc_tp_send(struct zc_tp *tp, zc_peer peer, const void *msg, size_t len);
size_t zc_tp_backlog(struct zc_tp *tp, zc_peer peer);
int zc_tp_reg(struct zc_tp *tp, void *buf, size_t len, struct zc_mr *out);
void zc_tp_dereg(struct zc_tp *tp, struct zc_mr *mr);
int zc_tp_rma(struct zc_tp *tp, zc_peer peer, enum zc_rma_dir dir, struct zc_op *op);
enum { ZC_PEEKS = 4 }; /* pieces at a time, at most */
/* -EOPNOTSUPP: not from this peer. */
int zc_tp_peek(struct zc_tp *tp, zc_peer peer, const struct zc_peek *v, unsigned n);
/* Memory of a descriptor of the peer's, to look at or to write to as well.  -EOPNOTSUPP: not from
 * this peer.  To be unmapped by munmap(). */
int zc_tp_map(struct zc_tp *tp, zc_peer peer, int fd, size_t len, bool write, void **out);
int zc_tp_progress(struct zc_tp *tp, int timeout_ms);
void zc_tp_wake(struct zc_tp *tp); /* also from signal handlers, and with locks held: never waits */

#endif
