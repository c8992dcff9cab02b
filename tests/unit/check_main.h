/* check_main.h - the main() every unit test shares: one suite, its exit status.
 *
 * CK_RUN_CASE=name runs one case, CK_FORK=no keeps it in this process for a debugger.
 */
#ifndef CHECK_MAIN_H
#define CHECK_MAIN_H

#include <check.h>
#include <stdlib.h>

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

static inline int run_suite(Suite *s)
{
    SRunner *r = srunner_create(s);
    int failed;

    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
