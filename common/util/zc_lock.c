/* zc_lock.c - waits for locks; and the locks that a thread holds, in debug builds. */
#include "config.h"

#include "zc_lock.h"

void zc_lock_wait(struct zc_lock *l)
{
    uint64_t began = zc_now();

    pthread_mutex_lock(&l->mutex);
    l->waits++;
    l->wait_ns += zc_now() - began;
}

#ifdef ZC_DEBUG

enum { DEPTH = ZC_ORDER_EVENTS + 1 }; /* each of the table once */

static _Thread_local enum zc_lock_order held[DEPTH];
static _Thread_local unsigned nheld;

unsigned zc_lock_count(void)
{
    return nheld;
}

void zc_lock_taken(enum zc_lock_order order)
{
    assert(nheld < DEPTH);
    for (unsigned i = 0; i < nheld; i++)
        assert(held[i] < order); /* the order of zc_lock.h is not kept */
    held[nheld++] = order;
}

/* Locks are given back in any order. */
void zc_lock_given(enum zc_lock_order order)
{
    unsigned i = nheld;

    while (i && held[i - 1] != order)
        i--;
    assert(i); /* not held */
    for (nheld--; i <= nheld; i++)
        held[i - 1] = held[i];
}

#endif
