/* zcache_bottleneck.h - what limited a program's accesses to a file, from its measures. */
#ifndef ZCACHE_BOTTLENECK_H
#define ZCACHE_BOTTLENECK_H

#include <stddef.h>
#include <stdint.h>

#include "zcache_timing_fields.h"

enum zcache_bottleneck {
    ZCACHE_BOTTLENECK_NONE,      /* hardly any time was spent, or it went into copying */
    ZCACHE_BOTTLENECK_CACHE,     /* accesses waited for room while the store had time */
    ZCACHE_BOTTLENECK_IOD_CACHE, /* the same in the daemons */
    ZCACHE_BOTTLENECK_STORE,
    ZCACHE_BOTTLENECK_NETWORK,
    ZCACHE_BOTTLENECK_SMALL,     /* the number of accesses, not their bytes */
    ZCACHE_BOTTLENECK_NO_HIDING, /* the program did not compute while the store was at work */
    ZCACHE_BOTTLENECK_RANKS,     /* ranks waited for each other */
    ZCACHE_BOTTLENECK_SCATTERED, /* the store read and wrote again what lies between pieces of pages
                                  */
    ZCACHE_BOTTLENECKS
};

/* A word for each, for programs. */
extern const char *const zcache_bottleneck_names[ZCACHE_BOTTLENECKS];

/* The time that the program spent in writes, reads, syncs and close, by cause, in ns; sums over the
 * ranks.  What is left of the total is `copying`. */
struct zcache_time_spent {
    uint64_t total;   /* of all below */
    uint64_t room;    /* for room in caches */
    uint64_t fill;    /* for bytes from the store */
    uint64_t network; /* credits and replies, but for what their aggregator waited itself */
    uint64_t drain;   /* in sync and close, after writes: until the store had all */
    uint64_t ranks;   /* until other ranks had come */
    uint64_t copying; /* and calls */
};

void zcache_bottleneck_time(const struct zcache_timing_fields *f, struct zcache_time_spent *out);
enum zcache_bottleneck zcache_bottleneck_of(const struct zcache_timing_fields *f);
/* Writes "limited by ...", a sentence for people with its remedy, to buf, and returns buf.  Empty
 * if ranks spent less than 0.1 s and less than 1 % of the time in calls. */
char *zcache_bottleneck_text(const struct zcache_timing_fields *f, char *buf, size_t len);

#endif
