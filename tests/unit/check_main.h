/* check_main.h - common part of the unit tests: one suite, its exit status, time limits.
 *
 * CK_RUN_CASE=name runs one case, CK_FORK=no keeps it in this process for a debugger.
 * ZC_TEST_LONG=1 repeats what is random forty times as often.
 */
#ifndef CHECK_MAIN_H
#define CHECK_MAIN_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "zc_tsan.h"

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif

/* Thread sanitizer slows programs down by a factor of ten to twenty, address sanitizer by five. */
#if defined(ZC_TSAN)
enum { FEWER = 8 };
#elif defined(UNDER_ASAN)
enum { FEWER = 4 };
#else
enum { FEWER = 1 };
#endif

static bool long_run;

/* Returns how often a random case is repeated, `n` times in a usual run. */
static inline unsigned cases(unsigned n)
{
    return long_run ? 40 * n : n > FEWER ? n / FEWER : 1;
}

static inline uint64_t check_clock(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Measures how many times as long as on an idle machine 20 ms of processor time take now, from 1 to
 * 20.  Time limits are multiplied by it. */
static inline double slowness(void)
{
    enum { WORK_NS = 20000000, MOST = 20 };
    uint64_t wall = check_clock(CLOCK_MONOTONIC), used = check_clock(CLOCK_THREAD_CPUTIME_ID);
    uint64_t worked;
    double times;

    do {
        worked = check_clock(CLOCK_THREAD_CPUTIME_ID) - used;
    } while (worked < WORK_NS);
    times = (double)(check_clock(CLOCK_MONOTONIC) - wall) / (double)worked;
    return times < 1 ? 1 : times > MOST ? MOST : times;
}

/* Returns a time limit, given for an idle machine; measures once per process. */
static inline double stretched(double limit)
{
    static double factor;

    if (factor == 0)
        factor = slowness();
    return limit * factor;
}

static inline void add_case(Suite *s, const char *name, double timeout_s, const TTest *const *tests,
                            size_t n)
{
    TCase *c = tcase_create(name);

    tcase_set_timeout(c, stretched(timeout_s));
    for (size_t i = 0; i < n; i++)
        tcase_add_test(c, tests[i]);
    suite_add_tcase(s, c);
}

#define CASE(suite, name, timeout_s, ...)                                                          \
    add_case(suite, name, timeout_s, (const TTest *const[]){__VA_ARGS__},                          \
             sizeof((const TTest *const[]){__VA_ARGS__}) / sizeof(TTest *))

/* Checks that all bytes are `c`, without an assertion for each: Check sends a message to another
 * process for an assertion, which takes a thousand times as long as a comparison. */
static inline void expect_all(const void *buf, size_t len, int c, const char *what)
{
    const unsigned char *at = buf;

    for (size_t i = 0; i < len; i++)
        if (at[i] != (unsigned char)c)
            ck_abort_msg("%s: byte %zu is %02x, should be %02x", what, i, at[i], (unsigned char)c);
}

static inline int run_suite(Suite *s)
{
    SRunner *r = srunner_create(s);
    bool passed;

    long_run = getenv("ZC_TEST_LONG") != NULL;
    if (long_run)
        puts("forty times the usual number of random cases");
    else if (FEWER > 1)
        printf("random cases: one in %d, for a sanitizer; ZC_TEST_LONG=1 for all\n", FEWER);
    fflush(stdout);
    srunner_run_all(r, CK_ENV);
    passed = srunner_ntests_failed(r) == 0 && srunner_ntests_run(r) > 0;
    srunner_free(r);
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
