/* zcache_jobs.c - accesses made by threads of their own. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ad_zcache.h"
#include "zc_list.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_thread.h"
#include "zcache_jobs.h"

enum { MAX_THREADS = 4 }; /* each keeps several blocks under way */

struct zcache_job {
    struct zc_list link;    /* while it waits for a thread; lock */
    struct zcache_access a; /* its file may be closed once the job is done */
    char *path;
    int64_t result; /* once done */
    char text[400];
    bool done;       /* atomic; set under lock, after the last look at the file */
    unsigned owners; /* atomic */
};

static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_JOBS);
static zc_cond more = PTHREAD_COND_INITIALIZER; /* jobs, or an end */
static zc_cond less = PTHREAD_COND_INITIALIZER; /* one more is done */
static struct zc_list waiting = {&waiting, &waiting};
static int nwaiting;
static pthread_t threads[MAX_THREADS];
static int nthreads, nidle;
static bool stopping;

void zcache_job_release(struct zcache_job *j)
{
    if (__atomic_sub_fetch(&j->owners, 1, __ATOMIC_ACQ_REL))
        return;
    zcache_slot_done(&j->a);
    free(j->path);
    free(j);
}

/* ---- the threads ---- */

static void run(struct zcache_job *j)
{
    struct zcache_file *f = j->a.f;

    zc_error_clear();
    j->result = zcache_slot_run(&j->a);
    if (j->result < 0)
        snprintf(j->text, sizeof j->text, "%s", zc_error_text((int)j->result));
    zc_lock_get(&lock);
    f->jobs--;
    __atomic_store_n(&j->done, true, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&less);
    zc_lock_put(&lock);
    zcache_job_release(j);
}

static struct zcache_job *next(void)
{
    struct zc_list *n;

    zc_lock_get(&lock);
    nidle++;
    while (!(n = zc_list_pop(&waiting)) && !stopping)
        zc_cond_wait(&more, &lock);
    nidle--;
    nwaiting -= n != NULL;
    zc_lock_put(&lock);
    return n ? zc_list_entry(n, struct zcache_job, link) : NULL;
}

static void *work(void *arg)
{
    struct zcache_job *j;

    (void)arg;
    while ((j = next()))
        run(j);
    return NULL;
}

/* Another thread, if all are busy.  False: there is none at all. */
static bool have_threads(void)
{
    zc_assert_held(&lock);
    if (nthreads == MAX_THREADS || (nthreads && nidle > nwaiting))
        return true;
    nthreads += zc_thread_start(&threads[nthreads], "zc-nonblocking", work, NULL) == 0;
    return nthreads > 0;
}

/* ---- for others ---- */

struct zcache_job *zcache_job_start(const struct zcache_access *a)
{
    struct zcache_job *j = calloc(1, sizeof *j);
    bool ok;

    if (!j)
        return NULL;
    j->path = a->f->path ? strdup(a->f->path) : NULL;
    if (!j->path) {
        free(j);
        return NULL;
    }
    j->a = *a;
    j->owners = 2;
    zc_lock_get(&lock);
    ok = have_threads();
    if (ok) {
        a->f->jobs++;
        zc_list_add_tail(&waiting, &j->link);
        nwaiting++;
        pthread_cond_signal(&more);
    }
    zc_lock_put(&lock);
    if (ok)
        return j;
    free(j->path);
    free(j);
    return NULL;
}

bool zcache_job_is_done(struct zcache_job *j)
{
    return __atomic_load_n(&j->done, __ATOMIC_ACQUIRE);
}

void zcache_job_wait(struct zcache_job *j)
{
    zc_lock_get(&lock);
    while (!j->done)
        zc_cond_wait(&less, &lock);
    zc_lock_put(&lock);
}

int64_t zcache_job_result(const struct zcache_job *j)
{
    return j->result < 0 ? zc_errorf(-(int)j->result, "%s", j->text) : j->result;
}

int zcache_job_code(const struct zcache_job *j)
{
    int64_t n = zcache_job_result(j);
    int code;

    zcache_slot_error(j->a.dir, j->path, n < 0 ? (int)n : 0, &code);
    return code;
}

void zcache_jobs_drain(struct zcache_file *f)
{
    zc_lock_get(&lock);
    while (f->jobs)
        zc_cond_wait(&less, &lock);
    zc_lock_put(&lock);
}

void zcache_jobs_stop(void)
{
    zc_lock_get(&lock);
    stopping = true;
    pthread_cond_broadcast(&more);
    zc_lock_put(&lock);
    while (nthreads)
        pthread_join(threads[--nthreads], NULL);
    stopping = false;
}
