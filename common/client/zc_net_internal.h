/* zc_net_internal.h - what the files of the endpoint and of its clients share.
 *
 * zc_net.c           the endpoint, and which clients it has
 * zc_net_drive.c     who drives progress; the background thread
 * zc_net_deadline.c  deadlines, and the end of a client: states and invariants are drawn there
 * zc_call.c          a call: one request on its way, and its reply
 * zc_client.c        requests, one function each
 * zc_client_io.c     transfers
 * zc_client_glance.c reads of pages that the server shows
 * zc_client_post.c  writes that are left in memory of the server's
 * zc_client_meet.c   cards at files
 * zc_client_sums.c   checksums of transfers
 * zc_client_view.c   transfers through views, and which the server has
 *
 * Locking: zc_net.lock guards everything in these structs but what a comment says is fixed
 * after creation or is guarded by another lock.  It is not held while the transport is called.
 */
#ifndef ZC_NET_INTERNAL_H
#define ZC_NET_INTERNAL_H

#include "zc_client.h"
#include "zc_glance.h"
#include "zc_list.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_net.h"
#include "zc_post.h"
#include "zc_seal.h"
#include "zc_shake.h"
#include "zc_wire.h"

enum { ZC_DRIVE_MS = 100 }; /* a driver looks at the deadlines at least this often */

struct zc_net {
    struct zc_tp *tp; /* fixed, as are name, timeout and thread */
    char name[ZC_MAX_NAME];
    uint64_t timeout_ns;
    pthread_t thread;
    bool have_thread;
    bool munge; /* fixed: it says who we are */

    struct zc_lock lock;    /* guards all below */
    uint64_t background_ns; /* the background thread looks this often */
    zc_cond changed; /* a call is done, a credit free, nobody sends, or the driver has left */
    zc_cond stop_cond;
    struct zc_list clients; /* struct zc_client */
    bool driven, stop, severed;
    uint64_t last_driven, last_look;  /* last_look: at the deadlines */
    uint64_t next_count;              /* of tags: from a random number on */
    uint64_t refused, last_complaint; /* messages that were thrown away */
};

struct zc_call {
    struct zc_list link; /* zc_client.calls */
    uint64_t tag;        /* fixed once it is linked, as are type, data, data_cap, exposed */
    uint8_t type;
    bool exposed; /* memory of the caller is: the server may reach it */
    void *data;   /* where reply.data goes; the caller's */
    size_t data_cap;
    void *sums; /* where reply.sums goes, or NULL; fixed as well */
    size_t sums_cap;
    bool done; /* nothing below changes any more; whoever waits for it may read it without lock */
    uint64_t last_sign;     /* of life concerning this call */
    uint64_t patience;      /* silence (ns) after which it has failed */
    struct zc_msg reply;    /* byte fields are copied: */
    char text[ZC_TEXT_MAX]; /* reply.text */
    int status;             /* when done: the reply's, or why there is none */
};

/* Where a page may be looked at without asking. */
struct zc_seen {
    uint64_t handle, no; /* the page */
    uint64_t where;      /* address of its glance in the server; 0: of none */
    uint64_t file;       /* as the server numbers them */
    struct zc_glance last;
};

enum { ZC_SEEN = 64 }; /* pages of which that is remembered */

/* A piece of a page, copied for reads that go on where others ended; good while the page's glance,
 * in the server's memory, is at the same turn. */
struct zc_piece {
    uint64_t handle, no;
    uint32_t lo, hi;            /* of the page; hi is 0: there is none */
    const struct zc_glance *g;  /* whose ... */
    uint64_t turn;              /* ... was this */
    unsigned char *bytes;       /* ZC_PIECE, or NULL: not needed yet */
    bool busy;                  /* a thread fills it */
    uint64_t next_handle, next; /* what was read last, and where in the file that ended */
    uint32_t want;              /* bytes that were copied for it */
};

enum { ZC_PIECE = 64 << 10 };

/* Where the shared file pointer of an open file is. */
struct zc_known_pointer {
    uint64_t handle; /* 0: of none */
    uint32_t at;     /* POINTER's board_at */
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
    struct zc_shake shake;   /* while it is connecting: its threads' in turn */
    struct zc_keys keys;     /* fixed when `keyed`, since R-HELLO */
    bool keyed, bye;         /* bye: said, by who disconnects */
    uint64_t lanes;          /* a bit for each that carries a request, from lane 1 on */
    uint64_t notices;        /* of the server that were no replies: the last one's number */
    uint64_t pinged, ponged; /* tags of PINGs nobody waits for: the last one's, and answered */

    struct zc_list link;  /* zc_net.clients */
    struct zc_list calls; /* struct zc_call, until they are waited for */
    unsigned ncalls;      /* of these: not done */
    uint64_t last_sent;
    uint64_t ping_ns;      /* it says something at least this often */
    uint64_t unanswered;   /* since then nothing was heard, and something is asked; 0: nothing is */
    int failed;            /* the transport or the server said so; not acted upon yet */
    char dropped[160];     /* then: what it said, or "" */
    int broken;            /* negative errno; no call can succeed any more */
    char why[ZC_TEXT_MAX]; /* it is broken */
    bool bystander;        /* then: with another one whose server is gone; its own may be well */
    bool removed;          /* its peer was removed */
    unsigned sending;      /* threads that post to the peer, which must stay for them */

    struct zc_seen seen[ZC_SEEN]; /* zc_client_glance.c ... */
    uint64_t peeks;               /* ... and how often it was of use */
    struct zc_piece piece;
    struct zc_seen last_seen;         /* the page that was read last */
    const unsigned char *glances;     /* all of the server's, mapped; NULL: they are not; fixed when
                                         it is used, as are these: */
    uint64_t glances_at, glances_len; /* in its memory; bytes */

    struct zc_board *board; /* zc_client_post.c: fixed when it is used, as are: */
    struct zc_postbox *box; /* ... or NULL */
    bool blind;             /* writes may be left there that cannot be seen here */
    uint64_t posts;         /* atomic: writes that were left */
    struct zc_known_pointer pointers[ZC_KNOWN]; /* of open files: shared file pointers there */
    struct zc_lock box_lock;                    /* guards: */
    uint64_t head;                              /* box->head, by ourselves */

    zc_client_stored_fn *stored; /* who wants to know, or NULL; and with what */
    void *stored_arg;

    struct zc_lock view_lock; /* guards: */
    struct zc_list views;     /* struct zc_held_view: those in use, and old ones */
    bool installing;          /* a thread installs one */
    zc_cond installed;        /* it has, or has not */
};

/* ---- zc_net.c ---- */
void zc_net_add(struct zc_net *n, struct zc_client *c);
/* Takes what the reply to HELLO says, when AUTH was answered; the heartbeat looks at the client
 * meanwhile. */
void zc_net_accepted(struct zc_client *c, const struct zc_msg *reply);
/* Waits until nobody posts to the peer, which is removed then. */
void zc_net_remove(struct zc_net *n, struct zc_client *c);

/* ---- zc_net_drive.c ---- */
/* Sleeps or drives until something has changed; who needs no more of it calls leave().  With the
 * lock, which is dropped meanwhile. */
void zc_net_wait_for_change(struct zc_net *n);
/* The caller has what it waited for: one of the sleepers takes over.  With the lock. */
void zc_net_leave(struct zc_net *n);
void *zc_net_background(void *net);

/* ---- zc_net_deadline.c ---- */
void zc_net_on_peer_error(void *net, zc_peer peer, int err); /* zc_tp_config.peer_error */
/* Breaks every client that is not to be waited for any longer.  By the driver, with the lock,
 * which is dropped where one is. */
void zc_net_look_at_deadlines(struct zc_net *n);
/* The same at once, because a client has `failed`; with the lock. */
void zc_net_look_now(struct zc_net *n);
/* A thread that raised `sending` has posted; with the lock. */
void zc_net_sent(struct zc_client *c);

/* ---- zc_client_io.c ---- */
/* A STORED has arrived; with the lock, which is dropped meanwhile. */
void zc_client_stored(struct zc_client *c, const struct zc_msg *m);

/* ---- zc_client_sums.c ---- */
/* The transfer is to be started with `m`: its checksums. */
int zc_io_sums(struct zc_client *c, struct zc_io *io, struct zc_msg *m);
/* It is over with `rc`: that, or -EAGAIN, the bytes came damaged and are to be moved again, or what
 * to report. */
int zc_io_check(struct zc_client *c, struct zc_io *io, int rc, const struct zc_msg *reply);

/* ---- zc_client_post.c ---- */
void zc_client_posts_init(struct zc_client *c);
void zc_client_posts_free(struct zc_client *c);
/* The shared file pointer of an open file, if it is known where it lies; NULL: it is not. */
uint64_t *zc_client_pointer_at(struct zc_client *c, uint64_t handle);
void zc_client_pointer_is(struct zc_client *c, uint64_t handle, uint32_t at);
/* Whether what the server shows is all that was written: nothing was left that it has not taken. */
bool zc_client_sees_all(struct zc_client *c);

/* ---- zc_client_view.c ---- */
void zc_client_views_free(struct zc_client *c);

/* ---- zc_call.c ---- */
void zc_call_on_message(void *net, const void *buf, size_t len); /* zc_tp_config.recv */
/* Gives the credit back: a finished call that nobody has waited for yet costs none.  With the
 * lock; status and text are set. */
void zc_call_done(struct zc_client *c, struct zc_call *call);

/* Puts a call on its way; *out is the caller's until zc_call_wait().  msg->tag is filled in, and
 * session, once there is one.  `data` receives the reply's payload, and msg->sums of what reads
 * is where its checksums go.  Waits for a credit. */
int zc_call_start(struct zc_client *c, struct zc_msg *msg, void *data, size_t data_cap,
                  struct zc_call **out);
/* Waits until the call is done; its status, explained.  *reply may be NULL; its text field
 * is void and its data points to the caller's memory.  Frees the call. */
int zc_call_wait(struct zc_client *c, struct zc_call *call, struct zc_msg *reply);
/* Both; the second waits for `patience_ms` at most, whatever the time-out. */
int zc_call(struct zc_client *c, struct zc_msg *msg, struct zc_msg *reply);
int zc_call_brief(struct zc_client *c, struct zc_msg *msg, struct zc_msg *reply,
                  uint64_t patience_ms);

#endif
