/* zc_net_internal.h - what the files of the endpoint and of its clients share.
 *
 * zc_net.c              the endpoint, and its clients
 * zc_net_drive.c        which thread drives progress; the background thread
 * zc_net_deadline.c     deadlines, and the end of a client: states and invariants are drawn there
 * zc_call.c             a call: one request and its reply
 * zc_client.c           requests, one function each
 * zc_client_io.c        transfers
 * zc_client_pagedesc.c  peeks: reads of published pages
 * zc_client_ring.c      writes through a ring
 * zc_client_rendezvous.c  rendezvous records
 * zc_client_csum.c      checksums of transfers
 * zc_client_view.c      transfers through views, and installed views
 *
 * Locking: zc_net.lock guards everything in these structs except what a comment says is fixed after
 * creation or is guarded by another lock.  It is not held while the transport is called.
 */
#ifndef ZC_NET_INTERNAL_H
#define ZC_NET_INTERNAL_H

#include "zc_client.h"
#include "zc_error.h"
#include "zc_handshake.h"
#include "zc_list.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_mac.h"
#include "zc_net.h"
#include "zc_pagedesc.h"
#include "zc_ring.h"
#include "zc_wire.h"

enum { ZC_DRIVE_MS = 100 }; /* maximum interval of deadline checks by a driver */

struct zc_net {
    struct zc_tp *tp; /* fixed, as are name, timeout and thread */
    char name[ZC_MAX_NAME];
    uint64_t timeout_ns;
    pthread_t thread;
    bool have_thread;
    bool munge; /* fixed: authenticate by munge */

    struct zc_lock lock;    /* guards all below */
    uint64_t background_ns; /* interval of the background thread */
    zc_cond changed; /* a call is done, a credit free, no thread sends, or the driver has left */
    zc_cond stop_cond;
    struct zc_list clients; /* struct zc_client */
    bool driven, stop, severed;
    uint64_t last_driven, last_look;  /* last_look: at the deadlines */
    uint64_t next_count;              /* of tags: starts at a random number */
    uint64_t refused, last_complaint; /* messages that were thrown away */
};

struct zc_call {
    struct zc_list link; /* zc_client.calls */
    uint64_t tag;        /* fixed once it is linked, as are type, data, data_cap, exposed */
    uint8_t type;
    bool unprotected; /* memory of the caller is exposed: the server may access it */
    void *data;       /* destination of reply.data; the caller's */
    size_t data_cap;
    void *csums; /* destination of reply.csums, or NULL; fixed as well */
    size_t csums_cap;
    bool done; /* nothing below changes any more; the waiting thread may read it without lock */
    uint64_t last_sign;    /* last message about this call */
    uint64_t patience;     /* silence (ns) after which it has failed */
    struct zc_msg reply;   /* byte fields are copied */
    struct zc_error error; /* when done: the reply's, or why there is none */
};

/* Where a page's descriptor is. */
struct zc_seen {
    uint64_t handle, no;         /* the page */
    const struct zc_pagedesc *g; /* in the server's memory; NULL: unknown */
    uint64_t file;               /* as the server numbers them */
};

enum { ZC_SEEN = 64 }; /* pages remembered */

/* A piece of a page, copied for sequential reads; valid while the descriptor's seq in the server's
 * memory is unchanged. */
struct zc_piece {
    uint64_t handle, no;
    uint32_t lo, hi;             /* of the page; hi is 0: no piece */
    const struct zc_pagedesc *g; /* its descriptor ... */
    uint64_t seq;                /* ... and the descriptor's seq */
    unsigned char *bytes;        /* ZC_PIECE, or NULL: not needed yet */
    bool busy;                   /* a thread fills it */
    uint64_t next_handle, next;  /* file and end offset of the last read */
    uint32_t want;               /* bytes copied for it */
};

enum { ZC_PIECE = 64 << 10 };

/* Address of the shared file pointer of an open file. */
struct zc_known_pointer {
    uint64_t handle; /* 0: unused */
    uint32_t at;     /* POINTER's control_at */
};

enum { ZC_KNOWN = 8 };

struct zc_client {
    struct zc_net *net; /* fixed, as are label and peer */
    char label[300];
    zc_peer peer;
    struct zc_secret secret;   /* the server's; fixed */
    uint64_t client_id;        /* fixed before it is added */
    uint64_t session, boot_id; /* fixed when accepted, as are these: */
    uint64_t identity;
    uint32_t credits, max_inline, page_size;
    struct zc_handshake handshake; /* while it is connecting: used by its threads in turn */
    struct zc_keys keys;           /* fixed when `keyed`, since R-HELLO */
    bool keyed, bye;               /* bye: BYE was sent */
    uint64_t msg_slots;            /* one bit per slot that carries a request, from slot 1 on */
    uint64_t notices;              /* number of the server's last message that was no reply */
    uint64_t pinged, ponged;       /* tags of heartbeat PINGs: last sent, last answered */

    struct zc_list link;  /* zc_net.clients */
    struct zc_list calls; /* struct zc_call, until they are waited for */
    unsigned ncalls;      /* those that are not done */
    uint64_t last_sent;
    uint64_t ping_ns;       /* maximum interval between its messages */
    uint64_t unanswered;    /* since when nothing was received for a request; 0: no request waits */
    struct zc_error failed; /* reported by the transport or the server; not acted upon yet */
    struct zc_error broken; /* why no call can succeed any more */
    bool bystander;   /* broken with another client whose server is gone; its own may be well */
    bool removed;     /* its peer was removed */
    unsigned sending; /* threads that post to the peer, which must stay for them */

    struct zc_seen seen[ZC_SEEN]; /* zc_client_pagedesc.c ... */
    uint64_t peeks;               /* ... and how often it served a read */
    struct zc_piece piece;
    struct zc_seen last_seen;       /* the page read last */
    const unsigned char *pagedescs; /* all of the server's, mapped; NULL: not mapped; fixed when it
                                       is used, as are these: */
    uint64_t pagedescs_at, pagedescs_len; /* in its memory; bytes */

    struct zc_ring_control *control; /* zc_client_ring.c: fixed when it is used, as are: */
    struct zc_ring_header *ring;     /* ... or NULL */
    bool blind;                      /* writes may be in rings that this client cannot see */
    uint64_t shmring;                /* atomic: entries put */
    struct zc_known_pointer pointers[ZC_KNOWN]; /* shared file pointers of open files */
    struct zc_lock ring_lock;                   /* guards: */
    uint64_t head;                              /* our own copy of ring->head */

    bool owns_net;                        /* zc_connect() made it for this client alone */
    zc_client_committed_fn *on_committed; /* called for COMMITTED, or NULL; and its argument */
    void *on_committed_arg;

    struct zc_lock view_lock; /* guards: */
    struct zc_list views;     /* struct zc_held_view: those in use, and old ones */
    bool installing;          /* a thread installs one */
    zc_cond installed;        /* it has finished */
};

/* ---- zc_net.c ---- */
void zc_net_add(struct zc_net *n, struct zc_client *c);
/* Takes the parameters in R-HELLO, after AUTH was answered; the heartbeat may use the client
 * meanwhile. */
void zc_net_accepted(struct zc_client *c, const struct zc_msg *reply);
/* Waits until no thread posts to the peer, and removes it. */
void zc_net_remove(struct zc_net *n, struct zc_client *c);

/* ---- zc_net_drive.c ---- */
/* Sleeps or drives until something has changed; a thread that is done calls leave().  With the
 * lock, which is dropped meanwhile. */
void zc_net_wait_for_change(struct zc_net *n);
/* Ends a wait: one of the sleepers becomes the driver.  With the lock. */
void zc_net_leave(struct zc_net *n);
void *zc_net_background(void *net);

/* ---- zc_net_deadline.c ---- */
void zc_net_on_peer_error(void *net, zc_peer peer, int err); /* zc_tp_config.peer_error */
/* Breaks every client that is overdue.  By the driver, with the lock, which it may drop. */
void zc_net_check_deadlines(struct zc_net *n);
/* Notes that the connection is over, for the server's reason, of `len` bytes; 0: the transport
 * reports it.  The first error counts, and the client breaks at the next look.  With the lock. */
void zc_net_failed(struct zc_client *c, int rc, const void *reason, size_t len);
/* As zc_net_check_deadlines(), at once, by a thread that is not the driver, because a client has
 * `failed`.  With the lock, which it may release meanwhile. */
void zc_net_check_now(struct zc_net *n);
/* A thread that raised `sending` has posted; with the lock. */
void zc_net_sent(struct zc_client *c);

/* ---- zc_client_io.c ---- */
/* Handles a COMMITTED message; with the lock, released during the callback. */
void zc_client_committed(struct zc_client *c, const struct zc_msg *m);

/* ---- zc_client_csum.c ---- */
/* Adds checksums to `m`, which is about to start the transfer. */
int zc_io_csum(struct zc_client *c, struct zc_io *io, struct zc_msg *m);
/* Checks a transfer that ended with `rc`: returns rc; or -EAGAIN: the bytes were damaged and have
 * to be moved again; or the error to report. */
int zc_io_check(struct zc_client *c, struct zc_io *io, int rc, const struct zc_msg *reply);
/* Ends a transfer: its buffer is the caller's again. */
void zc_io_drop_copy(struct zc_io *io);

/* ---- zc_client_ring.c ---- */
void zc_client_ring_init(struct zc_client *c);
void zc_client_ring_free(struct zc_client *c);
/* Returns the address of the shared file pointer of an open file; NULL: unknown. */
uint64_t *zc_client_pointer_at(struct zc_client *c, uint64_t handle);
void zc_client_pointer_is(struct zc_client *c, uint64_t handle, uint32_t at);
/* Whether published pages show all writes: all ring entries are applied. */
bool zc_client_sees_all(struct zc_client *c);

/* ---- zc_client_view.c ---- */
void zc_client_views_free(struct zc_client *c);

/* ---- zc_call.c ---- */
void zc_call_on_message(void *net, const void *buf, size_t len); /* zc_tp_config.recv */
/* Returns the credit: a finished call costs none, even if its caller has not waited for it yet.
 * With the lock; status and text are set. */
void zc_call_done(struct zc_client *c, struct zc_call *call);

/* Sends a request; *out is the caller's until zc_call_wait().  Fills in msg->tag, and the session,
 * once there is one.  `data` receives the reply's payload, and msg->csums of a read its checksums.
 * Waits for a credit. */
int zc_call_start(struct zc_client *c, struct zc_msg *msg, void *data, size_t data_cap,
                  struct zc_call **out);
/* Waits until the call is done; returns its status, explained.  *reply may be NULL; its text field
 * is not valid and its data points to the caller's memory.  Frees the call. */
int zc_call_wait(struct zc_client *c, struct zc_call *call, struct zc_msg *reply);
/* Start and wait; the second waits for `patience_ms` at most, regardless of the time-out. */
int zc_call(struct zc_client *c, struct zc_msg *msg, struct zc_msg *reply);
int zc_call_brief(struct zc_client *c, struct zc_msg *msg, struct zc_msg *reply,
                  uint64_t patience_ms);

#endif
