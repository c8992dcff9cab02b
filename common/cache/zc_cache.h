/* zc_cache.h - the cache engine of both levels: pages in front of a store.
 *
 * A file is cut into pages of cfg.page_size bytes.  A page holds, byte-exact,
 * which of its bytes are valid (may be read) and which are dirty (newer than the
 * store).  Writers never read first; readers fetch only what is not valid.
 *
 * An access touches bytes of one page and has three steps:
 *
 *     zc_cache_begin()  pins the page; may have to wait (room, or a store read),
 *                       then says -EINPROGRESS and calls a->ready() later
 *     the caller moves bytes at a->data: memcpy or RMA, no lock held
 *     zc_cache_end()    for a write, the bytes become valid and dirty
 *
 * One page at a time: a caller must not wait for a second page while it holds a
 * pin, unless the first pin's end does not depend on the second (no hold-and-wait).
 *
 * Promises:
 *  - memory for page data never exceeds the capacity (but that one which became
 *    smaller first has to get rid of what it holds), memory for ranges hardly
 *    cfg.range_memory (by what is on its way); who finds no room waits in
 *    order and is woken in order; hits bypass waiters;
 *  - only clean, unpinned pages are evicted; nothing dirty is dropped but by truncate,
 *    unlink, zc_cache_give_up(), or the end of the cache, which counts and names it;
 *  - what a store refuses belongs to the file (zc_ledger.h): it is tried again for as long
 *    as the cache lives, whoever closes the file, and is never more than leaves the
 *    files of others room;
 *  - what a lossy store has taken is kept and sent again when that loses it, or is named as
 *    lost (zc_retain.h);
 *  - a page under read is waited for by those who need those bytes; others pass;
 *  - what is read ahead displaces old clean pages only (zc_ahead.c);
 *  - no lock is held while the store or a callback runs;
 *  - zc_cache_begin() never runs a callback, so a caller may hold its own lock there.
 *
 * Threads: every call may come from any thread.  Callbacks run on engine threads or
 * inside the call that completed them, without locks; they must not block.
 * Errors: 0 or a negative errno; zc_error_text() explains.
 */
#ifndef ZC_CACHE_H
#define ZC_CACHE_H

#include "zc_extent.h"
#include "zc_list.h"
#include "zc_log.h"
#include "zc_store.h"

struct zc_cache;
struct zc_file;   /* a file in the cache, shared by all its handles */
struct zc_handle; /* one open of a file */
struct zc_share;  /* whose it is, where several share the cache */

enum { ZC_PAGE_SIZE_MIN = 4 << 10, ZC_PAGE_SIZE_MAX = 64 << 20 }; /* bytes */

struct zc_cache_config {
    size_t capacity;         /* bytes of page memory; at least 2 pages */
    size_t reserve;          /* it may become as large as this later, if more; addresses only */
    uint32_t page_size;      /* bytes; power of two, ZC_PAGE_SIZE_MIN to _MAX */
    unsigned high_watermark; /* percent of capacity dirty that starts the flusher ... */
    unsigned low_watermark;  /* ... and that stops it; low < high <= 100 */
    unsigned idle_ms;        /* dirty pages untouched this long are written; 0: never */
    unsigned retry_ms;       /* first delay before a failed write-back is tried again; doubles
                                up to 64 times this */
    unsigned flushers;       /* write-back threads; at least 1 */
    unsigned readers;        /* threads for store reads; at least 1 */
    unsigned stuck_ms;     /* a store call that takes longer keeps only its own file waiting: others
                              get more threads; 0: a default */
    unsigned prefetch;     /* pages read ahead of a reader at most; 0: none.  See
                              zc_cache_prefetch() */
    uint32_t max_io;       /* bytes of the largest coalesced store write ... */
    uint32_t max_read;     /* ... and of the largest store read of several pages */
    uint32_t max_extents;  /* dirty or valid ranges a page may have before it is collapsed */
    size_t range_memory;   /* bytes for ranges of all pages: beyond, pages are collapsed that
                              have more than a few */
    unsigned failed_quota; /* percent of capacity that unwritten pages of a file may take up
                              which the store refuses bytes of; beyond, its writers get the
                              store's error */
    enum zc_level level;   /* what data in this cache has reached: VISIBLE in a job, STAGED
                              in a daemon; a flush up to this level has nothing to do, unless
                              the cache is transient */
    enum zc_flush_order {
        ZC_FLUSH_OLDEST, /* least recently dirtied first */
        ZC_FLUSH_NEWEST, /* last modified first, as in the paper */
    } flush_order;
    enum zc_replay {
        ZC_REPLAY_OFF,    /* bytes that a lossy store has taken are not kept for it; ... */
        ZC_REPLAY_ON,     /* they are, while there is room, to be sent again; ... */
        ZC_REPLAY_STRICT, /* they stay until they are stored: see zc_retain.h */
    } replay;             /* for files that are not opened with ZC_OPEN_REPLAY* */
    bool uncached;  /* pages are buffers: forgotten when they are clean and nobody uses them */
    bool transient; /* handles are of this process's own: while there is one, a file is changed by
                       its job alone, and other processes of that are at work on it (zc_token.h) */
    bool shown;     /* other processes of this user may read pages out of this one's memory */
};

/* What has an option, too: the table in zc_settings.c makes its text of these numbers, which
 * therefore are bare. */
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
        .failed_quota = ZC_DEFAULT_FAILED_PERCENT, .flush_order = ZC_FLUSH_OLDEST                  \
    }

/* Does not take ownership of `store`, which must outlive the cache.
 * -EINVAL with a text that names the setting when the configuration makes no sense. */
int zc_cache_create(const struct zc_cache_config *cfg, struct zc_store *store,
                    struct zc_cache **out);
/* Handles should be closed; those that are not, of files that a program never closes, must not be
 * used any more.  What is not written back is lost (zc_cache_abandon()): drain first. */
void zc_cache_destroy(struct zc_cache *c);

/* What may change while a cache is in use. */
struct zc_cache_limits {
    size_t capacity; /* bytes; less than two pages: all that can go goes, nothing comes */
    unsigned high_watermark, low_watermark, idle_ms; /* as in zc_cache_config */
};

/* Pages may lie in so many bytes, if they may not yet; -ENOMEM: not, explained.  Changes nothing
 * else: who registers the memory does so before zc_cache_limit(). */
int zc_cache_extend(struct zc_cache *c, size_t capacity);
/* Takes effect at once, but that pages which are dirty or in use go as they become clean and are
 * let go: a cache that becomes smaller writes them back. */
void zc_cache_limit(struct zc_cache *c, const struct zc_cache_limits *l);
/* What is in force. */
void zc_cache_limits(struct zc_cache *c, struct zc_cache_limits *out);
/* For who asks: bytes that all caches of the process have together, where there are several. */
void zc_cache_set_budget(struct zc_cache *c, uint64_t bytes);
uint64_t zc_cache_budget(struct zc_cache *c);

/* The memory all pages lie in, for registering it with a fabric; longer after an extension. */
void zc_cache_arena(struct zc_cache *c, void **base, size_t *len);
uint32_t zc_cache_page_size(const struct zc_cache *c);
bool zc_cache_uncached(const struct zc_cache *c);

/* ---- files: these calls block in the store; call them where blocking is allowed ---- */

/* Beside the store's ZC_OPEN_*: how what a lossy store has taken of the file is kept, as long as
 * somebody has it open, and at least so. */
enum { ZC_OPEN_REPLAY = 256, ZC_OPEN_REPLAY_STRICT = 512 };

/* attr->set, on entry: the daemons that serve the file, as the opener sees it.  -EBUSY, and
 * attr->set says which: another set has it open.  On return the one in force, which is not the
 * opener's while bytes of another are unwritten: flush, close, and open again.
 *
 * ZC_OPEN_CHECKSUM: pages of the file that enter the cache from now on, until nobody has it open,
 * have checksums (zc_page_sums.c); an error where they cannot be made.
 *
 * Opens through the store with ZC_OPEN_* flags.  Opens that meet the same (dev, ino)
 * share a file.  What is cached and clean is kept only if the file is known not to have been
 * changed by others (zc_token.h), whoever has it open.
 * `attr` as in zc_store_ops.open, with the size as zc_cache_size() sees it; its block size
 * and stride say along which pages the handle is read ahead. */
int zc_cache_open(struct zc_cache *c, const char *path, unsigned flags, mode_t mode,
                  struct zc_handle **out, struct zc_attr *attr);

/* Reads at most `depth` pages ahead for this handle from now on, instead of the cache's own
 * number; 0: none.  An uncached cache never does. */
void zc_cache_prefetch(struct zc_handle *h, uint32_t depth);

/* Whoever has this number has one share of the cache, besides others (zc_share.h); it is to be put
 * back as often.  NULL: no memory, and what is opened shares with all who have none. */
struct zc_share *zc_cache_share(struct zc_cache *c, uint64_t id);
void zc_cache_share_put(struct zc_cache *c, struct zc_share *s); /* NULL: nothing */
/* What the handle asks for is of this share (NULL: changes nothing), which may be put back before
 * the handle is closed.  Once, before its first access. */
void zc_cache_charge(struct zc_handle *h, struct zc_share *s);

/* Ends the handle, always; no access or flush of it may be under way.  Does not write
 * back: zc_cache_flush() first, or let the background do it (a file nobody has open is
 * written back at once, however little is dirty).  What the store refuses stays, and is tried
 * again; the close of a handle that may write returns that, with path, amount, range and
 * cause, as it returns what is lost of the file, and a failure this handle has not been told
 * of.  An unlinked file is dropped without write-back. */
int zc_cache_close(struct zc_handle *h);
/* Before the close of one that several shared: who closes it has been told of so many failures
 * (zc_flush.told). */
void zc_cache_told(struct zc_handle *h, uint64_t told);
/* Whose handle it was is gone, or never had the file for longer than a look: its close does not
 * mean that nobody else has changed the file until now. */
void zc_cache_disown(struct zc_handle *h);

/* The same for all handles of a file, and most likely for no other file's. */
uint64_t zc_cache_key(const struct zc_handle *h);

/* Size in bytes, counting cached writes. Does not block. */
uint64_t zc_cache_size(struct zc_handle *h);

/* Forgets what is clean, unless the file is known not to have been changed by others, and takes the
 * size from the store.
 * What is dirty stays.  Reads that begin afterwards see what others wrote, also in pages that
 * are dirty, in use or being read meanwhile.  Blocks in the store. */
int zc_cache_refresh(struct zc_handle *h);

/* Overtakes queued write-back and store reads beyond `size`, waits for store writes there.
 * A write access that is pinned meanwhile and ends afterwards counts as a write after the
 * truncation, with all its bytes; one that ends before is cut.  On an error nothing has
 * changed, but for -EREMOTEIO: then this cache and the file are cut, and others may not be. */
int zc_cache_truncate(struct zc_handle *h, uint64_t size);
/* The same after somebody else has truncated the file: this cache is cut also when the store
 * fails (it is asked, for what this cache has written there meanwhile). */
int zc_cache_cut(struct zc_handle *h, uint64_t size);
int zc_cache_allocate(struct zc_handle *h, uint64_t off, uint64_t len);

/* Unlinks.  Dirty pages of a file whose last link this was are dropped when nobody has
 * it open, and never written back to a new file of that name. */
int zc_cache_unlink(struct zc_cache *c, const char *path);
/* The file is about to be deleted, by who has it open, but not by way of this cache: what has not
 * been written back when that has happened is dropped without a word. */
void zc_cache_doom(struct zc_handle *h);

/* ---- accesses ---- */

enum zc_dir { ZC_READ, ZC_WRITE };

struct zc_view;
struct zc_view_ranges;

/* A view of more bytes is not read ahead along: its streams would keep it in memory when everybody
 * else has forgotten it, and what is so irregular leaves out few pages. */
enum { ZC_FORESEEN_VIEW = 16 << 10 };

/* Belongs to the caller; must stay where it is from begin to end (or to the failing
 * ready()).  The caller fills the first part. */
struct zc_access {
    struct zc_handle *handle;
    enum zc_dir dir;
    uint64_t off; /* file offset, bytes */
    uint32_t len; /* bytes; [off, off+len) lies inside one page; > 0 */
    void (*ready)(struct zc_access *a);
    uint32_t nranges;           /* writes: ranges zc_cache_end_ranges() may be given; 0 is 1 */
    const struct zc_view *view; /* reads: the view it goes through, or NULL; until begin returns */
    int64_t disp, view_off, view_len; /* with a view: its displacement, the bytes visible in it */

    /* Valid once begin returned 0 or ready() was called with status == 0. */
    int status;     /* 0 or negative errno; on an error the access is over, no end */
    void *data;     /* page memory of [off, off+len); until zc_cache_end() */
    uint32_t avail; /* reads: bytes before the end of the file, the rest reads as zeros */

    /* Private to the engine. */
    struct zc_page *page;
    uint32_t page_off;
    uint64_t since; /* when it began to wait */
    struct zc_list link, done_link;
};

/* Aims at the bytes of one page that are visible from `at` on, at most `max` (> 0): sets all of the
 * first part but handle, dir and ready().  *len: how many they are; *r: where they lie, as
 * zc_cache_end_ranges() takes it.  Errors as of zc_vspan() and zc_view_touched(); -EINVAL: they lie
 * before the file. */
int zc_cache_aim(struct zc_access *a, const struct zc_view *v, int64_t disp, int64_t at,
                 int64_t max, struct zc_view_ranges *r, int64_t *len);

/* 0: a->data may be used now.  -EINPROGRESS: a->ready() will be called.  Else an error. */
int zc_cache_begin(struct zc_access *a);

/* moved: the first `moved` bytes of a write arrived (a->len when all did).  The rest of
 * the range is indeterminate: bytes that were clean become invalid, bytes that were dirty
 * stay dirty.  Reads: `moved` is ignored. */
void zc_cache_end(struct zc_access *a, uint32_t moved);

/* Where other processes of this host find what may be read of the page of an access that has not
 * ended, without asking: the address of its struct zc_glance, and the file's number there.  False:
 * nowhere. */
bool zc_cache_shown(const struct zc_access *a, uint64_t *glance, uint64_t *file);
/* The memory that all those addresses are in, which others may map to read (zc_tp_map()); false:
 * there is none. */
bool zc_cache_glances(const struct zc_cache *c, int *fd, uint64_t *at, size_t *len);

/* The end of a write that filled only these page-relative ranges of [off, off+len), sorted
 * and disjoint, at most a->nranges; all other bytes are what they were. */
void zc_cache_end_ranges(struct zc_access *a, const struct zc_range *r, uint32_t n);

/* Blocking copies in and out, page after page; for callers that may wait.
 * Reads are short at the end of the file; both are short when an error came after
 * the first bytes (the next call meets the error). */
ssize_t zc_cache_read(struct zc_handle *h, void *buf, size_t len, uint64_t off);
ssize_t zc_cache_write(struct zc_handle *h, const void *buf, size_t len, uint64_t off);

/* For a write larger than zc_cache_room(): whole pages that are not cached go from `buf`
 * straight to the store, the rest as by zc_cache_write().  Never short: all bytes, or a
 * negative errno and any of them may have arrived. */
ssize_t zc_cache_write_around(struct zc_handle *h, const void *buf, size_t len, uint64_t off);
/* Whether a write at `off` would wait for memory now. */
bool zc_cache_lacks_room(struct zc_handle *h, uint64_t off);
/* Bytes that could be written now without waiting for write-back. */
uint64_t zc_cache_room(struct zc_handle *h);

/* Read and write through a view: `len` visible bytes from `view_off` on, contiguous in `buf`. */
ssize_t zc_cache_vread(struct zc_handle *h, const struct zc_view *v, int64_t disp, void *buf,
                       size_t len, int64_t view_off);
ssize_t zc_cache_vwrite(struct zc_handle *h, const struct zc_view *v, int64_t disp, const void *buf,
                        size_t len, int64_t view_off);

/* ---- write-back ---- */

#define ZC_TOLD_NOTHING UINT64_MAX

/* Belongs to the caller until done(). */
struct zc_flush {
    struct zc_handle *handle;
    enum zc_level level; /* up to the cache's own level: complete at once, unless transient */
    bool quiet;          /* only what is refused now; the rest is left for another flush to tell */
    void (*done)(struct zc_flush *f);
    /* Where several share a handle: failures this one of them has been told of, so that
     * each is told.  ZC_TOLD_NOTHING at first; NULL: the handle's own. */
    uint64_t *told;
    bool for_all; /* whoever shares the handle will be told what comes of it */
    int status;
    char text[ZC_TEXT_MAX]; /* explanation when status < 0: path, range, cause */

    /* Private to the engine. */
    struct zc_file *file;
    struct zc_list link;
    uint64_t target;
    uint64_t since; /* ns; 0: nobody wants to know */
    bool syncing;
    bool asking, asked; /* the store, to try again what it owes itself; once */
};

/* Starts writing everything dirty at the time of the call, pages whose write-back failed
 * included, and calls done() once, when all of it is at `level` or has failed again.
 * A failure is told to every handle open at the time (zc_flush.told: to every one of those who
 * share it), as often as to any other of them, also when all is well by then: so the first of
 * several to ask and the last come to the same verdict.  When the store's sync has failed, or
 * its close, what was written before may be lost: every flush fails from then on, until the
 * file is truncated to 0 or unlinked, or that is given up. */
void zc_cache_flush_start(struct zc_flush *f);
/* The same, waiting for it. */
int zc_cache_flush(struct zc_handle *h, enum zc_level level);
/* The same for nobody to wait for: later flushes and the close report what failed.  The
 * handle may be closed meanwhile.  -ENOMEM: nothing was started. */
int zc_cache_flush_later(struct zc_handle *h, enum zc_level level);

/* The same for somebody who tells all others that share the handle. */
int zc_cache_flush_for_all(struct zc_handle *h, enum zc_level level);

/* Writes back, down to ZC_LEVEL_STORED, what is here of that file, if it is.  What fails is told to
 * those who flush or close it, however often this was told of it. */
int zc_cache_flush_file(struct zc_cache *c, uint64_t dev, uint64_t ino);

/* The writer of these bytes has been told that they could not be written back, or that they are
 * lost: those still refused are forgotten, as is what they made of the file's size.  Waits for
 * store writes of them that are under way, and asks the store for the size: blocks.  `len`
 * UINT64_MAX: whatever is owed of the file from `off` on. */
void zc_cache_give_up(struct zc_handle *h, uint64_t off, uint64_t len);
/* The writer of `bytes` bytes within [lo, hi) was told that they are here, and they are not: they
 * are lost, and told of like all that is (zc_ledger.h).  `err`: a negative errno. */
void zc_cache_lose(struct zc_handle *h, uint64_t lo, uint64_t hi, uint64_t bytes, int err,
                   const char *why);
/* Whether there are bytes that the store has refused, and which are tried again. */
bool zc_cache_refused(struct zc_cache *c);
/* The same of `len` visible bytes of a view from `view_off` on. */
void zc_cache_give_up_view(struct zc_handle *h, const struct zc_view *v, int64_t disp, size_t len,
                           int64_t view_off);

/* Numbers for who keeps a copy of what it has written until it is stored.  What was written before
 * this call has numbers up to *taken; what has numbers up to *stored is in the store, or was cut
 * off, given up or deleted since.  They only grow, as long as the cache lives, whoever opens and
 * closes the file.  `next`: what is written from now on has higher ones.  Does not block. */
void zc_cache_taken(struct zc_handle *h, bool next, uint64_t *taken, uint64_t *stored);

/* Bytes of the file that are not in the store yet, those in store writes under way included.
 * Does not block. */
uint64_t zc_cache_backlog(struct zc_handle *h);
/* Why bytes of the file are not in the store yet, whoever has it open: a negative errno, -EAGAIN
 * when nothing has been refused; 0: they are.  Not explained.  Does not block. */
int zc_cache_owes(struct zc_cache *c, uint64_t dev, uint64_t ino);
/* The same of what has numbers up to this one (zc_cache_taken()); what is written from now on has
 * higher ones. */
int zc_cache_owes_until(struct zc_cache *c, uint64_t dev, uint64_t ino, uint64_t number);
/* Writes back all that is dirty, whatever the watermarks say, until it is called as often without
 * `on`.  Does not block. */
void zc_cache_hurry(struct zc_cache *c, bool on);
/* Bytes that the store has taken and the file system has not.  Blocks in the store. */
int zc_cache_backlog_below(struct zc_handle *h, uint64_t *bytes);

/* Writes back everything of every file, open or not, and closes the store files of those
 * nobody has open; 0 only when nothing dirty is left, nothing is lost of a file that is where it
 * was opened, and no such close failed since the last drain.  -EBUSY when writers kept on
 * writing. */
int zc_cache_drain(struct zc_cache *c);

/* The end has come: what is not written back is lost.  Returns the bytes lost since the cache was
 * made.  Nobody writes any more. */
uint64_t zc_cache_abandon(struct zc_cache *c);

struct zc_span {
    uint64_t lo, hi; /* bytes lo <= x < hi of a file */
};

/* What the cache has lost of a file since it was made. */
struct zc_loss {
    const char *path;
    uint64_t bytes;
    const struct zc_span *spans; /* within these */
    unsigned nspans;
    int err; /* negative errno, and its explanation, of the last of it */
    const char *cause;
};
/* Calls fn for every file that bytes were lost of; fn must not call the cache. */
void zc_cache_losses(struct zc_cache *c, void (*fn)(void *arg, const struct zc_loss *), void *arg);

/* The same for every file of which something is not written back yet, store writes under way
 * included. */
void zc_cache_unwritten(struct zc_cache *c, void (*fn)(void *arg, const struct zc_loss *),
                        void *arg);

/* Drops clean pages nobody uses; returns how many bytes. */
uint64_t zc_cache_evict(struct zc_cache *c);

/* ---- seeing inside ---- */

/* One row per counter: X(name, help).  Bytes unless the name says otherwise. */
#define ZC_CACHE_STATS(X)                                                                          \
    X(capacity_bytes, "page memory allowed")                                                       \
    X(used_bytes, "page memory holding a page")                                                    \
    X(dirty_bytes, "bytes not written back yet, those in store writes under way included")         \
    X(flushing_bytes, "bytes in store writes under way")                                           \
    X(failed_bytes, "dirty bytes whose last write-back failed")                                    \
    X(lost_bytes,                                                                                  \
      "bytes that could not be kept: refused to the end, or their sync or close failed")           \
    X(dropped_bytes, "bytes of files that somebody else deleted before they were written back")    \
    X(retained_bytes, "bytes that a daemon has taken and not stored, kept to be sent again")       \
    X(exposed_bytes, "bytes that a daemon has taken and not stored, and that are not kept")        \
    X(replayed_bytes, "bytes sent again because a daemon died before it had stored them")          \
    X(lost_exposed_bytes, "bytes lost with a daemon that had not stored them, not kept here")      \
    X(damaged_bytes, "bytes whose checksum was wrong in memory: read again, or lost")              \
    X(held_bytes, "page memory with unwritten bytes of files that the store refuses bytes of")     \
    X(pinned_pages, "pages in use by an access")                                                   \
    X(reading_pages, "pages under a store read")                                                   \
    X(waiting_room, "accesses waiting for page memory")                                            \
    X(waiting_read, "accesses waiting for a store read or a conflicting write")                    \
    X(waiting_flush, "flush requests not done")                                                    \
    X(files, "files known")                                                                        \
    X(handles, "opens of files")                                                                   \
    X(read_hits, "read accesses served at once")                                                   \
    X(read_misses, "read accesses that needed the store")                                          \
    X(read_late, "read accesses that waited for a page already being read ahead")                  \
    X(written_hits, "read accesses served at once from pages written to here")                     \
    X(write_accesses, "write accesses")                                                            \
    X(read_bytes, "bytes of read accesses")                                                        \
    X(missed_bytes, "bytes of read accesses that needed the store")                                \
    X(written_bytes, "bytes of write accesses")                                                    \
    X(store_reads, "store read calls")                                                             \
    X(store_read_bytes, "bytes read from the store")                                               \
    X(store_writes, "store write calls")                                                           \
    X(store_written_bytes, "bytes written to the store")                                           \
    X(store_syncs, "store sync calls")                                                             \
    X(around_bytes, "bytes of writes that went around the cache for want of room")                 \
    X(store_errors, "failed store calls")                                                          \
    X(store_read_ns, "time in store reads, of all calls together")                                 \
    X(store_write_ns, "time in store writes, of all calls together")                               \
    X(store_sync_ns, "time in store syncs, of all calls together")                                 \
    X(store_busy_ns, "time in which at least one of these calls was under way")                    \
    X(room_wait_ns, "time accesses waited for page memory, or wrote around the cache for want")    \
    X(read_wait_ns, "time accesses waited for a store read or a conflicting write")                \
    X(prefetched_pages, "pages whose read ahead began")                                            \
    X(prefetched_bytes, "their bytes")                                                             \
    X(prefetch_used_pages, "of these, pages asked for since")                                      \
    X(prefetch_used_bytes, "their bytes")                                                          \
    X(prefetch_late_pages, "of these, pages asked for while the read was under way")               \
    X(prefetch_late_bytes, "their bytes")                                                          \
    X(prefetch_wasted_pages, "pages read ahead that were dropped or overwritten before use")       \
    X(prefetch_wasted_bytes, "their bytes")                                                        \
    X(prefetch_waiting_pages, "pages read ahead, or to be, that nobody asked for yet")             \
    X(range_bytes, "memory for ranges of bytes within pages")                                      \
    X(evictions, "pages evicted")                                                                  \
    X(lock_waits, "times a thread found the cache's lock taken")                                   \
    X(lock_wait_ns, "time threads waited for it, of all together")                                 \
    X(collapses, "pages read to merge too many ranges")                                            \
    X(stale_drops, "times clean pages of a file were dropped because others may have changed it")  \
    X(racy_files, "files that have changed too lately for their times to tell")

struct zc_cache_stats {
#define X(name, help) uint64_t name;
    ZC_CACHE_STATS(X)
#undef X
};

/* A consistent snapshot. */
void zc_cache_stats(struct zc_cache *c, struct zc_cache_stats *out);

struct zc_file_info {
    uint64_t key;     /* zc_cache_key() of its handles */
    const char *path; /* as last opened */
    uint64_t size, cached_bytes, dirty_bytes, failed_bytes;
    uint64_t lost_bytes; /* and not resolved since */
    unsigned handles;
    int error; /* latched write-back error, negative errno, or 0 */
};
/* Calls fn for every file known; fn must not call the cache. */
void zc_cache_files(struct zc_cache *c, void (*fn)(void *arg, const struct zc_file_info *),
                    void *arg);

#endif
