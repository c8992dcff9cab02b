/* zc_cache.h - the page cache of both levels: pages in front of a store.
 *
 * A file is divided into pages of cfg.page_size bytes.  A page records, to the byte, which of its
 * bytes are valid (may be read) and which are dirty (newer than the store).  Writes never read
 * first; reads fetch only what is not valid.
 *
 * An access touches bytes of one page and has three phases:
 *
 *     zc_cache_begin()  pins the page; if it has to wait (for room, or a store read), returns
 *                       -EINPROGRESS and calls a->ready() later
 *     the caller moves bytes at a->data: memcpy or RMA, no lock held
 *     zc_cache_end()    for a write, the bytes become valid and dirty
 *
 * One page at a time: a caller must not wait for a second page while it holds a pin, unless the end
 * of the first access does not depend on the second (no hold-and-wait).
 *
 * Guarantees:
 *  - memory for page data never exceeds the capacity (a cache that was made smaller first has to
 *    write back and drop pages); memory for ranges exceeds cfg.range_memory at most by what
 *    accesses under way need; accesses without room wait in order and are woken in order; hits pass
 *    them;
 *  - only clean, unpinned pages are evicted; dirty bytes are dropped by truncate, unlink and
 *    zc_cache_discard() only, and by the end of the cache, which counts and reports them;
 *  - bytes that a store refuses stay with the file (zc_wb_errors.h): write-back is retried for as
 *    long as the cache lives, even if the file is closed, and such bytes never take the room of
 *    other files;
 *  - unstable bytes of a lossy store are kept and sent again when the store loses them, or reported
 *    as lost (zc_unstable.h);
 *  - a page under read delays only accesses that need the bytes being read;
 *  - readahead displaces old clean pages only (zc_readahead.c);
 *  - no lock is held while the store or a callback runs;
 *  - zc_cache_begin() never runs a callback, so a caller may hold its own lock there.
 *
 * Threads: every function may be called from any thread.  Callbacks run on threads of the cache or
 * inside the call that completed them, without locks; they must not block.  Errors: 0 or a negative
 * errno; zc_error_text() explains.
 */
#ifndef ZC_CACHE_H
#define ZC_CACHE_H

#include "zc_error.h"
#include "zc_extent.h"
#include "zc_list.h"
#include "zc_store.h"

struct zc_cache;
struct zc_file;         /* a file in the cache, shared by all its handles */
struct zc_handle;       /* one open of a file */
struct zc_quiescence;   /* zc_pagedesc.h */
struct zc_cache_tenant; /* a job or user, where several share the cache */

enum { ZC_PAGE_SIZE_MIN = 4 << 10, ZC_PAGE_SIZE_MAX = 64 << 20 }; /* bytes */

struct zc_cache_config {
    size_t capacity;         /* bytes of page memory; at least 2 pages */
    size_t reserve;          /* capacity that it may be extended to, if more; address space only */
    uint32_t page_size;      /* bytes; power of two, ZC_PAGE_SIZE_MIN to _MAX */
    unsigned high_watermark; /* percent of capacity dirty at which write-back starts ... */
    unsigned low_watermark;  /* ... and stops; low < high <= 100 */
    unsigned idle_ms;        /* age at which dirty pages are written back; 0: never */
    unsigned retry_ms; /* first delay before a failed write-back is retried; doubles up to 64 times
                          this */
    unsigned flushers; /* write-back threads; at least 1 */
    unsigned readers;  /* threads for store reads; at least 1 */
    unsigned stuck_ms; /* a store call that takes longer delays only its own file: other files get
                          further threads; 0: a default */
    unsigned prefetch; /* maximum pages read ahead of a reader; 0: none.  See zc_cache_prefetch() */
    uint32_t max_io;   /* bytes of the largest coalesced store write ... */
    uint32_t max_read; /* ... and of the largest store read of several pages */
    uint32_t max_extents;  /* dirty or valid ranges a page may have before it is collapsed */
    size_t range_memory;   /* bytes for ranges of all pages, or an eighth of page memory if that is
                              more: beyond it, pages with more than a few ranges are collapsed */
    unsigned failed_limit; /* percent of capacity for unwritten pages of a file whose write-back
                              fails; beyond it, writers get the store's error */
    unsigned lost_files;   /* files kept for their losses only; 0: a default */
    enum zc_level level;   /* level of data in this cache: VISIBLE in a job, STAGED in a daemon;
                              flushes up to it end at once, unless transient */
    enum zc_flush_order {
        ZC_FLUSH_OLDEST, /* least recently dirtied first */
        ZC_FLUSH_NEWEST, /* last modified first, as in the paper */
    } flush_order;
    enum zc_replay {
        ZC_REPLAY_OFF,    /* unstable bytes of a lossy store are not kept; ... */
        ZC_REPLAY_ON,     /* kept while there is room, to be sent again; ... */
        ZC_REPLAY_STRICT, /* kept until they are stored: see zc_unstable.h */
    } replay;             /* for files opened without ZC_OPEN_REPLAY* */
    bool uncached;        /* pages are buffers: dropped as soon as they are clean and unused */
    bool transient; /* handles belong to this process: while one is open, only its job changes the
                       file, and other processes of the job do (zc_validator.h) */
    /* Returns a counter for unwritten bytes of a file that is opened for writing: atomic, valid as
     * long as the cache.  Called without the lock.  May be NULL, or return NULL: no counter. */
    uint64_t *(*unwritten)(const char *path);
    bool published; /* other processes of this user may read pages in shared memory */
    bool dumped;    /* core dumps have the pages */
};

/* Defaults of options; plain numbers, because the table in zc_settings.c prints them. */
#define ZC_DEFAULT_CACHE_MIB      512
#define ZC_DEFAULT_PAGE_MIB       1
#define ZC_DEFAULT_HIGH_PERCENT   75
#define ZC_DEFAULT_LOW_PERCENT    50
#define ZC_DEFAULT_FAILED_PERCENT 25
#define ZC_DEFAULT_IDLE_MS        50
#define ZC_DEFAULT_FLUSHERS       2
#define ZC_DEFAULT_READERS        4
#define ZC_DEFAULT_MAX_IO_MIB     8
#define ZC_DEFAULT_MAX_READ_MIB   4

#define ZC_CACHE_CONFIG_DEFAULT                                                                    \
    {                                                                                              \
        .capacity = (size_t)ZC_DEFAULT_CACHE_MIB << 20, .page_size = ZC_DEFAULT_PAGE_MIB << 20,    \
        .high_watermark = ZC_DEFAULT_HIGH_PERCENT, .low_watermark = ZC_DEFAULT_LOW_PERCENT,        \
        .idle_ms = ZC_DEFAULT_IDLE_MS, .retry_ms = 500, .flushers = ZC_DEFAULT_FLUSHERS,           \
        .readers = ZC_DEFAULT_READERS, .max_io = ZC_DEFAULT_MAX_IO_MIB << 20,                      \
        .max_read = ZC_DEFAULT_MAX_READ_MIB << 20, .max_extents = 4096, .range_memory = 6u << 20,  \
        .failed_limit = ZC_DEFAULT_FAILED_PERCENT, .flush_order = ZC_FLUSH_OLDEST                  \
    }

/* Creates a cache.  `store` stays the caller's and must outlive it.  -EINVAL: an impossible
 * configuration; the text names the setting. */
int zc_cache_create(const struct zc_cache_config *cfg, struct zc_store *store,
                    struct zc_cache **out);
/* Destroys the cache.  Handles that are still open, of files that a program never closes, must not
 * be used any more.  Unwritten bytes are lost (zc_cache_abandon()): drain first. */
void zc_cache_destroy(struct zc_cache *c);

/* Limits that may change while a cache is in use. */
struct zc_cache_limits {
    size_t capacity; /* bytes; less than two pages: all pages that can be dropped are, and no new
                        one is taken */
    unsigned high_watermark, low_watermark, idle_ms; /* as in zc_cache_config */
};

/* Makes address space for pages up to `capacity` bytes usable; -ENOMEM, explained.  Changes nothing
 * else: to register the memory, do so between this and zc_cache_limit(). */
int zc_cache_extend(struct zc_cache *c, size_t capacity);
/* Applies new limits.  When a cache becomes smaller, its dirty pages are written back, and dirty or
 * used pages are dropped once they are clean and unused. */
void zc_cache_limit(struct zc_cache *c, const struct zc_cache_limits *l);
/* Returns the limits in force. */
void zc_cache_limits(struct zc_cache *c, struct zc_cache_limits *out);
/* Sets the total for all caches of this process, shown in statistics. */
void zc_cache_set_budget(struct zc_cache *c, uint64_t bytes);
uint64_t zc_cache_budget(struct zc_cache *c);

/* Returns the memory of all pages, to be registered with a fabric; longer after an extension. */
void zc_cache_arena(struct zc_cache *c, void **base, size_t *len);
uint32_t zc_cache_page_size(const struct zc_cache *c);
bool zc_cache_uncached(const struct zc_cache *c);

/* ---- files: these functions block in the store ---- */

/* In addition to the store's ZC_OPEN_*: how unstable bytes of the file are kept; the strictest of
 * all opens applies. */
enum { ZC_OPEN_REPLAY = 256, ZC_OPEN_REPLAY_STRICT = 512 };

/* Opens a file through the store.  Opens of the same (dev, ino) share a file.  Clean pages are kept
 * only if no other process has changed the file as far as is known (zc_validator.h), even if the
 * file is open already.
 *
 * attr->set, on entry: the daemons that serve the file according to the opener.  -EBUSY: it is open
 * with another set, which attr->set names.  On return the set in force, which is another one while
 * bytes of that are unwritten: flush, close, and open again.
 *
 * ZC_OPEN_CHECKSUM: pages of the file that enter the cache from now on, until its last close, have
 * checksums (zc_page_csum.c); an error if they cannot be made.
 *
 * `flags` are ZC_OPEN_*; `attr` as in zc_store_ops.open, with the size as zc_cache_size() returns
 * it.  Its block size and stride say along which pages the handle is read ahead. */
int zc_cache_open(struct zc_cache *c, const char *path, unsigned flags, mode_t mode,
                  struct zc_handle **out, struct zc_attr *attr);
/* The same for a caller that has the file open in the store, with the same flags: saves a second
 * open there.  `attr` has the attributes that open returned; `before`: zc_cache_changes() before
 * it, if these attributes are as new as those of another open would be, else ZC_CHANGES_UNKNOWN:
 * size and times are read again.  The cache takes the store file over and sets *given to NULL,
 * unless it fails before using it.  With `given` or *given NULL: as zc_cache_open(). */
int zc_cache_open_given(struct zc_cache *c, struct zc_sfile **given, uint64_t before,
                        const char *path, unsigned flags, mode_t mode, struct zc_handle **out,
                        struct zc_attr *attr);
/* Returns the number of changes of store files that caches of this process have made. */
uint64_t zc_cache_changes(void);
#define ZC_CHANGES_UNKNOWN UINT64_MAX

/* Limits readahead of this handle to `depth` pages, instead of the cache's setting; 0: none.  No
 * effect on an uncached cache. */
void zc_cache_prefetch(struct zc_handle *h, uint32_t depth);

/* Returns the tenant with this number, a part of the cache beside others (zc_cache_tenant.h); each
 * call needs a _put().  NULL: no memory; what is opened then belongs to the default tenant. */
struct zc_cache_tenant *zc_cache_tenant_get(struct zc_cache *c, uint64_t id);
void zc_cache_tenant_put(struct zc_cache *c, struct zc_cache_tenant *s); /* NULL: no effect */
/* Assigns the handle to a tenant (NULL: no change), which may be put back before the handle is
 * closed.  To call once, before the handle's first access. */
void zc_cache_charge(struct zc_handle *h, struct zc_cache_tenant *s);

/* Closes and frees the handle, whatever the result; no access or flush of it may be under way.
 * Does not write back: call zc_cache_flush() first, or leave it to the flushers (they write back a
 * file without handles at once).  What the store refuses stays and is retried; the close of a
 * handle with write access returns that failure with path, amount, range and cause, as well as
 * losses of the file and failures not yet reported to this handle.  Dirty pages of an unlinked file
 * are dropped. */
int zc_cache_close(struct zc_handle *h);
/* Sets how many failures the closer of a shared handle has seen (zc_flush.errseq); before the
 * close. */
void zc_cache_set_errseq(struct zc_handle *h, uint64_t told);
/* Marks a handle whose owner has died, or only probed the file: its close does not confirm that
 * only this job changed the file. */
void zc_cache_disown(struct zc_handle *h);

/* Returns a key of the file: equal for all its handles, and most likely unique. */
uint64_t zc_cache_key(const struct zc_handle *h);

/* Returns the size in bytes, including cached writes.  Does not block. */
uint64_t zc_cache_size(struct zc_handle *h);

/* Drops clean bytes, unless no other process has changed the file as far as is known, and takes the
 * size from the store.  Dirty bytes stay.  Reads that begin afterwards see the changes of others,
 * also in pages that are dirty, in use or under read meanwhile.  Blocks in the store. */
int zc_cache_refresh(struct zc_handle *h);
/* Makes all opens of the file, which have ZC_OPEN_STEP_READER, read that step from now on: reads of
 * bytes that were overwritten since fail with -EREMCHG.  Errors of zc_store_step().  Blocks in the
 * store. */
int zc_cache_read_step(struct zc_handle *h, uint64_t step);
/* Whether the store below has steps. */
bool zc_cache_has_steps(const struct zc_handle *h);

/* Truncates the file.  Overtakes queued write-back and store reads beyond `size`, and waits for
 * store writes there.  A write access that is pinned meanwhile and ends afterwards counts as a
 * write after the truncation, with all its bytes; one that ends before is cut.  After an error
 * nothing has changed, except for -EREMOTEIO: this cache and the file are truncated, other caches
 * may not be. */
int zc_cache_truncate(struct zc_handle *h, uint64_t size);
/* Applies a truncation made by another client: this cache is cut even if the store fails (the store
 * is called because this cache may have written beyond `size` meanwhile). */
int zc_cache_cut(struct zc_handle *h, uint64_t size);
int zc_cache_allocate(struct zc_handle *h, uint64_t off, uint64_t len);

/* Unlinks.  When the last link is gone, dirty pages are dropped at the last close, and never
 * written to a new file of that name. */
int zc_cache_unlink(struct zc_cache *c, const char *path);
/* Announces that the handle's owner is about to delete the file by other means: afterwards,
 * unwritten bytes are dropped without a report. */
void zc_cache_unlink_pending(struct zc_handle *h);

/* ---- accesses ---- */

enum zc_dir { ZC_READ, ZC_WRITE };

struct zc_view;
struct zc_view_ranges;

/* A view of more bytes is not used for readahead: its streams would keep it in memory, and a view
 * that irregular skips few pages. */
enum { ZC_FORESEEN_VIEW = 16 << 10 };

/* Owned by the caller; must not move from begin to end (or to a failing ready()).  The caller fills
 * the first part. */
struct zc_access {
    struct zc_handle *handle;
    enum zc_dir dir;
    uint64_t off; /* file offset, bytes */
    uint32_t len; /* bytes; [off, off+len) lies inside one page; > 0 */
    void (*ready)(struct zc_access *a);
    uint32_t nranges;  /* writes: maximum ranges passed to zc_cache_end_ranges(); 0 means 1 */
    bool acknowledged; /* writes: their writer was told of success; they may exceed quotas */
    const struct zc_view *view; /* reads: the file view used, or NULL; needed until begin returns */
    int64_t disp, view_off, view_len; /* with a view: its displacement, and the visible bytes */

    /* Valid once begin returned 0 or ready() was called with status == 0. */
    int status;     /* 0 or negative errno; after an error the access is over, without an end */
    void *data;     /* page memory of [off, off+len); until zc_cache_end() */
    uint32_t avail; /* reads: bytes before the end of the file; zeros follow */

    /* Private to the cache. */
    struct zc_page *page;
    uint32_t page_off;
    uint64_t since; /* when it began to wait */
    struct zc_list link, done_link;
};

/* Sets up an access to the bytes of one page that are visible from `at` on, at most `max` (> 0):
 * all of the first part but handle, dir and ready().  *len: their number; *r: their place, for
 * zc_cache_end_ranges().  Errors of zc_vspan() and zc_view_touched(); -EINVAL: they lie before the
 * file. */
int zc_cache_aim(struct zc_access *a, const struct zc_view *v, int64_t disp, int64_t at,
                 int64_t max, struct zc_view_ranges *r, int64_t *len);

/* Begins the access.  0: a->data may be used.  -EINPROGRESS: a->ready() will be called.  Else an
 * error. */
int zc_cache_begin(struct zc_access *a);

/* Ends the access.  moved: the first `moved` bytes of a write have arrived (a->len: all).  The rest
 * of the range is indeterminate: clean bytes become invalid, dirty bytes stay dirty.  Ignored for
 * reads. */
void zc_cache_end(struct zc_access *a, uint32_t moved);

/* Returns where other processes of this host can see what may be read of the page of an open
 * access: the address of its struct zc_pagedesc, and the file's number there.  False: nowhere. */
bool zc_cache_pagedesc(const struct zc_access *a, uint64_t *pagedesc, uint64_t *file);
/* Since when the file of an open has been quiescent, as processes of this host can see it: they may
 * read the file themselves.  It never is where there are no page descriptors, or where the store
 * has servers: other jobs may leave bytes in those. */
void zc_cache_quiescence(struct zc_handle *h, struct zc_quiescence *q);
/* Returns a descriptor of the file in the store, -1: none.  It is open as long as the file is
 * quiescent; what is read by it afterwards may be of any file, and is not to be used. */
int zc_cache_descriptor(struct zc_handle *h);
/* Whether it still is; does not lock. */
bool zc_cache_is_quiescent(const struct zc_handle *h, const struct zc_quiescence *q);
/* Returns the memory with all page descriptors, for other processes to map (zc_tp_map()); false:
 * none. */
bool zc_cache_pagedescs(const struct zc_cache *c, int *fd, uint64_t *at, size_t *len);

/* Ends a write that has changed only these page-relative ranges of [off, off+len): sorted,
 * disjoint, at most a->nranges. */
void zc_cache_end_ranges(struct zc_access *a, const struct zc_range *r, uint32_t n);

/* Read and write page by page; may wait.  Reads are short at the end of the file; both are short if
 * an error followed the first bytes (the next call meets the error). */
ssize_t zc_cache_read(struct zc_handle *h, void *buf, size_t len, uint64_t off);
ssize_t zc_cache_write(struct zc_handle *h, const void *buf, size_t len, uint64_t off);

/* For writes larger than zc_cache_room(): whole pages that are not cached go from `buf` directly to
 * the store, the rest as by zc_cache_write().  Returns all bytes or a negative errno, after which
 * any of them may have arrived. */
ssize_t zc_cache_write_direct(struct zc_handle *h, const void *buf, size_t len, uint64_t off);
/* Whether a write whose first and last bytes are at these offsets would have to wait for memory
 * now, by its first or its last page. */
bool zc_cache_lacks_room(struct zc_handle *h, uint64_t first, uint64_t last);
/* Returns how many bytes could be written now without waiting for write-back. */
uint64_t zc_cache_room(struct zc_handle *h);

/* Read and write `len` visible bytes of a view from `view_off` on, contiguous in `buf`. */
ssize_t zc_cache_vread(struct zc_handle *h, const struct zc_view *v, int64_t disp, void *buf,
                       size_t len, int64_t view_off);
ssize_t zc_cache_vwrite(struct zc_handle *h, const struct zc_view *v, int64_t disp, const void *buf,
                        size_t len, int64_t view_off);

/* ---- write-back ---- */

#define ZC_ERRSEQ_NONE UINT64_MAX

/* Owned by the caller again when done() is called. */
struct zc_flush {
    struct zc_handle *handle;
    enum zc_level level; /* to reach */
    bool quiet;          /* reports only what is refused now, no earlier failures */
    void (*done)(struct zc_flush *f);
    /* For handles shared by several clients: number of failures reported to this client, so that
     * each gets its report.  Initially ZC_ERRSEQ_NONE; NULL: use the handle's own. */
    uint64_t *errseq;
    bool collective;       /* the result will be passed on to all clients of the handle */
    struct zc_error error; /* the result: path, range, cause */

    /* Private to the cache. */
    struct zc_file *file;
    struct zc_list link;
    uint64_t target;
    uint64_t since; /* ns; 0: not timed */
    bool syncing;
    bool asking, asked; /* the store is being, or was, asked to retry its own failures; once */
};

/* Starts write-back of everything dirty at the time of the call, failed pages included, and calls
 * done() once, when all of it is at `level` or has failed again.  Up to the cache's own level there
 * is nothing to do, unless the cache is transient.  A failure is reported equally often to every
 * handle open at the time (zc_flush.errseq: to every client of the handle), even if all is well by
 * then: so the first client to ask and the last get the same result.  After a failed sync or close
 * of the store, earlier bytes may be lost: every flush fails until the file is truncated to 0 or
 * unlinked, or the bytes are discarded. */
void zc_cache_flush_start(struct zc_flush *f);
/* As zc_cache_flush_start(), and waits for the result. */
int zc_cache_flush(struct zc_handle *h, enum zc_level level);
/* Starts a flush without a waiter: later flushes and the close report its failures.  The handle may
 * be closed before the flush has ended.  -ENOMEM: nothing was started. */
int zc_cache_flush_later(struct zc_handle *h, enum zc_level level);

/* As zc_cache_flush(), for a caller that passes the result on to all clients of the handle. */
int zc_cache_flush_collective(struct zc_handle *h, enum zc_level level);

/* Writes back that file to ZC_LEVEL_STORED if it is cached.  A failure is also reported to later
 * flushes and closes. */
int zc_cache_flush_file(struct zc_cache *c, uint64_t dev, uint64_t ino);

/* Forgets refused and lost bytes of the range, and their effect on the file size.  The caller has
 * reported them to their writer.  Other dirty bytes stay.  Blocks: waits for store writes of these
 * bytes and asks the store for the size.  `len` UINT64_MAX: everything from `off` on. */
void zc_cache_discard(struct zc_handle *h, uint64_t off, uint64_t len);
/* Reports bytes that their writer believes to be here and that are not: `bytes` bytes within [lo,
 * hi) count as lost (zc_wb_errors.h).  `err`: a negative errno. */
void zc_cache_lose(struct zc_handle *h, uint64_t lo, uint64_t hi, uint64_t bytes, int err,
                   const char *why);
/* Reports `bytes` bytes as lost, of a file that is not open here any more. */
void zc_cache_lose_unknown(struct zc_cache *c, uint64_t bytes, const char *why);
/* Whether there are bytes that the store has refused, and whose write-back is retried. */
bool zc_cache_refused(struct zc_cache *c);
/* Discards `len` visible bytes of a view from `view_off` on. */
void zc_cache_discard_view(struct zc_handle *h, const struct zc_view *v, int64_t disp, size_t len,
                           int64_t view_off);

/* For clients that keep a copy of unstable bytes: writes before this call have numbers up to
 * *taken; those with numbers up to *stored are in the store, or were truncated away, discarded or
 * deleted.  Both only grow, as long as the cache lives.  `next`: later writes get higher numbers.
 * Does not block. */
void zc_cache_progress(struct zc_handle *h, bool next, uint64_t *taken, uint64_t *stored);

/* Returns how many bytes of the file are not in the store yet, including those in store writes
 * under way.  Does not block. */
uint64_t zc_cache_backlog(struct zc_handle *h);
/* Returns why bytes of the file are not in the store yet: -EAGAIN: write-back is under way; else
 * the store's error; 0: all are stored.  Not explained.  Does not block. */
int zc_cache_owes(struct zc_cache *c, uint64_t dev, uint64_t ino);
/* The same for writes with numbers up to this one (zc_cache_progress()); later writes have higher
 * ones. */
int zc_cache_owes_until(struct zc_cache *c, uint64_t dev, uint64_t ino, uint64_t number);
/* Writes back everything dirty, regardless of watermarks, until the matching call with `on` false.
 * Does not block. */
void zc_cache_hurry(struct zc_cache *c, bool on);
/* Returns how many bytes the store has accepted and the file system has not.  Blocks in the
 * store. */
int zc_cache_backlog_below(struct zc_handle *h, uint64_t *bytes);

/* Writes back every file and closes the store files of those without handles.  0 only if nothing
 * dirty is left, no file that still exists under its name has losses, and no such close has failed
 * since the last drain.  -EBUSY: writers went on writing.  Changes of a file by other processes
 * after that are seen by the next open, as far as its times tell them (zc_validator.h). */
int zc_cache_drain(struct zc_cache *c);

/* Ends the cache: unwritten bytes are lost.  Returns the bytes lost since it was created.  No write
 * may follow. */
uint64_t zc_cache_abandon(struct zc_cache *c);

struct zc_span {
    uint64_t lo, hi; /* bytes lo <= x < hi of a file */
};

/* Losses of a file since the cache was created. */
struct zc_loss {
    const char *path;
    uint64_t bytes;
    const struct zc_span *spans; /* within these */
    unsigned nspans;
    int err; /* negative errno, and text, of the last loss */
    const char *cause;
};
/* Calls fn for every file with losses; fn must not call the cache. */
void zc_cache_losses(struct zc_cache *c, void (*fn)(void *arg, const struct zc_loss *), void *arg);

/* Calls fn for every file with unwritten bytes, including store writes under way. */
void zc_cache_unwritten(struct zc_cache *c, void (*fn)(void *arg, const struct zc_loss *),
                        void *arg);

/* Drops clean pages that are not in use; returns how many bytes. */
uint64_t zc_cache_evict(struct zc_cache *c);

/* ---- statistics ---- */

/* One row per counter: X(name, kind, unit, help), all that tools know of it.  A COUNTER only grows,
 * a GAUGE may not.  The unit is BYTES, NS, MS, SECONDS, PERCENT, or NONE; scripts see it in the
 * name, in which _bytes, _ns, _ms or _s stand for it at the end. */
#define ZC_CACHE_STATS(X)                                                                          \
    X(capacity_bytes, GAUGE, BYTES, "page memory allowed")                                         \
    X(used_bytes, GAUGE, BYTES, "page memory holding a page")                                      \
    X(dirty_bytes, GAUGE, BYTES,                                                                   \
      "bytes not written back yet, those in store writes under way included")                      \
    X(flushing_bytes, GAUGE, BYTES, "bytes in store writes under way")                             \
    X(failed_bytes, GAUGE, BYTES, "dirty bytes whose last write-back failed")                      \
    X(lost_bytes, COUNTER, BYTES,                                                                  \
      "bytes that could not be kept: refused to the end, or their sync or close failed")           \
    X(dropped_bytes, COUNTER, BYTES,                                                               \
      "bytes of files that another program deleted before they were written back")                 \
    X(retained_bytes, GAUGE, BYTES,                                                                \
      "bytes that a daemon has taken and not stored, kept to be sent again")                       \
    X(exposed_bytes, GAUGE, BYTES,                                                                 \
      "bytes that a daemon has taken and not stored, and that are not kept")                       \
    X(replayed_bytes, COUNTER, BYTES,                                                              \
      "bytes sent again because a daemon died before it had stored them")                          \
    X(lost_exposed_bytes, COUNTER, BYTES,                                                          \
      "bytes lost with a daemon that had not stored them, not kept here")                          \
    X(damaged_bytes, COUNTER, BYTES,                                                               \
      "bytes whose checksum was wrong in memory: read again, or lost")                             \
    X(held_bytes, GAUGE, BYTES,                                                                    \
      "page memory with unwritten bytes of files that the store refuses bytes of")                 \
    X(pinned_pages, GAUGE, NONE, "pages in use by an access")                                      \
    X(reading_pages, GAUGE, NONE, "pages under a store read")                                      \
    X(waiting_room, GAUGE, NONE, "accesses waiting for page memory")                               \
    X(waiting_read, GAUGE, NONE, "accesses waiting for a store read or a conflicting write")       \
    X(waiting_flush, GAUGE, NONE, "flush requests not done")                                       \
    X(files, GAUGE, NONE, "files known")                                                           \
    X(handles, GAUGE, NONE, "opens of files")                                                      \
    X(read_hits, COUNTER, NONE, "read accesses served at once")                                    \
    X(read_misses, COUNTER, NONE, "read accesses that needed the store")                           \
    X(read_late, COUNTER, NONE, "read accesses that waited for a page already being read ahead")   \
    X(written_hits, COUNTER, NONE, "read accesses served at once from pages written to here")      \
    X(write_accesses, COUNTER, NONE, "write accesses")                                             \
    X(read_bytes, COUNTER, BYTES, "bytes of read accesses")                                        \
    X(missed_bytes, COUNTER, BYTES, "bytes of read accesses that needed the store")                \
    X(written_bytes, COUNTER, BYTES, "bytes of write accesses")                                    \
    X(store_reads, COUNTER, NONE, "store read calls")                                              \
    X(store_read_bytes, COUNTER, BYTES, "bytes read from the store")                               \
    X(store_writes, COUNTER, NONE, "store write calls")                                            \
    X(store_written_bytes, COUNTER, BYTES, "bytes written to the store")                           \
    X(small_writes, COUNTER, NONE, "of these, calls that wrote less than 64 KiB of the file")      \
    X(merges, COUNTER, NONE,                                                                       \
      "of these, calls that read a part of a page, merged ranges into it, and wrote it")           \
    X(merge_read_bytes, COUNTER, BYTES, "bytes read for that, to be written back")                 \
    X(merge_filled_bytes, COUNTER, BYTES, "bytes written between the ranges")                      \
    X(page_writes, COUNTER, NONE, "pages written back")                                            \
    X(page_rewrites, COUNTER, NONE,                                                                \
      "of these, pages written back before since they are in the cache")                           \
    X(store_syncs, COUNTER, NONE, "store sync calls")                                              \
    X(around_bytes, COUNTER, BYTES, "bytes of writes that went around the cache for want of room") \
    X(store_errors, COUNTER, NONE, "failed store calls")                                           \
    X(store_read_ns, COUNTER, NS, "time in store reads, of all calls together")                    \
    X(store_write_ns, COUNTER, NS, "time in store writes, of all calls together")                  \
    X(store_sync_ns, COUNTER, NS, "time in store syncs, of all calls together")                    \
    X(store_busy_ns, COUNTER, NS, "time in which at least one of these calls was under way")       \
    X(room_wait_ns, COUNTER, NS,                                                                   \
      "time accesses waited for page memory, or wrote around the cache for want")                  \
    X(read_wait_ns, COUNTER, NS, "time accesses waited for a store read or a conflicting write")   \
    X(prefetched_pages, COUNTER, NONE, "pages whose read ahead began")                             \
    X(prefetched_bytes, COUNTER, BYTES, "their bytes")                                             \
    X(prefetch_used_pages, COUNTER, NONE, "of these, pages asked for since")                       \
    X(prefetch_used_bytes, COUNTER, BYTES, "their bytes")                                          \
    X(prefetch_late_pages, COUNTER, NONE,                                                          \
      "of these, pages asked for while the read was under way")                                    \
    X(prefetch_late_bytes, COUNTER, BYTES, "their bytes")                                          \
    X(prefetch_wasted_pages, COUNTER, NONE,                                                        \
      "pages read ahead that were dropped or overwritten before use")                              \
    X(prefetch_wasted_bytes, COUNTER, BYTES, "their bytes")                                        \
    X(prefetch_waiting_pages, GAUGE, NONE,                                                         \
      "pages read ahead, or to be, that no read has asked for yet")                                \
    X(range_bytes, GAUGE, BYTES, "memory for ranges of bytes within pages")                        \
    X(evictions, COUNTER, NONE, "pages evicted")                                                   \
    X(lock_waits, COUNTER, NONE, "times a thread found the cache's lock taken")                    \
    X(lock_wait_ns, COUNTER, NS, "time threads waited for it, of all together")                    \
    X(collapses, COUNTER, NONE, "pages read to merge too many ranges")                             \
    X(stale_drops, COUNTER, NONE,                                                                  \
      "times clean pages of a file were dropped because others may have changed it")               \
    X(racy_files, GAUGE, NONE, "files that have changed too lately for their times to tell")

struct zc_cache_stats {
#define X(name, kind, unit, help) uint64_t name;
    ZC_CACHE_STATS(X)
#undef X
};

/* Returns a consistent snapshot. */
void zc_cache_stats(struct zc_cache *c, struct zc_cache_stats *out);

struct zc_file_info {
    uint64_t key;     /* zc_cache_key() of its handles */
    const char *path; /* as of the last open */
    uint64_t size, cached_bytes, dirty_bytes, failed_bytes;
    uint64_t lost_bytes; /* not resolved since */
    unsigned handles;
    int error; /* latched write-back error, negative errno, or 0 */
};
/* Calls fn for every known file; fn must not call the cache. */
void zc_cache_files(struct zc_cache *c, void (*fn)(void *arg, const struct zc_file_info *),
                    void *arg);

#endif
