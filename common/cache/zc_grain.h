/* zc_grain.h - checksums of what lies in a page, one for each grain of its memory.
 *
 * A sum is of all bytes of its grain, whatever of them is valid or dirty: so that it stays right
 * while pages are cut, written back, merged and refreshed, which moves no byte.  Whoever changes
 * bytes opens their grains before, and closes them afterwards:
 *
 *     open    no sum: bytes may change; several may be at work in a grain
 *     closed  by the last of them: has the sum of what was there then, or none yet
 *
 * Not locked: the owner's lock guards the grains, and is held while bytes of closed ones are
 * summed, which nobody changes then.  zc_crc_load() has worked before.  [lo, hi): of the page.
 */
#ifndef ZC_GRAIN_H
#define ZC_GRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ZC_GRAIN = 1024 }; /* bytes; pages are a multiple */

struct zc_grain {
    uint32_t crc;
    uint16_t open; /* how many may change its bytes */
    bool summed;   /* crc is that of its bytes; not while it is open */
};

/* The first `n` have no sums, and nobody is at work. */
void zc_grains_clear(struct zc_grain *g, uint32_t n);
void zc_grains_open(struct zc_grain *g, uint32_t lo, uint32_t hi);
/* `data`: the page. */
void zc_grains_close(struct zc_grain *g, const void *data, uint32_t lo, uint32_t hi);
/* The bytes of the i-th are what they were, as far as anybody knows. */
bool zc_grain_right(const struct zc_grain *g, const void *data, uint32_t i);

#endif
