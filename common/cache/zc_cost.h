/* zc_cost.h - the measured cost of store calls, and the cheapest way to write scattered bytes.
 *
 * A call of `bytes` bytes takes request + bytes * per_byte nanoseconds, with separate values for
 * reads and writes.  Calls of up to ZC_COST_SMALL bytes measure `request`, those of ZC_COST_LARGE
 * and more `per_byte`; recent ones count more.  Initially a slow shared file system is assumed: 200
 * us and 200 MB/s.
 *
 * Not locked: the owner's lock guards it.
 */
#ifndef ZC_COST_H
#define ZC_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_extent.h"

enum { ZC_COST_SMALL = 64 << 10, ZC_COST_LARGE = 256 << 10 };

struct zc_cost_fit {
    double request;  /* ns */
    double per_byte; /* ns */
};

struct zc_cost {
    struct zc_cost_fit reads, writes;
};

/* Dirty ranges of a page, or of a part of it. */
struct zc_cost_shape {
    uint32_t ranges;
    uint64_t bytes; /* in the ranges */
    uint64_t hull;  /* from the first to the last of them */
    bool fresh;     /* nothing between them in the store, so no read is needed */
};

enum zc_cost_way {
    ZC_COST_LIST,  /* one write for each range */
    ZC_COST_MERGE, /* one write of the hull, after one read of it */
    ZC_COST_FRESH, /* one write of the hull: nothing to read */
};

void zc_cost_init(struct zc_cost *c);
void zc_cost_add(struct zc_cost_fit *f, uint64_t bytes, uint64_t ns);

/* Return the store time of one way in nanoseconds, and the cheapest way. */
double zc_cost_of(const struct zc_cost *c, const struct zc_cost_shape *s, enum zc_cost_way way);
enum zc_cost_way zc_cost_choose(const struct zc_cost *c, const struct zc_cost_shape *s);
const char *zc_cost_name(enum zc_cost_way way); /* for the log */

/* The shape of all ranges of a set; O(1). */
struct zc_cost_shape zc_cost_shape_of(const struct zc_extents *e);
/* Splits off the first of `n` > 0 ranges that are best written by one call of the returned way:
 * *count of them.  A gap joins two ranges only if its bytes cost less than another request. */
enum zc_cost_way zc_cost_next(const struct zc_cost *c, const struct zc_range *r, uint32_t n,
                              bool fresh, uint32_t *count);

#endif
