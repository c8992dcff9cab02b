/* zc_store_remote_internal.h - what the files of the remote store share.
 *
 * zc_store_remote.c          the store: its table, and names
 * zc_store_remote_connect.c  finding a daemon, and connecting to it
 * zc_store_remote_server.c   the session with a daemon, and getting another: states are drawn there
 * zc_store_remote_file.c     a file: open, close, and what is asked of all daemons
 * zc_store_remote_reopen.c   a file at a daemon that is back
 * zc_store_remote_io.c       its data, cut along blocks
 * zc_store_remote_taken.c    what of it is taken, and how far that is stored
 * zc_store_remote_meet.c     cards at it
 * zc_store_remote_bypass.c   a file whose daemon is lost for good
 *
 * How a call is made: what needs a daemon takes the session there is (zc_remote_begin(), or
 * zc_remote_use() where it is not about an open file), which waits while there is none, and gives
 * it back with the outcome (zc_remote_end()), which says whether the call was made in vain, because
 * the session is over, and may be made again:
 *
 *     do {
 *         rc = zc_remote_begin(f, i, &use);
 *         if (rc == 0)
 *             rc = zc_client_...(use.client, use.handle, ...);
 *     } while (zc_remote_end(&use, rc));
 *
 * Where a file's daemon is bypassed there is no client but use.direct, of which the call is made
 * then.  Which calls may be is told in doc/PROTOCOL.md, "What is said again".
 *
 * Invariants
 *  1. A server has a session when it is up, and only then.
 *  2. A handle is used in the session it was opened in.
 *  3. A session is freed by its last user; the server is one, while it is up, and while it ends.
 *  4. What the server with another boot id is asked for a file comes after its epoch was raised.
 */
#ifndef ZC_STORE_REMOTE_INTERNAL_H
#define ZC_STORE_REMOTE_INTERNAL_H

#include "zc_addrfile.h"
#include "zc_list.h"
#include "zc_lock.h"
#include "zc_place.h"
#include "zc_store_remote.h"
#include "zc_watch.h"

struct remote;

/* A session with a daemon, all fixed but `users`, which the store's lock guards. */
struct session {
    struct zc_net *net; /* its endpoint; NULL: the store's */
    struct zc_client *client;
    uint64_t number; /* at its server, from 1 */
    uint64_t host;   /* a hash of the daemon's */
    long pid;        /* 0: not known */
    bool here;       /* it is a process of this host */
    unsigned users;
};

enum server_state { SERVER_NEW, SERVER_UP, SERVER_AWAY, SERVER_GONE };

struct server {
    struct remote *remote; /* fixed, as are these: */
    uint32_t index;
    const char *path;  /* of its address file; NULL: there is none, and it does not come back */
    uint64_t identity; /* in sets of daemons: what it was at first */
    pthread_t keeper;
    bool kept;       /* there is a keeper */
    uint64_t looked; /* the watch's: at the address file */

    enum server_state state; /* the store's lock guards all from here */
    struct session *session; /* when it is up */
    struct session *first;   /* that there may be, while it is new; it has no client yet */
    struct session *ending;  /* the one before, of a daemon that stops: says what it still stores */
    uint64_t sessions;       /* that there were */
    struct zc_past past;     /* the last one */
    uint64_t boot_id;        /* its daemon's, which is tried while it is new; as are these two */
    long pid;
    bool here;
    uint64_t shut_out; /* the daemon with this boot id writes nothing any more */
    uint64_t since;    /* it is away, or gone, or the first session is waited for */
    int rc;            /* why */
    char why[400];
    char tried[400]; /* what came of the last attempt to get another session */
};

struct remote {
    struct zc_store store;
    struct zc_net *net; /* of all clients; NULL: sessions have their own */
    bool local; /* fixed, as are these; processes of this host are reached without libfabric */
    zc_tp_open_fn *open_transport;
    char name[ZC_MAX_NAME];
    char **paths; /* of address files; NULL: none */
    uint64_t timeout_ns;
    uint64_t host; /* a hash of ours */
    pthread_t watch;
    bool watched;                /* there is one */
    struct zc_watchers watchers; /* who is told of new epochs; never while `lock` is held */

    struct zc_lock lock;     /* guards what follows, in servers, files and seats, too */
    zc_cond changed;         /* a server's state, or a turn is over */
    struct zc_store *direct; /* the file system, without daemons; NULL: nobody has asked for it */
    bool stop;               /* keepers end */
    bool meeting;            /* a thread leaves a card or reads one, in pieces */
    struct zc_list files;    /* struct rfile */
    struct zc_list seats;    /* cards of ours */
    uint32_t n;
    struct server servers[];
};

/* A file at one daemon. */
struct rhandle {
    uint64_t handle;
    uint64_t session; /* number of the session it is of; 0: of none */
    uint64_t boot_id; /* of the daemon that has taken what was written */
    uint64_t dev, ino, host;
    int64_t born_ns;             /* the file; 0: nobody knows */
    struct zc_progress progress; /* see zc_store.h */
    uint64_t written, safe;      /* bytes that it took, and how many of them are stored */
    uint64_t lost;               /* of those: with a daemon that has died */
    uint64_t unseen;             /* those of deaths that who asks for progress has not seen yet */
    bool bypassed;               /* whatever becomes of its daemon; it has no session */
    int status;                  /* it cannot be opened any more, because ... */
    char why[400];
};

struct rfile {
    struct zc_sfile file;
    struct zc_place place; /* fixed, as are these: */
    char *path;
    unsigned flags; /* to open it again */
    uint64_t stride;
    struct zc_sfile *direct; /* the file without its daemons; NULL: it is not to be had, because */
    char apart[400];         /* ... of this; empty: nobody has asked for it */
    bool closing;
    struct zc_list link; /* remote.files */
    unsigned kept;       /* keepers that look after it */
    bool reopening;      /* a thread does */
    struct rhandle at[]; /* by daemon */
};

/* A session, and a handle in it, while a call is made. */
struct use {
    struct remote *remote;
    uint32_t index;
    struct session *session; /* NULL: there is none */
    struct zc_client *client;
    uint64_t handle;
    struct zc_sfile *direct; /* the server is bypassed, and there is no session */
};

static inline struct remote *remote_of(struct zc_store *s)
{
    return (struct remote *)s;
}

static inline struct rfile *rfile_of(struct zc_sfile *f)
{
    return (struct rfile *)f;
}

/* ---- zc_store_remote.c ---- */
/* For `n` daemons, without sessions yet; NULL: no memory. */
struct remote *zc_remote_new(uint32_t n);
void zc_remote_destroy(struct zc_store *s);

/* ---- zc_store_remote_connect.c ---- */
/* A session with the daemon that the server's address file names now, in place of the one before,
 * if there was one.  0, or a negative errno, explained. */
int zc_remote_connect(struct server *sv, const struct zc_addrfile *a, bool local,
                      const struct zc_past *past, struct session **out);
/* What the address file says, and what can be said without waiting for a time-out. */
int zc_remote_find(const struct server *sv, struct zc_addrfile *a);
void zc_remote_session_free(struct session *s);

/* ---- zc_store_remote_server.c ---- */
/* The first session is waited for, with the daemon of that boot id, until zc_remote_tried(): when
 * another one is announced meanwhile its endpoint is given up. */
void zc_remote_trying(struct server *sv, struct session *s, uint64_t boot_id);
void zc_remote_tried(struct server *sv);
/* The first session; the keeper is started. */
int zc_remote_server_up(struct server *sv, struct session *s);
/* Somebody looks whether they are still there. */
int zc_remote_watch_start(struct remote *r);
void zc_remote_servers_stop(struct remote *r); /* keepers and the watch end, sessions are freed */
/* The session with a daemon, once there is one: waits for `zcache_timeout` after it went away. Else
 * the error is what happened to it. */
int zc_remote_use(struct remote *r, uint32_t i, struct use *use);
/* The same without waiting; false: there is none. */
bool zc_remote_use_now(struct remote *r, uint32_t i, struct use *use);
/* Gives it back, if there is one.  True: the call failed with rc because the session is over, and
 * the next zc_remote_use() finds another.  Keeps the explanation of rc. */
bool zc_remote_end(struct use *use, int rc);

/* ---- zc_store_remote_reopen.c ---- */
/* zc_remote_use() with the handle of an open file. */
int zc_remote_begin(struct rfile *f, uint32_t i, struct use *use);
/* Opens all files at a server that is back. */
void zc_remote_reopen_all(struct remote *r, uint32_t i);
/* Notes what was opened in a session; with the store's lock. */
void zc_remote_opened(struct rfile *f, const struct use *use, uint64_t handle,
                      const struct zc_attr *attr);
/* What was lost of the file with daemons that have died: 0, or an error that names it. */
int zc_remote_losses(struct rfile *f);
/* The daemon that took what was written is dead.  With the lock. */
void zc_remote_new_epoch(struct rfile *f, uint32_t i);
/* One thread at a time changes by what a server's part of the file is reached. */
void zc_remote_turn(struct rfile *f);
void zc_remote_turn_ends(struct rfile *f);
/* The next file after `f` (NULL: the first) that is not being closed, kept. */
struct rfile *zc_remote_next_file(struct remote *r, struct rfile *f);
/* The set of the file's daemons, of which one is asked. */
struct zc_set zc_remote_set(const struct remote *r, uint32_t index);

/* ---- zc_store_remote_file.c: see zc_store_ops ---- */
int zc_remote_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                   struct zc_sfile **out, struct zc_attr *attr);
int zc_remote_close(struct zc_sfile *sf, enum zc_level level);
int zc_remote_sync(struct zc_sfile *sf, enum zc_level level);
int zc_remote_backlog(struct zc_sfile *sf, uint64_t *bytes);
int zc_remote_refresh(struct zc_sfile *sf);
int zc_remote_truncate(struct zc_sfile *sf, uint64_t size);
int zc_remote_allocate(struct zc_sfile *sf, uint64_t off, uint64_t len);
int zc_remote_getattr(struct zc_sfile *sf, struct zc_attr *attr);

/* ---- zc_store_remote_io.c: see zc_store_ops ---- */
ssize_t zc_remote_preadv(struct zc_sfile *sf, const struct iovec *iov, int n, uint64_t off);
ssize_t zc_remote_pwritev(struct zc_sfile *sf, const struct iovec *iov, int n, uint64_t off);
ssize_t zc_remote_write_ranges(struct zc_sfile *sf, const char *data, const struct zc_range *r,
                               uint32_t n, uint64_t off);

/* ---- zc_store_remote_taken.c: see zc_store_ops, and: ---- */
/* A write is over, in that session; `bytes` were taken, with these numbers. */
void zc_remote_took(struct rfile *f, const struct use *use, uint64_t bytes, uint64_t taken,
                    uint64_t stored);
/* All that files have handed over in that session is stored; with the store's lock. */
bool zc_remote_all_stored(struct remote *r, uint32_t i, const struct session *s);
/* zc_client_stored_fn; `remote` is the store. */
void zc_remote_stored(void *remote, struct zc_client *c, uint64_t handle, uint64_t stored);
uint32_t zc_remote_server(const struct zc_sfile *sf, uint64_t off);
void zc_remote_progress(struct zc_sfile *sf, uint32_t server, struct zc_progress *out);
void zc_remote_watch(struct zc_store *s, struct zc_watch *w);
void zc_remote_unwatch(struct zc_store *s, struct zc_watch *w);

/* ---- zc_store_remote_bypass.c ---- */
/* The file has been opened, with these attributes: it is found without its daemons, too, or a
 * warning says why not. */
void zc_remote_look(struct rfile *f, const struct zc_attr *at_open);
/* There is no session with the server, for the reason `lost`: its part of the file goes there from
 * now on.  0: it does, or the server is there again; else `lost`, and why. */
int zc_remote_bypass(struct rfile *f, uint32_t i, int lost);
/* The same for all files that may be. */
void zc_remote_bypass_all(struct remote *r, uint32_t i);
/* It does; use->direct says where. */
bool zc_remote_bypassed(struct rfile *f, uint32_t i, struct use *use);
bool zc_remote_bypasses(struct rfile *f); /* any server */
/* A file that has been opened: what others who have it open here bypass it does, too, or they would
 * not see what each other write.  0, or -EBUSY: it cannot. */
int zc_remote_join_bypass(struct rfile *f);
/* A write there is over. */
void zc_remote_wrote(struct rfile *f, uint32_t i);
/* Deletes a file that is open here and bypasses the daemon that deletes; else `lost`. */
int zc_remote_unlink_direct(struct remote *r, const char *path, int lost);

/* ---- zc_store_remote_meet.c: see zc_store_ops ---- */
int zc_remote_meet(struct zc_sfile *sf, const char *job, const void *card, size_t len,
                   uint64_t replaces, struct zc_seat **mine, struct zc_card *theirs);
int zc_remote_part(struct zc_seat *mine);
/* Leaves again the cards that lay at a server that is back. */
void zc_remote_meet_again(struct remote *r, uint32_t i);
/* Those that nobody has taken back; the store ends, and its sessions have. */
void zc_remote_seats_free(struct remote *r);

#endif
