/* zc_pool.c - a queue of work and the threads that take from it.
 *
 * Invariant: a thread ends only when it was told to stop and the queue is empty.
 */
#include "config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zc_pool.h"
#include "zc_thread.h"

struct zc_pool {
    struct zc_lock lock;
    zc_cond some;
    struct zc_list queue; /* lock */
    bool stop;            /* lock */
    unsigned nthreads;    /* those started */
    pthread_t threads[];
};

static void *pool_thread(void *arg)
{
    struct zc_pool *p = arg;
    struct zc_list *n;

    zc_lock_get(&p->lock);
    for (;;) {
        n = zc_list_pop(&p->queue);
        if (n) {
            struct zc_work *w = zc_list_entry(n, struct zc_work, link);

            zc_lock_put(&p->lock);
            w->run(w);
            zc_lock_get(&p->lock);
        } else if (p->stop) {
            break;
        } else {
            zc_cond_wait(&p->some, &p->lock);
        }
    }
    zc_lock_put(&p->lock);
    return NULL;
}

int zc_pool_create(unsigned nthreads, const char *name, struct zc_pool **out)
{
    struct zc_pool *p;
    int rc;

    *out = NULL;
    if (nthreads == 0)
        return zc_errorf(EINVAL, "thread pool %s needs at least one thread", name);
    p = calloc(1, sizeof(*p) + nthreads * sizeof(p->threads[0]));
    if (!p)
        return zc_errorf(ENOMEM, "thread pool %s: out of memory", name);
    zc_lock_init(&p->lock, ZC_ORDER_POOL);
    zc_cond_init(&p->some);
    zc_list_init(&p->queue);
    for (; p->nthreads < nthreads; p->nthreads++) {
        rc = zc_thread_start(&p->threads[p->nthreads], name, pool_thread, p);
        if (rc) {
            zc_pool_destroy(p);
            return rc;
        }
    }
    *out = p;
    return 0;
}

void zc_pool_submit(struct zc_pool *p, struct zc_work *w)
{
    zc_lock_get(&p->lock);
    zc_list_add_tail(&p->queue, &w->link);
    zc_lock_put(&p->lock);
    pthread_cond_signal(&p->some);
}

void zc_pool_destroy(struct zc_pool *p)
{
    if (!p)
        return;
    zc_lock_get(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->some);
    zc_lock_put(&p->lock);
    for (unsigned i = 0; i < p->nthreads; i++)
        pthread_join(p->threads[i], NULL);
    pthread_cond_destroy(&p->some);
    zc_lock_destroy(&p->lock);
    free(p);
}
