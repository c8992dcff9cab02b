/* test_fair_share.c - max-min fair shares, and turns by cost, without credit or debt from the
 * past. */
#include "config.h"

#include <stdint.h>

#include "check_main.h"
#include "splitmix.h"
#include "zc_fair_share.h"

START_TEST(level_is_max_min)
{
    ck_assert_uint_eq(zc_fair_share_level((uint64_t[]){10, 50, 90}, 3, 60), 25);
    ck_assert_uint_eq(zc_fair_share_level((uint64_t[]){90, 10, 50}, 3, 60), 25);
    ck_assert_uint_eq(zc_fair_share_level((uint64_t[]){1, 20, 1000}, 3, 60), 39);
    ck_assert_uint_eq(zc_fair_share_level((uint64_t[]){100, 100}, 2, 7), 3);
    ck_assert_uint_eq(zc_fair_share_level((uint64_t[]){0, 5}, 2, 0), 0);
}
END_TEST

START_TEST(enough_for_all_is_no_limit)
{
    ck_assert_uint_eq(zc_fair_share_level(NULL, 0, 60), UINT64_MAX);
    ck_assert_uint_eq(zc_fair_share_level((uint64_t[]){60}, 1, 60), UINT64_MAX);
    ck_assert_uint_eq(zc_fair_share_level((uint64_t[]){59, 1, 0}, 3, 60), UINT64_MAX);
}
END_TEST

/* For any wants: all of the room is given out, except the rest of a division, or all wants are
 * met. */
START_TEST(level_gives_out_all)
{
    uint64_t seed = 1, wants[9];

    for (unsigned round = 0; round < cases(20000); round++) {
        size_t n = 1 + splitmix(&seed) % 9;
        uint64_t room = splitmix(&seed) % 100, level, given = 0, wanted = 0, above = 0;

        for (size_t i = 0; i < n; i++)
            wants[i] = splitmix(&seed) % 60;
        level = zc_fair_share_level(wants, n, room);
        for (size_t i = 0; i < n; i++) {
            given += wants[i] < level ? wants[i] : level;
            above += wants[i] > level;
            wanted += wants[i];
        }
        if (wanted <= room ? level != UINT64_MAX : given > room || room - given >= above)
            ck_abort_msg("of %lu, %lu wanted: level %lu gives %lu", (unsigned long)room,
                         (unsigned long)wanted, (unsigned long)level, (unsigned long)given);
    }
}
END_TEST

/* Serves the one of two waiting flows with the least start. */
static unsigned serve(struct zc_fair_share_clock *c, struct zc_fair_share_flow t[2],
                      const uint64_t cost[2])
{
    unsigned next = zc_fair_share_start(c, &t[1]) < zc_fair_share_start(c, &t[0]);

    zc_fair_share_serve(c, &t[next], cost[next]);
    return next;
}

START_TEST(turns_go_by_cost)
{
    const uint64_t cost[2] = {4096, 64};
    struct zc_fair_share_clock c = {0};
    struct zc_fair_share_flow t[2] = {{0}};
    uint64_t had[2] = {0};

    for (unsigned i = 0; i < 10000; i++) {
        unsigned who = serve(&c, t, cost);

        had[who] += cost[who];
        if (had[0] > had[1] + cost[0] + cost[1] || had[1] > had[0] + cost[0] + cost[1])
            ck_abort_msg("after %u turns one had %lu, the other %lu", i + 1, (unsigned long)had[0],
                         (unsigned long)had[1]);
    }
}
END_TEST

START_TEST(nothing_is_saved_up_or_owed)
{
    const uint64_t cost[2] = {100, 100};
    struct zc_fair_share_clock c = {0};
    struct zc_fair_share_flow t[2] = {{0}};
    unsigned second = 0;

    for (unsigned i = 0; i < 1000; i++) /* alone */
        zc_fair_share_serve(&c, &t[0], cost[0]);
    for (unsigned i = 0; i < 100; i++)
        second += serve(&c, t, cost);
    ck_assert(second >= 50 && second <= 51);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fair");

    CASE(s, "room", 60, level_is_max_min, enough_for_all_is_no_limit, level_gives_out_all);
    CASE(s, "turns", 60, turns_go_by_cost, nothing_is_saved_up_or_owed);
    return run_suite(s);
}
