/* zc_pool.c - a queue of work and the threads that take from it.
 *
 * Invariant: a thread ends only when it was told to stop and the queue is empty.
 */
#include "config.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zc_pool.h"

struct zc_pool {
    struct zc_lock lock;
    zc_cond some;
    struct zc_list queue; /* lock */
    bool stop;            /* lock */
    char name[16];
    unsigned nthreads; /* those started */
    pthread_t threads[];
};

static void *pool_thread(void *arg)
{
    struct zc_pool *p = arg;
    struct zc_list *n;

    pthread_setname_np(pthread_self(), p->name);
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

/* Starts one thread with every signal blocked: signals belong to the program. */
static int start_thread(struct zc_pool *p)
{
    sigset_t all, old;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&p->threads[p->nthreads], NULL, pool_thread, p);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc == 0)
        p->nthreads++;
    return rc;
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
    zc_lock_init(&p->lock);
    zc_cond_init(&p->some);
    zc_list_init(&p->queue);
    snprintf(p->name, sizeof(p->name), "%s", name);
    while (p->nthreads < nthreads) {
        rc = start_thread(p);
        if (rc != 0) {
            zc_errorf(rc,
                      "thread pool %s: thread %u of %u cannot start: %s; raise the limit on "
                      "processes (ulimit -u)",
                      name, p->nthreads + 1, nthreads, strerror(rc));
            zc_pool_destroy(p);
            return -rc;
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
