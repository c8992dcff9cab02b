/* zc_store_remote_internal.h - what the files of the remote store share.
 *
 * zc_store_remote.c          the store: its table, and names
 * zc_store_remote_connect.c  finding daemons and connecting to all of them
 * zc_store_remote_file.c     a file: open, close, and what is asked of all daemons
 * zc_store_remote_io.c       its data, cut along blocks
 * zc_store_remote_taken.c    what of it is taken, and how far that is stored
 * zc_store_remote_meet.c     cards at it
 *
 * Everything here is fixed once a store, or a file, is there, but for what `lock` guards.
 */
#ifndef ZC_STORE_REMOTE_INTERNAL_H
#define ZC_STORE_REMOTE_INTERNAL_H

#include "zc_addrfile.h"
#include "zc_lock.h"
#include "zc_place.h"
#include "zc_store_remote.h"
#include "zc_watch.h"

struct remote {
    struct zc_store store;
    struct zc_net *net;
    char provider[sizeof((struct zc_addrfile *)0)->provider]; /* of the first daemon, when net is */
    struct zc_lock lock;                                      /* guards: */
    bool meeting;                /* a thread leaves a card or reads one, in pieces */
    zc_cond met;                 /* it has */
    struct zc_list files;        /* struct rfile */
    struct zc_watchers watchers; /* not by `lock`: they are told without it */
    uint32_t n;
    struct zc_client *clients[];
};

struct rfile {
    struct zc_sfile file;
    struct zc_place place;
    struct zc_list link;          /* remote.files */
    struct zc_progress *progress; /* by daemon; the store's lock guards it, and the link */
    uint64_t handles[];           /* by daemon */
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
/* For `n` daemons, without net and clients yet; NULL: no memory. */
struct remote *zc_remote_new(uint32_t n);
void zc_remote_destroy(struct zc_store *s); /* with the net and the clients that it has */

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
int zc_remote_taken_begin(struct rfile *f); /* 0 or -ENOMEM; before it is opened */
void zc_remote_taken_end(struct rfile *f);  /* it is closed, or could not be opened */
/* The epoch of a write that begins, and its numbers when it is over. */
uint64_t zc_remote_epoch(struct rfile *f, uint32_t daemon);
void zc_remote_took(struct rfile *f, uint32_t daemon, uint64_t epoch, const struct zc_io *io);
/* zc_client_stored_fn; `remote` is the store. */
void zc_remote_stored(void *remote, struct zc_client *c, uint64_t handle, uint64_t stored);
uint32_t zc_remote_server(const struct zc_sfile *sf, uint64_t off);
void zc_remote_progress(struct zc_sfile *sf, uint32_t server, struct zc_progress *out);
void zc_remote_watch(struct zc_store *s, struct zc_watch *w);
void zc_remote_unwatch(struct zc_store *s, struct zc_watch *w);

/* ---- zc_store_remote_meet.c: see zc_store_ops ---- */
int zc_remote_meet(struct zc_sfile *sf, const char *job, const void *card, size_t len,
                   uint64_t replaces, struct zc_seat **mine, struct zc_card *theirs);
int zc_remote_part(struct zc_seat *mine);

#endif
