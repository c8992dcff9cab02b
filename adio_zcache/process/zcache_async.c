/* zcache_async.c - work done by threads of the process's own. */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "zc_error.h"
#include "zc_list.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_thread.h"
#include "zcache_async.h"
#include "zcache_finalize.h"

enum { MAX_THREADS = 4 }; /* each keeps several blocks under way */

struct zcache_async_op {
    struct zc_list link; /* while it waits for a thread; lock */
    const struct zcache_async_kind *kind;
    void *arg;
    struct zcache_async_group *together; /* may go once the job is done */
    int64_t result;                      /* once done */
    struct zc_error error;
    bool done;       /* atomic; set under lock, after the last look at `together` */
    unsigned owners; /* atomic */
};

static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_ASYNC);
static zc_cond more = PTHREAD_COND_INITIALIZER; /* jobs, or an end */
static zc_cond less = PTHREAD_COND_INITIALIZER; /* one more is done */
static struct zc_list waiting = {&waiting, &waiting};
static int nwaiting;
static pthread_t threads[MAX_THREADS];
static int nthreads, nidle;
static bool stopping, refused; /* refused: a thread could not start */

void zcache_async_release(struct zcache_async_op *j)
{
    if (__atomic_sub_fetch(&j->owners, 1, __ATOMIC_ACQ_REL))
        return;
    j->kind->free(j->arg);
    free(j);
}

/* ---- the threads ---- */

static void run(struct zcache_async_op *j)
{
    zc_error_clear();
    j->result = j->kind->run(j->arg);
    if (j->result < 0)
        zc_error_keep(&j->error, (int)j->result);
    zc_lock_get(&lock);
    j->together->under_way--;
    __atomic_store_n(&j->done, true, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&less);
    zc_lock_put(&lock);
    zcache_async_release(j);
}

static struct zcache_async_op *next(void)
{
    struct zc_list *n;

    zc_lock_get(&lock);
    nidle++;
    while (!(n = zc_list_pop(&waiting)) && !stopping)
        zc_cond_wait(&more, &lock);
    nidle--;
    nwaiting -= n != NULL;
    zc_lock_put(&lock);
    return n ? zc_list_entry(n, struct zcache_async_op, link) : NULL;
}

static void *work(void *arg)
{
    struct zcache_async_op *j;

    (void)arg;
    while ((j = next()))
        run(j);
    return NULL;
}

/* Starts another thread, if all are busy; none is tried after one that could not start, which takes
 * a while.  False: there is no thread at all. */
static bool have_threads(void)
{
    zc_assert_held(&lock);
    if (nthreads == MAX_THREADS || (nthreads && nidle > nwaiting))
        return true;
    refused = refused || zc_thread_start(&threads[nthreads], "zc-nonblocking", work, NULL) < 0;
    nthreads += !refused;
    return nthreads > 0;
}

/* ---- for others ---- */

/* When no file is open. */
static void stop(void)
{
    zc_lock_get(&lock);
    stopping = true;
    pthread_cond_broadcast(&more);
    zc_lock_put(&lock);
    while (nthreads)
        pthread_join(threads[--nthreads], NULL);
    stopping = refused = false;
}

struct zcache_async_op *zcache_async_new(const struct zcache_async_kind *kind, void *arg,
                                         struct zcache_async_group *together)
{
    struct zcache_async_op *j = calloc(1, sizeof *j);

    if (j)
        *j = (struct zcache_async_op){.kind = kind, .arg = arg, .together = together, .owners = 1};
    return j;
}

void zcache_async_start(struct zcache_async_op *j)
{
    bool ok;

    zcache_finalize_add(ZCACHE_END_WORK, stop);
    __atomic_add_fetch(&j->owners, 1, __ATOMIC_RELAXED);
    zc_lock_get(&lock);
    j->together->under_way++;
    ok = have_threads();
    if (ok) {
        zc_list_add_tail(&waiting, &j->link);
        nwaiting++;
        pthread_cond_signal(&more);
    }
    zc_lock_put(&lock);
    if (!ok)
        run(j);
}

bool zcache_async_is_done(struct zcache_async_op *j)
{
    return __atomic_load_n(&j->done, __ATOMIC_ACQUIRE);
}

void zcache_async_wait(struct zcache_async_op *j)
{
    zc_lock_get(&lock);
    while (!j->done)
        zc_cond_wait(&less, &lock);
    zc_lock_put(&lock);
}

int64_t zcache_async_result(const struct zcache_async_op *j)
{
    return j->result < 0 ? zc_error_raise(&j->error) : j->result;
}

void *zcache_async_arg(const struct zcache_async_op *j)
{
    return j->arg;
}

void zcache_async_drain(struct zcache_async_group *together)
{
    zc_lock_get(&lock);
    while (together->under_way)
        zc_cond_wait(&less, &lock);
    zc_lock_put(&lock);
}
