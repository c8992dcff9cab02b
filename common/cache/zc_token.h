/* zc_token.h - how a cache knows that its clean bytes are still those of the file.
 *
 * A token per file: attributes that were read at a moment when clean bytes and file agreed, and
 * what is known of the changes since.
 *
 *               zc_token_open(), _vouch(), _look(), _settle(): attributes read, none of our writes
 *               under way
 *         NONE ------------------------------------------------------------> NOTED <----+
 *                                                                            |   |      |
 *                      zc_token_writing(): the attributes are what was noted |   |      |
 *                   +--------------------------------------------------------+   |      |
 *                   v                                                            |      |
 *                  OURS ---------------------------------------------------------|------+
 *                   |         _look(), as soon as nothing is being written       |      |
 *                   |                                                            |      |
 *                   +----------------------> BROKEN <----------------------------+      |
 *         cannot be read                       |    _writing(), _look(): the file has   |
 *                                              |    changed, and not by us              |
 *                                              +----------------------------------------+
 *                                     _open(): clean bytes are forgotten; _vouch()
 *
 * A change of ours cannot be told from one of somebody else in the attributes alone.  So they are
 * compared before the first of our writes and read again after the last: what happened between is
 * ours.  Who has the file open and says so, by closing it in order, vouches for the time since its
 * open: nobody else may change the file then (doc/SEMANTICS.md), but other daemons of the same job
 * may, which look like strangers here.  A handle that was left behind by a client that is gone
 * vouches for nothing, and keeps nobody from comparing.
 *
 * Every open compares.  Where our own writes are under way they are held back for the moment; when
 * that takes too long, clean bytes are forgotten, which is always right.
 *
 * Clocks: most file systems before Linux 6.13 give all changes within a tick of the clock one time.
 * Attributes that were read so soon after a change prove nothing: an open forgets what is clean,
 * unless they were read again after the tick.  (Who else changes the file within the tick of our
 * last write, and without changing its size, is not seen then.  A store says with zc_attr.exact
 * that it cannot happen.)
 *
 * Where there are servers below, attributes say nothing of what these hold: nothing that is clean
 * is kept from one user of the file to the next.
 */
#ifndef ZC_TOKEN_H
#define ZC_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_list.h"
#include "zc_store.h"

struct zc_cache;
struct zc_file;

enum zc_token_state { ZC_TOKEN_NONE, ZC_TOKEN_NOTED, ZC_TOKEN_OURS, ZC_TOKEN_BROKEN };

/* The cache's lock guards all of it. */
struct zc_token {
    enum zc_token_state state;
    struct zc_attr attr; /* as they were noted */
    bool racy;           /* they are younger than the clock can tell ... */
    uint64_t look_at;    /* ... until then, ns */
    uint64_t looked;     /* when attributes were read last, ns */
    unsigned writing;    /* our changes of the file under way ... */
    uint64_t changes;    /* ... and how many are over */
    bool looking;        /* attributes are being read: no change of ours begins */
    bool quiet;          /* an open waits for those under way: none begins either */
    struct zc_list link; /* cache->looks: attributes are to be read, now or at look_at */
};

void zc_token_init(struct zc_token *t);

/* All of these: with the lock, which those that say so drop; the caller keeps the file. */

/* Around a change of the file by us.  The first may wait, and drops the lock. */
void zc_token_writing(struct zc_cache *c, struct zc_file *f);
void zc_token_written(struct zc_cache *c, struct zc_file *f);

/* With ctl, for an open: forgets what is clean if others may have changed the file since.  `attr`
 * was read from `sf` when c->changes was not less than `before`; on return it is not older than
 * our last change.  0 or a negative errno, explained.  Drops the lock. */
int zc_token_open(struct zc_cache *c, struct zc_file *f, struct zc_sfile *sf, struct zc_attr *attr,
                  uint64_t before);
/* With ctl: the same for somebody who has it open, and is told that others may have changed it.
 * Drops the lock. */
int zc_token_refresh(struct zc_cache *c, struct zc_file *f);
/* With ctl: attributes of a file that is open for writing, not older than our last change.  0 or a
 * negative errno, -EBUSY: our changes do not cease.  Drops the lock. */
int zc_token_attr(struct zc_cache *c, struct zc_file *f, struct zc_attr *now);
/* With ctl: somebody who has had the file open says that all changes so far were of its job.  Drops
 * the lock. */
void zc_token_vouch(struct zc_cache *c, struct zc_file *f);
/* With ctl, before the store files are closed; nothing is unwritten.  False: what is cached is not
 * worth keeping.  Drops the lock. */
bool zc_token_settle(struct zc_cache *c, struct zc_file *f);

/* A file whose attributes are to be read again, for zc_token_look(); NULL: none now, and *wake
 * becomes when, if that is sooner. */
struct zc_file *zc_token_due(struct zc_cache *c, uint64_t now, uint64_t *wake);
void zc_token_look(struct zc_cache *c, struct zc_file *f); /* drops the lock */
/* Somebody waits for what was written: its attributes are not left for later.  Drops the lock. */
void zc_token_flushed(struct zc_cache *c, struct zc_file *f);

#endif
