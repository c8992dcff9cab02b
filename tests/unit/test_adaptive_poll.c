/* test_adaptive_poll.c - whether a wait begins with looking. */
#include "config.h"

#include "check_main.h"
#include "zc_adaptive_poll.h"
#include "zc_log.h"

enum { SHORT = ZC_POLL_SHORT_NS - 1, LONG = ZC_POLL_SHORT_NS };

static struct zc_adaptive_poll s;

/* Short waits until one begins with looking. */
static unsigned waits_until_trial(void)
{
    unsigned n = 0;

    while (!zc_adaptive_poll_checks(&s)) {
        zc_adaptive_poll_slept(&s, SHORT);
        ck_assert_uint_le(++n, 2 * ZC_POLL_WARY_MAX);
    }
    return n;
}

START_TEST(a_short_wait_makes_the_next_one_look)
{
    zc_adaptive_poll_init(&s, 2);
    ck_assert(!zc_adaptive_poll_checks(&s));
    zc_adaptive_poll_slept(&s, SHORT);
    ck_assert(zc_adaptive_poll_checks(&s));
}
END_TEST

START_TEST(long_waits_do_not)
{
    zc_adaptive_poll_init(&s, 2);
    for (int i = 0; i < 1000; i++)
        zc_adaptive_poll_slept(&s, LONG);
    ck_assert(!zc_adaptive_poll_checks(&s));
}
END_TEST

START_TEST(it_goes_on_as_long_as_something_is_found)
{
    zc_adaptive_poll_init(&s, 2);
    waits_until_trial();
    for (int i = 0; i < 1000; i++) {
        zc_adaptive_poll_checked(&s, true);
        ck_assert(zc_adaptive_poll_checks(&s));
    }
    for (int i = 1; i < ZC_POLL_TRIES; i++) { /* one that finds nothing ends nothing */
        zc_adaptive_poll_checked(&s, false);
        ck_assert(zc_adaptive_poll_checks(&s));
    }
    zc_adaptive_poll_checked(&s, true);
    for (int i = 0; i < ZC_POLL_TRIES; i++) {
        ck_assert(zc_adaptive_poll_checks(&s));
        zc_adaptive_poll_checked(&s, false);
    }
    ck_assert(!zc_adaptive_poll_checks(&s));
}
END_TEST

/* What a trial was good for counts, not that waits would be short enough. */
START_TEST(what_is_in_vain_is_tried_ever_more_seldom)
{
    unsigned last, n;

    zc_adaptive_poll_init(&s, 2);
    last = waits_until_trial();
    for (int i = 0; i < 20; i++, last = n) {
        zc_adaptive_poll_checked(&s, false);
        n = waits_until_trial();
        ck_assert_uint_eq(n, last < ZC_POLL_WARY_MAX / 2 ? 2 * last : ZC_POLL_WARY_MAX);
    }
    ck_assert_uint_eq(last, ZC_POLL_WARY_MAX);
    zc_adaptive_poll_checked(&s, true);
    for (int i = 0; i < ZC_POLL_TRIES; i++)
        zc_adaptive_poll_checked(&s, false);
    ck_assert_uint_eq(waits_until_trial(), 2);
}
END_TEST

/* The wait that looked in vain may still end soon: that counts as any short one, of those after
 * the last trial alone. */
START_TEST(a_wait_that_looked_in_vain_counts_once)
{
    zc_adaptive_poll_init(&s, 2);
    waits_until_trial();
    zc_adaptive_poll_checked(&s, true);
    zc_adaptive_poll_checked(&s, false);
    zc_adaptive_poll_slept(&s, SHORT); /* there is a try left: nothing to count */
    zc_adaptive_poll_checked(&s, false);
    ck_assert(!zc_adaptive_poll_checks(&s));
    zc_adaptive_poll_slept(&s, SHORT);
    ck_assert(!zc_adaptive_poll_checks(&s));
    zc_adaptive_poll_slept(&s, SHORT);
    ck_assert(zc_adaptive_poll_checks(&s));
}
END_TEST

START_TEST(no_polling_on_one_processor)
{
    zc_adaptive_poll_init(&s, 1);
    for (int i = 0; i < 1000; i++)
        zc_adaptive_poll_slept(&s, 0);
    ck_assert(!zc_adaptive_poll_checks(&s));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spin");

    zc_log_init(NULL);
    CASE(suite, "spin", 10, a_short_wait_makes_the_next_one_look, long_waits_do_not,
         it_goes_on_as_long_as_something_is_found, what_is_in_vain_is_tried_ever_more_seldom,
         a_wait_that_looked_in_vain_counts_once, no_polling_on_one_processor);
    return run_suite(suite);
}
