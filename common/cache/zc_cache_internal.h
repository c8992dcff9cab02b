/* zc_cache_internal.h - internal to the files of the cache.
 *
 * Everything here is guarded by zc_cache.lock unless marked "fixed" (set at creation).  Functions
 * are called with the lock held unless their comment says otherwise.  Page states are drawn in
 * zc_page.c; zc_cache.c has the invariants and the lock order.
 */
#ifndef ZC_CACHE_INTERNAL_H
#define ZC_CACHE_INTERNAL_H

#include "zc_cache.h"
#include "zc_cache_tenant.h"
#include "zc_cost.h"
#include "zc_events.h"
#include "zc_extent.h"
#include "zc_list.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_lru.h"
#include "zc_file_state.h"
#include "zc_page_state.h"
#include "zc_pagedesc.h"
#include "zc_ra_predict.h"
#include "zc_unstable.h"
#include "zc_validator.h"
#include "zc_wb_errors.h"
#include "zc_workers.h"

enum { ZC_FILE_BUCKETS = 256 };
enum { ZC_WINDOW_PAGES = 256 }; /* of one store write, at most */

#define ZC_NOT_FROZEN UINT64_MAX

struct zc_page {
    struct zc_file *file; /* NULL: free */
    uint64_t no;          /* page number in the file */
    struct zc_cache_tenant *tenant;
    struct zc_page *hash_next;
    struct zc_list file_link;     /* file->pages, or cache->free */
    struct zc_list dirty_link;    /* tenant->dirty, by last modification */
    struct zc_list complete_link; /* tenant->complete */
    struct zc_list state_link;    /* file->dirty, ->failed or ->flushing, see `on` */
    struct zc_list drop_link;     /* cache->to_drop */
    struct zc_list fill_link;     /* tenant->fills or ->fills_ahead: not begun by a thread */
    struct zc_list ahead_link;    /* ahead_for->ahead */
    struct zc_list kept_link;     /* file->unstable.pages, if it keeps unstable bytes */

    struct zc_extents valid;    /* bytes that may be read */
    struct zc_extents dirty;    /* newer than the store */
    struct zc_extents flushing; /* in a store write under way; as of its begin */

    struct zc_extents kept; /* unstable bytes of a lossy store: zc_unstable.h */

    unsigned pins;          /* accesses between begin and end */
    unsigned nwriters;      /* those of them that write ... */
    unsigned promised;      /* ... and the ranges they may add at their end */
    struct zc_list writers; /* zc_access.link of writers: their ranges are in flight */
    struct zc_list waiters; /* zc_access.link, first come first */

    /* Changed by ZC_PAGE_MOVE(). */
    enum zc_page_on on;
    enum zc_page_fill fill;
    enum zc_page_reads reads;
    enum zc_page_refused refused;
    enum zc_page_ahead ahead;
    enum zc_page_stake stake;

    bool stale;       /* the result of the read is outdated and will be thrown away */
    bool written;     /* has bytes written by accesses */
    bool in_flush;    /* part of a flush job */
    bool stored_once; /* written back since it entered the cache */
    bool published;   /* other jobs may have changed its unstable bytes in the store */
    bool outdated;    /* clean bytes may be outdated: reads wait for accesses under way */
    bool summed;      /* has checksums: zc_page_csum.c */

    uint32_t narrow_lo, narrow_hi;       /* ZC_READS_NARROW: these bytes are read now */
    uint32_t undefined_lo, undefined_hi; /* clean bytes of this range are undefined, but in `valid`
                                            for want of memory; 0: there are none */
    uint32_t outdates;                   /* how often it became outdated */
    uint32_t max_extents;                /* number of ranges that triggers a collapse */
    size_t range_bytes;                  /* its contribution to cache->range_bytes */
    uint64_t epoch;                      /* file->epoch when the oldest dirty byte became dirty */
    uint64_t flush_epoch;                /* the same for the bytes in `flushing` */
    uint64_t kept_epoch;  /* file->epoch when the oldest byte of `kept` became dirty ... */
    uint64_t kept_seq;    /* ... and the store's number for them: zc_progress.unstable_seq */
    uint64_t attempt;     /* file->epoch when the last failed write-back began */
    uint64_t dirty_since; /* when the oldest unwritten byte was written, ns */
    uint64_t
        touched; /* last modification, ns; after RESTLESS idle times dirty it stays: zc_access.c */
    struct zc_lru_page lru;

    struct zc_handle *ahead_for; /* read ahead for this handle and not used yet; or NULL */
    uint32_t ahead_stream;       /* id of the stream that proposed it */
    uint32_t ahead_bytes;        /* bytes to read */
};

/* Whether the page has too many ranges to merge, and is to be written, then dropped. */
static inline bool zc_page_to_drop(const struct zc_page *p)
{
    return zc_list_linked(&p->drop_link);
}

static inline bool zc_page_is_undefined(const struct zc_page *p)
{
    return p->undefined_hi > 0;
}

/* A direct write of pages [first, end) under way. */
struct zc_direct_write {
    struct zc_list link; /* file->direct_writes */
    uint64_t first, end;
};

struct zc_file {
    struct zc_cache *cache; /* fixed */
    uint64_t dev, ino;      /* fixed */
    int64_t born_ns;        /* as of the last open; 0: unknown */
    uint64_t block_size;    /* as the store returned it at the first open; as are these: */
    uint32_t width, first;
    uint32_t servers;    /* that its blocks are distributed over; the most of all opens */
    char *path;          /* as of the last open */
    struct zc_list link; /* cache->files[] */

    uint64_t size;                 /* bytes, including cached writes */
    struct zc_validator validator; /* of the clean bytes */
    struct zc_set set;             /* the set of daemons that opens have named */
    unsigned nplaced;              /* handles whose open named it */
    struct zc_sfile *rd, *wr;      /* store files: for reading, for writing; may be NULL */
    bool wr_reads;                 /* wr may read as well */
    bool step_reader, step_writer; /* their open flags: zc_cache_steps.c */
    bool summed;                   /* pages that enter the cache now have checksums */

    unsigned handles, refs; /* refs: other references to this struct */
    enum zc_file_ctl ctl;   /* changed by ZC_FILE_MOVE(), as is: */
    enum zc_file_name name;
    unsigned closing; /* threads in zc_cache_close(): they settle the file, no flusher does */
    bool abandoned;   /* by zc_cache_abandon() */
    uint64_t frozen;  /* no store I/O starts on pages that end beyond this offset */

    struct zc_list pages;
    uint64_t npages, nreading, nflushing;
    unsigned nfilling, nfilling_ahead; /* store reads under way; those of readahead */
    uint64_t nreserved;                /* pages with ZC_STAKE_RESERVED ... */
    uint64_t nfailed;                  /* ... and those `refused`, whether or not under retry */
    struct zc_list dirty;              /* by epoch */
    struct zc_list failed;             /* dirty, and the last write-back failed */
    struct zc_list flushing;           /* in a flush job */
    uint64_t dirty_bytes, flushing_bytes;
    uint64_t *unwritten;          /* counter of zc_cache_config.unwritten for both; or NULL */
    struct zc_list direct_writes; /* struct zc_direct_write */

    uint64_t epoch; /* from 1; increased by each flush request, and by zc_cache_progress() for
                       higher numbers */
    struct zc_list flushes;        /* zc_flush.link */
    bool syncing;                  /* a store sync is under way */
    struct zc_list flush_now_link; /* cache->flush_now */
    struct zc_list failed_link;    /* cache->failed_files */
    uint64_t retry_at, backoff;    /* ns; of failed pages */
    uint64_t drain_pass;
    uint64_t busy_at;   /* last modification of a page, ns */
    uint64_t store_end; /* size of the file in the store, as far as known: others may write */

    struct zc_error write_why;  /* why pages are in `failed` */
    struct zc_error access_why; /* why the last access failed */
    struct zc_wb_errors wb_errors;
    struct zc_unstable unstable;
};

struct zc_handle {
    struct zc_file *file;           /* fixed */
    unsigned flags;                 /* fixed */
    struct zc_cache_tenant *tenant; /* zc_cache_charge() */
    uint64_t errseq_base;           /* failures before the open, or reported to all clients of it */
    uint64_t errseq;                /* failures reported to this handle */
    unsigned accesses;              /* begun and not ended */
    bool disowned;                  /* zc_cache_disown() */
    bool placed;                    /* fixed: its open named the daemons that serve the file */

    struct zc_ra_predict predict;
    struct zc_list ahead;      /* zc_page.ahead_link, oldest first */
    unsigned nahead;           /* how many */
    struct zc_list ahead_link; /* cache->ahead_waits */
};

struct zc_cache {
    struct zc_lock lock;
    size_t range_bytes;                /* memory for ranges of all pages */
    zc_cond work;                      /* wakes flushers */
    zc_cond fill_work;                 /* wakes readers: a page to be read is queued */
    zc_cond changed;                   /* for ctl, I/O in flight or settling of a file */
    struct zc_cache_config cfg;        /* fixed, except for what zc_cache_limit() changes */
    struct zc_store *store;            /* fixed */
    char *arena;                       /* fixed */
    uint32_t page_size, page_shift;    /* fixed */
    uint64_t reserved;                 /* fixed: frames with address space */
    uint64_t extent;                   /* frames whose memory is accessible; only grows */
    uint64_t npages;                   /* frames that may have memory now; see zc_frames.c */
    uint64_t high_bytes, low_bytes;    /* of those, at the watermarks */
    uint64_t budget;                   /* bytes: zc_cache_set_budget() */
    struct zc_page *pages;             /* fixed; pages[i] describes frame i */
    struct zc_csum_chunk *csum_chunks; /* of all frames; NULL until a file has checksums */
    struct zc_page **hash;
    uint64_t hash_mask;
    struct zc_pagedesc *pagedescs; /* fixed; one per frame, and one; NULL: not published */
    int pagedescs_fd;              /* fixed; of the memory that has them */
    uint64_t first_seq; /* fixed; of all descriptors: distinguishes them from other memory */

    uint64_t fresh;     /* frames from here on were never used */
    uint64_t populated; /* bytes of the arena that were populated, or all */
    uint64_t busy_at;   /* first use of a frame or last modification of a page; ns */
    uint64_t opened_at; /* last open of a file for writing; 0: none */
    uint64_t flush_at;  /* last flush request */
    uint64_t
        vain_wait_at; /* busy_at when write-back last waited in vain for a page to become whole */
    unsigned vain_waits;  /* number of such waits since a page became whole while accesses waited */
    bool populating;      /* a flusher is about to decide about populating */
    uint64_t nheld;       /* frames with memory: with a page, or free */
    struct zc_list free;  /* frames without a page, with memory */
    struct zc_list spare; /* frames without memory, since the cache became smaller */
    struct zc_lru lru;    /* which page is evicted next */
    uint64_t ndirty;      /* pages that are ZC_ON_DIRTY: zc_cache_tenant.dirty */
    struct zc_list to_drop;     /* pages to be written, then dropped */
    struct zc_list ahead_waits; /* handles with readahead left to do, zc_handle.ahead_link */
    struct zc_list room; /* tenants with accesses that wait for a page, zc_cache_tenant.room_link */
    struct zc_list throttled; /* writes over the dirty limit, zc_access.link */
    struct zc_list files[ZC_FILE_BUCKETS];
    struct zc_list flush_now;      /* files to be written back, synced or closed now */
    struct zc_list failed_files;   /* files with failed pages */
    struct zc_list unstable_files; /* files with unstable bytes, zc_unstable.link */
    struct zc_list looks;          /* files whose attributes are to be read, zc_validator.link */

    struct zc_list tenants; /* zc_cache_tenant.link */
    unsigned ntenants;
    struct zc_cache_tenant no_tenant;         /* the tenant of handles without one */
    unsigned nopen;                           /* tenants with open files, without that one */
    unsigned nreserving;                      /* tenants with reserved pages */
    uint64_t *wants;                          /* array for the calculation of a level */
    struct zc_fair_share_clock writes, reads; /* for turns of tenants */
    uint64_t tries;                           /* rounds of zc_cache_tenant_reader(), and writer */

    /* Completions of this critical section; empty whenever the lock is free. */
    struct zc_list done_accesses, done_flushes;

    bool over;           /* zc_cache_abandon() */
    bool stop, draining; /* draining: between the watermarks, on the way down */
    unsigned drains;     /* zc_cache_drain() calls under way */
    uint64_t drain_pass;
    uint64_t epochs;                     /* the highest of forgotten files */
    struct zc_error late;                /* a failed close of a store file without handles */
    struct zc_workers flushers, readers; /* store calls are grouped by file: zc_workers_file() */
    uint64_t next_look;      /* ns; a flusher that waits looks for work by then, or UINT64_MAX */
    unsigned nfilling_ahead; /* readers busy with readahead */
    uint64_t nfills_ahead;   /* pages on fills_ahead of all tenants */
    uint64_t nahead;         /* pages with ahead_for */

    uint64_t dirty_bytes, flushing_bytes, retained_bytes; /* sums over pages */
    struct zc_watch watch;                                /* on the store, if it is lossy */
    uint64_t nused, npinned, nreading, nflushing;
    uint64_t nreserved;      /* pages with ZC_STAKE_RESERVED, ... */
    uint64_t npins_unstable; /* pages with any stake */
    uint64_t nbarred;        /* reserved pages of files that have failed ones */
    uint64_t nrefused;       /* pages that are `refused`; read without the lock */
    bool shrunk; /* the cache shrank or a daemon died: all pages may be reserved until some are
                    written back */
    struct zc_list losses; /* zc_wb_errors.c */
    unsigned nlosses;
    struct zc_list kept; /* files kept for their losses only; the last one used at the tail */
    unsigned nkept;
    struct zc_cache_stats st; /* counters; zc_cache_stats() fills in the gauges */
    struct zc_cost cost;      /* measured cost of store calls */
    unsigned ncalls;          /* store reads, writes and syncs under way */
    uint64_t busy_since;      /* ns; since when there are any */
};

/* ---- zc_cache.c ---- */

/* Ends a critical section: gives room to waiters, releases the lock, then runs the callbacks of
 * completed accesses and flushes. */
void zc_cache_unlock(struct zc_cache *c);
/* Waits on c->changed; delivers completions first, and then may return early. */
void zc_cache_wait(struct zc_cache *c);
void zc_kick(struct zc_cache *c); /* wakes every flusher */

/* ---- zc_timing.c: duration of store calls and of waits ---- */
/* Bracket a store call, both with the lock; the first returns the time.  `kind` is
 * ZC_EVENT_STORE_..., and `bytes` is negative if the call failed. */
uint64_t zc_call_began(struct zc_cache *c);
void zc_call_ended(struct zc_cache *c, uint64_t began, enum zc_event_kind kind, int64_t bytes);
/* As zc_call_ended(), for a call that may have read and written: not used to measure costs. */
void zc_call_ended_mixed(struct zc_cache *c, uint64_t began, enum zc_event_kind kind,
                         int64_t bytes);
/* Begin and end the wait of an access for room, or for a page. */
void zc_waits_room(struct zc_cache *c, struct zc_access *a);
void zc_waited_room(struct zc_cache *c, const struct zc_access *a);
void zc_waits_page(struct zc_cache *c, struct zc_access *a);
void zc_waited_page(struct zc_cache *c, const struct zc_access *a);

/* ---- zc_page_csum.c: checksums of pages; no effect on a page without ---- */
int zc_page_csum_load(struct zc_cache *c); /* without the lock; 0 or explained: before any other */
void zc_page_csum_free(struct zc_cache *c);
void zc_page_csum_enter(struct zc_cache *c, struct zc_page *p); /* a page enters the cache */
/* Drops damaged bytes of [lo, hi), to the edges of checksum chunks; those not in the store are
 * lost: `valid` and the unwritten ranges shrink.  Wakes no waiter. */
void zc_page_csum_check(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi);
void zc_page_csum_check_flushing(struct zc_cache *c, struct zc_page *p); /* where it is flushing */
/* Checks what a write leaves unchanged; `whole`: it overwrites all of [lo, hi). */
void zc_page_csum_check_write(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi,
                              bool whole);
/* Bracket changes of bytes in [lo, hi). */
void zc_page_csum_open(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi);
void zc_page_csum_close(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi);

/* ---- zc_frames.c: the number of frames ---- */
int zc_frames_init(struct zc_cache *c); /* 0 or -ENOMEM; zc_frames_free() either way */
void zc_frames_free(struct zc_cache *c);
bool zc_frames_over(const struct zc_cache *c);      /* more are held than allowed */
bool zc_frames_any(const struct zc_cache *c);       /* a frame without a page is available */
struct zc_page *zc_frames_take(struct zc_cache *c); /* takes it; NULL: none */
void zc_frames_give(struct zc_cache *c, struct zc_page *p);
void zc_frames_shed(struct zc_cache *c);   /* frees memory beyond the limit */
void zc_frames_expect(struct zc_cache *c); /* writes: a file has been opened for them */
/* Populates some of the memory that will be used next, so that the kernel clears it while no write
 * is under way.  True: done, with the lock dropped; else *wake becomes the time to ask again, if
 * that is later.  Called by idle flushers. */
bool zc_cache_populate(struct zc_cache *c, uint64_t *wake);

/* ---- zc_publish.c: pages in shared memory ---- */
bool zc_publish_init(struct zc_cache *c); /* false: no memory; zc_publish_free() either way */
void zc_publish_free(struct zc_cache *c);
void zc_publish_frame(struct zc_cache *c, const struct zc_page *p); /* a new frame */
void zc_publish_page(struct zc_cache *c, const struct zc_page *p); /* publishes its current state */
void zc_publish_hide(struct zc_cache *c, const struct zc_page *p);
void zc_publish_writer(struct zc_cache *c);            /* files are not quiescent any more */
void zc_publish_eof(struct zc_file *f, uint64_t size); /* the file has this size from now on */
bool zc_publish_is_current(const struct zc_cache *c, const struct zc_page *p); /* invariant 16 */

/* ---- zc_check.c: debug builds ---- */
#ifdef ZC_DEBUG
void zc_cache_check(struct zc_cache *c);
#else
static inline void zc_cache_check(struct zc_cache *c)
{
    (void)c;
}
#endif

/* Key of a file for zc_workers. */
static inline uint64_t zc_workers_file(const struct zc_file *f)
{
    return (uintptr_t)f;
}

/* ---- zc_page.c: frames, table, lists, dirty accounting ---- */
struct zc_page *zc_page_find(struct zc_cache *c, const struct zc_file *f, uint64_t no);
void zc_page_hash(struct zc_cache *c, struct zc_page *p); /* enters it into the hash table */
/* Takes a frame for page `no` of the handle's file, for the handle's tenant, evicting another page
 * if need be (zc_lru.h); NULL: no room, or a direct write of the page is under way. */
struct zc_page *zc_page_take(struct zc_cache *c, const struct zc_handle *h, uint64_t no);
/* As zc_page_take(), for readahead: evicts old pages only; NULL: no frame. */
struct zc_page *zc_page_take_ahead(struct zc_cache *c, const struct zc_handle *h, uint64_t no);
/* Frees an unused page and forgets its dirty bytes.  May free its file. */
void zc_page_drop(struct zc_cache *c, struct zc_page *p);
bool zc_page_idle(const struct zc_page *p); /* may be dropped */
/* Puts the page on the lists for its state.  To call after every change. */
void zc_page_place(struct zc_cache *c, struct zc_page *p);
char *zc_page_data(struct zc_cache *c, const struct zc_page *p);
uint64_t zc_page_offset(struct zc_cache *c, const struct zc_page *p); /* in the file */
bool zc_page_frozen(struct zc_cache *c, const struct zc_page *p);
bool zc_page_available(struct zc_cache *c); /* a frame is free or evictable */

/* Reserves memory to add `more` ranges without fail; 0 or -ENOMEM. */
int zc_page_reserve(struct zc_page *p, unsigned more);
void zc_page_dirty(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi);
void zc_page_dirty_many(struct zc_cache *c, struct zc_page *p, const struct zc_range *r,
                        uint32_t n);
void zc_page_clean(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi);
/* Whether there is memory for zc_page_lose() of a part. */
bool zc_page_may_lose(struct zc_page *p);
/* Forgets these bytes, including dirty ones and those in a store write. */
void zc_page_lose(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi);
int zc_page_to_flushing(struct zc_cache *c, struct zc_page *p); /* 0 or -ENOMEM */
void zc_page_flushed(struct zc_cache *c, struct zc_page *p);
/* Returns the limit of memory for ranges of all pages. */
size_t zc_range_limit(const struct zc_cache *c);
/* Whether writing the page would free much of that memory. */
bool zc_page_many_ranges(const struct zc_page *p);
/* Whether the page has more ranges than allowed, or than there is memory for. */
bool zc_page_scattered(const struct zc_cache *c, const struct zc_page *p);
/* Frees spare memory of the page's ranges, and accounts for the rest. */
void zc_page_trim(struct zc_cache *c, struct zc_page *p);
void zc_page_count_ranges(struct zc_cache *c, struct zc_page *p);
/* Makes its unstable bytes dirty again; 0, or -ENOMEM and nothing has changed. */
int zc_page_again(struct zc_cache *c, struct zc_page *p);
void zc_page_unflushed(struct zc_cache *c, struct zc_page *p);
void zc_page_forget_clean(struct zc_cache *c, struct zc_page *p);
int zc_page_outdate(struct zc_cache *c, struct zc_page *p); /* 0 or -ENOMEM */
void zc_page_renew(struct zc_cache *c, struct zc_page *p);
/* Invalidates clean bytes of [lo, hi), which are undefined. */
void zc_page_invalidate(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi);
/* Ends the page's undefined range; false: there is still no memory for it. */
bool zc_page_clear_undefined(struct zc_cache *c, struct zc_page *p);

/* ---- zc_dirty_limit.c: the limit of unwritten pages ---- */
enum zc_dirty_limit {
    ZC_DIRTY_LIMIT_FREE, /* a write may begin */
    ZC_DIRTY_LIMIT_WAIT, /* it waits for write-back */
    ZC_DIRTY_LIMIT_FULL, /* it fails: nothing will make room; see file->access_why */
};
/* Asks before a write by the handle to page `p`, or to one that is not cached (NULL);
 * `acknowledged`: as in struct zc_access. */
enum zc_dirty_limit zc_dirty_limit_ask(struct zc_cache *c, const struct zc_handle *h,
                                       const struct zc_page *p, bool acknowledged);
/* Counts a page that becomes reserved, or no longer is. */
void zc_dirty_limit_reserve(struct zc_cache *c, struct zc_page *p, bool reserved);
/* Returns how many pages files without failures may reserve. */
uint64_t zc_dirty_limit_healthy(const struct zc_cache *c);

/* ---- zc_access.c: begin, end, waiters ---- */
void zc_page_wake(struct zc_cache *c, struct zc_page *p);
void zc_page_fail_readers(struct zc_cache *c, struct zc_page *p, int err);
/* Sets p->narrow_lo and p->narrow_hi to what the first reader waits for. */
void zc_page_aim_narrow(struct zc_page *p);
void zc_room_serve(struct zc_cache *c);

/* ---- zc_cache_steps.c ---- */
/* Checks whether an open with these flags is compatible with the steps of the file's store files
 * that are open: 0 or -EBUSY, explained. */
int zc_file_check_steps(const struct zc_file *f, unsigned flags);
/* Whether an open with these flags may skip revalidation of cached pages: the writer of the steps
 * has the file open here, and no other job may write it. */
bool zc_file_trusts_steps(const struct zc_file *f, unsigned flags);
/* Notes the flags of an open that opens store files. */
void zc_file_note_steps(struct zc_file *f, unsigned flags);

/* ---- zc_write_direct.c ---- */
bool zc_write_direct_covers(const struct zc_file *f, uint64_t no);
/* Whether a direct write that ends beyond file->frozen is under way. */
bool zc_write_direct_beyond(struct zc_cache *c, const struct zc_file *f);

/* ---- zc_fill.c: store reads and collapsing ---- */
bool zc_fill_gap(const struct zc_page *p, uint32_t lo, uint32_t hi, struct zc_range *gap);
/* Lists all gaps of the page's valid bytes in [lo, hi) that no write under way touches.  Returns
 * their number, or -ENOMEM; the caller frees *out in any case. */
int zc_fill_gaps(const struct zc_page *p, uint32_t lo, uint32_t hi, struct zc_range **out);
bool zc_fill_start(struct zc_cache *c, struct zc_page *p);
void zc_fill_ahead(struct zc_cache *c, struct zc_page *p);
bool zc_fill_hurry(struct zc_cache *c, struct zc_page *p);
bool zc_fill_cancel(struct zc_cache *c, struct zc_page *p);
void zc_fill_collapse(struct zc_cache *c, struct zc_page *p);
void *zc_fill_thread(void *cache);

/* ---- zc_readahead.c: reading ahead ---- */
void zc_readahead_open(struct zc_cache *c, struct zc_handle *h, uint64_t block_size,
                       uint64_t stride);
void zc_readahead_stop(struct zc_cache *c, struct zc_handle *h);
void zc_readahead_touch(struct zc_cache *c, const struct zc_access *a, const struct zc_page *p);
unsigned zc_readahead_threads(const struct zc_cache *c);
void zc_readahead_serve(struct zc_cache *c);
void zc_readahead_started(struct zc_cache *c, struct zc_page *p);
void zc_readahead_used(struct zc_cache *c, struct zc_page *p);
void zc_readahead_wasted(struct zc_cache *c, struct zc_page *p);
void zc_readahead_yield(struct zc_cache *c, struct zc_page *p);
void zc_readahead_forget(struct zc_cache *c, struct zc_file *f);
void zc_readahead_overtake(struct zc_cache *c, struct zc_file *f, uint64_t size);

/* ---- zc_write_back.c: the flushers ---- */
void *zc_write_back_thread(void *cache);
/* Writes the dirty page of `f` that flush requests wait for in the calling thread; drops the lock.
 * False: it cannot be written now.  The caller keeps the file by a ref; afterwards requests may be
 * complete, and there may be work for a flusher. */
bool zc_write_back_here(struct zc_cache *c, struct zc_file *f);

/* ---- zc_flush_order.c: the order of write-back ---- */
/* Returns the class of a page: the lower, the sooner it is written; 0: no gain by waiting. */
unsigned zc_flush_class(const struct zc_cache *c, const struct zc_page *p, uint64_t now);
/* Whether write-back for accesses that wait for cache space is postponed, because other writers may
 * complete the page; lowers *wake to the end of that wait. */
bool zc_flush_waits_growth(struct zc_cache *c, const struct zc_page *p, uint64_t now,
                           uint64_t *wake);
/* Bytes of the largest store write now. */
uint32_t zc_flush_most(const struct zc_cache *c);
/* The pages [first, end) that one store write may carry together; ZC_WINDOW_PAGES at most. */
struct zc_flush_window {
    uint64_t first, end;
};
/* Returns the window of a page. */
struct zc_flush_window zc_flush_window(const struct zc_cache *c, const struct zc_page *p);
/* A write to the page has ended: notes the page if its window is a complete run.  True: it is the
 * first one of its tenant, and a flusher has to look for it. */
bool zc_flush_note_run(struct zc_cache *c, struct zc_page *p);
/* Returns when the page's complete run may be written; 0: the run is not complete any more. */
uint64_t zc_flush_run_due(struct zc_cache *c, const struct zc_page *p);
/* A write to a page that had dirty bytes has ended: waiting was worth it if the page is whole. */
void zc_flush_page_whole(struct zc_cache *c, const struct zc_page *p);
/* Whether write-back of the page is postponed unless memory, a sync or a close needs it; lowers
 * *wake to the time at which it may be written. */
bool zc_flush_waits(const struct zc_cache *c, const struct zc_page *p, uint64_t now,
                    uint64_t *wake);

/* ---- zc_merge.c: write-back of pages with many ranges ---- */
/* Whether a page with these dirty ranges is written by itself, by zc_merge_write(). */
bool zc_merge_apart(const struct zc_cache *c, const struct zc_extents *e);
/* Writes the page's `flushing` from *at on, and advances *at.  0; -EOPNOTSUPP: the rest has to be
 * written piece by piece; or the store's error.  Drops the lock. */
int zc_merge_write(struct zc_cache *c, struct zc_page *p, uint32_t *at);
/* Counts a store write of `bytes` bytes within [lo, hi) of the file. */
void zc_merge_count_write(struct zc_cache *c, struct zc_file *f, uint64_t lo, uint64_t hi,
                          uint64_t bytes);

/* ---- zc_flush.c: flush requests ---- */
uint64_t zc_flush_target(const struct zc_file *f, bool *any);
void zc_flush_check(struct zc_cache *c, struct zc_file *f);
bool zc_flush_wants_sync(const struct zc_file *f);
/* Tenant of the first request. */
struct zc_cache_tenant *zc_flush_tenant(const struct zc_file *f);
void zc_flush_sync(struct zc_cache *c, struct zc_file *f);
/* Flushes what is dirty now, without a handle; drops the lock meanwhile, the caller holds a ref on
 * the file.  0, or the store's error. */
int zc_flush_again(struct zc_cache *c, struct zc_file *f);
/* Asks the store to commit unstable bytes of the file (zc_unstable_to_ask()). */
void zc_flush_ask(struct zc_cache *c, struct zc_file *f);

/* ---- zc_file.c: opens and closes ---- */
void zc_file_flush_now(struct zc_cache *c, struct zc_file *f); /* on or off cache->flush_now */
bool zc_file_unwritten(const struct zc_file *f);
/* Returns the end of the bytes that are not in the store; 0: there are none. */
uint64_t zc_file_unwritten_end(struct zc_cache *c, const struct zc_file *f);
bool zc_file_may_settle(const struct zc_file *f);
int zc_file_settle(struct zc_cache *c, struct zc_file *f);
/* For a file without handles: drops its bytes if it was deleted by another process.  May drop the
 * lock; the caller holds a ref on the file. */
void zc_file_lookup(struct zc_cache *c, struct zc_file *f);
void zc_file_discard(struct zc_cache *c, struct zc_file *f);
int zc_file_outdate(struct zc_cache *c, struct zc_file *f);
bool zc_file_unused(const struct zc_file *f); /* no reference to it */
void zc_file_reap(struct zc_file *f);
void zc_file_destroy(struct zc_file *f);
struct zc_file *zc_file_find(struct zc_cache *c, uint64_t dev, uint64_t ino);
void zc_ctl_get(struct zc_cache *c, struct zc_file *f);
void zc_ctl_put(struct zc_cache *c, struct zc_file *f);

#endif
