/* zc_pagedesc.h - descriptor of a cached page, published under a sequence number (seqlock), so that
 * other processes of the host may read the page without a request.
 *
 * One process changes it, under a lock of its own; any number of others copy it out of that
 * process's memory at any time (zc_tp_peek()).  A reader copies bytes of the page and then the
 * descriptor: if that is published and unchanged, the bytes are valid.  `seq` grows with every
 * change, and the descriptor is hidden before the first byte of the page changes.
 */
#ifndef ZC_PAGEDESC_H
#define ZC_PAGEDESC_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "zc_tsan.h"

struct zc_pagedesc {
    uint64_t seq;       /* odd: not published */
    uint64_t file;      /* number that its owner gave the file */
    uint64_t no;        /* page number in that file */
    uint64_t data;      /* the address of the page's first byte */
    uint32_t lo, hi;    /* range of its bytes that may be read */
    uint32_t written;   /* these bytes were written here, so a reader need not send a read first;
                           for bytes from the store that first read drives the readahead */
    uint32_t unused[5]; /* pads to a cache line */
};

/* Since when a file has been quiescent: no open can write to it, and all its bytes are in the
 * store. It still is while zc_pagedesc_seq() of that descriptor, which is never published, is
 * `seq`. */
struct zc_quiescence {
    uint64_t pagedesc; /* its address in its owner's memory; 0: the file is not quiescent */
    uint64_t seq;
};

static inline bool zc_pagedesc_is_published(const struct zc_pagedesc *g)
{
    return !(g->seq & 1);
}

static inline bool zc_pagedesc_same(const struct zc_pagedesc *a, const struct zc_pagedesc *b)
{
    return a->seq == b->seq && a->file == b->file && a->no == b->no && a->data == b->data &&
           a->lo == b->lo && a->hi == b->hi && a->written == b->written;
}

/* Withdraws the descriptor: readers reject bytes that change after this call. */
static inline void zc_pagedesc_hide(struct zc_pagedesc *g)
{
    uint64_t seq = __atomic_load_n(&g->seq, __ATOMIC_RELAXED);

    if (!(seq & 1))
        __atomic_store_n(&g->seq, seq + 1, __ATOMIC_RELAXED);
#ifndef ZC_TSAN /* it supports no fences; readers are other processes */
    __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

/* Publishes *now, and fills in its `seq`. */
static inline void zc_pagedesc_publish(struct zc_pagedesc *g, struct zc_pagedesc *now)
{
    now->seq = __atomic_load_n(&g->seq, __ATOMIC_RELAXED);
    if (zc_pagedesc_is_published(now) && zc_pagedesc_same(g, now))
        return;
    zc_pagedesc_hide(g);
    __atomic_store_n(&g->file, now->file, __ATOMIC_RELAXED);
    __atomic_store_n(&g->no, now->no, __ATOMIC_RELAXED);
    __atomic_store_n(&g->data, now->data, __ATOMIC_RELAXED);
    __atomic_store_n(&g->lo, now->lo, __ATOMIC_RELAXED);
    __atomic_store_n(&g->hi, now->hi, __ATOMIC_RELAXED);
    __atomic_store_n(&g->written, now->written, __ATOMIC_RELAXED);
    now->seq = __atomic_load_n(&g->seq, __ATOMIC_RELAXED) + 1;
    __atomic_store_n(&g->seq, now->seq, __ATOMIC_RELEASE);
}

/* Reads the descriptor from shared memory, after bytes of the page were copied.  One that changes
 * meanwhile counts as not published. */
static inline void zc_pagedesc_read(const struct zc_pagedesc *g, struct zc_pagedesc *now)
{
#ifndef ZC_TSAN
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
    now->seq = __atomic_load_n(&g->seq, __ATOMIC_ACQUIRE);
    now->file = __atomic_load_n(&g->file, __ATOMIC_RELAXED);
    now->no = __atomic_load_n(&g->no, __ATOMIC_RELAXED);
    now->data = __atomic_load_n(&g->data, __ATOMIC_RELAXED);
    now->lo = __atomic_load_n(&g->lo, __ATOMIC_RELAXED);
    now->hi = __atomic_load_n(&g->hi, __ATOMIC_RELAXED);
    now->written = __atomic_load_n(&g->written, __ATOMIC_RELAXED);
#ifndef ZC_TSAN
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
    if (__atomic_load_n(&g->seq, __ATOMIC_RELAXED) != now->seq)
        now->seq |= 1;
}

/* While this is unchanged, nothing that the descriptor publishes has changed. */
static inline uint64_t zc_pagedesc_seq(const struct zc_pagedesc *g)
{
    return __atomic_load_n(&g->seq, __ATOMIC_ACQUIRE);
}

#endif
