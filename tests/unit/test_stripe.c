/* test_stripe.c - every block has one owner, and an aggregator sees one daemon. */
#include "config.h"

#include "check_main.h"
#include "zc_stripe.h"

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
            struct zc_stripe p = {.block_size = 4096, .daemons = d, .aggregators = a};
            uint32_t owners = zc_stripe_owners(&p), real_d = d ? d : 1;

            ck_assert_uint_ge(owners, 1);
            ck_assert_uint_le(owners, a);
            if (a >= real_d) {
                ck_assert_uint_eq(owners % real_d, 0);
                ck_assert_uint_gt(owners + real_d, a); /* no more is given up than needed */
            } else {
                ck_assert_uint_eq(owners, a);
            }
            for (uint64_t b = 0; b < 200; b++) {
                uint64_t next = b + zc_stripe_owners(&p);

                REQUIRE(zc_stripe_aggregator(&p, b) < owners);
                REQUIRE(zc_stripe_daemon(&p, b) < real_d);
                REQUIRE(zc_stripe_aggregator(&p, next) == zc_stripe_aggregator(&p, b));
                if (a >= real_d)
                    REQUIRE(zc_stripe_daemon(&p, next) == zc_stripe_daemon(&p, b));
                for (uint64_t between = b + 1; between < next; between++)
                    REQUIRE(zc_stripe_aggregator(&p, between) != zc_stripe_aggregator(&p, b));
            }
        }
}
END_TEST

START_TEST(daemon_depends_on_block_and_daemons_alone)
{
    for (uint32_t d = 1; d < 9; d++)
        for (uint64_t b = 0; b < 100; b++)
            for (uint32_t a = 1; a < 20; a++) {
                struct zc_stripe p = {1 << 20, d, a, 0, 0}, q = {1 << 20, d, a + 7, 0, 0};

                REQUIRE(zc_stripe_daemon(&p, b) == zc_stripe_daemon(&q, b));
            }
}
END_TEST

/* Exactly `width` daemons own blocks, all the same number. */
static void check_width(uint32_t d, uint32_t width, uint32_t first)
{
    struct zc_stripe p = {4096, d, 4 * d, width, first};
    uint32_t w = width && width < d ? width : d;
    unsigned count[8] = {0};

    ck_assert_uint_eq(zc_stripe_width(&p), w);
    for (uint64_t b = 0; b < 10 * w; b++) {
        count[zc_stripe_daemon(&p, b)]++;
        ck_assert_uint_eq(zc_stripe_daemon(&p, b), zc_stripe_daemon(&p, b + zc_stripe_owners(&p)));
    }
    for (uint32_t i = 0; i < d; i++)
        ck_assert_uint_eq(count[(first % d + i) % d], i < w ? 10 : 0);
}

START_TEST(a_file_uses_some_daemons)
{
    for (uint32_t d = 1; d <= 8; d++)
        for (uint32_t width = 0; width <= d + 1; width++)
            for (uint32_t first = 0; first <= d + 1; first++)
                check_width(d, width, first);
    check_width(5, 2, UINT32_MAX);
}
END_TEST

START_TEST(blocks)
{
    struct zc_stripe p = {.block_size = 4096, .daemons = 2, .aggregators = 4};

    ck_assert_uint_eq(zc_stripe_block(&p, 0), 0);
    ck_assert_uint_eq(zc_stripe_block(&p, 4095), 0);
    ck_assert_uint_eq(zc_stripe_block(&p, 4096), 1);
    ck_assert_uint_eq(zc_stripe_room(&p, 0), 4096);
    ck_assert_uint_eq(zc_stripe_room(&p, 4095), 1);
    ck_assert_uint_eq(zc_stripe_room(&p, 4096), 4096);
    ck_assert_uint_eq(zc_stripe_block(&p, UINT64_MAX), UINT64_MAX / 4096);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("place");

    CASE(s, "place", 60, every_block_has_one_owner, daemon_depends_on_block_and_daemons_alone,
         blocks, a_file_uses_some_daemons);
    return run_suite(s);
}
