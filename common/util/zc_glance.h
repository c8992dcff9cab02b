/* zc_glance.h - what a process shows of a page in its memory, so that others of its host may read
 * it without asking.
 *
 * One who changes it, under a lock of his own; any number of others who copy it out of his memory
 * at any time (zc_tp_peek()).  Whoever has copied bytes of the page, and after them the glance, and
 * finds it as he knew it before, shown, has the bytes as they were shown: `turn` grows with every
 * change, and is hidden before the first byte of the page changes.
 */
#ifndef ZC_GLANCE_H
#define ZC_GLANCE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "zc_racy.h"

struct zc_glance {
    uint64_t turn;      /* odd: there is nothing to see */
    uint64_t file;      /* which, as its owner numbers them ... */
    uint64_t no;        /* ... and which page of it */
    uint64_t data;      /* the address of the page's first byte */
    uint32_t lo, hi;    /* these of its bytes may be read */
    uint32_t written;   /* they were written here: who finds it need not ask first, as for what
                           the owner reads from the store, and reads ahead as it is asked */
    uint32_t unused[5]; /* a line of the processor's cache for each */
};

static inline bool zc_glance_shown(const struct zc_glance *g)
{
    return !(g->turn & 1);
}

static inline bool zc_glance_same(const struct zc_glance *a, const struct zc_glance *b)
{
    return a->turn == b->turn && a->file == b->file && a->no == b->no && a->data == b->data &&
           a->lo == b->lo && a->hi == b->hi && a->written == b->written;
}

/* From now on nobody takes bytes for good that change after this. */
static inline void zc_glance_hide(struct zc_glance *g)
{
    uint64_t turn = __atomic_load_n(&g->turn, __ATOMIC_RELAXED);

    if (!(turn & 1))
        __atomic_store_n(&g->turn, turn + 1, __ATOMIC_RELAXED);
#ifndef ZC_TSAN /* which knows no fences, nor who reads: other processes */
    __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

/* Shows this; its `turn` is filled in. */
static inline void zc_glance_show(struct zc_glance *g, struct zc_glance *now)
{
    now->turn = __atomic_load_n(&g->turn, __ATOMIC_RELAXED);
    if (zc_glance_shown(now) && zc_glance_same(g, now))
        return;
    zc_glance_hide(g);
    __atomic_store_n(&g->file, now->file, __ATOMIC_RELAXED);
    __atomic_store_n(&g->no, now->no, __ATOMIC_RELAXED);
    __atomic_store_n(&g->data, now->data, __ATOMIC_RELAXED);
    __atomic_store_n(&g->lo, now->lo, __ATOMIC_RELAXED);
    __atomic_store_n(&g->hi, now->hi, __ATOMIC_RELAXED);
    __atomic_store_n(&g->written, now->written, __ATOMIC_RELAXED);
    now->turn = __atomic_load_n(&g->turn, __ATOMIC_RELAXED) + 1;
    __atomic_store_n(&g->turn, now->turn, __ATOMIC_RELEASE);
}

/* As it is now, in memory that is shared, after bytes of the page were copied.  One that changes
 * meanwhile is not shown. */
static inline void zc_glance_look(const struct zc_glance *g, struct zc_glance *now)
{
#ifndef ZC_TSAN
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
    now->turn = __atomic_load_n(&g->turn, __ATOMIC_ACQUIRE);
    now->file = __atomic_load_n(&g->file, __ATOMIC_RELAXED);
    now->no = __atomic_load_n(&g->no, __ATOMIC_RELAXED);
    now->data = __atomic_load_n(&g->data, __ATOMIC_RELAXED);
    now->lo = __atomic_load_n(&g->lo, __ATOMIC_RELAXED);
    now->hi = __atomic_load_n(&g->hi, __ATOMIC_RELAXED);
    now->written = __atomic_load_n(&g->written, __ATOMIC_RELAXED);
#ifndef ZC_TSAN
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
    if (__atomic_load_n(&g->turn, __ATOMIC_RELAXED) != now->turn)
        now->turn |= 1;
}

/* While this is the same, nothing that it shows has changed. */
static inline uint64_t zc_glance_turn(const struct zc_glance *g)
{
    return __atomic_load_n(&g->turn, __ATOMIC_ACQUIRE);
}

#endif
