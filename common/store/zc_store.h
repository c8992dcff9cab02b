/* zc_store.h - the interface below a cache: pages are read from and written back to a store.
 *
 * Implementations: posix (a directory tree), remote (daemons, zc_store_remote.c), memory (tests),
 * fault (wraps another store and makes chosen calls fail).
 *
 * Where one process serves many users, stores that reach files by name make open, unlink and stat
 * as the thread's user (zc_cred.h).
 *
 * All calls block until done and may be made from any thread, concurrently on one file.  They
 * return 0 or a byte count, or a negative errno explained by zc_errorf().  Offsets and lengths are
 * in bytes of the file.
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
    ZC_LEVEL_VISIBLE, /* at the owner */
    ZC_LEVEL_STAGED,  /* survives the job: with a daemon or in the file system */
    ZC_LEVEL_STORED,  /* in the file, seen by other programs */
    ZC_LEVEL_DURABLE, /* fsync done */
};

enum {
    ZC_OPEN_READ = 1,
    ZC_OPEN_WRITE = 2,
    ZC_OPEN_CREATE = 4,
    ZC_OPEN_EXCL = 8, /* with CREATE: fail with EEXIST if the file exists */
    ZC_OPEN_PLACED =
        16, /* block size, width and first are decided, and the store has to use them */
    ZC_OPEN_THROUGH = 32,    /* writes are in the file system when they return */
    ZC_OPEN_BYPASS = 64,     /* go on without a failed server where possible */
    ZC_OPEN_CHECKSUM = 1024, /* checksums on transfers to and from servers and on cached pages */
    ZC_OPEN_SOLE = 2048,     /* no process outside the job writes the file while it is open */
    ZC_OPEN_FRESH = 4096,    /* a cache discards its clean pages of the file */
    ZC_OPEN_STEPS = 8192,    /* the writer publishes steps, see zc_store_step() */
    ZC_OPEN_STEP_READER = 16384, /* reads published steps only */
    ZC_OPEN_STEPS_BEGUN = 32768, /* with STEPS: they had begun before this open was repeated */
    ZC_OPEN_ALL = 127 | ZC_OPEN_CHECKSUM | ZC_OPEN_SOLE | ZC_OPEN_FRESH | ZC_OPEN_STEPS |
                  ZC_OPEN_STEP_READER | ZC_OPEN_STEPS_BEGUN,
};

/* MiB; the unit of placement unless a hint says otherwise; printed by zc_settings.c. */
#define ZC_DEFAULT_BLOCK_MIB 4

/* zc_attr.first: the store chooses, and spreads files over its servers. */
#define ZC_FIRST_ANY UINT32_MAX

/* The daemons that serve a file, and the one that is addressed.  Each owns the blocks that
 * zc_stripe.h assigns to it.  With id 0 and a count: aggregators. */
struct zc_set {
    uint64_t id;           /* identifies the daemons and their order; 0: unknown */
    uint32_t index, count; /* the daemon addressed, from 0; number of daemons */
};

/* Attributes of a file; two opens with the same dev and ino have the same file. */
struct zc_attr {
    uint64_t size; /* bytes */
    uint64_t dev, ino;
    uint64_t nlink; /* 0: unlinked */
    int64_t mtime_ns, ctime_ns;
    int64_t born_ns; /* open and stat: birth time; 0: unknown */
    bool created;    /* open: it has created the file, and not through a symbolic link */
    bool link;       /* stat: the name is, or may be, a symbolic link; the rest is of its target */
    bool exact;      /* every later change shows in these times, however soon it comes */
    bool merges; /* open: bytes between dirty pieces may be rewritten as read, since locks keep out
                    other writers or there are none; a later open may end that, see write_ranges */
    uint64_t block_size; /* unit of placement in bytes; 0: no preference of the store */
    uint32_t width;      /* servers that own blocks; 0: all */
    uint32_t first;      /* the first of them, modulo their number; or ZC_FIRST_ANY */
    uint64_t store_unit; /* open: stripe size of the file in its file system, or preferred I/O size;
                            bytes, 0: unknown */
    uint64_t stride;     /* open, on entry: the opener reads every n-th block; 0: all */
    uint64_t mark; /* open for writing: writer mark in the root record; on entry 0: chosen by the
                      store */
    struct zc_set set; /* zc_cache_open(), on entry: the daemons of the opener, passed to the store;
                          else unused */
};

struct zc_store;
struct zc_sfile; /* an open file of a store */

/* ---- rendezvous at a file ----
 *
 * Processes of one job that opened a file by communicators without a common member do not know each
 * other.  The first one publishes a record at the file, with the addresses of the owners of its
 * pages; the others find it.  The key of a record is the job and the device and inode of the file,
 * so it is found under every name of the file, and not at a file that has taken the name since.
 *
 * A record is valid until its publisher withdraws it (zc_store_withdraw()), it is replaced, or its
 * publisher is gone: the process is dead, or the daemon has ended its session.  It outlives the
 * zc_sfile it was published through, because the owner set it describes outlives the first open.
 */
enum {
    ZC_MAX_RECORD = 1 << 20, /* bytes; room for 1024 addresses of the longest kind */
    ZC_MAX_JOB = 255,        /* bytes of a job's name, without NUL */
};

/* A record that another process has published. */
struct zc_rendezvous_record {
    void *bytes; /* allocated; the caller frees it */
    size_t len;
    uint64_t number; /* unique to this record; never 0 */
};

/* A record of this process at a file; freed by zc_store_withdraw(). */
struct zc_publication {
    struct zc_store *store;
};

/* ---- lossy stores ----
 *
 * A daemon keeps written bytes in memory until they are in the file system.  If it dies before,
 * bytes of completed writes are lost: such a store is *lossy* (zc_store.lossy), and its writers
 * keep a copy of unstable bytes.  For this the store numbers the writes it accepts, per file and
 * per server of the file (zc_stripe.h), and reports which are committed:
 *
 *     1. A write that began and returned under one `verifier` is accepted, with a number not above
 *        `unstable_seq` at its return.  If the verifier changed meanwhile, it counts as not
 *        accepted.
 *     2. All writes with numbers up to `committed_seq` have since been stored, truncated away,
 *        discarded, or deleted with the file.
 *     3. A successful sync at ZC_LEVEL_STORED or above under one verifier has stored the writes
 *        that were accepted before it began.
 *     4. A new verifier: the server that accepted them is dead, and it has lost all bytes with
 *        numbers above its last `committed_seq`.  Both numbers start at 0 again.  The new verifier
 *        is visible here before any call to the new server returns.
 *
 * Posix and memory stores are not lossy: written bytes are in the file.
 */
struct zc_progress {
    uint64_t verifier, unstable_seq, committed_seq;
};

/* Callback for changes of that state; owned by the caller, in use until zc_store_unwatch(). */
struct zc_watch {
    void (*moved)(struct zc_watch *w); /* on any thread, without locks held; must not block */
    struct zc_list link;               /* private to the store, as is the rest */
    unsigned calls;
};

/* What a write of ranges by read-modify-write has read.  All zero if the store did not do that, or
 * failed. */
struct zc_merge {
    uint64_t read; /* bytes requested from the file system */
    char *data;    /* the stretch from the first range to the last as it is now; caller frees */
};

/* ---- steps ----
 *
 * A writer of a file publishes what it has written in steps; readers of other jobs wait for a step
 * and read that one only (doc/SEMANTICS.md).  Steps pass between processes through daemons; other
 * stores have none. */
enum zc_step_call {
    ZC_STEP_CALL_BEGIN,   /* begin to publish steps; returns the last `number` so far */
    ZC_STEP_CALL_PUBLISH, /* step `number` is complete, and the file has `size` bytes */
    ZC_STEP_CALL_WAIT,    /* wait until step `number` is published; returns the last `number` */
    ZC_STEP_CALL_READ,    /* read step `number` from now on; 0: none */
};

struct zc_step_request {
    enum zc_step_call call;
    uint64_t number;
    uint64_t size;     /* of the file at BEGIN and PUBLISH; bytes */
    uint64_t limit_ms; /* of a WAIT */
};

struct zc_store_ops {
    const char *name; /* "posix", ...; for messages */

    /* Opens `path`.  A failed open leaves no half-created file behind.  attr->block_size, width and
     * first are the preferred values on entry and those in force on return. */
    int (*open)(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                struct zc_sfile **out, struct zc_attr *attr);
    /* Always frees `f`.  The result says whether all written bytes have arrived at `level` (a write
     * may fail late, for instance over NFS).  -EOWNERDEAD: a server of a lossy store has died and
     * lost unstable bytes since the last call of progress(). */
    int (*close)(struct zc_sfile *f, enum zc_level level);

    /* Reads; short only at the end of the file. */
    ssize_t (*preadv)(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off);
    /* Writes all or returns an error, after which any prefix may have been written. */
    ssize_t (*pwritev)(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off);

    /* Writes many pieces of a short stretch in one call: bytes [r[i].lo, r[i].hi) of `data`, the
     * image of the file from `off` on.  Ranges are sorted and disjoint; no other byte of the file
     * changes, even if others are writing them.  Returns the number of bytes, or an error;
     * -EOPNOTSUPP: the caller writes piece by piece.  `m`: receives what was read for that, or
     * NULL.  The operation may be NULL: as if -EOPNOTSUPP. */
    ssize_t (*write_ranges)(struct zc_sfile *f, const char *data, const struct zc_range *r,
                            uint32_t n, uint64_t off, struct zc_merge *m);

    /* Returns a descriptor that reads the file's bytes, open until close(); -1: none.  NULL: as
     * if. */
    int (*descriptor)(struct zc_sfile *f);

    int (*getattr)(struct zc_sfile *f, struct zc_attr *attr);
    /* -EREMOTEIO: the file has the new size, but a cache may hold bytes beyond it; any other error:
     * the file is unchanged as far as is known. */
    int (*truncate)(struct zc_sfile *f, uint64_t size);
    /* Reserves space and extends the size to at least off + len (MPI_File_preallocate).  The caller
     * must not write meanwhile: the store may have to write the last byte itself. */
    int (*allocate)(struct zc_sfile *f, uint64_t off, uint64_t len);
    int (*sync)(struct zc_sfile *f, enum zc_level level);
    /* Returns how many accepted bytes of the file, of all writers, are not in the file system yet.
     * NULL: always 0. */
    int (*backlog)(struct zc_sfile *f, uint64_t *bytes);

    /* Both NULL: the store supports no rendezvous. */
    int (*rendezvous)(struct zc_sfile *f, const char *job, const void *record, size_t len,
                      uint64_t replaces, struct zc_publication **mine,
                      struct zc_rendezvous_record *theirs);
    int (*withdraw)(struct zc_publication *mine); /* always frees it */
    /* Revalidates caches below after changes by others.  NULL: no cache below. */
    int (*refresh)(struct zc_sfile *f);
    /* NULL: the store has no steps. */
    int (*step)(struct zc_sfile *f, struct zc_step_request *q);

    /* For lossy stores, all four; else NULL.  The first two do not block, and may be called with
     * locks held that come before ZC_ORDER_CLIENT_VIEWS. */
    uint32_t (*server)(const struct zc_sfile *f, uint64_t off); /* below zc_store.servers */
    void (*progress)(struct zc_sfile *f, uint32_t server, struct zc_progress *out);
    void (*watch)(struct zc_store *s, struct zc_watch *w);
    void (*unwatch)(struct zc_store *s, struct zc_watch *w);

    int (*unlink)(struct zc_store *s, const char *path);
    int (*stat)(struct zc_store *s, const char *path, struct zc_attr *attr);
    /* Returns 0 if all servers respond.  NULL: the store has no servers. */
    int (*ping)(struct zc_store *s);

    void (*destroy)(struct zc_store *s); /* all files are closed */
};

/* Base of every implementation: its first member. */
struct zc_store {
    const struct zc_store_ops *ops;
    uint32_t servers; /* number of daemons that blocks are striped over; 0: none */
    bool remembers;   /* reports earlier write-back errors at each sync (daemons) */
    bool lossy;       /* may lose accepted bytes before they are stored: see zc_progress */
    bool names_bytes; /* its errors name the byte range, and the file if known */
};
struct zc_sfile {
    struct zc_store *store;
};

/* Wrappers that call the table above, with tracing.  No lock may be held (zc_lock.h), as a store
 * may block.  Results and conditions are those of the table. */
int zc_store_open_file(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                       struct zc_sfile **out, struct zc_attr *attr);
int zc_store_close_file(struct zc_sfile *f, enum zc_level level);
ssize_t zc_store_preadv(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off);
ssize_t zc_store_pwritev(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off);
/* Opens `path`, reads once as zc_store_preadv() does, and closes it. */
ssize_t zc_store_read_path(struct zc_store *s, const char *path, void *buf, size_t len,
                           uint64_t off);
bool zc_store_writes_ranges(const struct zc_store *s);
ssize_t zc_store_write_ranges(struct zc_sfile *f, const char *data, const struct zc_range *r,
                              uint32_t n, uint64_t off, struct zc_merge *m);
int zc_store_descriptor(struct zc_sfile *f);
int zc_store_getattr(struct zc_sfile *f, struct zc_attr *attr);
int zc_store_truncate(struct zc_sfile *f, uint64_t size);
int zc_store_allocate(struct zc_sfile *f, uint64_t off, uint64_t len);
int zc_store_sync(struct zc_sfile *f, enum zc_level level);
bool zc_store_has_backlog(const struct zc_store *s);
int zc_store_backlog(struct zc_sfile *f, uint64_t *bytes);
/* Publishes a record at the file or finds the existing one, atomically: of all concurrent callers
 * exactly one gets *mine, all others its record in *theirs; the other output is NULL
 * (theirs->bytes).  The publisher has to be ready to serve others before it calls.
 *
 * `replaces` is 0, or the number of a record whose publisher did not answer: if that record is
 * still there, the caller's replaces it; if it is another one, that is returned.  A process that
 * cannot reach a publisher calls again with the number, until its own record is published or a
 * publisher answers; so a dead process blocks no other.
 *
 * A `record` of NULL, with a length of 0, only looks: without a record at the file, other than the
 * one of number `replaces`, both outputs are NULL.
 *
 * 0, or: -EOPNOTSUPP: no rendezvous: the store does not support it, or there is no place for
 * records on this host, which the store has warned of; -EINVAL, -EMSGSIZE: job or record empty or
 * too long; -EDQUOT: this process has published too many; else the store's error.  After an error
 * no record of the caller is at the file. */
int zc_store_rendezvous(struct zc_sfile *f, const char *job, const void *record, size_t len,
                        uint64_t replaces, struct zc_publication **mine,
                        struct zc_rendezvous_record *theirs);
/* Withdraws the record and frees `mine` in any case; succeeds if it was replaced.  To call before
 * the store is destroyed (daemons drop records then); the file may be closed already.  NULL: no
 * effect. */
int zc_store_withdraw(struct zc_publication *mine);
int zc_store_refresh(struct zc_sfile *f);
/* 0 or a negative errno, explained: -EOPNOTSUPP: the store has no steps; BEGIN, -EBUSY: another job
 * publishes steps of the file; WAIT, -ETIME: the time limit is over; -ENODATA: the writer has
 * closed the file without publishing the step; -EOWNERDEAD: the writer has died; READ, -EREMCHG:
 * the step cannot be read yet, or no longer. */
int zc_store_step(struct zc_sfile *f, struct zc_step_request *q);
static inline bool zc_store_lossy(const struct zc_store *s)
{
    return s->lossy;
}
/* Return the server of the byte at `off` (by arithmetic), and the state of the file at a server;
 * both also with locks held that come before the store's. */
uint32_t zc_store_server(const struct zc_sfile *f, uint64_t off);
void zc_store_progress(struct zc_sfile *f, uint32_t server, struct zc_progress *out);
/* Registers w->moved(), called after each progress of any file.  unwatch() waits for calls under
 * way; none follows it. */
void zc_store_watch(struct zc_store *s, struct zc_watch *w);
void zc_store_unwatch(struct zc_store *s, struct zc_watch *w);

int zc_store_unlink(struct zc_store *s, const char *path);
int zc_store_stat(struct zc_store *s, const char *path, struct zc_attr *attr);
int zc_store_ping(struct zc_store *s);
void zc_store_destroy(struct zc_store *s); /* NULL: no effect */

#endif
