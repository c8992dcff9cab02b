/* zc_place.h - which daemon and which aggregator own a block.  Arithmetic, all inline.
 *
 * With block size B, D daemons and A aggregators, block b = offset / B belongs to
 *
 *     daemon(b)     = b mod D
 *     aggregator(b) = b mod A',  A' = A rounded down to a multiple of D (A when A < D)
 *
 * daemon(b) depends on B and D alone, so every job finds the same daemon.  When A >= D an
 * aggregator's blocks all lie on one daemon, and its next block is b + A': the stride along
 * which both levels prefetch.
 */
#ifndef ZC_PLACE_H
#define ZC_PLACE_H

#include <stdint.h>

struct zc_place {
    uint64_t block_size;  /* B, bytes; > 0 */
    uint32_t daemons;     /* D; 0 is the embedded mode and counts as one */
    uint32_t aggregators; /* A; > 0 */
};

static inline uint64_t zc_place_block(const struct zc_place *p, uint64_t off)
{
    return off / p->block_size;
}

/* Aggregators that own blocks: A'. */
static inline uint32_t zc_place_owners(const struct zc_place *p)
{
    uint32_t d = p->daemons ? p->daemons : 1;

    return p->aggregators < d ? p->aggregators : p->aggregators - p->aggregators % d;
}

static inline uint32_t zc_place_daemon(const struct zc_place *p, uint64_t block)
{
    return p->daemons ? (uint32_t)(block % p->daemons) : 0;
}

static inline uint32_t zc_place_aggregator(const struct zc_place *p, uint64_t block)
{
    return (uint32_t)(block % zc_place_owners(p));
}

/* Bytes from `off` to the end of its block. */
static inline uint64_t zc_place_room(const struct zc_place *p, uint64_t off)
{
    return p->block_size - off % p->block_size;
}

#endif
