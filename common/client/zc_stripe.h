/* zc_stripe.h - which daemon and which aggregator own a block.  Arithmetic, all inline.
 *
 * With block size B, D daemons of which the file uses W, beginning with daemon F, and A
 * aggregators, block b = offset / B belongs to
 *
 *     daemon(b)     = (F + b mod W) mod D
 *     aggregator(b) = b mod A',  A' = A rounded down to a multiple of W (A when A < W)
 *
 * daemon(b) depends only on B, D, W and F, which are the same in every job, so every job finds the
 * same daemon.  When A >= W an aggregator's blocks all lie on one daemon, and its next block is
 * b + A': the stride along which both levels prefetch.
 */
#ifndef ZC_STRIPE_H
#define ZC_STRIPE_H

#include <stdint.h>

struct zc_stripe {
    uint64_t block_size;  /* B, bytes; > 0 */
    uint32_t daemons;     /* D; 0 is the embedded mode and counts as one */
    uint32_t aggregators; /* A; > 0 */
    uint32_t width;       /* W; 0, or more than D: D */
    uint32_t first;       /* F; taken modulo D */
};

static inline uint64_t zc_stripe_block(const struct zc_stripe *p, uint64_t off)
{
    return off / p->block_size;
}

/* Returns the number of daemons that own blocks. */
static inline uint32_t zc_stripe_width(const struct zc_stripe *p)
{
    uint32_t d = p->daemons ? p->daemons : 1;

    return p->width && p->width < d ? p->width : d;
}

/* Aggregators that own blocks: A'. */
static inline uint32_t zc_stripe_owners(const struct zc_stripe *p)
{
    uint32_t w = zc_stripe_width(p);

    return p->aggregators < w ? p->aggregators : p->aggregators - p->aggregators % w;
}

static inline uint32_t zc_stripe_daemon(const struct zc_stripe *p, uint64_t block)
{
    uint64_t place = block % zc_stripe_width(p);

    return p->daemons ? (uint32_t)((p->first % p->daemons + place) % p->daemons) : 0;
}

static inline uint32_t zc_stripe_aggregator(const struct zc_stripe *p, uint64_t block)
{
    return (uint32_t)(block % zc_stripe_owners(p));
}

/* Bytes from `off` to the end of its block. */
static inline uint64_t zc_stripe_room(const struct zc_stripe *p, uint64_t off)
{
    return p->block_size - off % p->block_size;
}

#endif
