/* test_ra_predict.c - what zc_ra_predict.c proposes after which accesses. */
#include "config.h"

#include <string.h>

#include "check_main.h"
#include "zc_ra_predict.h"
#include "zc_view_test.h"

enum { PAGE = 4096, FAR = 1 << 20 };

#define PAGES(n) ((uint64_t)(n)*PAGE)

static struct zc_ra_predict f;

static void start(uint32_t depth, uint64_t block_pages, uint64_t stride)
{
    zc_ra_predict_init(&f, PAGE, PAGES(block_pages), stride);
    zc_ra_predict_depth(&f, depth);
}

static void touch(uint64_t page)
{
    zc_ra_predict_touch(&f, PAGES(page), PAGE, false);
}

/* The same when it was read ahead. */
static void use(uint64_t page)
{
    zc_ra_predict_touch(&f, PAGES(page), PAGE, true);
}

/* Takes what is proposed now, at most `max`; the stream of the last one. */
static unsigned take(uint64_t *pages, unsigned max, uint32_t *stream)
{
    struct zc_proposal p;
    unsigned n = 0;

    while (n < max && zc_ra_predict_propose(&f, PAGES(FAR), &p)) {
        zc_ra_predict_take(&f, &p);
        pages[n++] = p.page;
        *stream = p.stream;
    }
    return n;
}

/* Exactly these pages are proposed, in this order. */
static uint32_t expect(unsigned n, const uint64_t *want)
{
    uint64_t got[100];
    uint32_t stream = 0;
    unsigned have = take(got, 100, &stream);

    ck_assert_uint_eq(have, n);
    for (unsigned i = 0; i < n; i++)
        ck_assert_uint_eq(got[i], want[i]);
    return stream;
}

#define EXPECT(...)                                                                                \
    expect(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (uint64_t[]){__VA_ARGS__})
#define NOTHING() expect(0, NULL)

/* Small accesses inside a page, byte after byte, say as much as pages do. */
static uint32_t proposals_of(uint32_t stream)
{
    uint64_t got[100];

    return take(got, 100, &stream);
}

START_TEST(lanes)
{
    /* the drawing in the header */
    start(8, 2, 3);
    for (uint64_t page = 0; page < 100; page++) {
        struct zc_ra_lane at = zc_ra_predict_place(&f, page);

        ck_assert_uint_eq(at.lane, page / 2 % 3);
        ck_assert_uint_eq(zc_ra_predict_page(&f, at.lane, at.place), page);
    }
    ck_assert_uint_eq(zc_ra_predict_place(&f, 9).place, 3);
    ck_assert_uint_eq(zc_ra_predict_place(&f, 9).lane, 1);
}
END_TEST

START_TEST(window_grows_with_use)
{
    start(8, 1, 1);
    touch(0);
    EXPECT(1);
    use(1);
    EXPECT(2, 3);
    use(2);
    EXPECT(4, 5, 6);
    use(3);
    EXPECT(7, 8, 9, 10, 11); /* as deep as it may be */
    use(4);
    EXPECT(12);
    use(4);
    NOTHING();
}
END_TEST

START_TEST(window_shrinks_with_waste_and_opens_again)
{
    uint32_t s;

    start(4, 1, 1);
    touch(0);
    EXPECT(1);
    use(1);
    EXPECT(2, 3);
    use(2);
    s = EXPECT(4, 5, 6);
    zc_ra_predict_wasted(&f, s); /* 2 */
    zc_ra_predict_wasted(&f, s); /* 1 */
    touch(3);
    NOTHING();
    zc_ra_predict_wasted(&f, s); /* shut */
    for (uint64_t page = 4; page < 11; page++) {
        touch(page);
        NOTHING();
    }
    touch(11); /* 8 places in order */
    EXPECT(12);
}
END_TEST

START_TEST(random_access_is_left_alone)
{
    uint64_t x = 12345, got[100];
    uint32_t stream;
    unsigned n = 0;

    start(64, 1, 1);
    for (int i = 0; i < 1000; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        touch((x >> 33) % FAR);
        n += take(got, 100, &stream);
    }
    ck_assert_uint_le(n, 8); /* those made on trust, and neighbours by chance */
}
END_TEST

START_TEST(order_does_not_matter)
{
    static const uint64_t phase[] = {5, 2, 7, 0, 6, 1, 3, 4};

    start(8, 1, 1);
    f.trust = 0;
    for (unsigned i = 0; i < 8; i++)
        touch(phase[i]);
    EXPECT(8, 9, 10, 11, 12, 13, 14, 15); /* as many as were read */
}
END_TEST

START_TEST(follows_the_stride_of_its_reader)
{
    start(8, 2, 3);
    touch(2); /* block 1, of lane 1 */
    EXPECT(3);
    touch(3);
    EXPECT(8, 9); /* block 4 */
    touch(8);
    EXPECT(14, 15);
    touch(9);
    EXPECT(20, 21);
}
END_TEST

START_TEST(regular_gaps_are_not_read)
{
    uint64_t got[100];
    uint32_t s = 0;

    start(4, 1, 1);
    f.trust = 0;
    for (uint64_t page = 0; page < 20; page += 4) { /* two of every four */
        touch(page);
        touch(page + 1);
        take(got, 100, &s);
    }
    use(20);
    use(21);
    take(got, 100, &s);
    touch(24);
    touch(25);
    ck_assert_uint_gt(take(got, 100, &s), 0);
    for (uint64_t page = 28; page < 60; page += 4) {
        unsigned n;

        touch(page);
        touch(page + 1);
        n = take(got, 100, &s);
        for (unsigned i = 0; i < n; i++)
            ck_assert_uint_lt(got[i] % 4, 2);
    }
}
END_TEST

START_TEST(bytes_in_order_are_evidence)
{
    start(8, 1, 1);
    f.trust = 0;
    zc_ra_predict_touch(&f, PAGES(7) + 100, 200, false);
    NOTHING();
    zc_ra_predict_touch(&f, PAGES(7) + 300, 200, false);
    EXPECT(8);
}
END_TEST

START_TEST(streams_are_kept_apart)
{
    uint64_t got[100];
    uint32_t s;

    start(2, 1, 1);
    for (uint64_t i = 0; i < 6; i++) {
        touch(i);
        touch(1000 + i);
        touch(100000 + i);
        take(got, 100, &s);
    }
    touch(6);
    EXPECT(8);
    touch(1006);
    EXPECT(1008);
    touch(100006);
    EXPECT(100008);
}
END_TEST

START_TEST(a_second_pass_is_a_stream)
{
    uint64_t got[100];
    uint32_t s;

    start(2, 1, 1);
    for (uint64_t i = 0; i < 40; i++) {
        touch(i);
        take(got, 100, &s);
    }
    touch(0);
    touch(1);
    EXPECT(2, 3); /* twice the trust, once the window */
}
END_TEST

START_TEST(ends_with_the_file)
{
    struct zc_proposal p;

    start(8, 1, 1);
    touch(0);
    ck_assert(!zc_ra_predict_propose(&f, PAGE, &p));
    ck_assert(zc_ra_predict_propose(&f, PAGE + 1, &p)); /* it has grown */
    ck_assert_uint_eq(p.page, 1);
    ck_assert(zc_ra_predict_propose(&f, PAGE + 1, &p)); /* not taken: proposed again */
}
END_TEST

START_TEST(depth_0_is_silent)
{
    start(0, 1, 1);
    for (uint64_t i = 0; i < 100; i++)
        touch(i);
    NOTHING();
}
END_TEST

START_TEST(passed_pages_are_known)
{
    uint32_t s;

    start(8, 1, 1);
    touch(0);
    s = EXPECT(1);
    ck_assert(!zc_ra_predict_passed(&f, s, 1));
    for (uint64_t i = 2; i < 20; i++)
        touch(i);
    ck_assert(zc_ra_predict_passed(&f, s, 1));
    ck_assert(!zc_ra_predict_passed(&f, s, 19));
    ck_assert(zc_ra_predict_passed(&f, s + 1000, 19)); /* no such stream */
}
END_TEST

/* ---- views ---- */

/* Pieces of 100 bytes at these pages of a tile of 50. */
static struct zc_view *scattered(const int64_t *pages, size_t n)
{
    int64_t off[16], len[16];
    struct zc_view *v;

    for (size_t i = 0; i < n; i++) {
        off[i] = pages[i] * PAGE + 10;
        len[i] = 100;
    }
    ck_assert_int_eq(zc_view_create(off, len, n, PAGES(50), &v), 0);
    return v;
}

static void look(const struct zc_view *v, int64_t view_off, int64_t len, bool foreseen)
{
    int64_t off;

    ck_assert_int_eq(zc_view_to_file(v, 0, view_off, &off), 0);
    zc_ra_predict_touch_view(&f, v, 0, view_off, len, (uint64_t)off, foreseen);
}

START_TEST(views_know_what_comes_next)
{
    static const int64_t pages[] = {0, 3, 4, 17, 31};
    struct zc_view *v = scattered(pages, 5);

    start(4, 1, 1);
    f.view_trust = 0;
    look(v, 0, 100, false);
    NOTHING(); /* one access is no order */
    look(v, 100, 100, false);
    EXPECT(4);
    look(v, 200, 100, true);
    EXPECT(17, 31);
    look(v, 300, 50, true); /* half of page 17, which is reached thereby */
    EXPECT(50, 53, 54);
    look(v, 350, 50, false);
    NOTHING();
    look(v, 1000000, 100, false); /* somewhere else */
    NOTHING();
    zc_ra_predict_free(&f);
    zc_view_put(v);
}
END_TEST

START_TEST(views_skip_the_blocks_of_others)
{
    static const int64_t pages[] = {0, 3, 4, 17, 31};
    struct zc_view *v = scattered(pages, 5);

    start(8, 1, 2); /* every second page is ours: the even ones */
    look(v, 0, 100, false);
    look(v, 200, 100, false); /* page 4; page 3 is another's */
    EXPECT(50);               /* 17 and 31 are odd, the next tile begins at 50 */
    look(v, 500, 100, true);
    EXPECT(54, 100);
    zc_ra_predict_free(&f);
    zc_view_put(v);
}
END_TEST

START_TEST(views_end_with_the_file)
{
    static const int64_t pages[] = {0, 3, 4, 17, 31};
    struct zc_view *v = scattered(pages, 5);
    struct zc_proposal p;

    start(8, 1, 1);
    look(v, 0, 100, false);
    look(v, 100, 100, false);
    ck_assert(!zc_ra_predict_propose(&f, PAGES(4), &p));
    ck_assert(zc_ra_predict_propose(&f, PAGES(5), &p));
    ck_assert_uint_eq(p.page, 4);
    zc_ra_predict_free(&f);
    zc_view_put(v);
}
END_TEST

/* Many small accesses of several streams, as ranks make them, one view each. */
START_TEST(views_of_many_ranks)
{
    static const int64_t pages[] = {0, 3, 4, 17, 31};
    struct zc_view *v = scattered(pages, 5);

    start(2, 1, 1);
    f.view_trust = 0;
    for (int64_t phase = 0; phase < 5; phase++)
        for (int64_t disp = 0; disp < 4; disp++) {
            int64_t off;

            ck_assert_int_eq(zc_view_to_file(v, disp * FAR, phase * 100, &off), 0);
            zc_ra_predict_touch_view(&f, v, disp * FAR, phase * 100, 100, (uint64_t)off, false);
            ck_assert_uint_eq(proposals_of(0), phase ? 1 : 0);
        }
    zc_ra_predict_free(&f);
    zc_view_put(v);
}
END_TEST

/* As many ranks as are followed at a time: each has one page ahead, which belongs to its stream
 * until it is reached, whatever the others read meanwhile. */
START_TEST(views_of_a_large_job)
{
    static const int64_t pages[] = {0, 3, 4, 17, 31};
    struct zc_view *v = scattered(pages, 5);
    uint64_t ahead[ZC_RA_PREDICT_VIEWS] = {0};
    uint32_t stream[ZC_RA_PREDICT_VIEWS] = {0};

    start(2, 1, 1);
    f.view_trust = 0;
    for (int64_t phase = 0; phase < 5; phase++)
        for (int rank = 0; rank < ZC_RA_PREDICT_VIEWS; rank++) {
            int64_t disp = rank * (int64_t)PAGES(50), off;

            ck_assert_int_eq(zc_view_to_file(v, disp, phase * 100, &off), 0);
            if (phase >= 2) {
                ck_assert_uint_eq(ahead[rank], (uint64_t)off / PAGE);
                ck_assert(!zc_ra_predict_passed(&f, stream[rank], ahead[rank]));
            }
            zc_ra_predict_touch_view(&f, v, disp, phase * 100, 100, (uint64_t)off, false);
            ck_assert_uint_eq(take(&ahead[rank], 1, &stream[rank]), phase ? 1 : 0);
        }
    zc_ra_predict_free(&f);
    zc_view_put(v);
}
END_TEST

/* The first access through a view, of as many as are followed at a time; as long as none of them
 * has been read on, no more. */
START_TEST(views_are_trusted)
{
    static const int64_t pages[] = {0, 3, 4, 17, 31};
    struct zc_view *v = scattered(pages, 5);

    start(4, 1, 1);
    for (int64_t disp = 0; disp < 2 * ZC_RA_PREDICT_STREAMS; disp++) {
        zc_ra_predict_touch_view(&f, v, disp * 50 * PAGE, 0, 100, (uint64_t)disp * 50 * PAGE,
                                 false);
        ck_assert_uint_eq(proposals_of(0), disp < ZC_RA_PREDICT_STREAMS ? 1 : 0);
    }
    zc_ra_predict_touch_view(&f, v, PAGES(50 * 15), 100, 100, PAGES(50 * 15 + 3), false);
    EXPECT(50 * 15 + 4);
    zc_ra_predict_touch_view(&f, v, PAGES(50 * 16), 0, 100, PAGES(50 * 16), false);
    EXPECT(50 * 16 + 3);
    zc_ra_predict_free(&f);
    zc_view_put(v);
}
END_TEST

/* What is read in order beside what is not says nothing about that. */
START_TEST(a_scan_confirms_nothing)
{
    uint64_t x = 12345, got[100];
    uint32_t stream;
    unsigned wasted = 0;

    start(16, 1, 1);
    for (unsigned i = 0; i < 2000; i++) {
        unsigned n;

        touch(i);
        x = x * 6364136223846793005u + 1442695040888963407u;
        touch(4000 + (x >> 33) % (FAR - 4000));
        n = take(got, 100, &stream);
        for (unsigned k = 0; k < n; k++)
            wasted += got[k] >= 4000;
    }
    ck_assert_uint_le(wasted, 20);
}
END_TEST

START_TEST(a_view_confirms_no_other)
{
    static const int64_t pages[] = {0, 3, 4, 17, 31};
    struct zc_view *v = scattered(pages, 5);
    uint64_t got[100];
    uint32_t stream;
    unsigned wasted = 0;

    start(16, 1, 1);
    for (int64_t i = 0; i < 300; i++) {
        unsigned n;
        uint64_t disp = PAGES(100000 + 50 * i);

        look(v, i * 100, 100, false);
        zc_ra_predict_touch_view(&f, v, (int64_t)disp, 0, 100, disp, false);
        n = take(got, 100, &stream);
        for (unsigned k = 0; k < n; k++)
            wasted += got[k] >= 100000;
    }
    ck_assert_uint_le(wasted, 2 * ZC_RA_PREDICT_STREAMS);
    zc_ra_predict_free(&f);
    zc_view_put(v);
}
END_TEST

/* One that may have many pages leaves room to one that may have few. */
START_TEST(streams_take_turns)
{
    static const int64_t pages[] = {0, 3, 4, 17, 31};
    struct zc_view *v = scattered(pages, 5);
    uint64_t got[2];
    uint32_t s;

    start(8, 1, 1);
    look(v, 0, 100, false);
    look(v, 100, 100, true);
    look(v, 200, 100, true);
    zc_ra_predict_touch_view(&f, v, FAR, 0, 100, FAR, false);
    ck_assert_uint_eq(take(got, 2, &s), 2);
    ck_assert_uint_eq(got[0], 17);
    ck_assert_uint_eq(got[1], FAR / PAGE + 3);
    for (unsigned i = 0; i < 5; i++)
        touch(1000 + i);
    ck_assert_uint_eq(take(got, 1, &s), 1);
    ck_assert_uint_eq(got[0], 1005);
    zc_ra_predict_free(&f);
    zc_view_put(v);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("predict");

    CASE(s, "pages", 30, lanes, window_grows_with_use, window_shrinks_with_waste_and_opens_again,
         random_access_is_left_alone, order_does_not_matter, follows_the_stride_of_its_reader,
         regular_gaps_are_not_read, bytes_in_order_are_evidence, streams_are_kept_apart,
         a_second_pass_is_a_stream, ends_with_the_file, depth_0_is_silent, passed_pages_are_known);
    CASE(s, "views", 30, views_know_what_comes_next, views_skip_the_blocks_of_others,
         views_end_with_the_file, views_of_many_ranks, views_of_a_large_job, views_are_trusted,
         streams_take_turns, a_scan_confirms_nothing, a_view_confirms_no_other);
    return run_suite(s);
}
