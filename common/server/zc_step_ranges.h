/* zc_step_ranges.h - sets of byte ranges of a file, exact as long as they are few.
 *
 * Ranges are sorted and disjoint, and adjacent ones are joined.  A set that would exceed
 * ZC_STEP_RANGES_MOST ranges joins those with the smallest gap between them.  So it contains every
 * byte that was added, and possibly others.  No lock.
 */
#ifndef ZC_STEP_RANGES_H
#define ZC_STEP_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ZC_STEP_RANGES_MOST = 1024 };

struct zc_step_range {
    uint64_t lo, hi; /* bytes lo <= x < hi of a file */
};

/* All zero: empty. */
struct zc_step_ranges {
    struct zc_step_range *r; /* allocated */
    size_t n, room;
    bool all; /* contains every byte: by add_all(), or because memory ran out */
};

/* Adds [lo, hi); without memory the set becomes all bytes. */
void zc_step_ranges_add(struct zc_step_ranges *s, uint64_t lo, uint64_t hi);
void zc_step_ranges_merge(struct zc_step_ranges *s, const struct zc_step_ranges *more);
void zc_step_ranges_add_all(struct zc_step_ranges *s);
bool zc_step_ranges_touch(const struct zc_step_ranges *s, uint64_t lo, uint64_t hi);
void zc_step_ranges_clear(struct zc_step_ranges *s); /* frees its memory; empty afterwards */

#endif
