/* test_cost.c - the model of what store calls cost, and which way of writing it chooses. */
#include "config.h"

#include "check_main.h"
#include "zc_cost.h"

enum { KIB = 1024, MIB = 1024 * KIB };

static struct zc_cost cost;

static void setup(void)
{
    zc_cost_init(&cost);
}

static void learn(struct zc_cost_fit *f, double request, double per_byte)
{
    for (int i = 0; i < 200; i++) {
        zc_cost_add(f, 100, (uint64_t)(request + 100 * per_byte));
        zc_cost_add(f, 4 * MIB, (uint64_t)(request + 4 * MIB * per_byte));
        zc_cost_add(f, 100 * KIB, 1); /* neither small nor large: tells nothing */
    }
}

static enum zc_cost_way choose(uint32_t ranges, uint64_t bytes, uint64_t hull, bool fresh)
{
    struct zc_cost_shape s = {ranges, bytes, hull, fresh};

    return zc_cost_choose(&cost, &s);
}

START_TEST(slow_store)
{
    ck_assert_int_eq(choose(1, 10, 10, false), ZC_COST_LIST);
    ck_assert_int_eq(choose(2, 2 * KIB, MIB, false), ZC_COST_LIST); /* 0.4 ms; 10.9 to merge */
    ck_assert_int_eq(choose(50, 50 * 8, MIB, false), ZC_COST_LIST); /* 10 ms */
    ck_assert_int_eq(choose(60, 60 * 8, MIB, false), ZC_COST_MERGE);
    ck_assert_int_eq(choose(2, 16, 4 * KIB, true), ZC_COST_FRESH);
    ck_assert_int_eq(choose(2, 16, 4 * KIB, false), ZC_COST_LIST);  /* the read is a request, too */
    ck_assert_int_eq(choose(30, 30 * 8, MIB, true), ZC_COST_FRESH); /* nothing to read: 5.4 ms */
    ck_assert_int_eq(choose(20, 20 * 8, MIB, true), ZC_COST_LIST);
}
END_TEST

START_TEST(it_learns)
{
    learn(&cost.writes, 30000, 0.1);
    learn(&cost.reads, 20000, 0.1);
    ck_assert(cost.writes.request > 29000 && cost.writes.request < 31000);
    ck_assert(cost.writes.per_byte > 0.09 && cost.writes.per_byte < 0.11);
    ck_assert_int_eq(choose(5, 40, MIB, false), ZC_COST_LIST);
    ck_assert_int_eq(choose(10, 80, MIB, false), ZC_COST_MERGE); /* 0.30 ms; 0.26 */
    learn(&cost.reads, 20000, 10);                               /* reads have become slow */
    ck_assert_int_eq(choose(10, 80, MIB, false), ZC_COST_LIST);
}
END_TEST

/* However short calls were, or all of one size: no cost is negative or nothing. */
START_TEST(noise)
{
    for (uint64_t i = 0; i < 1000; i++) {
        zc_cost_add(&cost.writes, 8 * MIB, i % 7);
        zc_cost_add(&cost.writes, i % 3, 0);
    }
    ck_assert(cost.writes.request > 0);
    ck_assert(cost.writes.per_byte > 0);
    ck_assert_int_eq(choose(100000, 800000, MIB, true), ZC_COST_FRESH);
    for (int i = 0; i < 1000; i++)
        zc_cost_add(&cost.writes, 8 * MIB, 42 * 1000 * 1000);
    ck_assert(cost.writes.request < 1000 * 1000); /* large calls tell nothing of it */
}
END_TEST

/* Clusters of ranges with a wide gap between them are two calls, and what is alone is one. */
START_TEST(groups)
{
    struct zc_range r[201];
    uint32_t n = 0, count;

    for (uint32_t i = 0; i < 100; i++)
        r[n++] = (struct zc_range){i * 20, i * 20 + 8};
    for (uint32_t i = 0; i < 100; i++)
        r[n++] = (struct zc_range){500 * KIB + i * 20, 500 * KIB + i * 20 + 8};
    r[n++] = (struct zc_range){900 * KIB, 901 * KIB};
    ck_assert_int_eq(zc_cost_next(&cost, r, n, false, &count), ZC_COST_MERGE);
    ck_assert_uint_eq(count, 100);
    ck_assert_int_eq(zc_cost_next(&cost, r + 100, n - 100, true, &count), ZC_COST_FRESH);
    ck_assert_uint_eq(count, 100);
    ck_assert_int_eq(zc_cost_next(&cost, r + 200, n - 200, false, &count), ZC_COST_LIST);
    ck_assert_uint_eq(count, 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cost");
    TCase *c = tcase_create("cost");

    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_test(c, slow_store);
    tcase_add_test(c, it_learns);
    tcase_add_test(c, noise);
    tcase_add_test(c, groups);
    suite_add_tcase(s, c);
    return run_suite(s);
}
