/* zc_cache_internal.h - what the files of the cache engine share, and nobody else.
 *
 * Everything here is guarded by zc_cache.lock unless it says "fixed" (set at creation).
 * Functions are called with the lock held unless their comment says otherwise.  The states
 * of a page are drawn at the top of zc_page.c; invariants and the lock order are described at that
 * of zc_cache.c.
 */
#ifndef ZC_CACHE_INTERNAL_H
#define ZC_CACHE_INTERNAL_H

#include "zc_cache.h"
#include "zc_crew.h"
#include "zc_events.h"
#include "zc_extent.h"
#include "zc_glance.h"
#include "zc_ledger.h"
#include "zc_list.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_lru.h"
#include "zc_predict.h"
#include "zc_retain.h"
#include "zc_share.h"
#include "zc_token.h"

enum { ZC_FILE_BUCKETS = 256 };

#define ZC_NOT_FROZEN UINT64_MAX

/* Which of the file's three lists of unwritten pages a page is on. */
enum zc_page_on { ZC_ON_NONE, ZC_ON_DIRTY, ZC_ON_FAILED, ZC_ON_FLUSHING };

struct zc_page {
    struct zc_file *file; /* NULL: free */
    uint64_t no;          /* page number in the file */
    struct zc_share *share;
    struct zc_page *hash_next;
    struct zc_list file_link;     /* file->pages, or cache->free */
    struct zc_list dirty_link;    /* share->dirty, by last modification */
    struct zc_list state_link;    /* file->dirty, ->failed or ->flushing, see `on` */
    struct zc_list squeeze_link;  /* cache->squeeze */
    struct zc_list fill_link;     /* share->fills or ->fills_ahead: no thread has begun */
    struct zc_list ahead_link;    /* ahead_for->ahead */
    struct zc_list retained_link; /* file->retain.pages, if it retains any */

    struct zc_extents valid;    /* bytes that may be read */
    struct zc_extents dirty;    /* newer than the store */
    struct zc_extents flushing; /* in a store write under way, as they were when it began */

    struct zc_extents retained; /* a lossy store has taken and not stored them: zc_retain.h */

    unsigned pins;          /* accesses between begin and end */
    unsigned nwriters;      /* those of them that write ... */
    unsigned promised;      /* ... and the ranges they may add when they end */
    struct zc_list writers; /* zc_access.link of them: their ranges are in flight */
    struct zc_list waiters; /* zc_access.link, first come first */

    enum zc_page_on on;
    bool reading;    /* a store read fills gaps of `valid`, or is queued to */
    bool read_ahead; /* that read began because somebody may want it later */
    bool read_alone; /* failed together with others: try it alone before blaming it */
    bool stale;      /* what that read brings is overtaken: it is thrown away */
    bool written;    /* holds bytes that were written here */
    bool collapsing; /* that read is to merge ranges */
    bool squeeze;    /* too many ranges, not to be merged: to be written, then forgotten */
    bool in_flush;   /* part of a flush job */
    bool alone;      /* failed together with others: try it alone before blaming it */
    bool failed;     /* its last write-back failed; zc_ledger_page_failed() */
    bool handed;     /* others may have changed in the store what it retains */
    bool claimed;    /* has unwritten bytes, or will have: a write is under way */
    bool at_stake;   /* claimed, or retains bytes */
    bool spoiled;    /* clean bytes of [spoiled_lo, spoiled_hi) may hold anything, and are among
                        `valid` for want of memory */
    bool outdated;   /* others may have changed what is clean: readers wait for those at work */
    bool summed;     /* what lies in it has checksums: zc_page_sums.c */

    uint32_t spoiled_lo, spoiled_hi;
    uint32_t max_extents;     /* more ranges than this ask for a collapse */
    size_t range_bytes;       /* its part of cache->range_bytes */
    uint64_t epoch;           /* file->epoch when the oldest dirty byte became dirty */
    uint64_t flush_epoch;     /* the same for the bytes in `flushing` */
    uint64_t retained_epoch;  /* file->epoch when the oldest byte of `retained` became dirty ... */
    uint64_t retained_number; /* ... and the store's number of them: zc_progress.taken */
    uint64_t attempt;         /* file->epoch when the last write-back that failed began */
    uint64_t dirty_since;     /* when the oldest byte that waits for write-back was written, ns */
    uint64_t touched;         /* when it was last modified, ns, unless that was too often */
    struct zc_lru_page lru;

    struct zc_handle *ahead_for; /* read ahead for this handle, not asked for yet; or NULL */
    uint32_t ahead_stream;       /* which of its streams proposed it */
    uint32_t ahead_bytes;        /* how much is read */
    bool ahead_begun;            /* the read ahead has begun, or is over */
    bool foreseen;               /* it was asked for ahead since it is in the cache */
};

/* Pages [first, end) are on their way to the store, around the cache. */
struct zc_around {
    struct zc_list link; /* file->arounds */
    uint64_t first, end;
};

struct zc_file {
    struct zc_cache *cache; /* fixed */
    uint64_t dev, ino;      /* fixed */
    int64_t born_ns;        /* as the last open has it; 0: nobody knows */
    uint64_t block_size;    /* as the store gave it at the first open */
    char *path;             /* as last opened */
    struct zc_list link;    /* cache->files[] */

    uint64_t size;            /* bytes, counting cached writes */
    struct zc_token token;    /* of what its clean bytes are */
    struct zc_set set;        /* whose bytes they are: of the daemons that opens have named */
    unsigned nplaced;         /* handles whose open has named them */
    struct zc_sfile *rd, *wr; /* store files: for reading, for writing; may be NULL */
    bool wr_reads;            /* wr was opened for reading as well */
    bool summed;              /* pages that enter the cache have checksums from now on */

    unsigned handles, refs; /* refs: others who need this struct to stay */
    bool ctl;               /* one of open, close, truncate, allocate, unlink is at work */
    bool unlinked;
    bool doomed;     /* zc_cache_doom() */
    bool abandoned;  /* by zc_cache_abandon() */
    bool settling;   /* the store files are being closed; with ctl */
    uint64_t frozen; /* no store I/O starts on pages that end beyond this offset */

    struct zc_list pages;
    uint64_t npages, nreading, nflushing;
    unsigned nfilling, nfilling_ahead; /* store reads under way, and those of them ahead */
    uint64_t nclaimed;                 /* pages with `claimed` ... */
    uint64_t nfailed;                  /* ... and with `failed`, being tried again or not */
    struct zc_list dirty;              /* by epoch */
    struct zc_list failed;             /* dirty, last write-back failed */
    struct zc_list flushing;           /* in a flush job */
    uint64_t dirty_bytes, flushing_bytes;
    struct zc_list arounds; /* struct zc_around */

    uint64_t epoch; /* from 1; more with each flush request, and whenever who asks for numbers of
                       what is written wants higher ones (zc_cache_taken()) */
    struct zc_list flushes;     /* zc_flush.link */
    bool syncing;               /* a store sync is under way */
    struct zc_list eager_link;  /* cache->eager */
    struct zc_list failed_link; /* cache->failed_files */
    uint64_t retry_at, backoff; /* ns; of failed pages */
    uint64_t drain_pass;

    struct zc_why write_why;  /* why pages are in `failed` */
    struct zc_why access_why; /* why an access was failed last */
    struct zc_ledger ledger;
    struct zc_retain retain;
};

struct zc_handle {
    struct zc_file *file;   /* fixed */
    unsigned flags;         /* fixed */
    struct zc_share *share; /* zc_cache_charge() */
    uint64_t told_base;     /* failures before the open, or told to all who share it */
    uint64_t told;          /* failures this handle has been told of */
    unsigned accesses;      /* begun and not ended */
    bool disowned;          /* zc_cache_disown() */
    bool placed;            /* fixed: its open has named the daemons that serve the file */

    struct zc_predict predict;
    struct zc_list ahead;      /* zc_page.ahead_link, oldest first */
    unsigned nahead;           /* how many */
    struct zc_list ahead_link; /* cache->ahead_waits */
};

struct zc_cache {
    struct zc_lock lock;
    size_t range_bytes;         /* room for ranges of all pages */
    zc_cond work;               /* flushers: there may be something to do */
    zc_cond fill_work;          /* readers: a page to be read is queued */
    zc_cond changed;            /* those who wait for ctl, in-flight I/O or settling of a file */
    struct zc_cache_config cfg; /* fixed, but for what zc_cache_limit() changes */
    struct zc_store *store;     /* fixed */
    char *arena;                /* fixed */
    uint32_t page_size, page_shift; /* fixed */
    uint64_t reserved;              /* fixed: frames there are addresses for */
    uint64_t extent;                /* frames there may be memory for; never less than before */
    uint64_t npages;                /* frames that may have memory now; see zc_frames.c */
    uint64_t high_bytes, low_bytes; /* of these */
    uint64_t budget;                /* bytes: zc_cache_set_budget() */
    struct zc_page *pages;          /* fixed; pages[i] describes the i-th frame */
    struct zc_grain *grains;        /* of all frames; NULL until a file has checksums */
    struct zc_page **hash;
    uint64_t hash_mask;
    struct zc_glance *glances; /* fixed; of each frame; NULL: they are not shown */
    int glances_fd;            /* fixed; of the memory that has them */
    uint64_t first_turn;       /* fixed; of all glances: nobody else's memory looks like them */

    uint64_t fresh;       /* frames from here on were never used */
    uint64_t populated;   /* bytes of the arena that were asked of the kernel, or all */
    uint64_t busy_at;     /* when a frame was used first, or a page modified; ns */
    uint64_t flush_at;    /* when a flush was asked for */
    bool populating;      /* a flusher is going to look whether to ask for more */
    uint64_t nheld;       /* frames with memory: those with a page, and free ones */
    struct zc_list free;  /* frames without a page that have their memory */
    struct zc_list spare; /* frames that have given it back, when the cache became smaller */
    struct zc_lru lru;    /* which page goes when none is free */
    uint64_t ndirty;      /* pages that are ZC_ON_DIRTY: zc_share.dirty */
    struct zc_list squeeze;
    struct zc_list ahead_waits; /* handles that would read ahead more, zc_handle.ahead_link */
    struct zc_list room;        /* shares with accesses that wait for a page, zc_share.room_link */
    struct zc_list curbed;      /* writes that wait because too much is unwritten, zc_access.link */
    struct zc_list files[ZC_FILE_BUCKETS];
    struct zc_list eager;        /* files to be written back, synced or closed now */
    struct zc_list failed_files; /* files with failed pages */
    struct zc_list retaining;    /* files with retained or exposed bytes, zc_retain.link */
    struct zc_list looks;        /* files whose attributes are to be read, zc_token.link */

    struct zc_list shares; /* zc_share.link */
    unsigned nshares;
    struct zc_share nobody;             /* one of them: of handles that have no other */
    unsigned nopen;                     /* shares, but nobody's, that have files open */
    unsigned nclaiming;                 /* shares that have claimed pages */
    uint64_t *wants;                    /* room for a number of each, while a level is computed */
    struct zc_fair_clock writes, reads; /* of the turns of shares */
    uint64_t tries;                     /* rounds of zc_share_reader(), and writer */

    /* Completions of this critical section; empty whenever the lock is free. */
    struct zc_list done_accesses, done_flushes;

    bool over;           /* zc_cache_abandon() */
    bool stop, draining; /* draining: between the watermarks, on the way down */
    unsigned drains;     /* zc_cache_drain() calls under way */
    uint64_t drain_pass;
    uint64_t epochs;                  /* the highest of files that were forgotten */
    uint64_t changes;                 /* of store files, made by us; those forgotten included */
    struct zc_why late;               /* a store file nobody had open failed to close */
    struct zc_crew flushers, readers; /* about files: zc_crew_file() */
    unsigned nfilling_ahead;          /* readers at work on reads ahead */
    uint64_t nfills_ahead;            /* pages on fills_ahead of all shares */
    uint64_t nahead;                  /* pages with ahead_for */

    uint64_t dirty_bytes, flushing_bytes, retained_bytes; /* sums over pages */
    struct zc_watch watch;                                /* of the store, if it is lossy */
    uint64_t nused, npinned, nreading, nflushing;
    uint64_t nclaimed; /* pages with `claimed`, ... */
    uint64_t nstake;   /* pages that are claimed or retain bytes */
    uint64_t nbarred;  /* ... of files that have failed ones */
    uint64_t nrefused; /* pages with `failed`; read without the lock */
    bool shrunk;       /* or a daemon died: all pages may be claimed until some are written back */
    struct zc_list losses; /* zc_ledger.c */
    unsigned nlosses;
    struct zc_list kept; /* files kept for what is lost of them, the one used last at the tail */
    unsigned nkept;
    struct zc_cache_stats st; /* the counters; gauges are filled in by zc_cache_stats() */
    unsigned ncalls;          /* of the store, to read, write or sync, under way */
    uint64_t busy_since;      /* ns; since when there are any */
};

/* ---- zc_cache.c ---- */

/* Ends a critical section: gives room to who waits for it, releases the lock, then runs
 * the callbacks of accesses and flushes that were completed. */
void zc_cache_unlock(struct zc_cache *c);
/* Waits on c->changed; returns early when there are completions to deliver first. */
void zc_cache_wait(struct zc_cache *c);
void zc_kick(struct zc_cache *c); /* wakes every flusher */
/* An explanation in these words, which are the cause, too; this thread's of `err`; and the reverse:
 * it becomes this thread's, and its error is returned. */
void zc_why_set(struct zc_why *w, int err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void zc_why_take(struct zc_why *w, int err);
int zc_why_tell(const struct zc_why *w);

/* ---- zc_times.c: how long the store takes, and who waits ---- */
/* Around a store call, both with the lock; begin tells when.  `kind` is ZC_EVENT_STORE_..., and
 * `bytes` negative when it has failed. */
uint64_t zc_call_began(struct zc_cache *c);
void zc_call_ended(struct zc_cache *c, uint64_t began, enum zc_event_kind kind, int64_t bytes);
/* An access begins to wait for room, or for a page; and has waited. */
void zc_waits_room(struct zc_cache *c, struct zc_access *a);
void zc_waited_room(struct zc_cache *c, const struct zc_access *a);
void zc_waits_page(struct zc_cache *c, struct zc_access *a);
void zc_waited_page(struct zc_cache *c, const struct zc_access *a);

/* ---- zc_page_sums.c: checksums of what lies in pages; nothing where a page has none ---- */
int zc_page_sums_load(struct zc_cache *c); /* without the lock; 0 or explained: before any other */
void zc_page_sums_free(struct zc_cache *c);
void zc_page_sums_enter(struct zc_cache *c, struct zc_page *p); /* the page is a file's now */
/* What is damaged of [lo, hi), to the edges of its grains, is forgotten, and lost if it is not in
 * the store: `valid` and what is unwritten become less.  Wakes nobody. */
void zc_page_sums_check(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi);
void zc_page_sums_check_flushing(struct zc_cache *c, struct zc_page *p); /* where it is flushing */
/* Where a write leaves bytes as they are; `whole`: it overwrites all of [lo, hi). */
void zc_page_sums_check_write(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi,
                              bool whole);
/* Bytes of [lo, hi) may change between these. */
void zc_page_sums_open(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi);
void zc_page_sums_close(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi);

/* ---- zc_frames.c: how many there are ---- */
int zc_frames_init(struct zc_cache *c); /* 0 or -ENOMEM; zc_frames_free() either way */
void zc_frames_free(struct zc_cache *c);
bool zc_frames_over(const struct zc_cache *c);      /* more are held than may be */
bool zc_frames_any(const struct zc_cache *c);       /* one without a page may be had */
struct zc_page *zc_frames_take(struct zc_cache *c); /* that one; NULL: none */
void zc_frames_give(struct zc_cache *c, struct zc_page *p);
void zc_frames_shed(struct zc_cache *c); /* gives back memory that is more than may be */
/* Gets some of the memory that will be used next from the kernel, which has to clear it, while
 * nobody writes.  True: it did, and dropped the lock for that; else `*wake`, if that is later,
 * becomes when to ask again.  By flushers that have nothing to do. */
bool zc_cache_populate(struct zc_cache *c, uint64_t *wake);

/* ---- zc_show.c: what other processes may read without asking ---- */
bool zc_show_init(struct zc_cache *c); /* false: no memory; zc_show_free() either way */
void zc_show_free(struct zc_cache *c);
void zc_show_frame(struct zc_cache *c, const struct zc_page *p); /* a new one */
void zc_show_page(struct zc_cache *c, const struct zc_page *p);  /* as it is now */
void zc_show_not(struct zc_cache *c, const struct zc_page *p);
void zc_show_end(struct zc_file *f, uint64_t size); /* the file has this size from now on */
bool zc_show_is_true(const struct zc_cache *c, const struct zc_page *p); /* invariant 16 */

/* ---- zc_check.c: debug builds ---- */
#ifdef ZC_DEBUG
void zc_cache_check(struct zc_cache *c);
#else
static inline void zc_cache_check(struct zc_cache *c)
{
    (void)c;
}
#endif

/* What members of the crews get stuck about. */
static inline uint64_t zc_crew_file(const struct zc_file *f)
{
    return (uintptr_t)f;
}

/* ---- zc_page.c: frames, table, lists, dirty accounting ---- */
struct zc_page *zc_page_find(struct zc_cache *c, const struct zc_file *f, uint64_t no);
void zc_page_hash(struct zc_cache *c, struct zc_page *p); /* puts it where find() looks */
/* A frame for page `no` of the handle's file, and of its share, evicting another page if need be
 * (zc_lru.h); NULL: no room, or the page is on its way to the store around the cache. */
struct zc_page *zc_page_take(struct zc_cache *c, const struct zc_handle *h, uint64_t no);
/* The same to read ahead: evicts only what is old; NULL: nothing is. */
struct zc_page *zc_page_take_ahead(struct zc_cache *c, const struct zc_handle *h, uint64_t no);
/* Frees a page that nobody uses; its dirty bytes are forgotten.  May free its file. */
void zc_page_drop(struct zc_cache *c, struct zc_page *p);
bool zc_page_idle(const struct zc_page *p); /* may be dropped */
/* Puts the page on the lists its state asks for.  Call after every change. */
void zc_page_place(struct zc_cache *c, struct zc_page *p);
char *zc_page_data(struct zc_cache *c, const struct zc_page *p);
uint64_t zc_page_offset(struct zc_cache *c, const struct zc_page *p); /* in the file */
bool zc_page_frozen(struct zc_cache *c, const struct zc_page *p);
bool zc_page_available(struct zc_cache *c); /* a frame is free or evictable */

/* Memory so that `more` further ranges can be added without fail; 0 or -ENOMEM. */
int zc_page_reserve(struct zc_page *p, unsigned more);
void zc_page_dirty(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi);
void zc_page_dirty_many(struct zc_cache *c, struct zc_page *p, const struct zc_range *r,
                        uint32_t n);
void zc_page_clean(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi);
/* There is memory for zc_page_lose() of a part. */
bool zc_page_may_lose(struct zc_page *p);
/* Nothing is known of these bytes any more, dirty ones and those in a store write included. */
void zc_page_lose(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi);
int zc_page_to_flushing(struct zc_cache *c, struct zc_page *p); /* 0 or -ENOMEM */
void zc_page_flushed(struct zc_cache *c, struct zc_page *p);
/* Whether the page has more ranges than it may, or than there is memory for. */
bool zc_page_scattered(const struct zc_cache *c, const struct zc_page *p);
/* Counts the memory of the page's ranges, after giving back what nobody needs. */
void zc_page_trim(struct zc_cache *c, struct zc_page *p);
void zc_page_count_ranges(struct zc_cache *c, struct zc_page *p);
/* What it retains is dirty again; 0, or -ENOMEM and nothing has changed. */
int zc_page_again(struct zc_cache *c, struct zc_page *p);
void zc_page_unflushed(struct zc_cache *c, struct zc_page *p);
void zc_page_forget_clean(struct zc_cache *c, struct zc_page *p);
int zc_page_outdate(struct zc_cache *c, struct zc_page *p); /* 0 or -ENOMEM */
void zc_page_renew(struct zc_cache *c, struct zc_page *p);
/* Clean bytes of [lo, hi) may hold anything: nobody reads them any more. */
void zc_page_invalidate(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi);
/* Makes an end of `spoiled`; false: there is still no memory for it. */
bool zc_page_unspoil(struct zc_cache *c, struct zc_page *p);

/* ---- zc_quota.c: how much may be unwritten ---- */
enum zc_quota {
    ZC_QUOTA_FREE, /* a write may begin */
    ZC_QUOTA_WAIT, /* for write-back */
    ZC_QUOTA_FULL, /* nothing will make room; file->access_why says why */
};
/* Before a write by the handle begins, on page `p` or one that is not cached (NULL). */
enum zc_quota zc_quota_ask(struct zc_cache *c, const struct zc_handle *h, const struct zc_page *p);
void zc_quota_claim(struct zc_cache *c, struct zc_page *p, bool claimed);
/* Pages that files may claim which nothing is refused of. */
uint64_t zc_quota_healthy(const struct zc_cache *c);

/* ---- zc_access.c: begin, end, waiters ---- */
void zc_page_wake(struct zc_cache *c, struct zc_page *p);
void zc_page_fail_readers(struct zc_cache *c, struct zc_page *p, int err, const char *text);
void zc_room_serve(struct zc_cache *c);

/* ---- zc_around.c ---- */
bool zc_around_claims(const struct zc_file *f, uint64_t no);
/* Something is under way around the cache that ends beyond file->frozen. */
bool zc_around_beyond(struct zc_cache *c, const struct zc_file *f);

/* ---- zc_fill.c: store reads and collapsing ---- */
bool zc_fill_gap(const struct zc_page *p, uint32_t lo, uint32_t hi, struct zc_range *gap);
bool zc_fill_start(struct zc_cache *c, struct zc_page *p);
void zc_fill_ahead(struct zc_cache *c, struct zc_page *p);
bool zc_fill_hurry(struct zc_cache *c, struct zc_page *p);
bool zc_fill_cancel(struct zc_cache *c, struct zc_page *p);
void zc_fill_collapse(struct zc_cache *c, struct zc_page *p);
void *zc_fill_thread(void *cache);

/* ---- zc_ahead.c: reading ahead ---- */
void zc_ahead_open(struct zc_cache *c, struct zc_handle *h, uint64_t block_size, uint64_t stride);
void zc_ahead_stop(struct zc_cache *c, struct zc_handle *h);
void zc_ahead_touch(struct zc_cache *c, const struct zc_access *a, const struct zc_page *p);
unsigned zc_ahead_threads(const struct zc_cache *c);
void zc_ahead_serve(struct zc_cache *c);
void zc_ahead_started(struct zc_cache *c, struct zc_page *p);
void zc_ahead_used(struct zc_cache *c, struct zc_page *p);
void zc_ahead_wasted(struct zc_cache *c, struct zc_page *p);
void zc_ahead_yield(struct zc_cache *c, struct zc_page *p);
void zc_ahead_forget(struct zc_cache *c, struct zc_file *f);
void zc_ahead_overtake(struct zc_cache *c, struct zc_file *f, uint64_t size);

/* ---- zc_write_back.c: the flushers ---- */
void *zc_write_back_thread(void *cache);

/* ---- zc_flush.c: flush requests ---- */
uint64_t zc_flush_target(const struct zc_file *f, bool *any);
void zc_flush_check(struct zc_cache *c, struct zc_file *f);
bool zc_flush_wants_sync(const struct zc_file *f);
/* Of the first request. */
struct zc_share *zc_flush_share(const struct zc_file *f);
void zc_flush_sync(struct zc_cache *c, struct zc_file *f);
/* Hands over what is dirty now, for nobody's handle; drops the lock meanwhile, the caller keeps the
 * file by a ref.  0, or what the store said. */
int zc_flush_again(struct zc_cache *c, struct zc_file *f);
/* Asks the store of a file to store what it has taken (zc_retain_to_ask()). */
void zc_flush_ask(struct zc_cache *c, struct zc_file *f);

/* ---- zc_file.c: opens and closes ---- */
void zc_file_eager(struct zc_cache *c, struct zc_file *f); /* on or off cache->eager */
bool zc_file_unwritten(const struct zc_file *f);
bool zc_file_may_settle(const struct zc_file *f);
int zc_file_settle(struct zc_cache *c, struct zc_file *f);
/* If nobody has it open: was it deleted by somebody else?  Then its bytes are dropped.  May drop
 * the lock; the caller keeps the file by a ref. */
void zc_file_look(struct zc_cache *c, struct zc_file *f);
void zc_file_discard(struct zc_cache *c, struct zc_file *f);
int zc_file_outdate(struct zc_cache *c, struct zc_file *f);
bool zc_file_unused(const struct zc_file *f); /* nothing refers to it */
void zc_file_reap(struct zc_file *f);
void zc_file_destroy(struct zc_file *f);
struct zc_file *zc_file_find(struct zc_cache *c, uint64_t dev, uint64_t ino);
void zc_ctl_get(struct zc_cache *c, struct zc_file *f);
void zc_ctl_put(struct zc_cache *c, struct zc_file *f);

#endif
