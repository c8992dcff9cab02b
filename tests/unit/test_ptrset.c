/* test_ptrset.c - a set of pointers that is read without a lock. */
#include "config.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>

#include "zc_ptrset.h"

enum { MANY = 3000 };

static char object[MANY][16];

static void add(struct zc_ptrset *s, void *p)
{
    ck_assert_int_eq(zc_ptrset_reserve(s), 0);
    zc_ptrset_add(s, p);
}

START_TEST(test_empty)
{
    static struct zc_ptrset s; /* its tables stay, for readers without a lock */

    ck_assert(!zc_ptrset_has(&s, object[0]));
    ck_assert(!zc_ptrset_has(&s, NULL));
    zc_ptrset_remove(&s, object[0]);
    ck_assert_int_eq(zc_ptrset_reserve(&s), 0);
    zc_ptrset_unreserve(&s);
    ck_assert(!zc_ptrset_has(&s, object[0]));
    ck_assert(!zc_ptrset_has(&s, NULL));
}
END_TEST

/* Against an array of flags. */
START_TEST(test_random)
{
    static struct zc_ptrset s; /* its tables stay, for readers without a lock */
    static bool member[MANY];
    unsigned seed = 7;

    for (int step = 0; step < 60000; step++) {
        int i = rand_r(&seed) % MANY;

        /* Few and many by turns. */
        if (member[i] && (step / 5000 % 2 || rand_r(&seed) % 4 == 0))
            zc_ptrset_remove(&s, object[i]);
        else if (!member[i] && (step / 5000 % 2 == 0 || rand_r(&seed) % 4 == 0))
            add(&s, object[i]);
        else
            continue;
        member[i] = !member[i];
        ck_assert(zc_ptrset_has(&s, object[i]) == member[i]);
        i = rand_r(&seed) % MANY;
        ck_assert(zc_ptrset_has(&s, object[i]) == member[i]);
    }
    for (int i = 0; i < MANY; i++)
        ck_assert(zc_ptrset_has(&s, object[i]) == member[i]);
}
END_TEST

/* A file that is opened and closed all the time takes hardly more memory than one. */
START_TEST(test_comes_and_goes)
{
    static struct zc_ptrset s; /* its tables stay, for readers without a lock */
    struct zc_ptrset_table *table = NULL;
    int tables = 0;

    add(&s, object[0]);
    for (int i = 1; i < 100000; i++) {
        void *p = object[1 + i % (MANY - 1)];

        add(&s, p);
        tables += table != s.table;
        table = s.table;
        ck_assert(zc_ptrset_has(&s, p) && zc_ptrset_has(&s, object[0]));
        zc_ptrset_remove(&s, p);
        ck_assert(!zc_ptrset_has(&s, p) && zc_ptrset_has(&s, object[0]));
    }
    ck_assert_int_le(tables, 5); /* of 64 pointers, 128, ... */
}
END_TEST

/* Readers look for what stays while others come and go. */
static struct zc_ptrset shared;
static bool over; /* atomic */

static void *reader(void *arg)
{
    long misses = 0;

    (void)arg;
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
        for (int i = 0; i < 10; i++)
            misses += !zc_ptrset_has(&shared, object[i]);
        misses += zc_ptrset_has(&shared, &over);
    }
    return (void *)misses;
}

START_TEST(test_readers)
{
    pthread_t thread[2];
    void *misses;

    for (int i = 0; i < 10; i++)
        add(&shared, object[i]);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, reader, NULL), 0);
    for (int round = 0; round < 30; round++) {
        for (int i = 10; i < 10 + round * 20; i++)
            add(&shared, object[i]);
        for (int i = 10; i < 10 + round * 20; i++)
            zc_ptrset_remove(&shared, object[i]);
    }
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], &misses);
        ck_assert_ptr_null(misses);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ptrset");
    TCase *tc = tcase_create("ptrset");
    SRunner *r = srunner_create(s);
    int failed;

    tcase_set_timeout(tc, 300); /* of the clock: the machine may be busy */
    tcase_add_test(tc, test_empty);
    tcase_add_test(tc, test_random);
    tcase_add_test(tc, test_comes_and_goes);
    tcase_add_test(tc, test_readers);
    suite_add_tcase(s, tc);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
