/* zc_tp_local_internal.h - what the files of the local transport share.
 *
 * zc_tp_local.c       open and close, peers, memory regions
 * zc_tp_local_io.c    packets, copies, progress
 * zc_tp_local_carry.c copies by way of the socket, where the kernel refuses one
 * zc_tp_local_probe.c  finding out whether two processes can use it
 *
 * The connecting end sends messages and asks for copies; the accepting end only answers, and
 * connects back to send messages of its own.
 *
 *     connecting end (OUT)   MESSAGE, MOVE -->    accepting end (IN)
 *                            <-- MOVED
 *
 * The peer does RMA when it drives progress: only it knows which of its memory is registered, and
 * deregistered memory is out of reach at once, whatever the asking process still assumes.  The
 * asker's buffer is the fabric's until MOVED has come or the connection has ended; the peer looks
 * whether the asker is still there just before it copies.  What remains is a peer that is stopped
 * between the two, for longer than the asker, which closes its endpoint, waits for it.
 *
 * A peek copies from the peer's memory without its help: it does not tell whether that memory is
 * still the peer's, which the caller decides by the bytes it got.
 *
 * `lock` guards connections, queues, operations and registrations; sockets are never waited
 * for with it.  Callbacks run without it.
 */
#ifndef ZC_TP_LOCAL_INTERNAL_H
#define ZC_TP_LOCAL_INTERNAL_H

#include <sys/types.h>

#include "zc_adaptive_poll.h"
#include "zc_list.h"
#include "zc_lock.h"
#include "zc_tp_local.h"
#include "zc_transport.h"

enum { LOCAL_NAME = 16 }; /* random bytes that name a socket */

/* An address, as it travels. */
struct local_address {
    char magic[8];
    unsigned char name[LOCAL_NAME];
    struct zc_tp_local_probe probe;
};

enum packet_kind { PACKET_MESSAGE = 1, PACKET_MOVE, PACKET_MOVED, PACKET_CARRY, PACKET_CARRIED };

struct packet_head {
    uint32_t kind;
    int32_t status; /* MOVED: 0 or a negative errno */
    uint64_t id;    /* MOVE, MOVED: of the operation */
};

struct packet_move {
    struct packet_head head;
    uint64_t dir, local, len, raddr, rkey; /* struct zc_op's */
};

enum conn_kind { CONN_WAKE, CONN_LISTEN, CONN_IN, CONN_OUT };

/* What epoll points to.  One that is done with goes to local.gone and is freed before the next
 * wait, when no event can point to it. */
struct conn {
    enum conn_kind kind;
    int fd;               /* -1: closed */
    pid_t pid;            /* IN: of the asker; OUT: of the other end, fixed */
    pid_t thread;         /* of that process: a thread that had not ended; atomic */
    struct zc_list link;  /* local.conns or local.gone */
    struct zc_list queue; /* struct queued: what the socket had no room for ... */
    size_t queued;        /* ... and its memory, bytes */
    struct zc_list ops;   /* OUT: struct zc_op by post.link: asked for and not answered */
    bool carries;         /* OUT: the kernel refuses copies: zc_tp_local_carry.c */
    bool removed;         /* OUT: by peer_remove(); it lives on while it has ops */
    bool broken;          /* nothing goes through any more */
};

struct queued {
    struct zc_list link;
    struct zc_op *op; /* MOVE: the operation; else NULL */
    size_t len;
    unsigned char data[];
};

/* What an operation has in its post.fabric. */
struct local_progress {
    uint64_t id, dir;
    uint64_t done; /* bytes carried */
    bool carried;  /* moved by CARRY: no MOVED answers it */
};

_Static_assert(sizeof(struct local_progress) <= sizeof((struct zc_op){0}.post.fabric),
               "an operation has room for it");

static inline struct local_progress *local_progress(struct zc_op *op)
{
    return (struct local_progress *)(void *)op->post.fabric;
}

struct registration {
    struct zc_list link;
    uint64_t key;
    unsigned char *base;
    size_t len;
    unsigned busy; /* copies under way */
};

/* What others can bring about as often as they like is said once a minute, with how often. */
struct local_complaint {
    uint64_t count, said; /* ns; 0: never */
};

struct local {
    struct zc_tp tp; /* fixed once it is open, as are those without a comment before `lock` */
    struct zc_tp_config cfg;
    struct local_address address;
    int epoll;
    struct conn wake, listener;
    int spare;         /* a descriptor to give up when there are no more */
    unsigned char *in; /* a packet; progress() only, as the next ones: */
    struct zc_adaptive_poll spin;
    struct local_complaint strangers, no_descriptors;

    struct zc_lock lock;  /* guards all below, and what is in them */
    zc_cond idle;         /* a registration's busy went 0 */
    struct zc_list conns; /* IN and OUT */
    struct zc_list gone;
    struct zc_list done; /* struct zc_op to be reported with the status in post.kind */
    struct zc_list mrs;  /* struct registration */
    uint64_t next_key, next_id;
};

static inline struct local *local_of(struct zc_tp *tp)
{
    return zc_list_entry(tp, struct local, tp);
}

static inline struct conn *conn_of(zc_peer p)
{
    return (struct conn *)(uintptr_t)p;
}

/* ---- zc_tp_local.c ---- */

/* Adds a connection and takes over `fd`, which is closed when that fails. */
int zc_tp_local_conn_new(struct local *l, enum conn_kind kind, int fd, struct conn **out);
/* Closes its socket, or also takes it out of use.  With the lock held, by the thread that drives
 * progress, the only one that knows that it is not being read. */
void zc_tp_local_conn_close(struct local *l, struct conn *c);
void zc_tp_local_conn_bury(struct local *l, struct conn *c);
/* An operation is over; call with the lock held. */
void zc_tp_local_op_over(struct local *l, struct zc_op *op, int status);
/* The memory region of that key that has these bytes, kept until put; NULL: none. */
struct registration *zc_tp_local_granted(struct local *l, uint64_t raddr, uint64_t len,
                                         uint64_t key);
void zc_tp_local_granted_put(struct local *l, struct registration *r);

/* ---- zc_tp_local_io.c ---- */

/* Sends a packet of two parts, now or when there is room; op: see struct queued.  With the lock
 * held.  0 or a negative errno, explained. */
int zc_tp_local_put(struct local *l, struct conn *c, const void *head, size_t head_len,
                    const void *body, size_t body_len, struct zc_op *op);
/* Copies between memory of this process and of the one that `thread` is of, which is what `dir`
 * says of that one.  0 or a negative errno; -ESRCH: the thread has ended, or the process. */
int zc_tp_local_copy(pid_t thread, enum zc_rma_dir dir, void *here, uint64_t there, size_t len);
int zc_tp_local_send(struct zc_tp *tp, zc_peer peer, const void *msg, size_t len);
/* Frees what waits for room, with the lock held. */
void zc_tp_local_drop(struct conn *c, struct queued *q);
size_t zc_tp_local_backlog(struct zc_tp *tp, zc_peer peer);
int zc_tp_local_rma(struct zc_tp *tp, zc_peer peer, enum zc_rma_dir dir, struct zc_op *op);
int zc_tp_local_map(struct zc_tp *tp, zc_peer peer, int fd, size_t len, bool write, void **out);
int zc_tp_local_peek(struct zc_tp *tp, zc_peer peer, const struct zc_peek *v, unsigned n);
int zc_tp_local_progress(struct zc_tp *tp, int timeout_ms);
void zc_tp_local_wake(struct zc_tp *tp);

/* ---- zc_tp_local_carry.c ---- */

/* Asks for the next piece of an operation, with the lock held.  0 or a negative errno. */
int zc_tp_local_carry(struct local *l, struct conn *c, struct zc_op *op);
/* For the packet in l->in, of `len` bytes.  -EPROTO: it makes no sense; another negative errno: it
 * cannot be answered. */
int zc_tp_local_carry_asked(struct local *l, struct conn *c, size_t len);
/* The answer is in l->in.  False: it answers no request. */
bool zc_tp_local_carried(struct local *l, struct conn *c, const struct packet_head *h, size_t len);

#endif
