/* Memory that clients make a server hold: quotas, limits, and its release. */
#include "config.h"

#include "check_main.h"
#include "splitmix.h"
#include "zc_session_mem.h"

enum { LIMIT = 12 << 20, CREDITS = 16, MANY = 5000 };

static struct zc_session_quota quotas[MANY];

START_TEST(without_a_budget_all_get_all)
{
    struct zc_session_mem a = {0};

    for (int i = 0; i < MANY; i++) {
        ck_assert(zc_session_mem_open(&a, &quotas[i], CREDITS));
        ck_assert_uint_eq(quotas[i].credits, CREDITS);
        ck_assert_uint_eq(quotas[i].max_inline, ZC_MAX_INLINE);
        ck_assert(zc_session_mem_keep(&a, &quotas[i], 1 << 30));
    }
    ck_assert_uint_eq(a.used, 0);
}
END_TEST

/* The first sessions get all they want, later ones less, the last one still something; none gets
 * all of it. */
START_TEST(later_sessions_get_less)
{
    struct zc_session_mem a = {.limit = LIMIT};
    size_t last = SIZE_MAX;
    int n = 0;

    while (zc_session_mem_open(&a, &quotas[n], CREDITS)) {
        ck_assert_uint_le(quotas[n].limit, last);
        last = quotas[n++].limit;
        ck_assert_uint_le(a.used, LIMIT);
    }
    ck_assert_uint_eq(quotas[0].max_inline, ZC_MAX_INLINE);
    ck_assert_uint_ge(quotas[0].credits, CREDITS / 2);
    ck_assert_int_ge(n, 700);
    ck_assert_uint_eq(quotas[n - 1].credits, 1);
    ck_assert_uint_eq(quotas[n - 1].max_inline, ZC_SESSION_MEM_BRIEF);
    ck_assert(!zc_session_mem_has_room(&a));
    ck_assert(zc_session_mem_keep(&a, &quotas[n - 1], 4096)); /* they may open files, too */
    for (int i = 0; i < n; i++)
        zc_session_mem_close(&a, &quotas[i]);
    zc_session_mem_close(&a, &quotas[0]);
    ck_assert_uint_eq(a.used, 0);
    ck_assert_uint_eq(a.kept, 0);
    ck_assert_uint_eq(a.extras, 0);
}
END_TEST

START_TEST(greed_leaves_something)
{
    struct zc_session_mem a = {.limit = LIMIT};
    size_t first = 0, second = 0;

    ck_assert(zc_session_mem_open(&a, &quotas[0], CREDITS));
    ck_assert(zc_session_mem_open(&a, &quotas[1], CREDITS));
    while (zc_session_mem_keep(&a, &quotas[0], 1000))
        first += 1000;
    while (zc_session_mem_keep(&a, &quotas[1], 1000))
        second += 1000;
    ck_assert_uint_gt(first, LIMIT / 16);
    ck_assert_uint_gt(second, first / 4);
    ck_assert(zc_session_mem_open(&a, &quotas[2], CREDITS));
    ck_assert(zc_session_mem_keep(&a, &quotas[2], 60000));
    zc_session_mem_give(&a, &quotas[0], first);
    ck_assert(zc_session_mem_keep(&a, &quotas[1], 1000));
}
END_TEST

START_TEST(any_order_keeps_the_bounds)
{
    struct zc_session_mem a = {.limit = LIMIT};
    uint64_t seed = 7;

    for (unsigned i = 0; i < cases(200000); i++) {
        struct zc_session_quota *p = &quotas[splitmix(&seed) % 2000];
        size_t bytes = splitmix(&seed) % 100000;

        if (!p->open)
            zc_session_mem_open(&a, p, CREDITS);
        else if (splitmix(&seed) % 4 == 0)
            zc_session_mem_close(&a, p);
        else if (splitmix(&seed) % 2)
            zc_session_mem_keep(&a, p, bytes);
        else
            zc_session_mem_give(&a, p, bytes < p->kept ? bytes : p->kept);
        ck_assert_uint_le(a.used, LIMIT);
        ck_assert_uint_le(a.kept, LIMIT / 4);
    }
    for (int i = 0; i < 2000; i++)
        zc_session_mem_close(&a, &quotas[i]);
    ck_assert_uint_eq(a.used, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("account");

    CASE(s, "shares", 60, without_a_budget_all_get_all, later_sessions_get_less,
         greed_leaves_something, any_order_keeps_the_bounds);
    return run_suite(s);
}
