/* zc_store_posix_internal.h - what the files of the posix store share.
 *
 * zc_store_posix.c             the store: its root and table; unlink and stat
 * zc_store_posix_path.c        names of files, confined to the root
 * zc_store_posix_file.c        a file: open, close, size, space, sync
 * zc_store_posix_io.c          its data
 * zc_store_posix_direct.c      direct I/O
 * zc_store_posix_ranges.c      small pieces written as one large write, locks against other writers
 * zc_store_posix_contended.c   writes of bytes on which a program holds a lock
 * zc_store_posix_merge.c       which files may have their pieces written so
 * zc_store_posix_stripe.c      which daemons have the blocks of a file; stripe size of a file
 * zc_store_posix_rendezvous.c  rendezvous records, for processes of one host and user
 */
#ifndef ZC_STORE_POSIX_INTERNAL_H
#define ZC_STORE_POSIX_INTERNAL_H

#include <sys/stat.h>

#include "zc_list.h"
#include "zc_lock.h"
#include "zc_lock_reach.h"
#include "zc_store_posix.h"

/* A file system, as identified by stat. */
struct posix_device {
    dev_t dev;
    bool trusted; /* its locks keep out all other writers */
    struct zc_lock_reach_info locks;
};

/* Immutable once created, except for atomics. */
struct posix_store {
    struct zc_store store;
    int root_fd;            /* -1: no confinement */
    char *given;            /* root as passed, without trailing slashes */
    char *resolved;         /* root without symbolic links */
    void (*ask)(void *arg); /* see zc_store_posix_ask_first(); or NULL */
    void *ask_arg;
    uint64_t who;  /* see zc_store_posix_mark_as() */
    bool unmarked; /* see zc_store_posix_mark_later() */
    bool direct;   /* see zc_store_posix_direct() */
    bool indirect; /* logged that a file system lacks direct I/O; atomic */
    bool swept;    /* stale rendezvous records were removed; atomic */
    bool apart;    /* logged that there is no place for records; atomic */
    /* zc_store_posix_merge.c */
    struct zc_lock lock; /* guards the rest */
    struct posix_device devices[8];
    unsigned ndevices;
    struct zc_list untrusted; /* files open for writing where locks are not trusted */
};

/* Whether writers that do not know each other use locks, see zc_store_posix_ranges.h.  Any thread
 * may move it on, from WAIT to TRY, and from both to NONE; never back. */
enum posix_locks {
    POSIX_LOCKS_WAIT, /* for locks of programs, too */
    POSIX_LOCKS_TRY,  /* bytes that a program has locked are written without */
    POSIX_LOCKS_NONE,
};

/* Immutable once open, except for atomics. */
struct posix_file {
    struct zc_sfile sfile;
    int fd;
    int direct_fd;  /* descriptor for direct I/O, or -1 ... */
    uint32_t align; /* ... with this alignment in bytes ... */
    bool undirect;  /* ... until refused; atomic */
    char *path;     /* for messages */
    bool exact;     /* as zc_attr.exact */
    bool known;     /* the file system runs one write at a time per file (`serialize`), and reports
                       holes (SEEK_DATA) */
    enum posix_locks locks; /* atomic */
    struct zc_lock serialize;
    /* zc_store_posix_merge.c */
    dev_t dev;
    ino_t ino;
    bool trusted;        /* locks keep out all other writers */
    bool sole;           /* no other writer; atomic, only ever cleared */
    struct zc_list link; /* posix_store.untrusted */
};

static inline struct posix_store *posix_store(struct zc_store *s)
{
    return (struct posix_store *)s;
}

/* Asks before a change of a file. */
static inline void posix_ask(struct zc_store *s)
{
    const struct posix_store *ps = posix_store(s);

    if (ps->ask)
        ps->ask(ps->ask_arg);
}

static inline struct posix_file *posix_file(struct zc_sfile *f)
{
    return (struct posix_file *)f;
}

/* ---- zc_store_posix.c ---- */
void zc_posix_attr(const struct stat *st, struct zc_attr *a);
/* Returns zc_attr.store_unit: the stripe size on Lustre, else the preferred I/O size. */
uint64_t zc_posix_store_unit(int fd, const struct stat *st);
int64_t zc_posix_born(int fd); /* zc_attr.born_ns */
/* These take the magic number of a file system (fstatfs()). */
bool zc_posix_exact(uint32_t magic);    /* zc_attr.exact */
bool zc_posix_is_known(uint32_t magic); /* posix_file.known: buffered writes take
                                           the inode's lock (i_rwsem) exclusively */

/* ---- zc_store_posix_path.c ---- */
/* Returns advice for `err` (positive errno): "; free space ...", or "". */
const char *zc_posix_remedy(int err);
/* Returns -err, explained by the operation, the path and advice. */
int zc_posix_explain(int err, const char *what, const char *path);
/* Returns -ESPIPE, explained: `is` is the type of the object, which cannot be served. */
int zc_posix_not_regular(const char *what, const char *path, const char *is);
/* The same for a failed zc_posix_open_path() or zc_posix_open_parent(). */
int zc_posix_path_error(const struct posix_store *ps, int err, const char *what, const char *path);
/* Opens a path of the store: a descriptor, -1 with errno; EXDEV: outside the root. */
int zc_posix_open_path(const struct posix_store *ps, const char *path, int flags, mode_t mode);
/* The directory above `path`, opened, and the last component; -1 with errno. */
int zc_posix_open_parent(const struct posix_store *ps, const char *path, const char **base);

/* ---- zc_store_posix_file.c: see zc_store_ops ---- */
int zc_posix_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                  struct zc_sfile **out, struct zc_attr *attr);
int zc_posix_descriptor(struct zc_sfile *sf);
int zc_posix_close(struct zc_sfile *sf, enum zc_level level);
int zc_posix_getattr(struct zc_sfile *sf, struct zc_attr *attr);
int zc_posix_truncate(struct zc_sfile *sf, uint64_t size);
int zc_posix_allocate(struct zc_sfile *sf, uint64_t off, uint64_t len);
int zc_posix_sync(struct zc_sfile *sf, enum zc_level level);

/* ---- zc_store_posix_io.c: see zc_store_ops ---- */
ssize_t zc_posix_preadv(struct zc_sfile *sf, const struct iovec *iov, int n, uint64_t off);
ssize_t zc_posix_pwritev(struct zc_sfile *sf, const struct iovec *iov, int n, uint64_t off);
ssize_t zc_posix_write_ranges(struct zc_sfile *sf, const char *data, const struct zc_range *r,
                              uint32_t n, uint64_t off, struct zc_merge *m);
enum posix_lock_result {
    POSIX_UNLOCKED, /* there are no locks here: to write without */
    POSIX_LOCKED,
    POSIX_CONTENDED, /* a program holds the lock: see zc_store_posix_contended.c */
};
/* One of these, or a negative errno: must not be written now. */
int zc_posix_lock(struct posix_file *f, uint64_t off, uint64_t len);

/* ---- zc_store_posix_contended.c ----
 * Return the number of bytes, or a negative errno without an explanation.  -EBUSY: others write the
 * same bytes all the time. */
struct zc_ranges_ask;
ssize_t zc_posix_write_contended(struct posix_file *f, const char *data, const struct zc_range *r,
                                 uint32_t n, uint64_t off, const struct zc_ranges_ask *ask);
ssize_t zc_posix_writev_contended(struct posix_file *f, const struct iovec *iov, size_t len,
                                  uint64_t off, const struct zc_ranges_ask *ask);

/* ---- zc_store_posix_merge.c ---- */
/* Registers a file that has just been opened.  `sole`: there is no other writer. */
void zc_posix_merge_open(struct posix_store *ps, struct posix_file *f, const struct stat *st,
                         bool writes, bool sole);
void zc_posix_merge_close(struct posix_store *ps, struct posix_file *f);
/* Whether scattered pieces may be written by read-modify-write now. */
bool zc_posix_merges(const struct posix_file *f);

/* ---- zc_store_posix_stripe.c ---- */
/* Fills in width and first in *attr for a file that has just been opened: as stored with the file,
 * or else as in `wish`, the attributes the opener asked for.  `created`: by this open. */
void zc_posix_stripe_open(const struct posix_file *f, unsigned flags, bool created,
                          const struct zc_attr *wish, struct zc_attr *attr);

/* ---- zc_store_posix_direct.c ---- */
/* Sets up direct I/O for a file that has just been opened; `st`: its attributes. */
void zc_posix_direct_open(struct posix_store *ps, struct posix_file *f, const struct stat *st);
void zc_posix_direct_close(struct posix_file *f);
/* Chooses the descriptor for the bytes from `off` on; may shorten the iovec and *n. */
int zc_posix_direct_aim(struct posix_file *f, struct iovec *iov, int *n, uint64_t off);
/* Handles a failed call on `fd`; true: to be repeated with the other descriptor. */
bool zc_posix_direct_refused(struct zc_store *s, struct posix_file *f, int fd, int err);

/* ---- zc_store_posix_rendezvous.c: see zc_store_ops ---- */
int zc_posix_rendezvous(struct zc_sfile *sf, const char *job, const void *record, size_t len,
                        uint64_t replaces, struct zc_publication **mine,
                        struct zc_rendezvous_record *theirs);
int zc_posix_withdraw(struct zc_publication *mine);

#endif
