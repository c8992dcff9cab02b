/* zcache_limit.h - what a program's accesses to a file were limited by, from what was measured. */
#ifndef ZCACHE_LIMIT_H
#define ZCACHE_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#include "zcache_figures.h"

enum zcache_limit {
    ZCACHE_LIMIT_NONE,      /* next to no time was spent, or it went into copying */
    ZCACHE_LIMIT_CACHE,     /* accesses waited for room while the store had time */
    ZCACHE_LIMIT_IOD_CACHE, /* the same in the daemons */
    ZCACHE_LIMIT_STORE,
    ZCACHE_LIMIT_NETWORK,
    ZCACHE_LIMIT_SMALL,     /* the number of accesses, not their bytes */
    ZCACHE_LIMIT_NO_HIDING, /* nothing was computed while the store was at work */
    ZCACHE_LIMIT_RANKS,     /* ranks waited for each other */
    ZCACHE_LIMITS
};

/* One word each, for programs. */
extern const char *const zcache_limit_names[ZCACHE_LIMITS];

/* Where the time went that the program spent in writes, reads, syncs and close, in ns; sums over
 * the ranks.  With time of its own what is left is `copying`. */
struct zcache_time_spent {
    uint64_t total;   /* of all below */
    uint64_t room;    /* for room in caches */
    uint64_t fill;    /* for bytes from the store */
    uint64_t network; /* credits and replies, but for what their aggregator waited itself */
    uint64_t drain;   /* in sync and close, after writes: until the store had all */
    uint64_t ranks;   /* until other ranks had come */
    uint64_t copying; /* and calls */
};

void zcache_limit_time(const struct zcache_figures *f, struct zcache_time_spent *out);
enum zcache_limit zcache_limit_of(const struct zcache_figures *f);
/* "limited by ...": the sentence for people, with its remedy; into buf, which is returned. */
char *zcache_limit_text(const struct zcache_figures *f, char *buf, size_t len);

#endif
