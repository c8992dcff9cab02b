/* zc_store.h - the seam below a cache: where pages are read from and written back to.
 *
 * Implementations: posix (a directory tree), remote (daemons, zc_store_remote.c),
 * memory (tests), fault (wraps another one and fails chosen calls).
 *
 * Where one process serves many users, open, unlink and stat are made as whom the thread works for
 * (zc_cred.h), by those implementations that reach files by name.
 *
 * All calls block until done and may be made from any thread, several at once on
 * one file.  They return 0 or a byte count, or a negative errno explained by
 * zc_errorf().  Offsets and lengths are bytes of the file.
 */
#ifndef ZC_STORE_H
#define ZC_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "zc_extent.h"
#include "zc_list.h"

/* How far data has come when a sync or close returns (doc/SEMANTICS.md). */
enum zc_level {
    ZC_LEVEL_VISIBLE, /* owner has it */
    ZC_LEVEL_STAGED,  /* survives the job: a daemon (or the file system) has it */
    ZC_LEVEL_STORED,  /* other programs see it in the file */
    ZC_LEVEL_DURABLE, /* fsync done */
};

enum {
    ZC_OPEN_READ = 1,
    ZC_OPEN_WRITE = 2,
    ZC_OPEN_CREATE = 4,
    ZC_OPEN_EXCL = 8,        /* with CREATE: fail with EEXIST when the file is there */
    ZC_OPEN_PLACED = 16,     /* the block size is decided: the store is to take it */
    ZC_OPEN_THROUGH = 32,    /* what is written has to be in the file system on return */
    ZC_OPEN_BYPASS = 64,     /* a server that is lost for good is done without, where that can be */
    ZC_OPEN_CHECKSUM = 1024, /* what moves to and from a server, or is cached, has checksums */
    ZC_OPEN_ALL = 127 | ZC_OPEN_CHECKSUM,
};

/* MiB; the unit of placement when nobody wishes another; zc_settings.c makes its text of it. */
#define ZC_DEFAULT_BLOCK_MIB 4

/* The daemons that serve a file, and which of them somebody asks.  Each owns the blocks that
 * zc_place.h gives it. */
struct zc_set {
    uint64_t id;           /* the same daemons in the same order; 0: nothing is said of them */
    uint32_t index, count; /* the one that is asked, from 0; how many there are */
};

/* What a store knows of a file; dev and ino say whether two opens met the same file. */
struct zc_attr {
    uint64_t size; /* bytes */
    uint64_t dev, ino;
    uint64_t nlink; /* 0: unlinked */
    int64_t mtime_ns, ctime_ns;
    int64_t born_ns;     /* open and stat: when it was made; 0: nobody knows */
    bool link;           /* stat: the name is a symbolic link, or nobody knows; the rest is of the
                            file */
    bool exact;          /* a later change shows in these times, however soon it comes */
    uint64_t block_size; /* unit of placement in bytes; 0: the store has no opinion */
    uint64_t stride;     /* open, on entry: the opener reads every so-manieth block; 0: all */
    struct zc_set set; /* zc_cache_open(), on entry: whom the opener asks besides, which a store is
                          told at its open; for the rest void */
};

struct zc_store;
struct zc_sfile; /* an open file of a store */

/* ---- meeting at a file ----
 *
 * Processes of one job that opened a file by communicators without a common member know nothing of
 * each other.  The first one leaves a card at the file, which says how to reach those who own its
 * pages; the others find it.  A card is known by the job and by device and inode of the file: under
 * every name of it, and not at a file that took the name since.
 *
 * A card is valid until who left it takes it back (zc_store_part()), is replaced, or is gone: the
 * process is dead, or the daemon has given up its session.  It outlives the zc_sfile it was
 * left through, because the group that it speaks of outlives the one who opened first.
 */
enum {
    ZC_MAX_CARD = 1 << 20, /* bytes; 1024 addresses of the longest kind and what names them */
    ZC_MAX_JOB = 255,      /* bytes of a job's name, without its NUL */
};

/* A card that somebody else left. */
struct zc_card {
    void *bytes; /* allocated, the caller's to free */
    size_t len;
    uint64_t number; /* of this card and no other one; never 0 */
};

/* A card of ours that lies at a file; the caller's until zc_store_part(). */
struct zc_seat {
    struct zc_store *store;
};

/* ---- stores that may lose what they have taken ----
 *
 * A daemon keeps in memory what a write has brought it, until it is in the file system.  When it
 * dies before, those bytes are gone although the write has returned: such a store is *lossy*
 * (zc_store.lossy), and who writes to it keeps a copy of what is taken and not stored.  For that
 * the store numbers what it takes, for each file and each server of it (zc_place.h), and tells
 * how far that is stored:
 *
 *     1. A write that began and returned while `epoch` was one and the same is taken, with a number
 *        not above what `taken` is when it has returned.  If the epoch changed meanwhile, nobody
 *        knows: it counts as not taken.
 *     2. All that was taken with numbers up to `stored` is stored, or was cut off, given up or
 *        deleted since.
 *     3. A sync at ZC_LEVEL_STORED or above that has worked, in one epoch, has stored what was
 *        taken when it began.
 *     4. A new epoch: the server that took them is dead, and all bytes with numbers above `stored`,
 *        as it was last, are lost there.  `taken` and `stored` begin again at 0.  It is to be
 *        seen here before any call to the server's successor returns.
 *
 * Posix and memory stores are not lossy: what is written is in the file.
 */
struct zc_progress {
    uint64_t epoch, taken, stored;
};

/* Somebody who wants to know when that changes: the caller's, until zc_store_unwatch(). */
struct zc_watch {
    void (*moved)(struct zc_watch *w); /* without locks, on any thread; must not block */
    struct zc_list link;               /* of the store, as the rest */
    unsigned calls;
};

struct zc_store_ops {
    const char *name; /* "posix", ... for messages */

    /* Opens `path`.  On failure nothing is left behind: no half-created file.
     * attr->block_size on entry is the block size wished for, on return the one in force. */
    int (*open)(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                struct zc_sfile **out, struct zc_attr *attr);
    /* Always frees `f`; the result says whether everything written had arrived
     * at `level` (a write may fail late, for instance over NFS).  -EOWNERDEAD: a server of a
     * lossy store has died, and lost what it had taken, since progress() was last asked for. */
    int (*close)(struct zc_sfile *f, enum zc_level level);

    /* Short only at the end of the file. */
    ssize_t (*preadv)(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off);
    /* All or an error; on an error any prefix may have been written. */
    ssize_t (*pwritev)(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off);

    /* Many pieces of a short stretch of the file in one call: bytes [r[i].lo, r[i].hi) of
     * `data`, which is what the stretch at `off` looks like in memory.  Ranges are sorted and
     * disjoint; no other byte of the file changes, even if others write them meanwhile.  All
     * bytes (their number) or an error; -EOPNOTSUPP: the caller is to write piece by piece.
     * NULL: as if that. */
    ssize_t (*write_ranges)(struct zc_sfile *f, const char *data, const struct zc_range *r,
                            uint32_t n, uint64_t off);

    int (*getattr)(struct zc_sfile *f, struct zc_attr *attr);
    /* -EREMOTEIO: the file has the new size, but not everybody who caches it has cut what he has;
     * any other error: as far as is known the file is as it was. */
    int (*truncate)(struct zc_sfile *f, uint64_t size);
    /* Reserves space and extends the size to at least off + len (MPI_File_preallocate).  The
     * caller writes nothing meanwhile: the store may have to write the last byte itself. */
    int (*allocate)(struct zc_sfile *f, uint64_t off, uint64_t len);
    int (*sync)(struct zc_sfile *f, enum zc_level level);
    /* Bytes of the file, whoever wrote them, that the store has taken and the file system
     * has not.  NULL: there are never any. */
    int (*backlog)(struct zc_sfile *f, uint64_t *bytes);

    /* NULL, both: nobody can be met through this store. */
    int (*meet)(struct zc_sfile *f, const char *job, const void *card, size_t len,
                uint64_t replaces, struct zc_seat **mine, struct zc_card *theirs);
    int (*part)(struct zc_seat *mine); /* always frees it */
    /* Others may have changed the file: whoever the store depends on looks.  NULL: nobody. */
    int (*refresh)(struct zc_sfile *f);

    /* A lossy store, all four; else NULL.  The first two may be called with locks held that stand
     * above ZC_ORDER_TURN, and do not block. */
    uint32_t (*server)(const struct zc_sfile *f, uint64_t off); /* of so many: zc_store.servers */
    void (*progress)(struct zc_sfile *f, uint32_t server, struct zc_progress *out);
    void (*watch)(struct zc_store *s, struct zc_watch *w);
    void (*unwatch)(struct zc_store *s, struct zc_watch *w);

    int (*unlink)(struct zc_store *s, const char *path);
    int (*stat)(struct zc_store *s, const char *path, struct zc_attr *attr);
    /* 0: whoever the store depends on is there.  NULL: it depends on nobody. */
    int (*ping)(struct zc_store *s);

    void (*destroy)(struct zc_store *s); /* no file may be open */
};

/* Every implementation embeds these as its first member. */
struct zc_store {
    const struct zc_store_ops *ops;
    uint32_t servers; /* blocks are spread over so many daemons; 0: there is none */
    bool remembers;   /* what it could not keep, and says so whenever it is asked (daemons) */
    bool lossy;       /* what it has taken may be lost before it is stored: see zc_progress */
    bool names_bytes; /* it explains which bytes an error is about, and which file if it knows */
};
struct zc_sfile {
    struct zc_store *store;
};

/* The calls, through the table above: without any lock held (zc_lock.h), for a store may block, and
 * traced.  What they return and need is told there. */
int zc_store_open_file(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                       struct zc_sfile **out, struct zc_attr *attr);
int zc_store_close_file(struct zc_sfile *f, enum zc_level level);
ssize_t zc_store_preadv(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off);
ssize_t zc_store_pwritev(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off);
bool zc_store_writes_ranges(const struct zc_store *s);
ssize_t zc_store_write_ranges(struct zc_sfile *f, const char *data, const struct zc_range *r,
                              uint32_t n, uint64_t off);
int zc_store_getattr(struct zc_sfile *f, struct zc_attr *attr);
int zc_store_truncate(struct zc_sfile *f, uint64_t size);
int zc_store_allocate(struct zc_sfile *f, uint64_t off, uint64_t len);
int zc_store_sync(struct zc_sfile *f, enum zc_level level);
bool zc_store_has_backlog(const struct zc_store *s);
int zc_store_backlog(struct zc_sfile *f, uint64_t *bytes);
/* Leaves a card at the file, or finds the one that is there, in one step: of all who come at a
 * time exactly one has *mine afterwards, all others his card in *theirs; the other output is NULL
 * (theirs->bytes).  Who leaves a card has to be ready for those who find it before this returns.
 *
 * `replaces` is 0, or the number of a card that was found and whose owner did not answer: if that
 * very card still lies there, ours takes its place; if another one does, that is found.  So who
 * cannot reach an owner calls again with the number, until it has a card of its own or one whose
 * owner answers; a dead process blocks nobody.
 *
 * 0, or: -EOPNOTSUPP, nobody can be met here: a store without cards, or no place for them on this
 * host, which the store has warned of;
 * -EINVAL, -EMSGSIZE: job or card empty or too long; -EDQUOT: this process has left too many;
 * else what the store says.  On an error no card of ours lies there. */
int zc_store_meet(struct zc_sfile *f, const char *job, const void *card, size_t len,
                  uint64_t replaces, struct zc_seat **mine, struct zc_card *theirs);
/* Takes the card back, and frees `mine` whatever it returns; not an error when it was replaced.
 * Before the store is destroyed, which cards at daemons do not outlive; the file may be closed.
 * NULL: nothing. */
int zc_store_part(struct zc_seat *mine);
int zc_store_refresh(struct zc_sfile *f);

static inline bool zc_store_lossy(const struct zc_store *s)
{
    return s->lossy;
}
/* Which server takes the byte at `off` (arithmetic), and what it has taken and stored of the file:
 * both also with locks held that stand above the store's. */
uint32_t zc_store_server(const struct zc_sfile *f, uint64_t off);
void zc_store_progress(struct zc_sfile *f, uint32_t server, struct zc_progress *out);
/* w->moved() is called after any progress of any file, until unwatch() has returned, which waits
 * for calls under way. */
void zc_store_watch(struct zc_store *s, struct zc_watch *w);
void zc_store_unwatch(struct zc_store *s, struct zc_watch *w);

int zc_store_unlink(struct zc_store *s, const char *path);
int zc_store_stat(struct zc_store *s, const char *path, struct zc_attr *attr);
int zc_store_ping(struct zc_store *s);
void zc_store_destroy(struct zc_store *s); /* NULL: nothing */

#endif
