/* zc_server_internal.h - what the files of the server share.
 *
 * zc_server.c        endpoint, main loop, deadlines, stopping
 * zc_session.c       sessions of clients and their handles
 * zc_session_begin.c how they begin
 * zc_session_vouch.c who they are, where munge says it
 * zc_user.c          the users of a server that has many
 * zc_sharer.c        who of its clients share with whom
 * zc_dropped.c       clients whose session was ended, and who are told so
 * zc_account.c       what clients make it hold
 * zc_audit.c         who did what
 * zc_unread.c        who is not read any more
 * zc_request.c       one request: checking, waiting, reply
 * zc_request_kinds.c what each request does: the table
 * zc_conflict.c      OPENs that meet another set of daemons, or another block size
 * zc_transfer.c      what moves data: bytes between pages and clients
 * zc_transfer_begin.c  what it needs first: a view, a list
 * zc_transfer_journal.c  what is in the journal before it is answered
 * zc_taken.c         what of their writes is stored: numbers, and who is told
 * zc_posts.c         writes that clients leave in memory
 * zc_behind.c        which clients do, and messages that wait for them
 * zc_bounce.c        buffers for those that go through a view
 * zc_request_coord.c POINTER, LOCK, UNLOCK: what ranks share of a file
 * zc_request_meet.c  MEET: the cards that clients leave at files
 * zc_server_views.c  the views clients have installed
 * zc_export.c        open files that all clients may use
 * zc_server_info.c   what the server says about itself
 * zc_server_check.c  the invariants, in debug builds
 *
 * 1. Everything belongs to the server's thread, but what `lock` guards, what the pool has between
 *    zc_request_submit() and zc_request_resume(), and what the cache or the fabric has been given
 *    (zc_access, zc_flush, zc_op) until it says so by a notice or a callback.
 * 2. The server's thread never blocks, and holds no lock when it calls the cache, the fabric or the
 *    pool; zc_tp_wake(), which never waits, is the exception (zc_server_notify()).
 * 3. A session is in `shaking` until it is accepted, in `sessions` then, in `leaving` from LEAVING
 *    on, and in `by_id` always.  Nothing is posted to the peer of one that is DEAD or later.
 * 4. A request is in its session's list until it is finished; stats.requests_active counts those of
 *    all sessions.  A REFUSED session has none, a CLOSING one none any more.
 * 5. A request that names an open file keeps it: zc_slot.busy counts those of the session's own,
 *    zc_export.busy is not 0 while there is one.
 * 6. A request that is not running waits for one thing, the pool, the cache's write-back or a
 *    lock; or its transfer's pieces wait, each for a page, a buffer or the fabric.
 * 7. When the main loop has gone round, no buffer is free that one who waits for it may have.
 * 8. A session that another one takes the place of (`follows`) has been freed when that is told of.
 * 9. A view in memory has an owner, a session or a request; an installation waits only while
 *    another one is under way.
 */
#ifndef ZC_SERVER_INTERNAL_H
#define ZC_SERVER_INTERNAL_H

#include "zc_account.h"
#include "zc_audit.h"
#include "zc_cache.h"
#include "zc_cards.h"
#include "zc_list.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_pool.h"
#include "zc_post.h"
#include "zc_posts.h"
#include "zc_seal.h"
#include "zc_server.h"
#include "zc_shake.h"
#include "zc_sharer.h"
#include "zc_transport.h"
#include "zc_wire.h"

enum {
    ZC_SERVER_CREDITS = 16,      /* requests a client may have under way */
    ZC_SERVER_RECEIVES = 128,    /* receive buffers */
    ZC_SERVER_POOL = 4,          /* threads for calls that block ... */
    ZC_SERVER_POOL_MOST = 64,    /* ... with those that are stuck in one */
    ZC_SERVER_PER_FILE = 2,      /* of these, for one file or path */
    ZC_SERVER_TICK_MS = 100,     /* deadlines are looked at this often */
    ZC_SERVER_BOUNCE = 16,       /* buffers for data on its way through a view, and ... */
    ZC_SERVER_CHUNK = 256 << 10, /* ... their size, bytes */
    ZC_SERVER_LISTS = 16,        /* lists of pieces in memory at a time */
    ZC_SERVER_ABANDON_MS = 2000, /* a stop waits this long for requests of dead clients */
    ZC_SERVER_LINGER_MS = 500,   /* at the end, for clients to say goodbye */
    ZC_SERVER_SESSIONS = 16384,  /* most clients at a time */
    ZC_SERVER_BUCKETS = 1024,
    ZC_SERVER_REFUSED_MS = 2000,  /* the address of a refused client is kept this long */
    ZC_SERVER_SHAKING = 4096,     /* most clients that are not accepted yet, and ... */
    ZC_SERVER_SHAKING_MS = 30000, /* ... how long they are waited for at most */
    ZC_SERVER_FOLLOW_MS = 500,    /* who waits for his session before to end hears so this often */
    ZC_SERVER_DROPPED = 256,      /* clients remembered that were dropped */
    ZC_SERVER_HANDLES = 65536,    /* most open files a client */
    ZC_SERVER_CARDS = 16 << 20,   /* memory for a client's cards, bytes */
    ZC_SERVER_SILENCE_MAX_MS = 3600000,
};

/* Keys of works on the pool that are not about one file. */
enum {
    ZC_KEY_ALL,   /* all files: CONTROL */
    ZC_KEY_END,   /* the same at the end */
    ZC_KEY_VIEWS, /* decoding of views */
    ZC_KEY_INFO,  /* what is said of all files */
    ZC_KEY_VOUCH, /* what munge says of clients */
};

struct zc_server_stats {
#define X(name, help) uint64_t name;
    ZC_SERVER_STATS(X)
#undef X
};

struct zc_request;
struct zc_transfer;
struct grant;
struct zc_view;
struct zc_shared_view;
struct zc_install;

/* Something another thread finished; handled by the server thread. */
struct zc_notice {
    struct zc_list link;
    void (*handle)(struct zc_server *s, struct zc_notice *n);
};

/* Buffers for data on its way through a view.  Those that are lost are with the fabric for clients
 * that are gone: it cannot be told to let go, and may take minutes until it sees it itself.
 * Others are made in their place, until there are ZC_BOUNCE_MOST sets. */
struct zc_bounce_set {
    unsigned char *memory; /* ZC_SERVER_BOUNCE times ZC_SERVER_CHUNK */
    struct zc_mr mr;
};

enum { ZC_BOUNCE_MOST = 3 };

struct zc_bounce {
    struct zc_bounce_set sets[ZC_BOUNCE_MOST];
    unsigned nsets; /* 0 until a view is used */
    unsigned lost;
    unsigned char *free[ZC_BOUNCE_MOST * ZC_SERVER_BOUNCE];
    unsigned nfree;
    unsigned idle;          /* given to those who lacked room in the cache then, ... */
    unsigned turns;         /* ... and how often */
    struct zc_list waiting; /* struct zc_bounce_wait, first come first */
};

/* Somebody who wants one. */
struct zc_bounce_wait {
    struct zc_list link;
    struct zc_session *session;
    void (*got)(struct zc_bounce_wait *w, unsigned char *buf);
    struct zc_handle *handle; /* where it goes: the file, ... */
    uint64_t at;              /* ... and its first byte there */
    /* It writes, and the cache has no room for that now. */
    bool (*lacks_room)(const struct zc_bounce_wait *w);
    bool idle; /* it counts in zc_bounce.idle */
};

/* The cache's pages, as far as they could reach when they were registered. */
struct zc_arena {
    struct zc_mr mr;
    size_t len;
    struct zc_arena *older;
};

struct zc_server {
    struct zc_server_config cfg;
    struct zc_tp *tp;
    struct zc_pool *pool;
    struct zc_arena *arena; /* atomic: the last one covers all pages */
    char host[256];
    uint64_t started;

    uint64_t begun;          /* HELLOs */
    struct zc_list shaking;  /* struct zc_session: not accepted yet; the oldest first */
    struct zc_list sessions; /* struct zc_session */
    struct zc_list by_id[ZC_SERVER_BUCKETS];
    struct zc_list users;   /* struct zc_user: of whom there are sessions */
    struct zc_list sharers; /* struct zc_sharer, the same */
    struct zc_list leaving; /* those whose requests or closes are under way */
    struct zc_list dropped; /* struct zc_dropped, and how many */
    unsigned ndropped;
    struct zc_server_stats stats;
    struct zc_account account;
    struct zc_audit audit;
    unsigned vouches;                 /* that munge is asked about, or will be */
    struct zc_list unread;            /* struct zc_session: a message of theirs waits */
    struct zc_list behind;            /* struct behind: a message that waits for writes ... */
    struct zc_posts_wait behind_wait; /* ... which tells of it ... */
    bool behind_told;                 /* ... or is going to */
    struct zc_notice behind_over;
    uint64_t next_tick, last_look;
    uint64_t last_complaint; /* about malformed messages */

    int stop_requested; /* atomic; set by signal handlers */
    bool draining;      /* no new opens */
    bool stopping;      /* no new requests at all */
    bool drain_started, drained;
    uint64_t stopping_since, drained_at;
    int drain_status; /* with drained */
    char drain_text[ZC_TEXT_MAX];

    struct zc_list views[ZC_SERVER_BUCKETS]; /* struct zc_shared_view, by hash */
    unsigned installs;                       /* that have memory reserved ... */
    struct zc_list installs_waiting;         /* ... and that wait for it: struct zc_install */
    unsigned lists, lists_lost;              /* transfers that have a list in memory; those of
                                                clients that are gone, as far as they do not count
                                                any more; ... */
    struct zc_list lists_waiting;            /* ... and that wait to: struct zc_transfer */
    struct zc_list conflicts;                /* zc_request.conflict */
    struct zc_bounce bounce;
    struct zc_cards cards;

    struct zc_lock lock; /* guards what follows; and `tp` stays open while it is held */
    struct zc_list notices;
    zc_cond export_idle;
    struct zc_export **exports;
    uint32_t nexports;
};

/* An open file that all clients may use; the server's lock guards all of it (zc_export.c says what
 * may be read without). */
struct zc_export {
    uint32_t index, generation;
    struct zc_handle *handle; /* NULL: free */
    struct zc_coord *coord;   /* or NULL */
    unsigned busy;            /* requests that use it */
    bool leaving;             /* no more requests */

    struct zc_server *server;
    uint64_t opener;           /* the session that opened it for all; 0: this process did */
    uint64_t group;            /* that it is of, then */
    bool orphan;               /* the opener is gone: closed when nobody is busy with it, ... */
    bool closing;              /* ... which it is now: once */
    bool shut;                 /* the handle is being closed: nothing is written any more */
    struct zc_work close_work; /* then */
};

/* A view that a session has installed. */
struct zc_owned {
    struct zc_shared_view *view; /* NULL: free */
    uint32_t generation;         /* of its number */
    uint64_t handle;             /* the open file it is for */
};

/* What a session has to do with cards. */
struct zc_meeting {
    struct zc_cards_owner cards; /* that it has left ... */
    size_t kept;                 /* ... as its purse has them: at least their bytes */
    unsigned char *buf;          /* of one that it is leaving: `at` of `size` bytes, ... */
    uint64_t size, at, room;     /* ... with room for so many; size 0: of none */
    struct zc_laid *reads;       /* the one it has found, or NULL */
};

/* An open file of a session. */
struct zc_slot {
    struct zc_handle *handle; /* NULL: free */
    uint32_t generation;      /* of the handle number, so that an old one is not taken */
    unsigned busy;            /* requests that use it */
    bool closing;             /* a CLOSE is writing back: no more requests */
    struct zc_attr attr;      /* at open */
    bool through;             /* a write is answered when the store has it */
    size_t kept;              /* of the session's purse */
    uint64_t taken, stored;   /* as the client was told last: zc_taken.c */

    struct zc_session *session; /* of one that is CLOSING: what closes the handle */
    struct zc_work close_work;
};

/* What the clients of an export share is one handle: who has been told what of it. */
struct zc_told {
    struct zc_list link; /* zc_session.told */
    const struct zc_export *export;
    uint32_t generation;
    uint64_t syncs; /* zc_flush.told */
};

/* zc_session.c has the transitions. */
enum zc_session_state {
    ZC_SESSION_SHAKING,   /* its client has to show that it knows the secret */
    ZC_SESSION_FOLLOWING, /* it has; the session before has to be freed */
    ZC_SESSION_ALIVE,
    ZC_SESSION_REFUSED, /* exists only to send the refusal */
    ZC_SESSION_DEAD,    /* no message is taken or sent any more */
    ZC_SESSION_LEAVING, /* its peer was removed, its requests end */
    ZC_SESSION_CLOSING, /* its handles are closed on the pool */
};

struct zc_session {
    struct zc_list link, hash;
    uint64_t id, client_id; /* the former is random */
    uint64_t begun;         /* of all HELLOs, which it was */
    zc_peer peer;
    unsigned char *address; /* the client's */
    size_t address_len;
    enum zc_session_state state;
    uint64_t replaces, replaces_client; /* of HELLO */
    uint64_t follows; /* FOLLOWING: a session that has to be freed before AUTH is answered ... */
    uint64_t auth_tag, auth_sign; /* ... and when its client last heard of that */
    bool known;                   /* it has shown who it is: cred says who, or it is the owner */
    bool accepted;                /* it was ALIVE */
    uint64_t number;              /* then: of all that ever were */
    struct zc_shake shake;        /* of one that is SHAKING */
    bool vouching;                /* the same: its credential is being read */
    struct zc_cred *cred;         /* whose it is; NULL: not known yet, or the owner's */
    struct zc_user *user;         /* who has it, of a server of many; NULL: not counted */
    struct zc_sharer *sharer;     /* whose part of the server it has; NULL: nobody's */
    unsigned opens;               /* of his open files: its own, ... */
    size_t open_bytes;            /* ... and what they take */
    struct zc_keys keys;          /* since AUTH, as are: */
    struct zc_lanes lanes;
    uint64_t notices;                /* messages that were no replies */
    uint32_t asked_ms;               /* HELLO's silence_ms */
    uint64_t silence_ns, last_heard; /* the latter counts our own absence as its presence */
    uint64_t heard;                  /* when it said something indeed */
    char name[ZC_MAX_NAME + 1];
    struct zc_purse purse;
    struct zc_unread *unread; /* a message that waits, or NULL */
    struct zc_posts_box *box; /* where it leaves writes, or NULL */
    unsigned behind;          /* messages of it that wait for such */
    struct zc_list requests;  /* struct zc_request */
    unsigned nrequests;
    struct zc_slot *slots;
    uint32_t nslots;
    bool owes_stored; /* of one at least was told more `taken` than `stored` */
    struct zc_meeting meeting;
    struct zc_owned *owned;
    uint32_t nowned;
    bool installing;     /* a view */
    struct zc_list told; /* struct zc_told */
    char *info;          /* text being fetched in pieces, kept */
    size_t info_len;
    bool informing;          /* it is being made, on the pool */
    uint32_t closing;        /* CLOSING: handles that are not closed yet; atomic */
    struct zc_notice closed; /* then */
    struct zc_server *server;
};

/* Of a kind of request. */
enum {
    ZC_KIND_HANDLE = 1,  /* about an open file ... */
    ZC_KIND_OWN = 2,     /* ... of the session itself: an export is for its owner to close */
    ZC_KIND_PATH = 4,    /* about a path, which is not empty */
    ZC_KIND_OPENS = 8,   /* opens it: has open_flags, and is refused while draining */
    ZC_KIND_ALWAYS = 16, /* taken while stopping, too */
    ZC_KIND_BLOCKS = 32, /* blocks in the store: run on the pool, and finished when it returns */
    ZC_KIND_LIFE = 64,   /* a sign of life, or of its end: waits for nothing, and is always taken */
    ZC_KIND_BYTES = 256, /* sees or changes a file: after what was left before (zc_posts.h) */
    ZC_KIND_TELLS = 128, /* says something of all files: gets stuck on no more than its like */
};

/* A kind of request.  What does not block runs on the server's thread: it finishes the request, or
 * parks it until the cache, the fabric or the pool calls it back. */
struct zc_request_kind {
    uint8_t type; /* ZC_T_... */
    unsigned flags;
    void (*run)(struct zc_request *r);
};

struct zc_request {
    struct zc_list link;
    struct zc_session *session;
    const struct zc_request_kind *kind;
    size_t cost;              /* of the session's allowance */
    struct zc_msg msg;        /* its byte fields while kind->run() runs on the server's thread */
    struct zc_handle *handle; /* the open file it is about */
    uint32_t slot;            /* 1 + index of its slot; 0: none */
    struct zc_export *export; /* of an export: in use until the request ends */
    struct zc_transfer *transfer; /* what moves data */
    struct zc_install *install;   /* VIEW_INSTALL */
    struct grant *grant;          /* LOCK */
    uint64_t last_sign;           /* when its client last heard of it */
    struct zc_msg reply;
    int status;
    char text[ZC_TEXT_MAX];

    /* waiting */
    char *path;
    void (*call)(struct zc_request *r);    /* on the pool */
    void (*then)(struct zc_request *r);    /* on the server's thread, by zc_request_resume() */
    void (*flushed)(struct zc_request *r); /* the same, after a flush */
    struct zc_work work;
    struct zc_notice finished;
    struct zc_flush flush;
    struct zc_handle *opened;
    struct zc_attr attr;
    bool in_use;             /* OPEN: the file is open in a way that excludes this one ... */
    uint64_t block_size;     /* ... that wants blocks of this size; 0: of any */
    struct zc_list conflict; /* ... in zc_server.conflicts while it waits ... */
    uint64_t conflict_since; /* ... since then; 0: it has not */
    uint64_t *mine;          /* INFO: the files that may be named, zc_cache_key(), ... */
    size_t nmine;            /* ... so many; NULL: all may */
};

/* zc_server.c */
void zc_server_notify(struct zc_server *s, struct zc_notice *n); /* from any thread */

/* Counts a message that is thrown away, and says so now and then.  `count`: one of s->stats. */
void zc_server_complain(struct zc_server *s, uint64_t *count, const char *text);

/* zc_server_check.c: aborts where an invariant does not hold, in debug builds */
void zc_server_check(struct zc_server *s);

/* zc_session_begin.c */
/* HELLO, whose bytes these are; AUTH. */
void zc_session_hello(struct zc_server *s, const struct zc_msg *m, const void *buf, size_t len);
void zc_session_auth(struct zc_server *s, const struct zc_msg *m);
/* R-HELLO: with our proof, or, where status is not 0, why there is none. */
int zc_session_answer(struct zc_session *ss, uint64_t tag, int status, const char *why);
/* Its client is known: it is let in, or refused, by a reply to the message with this tag. */
void zc_session_known(struct zc_session *ss, uint64_t tag);
/* The session `id` is no more: who waited for that may begin. */
void zc_session_followed(struct zc_server *s, uint64_t id);
/* AUTH takes longer: says so to who is FOLLOWING another session. */
void zc_session_tell_follower(struct zc_session *ss, uint64_t now);
/* zc_session_vouch.c */
void zc_session_vouch(struct zc_server *s, const struct zc_msg *m);
/* zc_session.c */
/* By its number: in whatever state; one that is alive; one whose client has not shown yet who it
 * is. NULL: there is none. */
struct zc_session *zc_session_any(struct zc_server *s, uint64_t id);
struct zc_session *zc_session_find(struct zc_server *s, uint64_t id);
struct zc_session *zc_session_shaking(struct zc_server *s, uint64_t id);
/* Posts an encoded message, which is traced. */
int zc_session_post(struct zc_session *ss, const struct zc_msg *m, const void *buf, size_t len);
/* Ends a session; it is freed when its requests and the closing of its files are done.
 * Not from a transport callback. */
void zc_session_kill(struct zc_server *s, struct zc_session *ss, const char *why);
/* Frees it when nothing keeps it any more. */
void zc_session_settle(struct zc_session *ss);
/* Whether nothing may be sent to its client any more. */
static inline bool zc_session_gone(const struct zc_session *ss)
{
    return ss->state >= ZC_SESSION_DEAD;
}
/* The slot of a handle number, or NULL. */
struct zc_slot *zc_session_slot(struct zc_session *ss, uint64_t handle);
/* Makes a handle number; 0: too many open files. */
uint64_t zc_session_add(struct zc_session *ss, struct zc_handle *h, const struct zc_attr *attr,
                        bool through);

/* Its number. */
uint64_t zc_session_number(const struct zc_session *ss, const struct zc_slot *slot);

/* zc_taken.c */
/* A handle is new. */
void zc_taken_begin(struct zc_session *ss, uint64_t handle);
/* Fills in the numbers of the reply to a write. */
void zc_taken_reply(struct zc_request *r);
/* At each tick, for a session that is alive. */
void zc_taken_tell(struct zc_server *s, struct zc_session *ss);
/* zc_dropped.c */
/* The session is ended for this reason: tells its client, now and whenever it speaks; its peer was
 * removed.  Not from a transport callback. */
void zc_dropped_add(struct zc_server *s, const struct zc_session *ss, const char *why);
/* A message of no session: true if its seal is that of a client that was dropped, which is told
 * again. */
bool zc_dropped_spoke(struct zc_server *s, uint64_t session, const void *buf, size_t len);
void zc_dropped_tick(struct zc_server *s, uint64_t now);
void zc_dropped_forget(struct zc_server *s); /* all, before the endpoint is closed */

/* zc_unread.c */
/* Whether the session has more under way, and answers waiting for it, than it may. */
bool zc_session_overdrawn(const struct zc_session *ss);
/* Whether it takes no answers at all: notices would pile up. */
bool zc_session_stalled(const struct zc_session *ss);
/* A message of a session, checked: true: it is not to be read now, or never.  `m` is in `buf`. */
bool zc_unread_keep(struct zc_session *ss, const struct zc_msg *m, const void *buf, size_t len);
/* Those that may be read go on; from the main loop only. */
void zc_unread_serve(struct zc_server *s);
void zc_unread_forget(struct zc_session *ss);

/* zc_request.c */
void zc_request_arrived(struct zc_server *s, struct zc_session *ss, const struct zc_msg *m);
/* Remembers the first failure with its explanation. */
void zc_request_fail(struct zc_request *r, int status, const char *text);
/* The same for what a call returned, with this thread's explanation; 0 is none. */
void zc_request_check(struct zc_request *r, int rc);
/* Runs call(r) on the pool, where it may block, and then then(r) on the server's thread.  Its key
 * there is the open file it is about, else its path. */
void zc_request_submit(struct zc_request *r, void (*call)(struct zc_request *r),
                       void (*then)(struct zc_request *r));
/* Flushes the open file, fails the request if that does, and goes on with then(r); r->flush.told
 * and .quiet are the caller's to set. */
void zc_request_flush(struct zc_request *r, enum zc_level level,
                      void (*then)(struct zc_request *r));
/* What a parked request waited for has come: r->then(r) is next.  Any thread. */
void zc_request_resume(struct zc_request *r);
/* Replies and frees. */
void zc_request_finish(struct zc_request *r);
/* The same for a WRITE or VWRITE whose bytes are in the cache; they may have to go further
 * before the reply. */
void zc_request_written(struct zc_request *r);
/* Whether it writes to an open file whose writes are answered when they are stored. */
bool zc_request_through(const struct zc_request *r);
void zc_session_reply(struct zc_session *ss, struct zc_msg *m, int status, const char *text);
/* A message to the client that is no reply. */
int zc_session_notify(struct zc_session *ss, struct zc_msg *m);

/* zc_request_kinds.c: NULL if messages of this type are no requests */
void zc_request_open(struct zc_request *r); /* OPEN, also once more */
const struct zc_request_kind *zc_request_kind(uint8_t type);

/* zc_transfer.c: starts what moves data, which finishes by itself */
void zc_transfer_start(struct zc_request *r);
/* What a request that writes brought is to be kept no longer.  Blocks; not on the server's thread.
 */
void zc_transfer_give_up(struct zc_request *r);
/* The next that waits for others' lists to go, and need not any more; or NULL. */
struct zc_transfer *zc_transfer_next(const struct zc_server *s);
/* Begins those; from the main loop only. */
void zc_transfer_serve(struct zc_server *s);
/* Nothing of it is under way; NULL is fine. */
void zc_transfer_free(struct zc_session *ss, struct zc_transfer *t);
/* The client is gone: nobody waits for what its requests have of what there are few. */
void zc_transfer_write_off(struct zc_session *ss);

/* zc_behind.c */
void zc_behind_init(struct zc_server *s);
void zc_request_postbox(struct zc_request *r); /* POSTBOX */
/* A message of a session, checked: true: it comes after writes that are not made yet, and waits
 * until they are.  `m` is in `buf`. */
bool zc_behind_keep(struct zc_session *ss, const struct zc_msg *m, const void *buf, size_t len);
void zc_behind_tick(struct zc_server *s, uint64_t now);
/* The client is gone: what it has left is taken out. */
void zc_behind_leave(struct zc_session *ss);
/* The server is at its end: nobody waits any more. */
void zc_behind_end(struct zc_server *s);
/* Returns when all that was left here is made. */
void zc_behind_empty(struct zc_server *s);

/* zc_bounce.c */
int zc_bounce_make(struct zc_server *s); /* if there are none yet */
/* NULL: w->got() will be called. */
unsigned char *zc_bounce_get(struct zc_bounce *b, struct zc_bounce_wait *w);
void zc_bounce_give(struct zc_bounce *b, unsigned char *buf);
/* What is held for him does not count as idle any more. */
void zc_bounce_not_idle(struct zc_bounce *b, struct zc_bounce_wait *w);
/* Who waits and may have one, if there is one; NULL: nobody. */
struct zc_bounce_wait *zc_bounce_next(const struct zc_bounce *b);
/* Nobody waits who need not, but for room that there has been since. */
bool zc_bounce_is_served(const struct zc_bounce *b);
void *zc_bounce_desc(const struct zc_bounce *b, const unsigned char *buf); /* for the fabric */
/* Gives free buffers to those who wait for one; from the main loop only. */
void zc_bounce_serve(struct zc_server *s);
void zc_bounce_deregister(struct zc_server *s);
void zc_bounce_free(struct zc_bounce *b);

/* zc_conflict.c */
/* An OPEN met another set of daemons, or another block size.  True: it waits, to see whether those
 * who have the file open are alive; false: they are. */
bool zc_conflict_wait(struct zc_request *r);
void zc_conflicts_look(struct zc_server *s); /* by the tick */

/* zc_server_views.c */
void zc_server_views_init(struct zc_server *s);
void zc_request_view_install(struct zc_request *r);
void zc_request_view_drop(struct zc_request *r);
/* What the session has installed under that number for that open file, kept until put; or NULL. */
struct zc_shared_view *zc_session_view(struct zc_session *ss, uint64_t number, uint64_t handle);
struct zc_view *zc_shared_view_of(struct zc_shared_view *v);
void zc_session_view_put(struct zc_session *ss, struct zc_shared_view *v);
/* Drops all views of an open file, of the session with handle 0. */
void zc_session_views_forget(struct zc_session *ss, uint64_t handle);

/* zc_export.c */
bool zc_export_number(uint64_t handle);
/* The export of that number, in use until put; NULL: none. */
struct zc_export *zc_export_get(struct zc_server *s, uint64_t number);
void zc_export_put(struct zc_server *s, struct zc_export *e);
/* The same for a write that was made before whatever ends it: also of one that no request may use
 * any more.  Any thread, as only these two are. */
struct zc_handle *zc_export_hold(struct zc_server *s, uint64_t number, struct zc_export **out);
void zc_export_release(struct zc_server *s, struct zc_export *e);
/* Whether there is one of that number. */
bool zc_export_there(struct zc_server *s, uint64_t number);
/* The session's record of an export it uses; NULL: no memory. */
struct zc_told *zc_export_told(struct zc_session *ss, const struct zc_export *e);
/* Makes the session's open file one that all may use; its number, or 0: no memory. */
uint64_t zc_export_open(struct zc_session *ss, struct zc_handle *h, uint64_t group);
/* No request but the caller's uses it, and none will any more; else false, and nothing is done. */
bool zc_export_leave(struct zc_server *s, struct zc_export *e);
/* Closes one that was left, which `mine` requests of the caller use.  Blocks. */
int zc_export_close(struct zc_export *e, unsigned mine);
/* A client is gone: its locks are given back, and what it had opened for all is closed. */
void zc_exports_forget(struct zc_server *s, uint64_t session);
void zc_exports_free(struct zc_server *s);

/* zc_request_coord.c */
void zc_request_pointer(struct zc_request *r);
void zc_request_lock(struct zc_request *r);
void zc_request_unlock(struct zc_request *r);
void zc_request_forget_locks(struct zc_coord *coord, uint64_t session);
void zc_request_forget_all_locks(struct zc_coord *coord);

/* zc_request_meet.c */
void zc_request_meet(struct zc_request *r);
/* A client is gone: its cards as well. */
void zc_session_leave_meeting(struct zc_session *ss);

/* zc_server_info.c: allocated text, *len without its NUL; NULL: no memory.  `r` says which files
 * may be named. */
char *zc_server_info(struct zc_server *s, uint32_t what, const struct zc_request *r, size_t *len);
/* INFO about files, of who is not the owner: those that his sessions have open may be named. False:
 * no memory. */
bool zc_server_info_mine(struct zc_request *r);

#endif
