/* test_place.c - every block has one owner, and an aggregator sees one daemon. */
#include "config.h"

#include "check_main.h"
#include "zc_place.h"

#define REQUIRE(cond)                                                                              \
    do {                                                                                           \
        if (!(cond))                                                                               \
            ck_abort_msg("%s: %u daemons, %u aggregators, block %llu", #cond, d, a,                \
                         (unsigned long long)b);                                                   \
    } while (0)

START_TEST(every_block_has_one_owner)
{
    for (uint32_t d = 0; d <= 17; d++)
        for (uint32_t a = 1; a <= 67; a++) {
            struct zc_place p = {4096, d, a};
            uint32_t owners = zc_place_owners(&p), real_d = d ? d : 1;

            ck_assert_uint_ge(owners, 1);
            ck_assert_uint_le(owners, a);
            if (a >= real_d) {
                ck_assert_uint_eq(owners % real_d, 0);
                ck_assert_uint_gt(owners + real_d, a); /* no more is given up than needed */
            } else {
                ck_assert_uint_eq(owners, a);
            }
            for (uint64_t b = 0; b < 200; b++) {
                uint64_t next = b + zc_place_owners(&p);

                REQUIRE(zc_place_aggregator(&p, b) < owners);
                REQUIRE(zc_place_daemon(&p, b) < real_d);
                REQUIRE(zc_place_aggregator(&p, next) == zc_place_aggregator(&p, b));
                if (a >= real_d)
                    REQUIRE(zc_place_daemon(&p, next) == zc_place_daemon(&p, b));
                for (uint64_t between = b + 1; between < next; between++)
                    REQUIRE(zc_place_aggregator(&p, between) != zc_place_aggregator(&p, b));
            }
        }
}
END_TEST

START_TEST(daemon_depends_on_block_and_daemons_alone)
{
    for (uint32_t d = 1; d < 9; d++)
        for (uint64_t b = 0; b < 100; b++)
            for (uint32_t a = 1; a < 20; a++) {
                struct zc_place p = {1 << 20, d, a}, q = {1 << 20, d, a + 7};

                REQUIRE(zc_place_daemon(&p, b) == zc_place_daemon(&q, b));
            }
}
END_TEST

START_TEST(blocks)
{
    struct zc_place p = {4096, 2, 4};

    ck_assert_uint_eq(zc_place_block(&p, 0), 0);
    ck_assert_uint_eq(zc_place_block(&p, 4095), 0);
    ck_assert_uint_eq(zc_place_block(&p, 4096), 1);
    ck_assert_uint_eq(zc_place_room(&p, 0), 4096);
    ck_assert_uint_eq(zc_place_room(&p, 4095), 1);
    ck_assert_uint_eq(zc_place_room(&p, 4096), 4096);
    ck_assert_uint_eq(zc_place_block(&p, UINT64_MAX), UINT64_MAX / 4096);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("place");

    CASE(s, "place", 60, every_block_has_one_owner, daemon_depends_on_block_and_daemons_alone,
         blocks);
    return run_suite(s);
}
