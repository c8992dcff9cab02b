/* test_grace.c - how long a daemon goes on serving after SIGTERM. */
#include "config.h"

#include "check_main.h"
#include "iod_grace.h"
#include "zc_clock.h"

enum { START = 1000, TIME = 25000, ALONE = 2000 }; /* ms */

static struct iod_grace g;

static bool lasts(unsigned ms, unsigned clients)
{
    return iod_grace_lasts(&g, (START + ms) * ZC_NS_PER_MS, clients);
}

static void begin(unsigned time_ms, unsigned alone_ms)
{
    iod_grace_begin(&g, START * ZC_NS_PER_MS, time_ms, alone_ms);
}

START_TEST(it_ends_when_its_time_is_over)
{
    begin(TIME, ALONE);
    for (unsigned ms = 0; ms < TIME; ms += 500)
        ck_assert(lasts(ms, 1));
    ck_assert(!lasts(TIME, 1));
}
END_TEST

START_TEST(it_ends_some_time_after_the_last_client_has_left)
{
    begin(TIME, ALONE);
    ck_assert(lasts(5000, 3));
    ck_assert(lasts(5500, 0));
    ck_assert(lasts(5500 + ALONE - 1, 0));
    ck_assert(!lasts(5500 + ALONE, 0));
}
END_TEST

START_TEST(a_client_that_comes_in_between_is_served)
{
    begin(TIME, ALONE);
    ck_assert(lasts(0, 0));
    ck_assert(lasts(ALONE - 1, 0));
    ck_assert(lasts(ALONE + 1, 1));
    ck_assert(lasts(ALONE + 2, 0));
    ck_assert(lasts(2 * ALONE + 1, 0));
    ck_assert(!lasts(2 * ALONE + 2, 0));
}
END_TEST

START_TEST(no_time_is_over_at_once)
{
    begin(0, ALONE);
    ck_assert(!lasts(0, 1));
    begin(TIME, 0);
    ck_assert(lasts(0, 1));
    ck_assert(!lasts(1, 0));
}
END_TEST

START_TEST(a_second_one_begins_anew)
{
    begin(TIME, ALONE);
    ck_assert(!lasts(TIME, 1));
    begin(TIME, ALONE);
    ck_assert(lasts(0, 0));
    ck_assert(lasts(1, 0));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("grace");

    CASE(suite, "grace", 10, it_ends_when_its_time_is_over,
         it_ends_some_time_after_the_last_client_has_left, a_client_that_comes_in_between_is_served,
         no_time_is_over_at_once, a_second_one_begins_anew);
    return run_suite(suite);
}
