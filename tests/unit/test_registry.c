/* test_registry.c - objects are made once, concurrently, and without a lock held. */
#include "config.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "check_main.h"
/* A part of the plugin, which no program can link with. */
#include "../../adio_zcache/process/zcache_registry.c"

struct thing {
    struct zcache_item item;
    int key;
};

/* Actions of a test while an object is made and unmade. */
static struct {
    int (*make)(struct thing *t);
    void (*unmake)(struct thing *t);
} now;

static atomic_int made, unmade, freed;

static bool thing_init(struct zcache_item *i, const void *key)
{
    ((struct thing *)i)->key = *(const int *)key;
    return true;
}

static bool thing_matches(const struct zcache_item *i, const void *key)
{
    return ((const struct thing *)i)->key == *(const int *)key;
}

static int thing_make(struct zcache_item *i, const void *key)
{
    (void)key;
    zc_assert_none_held();
    atomic_fetch_add(&made, 1);
    return now.make ? now.make((struct thing *)i) : 0;
}

static void thing_unmake(struct zcache_item *i)
{
    zc_assert_none_held();
    if (now.unmake)
        now.unmake((struct thing *)i);
    atomic_fetch_add(&unmade, 1);
}

static void thing_free(struct zcache_item *i)
{
    (void)i;
    atomic_fetch_add(&freed, 1);
}

static const struct zcache_kind kind = {
    .name = "a thing",
    .size = sizeof(struct thing),
    .init = thing_init,
    .matches = thing_matches,
    .make = thing_make,
    .unmake = thing_unmake,
    .free = thing_free,
};
static struct zcache_registry things = ZCACHE_REGISTRY_INITIALIZER(things, &kind);

/* ---- several threads ---- */

enum { THREADS = 4 };

struct wish {
    pthread_t thread;
    int key, rc;
    struct zcache_item *got;
    char text[128];
};

static void *want(void *arg)
{
    struct wish *w = arg;

    w->rc = zcache_registry_get(&things, &w->key, &w->got);
    if (w->rc < 0)
        snprintf(w->text, sizeof w->text, "%s", zc_error_text(w->rc));
    return NULL;
}

static void want_all(struct wish *w, int n)
{
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(pthread_create(&w[i].thread, NULL, want, &w[i]), 0);
    for (int i = 0; i < n; i++)
        pthread_join(w[i].thread, NULL);
}

/* Waits until all have requested it. */
static void wait_for_all(struct thing *t)
{
    bool all = false;

    while (!all) {
        zc_lock_get(&things.lock);
        all = t->item.users == THREADS;
        zc_lock_put(&things.lock);
        sched_yield();
    }
}

static int make_slowly(struct thing *t)
{
    wait_for_all(t);
    return 0;
}

START_TEST(one_makes_what_many_want)
{
    struct wish w[THREADS] = {0};

    now.make = make_slowly;
    want_all(w, THREADS);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(w[i].rc, 1);
        ck_assert_ptr_eq(w[i].got, w[0].got);
    }
    ck_assert_int_eq(made, 1);
    ck_assert_int_eq(zcache_registry_get(&things, &w[0].key, &w[0].got), 0);
    zcache_registry_remove(&things, NULL, NULL);
    ck_assert_int_eq(unmade, 1);
    ck_assert_int_eq(freed, 1);
}
END_TEST

static int fail_slowly(struct thing *t)
{
    wait_for_all(t);
    return zc_errorf(EIO, "attempt %d", made);
}

START_TEST(a_failure_goes_to_its_waiters)
{
    struct wish w[THREADS] = {0};

    for (int attempt = 1; attempt <= 2; attempt++) {
        char text[32];

        snprintf(text, sizeof text, "attempt %d", attempt);
        now.make = fail_slowly;
        want_all(w, THREADS);
        for (int i = 0; i < THREADS; i++) {
            ck_assert_int_eq(w[i].rc, -EIO);
            ck_assert_str_eq(w[i].text, text);
        }
        ck_assert_int_eq(made, attempt);
        ck_assert_int_eq(freed, attempt);
    }
    now.make = NULL;
    ck_assert_int_eq(zcache_registry_get(&things, &w[0].key, &w[0].got), 1);
    zcache_registry_remove(&things, NULL, NULL);
    ck_assert_int_eq(unmade, 1);
}
END_TEST

/* ---- failures that stand, for keys below their number ---- */

static bool any_matches(const struct zcache_item *i, const void *key)
{
    (void)i;
    (void)key;
    return true;
}

static bool later_stands(const struct zcache_item *i, const void *before)
{
    return ((const struct thing *)i)->key > *(const int *)before;
}

static int fail_with_a_number(struct thing *t)
{
    t->key = made;
    return zc_errorf(EIO, "attempt %d", made);
}

static void expect_failure(struct zcache_registry *r, int before, const char *text)
{
    struct zcache_item *i;

    zc_error_clear();
    ck_assert_int_eq(zcache_registry_get(r, &before, &i), -EIO);
    ck_assert_str_eq(zc_error_text(EIO), text);
    ck_assert_ptr_null(zcache_registry_find(r, &before));
}

START_TEST(a_failure_that_stands_is_returned_again)
{
    static const struct zcache_kind lasting = {
        .name = "a thing",
        .size = sizeof(struct thing),
        .init = thing_init,
        .matches = any_matches,
        .stands = later_stands,
        .make = thing_make,
        .unmake = thing_unmake,
        .free = thing_free,
    };
    static struct zcache_registry r = ZCACHE_REGISTRY_INITIALIZER(r, &lasting);
    struct zcache_item *i;
    int last = 2;

    now.make = fail_with_a_number;
    expect_failure(&r, 0, "attempt 1");
    expect_failure(&r, 0, "attempt 1");
    ck_assert_int_eq(made, 1);
    expect_failure(&r, 1, "attempt 2");
    ck_assert_int_eq(freed, 1); /* the one before is not needed any more */
    expect_failure(&r, 0, "attempt 2");
    ck_assert_int_eq(made, 2);
    now.make = NULL;
    ck_assert_int_eq(zcache_registry_get(&r, &last, &i), 1);
    ck_assert_ptr_eq(zcache_registry_find(&r, &last), i);
    expect_failure(&r, 0, "attempt 2");
    zcache_registry_remove(&r, NULL, NULL);
    ck_assert_int_eq(unmade, 1);
    ck_assert_int_eq(freed, 3);
}
END_TEST

static atomic_bool asked, gone_on;

/* Meanwhile the others are removed. */
static int make_during_the_end(struct thing *t)
{
    (void)t;
    atomic_store(&asked, true);
    for (int i = 0; i < 1000; i++)
        sched_yield();
    ck_assert_int_eq(unmade, 0);
    atomic_store(&gone_on, true);
    return 0;
}

START_TEST(what_is_being_made_is_removed_when_it_is_there)
{
    struct wish w = {.key = 1};

    now.make = make_during_the_end;
    ck_assert_int_eq(pthread_create(&w.thread, NULL, want, &w), 0);
    while (!atomic_load(&asked))
        sched_yield();
    zcache_registry_remove(&things, NULL, NULL);
    ck_assert(atomic_load(&gone_on));
    ck_assert_int_eq(unmade, 1);
    ck_assert_int_eq(freed, 1);
    pthread_join(w.thread, NULL);
}
END_TEST

static pthread_barrier_t meeting;

static int make_together(struct thing *t)
{
    (void)t;
    pthread_barrier_wait(&meeting);
    return 0;
}

/* Ends only if all are made at the same time. */
START_TEST(different_ones_are_made_side_by_side)
{
    struct wish w[THREADS] = {0};

    pthread_barrier_init(&meeting, NULL, THREADS);
    now.make = make_together;
    for (int i = 0; i < THREADS; i++)
        w[i].key = i;
    want_all(w, THREADS);
    ck_assert_int_eq(made, THREADS);
    zcache_registry_remove(&things, NULL, NULL);
    ck_assert_int_eq(unmade, THREADS);
    pthread_barrier_destroy(&meeting);
}
END_TEST

static struct wish late;

static int make_after(struct thing *t)
{
    (void)t;
    ck_assert_int_eq(unmade, 1);
    return 0;
}

static void unmake_slowly(struct thing *t)
{
    (void)t;
    now.make = make_after;
    ck_assert_int_eq(pthread_create(&late.thread, NULL, want, &late), 0);
    for (int i = 0; i < 1000; i++) /* time to do it wrong */
        sched_yield();
}

START_TEST(a_new_one_waits_until_the_old_has_gone)
{
    struct zcache_item *i, *other;
    int key = 0;

    now.unmake = unmake_slowly;
    ck_assert_int_eq(zcache_registry_get(&things, &key, &i), 1);
    ck_assert_int_eq(zcache_registry_get(&things, &key, &other), 0);
    zcache_registry_put(&things, i, true);
    ck_assert_int_eq(unmade, 0); /* has a user */
    zcache_registry_put(&things, other, false);
    pthread_join(late.thread, NULL);
    ck_assert_int_eq(late.rc, 1);
    ck_assert_int_eq(made, 2);
    now.unmake = NULL;
    zcache_registry_remove(&things, NULL, NULL);
}
END_TEST

START_TEST(a_dropped_object_is_not_found)
{
    struct zcache_item *i, *user, *other;
    int key = 0;

    ck_assert_int_eq(zcache_registry_get(&things, &key, &i), 1);
    ck_assert_int_eq(zcache_registry_get(&things, &key, &user), 0);
    zcache_registry_put(&things, i, true);
    ck_assert_int_eq(zcache_registry_get(&things, &key, &other), 1);
    ck_assert_ptr_ne(other, user);
    zcache_registry_put(&things, user, false);
    ck_assert_int_eq(unmade, 1);
    zcache_registry_put(&things, other, false);
    ck_assert_int_eq(unmade, 1); /* it stays */
    zcache_registry_remove(&things, NULL, NULL);
    ck_assert_int_eq(freed, 2);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("registry");

    CASE(s, "registry", 60, one_makes_what_many_want, a_failure_goes_to_its_waiters,
         a_failure_that_stands_is_returned_again, what_is_being_made_is_removed_when_it_is_there,
         different_ones_are_made_side_by_side, a_new_one_waits_until_the_old_has_gone,
         a_dropped_object_is_not_found);
    return run_suite(s);
}
