/* zc_store_posix_internal.h - what the files of the posix store share.
 *
 * zc_store_posix.c         the store: its root and table; unlink and stat
 * zc_store_posix_path.c    names of files, and what keeps them below the root
 * zc_store_posix_file.c    a file: open, close, size, space, sync
 * zc_store_posix_io.c      its data
 * zc_store_posix_direct.c  what goes past the page cache
 * zc_store_posix_ranges.c  many small pieces as one large one, and locks against other writers
 * zc_store_posix_cards.c   cards at files, for processes of one host and user
 */
#ifndef ZC_STORE_POSIX_INTERNAL_H
#define ZC_STORE_POSIX_INTERNAL_H

#include <sys/stat.h>

#include "zc_lock.h"
#include "zc_store_posix.h"

/* Fixed once it is created, but for what is atomic. */
struct posix_store {
    struct zc_store store;
    int root_fd;            /* -1: no confinement */
    char *given;            /* root as given, without trailing slashes */
    char *resolved;         /* root without symbolic links */
    void (*ask)(void *arg); /* see zc_store_posix_ask_first(); or NULL */
    void *ask_arg;
    bool direct;   /* zc_store_posix_direct() */
    bool indirect; /* somebody was told that a file system cannot; atomic */
    bool swept;    /* cards of dead processes were looked for; atomic */
    bool apart;    /* somebody was told that there is no place for cards; atomic */
};

/* Fixed once it is open, but for what is atomic. */
struct posix_file {
    struct zc_sfile sfile;
    int fd;
    int direct_fd;  /* the same file for direct I/O, or -1 ... */
    uint32_t align; /* ... of multiples of so many bytes ... */
    bool undirect;  /* ... until that was refused; atomic */
    char *path;     /* for messages */
    bool exact;     /* as zc_attr.exact */
    bool locks;     /* keep writers that do not know each other out of each other's way, see
                     * zc_store_posix_ranges.h; atomic: any thread may give that up */
    bool impatient; /* what a program has locked is not waited for any more; atomic */
    bool turns;     /* its file system lets one write at a time at a file: `turn` */
    struct zc_lock turn;
};

static inline struct posix_store *posix_store(struct zc_store *s)
{
    return (struct posix_store *)s;
}

/* A file is about to be changed. */
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
int64_t zc_posix_born(int fd); /* zc_attr.born_ns */
bool zc_posix_exact(int fd);   /* zc_attr.exact of its file system */
bool zc_posix_turns(int fd);   /* posix_file.turns of it */

/* ---- zc_store_posix_path.c ---- */
/* What may help against `err` (positive errno): "; free space ...", or "". */
const char *zc_posix_remedy(int err);
/* -err, explained: what failed, with which path, and what may help. */
int zc_posix_explain(int err, const char *what, const char *path);
/* The same for a failed zc_posix_open_path() or zc_posix_open_parent(). */
int zc_posix_path_error(const struct posix_store *ps, int err, const char *what, const char *path);
/* Opens a path of the store: a descriptor, -1 with errno; EXDEV: outside the root. */
int zc_posix_open_path(const struct posix_store *ps, const char *path, int flags, mode_t mode);
/* The directory above `path`, opened, and the last component; -1 with errno. */
int zc_posix_open_parent(const struct posix_store *ps, const char *path, const char **base);

/* ---- zc_store_posix_file.c: see zc_store_ops ---- */
int zc_posix_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                  struct zc_sfile **out, struct zc_attr *attr);
int zc_posix_close(struct zc_sfile *sf, enum zc_level level);
int zc_posix_getattr(struct zc_sfile *sf, struct zc_attr *attr);
int zc_posix_truncate(struct zc_sfile *sf, uint64_t size);
int zc_posix_allocate(struct zc_sfile *sf, uint64_t off, uint64_t len);
int zc_posix_sync(struct zc_sfile *sf, enum zc_level level);

/* ---- zc_store_posix_io.c: see zc_store_ops ---- */
ssize_t zc_posix_preadv(struct zc_sfile *sf, const struct iovec *iov, int n, uint64_t off);
ssize_t zc_posix_pwritev(struct zc_sfile *sf, const struct iovec *iov, int n, uint64_t off);
ssize_t zc_posix_write_ranges(struct zc_sfile *sf, const char *data, const struct zc_range *r,
                              uint32_t n, uint64_t off);
/* 1: locked; 0: to be written without; or a negative errno: not to be written now. */
int zc_posix_lock(struct posix_file *f, uint64_t off, uint64_t len);

/* ---- zc_store_posix_direct.c ---- */
/* A file that has just been opened; `st` is what it is. */
void zc_posix_direct_open(struct posix_store *ps, struct posix_file *f, const struct stat *st);
void zc_posix_direct_close(struct posix_file *f);
/* The descriptor for bytes from `off` on, whose memory is *n entries; both may become fewer. */
int zc_posix_direct_aim(struct posix_file *f, struct iovec *iov, int *n, uint64_t off);
/* A call with `fd` has failed; true: it is to be made again, the other way. */
bool zc_posix_direct_refused(struct zc_store *s, struct posix_file *f, int fd, int err);

/* ---- zc_store_posix_cards.c: see zc_store_ops ---- */
int zc_posix_meet(struct zc_sfile *sf, const char *job, const void *card, size_t len,
                  uint64_t replaces, struct zc_seat **mine, struct zc_card *theirs);
int zc_posix_part(struct zc_seat *mine);

#endif
