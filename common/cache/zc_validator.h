/* zc_validator.h - how a cache knows that its clean bytes are still those of the file.
 *
 * One validator per file: attributes that were read when clean bytes and file agreed, and what is
 * known of later changes.
 *
 *     NONE, BROKEN -> NOTED   _open(), _confirm(), _check(), _settle(): the attributes are read
 *                             while none of our writes is under way.  From BROKEN, _open() drops
 *                             clean bytes; _confirm() need not.
 *     NOTED -> OURS           _writing(): the attributes are as noted
 *     OURS -> NOTED           _check(): as soon as nothing is being written
 *     NOTED -> BROKEN         _writing(), _check(): another process has changed the file
 *     OURS -> BROKEN          the attributes cannot be read
 *
 * Attributes alone do not distinguish this cache's changes from those of others.  So they are
 * compared before its first write and read again after its last: changes in between are its own.  A
 * client that closes the file in order confirms the time since its open: no other job may change
 * the file then (doc/SEMANTICS.md), but other daemons of the same job may.  A handle of a client
 * that has died confirms nothing, and does not prevent comparing.
 *
 * Every open compares.  The cache's own writes are held back for that moment; if that takes too
 * long, clean bytes are dropped, which is always correct.
 *
 * Clocks: most file systems before Linux 6.13 give all changes within a clock tick one time.
 * Attributes read that soon after a change prove nothing: an open drops clean bytes, unless the
 * attributes were read again after the tick.  (A change by another process that keeps the size,
 * within the tick of this cache's last write, is not detected.  A store with zc_attr.exact excludes
 * that.)
 *
 * With servers below, attributes say nothing about what these have cached: no clean bytes are kept
 * from one open of the file to the next.
 */
#ifndef ZC_VALIDATOR_H
#define ZC_VALIDATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_list.h"
#include "zc_store.h"

struct zc_cache;
struct zc_file;

enum zc_validator_state {
    ZC_VALIDATOR_NONE,
    ZC_VALIDATOR_NOTED,
    ZC_VALIDATOR_OURS,
    ZC_VALIDATOR_BROKEN
};

/* Guarded by the cache's lock. */
struct zc_validator {
    enum zc_validator_state state;
    struct zc_attr attr; /* as noted */
    bool racy;           /* too young for the clock's resolution ... */
    uint64_t look_at;    /* ... until then, ns */
    uint64_t looked;     /* when attributes were last read, ns */
    unsigned writing;    /* our changes of the file under way ... */
    uint64_t changes;    /* ... and how many have ended */
    bool looking;        /* attributes are being read: no change of ours begins */
    bool quiet;          /* an open waits for changes under way: none begins either */
    struct zc_list link; /* cache->looks: attributes to be read, now or at look_at */
};

void zc_validator_init(struct zc_validator *t);

/* All of these: with the lock, which some drop, as noted; the caller keeps the file. */

/* Bracket a change of the file by this cache.  The first may wait, and drops the lock. */
void zc_validator_writing(struct zc_cache *c, struct zc_file *f);
void zc_validator_written(struct zc_cache *c, struct zc_file *f);

/* At an open, with ctl: drops clean bytes if others may have changed the file.  `attr` was read
 * from `sf` when zc_cache_changes() was not less than `before`; on return it includes our last
 * change.  0 or a negative errno, explained.  Drops the lock. */
int zc_validator_open(struct zc_cache *c, struct zc_file *f, struct zc_sfile *sf,
                      struct zc_attr *attr, uint64_t before);
/* As zc_validator_open(), for an open handle, on request of a client (a refresh); with ctl.  Drops
 * the lock. */
int zc_validator_refresh(struct zc_cache *c, struct zc_file *f);
/* Returns attributes that include our last change, of a file open for writing; with ctl.  0 or a
 * negative errno, -EBUSY: our changes do not end.  Drops the lock. */
int zc_validator_attr(struct zc_cache *c, struct zc_file *f, struct zc_attr *now);
/* Confirms, for a client that had the file open, that all changes so far were made by its job; with
 * ctl.  Drops the lock. */
void zc_validator_confirm(struct zc_cache *c, struct zc_file *f);
/* Called with ctl before the store files are closed, when nothing is unwritten.  False: cached
 * bytes are not worth keeping.  Drops the lock. */
bool zc_validator_settle(struct zc_cache *c, struct zc_file *f);

/* Returns a file whose attributes are to be read again, by zc_validator_check(); NULL: none now,
 * and *wake becomes the time, if that is sooner. */
struct zc_file *zc_validator_due(struct zc_cache *c, uint64_t now, uint64_t *wake);
void zc_validator_check(struct zc_cache *c, struct zc_file *f); /* drops the lock */
/* Whether attributes are to be read because of our own changes: until then a change by another
 * process would be taken for ours. */
bool zc_validator_is_due(const struct zc_file *f);
/* Reads the attributes now, because a flush waits for the file.  Drops the lock. */
void zc_validator_flushed(struct zc_cache *c, struct zc_file *f);

#endif
