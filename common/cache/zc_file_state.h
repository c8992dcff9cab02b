/* zc_file_state.h - states of a cached file, and which may follow which.
 *
 * They are orthogonal: a file has one of each.  zc_file_state.c has the tables of transitions;
 * debug builds abort at one that is not there.  With the lock held.
 */
#ifndef ZC_FILE_STATE_H
#define ZC_FILE_STATE_H

#include "config.h"

/* The thread that has the file for itself, apart from accesses. */
enum zc_file_ctl {
    ZC_CTL_FREE,
    ZC_CTL_HELD,     /* by open, close, truncate, allocate or unlink */
    ZC_CTL_SETTLING, /* its store files are being closed */
};

/* Whether a name leads to the file. */
enum zc_file_name {
    ZC_NAME_THERE, /* as far as is known */
    ZC_NAME_GOING, /* zc_cache_unlink_pending() */
    ZC_NAME_GONE,  /* it is unlinked: its bytes need not be written back */
};

#ifdef ZC_DEBUG
/* Abort unless the transition is in its table, or is none. */
void zc_file_check_ctl(enum zc_file_ctl from, enum zc_file_ctl to);
void zc_file_check_name(enum zc_file_name from, enum zc_file_name to);
#else
#define zc_file_check_ctl(from, to)  ((void)0)
#define zc_file_check_name(from, to) ((void)0)
#endif

/* Moves file `f` to the state `to` of `kind`, which is a member of it. */
#define ZC_FILE_MOVE(f, kind, to)                                                                  \
    do {                                                                                           \
        zc_file_check_##kind((f)->kind, (to));                                                     \
        (f)->kind = (to);                                                                          \
    } while (0)

#endif
