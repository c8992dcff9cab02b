/* test_pool.c - work runs once, destroy runs what is queued, work may submit itself again. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "check_main.h"
#include "zc_pool.h"

struct job {
    struct zc_work work;
    struct zc_pool *pool;
    atomic_uint runs;
    unsigned again;
};

static void count(struct zc_work *w)
{
    struct job *j = zc_list_entry(w, struct job, work);

    atomic_fetch_add(&j->runs, 1);
    if (j->again > 0) {
        j->again--;
        zc_pool_submit(j->pool, w);
    }
}

START_TEST(all_work_is_done)
{
    enum { N = 10000 };
    struct job *jobs = calloc(N, sizeof(*jobs));
    struct zc_pool *p;

    ck_assert_int_eq(zc_pool_create(4, "test", &p), 0);
    for (int i = 0; i < N; i++) {
        jobs[i].work.run = count;
        jobs[i].pool = p;
        jobs[i].again = i % 3;
        zc_pool_submit(p, &jobs[i].work);
    }
    zc_pool_destroy(p);
    for (int i = 0; i < N; i++)
        ck_assert_uint_eq(atomic_load(&jobs[i].runs), 1u + i % 3);
    free(jobs);
}
END_TEST

struct meeting {
    struct zc_work work;
    pthread_barrier_t *all;
};

static void meet(struct zc_work *w)
{
    pthread_barrier_wait(zc_list_entry(w, struct meeting, work)->all);
}

/* Ends only when four run at the same time. */
START_TEST(threads_work_side_by_side)
{
    struct meeting m[4];
    pthread_barrier_t all;
    struct zc_pool *p;

    pthread_barrier_init(&all, NULL, 4);
    ck_assert_int_eq(zc_pool_create(4, "a name that is far too long", &p), 0);
    for (int i = 0; i < 4; i++) {
        m[i].work.run = meet;
        m[i].all = &all;
        zc_pool_submit(p, &m[i].work);
    }
    zc_pool_destroy(p);
    pthread_barrier_destroy(&all);
}
END_TEST

START_TEST(no_threads_is_refused)
{
    struct zc_pool *p;

    ck_assert_int_eq(zc_pool_create(0, "none", &p), -EINVAL);
    ck_assert_ptr_null(p);
    zc_pool_destroy(p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pool");

    CASE(s, "pool", 60, all_work_is_done, threads_work_side_by_side, no_threads_is_refused);
    return run_suite(s);
}
