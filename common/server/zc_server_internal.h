/* zc_server_internal.h - what the files of the server share.
 *
 * zc_server.c               endpoint, main loop, deadlines, stopping
 * zc_session.c              sessions of clients and their handles
 * zc_session_begin.c        how sessions begin: HELLO and AUTH
 * zc_session_credential.c   authentication by munge
 * zc_user.c                 the users of a server of many users
 * zc_tenant.c               which clients are one tenant
 * zc_evicted.c              clients whose session was ended, and which are told so
 * zc_session_mem.c          memory that clients make the server hold
 * zc_audit.c                the audit log
 * zc_backpressure.c         clients that are not read any more
 * zc_request.c              one request: checking, waiting, reply
 * zc_request_kinds.c        what each request does: the table
 * zc_open_conflict.c        OPENs with another set of daemons, or another block size
 * zc_transfer.c             data between pages and clients
 * zc_transfer_begin.c       what a transfer needs first: a view, a list
 * zc_transfer_journal.c     writes that are journaled before the reply
 * zc_commit_notify.c        COMMITTED: which writes of a client are committed
 * zc_ring_apply.c           writes through rings in shared memory (zc_shmring.h)
 * zc_request_ring.c         RING_OPEN: the rings of sessions
 * zc_bounce.c               bounce buffers of transfers through a view
 * zc_few.c                  transfers that wait for what there are few of: buffers, lists
 * zc_request_coord.c        POINTER, LOCK, UNLOCK: what ranks share of a file
 * zc_request_steps.c        STEP, and what steps mean to opens, closes and transfers
 * zc_steps.c                steps of files: what is published, and what readers may see
 * zc_request_rendezvous.c   RENDEZVOUS: records that clients publish at files
 * zc_server_views.c         the views clients have installed
 * zc_export.c               open files that all clients may use
 * zc_server_info.c          INFO about the server
 * zc_server_check.c         the invariants, in debug builds
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
 * 6. A request that is not running waits for one thing, earlier ring entries, the pool, the
 *    cache's write-back or a lock; or its transfer's pieces wait, each for a page, a buffer or the
 *    fabric.
 * 7. After each round of the main loop, no buffer is free that a waiting transfer may have.
 * 8. A session that another one replaces (`follows`) is freed before the new one is accepted.
 * 9. A view in memory has an owner, a session or a request; an installation waits only while
 *    another one is under way.
 */
#ifndef ZC_SERVER_INTERNAL_H
#define ZC_SERVER_INTERNAL_H

#include "zc_audit.h"
#include "zc_cache.h"
#include "zc_error.h"
#include "zc_handshake.h"
#include "zc_json.h"
#include "zc_list.h"
#include "zc_few.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_mac.h"
#include "zc_pool.h"
#include "zc_rendezvous.h"
#include "zc_ring.h"
#include "zc_server.h"
#include "zc_session_mem.h"
#include "zc_shmring.h"
#include "zc_steps.h"
#include "zc_tenant.h"
#include "zc_transport.h"
#include "zc_wire.h"

enum {
    ZC_SERVER_CREDITS = 16,      /* requests a client may have under way */
    ZC_SERVER_RECEIVES = 128,    /* receive buffers */
    ZC_SERVER_POOL = 4,          /* threads for calls that block ... */
    ZC_SERVER_POOL_MOST = 64,    /* ... with those that are stuck in one */
    ZC_SERVER_PER_FILE = 2,      /* of these, for one file or path */
    ZC_SERVER_TICK_MS = 100,     /* interval for checks of deadlines */
    ZC_SERVER_BOUNCE = 16,       /* buffers for data on its way through a view, and ... */
    ZC_SERVER_CHUNK = 256 << 10, /* ... their size, bytes */
    ZC_SERVER_LISTS = 16,        /* lists of pieces in memory at a time */
    ZC_SERVER_ABANDON_MS = 2000, /* a stop waits this long for requests of dead clients */
    ZC_SERVER_LINGER_MS = 500,   /* at the end, for clients to send BYE */
    ZC_SERVER_SESSIONS = 16384,  /* most clients at a time */
    ZC_SERVER_BUCKETS = 1024,
    ZC_SERVER_REFUSED_MS = 2000,  /* the address of a refused client is kept this long */
    ZC_SERVER_SHAKING = 4096,     /* most clients that are not accepted yet, and ... */
    ZC_SERVER_SHAKING_MS = 30000, /* ... how long they are waited for at most */
    ZC_SERVER_FOLLOW_MS = 500,    /* interval of PENDING to a client whose earlier session ends */
    ZC_SERVER_EVICTED = 256,      /* evicted clients that are remembered */
    ZC_SERVER_HANDLES = 65536,    /* most open files a client */
    ZC_SERVER_RECORDS = 16 << 20, /* memory for a client's rendezvous records, bytes */
    ZC_SERVER_SILENCE_MAX_MS = 3600000,
};

/* Keys of works on the pool that are not about one file. */
enum {
    ZC_KEY_ALL,        /* all files: CONTROL */
    ZC_KEY_END,        /* the same at the end */
    ZC_KEY_VIEWS,      /* decoding of views */
    ZC_KEY_INFO,       /* lists of all files */
    ZC_KEY_CREDENTIAL, /* decoding of credentials */
};

struct zc_server_stats {
#define X(name, kind, unit, help) uint64_t name;
    ZC_SERVER_STATS(X)
#undef X
};

struct zc_request;
struct zc_transfer;
struct grant;
struct zc_view;
struct zc_shared_view;
struct zc_install;

/* Work of another thread that the server thread has to finish. */
struct zc_notice {
    struct zc_list link;
    void (*handle)(struct zc_server *s, struct zc_notice *n);
};

/* Buffers for data on its way through a view.  Lost ones are with the fabric for vanished clients:
 * it cannot be told to release them, and may take minutes to do so.  Others are made in their
 * place, up to ZC_BOUNCE_MOST sets. */
struct zc_bounce_set {
    unsigned char *memory; /* ZC_SERVER_BOUNCE times ZC_SERVER_CHUNK */
    struct zc_mr mr;
};

enum { ZC_BOUNCE_MOST = 3 };

struct zc_bounce {
    struct zc_bounce_set sets[ZC_BOUNCE_MOST];
    unsigned nsets; /* 0 until a view is used */
    unsigned lost;
    struct zc_few few;
    unsigned char *buffers[ZC_BOUNCE_MOST * ZC_SERVER_BOUNCE]; /* few.free of them */
};

/* A transfer that waits for a buffer. */
struct zc_bounce_wait {
    struct zc_few_wait few;
    void (*got)(struct zc_bounce_wait *w, unsigned char *buf);
};

/* A registration of the cache's pages, as many as there could be then. */
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

    uint64_t begun;          /* number of HELLOs */
    struct zc_list shaking;  /* struct zc_session: not accepted yet; the oldest first */
    struct zc_list sessions; /* struct zc_session */
    struct zc_list by_id[ZC_SERVER_BUCKETS];
    struct zc_list users;   /* struct zc_user: users with sessions */
    struct zc_list sharers; /* struct zc_tenant: tenants with sessions */
    struct zc_list leaving; /* those whose requests or closes are under way */
    struct zc_list evicted; /* struct zc_evicted, and how many */
    unsigned nevicted;
    struct zc_server_stats stats;
    uint64_t damage_told, damage_untold; /* ns, or 0; messages suppressed since: for the log */
    struct zc_session_mem session_mem;
    struct zc_audit audit;
    unsigned credentials;    /* munge requests queued or under way */
    struct zc_list unread;   /* struct zc_session: with a message kept back */
    struct zc_list deferred; /* zc_request.deferred: requests that wait for ring entries ... */
    struct zc_shmring_wait deferred_wait; /* ... the wait for these ... */
    bool deferred_notified;               /* ... whose callback was or will be called */
    struct zc_notice deferred_notice;
    uint64_t next_tick, last_look;
    uint64_t last_complaint; /* about malformed messages */

    int stop_requested; /* atomic; set by signal handlers */
    bool draining;      /* no new opens */
    bool stopping;      /* no new requests at all */
    bool drain_started, drained;
    uint64_t stopping_since, drained_at;
    struct zc_error drain_error; /* with drained */

    struct zc_list views[ZC_SERVER_BUCKETS]; /* struct zc_shared_view, by hash */
    unsigned installs;                       /* with memory reserved ... */
    struct zc_list installs_waiting;         /* ... and waiting for it: struct zc_install */
    struct zc_few lists;                     /* in memory, of transfers */
    unsigned lists_lost;      /* of vanished clients, as far as they do not count any more */
    struct zc_list conflicts; /* zc_request.conflict */
    struct zc_steps steps;
    struct zc_list step_waits; /* zc_request.step_wait */
    struct zc_bounce bounce;
    struct zc_rendezvous_table records;

    struct zc_lock lock; /* guards what follows; `tp` stays open while it is held */
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
    bool leaving;             /* refuses new requests */

    struct zc_server *server;
    uint64_t opener;           /* the session that opened it for all; 0: this process */
    uint64_t group;            /* owner set named by that open */
    bool left;                 /* the opener is gone, and others may use it (ZC_EXPORTS_STAY) */
    bool orphan;               /* the opener is gone: closed when no request uses it ... */
    bool closing;              /* ... which happens now, once */
    bool shut;                 /* the handle is being closed: no more writes */
    struct zc_work close_work; /* for the close */
};

/* A view that a session has installed. */
struct zc_owned {
    struct zc_shared_view *view; /* NULL: free */
    uint32_t generation;         /* of its number */
    uint64_t handle;             /* the open file it is for */
};

/* Rendezvous records of a session. */
struct zc_session_records {
    struct zc_rendezvous_owner records; /* published ... */
    size_t kept;                        /* ... and their size in the session's quota */
    unsigned char *buf;                 /* of one being published: `at` of `size` bytes ... */
    uint64_t size, at, room;            /* ... allocated: `room`; size 0: none */
    struct zc_published_record *reads;  /* the one it has found, or NULL */
};

/* An open file of a session. */
/* Writes of a client to an open file, and how many of them were synced: zc_unsynced.c. */
struct zc_unsynced {
    uint64_t written, synced;
};

struct zc_slot {
    struct zc_handle *handle;             /* NULL: free */
    uint32_t generation;                  /* of the handle number, to detect old ones */
    unsigned busy;                        /* requests that use it */
    bool closing;                         /* a CLOSE is writing back: no more requests */
    struct zc_attr attr;                  /* at open */
    bool through;                         /* writes are answered when the store has them */
    size_t kept;                          /* part of the session's quota */
    uint64_t unstable_seq, committed_seq; /* as last sent to the client: zc_commit_notify.c */
    struct zc_unsynced unsynced;
    struct zc_steps_user *steps; /* NULL: steps have no effect on it */

    struct zc_session *session; /* while CLOSING: the session whose end closes the handle */
    struct zc_work close_work;
};

/* Clients of an export share one handle: failures of it that were reported to this session. */
struct zc_session_errseq {
    struct zc_list link; /* zc_session.errseqs */
    const struct zc_export *export;
    uint32_t generation;
    uint64_t syncs; /* zc_flush.errseq */
    struct zc_unsynced unsynced;
};

/* zc_session.c has the transitions. */
enum zc_session_state {
    ZC_SESSION_SHAKING,   /* its client has to show that it knows the secret */
    ZC_SESSION_FOLLOWING, /* it has; the session before has to be freed */
    ZC_SESSION_ALIVE,
    ZC_SESSION_REFUSED, /* exists only to send the refusal */
    ZC_SESSION_DEAD,    /* no message is taken or sent any more */
    ZC_SESSION_LEAVING, /* its peer was removed, its requests end */
    ZC_SESSION_CLOSING, /* its handles are being closed on the pool */
};

struct zc_session {
    struct zc_list link, hash;
    uint64_t id, client_id; /* the former is random */
    uint64_t begun;         /* ordinal of its HELLO */
    zc_peer peer;
    unsigned char *address; /* the client's */
    size_t address_len;
    enum zc_session_state state;
    uint64_t replaces, replaces_client; /* of HELLO */
    uint64_t follows;              /* FOLLOWING: session to be freed before AUTH is answered ... */
    uint64_t auth_tag, auth_sign;  /* ... and when its client last got a PENDING */
    bool known;                    /* authenticated: as `cred`, or as the owner */
    bool accepted;                 /* has been ALIVE */
    uint64_t number;               /* its ordinal among those */
    struct zc_handshake handshake; /* while SHAKING */
    bool credential_pending;       /* while SHAKING: its credential is being decoded */
    struct zc_cred *cred;          /* its user; NULL: not known yet, or the owner */
    struct zc_user *user;          /* its user, of a server of many; NULL: not counted */
    struct zc_tenant *tenant;      /* its tenant; NULL: none */
    struct zc_few_mark few_marks[ZC_FEW_KINDS];
    unsigned opens;      /* open files counted for the user ... */
    size_t open_bytes;   /* ... and their memory */
    struct zc_keys keys; /* since AUTH, as are: */
    struct zc_session_slots msg_slots;
    uint64_t notices;                /* messages sent that were no replies */
    uint32_t asked_ms;               /* HELLO's silence_ms */
    uint64_t silence_ns, last_heard; /* the latter does not count our own absence */
    uint64_t mismatches;             /* checksum mismatches not explained by it yet */
    uint64_t heard;                  /* last message indeed received */
    char name[ZC_MAX_NAME + 1];
    struct zc_session_quota quota;
    struct zc_backpressure *unread;     /* a message kept back, or NULL */
    struct zc_ring_writer *ring_writer; /* its ring, or NULL */
    struct zc_list requests;            /* struct zc_request */
    unsigned nrequests;
    struct zc_slot *slots;
    uint32_t nslots;
    bool owes_committed; /* a file has numbers above the committed one reported */
    struct zc_session_records records;
    struct zc_owned *owned;
    uint32_t nowned;
    bool installing;        /* a view is being installed */
    struct zc_list errseqs; /* struct zc_session_errseq */
    char *info;             /* text being fetched in pieces, kept */
    size_t info_len;
    bool informing;          /* it is being made, on the pool */
    uint32_t closing;        /* CLOSING: handles still open; atomic */
    struct zc_notice closed; /* when all are closed */
    struct zc_server *server;
};

/* Of a kind of request. */
enum {
    ZC_KIND_HANDLE = 1,  /* about an open file ... */
    ZC_KIND_OWN = 2,     /* ... of the session itself: not an export */
    ZC_KIND_PATH = 4,    /* about a path, which is not empty */
    ZC_KIND_OPENS = 8,   /* opens it: has open_flags, and is refused while draining */
    ZC_KIND_ALWAYS = 16, /* accepted while stopping, too */
    ZC_KIND_BLOCKS = 32, /* blocks in the store: run on the pool, and finished when it returns */
    ZC_KIND_LIFE = 64,   /* heartbeat or end of the session: never waits, always accepted */
    ZC_KIND_BYTES = 256, /* on bytes of a file: after earlier ring entries (zc_shmring.h) */
    ZC_KIND_TELLS = 128, /* about all files: waits only for its own kind */
};

/* A kind of request.  If it does not block it runs on the server's thread: it finishes the request,
 * or parks it until the cache, the fabric or the pool calls back. */
struct zc_request_kind {
    uint8_t type; /* ZC_T_... */
    unsigned flags;
    void (*run)(struct zc_request *r);
};

struct zc_request {
    struct zc_list link;
    struct zc_session *session;
    const struct zc_request_kind *kind;
    size_t cost;              /* in the session's quota */
    struct zc_msg msg;        /* its byte fields while kind->run() runs on the server's thread */
    struct zc_bytes encoded;  /* the message as it came; valid as long as these ... */
    unsigned char *kept;      /* ... or a copy, which `msg` points into; NULL: none */
    struct zc_handle *handle; /* the open file it is about */
    uint32_t slot;            /* 1 + index of its slot; 0: none */
    struct zc_export *export; /* of an export: in use until the request ends */
    struct zc_transfer *transfer; /* what moves data */
    struct zc_install *install;   /* VIEW_INSTALL */
    struct grant *grant;          /* LOCK */
    uint64_t last_sign;           /* when its client last got a PENDING */
    struct zc_msg reply;
    struct zc_error error; /* the first failure */

    /* waiting */
    char *path;
    void (*call)(struct zc_request *r);    /* on the pool */
    void (*then)(struct zc_request *r);    /* on the server's thread, by zc_request_resume() */
    void (*flushed)(struct zc_request *r); /* the same, after a flush */
    struct zc_work work;
    struct zc_notice finished;
    struct zc_flush flush;
    struct zc_list deferred; /* member of zc_server.deferred while ring entries are applied ... */
    uint64_t until;          /* ... that came before it: a zc_shmring_stamp() */
    uint64_t written;        /* value of zc_unsynced.written before the flush */
    struct zc_handle *opened;
    struct zc_attr attr;
    bool in_use;              /* OPEN: conflicts with another open of the file ... */
    uint64_t block_size;      /* ... with another block size than this; 0: with another set ... */
    uint32_t width, first;    /* ... or another placement */
    struct zc_list conflict;  /* ... member of zc_server.conflicts while it waits ... */
    uint64_t conflict_since;  /* ... since then; 0: does not wait */
    struct zc_list step_wait; /* a waiting STEP: member of zc_server.step_waits ... */
    uint64_t step_until;      /* ... until this time; ns */
    struct zc_json info;      /* INFO: the document being made */
    uint64_t *mine;           /* INFO: keys (zc_cache_key()) of files that may be named ... */
    size_t nmine;             /* ... and their number; NULL: all */
};

/* zc_server.c */
void zc_server_notify(struct zc_server *s, struct zc_notice *n); /* from any thread */

/* Counts a message that is thrown away, and logs it now and then.  `count`: one of s->stats. */
void zc_server_complain(struct zc_server *s, uint64_t *count, const char *text);

/* zc_unsynced.c: notes that a write arrives; that a flush begins, and ends with the request's
 * status; returns whether open files of the session have writes not flushed since */
void zc_unsynced_wrote(struct zc_request *r);
void zc_unsynced_flush(struct zc_request *r);
void zc_unsynced_flushed(struct zc_request *r);
bool zc_unsynced_any(struct zc_session *ss);

/* zc_server_check.c: aborts where an invariant does not hold, in debug builds */
void zc_server_check(struct zc_server *s);

/* zc_session_begin.c */
/* Handle HELLO, whose encoded bytes are `buf`, and AUTH. */
void zc_session_hello(struct zc_server *s, const struct zc_msg *m, const void *buf, size_t len);
void zc_session_auth(struct zc_server *s, const struct zc_msg *m);
/* Sends R-HELLO: with our proof, or the error. */
int zc_session_answer(struct zc_session *ss, uint64_t tag, const struct zc_error *e);
/* Admits or refuses an authenticated client, in reply to the message with this tag. */
void zc_session_known(struct zc_session *ss, uint64_t tag);
/* Called when session `id` was freed: begins a session that waited for that. */
void zc_session_followed(struct zc_server *s, uint64_t id);
/* AUTH takes longer: sends PENDING to the client of a session that is FOLLOWING another. */
void zc_session_tell_follower(struct zc_session *ss, uint64_t now);
/* zc_session_credential.c */
void zc_session_credential(struct zc_server *s, const struct zc_msg *m);
/* zc_session.c */
/* Find a session by its number: in any state; alive; not authenticated yet.  NULL: none. */
struct zc_session *zc_session_any(struct zc_server *s, uint64_t id);
struct zc_session *zc_session_find(struct zc_server *s, uint64_t id);
struct zc_session *zc_session_shaking(struct zc_server *s, uint64_t id);
/* Sends an encoded message, with a trace line. */
int zc_session_post(struct zc_session *ss, const struct zc_msg *m, const void *buf, size_t len);
/* Ends a session; it is freed when its requests and the closing of its files are done.
 * Not from a transport callback. */
void zc_session_kill(struct zc_server *s, struct zc_session *ss, const char *why);
/* Frees the session when nothing keeps it any more. */
void zc_session_settle(struct zc_session *ss);
/* Whether nothing may be sent to its client any more. */
static inline bool zc_session_gone(const struct zc_session *ss)
{
    return ss->state >= ZC_SESSION_DEAD;
}
/* Returns the slot of a handle number, or NULL. */
struct zc_slot *zc_session_slot(struct zc_session *ss, uint64_t handle);
/* Makes a handle number; 0: too many open files. */
uint64_t zc_session_add(struct zc_session *ss, struct zc_handle *h, const struct zc_attr *attr,
                        bool through);

/* Returns the handle number of a slot. */
uint64_t zc_session_number(const struct zc_session *ss, const struct zc_slot *slot);

/* zc_commit_notify.c */
/* Registers a new handle. */
void zc_commit_notify_begin(struct zc_session *ss, uint64_t handle);
/* Fills in the numbers of the reply to a write. */
void zc_commit_notify_reply(struct zc_request *r);
/* Sends COMMITTED as needed; at each tick, for a session that is alive. */
void zc_commit_notify_send(struct zc_server *s, struct zc_session *ss);
/* zc_evicted.c */
/* Remembers an ended session whose peer was removed, and notifies its client, now and after each
 * message.  Not from a transport callback. */
void zc_evicted_add(struct zc_server *s, const struct zc_session *ss, const char *why);
/* Handles a message of no session: true if its MAC is that of an evicted client, which is notified
 * again. */
bool zc_evicted_spoke(struct zc_server *s, uint64_t session, const void *buf, size_t len);
void zc_evicted_tick(struct zc_server *s, uint64_t now);
void zc_evicted_forget(struct zc_server *s); /* all, before the endpoint is closed */

/* zc_backpressure.c */
/* Whether the session's requests under way and replies waiting exceed its quota. */
bool zc_session_overdrawn(const struct zc_session *ss);
/* Whether it takes no replies at all: notices would pile up. */
bool zc_session_stalled(const struct zc_session *ss);
/* Handles a checked message of a session above its quota; true: it was kept back or dropped.  `m`
 * is in `buf`. */
bool zc_backpressure_keep(struct zc_session *ss, const struct zc_msg *m, const void *buf,
                          size_t len);
/* Continues sessions that may be read again; from the main loop only. */
void zc_backpressure_serve(struct zc_server *s);
void zc_backpressure_forget(struct zc_session *ss);

/* zc_request.c */
void zc_requests_init(struct zc_server *s);
/* Handles a checked message of a session, which is decoded from `encoded`. */
void zc_request_arrived(struct zc_server *s, struct zc_session *ss, const struct zc_msg *m,
                        struct zc_bytes encoded);
/* Keeps the message's bytes until the request ends; false: the request has failed. */
bool zc_request_keep(struct zc_request *r);
/* After a client is gone: ends its requests that wait for ring entries. */
void zc_requests_abandon(struct zc_session *ss);
/* At the end, when no request is left. */
void zc_requests_end(struct zc_server *s);
/* Remembers the first failure with its explanation. */
void zc_request_fail(struct zc_request *r, int status, const char *text);
/* Runs call(r) on the pool, where it may block, and then then(r) on the server's thread.  Its key
 * on the pool is its open file, else its path. */
void zc_request_submit(struct zc_request *r, void (*call)(struct zc_request *r),
                       void (*then)(struct zc_request *r));
/* Flushes the open file, fails the request if that fails, and continues with then(r); the caller
 * may set r->flush.errseq and .quiet. */
void zc_request_flush(struct zc_request *r, enum zc_level level,
                      void (*then)(struct zc_request *r));
/* Continues a parked request: r->then(r) is next.  Any thread. */
void zc_request_resume(struct zc_request *r);
/* Replies and frees. */
void zc_request_finish(struct zc_request *r);
/* Replies to a WRITE or VWRITE whose bytes are in the cache, and frees the request; flushes the
 * bytes first if the file requires it. */
void zc_request_written(struct zc_request *r);
/* Whether the request writes to a file whose writes are answered when they are stored. */
bool zc_request_through(const struct zc_request *r);
void zc_session_reply(struct zc_session *ss, struct zc_msg *m, int status, const char *text);
/* Sends the client a message that is no reply. */
int zc_session_notify(struct zc_session *ss, struct zc_msg *m);

/* zc_request_kinds.c: NULL if messages of this type are no requests */
void zc_request_open(struct zc_request *r); /* OPEN, also a repetition */
const struct zc_request_kind *zc_request_kind(uint8_t type);

/* zc_transfer.c: starts a transfer, which finishes the request itself */
void zc_transfer_start(struct zc_request *r);
/* Discards what a failed write request has brought.  Blocks; not on the server's thread. */
void zc_transfer_give_up(struct zc_request *r);
/* Starts those that wait for a list's place and may have one; whether there were any.  From the
 * main loop only. */
bool zc_transfer_serve(struct zc_server *s);
/* Frees a transfer with nothing under way; NULL: no effect. */
void zc_transfer_free(struct zc_session *ss, struct zc_transfer *t);
/* After a client is gone: counts lists and buffers of its requests as lost, and does not wait for
 * them. */
void zc_transfer_write_off(struct zc_session *ss);

/* zc_request_ring.c */
void zc_request_ring_open(struct zc_request *r); /* RING_OPEN */
/* After a client is gone: has its entries applied, and frees its ring. */
void zc_session_ring_close(struct zc_session *ss);
/* Returns when all entries of this server's clients are applied. */
void zc_server_rings_end(struct zc_server *s);

/* zc_bounce.c */
int zc_bounce_make(struct zc_server *s); /* if there are none yet */
/* Returns a buffer; NULL: w->got() will be called. */
unsigned char *zc_bounce_get(struct zc_bounce *b, struct zc_bounce_wait *w);
void zc_bounce_give(struct zc_bounce *b, unsigned char *buf);
void *zc_bounce_desc(const struct zc_bounce *b, const unsigned char *buf); /* for the fabric */
/* Gives free buffers to waiting transfers; whether there were any.  From the main loop only. */
bool zc_bounce_serve(struct zc_server *s);
void zc_bounce_deregister(struct zc_server *s);
void zc_bounce_free(struct zc_bounce *b);

/* zc_open_conflict.c */
/* Handles an OPEN with another set of daemons or block size than the open file's.  True: it waits,
 * to see whether the clients that have the file open are alive; false: they are. */
bool zc_open_conflict_wait(struct zc_request *r);
void zc_open_conflicts_check(struct zc_server *s); /* by the tick */

/* zc_request_steps.c; no effect on requests whose open file has no steps */
void zc_request_step(struct zc_request *r); /* STEP */
/* Called for a file that was opened for a session.  *out is for its slot; NULL: steps have no
 * effect on it.  0 or a negative errno, explained. */
int zc_request_steps_open(struct zc_request *r, struct zc_steps_user **out);
/* Returns the memory that steps of the open file may take; bytes. */
size_t zc_request_steps_memory(const struct zc_request *r);
/* Ends an open file; `closed`: by a CLOSE, not with its session. */
void zc_request_steps_leave(struct zc_session *ss, struct zc_slot *slot, bool closed);
/* Called before bytes are written; before the file is truncated. */
void zc_request_steps_write(struct zc_request *r);
void zc_request_steps_cut(struct zc_request *r);
/* Returns where a read up to `end` ends, for the step that it reads. */
uint64_t zc_request_steps_end(const struct zc_request *r, uint64_t end);
/* Called after a read: fails it if some of its bytes may not be those of its step. */
void zc_request_steps_check(struct zc_request *r);
/* Returns the size of the file for the step that the open file reads; `size` is the current one. */
uint64_t zc_request_steps_size(const struct zc_request *r, uint64_t size);
void zc_request_steps_refreshed(struct zc_request *r);
/* Answers the requests that no longer have to wait for a step. */
void zc_step_waits_check(struct zc_server *s);

/* zc_server_views.c */
void zc_server_views_init(struct zc_server *s);
void zc_request_view_install(struct zc_request *r);
void zc_request_view_drop(struct zc_request *r);
/* Returns the view that the session has installed under that number for that open file, kept until
 * put; or NULL. */
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
/* Returns the open file of the export of that number, which is in use until zc_export_release();
 * NULL: none.  For a ring entry made before the export ends, so the export may accept no requests
 * any more.  Any thread, unlike the other functions here. */
struct zc_handle *zc_export_hold(struct zc_server *s, uint64_t number, struct zc_export **out);
void zc_export_release(struct zc_server *s, struct zc_export *e);
/* Whether the number exists. */
bool zc_export_there(struct zc_server *s, uint64_t number);
/* The session's record of an export it uses; NULL: no memory. */
struct zc_session_errseq *zc_export_errseq(struct zc_session *ss, const struct zc_export *e);
/* Makes the session's open file available to all clients; returns its number, or 0: no memory. */
uint64_t zc_export_open(struct zc_session *ss, struct zc_handle *h, uint64_t group);
/* Whether only the caller's request uses it; then it accepts no others any more. */
bool zc_export_leave(struct zc_server *s, struct zc_export *e);
/* Closes it after leave(); `mine`: the caller's requests that use it.  Blocks. */
int zc_export_close(struct zc_export *e, unsigned mine);
/* After a client is gone: releases its locks, and closes what it had opened for all. */
void zc_exports_forget(struct zc_server *s, uint64_t session);
void zc_exports_free(struct zc_server *s);

/* zc_request_coord.c */
void zc_request_pointer(struct zc_request *r);
void zc_request_lock(struct zc_request *r);
void zc_request_unlock(struct zc_request *r);
/* Releases the locks of a session; NULL: of all. */
void zc_request_forget_locks(struct zc_coord *coord, const uint64_t *session);

/* zc_request_rendezvous.c */
void zc_request_rendezvous(struct zc_request *r);
/* After a client is gone: withdraws its records. */
void zc_session_withdraw_all(struct zc_session *ss);

/* zc_server_info.c: make the document that an INFO asks for, into the session's `info`: its begin,
 * on the server's thread (false: no memory), its files, on the pool, and its end (`info` is NULL:
 * no memory). */
bool zc_server_info_begin(struct zc_request *r);
void zc_server_info_files(struct zc_request *r);
void zc_server_info_end(struct zc_request *r);
/* INFO about files, for a user other than the owner: names only files that the user's sessions have
 * open.  False: no memory. */
bool zc_server_info_mine(struct zc_request *r);

#endif
