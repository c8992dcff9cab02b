/* zc_store_remote_internal.h - what the files of the remote store share.
 *
 * zc_store_remote.c          the store: its table, and names
 * zc_store_remote_connect.c  finding a daemon, and connecting to it
 * zc_store_remote_server.c   the session with a daemon, and getting another: states are drawn there
 * zc_store_remote_file.c     a file: open, close, and requests to all daemons
 * zc_store_remote_reopen.c   a file at a daemon that is back
 * zc_store_remote_io.c       its data, cut along blocks
 * zc_store_remote_commit.c   which writes of it are accepted, and which are stored
 * zc_store_remote_rendezvous.c  rendezvous records at it
 * zc_store_remote_steps.c    steps of it
 * zc_store_remote_bypass.c   a file whose daemon is lost for good
 *
 * A call to a daemon takes the session (zc_remote_file_get(), or zc_remote_get() if no open file is
 * concerned), which waits while there is none, and gives it back with the result (zc_remote_put()),
 * which returns true if the call failed because the session is over, and may be repeated:
 *
 *     do {
 *         rc = zc_remote_file_get(f, i, &use);
 *         if (rc == 0)
 *             rc = zc_client_...(use.client, use.handle, ...);
 *     } while (zc_remote_put(&use, rc));
 *
 * Where a file's daemon is bypassed there is no client but use.here, the direct file, on which the
 * call is made then.  zc_stripe_call() has this loop.  Which calls may be repeated is said in
 * doc/PROTOCOL.md, "What is said again".
 *
 * Invariants
 *  1. A server has a session when it is up, and only then.
 *  2. A handle is used only in the session it was opened in.
 *  3. A session is freed by its last user; the server is one, while it is up, and while it ends.
 *  4. A file sends requests to a server with another boot id only after its epoch was raised.
 */
#ifndef ZC_STORE_REMOTE_INTERNAL_H
#define ZC_STORE_REMOTE_INTERNAL_H

#include "zc_addrfile.h"
#include "zc_connect.h"
#include "zc_error.h"
#include "zc_list.h"
#include "zc_lock.h"
#include "zc_store_remote.h"
#include "zc_stripe_ask.h"
#include "zc_watch.h"

struct remote;

/* A session with a daemon, all fixed but `users`, which the store's lock guards. */
struct session {
    struct zc_client *client;
    uint64_t number; /* at its server, from 1 */
    uint64_t host;   /* a hash of the daemon's */
    long pid;        /* 0: not known */
    bool here;       /* `pid` counts here (zc_addrfile_pid_counts()) */
    unsigned users;
};

enum server_state { SERVER_NEW, SERVER_UP, SERVER_DISCONNECTED, SERVER_FAILED };

struct server {
    struct remote *remote; /* fixed, as are these: */
    uint32_t index;
    const char *path;  /* of its address file; NULL: there is none, and it does not come back */
    uint64_t identity; /* in sets of daemons: what it was at first */
    pthread_t reconnector;
    bool kept;       /* there is a keeper */
    uint64_t looked; /* the watch's: at the address file */

    enum server_state state; /* the store's lock guards all from here */
    struct session *session; /* when it is up */
    struct zc_net *first;    /* endpoint of the first session, while that is waited for ... */
    unsigned first_users;    /* ... and how many threads use it */
    struct session *ending;  /* the one before, of a daemon that stops: says what it still stores */
    uint64_t sessions;       /* that there were */
    struct zc_past past;     /* the last one */
    uint64_t boot_id;        /* its daemon's, which is tried while it is new; as are these two */
    long pid;
    bool here;
    uint64_t shut_out;     /* the daemon with this boot id writes nothing any more */
    uint64_t since;        /* it is away, or gone, or the first session is waited for */
    struct zc_error error; /* why */
    struct zc_error tried; /* what came of the last attempt to get another session */
};

struct remote {
    struct zc_store store;
    struct zc_net *net; /* of all clients; NULL: sessions have their own */
    bool local; /* fixed, as are these; processes of this host are reached without libfabric */
    zc_tp_open_fn *open_transport;
    char name[ZC_MAX_NAME];
    char **paths;      /* of address files; NULL: none */
    const int *ending; /* zc_store_remote_bypass_at_end(); or NULL */
    uint64_t timeout_ns;
    uint64_t host; /* a hash of ours */
    pthread_t watch;
    bool watched;                /* there is one */
    struct zc_watchers watchers; /* called on a new verifier; never with `lock` held */

    struct zc_lock lock;         /* guards what follows, in servers, files and seats, too */
    zc_cond changed;             /* a server's state, or a turn is over */
    struct zc_store *direct;     /* the file system, without daemons; NULL: not used yet */
    bool stop;                   /* reconnectors end */
    bool publishing;             /* a thread publishes or reads a record, in pieces */
    struct zc_list files;        /* struct rfile */
    struct zc_list publications; /* records that this process published */
    uint32_t n;
    struct server servers[];
};

/* A file at one daemon. */
struct rhandle {
    uint64_t handle;
    uint64_t session; /* number of the session it is of; 0: of none */
    uint64_t boot_id; /* of the daemon that has taken what was written */
    uint64_t dev, ino, host;
    int64_t born_ns;             /* of the file; 0: unknown */
    struct zc_progress progress; /* see zc_store.h */
    uint64_t written, safe;      /* bytes that it took, and how many of them are stored */
    uint64_t lost;               /* of those: with a daemon that has died */
    uint64_t unseen;             /* those lost since progress was asked last */
    bool bypassed;               /* whatever becomes of its daemon; it has no session */
    struct zc_error error;       /* why it cannot be opened any more */
};

struct rfile {
    struct zc_sfile file;
    struct zc_stripe place; /* fixed, as are these: */
    char *path;
    unsigned flags; /* to open it again */
    uint64_t stride;
    uint64_t step;           /* the step that is read, 0: none; guarded by remote.lock */
    bool begun;              /* it writes steps, and has begun; guarded by it, too */
    struct zc_sfile *direct; /* the file without its daemons; NULL: it is not to be had, because */
    struct zc_error apart;   /* ... of this; 0: not tried yet */
    bool may_bypass;         /* opened with ZC_OPEN_BYPASS */
    bool closing;
    struct zc_list link; /* remote.files */
    unsigned kept;       /* reconnectors that use it */
    bool reopening;      /* a thread does */
    struct rhandle at[]; /* by daemon */
};

static inline struct remote *remote_of(struct zc_store *s)
{
    return (struct remote *)s;
}

static inline struct rfile *rfile_of(struct zc_sfile *f)
{
    return (struct rfile *)f;
}

static inline bool zc_remote_ending(const struct remote *r)
{
    return r->ending && __atomic_load_n(r->ending, __ATOMIC_ACQUIRE);
}

/* ---- zc_store_remote.c ---- */
/* For `n` daemons, without sessions yet; NULL: no memory. */
struct remote *zc_remote_new(uint32_t n);
void zc_remote_destroy(struct zc_store *s);

/* ---- zc_store_remote_connect.c ---- */
/* A session with the daemon that the server's address file names now, in place of the one before,
 * if there was one.  0, or a negative errno, explained. */
int zc_remote_connect(struct server *sv, const struct zc_addrfile *a, const struct zc_past *past,
                      struct session **out);
/* What the address file says, and what can be said without waiting for a time-out. */
int zc_remote_find(const struct server *sv, struct zc_addrfile *a);
void zc_remote_session_free(struct session *s);

/* ---- zc_store_remote_server.c ---- */
/* Notes the endpoint through which the first session is waited for.  The endpoint is given up if
 * another daemon is announced before that; NULL: the wait is over (zc_connect.trying). */
void zc_remote_trying(void *server, struct zc_net *net);
/* Takes the first session, and starts the reconnector. */
int zc_remote_server_up(struct server *sv, struct session *s);
/* Starts the thread that checks whether the daemons still run. */
int zc_remote_watch_start(struct remote *r);
void zc_remote_servers_stop(struct remote *r); /* ends reconnectors and the watch, frees sessions */
/* Gets the session with a daemon.  Waits for one, until `zcache_timeout` after the last one went
 * away; then the error is what happened to that. */
int zc_remote_get(struct remote *r, uint32_t i, struct zc_stripe_use *use);
/* Gets the session with a daemon, without waiting; false: there is no session. */
bool zc_remote_try_get(struct remote *r, uint32_t i, struct zc_stripe_use *use);
/* Gives it back, if there is one.  True: the call failed with rc because the session is over, and
 * the next zc_remote_get() finds another.  Keeps the explanation of rc. */
bool zc_remote_put(struct zc_stripe_use *use, int rc);

/* ---- zc_store_remote_reopen.c ---- */
/* zc_remote_get() with the handle of an open file. */
int zc_remote_file_get(struct rfile *f, uint32_t i, struct zc_stripe_use *use);
/* Opens all files at a server that is back. */
void zc_remote_reopen_all(struct remote *r, uint32_t i);
/* Notes what was opened in a session; with the store's lock. */
void zc_remote_opened(struct rfile *f, const struct zc_stripe_use *use, uint64_t handle,
                      const struct zc_attr *attr);
/* Closes it at a server, if it is still open there; a failure does not matter. */
void zc_remote_let_go(struct rfile *f, uint32_t i);
/* What was lost of the file with daemons that have died: 0, or an error that names it. */
int zc_remote_losses(struct rfile *f);
/* The daemon that took what was written is dead.  With the lock. */
void zc_remote_new_verifier(struct rfile *f, uint32_t i);
/* One thread at a time changes by what a server's part of the file is reached. */
void zc_rfile_lock(struct rfile *f);
void zc_rfile_unlock(struct rfile *f);
/* The next file after `f` (NULL: the first) that is not being closed, kept. */
struct rfile *zc_remote_next_file(struct remote *r, struct rfile *f);
/* The set of the file's daemons, of which one is asked. */
struct zc_set zc_remote_set(const struct remote *r, uint32_t index);

/* ---- zc_store_remote.c: see zc_store_ops ---- */
int zc_remote_unlink(struct zc_store *s, const char *path);
int zc_remote_stat(struct zc_store *s, const char *path, struct zc_attr *attr);

/* ---- zc_store_remote_names.c: calls of zc_store_ops, repeated by the name without links ---- */
int zc_remote_open_named(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                         struct zc_sfile **out, struct zc_attr *attr);
int zc_remote_stat_named(struct zc_store *s, const char *path, struct zc_attr *attr);
int zc_remote_unlink_named(struct zc_store *s, const char *path);

/* ---- zc_store_remote_file.c: see zc_store_ops ---- */
int zc_remote_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                   struct zc_sfile **out, struct zc_attr *attr);
int zc_remote_close(struct zc_sfile *sf, enum zc_level level);
int zc_remote_sync(struct zc_sfile *sf, enum zc_level level);
/* Returns how many accepted bytes of the file, of all writers, are not in the file system yet. */
int zc_remote_backlog(struct zc_sfile *sf, uint64_t *bytes);
int zc_remote_refresh(struct zc_sfile *sf);
int zc_remote_truncate(struct zc_sfile *sf, uint64_t size);
int zc_remote_allocate(struct zc_sfile *sf, uint64_t off, uint64_t len);
int zc_remote_getattr(struct zc_sfile *sf, struct zc_attr *attr);
/* Returns the file for zc_stripe_ask.h and zc_stripe_part.h. */
struct zc_stripe_file zc_remote_striped(struct rfile *f);

/* ---- zc_store_remote_steps.c: see zc_store_ops ---- */
int zc_remote_step(struct zc_sfile *sf, struct zc_step_request *q);
/* Called after the file was opened again in another session: reads the same step there, if
 * possible. */
void zc_remote_step_again(struct rfile *f, struct zc_client *c, uint64_t handle);

/* ---- zc_store_remote_io.c: see zc_store_ops ---- */
ssize_t zc_remote_preadv(struct zc_sfile *sf, const struct iovec *iov, int n, uint64_t off);
ssize_t zc_remote_pwritev(struct zc_sfile *sf, const struct iovec *iov, int n, uint64_t off);
ssize_t zc_remote_write_ranges(struct zc_sfile *sf, const char *data, const struct zc_range *r,
                               uint32_t n, uint64_t off, struct zc_merge *m);

/* ---- zc_store_remote_commit.c: see zc_store_ops, and: ---- */
/* A write is over, in that session; `bytes` were taken, with these numbers. */
void zc_remote_took(struct rfile *f, const struct zc_stripe_use *use, uint64_t bytes,
                    uint64_t taken, uint64_t stored);
/* All that files have handed over in that session is stored; with the store's lock. */
bool zc_remote_all_committed(struct remote *r, uint32_t i, const struct session *s);
/* zc_client_committed_fn; `remote` is the store. */
void zc_remote_committed(void *remote, struct zc_client *c, uint64_t handle, uint64_t stored);
uint32_t zc_remote_server(const struct zc_sfile *sf, uint64_t off);
void zc_remote_progress(struct zc_sfile *sf, uint32_t server, struct zc_progress *out);
void zc_remote_watch(struct zc_store *s, struct zc_watch *w);
void zc_remote_unwatch(struct zc_store *s, struct zc_watch *w);

/* ---- zc_store_remote_bypass.c ---- */
/* The file has been opened, with these attributes: it is found without its daemons, too, or a
 * warning says why not. */
void zc_remote_find_direct(struct rfile *f, const struct zc_attr *at_open);
/* Bypasses server i, with which there is no session for the reason `lost`: from now on the direct
 * file is used for its part of the file.  0: done, or the server is back; else `lost`, and why. */
int zc_remote_bypass(struct rfile *f, uint32_t i, int lost);
/* Bypasses server i for all open files that may be bypassed.  A failure is reported by the next
 * call for that file. */
void zc_remote_bypass_all(struct remote *r, uint32_t i);
/* True: it is bypassed; use->here is the direct file. */
bool zc_remote_bypassed(struct rfile *f, uint32_t i, struct zc_stripe_use *use);
bool zc_remote_bypasses(struct rfile *f); /* any server */
/* Makes a newly opened file bypass the same servers as other opens of it in this process, or they
 * would not see each other's writes.  0, or -EBUSY: it cannot. */
int zc_remote_join_bypass(struct rfile *f);
/* The process of the server's daemon has ended, which is known as it ran on this host.  With the
 * lock. */
bool zc_remote_is_dead(const struct server *sv);
/* Notes that a write to a bypassed server's blocks has ended: it is stored. */
void zc_remote_wrote(struct rfile *f, uint32_t i);
/* Deletes a file that is open here and bypasses the daemon that deletes; else `lost`. */
int zc_remote_unlink_direct(struct remote *r, const char *path, int lost);

/* ---- zc_store_remote_rendezvous.c: see zc_store_ops ---- */
int zc_remote_rendezvous(struct zc_sfile *sf, const char *job, const void *record, size_t len,
                         uint64_t replaces, struct zc_publication **mine,
                         struct zc_rendezvous_record *theirs);
int zc_remote_withdraw(struct zc_publication *mine);
/* Publishes again the records at a server that is back. */
void zc_remote_republish(struct remote *r, uint32_t i);
/* Frees records that were not withdrawn; the store ends, its sessions have ended. */
void zc_remote_publications_free(struct remote *r);

#endif
