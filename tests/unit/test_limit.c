/* test_limit.c - what accesses were limited by, from figures that are made up. */
#include "config.h"

#include <string.h>

#include "check_main.h"

#include "../../adio_zcache/rank/zcache_bottleneck.c"

#define S   1000000000ull
#define MIB (1ull << 20)

/* Two ranks and one aggregator without daemons had a file open for ten seconds and wrote a GiB by
 * accesses of a MiB; the store took `busy` seconds. */
static struct zcache_timing_fields run(uint64_t busy)
{
    return (struct zcache_timing_fields){.ranks = 2,
                                         .aggregators = 1,
                                         .open_ns = 20 * S,
                                         .writes = 1024,
                                         .written_bytes = 1024 * MIB,
                                         .agg_cache_bytes = 128 * MIB,
                                         .agg_store_busy_ns = busy * S,
                                         .agg_store_write_ns = busy * S};
}

static void expect(const struct zcache_timing_fields *f, enum zcache_bottleneck want,
                   const char *words)
{
    char text[512];

    zcache_bottleneck_text(f, text, sizeof text);
    ck_assert_msg(zcache_bottleneck_of(f) == want, "%s, not %s: %s",
                  zcache_bottleneck_names[zcache_bottleneck_of(f)], zcache_bottleneck_names[want],
                  text);
    ck_assert_msg(strstr(text, words), "no \"%s\" in: %s", words, text);
    ck_assert_int_eq(strncmp(text, "limited by ", 11), 0);
    ck_assert_uint_lt(strlen(text), sizeof text - 1);
}

START_TEST(a_file_that_takes_no_time_is_not_limited)
{
    struct zcache_timing_fields f = run(9);

    f.write_ns = S / 2;
    expect(&f, ZCACHE_BOTTLENECK_NONE, "3% of the time");
    memset(&f, 0, sizeof f);
    ck_assert_int_eq(zcache_bottleneck_of(&f), ZCACHE_BOTTLENECK_NONE);
}
END_TEST

/* Less than 0.1 s and 1 % of the time: a rank's, not the sum over ranks. */
START_TEST(next_to_no_waiting_is_not_worth_a_word)
{
    struct zcache_timing_fields f = run(9);
    char text[512] = "?";

    f.write_ns = S / 5 - 2000000; /* of two ranks in ten seconds each */
    f.cache_ns = f.agg_room_ns = f.write_ns;
    ck_assert_str_eq(zcache_bottleneck_text(&f, text, sizeof text), "");
    ck_assert_int_eq(zcache_bottleneck_of(&f), ZCACHE_BOTTLENECK_NONE);
    f.cache_ns = f.agg_room_ns = f.write_ns = S / 5; /* 0.1 s, and 1 % */
    ck_assert_str_ne(zcache_bottleneck_text(&f, text, sizeof text), "");
    f.cache_ns = f.agg_room_ns = f.write_ns = S / 10; /* less, but more than 1 % */
    f.open_ns = S;
    ck_assert_str_ne(zcache_bottleneck_text(&f, text, sizeof text), "");
    f.cache_ns = f.agg_room_ns = f.write_ns = S; /* less than 1 %, but more than 0.1 s */
    f.open_ns = 200 * S;
    ck_assert_str_ne(zcache_bottleneck_text(&f, text, sizeof text), "");
}
END_TEST

START_TEST(large_accesses_that_wait_for_nothing_are_copied)
{
    struct zcache_timing_fields f = run(1);

    f.write_ns = 8 * S;
    expect(&f, ZCACHE_BOTTLENECK_NONE, "copying");
}
END_TEST

/* The store is idle half of the time, yet writers wait. */
static struct zcache_timing_fields too_small(void)
{
    struct zcache_timing_fields f = run(5);

    f.write_ns = 8 * S;
    f.cache_ns = 4 * S; /* the aggregator's own rank, and */
    f.reply_ns = 3 * S; /* the other one, for the same */
    f.agg_room_ns = 7 * S;
    return f;
}

START_TEST(a_cache_is_too_small)
{
    struct zcache_timing_fields f = too_small();

    expect(&f, ZCACHE_BOTTLENECK_CACHE, "zcache_cache_size (128M; 2G holds");
}
END_TEST

START_TEST(a_store_that_never_rests_is_too_slow)
{
    struct zcache_timing_fields f = too_small();

    f.agg_store_busy_ns = 9 * S;
    expect(&f, ZCACHE_BOTTLENECK_STORE, "file system: it was at work 90%");
}
END_TEST

START_TEST(reads_of_the_store)
{
    struct zcache_timing_fields f = run(4);

    f.read_ns = 4 * S;
    f.cache_ns = 4 * S;
    f.agg_fill_ns = 4 * S;
    expect(&f, ZCACHE_BOTTLENECK_STORE, "file system");
}
END_TEST

START_TEST(pieces_are_merged)
{
    struct zcache_timing_fields f = too_small();

    f.agg_store_busy_ns = 9 * S;
    f.fs_page_writes = 100;
    f.fs_page_rewrites = 30;
    f.fs_merge_read_bytes = 100 * MIB;
    expect(&f, ZCACHE_BOTTLENECK_STORE, "file system");
    f.fs_merge_filled_bytes = 200 * MIB;
    expect(&f, ZCACHE_BOTTLENECK_SCATTERED, "300 MiB were read or written besides");
    expect(&f, ZCACHE_BOTTLENECK_SCATTERED, "30% of which were written again");
}
END_TEST

START_TEST(requests_are_small)
{
    struct zcache_timing_fields f = too_small();

    f.agg_store_busy_ns = 9 * S;
    f.fs_writes = 1000;
    f.fs_small_writes = 600;
    expect(&f, ZCACHE_BOTTLENECK_STORE, "60% of its 1000 write requests were smaller than 64 KiB");
}
END_TEST

START_TEST(nothing_is_computed)
{
    struct zcache_timing_fields f = too_small();

    f.agg_store_busy_ns = 9 * S;
    f.close_ns = 12 * S;
    expect(&f, ZCACHE_BOTTLENECK_NO_HIDING, "no computing to hide behind");
}
END_TEST

/* The store has rested while the program computed, and is waited for at the end. */
START_TEST(computing_was_before_the_last_write)
{
    struct zcache_timing_fields f = run(5);

    f.write_ns = S;
    f.close_ns = 9 * S;
    expect(&f, ZCACHE_BOTTLENECK_NO_HIDING, "between the last write and the close");
}
END_TEST

/* A close writes nothing back then, whatever it takes. */
START_TEST(a_file_that_was_read_alone)
{
    struct zcache_timing_fields f = run(5);

    f.writes = 0;
    f.written_bytes = 0;
    f.reads = 100;
    f.read_bytes = 100 << 20;
    f.read_ns = S;
    f.close_ns = 9 * S;
    expect(&f, ZCACHE_BOTTLENECK_NONE, "copying");
}
END_TEST

START_TEST(what_is_waited_for_beyond_the_owner_is_the_network)
{
    struct zcache_timing_fields f = run(2);

    f.write_ns = 9 * S;
    f.reply_ns = 6 * S;
    f.credit_ns = 2 * S;
    f.agg_room_ns = 2 * S;
    expect(&f, ZCACHE_BOTTLENECK_NETWORK, "zcache_provider");
}
END_TEST

START_TEST(small_accesses)
{
    struct zcache_timing_fields f = run(2);

    f.writes = 1 << 20;
    f.written_bytes = f.writes * 64;
    f.write_ns = 9 * S;
    f.reply_ns = 6 * S;
    expect(&f, ZCACHE_BOTTLENECK_SMALL, "1048576 of 64 bytes each");
    f.reply_ns = 0; /* all in a cache of its own */
    expect(&f, ZCACHE_BOTTLENECK_SMALL, "1048576 of 64 bytes each");
}
END_TEST

START_TEST(ranks_that_wait_for_each_other)
{
    struct zcache_timing_fields f = run(2);

    f.write_ns = 2 * S;
    f.ranks_ns = 6 * S;
    expect(&f, ZCACHE_BOTTLENECK_RANKS, "75% of the time in calls");
}
END_TEST

/* ---- with daemons ---- */

static struct zcache_timing_fields with_daemon(uint64_t busy, uint64_t theirs)
{
    struct zcache_timing_fields f = run(busy);

    f.write_ns = 8 * S;
    f.cache_ns = 7 * S;
    f.agg_room_ns = 7 * S;
    f.daemons = 1;
    f.iod_store_busy_ns = theirs * S;
    return f;
}

START_TEST(the_store_below_daemons)
{
    struct zcache_timing_fields f = with_daemon(9, 8);

    expect(&f, ZCACHE_BOTTLENECK_STORE, "at work 80%");
}
END_TEST

START_TEST(the_network_between_aggregators_and_daemons)
{
    struct zcache_timing_fields f = with_daemon(9, 1);

    expect(&f, ZCACHE_BOTTLENECK_NETWORK, "network");
}
END_TEST

START_TEST(the_cache_of_daemons)
{
    struct zcache_timing_fields f = with_daemon(9, 4);

    f.iod_room_ns = 6 * S;
    expect(&f, ZCACHE_BOTTLENECK_IOD_CACHE, "--cache-size of zcached");
}
END_TEST

/* ---- where the time went ---- */

START_TEST(no_wait_is_longer_than_it_was)
{
    struct zcache_timing_fields f = too_small();
    struct zcache_time_spent t;

    f.agg_room_ns = 70 * S; /* many requests beside each other */
    zcache_bottleneck_time(&f, &t);
    ck_assert_uint_eq(t.room, 7 * S);
    ck_assert_uint_eq(t.network, 0);
    ck_assert_uint_eq(t.copying, S);
    ck_assert_uint_eq(t.total, 8 * S);
}
END_TEST

START_TEST(waits_of_other_threads_are_not_the_programs)
{
    struct zcache_timing_fields f = too_small();
    struct zcache_time_spent t;

    f.background_ns = 8 * S;
    zcache_bottleneck_time(&f, &t);
    ck_assert_uint_eq(t.room, 7 * S / 2);
    ck_assert_uint_eq(t.total, 8 * S);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("limit");

    CASE(s, "verdicts", 12, a_file_that_takes_no_time_is_not_limited,
         next_to_no_waiting_is_not_worth_a_word, large_accesses_that_wait_for_nothing_are_copied,
         a_cache_is_too_small, a_store_that_never_rests_is_too_slow, reads_of_the_store,
         pieces_are_merged, requests_are_small, nothing_is_computed,
         computing_was_before_the_last_write, a_file_that_was_read_alone,
         what_is_waited_for_beyond_the_owner_is_the_network, small_accesses,
         ranks_that_wait_for_each_other);
    CASE(s, "daemons", 10, the_store_below_daemons, the_network_between_aggregators_and_daemons,
         the_cache_of_daemons);
    CASE(s, "time", 10, no_wait_is_longer_than_it_was, waits_of_other_threads_are_not_the_programs);
    return run_suite(s);
}
