/* zc_retain.h - what a lossy store has taken and not stored yet: kept, so that it can be sent
 * again.
 *
 * Bytes that were written back to a daemon, by what becomes of them here:
 *
 *                     zc_retain_page(): written back
 *     dirty ---------------------------------------------> retained ------------------> clean
 *       ^                                                   |    |   zc_retain_look(): stored
 *       |     zc_retain_look(): the daemon has died         |    |
 *       +---------------------------------------------------+    | zc_retain_let_go(): the page
 *                                                                | is needed for another
 *                          lost <----------------------------- exposed ----------------> nothing
 *                                 zc_retain_look(): it has died          stored
 *
 * Retained bytes are in a page, valid, and may be written again: then they are dirty as well, and
 * retained until the newer ones are stored.  Exposed bytes are not here any more: a file knows of
 * them within spans.  With replay
 *
 *     strict  a page with retained bytes stays, and counts as unwritten for those who want
 *             room (zc_quota.c); when that is lacking the store is asked to store what it has
 *     on      it goes when no other clean page is there, or when with what is unwritten it would
 *             take all of the cache: a death makes it unwritten, and readers need a page then
 *     off     bytes are exposed as soon as they are written back
 *
 * It ends with the store file: when nobody has the file open any more, what a daemon has taken is
 * the daemon's.
 *
 * Others may change what a sync has handed to the store, however far it came (doc/SEMANTICS.md):
 * a page that was retained when a sync below ZC_LEVEL_STORED ended is `handed`, and with the next
 * refresh its bytes are not valid any more, hence exposed.
 *
 * All calls with the cache's lock, which none drops.
 */
#ifndef ZC_RETAIN_H
#define ZC_RETAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_ledger.h"
#include "zc_list.h"
#include "zc_store.h"

struct zc_cache;
struct zc_file;
struct zc_page;

/* Bytes that are exposed to the death of a server, up to a number of it. */
struct zc_exposed {
    uint64_t number;
    struct zc_spans spans;
};

struct zc_retain_server {
    struct zc_progress at;     /* as the store has said; `stored` also by syncs */
    struct zc_progress synced; /* what it was when the sync under way began */
    struct zc_exposed older, newer;
};

/* The part of a file. */
struct zc_retain {
    struct zc_retain_server *servers; /* NULL: the store is not lossy */
    enum zc_replay replay;            /* what of it is kept */
    struct zc_list pages;             /* zc_page.retained_link */
    struct zc_list link;              /* cache->retaining: has such pages, or exposed bytes */
    uint64_t bytes;                   /* sum over the pages */
    unsigned deaths;                  /* of its servers, as seen here */
    uint64_t ask_at, backoff;         /* ns: when the store is asked again */
    struct zc_why why;                /* it could not do what it was asked last */
};

int zc_retain_init(struct zc_cache *c, struct zc_file *f); /* 0 or -ENOMEM */
void zc_retain_free(struct zc_file *f);
/* A file is opened with these flags, before it counts as open. */
void zc_retain_choose(struct zc_cache *c, struct zc_file *f, unsigned flags);
/* A store file has been opened to write to. */
void zc_retain_begin(struct zc_cache *c, struct zc_file *f);
/* It will be closed, or the file is deleted: nothing is retained or exposed any more. */
void zc_retain_end(struct zc_cache *c, struct zc_file *f);

/* How far the store has come: lets go what is stored, makes dirty what a dead server has lost.
 * Before a store write and after it, with the same f->retain.deaths, the bytes are taken. */
void zc_retain_look(struct zc_cache *c, struct zc_file *f);
void zc_retain_moved(
    struct zc_watch *w); /* zc_cache.watch: looks at all files concerned; without lock */

/* A store write of p->flushing is over: after zc_retain_look(), before zc_page_flushed(). */
void zc_retain_page(struct zc_cache *c, struct zc_page *p);
/* The same, and the store has been asked since to store it, and did. */
void zc_retain_stored(struct zc_cache *c, struct zc_page *p);
/* The same as zc_retain_page() for bytes that are not in a page. */
void zc_retain_expose(struct zc_cache *c, struct zc_file *f, uint64_t lo, uint64_t hi);
/* What the page retains is exposed from now on: the page is to go. */
void zc_retain_let_go(struct zc_cache *c, struct zc_page *p);
/* The same of [lo, hi) of the page; of all of it where there is no memory for the rest. */
void zc_retain_let_go_part(struct zc_cache *c, struct zc_page *p, uint32_t lo, uint32_t hi);
/* Bytes of the page from `lo` on were cut off. */
void zc_retain_cut(struct zc_cache *c, struct zc_page *p, uint32_t lo);
/* What was exposed of [lo, hi) of the file is nobody's concern any more. */
void zc_retain_forgive(struct zc_file *f, uint64_t lo, uint64_t hi);

/* Counts the page if it is claimed, or retains bytes: zc_page_place(). */
void zc_retain_stake(struct zc_cache *c, struct zc_page *p);
/* Retained and unwritten pages leave room for others, as far as they need not stay. */
void zc_retain_make_room(struct zc_cache *c);
/* The page must stay for what it retains. */
bool zc_retain_pins(const struct zc_page *p);
/* Pages of the file stay until they are stored. */
bool zc_retain_strict(const struct zc_file *f);
/* Something retained was handed to others: see above. */
bool zc_retain_handed(const struct zc_file *f);

/* Around a sync of the store; it has failed if rc < 0. */
void zc_retain_sync_begins(struct zc_cache *c, struct zc_file *f);
void zc_retain_synced(struct zc_cache *c, struct zc_file *f, enum zc_level level, int rc);

/* A file whose store is to be asked to store what it has taken, because room is lacking; NULL:
 * none now, and *wake becomes when, if that is earlier. */
struct zc_file *zc_retain_to_ask(struct zc_cache *c, uint64_t now, uint64_t *wake);
/* It was: rc, explained by `why` if negative. */
void zc_retain_asked(struct zc_cache *c, struct zc_file *f, const struct zc_why *why);
/* Why no retained page will make room; NULL: some will, or there are none. */
const struct zc_why *zc_retain_stuck(const struct zc_cache *c);

uint64_t zc_retain_exposed(const struct zc_cache *c, const struct zc_file *f); /* bytes */

#endif
