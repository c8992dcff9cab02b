/* zc_wb_errors.h - write-back errors of a file: bytes not yet stored, refused, or lost.
 *
 *     unwritten   dirty pages                                        zc_file.dirty, .flushing
 *     failed      those that the store refused last, and why         zc_file.failed, .write_why
 *     unsure      in the store, since its last good sync began       zc_wb_errors.unsure, .syncing
 *     lost        lost, or perhaps lost, and why                     zc_wb_errors.lost
 *
 * An entry ends by success, by truncation, by deletion of the file, or by zc_cache_discard() after
 * it was reported to the writer: never by a close or a dead client, and the end of the cache makes
 * it lost.  Deletion is by zc_cache_unlink(), or is inferred when another file with a different
 * birth time has the inode number.  Otherwise a file that is not at its name may have been renamed:
 * its losses stay, and an open by the new name reports them; only a drain ignores it.
 *
 * A failed sync or close of the store makes bytes lost: after a failed fsync(2) Linux takes the
 * pages for clean, so that the next one succeeds without having written anything (its
 * Documentation/filesystems/vfs.rst, "Handling errors during writeback"; pages may be evicted
 * before they could be written again).  Hence the error is latched: every later flush and every
 * writer's close of that file fails, even if no byte of this cache is concerned: others wrote them,
 * perhaps a cache that has ended.  Stores that keep their own errors (zc_store.remembers) are asked
 * again instead; if one dies after a failed sync of the file, the error is latched here.
 *
 * Clients of a file (ranks, handles) ask at different times, and all must get the same result
 * without asking each other: each has a count of the failures reported to it, and a client with a
 * lower count than another gets the last failure, even if all is well by then.  So a round of
 * syncs, one by each rank, fails on all of them or on none.
 *
 * Guarded by the cache's lock.
 */
#ifndef ZC_WB_ERRORS_H
#define ZC_WB_ERRORS_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_cache.h"
#include "zc_error.h"
#include "zc_list.h"
#include "zc_log.h"
#include "zc_page_state.h"

struct zc_file;
struct zc_page;

enum { ZC_SPANS = 16 };

/* Approximate set of bytes of a file: disjoint spans in order.  When there are too many, the two
 * with the smallest gap become one.  `bytes` counts neither known duplicates nor gaps. */
struct zc_spans {
    unsigned n;
    uint64_t bytes;
    struct zc_span s[ZC_SPANS];
};

void zc_spans_add(struct zc_spans *s, uint64_t lo, uint64_t hi, uint64_t bytes);
/* Adds the bytes `e` of a page. */
void zc_spans_add_page(struct zc_spans *s, struct zc_cache *c, const struct zc_page *p,
                       const struct zc_extents *e);
void zc_spans_join(struct zc_spans *s, const struct zc_spans *more);
void zc_spans_sub(struct zc_spans *s, uint64_t lo, uint64_t hi);

#define ZC_NEVER_DURABLE UINT64_MAX

struct zc_wb_errors {
    struct zc_spans unsure, lost;
    struct zc_spans syncing;           /* what the sync under way covers */
    bool syncing_over;                 /* the whole file was truncated or deleted since it began */
    uint64_t syncing_changes, durable; /* validator.changes at begin of: it; the last durable one,
                                          or ZC_NEVER_DURABLE if none since the open for writing */
    struct zc_error lost_why;          /* .rc != 0: latched */
    bool lost_unknown;                 /* also concerns bytes that this cache does not know */
    struct zc_spans undurable;         /* stored by a daemon that failed to sync them: */
    struct zc_error undurable_why;     /* .rc != 0: ... only the daemon remembers, until it dies */
    bool gone;                         /* its name was deleted or renamed by another process */
    unsigned reported;                 /* flushes and closes that have reported losses */
    struct zc_list kept;               /* cache->kept */

    uint64_t reports;           /* highest number of failures reported to a client ... */
    struct zc_error report_why; /* ... and the last failure */
};

/* Notes that the store has accepted `bytes` bytes of [lo, hi). */
void zc_wb_errors_written(struct zc_file *f, uint64_t lo, uint64_t hi, uint64_t bytes);
/* Begins a sync, one at a time: it covers what is unsure now. */
void zc_wb_errors_sync_begins(struct zc_file *f);
void zc_wb_errors_synced(struct zc_cache *c, struct zc_file *f, enum zc_level level,
                         const struct zc_error *why);
/* Notes that a store that remembers has failed to make stored bytes durable. */
void zc_wb_errors_undurable(struct zc_file *f, const struct zc_error *why);
/* Notes the death of a server of such a store: what only it remembered is lost now. */
void zc_wb_errors_forgotten(struct zc_cache *c, struct zc_file *f);
/* Whether a sync would have nothing to do: this cache has not changed the file since a durable
 * sync. (Changes by others are theirs to sync.)  False if the store keeps track itself. */
bool zc_wb_errors_durable(const struct zc_file *f);
/* Counts, logs and latches these bytes as lost. */
void zc_wb_errors_lose(struct zc_cache *c, struct zc_file *f, const struct zc_spans *s,
                       const struct zc_error *why);
/* Reports all unwritten bytes, which the caller discards, as lost. */
void zc_wb_errors_lose_unwritten(struct zc_cache *c, struct zc_file *f);

/* Forgets entries within [lo, hi): truncated or discarded.  A latch ends with the last lost byte,
 * and one about unknown bytes with [0, UINT64_MAX). */
void zc_wb_errors_clear(struct zc_file *f, uint64_t lo, uint64_t hi);

/* Notes that the page was refused, or is not any more. */
void zc_wb_errors_page_refused(struct zc_cache *c, struct zc_page *p, enum zc_page_refused refused);

/* Returns how much of the file is refused, where and why; false: nothing is. */
bool zc_wb_errors_refused(struct zc_cache *c, const struct zc_file *f, struct zc_error *why);

/* Returns the result for a client to which *told failures were reported so far (NULL: no client);
 * `failed`: a failure now, or NULL.  False: all is well. */
bool zc_wb_errors_check(struct zc_file *f, const struct zc_error *failed, uint64_t *told,
                        struct zc_error *why);

/* Keeps a file for its losses only.  Beyond a limit the least recently used one is forgotten and
 * freed, which zc_cache_drain() reports once.  Until zc_wb_errors_unkeep(): it is used again, or
 * freed. */
void zc_wb_errors_keep(struct zc_cache *c, struct zc_file *f);
void zc_wb_errors_unkeep(struct zc_file *f);

void zc_losses_free(struct zc_cache *c);

#endif
