/* zcache_mpi_lock.c - what one thread at a time does, though it takes calls of MPI. */
#include "config.h"

#include "zcache_mpi_lock.h"

static _Thread_local unsigned
    mine; /* a bit for each in the table, but files, that this thread has */

void zcache_mpi_lock_init(struct zcache_mpi_lock *t, enum zcache_mpi_lock_order order)
{
    zc_lock_init(&t->lock, ZC_ORDER_MPI_LOCK);
    zc_cond_init(&t->given);
    t->taken = false;
    t->order = order;
}

void zcache_mpi_lock_destroy(struct zcache_mpi_lock *t)
{
    pthread_cond_destroy(&t->given);
    zc_lock_destroy(&t->lock);
}

/* Files come first and are many: a thread that holds one may take another file's. */
static void note(const struct zcache_mpi_lock *t)
{
    if (t->order != ZCACHE_MPI_LOCK_FILE)
        mine ^= 1u << t->order;
}

void zcache_mpi_lock_get(struct zcache_mpi_lock *t)
{
    zc_assert_none_held();
    /* The order of zcache_mpi_lock.h is kept. */
    zc_debug_assert(mine >> t->order == 0);
    zc_lock_get(&t->lock);
    while (t->taken)
        zc_cond_wait(&t->given, &t->lock);
    t->taken = true;
    zc_lock_put(&t->lock);
    note(t);
}

void zcache_mpi_lock_put(struct zcache_mpi_lock *t)
{
    note(t);
    zc_lock_get(&t->lock);
    t->taken = false;
    pthread_cond_signal(&t->given);
    zc_lock_put(&t->lock);
}
