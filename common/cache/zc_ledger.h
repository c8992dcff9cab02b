/* zc_ledger.h - what is owed of a file: bytes on their way to be kept, refused, or lost.
 *
 *     unwritten   dirty pages                                        zc_file.dirty, .flushing
 *     failed      those the store refused last, and why              zc_file.failed, .write_why
 *     unsure      in the store, since its last good sync began       zc_ledger.unsure, .syncing
 *     lost        gone, or gone perhaps, and why                     zc_ledger.lost
 *
 * An entry ends by success, by truncation, by deletion of the file, or when a writer that was told
 * of it gives it up (zc_cache_give_up()): never by a close, a dead client or the end of the cache,
 * which makes it lost.  Deletion is what came by zc_cache_unlink(), or what shows when another
 * file has the number, which was born at another time.  Else a file that is not at its name any
 * more may have been renamed: what is lost of it stays lost, and an open by the new name says so;
 * only a drain asks no more of it.
 *
 * Lost is what a failed sync or close of the store was about: after a failed fsync(2) Linux takes
 * the pages for clean, so that the next one succeeds without having written anything (its
 * Documentation/filesystems/vfs.rst, "Handling errors during writeback"; pages may be evicted
 * before anybody could write them again).  Hence it is latched: every later flush and every
 * writer's close of that file fails, also where we know of no bytes: others wrote them, perhaps a
 * cache that has ended.  Stores that remember themselves what they owe
 * (zc_store.remembers) are asked again instead.
 *
 * Who shares a file (ranks, handles) asks at different times, and all shall come to the same
 * verdict without asking each other: each counts how often it was told of a failure, and who has
 * been told less often than another hears of the last one, even if all is well by then.  So a round
 * of syncs, one of each rank, fails on all of them or on none.
 *
 * Guarded by the cache's lock.
 */
#ifndef ZC_LEDGER_H
#define ZC_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_cache.h"
#include "zc_list.h"
#include "zc_log.h"

struct zc_file;
struct zc_page;

/* An error and its explanation, as kept for somebody who asks later. */
struct zc_why {
    int err; /* negative errno; 0: none */
    char text[ZC_TEXT_MAX];
    char cause[ZC_TEXT_MAX]; /* as zc_error_cause() */
};

enum { ZC_SPANS = 16 };

/* Bytes of a file, roughly: disjoint spans in order.  Where there are too many, the two with the
 * smallest gap become one.  `bytes` does not count what is known twice, and never the gaps. */
struct zc_spans {
    unsigned n;
    uint64_t bytes;
    struct zc_span s[ZC_SPANS];
};

void zc_spans_add(struct zc_spans *s, uint64_t lo, uint64_t hi, uint64_t bytes);
void zc_spans_join(struct zc_spans *s, const struct zc_spans *more);
void zc_spans_sub(struct zc_spans *s, uint64_t lo, uint64_t hi);

#define ZC_NEVER_DURABLE UINT64_MAX

struct zc_ledger {
    struct zc_spans unsure, lost;
    struct zc_spans syncing;           /* what the sync under way is about */
    bool syncing_over;                 /* all of the file was cut off or deleted since it began */
    uint64_t syncing_changes, durable; /* token.changes when it began, and when the last one did
                                          that made all durable; ZC_NEVER_DURABLE: none has since
                                          the file was opened for writing */
    struct zc_why lost_why;            /* .err != 0: latched */
    bool lost_unknown;                 /* also about bytes that nobody here knows */
    bool gone;           /* somebody else took the name away: deleted it, or renamed it */
    unsigned told;       /* flushes and closes that have reported what is lost */
    struct zc_list kept; /* cache->kept */

    uint64_t reports;         /* of failures, to whoever was told most often, ... */
    struct zc_why report_why; /* ... and the last one */
};

/* The store has taken `bytes` bytes of [lo, hi). */
void zc_ledger_stored(struct zc_file *f, uint64_t lo, uint64_t hi, uint64_t bytes);
/* A sync begins, one at a time: what is unsure is what it is about until it is over. */
void zc_ledger_sync_begins(struct zc_file *f);
void zc_ledger_synced(struct zc_cache *c, struct zc_file *f, enum zc_level level,
                      const struct zc_why *why);
/* We have not changed the file since a sync that made all durable: another one has nothing to do.
 * (What others change is theirs to sync.)  False where the store knows better. */
bool zc_ledger_durable(const struct zc_file *f);
/* These bytes are lost: counted, logged, latched. */
void zc_ledger_lose(struct zc_cache *c, struct zc_file *f, const struct zc_spans *s,
                    const struct zc_why *why);
/* Everything that is unwritten, which the caller discards, is lost. */
void zc_ledger_lose_unwritten(struct zc_cache *c, struct zc_file *f);

/* What was written to [lo, hi) is nobody's concern any more: cut off or given up.  A latch ends
 * with the last of what is lost, and one about bytes that nobody knows with [0, UINT64_MAX). */
void zc_ledger_forgive(struct zc_file *f, uint64_t lo, uint64_t hi);

/* A page is refused, or is not any more. */
void zc_ledger_page_failed(struct zc_cache *c, struct zc_page *p, bool failed);

/* How much of the file is refused, where and why; false: nothing is. */
bool zc_ledger_refused(struct zc_cache *c, const struct zc_file *f, struct zc_why *why);

/* The verdict for somebody who was told of *told failures so far (NULL: nobody in particular):
 * `failed` is what went wrong now, or NULL.  False: all is well. */
bool zc_ledger_verdict(struct zc_file *f, const struct zc_why *failed, uint64_t *told,
                       struct zc_why *why);

/* Nothing else is left of the file: it is kept for what is lost of it, with the last so many such.
 * The one that nobody has used for longest is forgotten, and freed, which zc_cache_drain() tells
 * once.  Until zc_ledger_unkeep(): it is used again, or freed. */
void zc_ledger_keep(struct zc_cache *c, struct zc_file *f);
void zc_ledger_unkeep(struct zc_file *f);

void zc_losses_free(struct zc_cache *c);

#endif
