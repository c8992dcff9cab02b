/* test_pool.c - work runs once, destroy runs what is queued, work may submit itself again; work
 * stuck on one key does not delay other keys. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

/* Submits work of so many keys. */
static void do_all_work(unsigned keys, unsigned per_key)
{
    enum { N = 10000 };
    const struct zc_pool_config cfg = {
        .name = "test", .threads = 4, .most = 8, .per_key = per_key, .stuck_ms = 1};
    struct job *jobs = calloc(N, sizeof(*jobs));
    struct zc_pool *p;

    ck_assert_int_eq(zc_pool_create(&cfg, &p), 0);
    for (unsigned i = 0; i < N; i++) {
        jobs[i].work.run = count;
        jobs[i].work.key = i % keys;
        jobs[i].pool = p;
        jobs[i].again = i % 3;
        zc_pool_submit(p, &jobs[i].work);
    }
    zc_pool_destroy(p);
    for (unsigned i = 0; i < N; i++)
        if (atomic_load(&jobs[i].runs) != 1 + i % 3)
            ck_abort_msg("work %u of %u keys ran %u times", i, keys, jobs[i].runs);
    free(jobs);
}

START_TEST(all_work_is_done)
{
    static const unsigned keys[] = {1, 7, 100, 10000};

    for (unsigned i = 0; i < 4; i++)
        for (unsigned per_key = 0; per_key < 3; per_key++)
            do_all_work(keys[i], per_key);
}
END_TEST

struct meeting {
    struct zc_work work;
    pthread_barrier_t *all;
};

static void rendezvous(struct zc_work *w)
{
    pthread_barrier_wait(zc_list_entry(w, struct meeting, work)->all);
}

/* Ends only if four run at the same time. */
START_TEST(threads_work_side_by_side)
{
    const struct zc_pool_config long_name = {.name = "a name that is far too long", .threads = 4};
    struct meeting m[4] = {0};
    pthread_barrier_t all;
    struct zc_pool *p;

    pthread_barrier_init(&all, NULL, 4);
    ck_assert_int_eq(zc_pool_create(&long_name, &p), 0);
    for (int i = 0; i < 4; i++) {
        m[i].work.key = 1;
        m[i].work.run = rendezvous;
        m[i].all = &all;
        zc_pool_submit(p, &m[i].work);
    }
    zc_pool_destroy(p);
    pthread_barrier_destroy(&all);
}
END_TEST

START_TEST(no_threads_is_refused)
{
    const struct zc_pool_config none = {.name = "none"};
    struct zc_pool *p;

    ck_assert_int_eq(zc_pool_create(&none, &p), -EINVAL);
    ck_assert_ptr_null(p);
    zc_pool_destroy(p);
}
END_TEST

/* ---- turns ---- */

enum { GREEDY = 100, MODEST = 4 };

struct turn_work {
    struct zc_work work;
    char whose;
};

static char order[GREEDY + MODEST + 1];
static atomic_uint nran;

static void note_turn(struct zc_work *w)
{
    order[atomic_fetch_add(&nran, 1)] = zc_list_entry(w, struct turn_work, work)->whose;
}

/* One client has a hundred files, another one comes later with four; `turns`: each client is a
 * key. */
static unsigned last_of_modest(bool turns)
{
    const struct zc_pool_config cfg = {.name = "turns", .threads = 1, .most = 1, .per_key = 2};
    static struct turn_work works[GREEDY + MODEST];
    struct zc_pool_flow turn[2] = {0};
    struct meeting first = {.work.run = rendezvous, .work.key = 1000};
    pthread_barrier_t all;
    struct zc_pool *p;

    memset(works, 0, sizeof works);
    memset(order, 0, sizeof order);
    atomic_store(&nran, 0);
    pthread_barrier_init(&all, NULL, 2);
    first.all = &all;
    ck_assert_int_eq(zc_pool_create(&cfg, &p), 0);
    zc_pool_submit(p, &first.work);
    for (unsigned i = 0; i < GREEDY + MODEST; i++) {
        works[i].whose = i < GREEDY ? 'g' : 'm';
        works[i].work.run = note_turn;
        works[i].work.key = i;
        works[i].work.flow = turns ? &turn[i >= GREEDY] : NULL;
        zc_pool_submit(p, &works[i].work);
    }
    pthread_barrier_wait(&all); /* all are queued: the only thread may begin */
    zc_pool_destroy(p);
    pthread_barrier_destroy(&all);
    ck_assert_uint_eq(atomic_load(&nran), GREEDY + MODEST);
    return (unsigned)(strrchr(order, 'm') - order) + 1;
}

START_TEST(many_keys_get_turns_like_others)
{
    ck_assert_uint_eq(last_of_modest(false), GREEDY + MODEST);
    ck_assert_uint_eq(last_of_modest(true), 2 * MODEST);
}
END_TEST

/* ---- works that get stuck ---- */

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool open;
    unsigned at, most; /* now, and maximum */
    char order[64];    /* names of works, in order of arrival */
    unsigned n;
};

struct guest {
    struct zc_work work;
    struct gate *gate;
    char name;
};

static void pass(struct zc_work *w)
{
    const struct guest *g = zc_list_entry(w, struct guest, work);
    struct gate *gate = g->gate;

    pthread_mutex_lock(&gate->lock);
    gate->order[gate->n++] = g->name;
    gate->at++;
    gate->most = gate->at > gate->most ? gate->at : gate->most;
    pthread_cond_broadcast(&gate->moved);
    while (!gate->open)
        pthread_cond_wait(&gate->moved, &gate->lock);
    gate->at--;
    pthread_mutex_unlock(&gate->lock);
}

static void gate_init(struct gate *g, bool open)
{
    memset(g, 0, sizeof *g);
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->moved, NULL);
    g->open = open;
}

/* Waits until so many have arrived. */
static void await(struct gate *g, unsigned n)
{
    pthread_mutex_lock(&g->lock);
    while (g->n < n)
        pthread_cond_wait(&g->moved, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void open_gate(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->open = true;
    pthread_cond_broadcast(&g->moved);
    pthread_mutex_unlock(&g->lock);
}

static void come(struct zc_pool *p, struct guest *g, struct gate *gate, uint64_t key, char name)
{
    *g = (struct guest){.work = {.run = pass, .key = key}, .gate = gate, .name = name};
    zc_pool_submit(p, &g->work);
}

START_TEST(a_key_has_so_many_threads_and_no_more)
{
    const struct zc_pool_config cfg = {
        .name = "test", .threads = 4, .most = 16, .per_key = 2, .stuck_ms = 10};
    struct guest stuck[20], others[20];
    struct gate shut, open;
    struct zc_pool *p;

    gate_init(&shut, false);
    gate_init(&open, true);
    ck_assert_int_eq(zc_pool_create(&cfg, &p), 0);
    for (int i = 0; i < 20; i++)
        come(p, &stuck[i], &shut, 1, 's');
    await(&shut, 2);
    for (int i = 0; i < 20; i++)
        come(p, &others[i], &open, 2, 'o');
    await(&open, 20);
    open_gate(&shut);
    zc_pool_destroy(p);
    ck_assert_uint_eq(shut.n, 20);
    ck_assert_uint_eq(shut.most, 2);
}
END_TEST

/* More keys get stuck than there are threads: these are replaced. */
START_TEST(what_is_stuck_does_not_count)
{
    const struct zc_pool_config cfg = {
        .name = "test", .threads = 2, .most = 10, .per_key = 1, .stuck_ms = 10};
    struct guest stuck[9], other;
    struct gate shut, open;
    struct zc_pool *p;

    gate_init(&shut, false);
    gate_init(&open, true);
    ck_assert_int_eq(zc_pool_create(&cfg, &p), 0);
    for (unsigned i = 0; i < 9; i++)
        come(p, &stuck[i], &shut, i, 's');
    await(&shut, 9);
    come(p, &other, &open, 99, 'o');
    await(&open, 1);
    open_gate(&shut);
    zc_pool_destroy(p);
}
END_TEST

/* At most the given number of threads work at a time, not counting stuck ones. */
START_TEST(no_more_threads_work_than_was_said)
{
    const struct zc_pool_config cfg = {.name = "test", .threads = 3, .most = 10, .stuck_ms = 60000};
    struct guest g[30];
    struct gate shut;
    struct zc_pool *p;

    gate_init(&shut, false);
    ck_assert_int_eq(zc_pool_create(&cfg, &p), 0);
    for (unsigned i = 0; i < 30; i++)
        come(p, &g[i], &shut, i, 'g');
    await(&shut, 3);
    open_gate(&shut);
    await(&shut, 30);
    pthread_mutex_lock(&shut.lock);
    ck_assert_uint_eq(shut.most, 3);
    pthread_mutex_unlock(&shut.lock);
    zc_pool_destroy(p);
}
END_TEST

/* A key with much work lets others in between. */
START_TEST(keys_take_turns)
{
    const struct zc_pool_config cfg = {.name = "test", .threads = 1};
    struct guest first, a[3], b[2], c;
    struct gate shut, open;
    struct zc_pool *p;

    gate_init(&shut, false);
    gate_init(&open, true);
    ck_assert_int_eq(zc_pool_create(&cfg, &p), 0);
    come(p, &first, &shut, 0, '-');
    await(&shut, 1);
    for (int i = 0; i < 3; i++)
        come(p, &a[i], &open, 1, 'a');
    for (int i = 0; i < 2; i++)
        come(p, &b[i], &open, 2, 'b');
    come(p, &c, &open, 3, 'c');
    open_gate(&shut);
    zc_pool_destroy(p);
    ck_assert_str_eq(open.order, "abcaba");
}
END_TEST

START_TEST(keys_tell_files_and_paths_apart)
{
    ck_assert(zc_pool_key(1, 2) != zc_pool_key(2, 1));
    ck_assert(zc_pool_key(64768, 131) != zc_pool_key(64768, 132));
    ck_assert(zc_pool_key_of("/a", 2) != zc_pool_key_of("/b", 2));
    ck_assert(zc_pool_key_of("/a", 2) == zc_pool_key_of("/a", 2));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pool");

    CASE(s, "pool", 60, all_work_is_done, threads_work_side_by_side, no_threads_is_refused);
    CASE(s, "turns", 60, many_keys_get_turns_like_others);
    CASE(s, "stuck", 60, a_key_has_so_many_threads_and_no_more, what_is_stuck_does_not_count,
         no_more_threads_work_than_was_said, keys_take_turns, keys_tell_files_and_paths_apart);
    return run_suite(s);
}
