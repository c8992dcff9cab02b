/* zc_extent.h - a set of bytes inside one page, as sorted disjoint ranges.
 *
 * Bytes lo <= x < hi, page-relative.  Adjacent ranges are merged, so "the whole
 * page" is one range.  Not locked: the owner's lock guards it.  Two ranges are kept
 * in place; more are allocated.  There are no pointers into the struct itself, so a
 * set may be copied bytewise when the original is given up (zc_extents_swap).
 */
#ifndef ZC_EXTENT_H
#define ZC_EXTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zc_range {
    uint32_t lo, hi;
};

enum { ZC_EXTENTS_IN_PLACE = 2 };

struct zc_extents {
    uint32_t n, cap;       /* ranges in use, ranges allocated (0: those in place) */
    uint32_t bytes;        /* of all of them */
    struct zc_range *many; /* sorted; NULL while cap == 0 */
    struct zc_range in[ZC_EXTENTS_IN_PLACE];
};

void zc_extents_init(struct zc_extents *e);
void zc_extents_free(struct zc_extents *e); /* leaves it empty and usable */

static inline const struct zc_range *zc_extents_ranges(const struct zc_extents *e)
{
    return e->cap ? e->many : e->in;
}

/* O(1). */
static inline uint64_t zc_extents_bytes(const struct zc_extents *e)
{
    return e->bytes;
}

/* Makes room for n ranges, so that no call below fails before there are more. */
int zc_extents_reserve(struct zc_extents *e, uint32_t n);

/* All return 0 or -ENOMEM, in which case the set is unchanged.  add and sub leave at
 * most one range more than before, merge and subtract at most the sum of both. */
int zc_extents_add(struct zc_extents *e, uint32_t lo, uint32_t hi);
int zc_extents_sub(struct zc_extents *e, uint32_t lo, uint32_t hi);
/* Adds `n` ranges, sorted and disjoint, in one pass over those that lie among them; the others are
 * moved. */
int zc_extents_add_many(struct zc_extents *e, const struct zc_range *r, uint32_t n);
/* dst becomes the union of both; src is unchanged. */
int zc_extents_merge(struct zc_extents *dst, const struct zc_extents *src);
/* dst becomes what src is. */
int zc_extents_copy(struct zc_extents *dst, const struct zc_extents *src);

void zc_extents_clear(struct zc_extents *e); /* empty; keeps the room */
/* Gives room back if less than 1/`part` of it is used; 1: all unused room. */
void zc_extents_trim(struct zc_extents *e, uint32_t part);
/* Exchanges content and allocated room.  Never fails. */
void zc_extents_swap(struct zc_extents *a, struct zc_extents *b);

bool zc_extents_empty(const struct zc_extents *e);
bool zc_extents_equal(const struct zc_extents *a, const struct zc_extents *b);
bool zc_extents_cover(const struct zc_extents *e, uint32_t lo, uint32_t hi);
bool zc_extents_touch(const struct zc_extents *e, uint32_t lo, uint32_t hi);

/* Returns the index of the first range that ends after `x`, or e->n. */
uint32_t zc_extents_after(const struct zc_extents *e, uint32_t x);
/* The first range of bytes inside [lo, hi) that are in the set; false: none. */
bool zc_extents_next(const struct zc_extents *e, uint32_t lo, uint32_t hi, struct zc_range *r);
/* The first range of bytes inside [lo, hi) that are *not* in the set; false: none. */
bool zc_extents_gap(const struct zc_extents *e, uint32_t lo, uint32_t hi, struct zc_range *gap);

#endif
