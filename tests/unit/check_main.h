/* check_main.h - what every unit test shares: one suite, its exit status.
 *
 * CK_RUN_CASE=name runs one case, CK_FORK=no keeps it in this process for a debugger.
 * ZC_TEST_LONG=1 repeats what is random forty times as often.
 */
#ifndef CHECK_MAIN_H
#define CHECK_MAIN_H

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "zc_racy.h"

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif

/* Under thread sanitizer all is ten to twenty times as slow, under address sanitizer five times. */
#if defined(ZC_TSAN)
enum { FEWER = 8 };
#elif defined(UNDER_ASAN)
enum { FEWER = 4 };
#else
enum { FEWER = 1 };
#endif

static bool long_run;

/* How often something random is repeated that should be `n` times. */
static inline unsigned cases(unsigned n)
{
    return long_run ? 40 * n : n > FEWER ? n / FEWER : 1;
}

static inline void add_case(Suite *s, const char *name, double timeout_s, const TTest *const *tests,
                            size_t n)
{
    TCase *c = tcase_create(name);

    tcase_set_timeout(c, timeout_s);
    for (size_t i = 0; i < n; i++)
        tcase_add_test(c, tests[i]);
    suite_add_tcase(s, c);
}

#define CASE(suite, name, timeout_s, ...)                                                          \
    add_case(suite, name, timeout_s, (const TTest *const[]){__VA_ARGS__},                          \
             sizeof((const TTest *const[]){__VA_ARGS__}) / sizeof(TTest *))

/* All bytes are `c`.  Not an assertion for each: one of Check's, fulfilled or not, is a message to
 * another process, and takes a thousand times as long as a comparison. */
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
    int failed;

    long_run = getenv("ZC_TEST_LONG") != NULL;
    if (long_run)
        puts("twenty times the usual number of random cases");
    else if (FEWER > 1)
        printf("random cases: one in %d, for a sanitizer; ZC_TEST_LONG=1 for all\n", FEWER);
    fflush(stdout);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
