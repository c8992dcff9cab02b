/* test_spin.c - whether a wait begins with looking. */
#include "config.h"

#include "check_main.h"
#include "zc_log.h"
#include "zc_spin.h"

enum { SHORT = ZC_SPIN_SHORT_NS - 1, LONG = ZC_SPIN_SHORT_NS };

static struct zc_spin s;

/* Short waits until one begins with looking. */
static unsigned waits_until_trial(void)
{
    unsigned n = 0;

    while (!zc_spin_looks(&s)) {
        zc_spin_slept(&s, SHORT);
        ck_assert_uint_le(++n, 2 * ZC_SPIN_WARY_MAX);
    }
    return n;
}

START_TEST(a_short_wait_makes_the_next_one_look)
{
    zc_spin_init(&s, 2);
    ck_assert(!zc_spin_looks(&s));
    zc_spin_slept(&s, SHORT);
    ck_assert(zc_spin_looks(&s));
}
END_TEST

START_TEST(long_waits_do_not)
{
    zc_spin_init(&s, 2);
    for (int i = 0; i < 1000; i++)
        zc_spin_slept(&s, LONG);
    ck_assert(!zc_spin_looks(&s));
}
END_TEST

START_TEST(it_goes_on_as_long_as_something_is_found)
{
    zc_spin_init(&s, 2);
    waits_until_trial();
    for (int i = 0; i < 1000; i++) {
        zc_spin_looked(&s, true);
        ck_assert(zc_spin_looks(&s));
    }
    for (int i = 1; i < ZC_SPIN_TRIES; i++) { /* one that finds nothing ends nothing */
        zc_spin_looked(&s, false);
        ck_assert(zc_spin_looks(&s));
    }
    zc_spin_looked(&s, true);
    for (int i = 0; i < ZC_SPIN_TRIES; i++) {
        ck_assert(zc_spin_looks(&s));
        zc_spin_looked(&s, false);
    }
    ck_assert(!zc_spin_looks(&s));
}
END_TEST

/* What a trial was good for counts, not that waits would be short enough. */
START_TEST(what_is_in_vain_is_tried_ever_more_seldom)
{
    unsigned last, n;

    zc_spin_init(&s, 2);
    last = waits_until_trial();
    for (int i = 0; i < 20; i++, last = n) {
        zc_spin_looked(&s, false);
        n = waits_until_trial();
        ck_assert_uint_eq(n, last < ZC_SPIN_WARY_MAX / 2 ? 2 * last : ZC_SPIN_WARY_MAX);
    }
    ck_assert_uint_eq(last, ZC_SPIN_WARY_MAX);
    zc_spin_looked(&s, true);
    for (int i = 0; i < ZC_SPIN_TRIES; i++)
        zc_spin_looked(&s, false);
    ck_assert_uint_eq(waits_until_trial(), 2);
}
END_TEST

/* The wait that looked in vain may still end soon: that counts as any short one, of those after
 * the last trial alone. */
START_TEST(a_wait_that_looked_in_vain_counts_once)
{
    zc_spin_init(&s, 2);
    waits_until_trial();
    zc_spin_looked(&s, true);
    zc_spin_looked(&s, false);
    zc_spin_slept(&s, SHORT); /* there is a try left: nothing to count */
    zc_spin_looked(&s, false);
    ck_assert(!zc_spin_looks(&s));
    zc_spin_slept(&s, SHORT);
    ck_assert(!zc_spin_looks(&s));
    zc_spin_slept(&s, SHORT);
    ck_assert(zc_spin_looks(&s));
}
END_TEST

START_TEST(on_one_processor_nobody_looks)
{
    zc_spin_init(&s, 1);
    for (int i = 0; i < 1000; i++)
        zc_spin_slept(&s, 0);
    ck_assert(!zc_spin_looks(&s));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spin");

    zc_log_init(NULL);
    CASE(suite, "spin", 10, a_short_wait_makes_the_next_one_look, long_waits_do_not,
         it_goes_on_as_long_as_something_is_found, what_is_in_vain_is_tried_ever_more_seldom,
         a_wait_that_looked_in_vain_counts_once, on_one_processor_nobody_looks);
    return run_suite(suite);
}
