/* zcache_turn.c - what one thread at a time does, though it takes calls of MPI. */
#include "config.h"

#include "zcache_turn.h"

static _Thread_local unsigned
    mine; /* a bit for each in the table, but files, that this thread has */

void zcache_turn_init(struct zcache_turn *t, enum zcache_turn_order order)
{
    zc_lock_init(&t->lock, ZC_ORDER_MPI_TURN);
    zc_cond_init(&t->given);
    t->taken = false;
    t->order = order;
}

void zcache_turn_destroy(struct zcache_turn *t)
{
    pthread_cond_destroy(&t->given);
    zc_lock_destroy(&t->lock);
}

/* Of files there are many, and they come first: who has one may take any. */
static void note(const struct zcache_turn *t)
{
    if (t->order != ZCACHE_TURN_FILE)
        mine ^= 1u << t->order;
}

void zcache_turn_take(struct zcache_turn *t)
{
    zc_assert_none_held();
    /* The order of zcache_turn.h is kept. */
    zc_debug_assert(mine >> t->order == 0);
    zc_lock_get(&t->lock);
    while (t->taken)
        zc_cond_wait(&t->given, &t->lock);
    t->taken = true;
    zc_lock_put(&t->lock);
    note(t);
}

void zcache_turn_give(struct zcache_turn *t)
{
    note(t);
    zc_lock_get(&t->lock);
    t->taken = false;
    pthread_cond_signal(&t->given);
    zc_lock_put(&t->lock);
}
