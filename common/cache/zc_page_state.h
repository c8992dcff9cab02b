/* zc_page_state.h - states of a page, and which may follow which.
 *
 * They are orthogonal: a page has one of each.  zc_page_state.c has the tables of transitions;
 * debug builds abort at one that is not there.  With the lock held.
 */
#ifndef ZC_PAGE_STATE_H
#define ZC_PAGE_STATE_H

#include "config.h"

#include <stdbool.h>

/* The file's list of unwritten pages that a page is on. */
enum zc_page_on { ZC_ON_NONE, ZC_ON_DIRTY, ZC_ON_FAILED, ZC_ON_FLUSHING };

/* What the store read is for that fills gaps of `valid`, or is queued. */
enum zc_page_fill {
    ZC_FILL_NONE,
    ZC_FILL_ACCESS,   /* an access has requested it */
    ZC_FILL_AHEAD,    /* readahead */
    ZC_FILL_COLLAPSE, /* to merge ranges */
};

/* Which reads and bytes share the page's store reads. */
enum zc_page_reads {
    ZC_READS_JOINED,
    ZC_READS_ALONE,  /* a read of several pages failed: this one is to be retried alone */
    ZC_READS_NARROW, /* some bytes cannot be read: only one reader's bytes are read at a time */
};

/* What the store made of the last write-back of bytes that are unwritten still. */
enum zc_page_refused {
    ZC_REFUSED_NONE,
    ZC_REFUSED_TOGETHER, /* a write of several pages failed: this one is to be retried alone */
    ZC_REFUSED_ALONE,    /* the page failed: zc_wb_errors_page_refused() */
};

/* Whether readahead has foreseen the page since it entered the cache. */
enum zc_page_ahead {
    ZC_AHEAD_NONE,
    ZC_AHEAD_ASKED, /* for page->ahead_for, and not used yet */
    ZC_AHEAD_BEGUN, /* the same, and the read has begun or ended */
    ZC_AHEAD_OVER,  /* used or wasted */
};

/* Why the page must stay, for the limits of such pages. */
enum zc_page_stake {
    ZC_STAKE_NONE,
    ZC_STAKE_KEPT,     /* it keeps unstable bytes (zc_unstable.h), which may be given up */
    ZC_STAKE_RESERVED, /* unwritten bytes, a write under way, or unstable bytes that must stay */
};

#ifdef ZC_DEBUG
/* Abort unless the transition is in its table, or is none. */
void zc_page_check_on(enum zc_page_on from, enum zc_page_on to);
void zc_page_check_fill(enum zc_page_fill from, enum zc_page_fill to);
void zc_page_check_reads(enum zc_page_reads from, enum zc_page_reads to);
void zc_page_check_refused(enum zc_page_refused from, enum zc_page_refused to);
void zc_page_check_ahead(enum zc_page_ahead from, enum zc_page_ahead to);
void zc_page_check_stake(enum zc_page_stake from, enum zc_page_stake to);
#else
#define zc_page_check_on(from, to)      ((void)0)
#define zc_page_check_fill(from, to)    ((void)0)
#define zc_page_check_reads(from, to)   ((void)0)
#define zc_page_check_refused(from, to) ((void)0)
#define zc_page_check_ahead(from, to)   ((void)0)
#define zc_page_check_stake(from, to)   ((void)0)
#endif

/* Moves page `p` to the state `to` of `kind`, which is a member of it. */
#define ZC_PAGE_MOVE(p, kind, to)                                                                  \
    do {                                                                                           \
        zc_page_check_##kind((p)->kind, (to));                                                     \
        (p)->kind = (to);                                                                          \
    } while (0)

#endif
