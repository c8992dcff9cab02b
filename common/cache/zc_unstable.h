/* zc_unstable.h - bytes that a lossy store has accepted and not committed, kept so that they can be
 * sent again.
 *
 * States of bytes that were written back to a daemon:
 *
 *                     zc_unstable_page(): written back
 *     dirty ------------------------------------------------> kept -----------------------> clean
 *       ^                                                     |  |   zc_unstable_update():
 *       |     zc_unstable_update(): the daemon has died       |  |   committed
 *       +-----------------------------------------------------+  |
 *                                                                | zc_unstable_release(): the page
 *                                                                v is needed for another
 *                          lost <--------------------------- unprotected ----------------> nothing
 *                                 zc_unstable_update(): it has died          committed
 *
 * Kept bytes are in a page, valid, and may be written again: then they are dirty as well, and kept
 * until the newer ones are committed.  Unprotected bytes are not in the cache any more: the file
 * records spans that contain them.  By the setting `replay`:
 *
 *     strict  a page with kept bytes stays, and counts as dirty for the dirty limit
 *             (zc_dirty_limit.c); when room is lacking the store is asked to commit
 *     on      it is evicted when no other clean page is left, or when kept and dirty pages would
 *             fill the cache: a dead daemon makes kept pages dirty, and readers need a page then
 *     off     bytes are unprotected as soon as they are written back
 *
 * This ends with the store file: when no handle has the file open, the daemon alone is responsible
 * for its unstable bytes.
 *
 * After a sync below ZC_LEVEL_STORED, other jobs may modify the file (doc/SEMANTICS.md): a page
 * with kept bytes when such a sync ends is `published`, and the next refresh makes its bytes
 * invalid, hence unprotected.
 *
 * Call all functions with the cache's lock; none drops it.
 */
#ifndef ZC_UNSTABLE_H
#define ZC_UNSTABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_list.h"
#include "zc_store.h"
#include "zc_wb_errors.h"

struct zc_cache;
struct zc_file;
struct zc_page;

/* Bytes that would be lost if the server died, up to a number of its unstable_seq. */
struct zc_unprotected {
    uint64_t number;
    struct zc_spans spans;
};

struct zc_unstable_server {
    struct zc_progress at;     /* as reported; `committed_seq` also by syncs */
    struct zc_progress synced; /* value at the begin of the sync under way */
    struct zc_unprotected older, newer;
};

/* Unstable state of a file. */
struct zc_unstable {
    struct zc_unstable_server *servers; /* NULL: the store is not lossy */
    enum zc_replay replay;              /* what is kept of it */
    struct zc_list pages;               /* zc_page.kept_link */
    struct zc_list link;      /* cache->unstable_files: has kept pages, or unprotected bytes */
    uint64_t bytes;           /* sum over the pages */
    unsigned deaths;          /* of its servers, as noticed here */
    uint64_t ask_at, backoff; /* ns: when the store is asked again */
    struct zc_error why;      /* why the last request to commit failed */
};

int zc_unstable_init(struct zc_cache *c, struct zc_file *f); /* 0 or -ENOMEM */
void zc_unstable_free(struct zc_file *f);
/* Sets the replay mode for an open with these flags, before the open counts. */
void zc_unstable_choose(struct zc_cache *c, struct zc_file *f, unsigned flags);
/* Starts tracking, after a store file was opened for writing. */
void zc_unstable_begin(struct zc_cache *c, struct zc_file *f);
/* Ends tracking, before the store file is closed or when the file is deleted. */
void zc_unstable_end(struct zc_cache *c, struct zc_file *f);

/* Reads the store's progress: releases committed bytes, makes dirty what a dead server lost.  If
 * f->unstable.deaths is the same before and after a store write, its bytes were accepted. */
void zc_unstable_update(struct zc_cache *c, struct zc_file *f);
void zc_unstable_moved(
    struct zc_watch *w); /* zc_cache.watch: updates all files concerned; without lock */

/* Keeps the bytes of p->flushing after their store write: after zc_unstable_update(), before
 * zc_page_flushed(). */
void zc_unstable_page(struct zc_cache *c, struct zc_page *p);
/* Releases those that the store has committed since. */
void zc_unstable_committed(struct zc_cache *c, struct zc_page *p);
/* As zc_unstable_page(), for bytes that are not in a page. */
void zc_unstable_unprotect(struct zc_cache *c, struct zc_file *f, uint64_t lo, uint64_t hi);
/* Makes the page's kept bytes unprotected, before the page is evicted. */
void zc_unstable_release(struct zc_cache *c, struct zc_page *p);
/* As zc_unstable_release(), for [lo, hi) of the page; for all of it if there is no memory for the
 * rest. */
void zc_unstable_release_part(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi);
/* Drops kept bytes of the page from `lo` on, which was truncated. */
void zc_unstable_truncate(struct zc_cache *c, struct zc_page *p, uint32_t lo);
/* Forgets unprotected bytes in [lo, hi) of the file: cut off, deleted or discarded. */
void zc_unstable_forgive(struct zc_file *f, uint64_t lo, uint64_t hi);

/* Limits kept and dirty pages, as far as they need not stay. */
void zc_unstable_make_room(struct zc_cache *c);
/* Whether the page must stay for its kept bytes. */
bool zc_unstable_pins(const struct zc_page *p);
/* Whether pages of the file stay until they are stored. */
bool zc_unstable_strict(const struct zc_file *f);
/* Whether a page with kept bytes is `published`: see above. */
bool zc_unstable_published(const struct zc_file *f);

/* Bracket a sync of the store; it failed if rc < 0. */
void zc_unstable_sync_begins(struct zc_cache *c, struct zc_file *f);
void zc_unstable_synced(struct zc_cache *c, struct zc_file *f, enum zc_level level, int rc);

/* Returns a file whose store should commit because room is lacking; NULL: none now, and *wake
 * becomes the time, if that is earlier. */
struct zc_file *zc_unstable_to_ask(struct zc_cache *c, uint64_t now, uint64_t *wake);
/* Reports the result of that: `why` explains an error. */
void zc_unstable_asked(struct zc_cache *c, struct zc_file *f, const struct zc_error *why);
/* Returns why no page with kept bytes will become free; NULL: some will, or there are none. */
const struct zc_error *zc_unstable_stuck(const struct zc_cache *c);

uint64_t zc_unstable_unprotected(const struct zc_cache *c, const struct zc_file *f); /* bytes */

#endif
