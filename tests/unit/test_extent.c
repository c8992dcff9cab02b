/* test_extent.c - range sets against a bitmap; what happens when memory runs out.
 *
 * The file under test is included, so that its realloc() can be made to fail.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_main.h"
#include "splitmix.h"

static bool no_memory;

static void *test_realloc(void *p, size_t n)
{
    return no_memory ? NULL : realloc(p, n);
}

#define realloc test_realloc
#include "../../common/util/zc_extent.c"
#undef realloc

/* ck_assert() tells the parent process each time, which is too slow for millions. */
#define REQUIRE(x)                                                                                 \
    do {                                                                                           \
        if (!(x))                                                                                  \
            ck_abort_msg("%s", #x);                                                                \
    } while (0)

enum { SPAN = 200 };

struct both {
    struct zc_extents e;
    bool bit[SPAN];
};

static uint64_t rng_state = 1;

static uint32_t below(uint32_t n)
{
    return (uint32_t)(splitmix(&rng_state) % n);
}

static void compare(const struct both *b)
{
    const struct zc_range *r = zc_extents_ranges(&b->e);
    uint32_t at = 0, n = 0;
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < SPAN; i++)
        bytes += b->bit[i];
    REQUIRE(zc_extents_bytes(&b->e) == bytes);
    REQUIRE(zc_extents_empty(&b->e) == (bytes == 0));
    while (at < SPAN) {
        uint32_t end = at;

        while (end < SPAN && b->bit[end] == b->bit[at])
            end++;
        if (b->bit[at]) {
            REQUIRE(n < b->e.n);
            REQUIRE(r[n].lo == at);
            REQUIRE(r[n].hi == end);
            n++;
        }
        at = end;
    }
    REQUIRE(n == b->e.n);
}

static void any_range(uint32_t *lo, uint32_t *hi)
{
    *lo = below(SPAN + 1);
    *hi = *lo + below(1 + (below(8) ? 9 : SPAN));
    if (*hi > SPAN)
        *hi = SPAN;
}

static void set(struct both *b, uint32_t lo, uint32_t hi, bool on)
{
    for (uint32_t i = lo; i < hi; i++)
        b->bit[i] = on;
}

static void check_queries(const struct both *b, uint32_t lo, uint32_t hi)
{
    struct zc_range in = {0, 0}, out = {0, 0};
    uint32_t first_in = lo, first_out = lo, end;

    while (first_in < hi && !b->bit[first_in])
        first_in++;
    while (first_out < hi && b->bit[first_out])
        first_out++;
    REQUIRE(zc_extents_touch(&b->e, lo, hi) == (first_in < hi));
    REQUIRE(zc_extents_cover(&b->e, lo, hi) == (first_out >= hi));
    REQUIRE(zc_extents_next(&b->e, lo, hi, &in) == (first_in < hi));
    REQUIRE(zc_extents_gap(&b->e, lo, hi, &out) == (first_out < hi));
    if (first_in < hi) {
        for (end = first_in; end < hi && b->bit[end];)
            end++;
        REQUIRE(in.lo == first_in);
        REQUIRE(in.hi == end);
    }
    if (first_out < hi) {
        for (end = first_out; end < hi && !b->bit[end];)
            end++;
        REQUIRE(out.lo == first_out);
        REQUIRE(out.hi == end);
    }
}

static void merge(struct both *a, const struct both *b)
{
    REQUIRE(zc_extents_merge(&a->e, &b->e) == 0);
    for (uint32_t i = 0; i < SPAN; i++)
        a->bit[i] = a->bit[i] || b->bit[i];
}

START_TEST(random_operations)
{
    static struct both s[3];

    for (unsigned i = 0; i < cases(300000); i++) {
        struct both *b = &s[below(3)], *other = &s[below(3)];
        uint32_t lo, hi, dice = below(100);

        any_range(&lo, &hi);
        if (dice < 48) {
            REQUIRE(zc_extents_add(&b->e, lo, hi) == 0);
            set(b, lo, hi, true);
        } else if (dice < 90) {
            REQUIRE(zc_extents_sub(&b->e, lo, hi) == 0);
            set(b, lo, hi, false);
        } else if (dice < 96 && b != other) {
            merge(b, other);
            compare(other);
        } else if (dice < 98) {
            zc_extents_swap(&b->e, &other->e);
            for (uint32_t k = 0; k < SPAN; k++) {
                bool t = b->bit[k];

                b->bit[k] = other->bit[k];
                other->bit[k] = t;
            }
        } else if (dice < 99 && b != other) {
            REQUIRE(zc_extents_copy(&b->e, &other->e) == 0);
            memcpy(b->bit, other->bit, sizeof(b->bit));
            compare(other);
        } else if (below(2)) {
            zc_extents_clear(&b->e);
            memset(b->bit, 0, sizeof(b->bit));
        } else {
            zc_extents_free(&b->e);
            memset(b->bit, 0, sizeof(b->bit));
        }
        compare(b);
        REQUIRE(zc_extents_equal(&b->e, &other->e) ==
                (memcmp(b->bit, other->bit, sizeof(b->bit)) == 0));
        any_range(&lo, &hi);
        check_queries(b, lo, hi);
    }
    for (int i = 0; i < 3; i++)
        zc_extents_free(&s[i].e);
}
END_TEST

START_TEST(many_at_once)
{
    for (unsigned round = 0; round < cases(20000); round++) {
        struct both b = {0};
        struct zc_range r[40];
        uint32_t n = 0, at = 0;

        for (int i = below(20); i > 0; i--) {
            uint32_t lo, hi;

            any_range(&lo, &hi);
            zc_extents_add(&b.e, lo, hi);
            set(&b, lo, hi, true);
        }
        while (n < 40 && at < SPAN - 20) { /* adjacent and empty ranges too */
            r[n].lo = at + below(6);
            r[n].hi = r[n].lo + below(9);
            at = r[n].hi;
            set(&b, r[n].lo, r[n].hi, true);
            n++;
        }
        ck_assert_int_eq(zc_extents_add_many(&b.e, r, n), 0);
        compare(&b);
        zc_extents_free(&b.e);
    }
}
END_TEST

START_TEST(boundaries)
{
    struct zc_extents e;
    struct zc_range r;

    zc_extents_init(&e);
    ck_assert(zc_extents_cover(&e, 5, 5));
    ck_assert(!zc_extents_touch(&e, 0, UINT32_MAX));
    ck_assert_int_eq(zc_extents_add(&e, 7, 7), 0);
    ck_assert(zc_extents_empty(&e));
    ck_assert_int_eq(zc_extents_add(&e, 0, 1), 0);
    ck_assert_int_eq(zc_extents_add(&e, UINT32_MAX - 1, UINT32_MAX), 0);
    ck_assert_uint_eq(e.n, 2);
    ck_assert_int_eq(zc_extents_add(&e, 1, UINT32_MAX - 1), 0);
    ck_assert_uint_eq(e.n, 1);
    ck_assert(zc_extents_cover(&e, 0, UINT32_MAX));
    ck_assert_uint_eq(zc_extents_bytes(&e), UINT32_MAX);
    ck_assert(!zc_extents_gap(&e, 0, UINT32_MAX, &r));
    ck_assert_int_eq(zc_extents_sub(&e, 0, UINT32_MAX), 0);
    ck_assert(zc_extents_empty(&e));
    zc_extents_free(&e);
}
END_TEST

START_TEST(two_ranges_need_no_memory)
{
    struct zc_extents e;

    no_memory = true;
    zc_extents_init(&e);
    ck_assert_int_eq(zc_extents_add(&e, 0, 10), 0);
    ck_assert_int_eq(zc_extents_sub(&e, 4, 5), 0);
    ck_assert_uint_eq(e.n, 2);
    no_memory = false;
}
END_TEST

/* A call that finds no memory changes nothing. */
START_TEST(out_of_memory)
{
    struct zc_extents e, src, many, before;
    const struct zc_range r[] = {{30, 31}, {40, 41}};

    zc_extents_init(&e);
    zc_extents_init(&many);
    for (uint32_t i = 0; i < 9; i++)
        zc_extents_add(&many, 2 * i, 2 * i + 1);
    zc_extents_init(&src);
    zc_extents_add(&e, 0, 10);
    zc_extents_add(&e, 20, 30);
    zc_extents_add(&src, 5, 6);
    zc_extents_add(&src, 8, 9);
    before = e;
    no_memory = true;
    ck_assert_int_eq(zc_extents_add(&e, 40, 41), -ENOMEM);
    ck_assert_int_eq(zc_extents_sub(&e, 4, 5), -ENOMEM);
    ck_assert_int_eq(zc_extents_merge(&e, &src), -ENOMEM);
    ck_assert_int_eq(zc_extents_add_many(&e, r, 2), -ENOMEM);
    ck_assert_int_eq(zc_extents_copy(&e, &many), -ENOMEM);
    ck_assert_int_eq(zc_extents_reserve(&e, 3), -ENOMEM);
    ck_assert_mem_eq(&e, &before, sizeof(e));
    ck_assert_int_eq(zc_extents_add(&e, 30, 40), 0); /* grows a range */
    no_memory = false;
    zc_extents_free(&many);
    zc_extents_free(&e);
    zc_extents_free(&src);
}
END_TEST

START_TEST(reserved_room_is_there)
{
    struct zc_extents e, src;

    zc_extents_init(&e);
    zc_extents_init(&src);
    for (uint32_t i = 0; i < 50; i++)
        zc_extents_add(&src, 4 * i + 2, 4 * i + 3);
    ck_assert_int_eq(zc_extents_reserve(&e, 101), 0);
    no_memory = true;
    for (uint32_t i = 0; i < 50; i++)
        ck_assert_int_eq(zc_extents_add(&e, 4 * i, 4 * i + 1), 0);
    ck_assert_int_eq(zc_extents_merge(&e, &src), 0);
    ck_assert_uint_eq(e.n, 100);
    ck_assert_int_eq(zc_extents_add(&e, 1000, 1001), 0);
    zc_extents_clear(&e);
    ck_assert_int_eq(zc_extents_merge(&e, &src), 0);
    no_memory = false;
    zc_extents_free(&e);
    zc_extents_free(&src);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("extents");

    CASE(s, "random", 120, random_operations, many_at_once);
    CASE(s, "edges", 10, boundaries, two_ranges_need_no_memory, out_of_memory,
         reserved_room_is_there);
    return run_suite(s);
}
