/* zc_tp_ofi_internal.h - what the files of the libfabric transport share.
 *
 * zc_tp_ofi.c           open and close, peers, memory
 * zc_tp_ofi_post.c      handing messages and RMA to the fabric, and trying again
 * zc_tp_ofi_progress.c  completions, and waiting for them
 *
 * Invariants
 *  1. A post (message or RMA) is on one list: its peer's queue because the fabric said
 *     -FI_EAGAIN, the list of those with the fabric, or the list of the cancelled.
 *  2. Callbacks run in progress() and close() only.
 *  3. `lock` guards peers, queues and the pool of send buffers.  It is not held while the
 *     fabric or a callback is called.  `call_lock` is held around calls of the fabric alone, where
 *     the provider needs that, and no other lock is taken meanwhile.
 *  4. A peer is freed when it was removed, nothing of it is with the fabric, and no thread
 *     retries its queue.
 *
 * Posts of one peer may overtake each other when the fabric is busy: nothing above relies
 * on their order.
 */
#ifndef ZC_TP_OFI_INTERNAL_H
#define ZC_TP_OFI_INTERNAL_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "zc_adaptive_poll.h"
#include "zc_fabric.h"
#include "zc_list.h"
#include "zc_lock.h"
#include "zc_tp_ofi.h"
#include "zc_transport.h"

enum { KIND_RECV, KIND_SEND, KIND_PULL, KIND_PUSH };

enum {
    SEND_SLAB = 32,   /* send buffers allocated together */
    SEND_BRIEF = 512, /* most messages are not longer: buffers for these, bytes */
    CONNECT_MS = 10,  /* rxm accepts connections only when it is looked at: no event tells; ... */
    OPENED_MS = 2000, /* ... so long after it was opened, as peers may have waited for it, ... */
    AFTER_MS = 200,   /* ... and so long after an event, and then ... */
    SELDOM_MS = 60,   /* ... it is looked at so often: each look takes tens of microseconds */
    RETRY_MS = 1,     /* a busy fabric is tried again after this long, or an event; but if ... */
    BUSY_MS = 20,     /* ... it has taken and completed none of a peer's posts for this long, ... */
    RETRY_PART = 8,   /* ... after an eighth of that time, ... */
    RETRY_MOST_MS = 60, /* ... up to this: "net" connects to a peer that is gone with each try */
    NAP_US_MAX = 1000,  /* longest sleep between looks where the provider cannot wake us; ... */
    VAIN_MS = 100,      /* ... and where it has woken us for so long, for nothing */
};

/* A message buffer, for sending or receiving. */
struct buffer {
    struct zc_post post;
    size_t len;
    unsigned char *data; /* slab->stride bytes inside it */
    struct slab *slab;
};

struct slab {
    struct slab *next;
    struct buffer *buffers;
    unsigned char *memory;
    size_t stride;
    struct fid_mr *mr;
    void *desc;
};

struct peer {
    fi_addr_t addr;
    struct zc_list link;    /* ofi.peers */
    struct zc_list queue;   /* posts the fabric had no room for */
    struct zc_list pending; /* on ofi.pending while the queue is not empty */
    uint64_t busy_since;    /* ns; first refusal since a post was taken or completed, or 0; ... */
    uint64_t retry_at;      /* ... and when the queue is tried again */
    unsigned with_fabric;   /* posts handed over and not completed */
    size_t sending;         /* memory of messages that are not sent yet, bytes */
    bool removed, retrying;
};

struct ofi {
    struct zc_tp tp; /* fixed once it is open, as are those without a comment before `lock` */
    struct zc_tp_config cfg;
    char *provider;
    const struct zc_fabric *lib;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    int cq_fd, wake_fd, watch_fd; /* -1: none */
    bool closing;                 /* set while no thread drives progress or posts */
    struct ofi *next_left;        /* of those that could not be closed */
    unsigned char name[512];
    size_t name_len;
    bool in_turn;             /* calls of libfabric must not meet: ofi_enter() */
    struct zc_lock call_lock; /* inner to all others */
    uint64_t awake;           /* progress() only: a peer may be connecting until then */
    unsigned nap_us;          /* progress() only */
    uint64_t vain_since;      /* progress() only; ns, or 0: since then events bring nothing */
    bool armed; /* fi_trywait() has succeeded, and no call was made since: cq_fd signals all events;
                   atomic */
    uint64_t armed_until; /* for progress() only: the fabric has to be polled by this time; ns */
    struct zc_adaptive_poll spin; /* progress() only */

    struct zc_lock lock;                  /* guards all below, and struct peer */
    zc_cond retried;                      /* a peer's retrying went false */
    struct slab *slabs;                   /* of send and receive buffers */
    struct zc_list free_send, free_brief; /* struct buffer: of max_msg, of SEND_BRIEF bytes */
    struct zc_list pending;               /* struct peer with a queue */
    uint64_t retry_at;                    /* ns; no queue is due before */
    bool any_gone;                        /* a post has failed, or a peer was removed */
    struct zc_list flying;                /* posts with the fabric */
    struct zc_list cancelled;             /* posts to be reported with -ECANCELED */
    struct zc_list peers;
};

static inline struct ofi *ofi_of(struct zc_tp *tp)
{
    return zc_list_entry(tp, struct ofi, tp);
}

static inline struct peer *peer_of(zc_peer p)
{
    return (struct peer *)(uintptr_t)p;
}

/* libfabric's numbers below 256 are errno's; its own become EIO. */
static inline int fi_errno_of(long rc)
{
    long err = rc < 0 ? -rc : rc;

    return err < FI_ERRNO_OFFSET ? (int)err : EIO;
}

/* Around calls of libfabric that move data, or change what its progress looks at.  The datagrams
 * of its own TCP provider promise FI_THREAD_SAFE, but before 1.19 memory regions come and go
 * without the lock under which the requests of peers look them up ("net" in 1.17: accesses
 * fail or stand still, or the process crashes; see libfabric's issue 9148).  It serves one call
 * at a time anyway, so that nothing is lost when they take turns here. */
static inline void ofi_enter(struct ofi *o)
{
    __atomic_store_n(&o->armed, false, __ATOMIC_RELAXED);
    if (o->in_turn)
        zc_lock_get(&o->call_lock);
}

static inline void ofi_leave(struct ofi *o)
{
    if (o->in_turn)
        zc_lock_put(&o->call_lock);
}

/* -errno for a libfabric error, explained with the call that made it. */
int zc_tp_ofi_failed(struct ofi *o, const char *call, long rc);

/* ---- zc_tp_ofi.c ---- */

/* A buffer for a message of `len` bytes to this peer, and back; NULL: no memory. */
struct buffer *zc_tp_ofi_send_buffer(struct ofi *o, zc_peer peer, size_t len);
void zc_tp_ofi_send_buffer_put(struct ofi *o, struct buffer *b);
/* Memory of those that are not back. */
size_t zc_tp_ofi_backlog(struct zc_tp *tp, zc_peer peer);

/* ---- zc_tp_ofi_post.c ---- */

int zc_tp_ofi_send(struct zc_tp *tp, zc_peer peer, const void *msg, size_t len);
int zc_tp_ofi_rma(struct zc_tp *tp, zc_peer peer, enum zc_rma_dir dir, struct zc_op *op);
/* Frees a removed peer that nothing needs any more; call with the lock held. */
void zc_tp_ofi_peer_free_if_idle(struct ofi *o, struct peer *p);
/* A post whose peer was removed will be reported, without its peer; with the lock held. */
void zc_tp_ofi_cancel(struct ofi *o, struct zc_post *post);
/* A post has come back from the fabric, or will never get there: reports and forgets it. */
void zc_tp_ofi_completed(struct ofi *o, struct zc_post *post, int status);
/* Tells the owner of a post how it ended. */
void zc_tp_ofi_report(struct ofi *o, struct zc_post *post, int status);
/* One round over the peers whose posts wait and are due; true when anything moved. */
bool zc_tp_ofi_retry_pending(struct ofi *o);
bool zc_tp_ofi_have_pending(struct ofi *o);
/* Whether any_gone, or a post waits or is with the fabric: its peer may have gone. */
bool zc_tp_ofi_may_be_gone(struct ofi *o);
/* When the first of them is due, ns; 0: one is to be reported; UINT64_MAX: none waits. */
uint64_t zc_tp_ofi_retry_at(struct ofi *o);

/* ---- zc_tp_ofi_progress.c ---- */

ssize_t zc_tp_ofi_post_recv(struct ofi *o, struct buffer *b);
/* Handles completions that are there; > 0: how many, < 0: the queue is broken. */
int zc_tp_ofi_drain_cq(struct ofi *o);
int zc_tp_ofi_report_cancelled(struct ofi *o);
int zc_tp_ofi_progress(struct zc_tp *tp, int timeout_ms);
void zc_tp_ofi_wake(struct zc_tp *tp);

#endif
