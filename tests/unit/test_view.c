/* test_view.c - thousands of random views against a flat list of pieces. */
#include "config.h"

#include <errno.h>

#include "test_view.h"
#include "zc_view_internal.h"
#include "zc_view_test.h"
#include "zc_vspan.h"

enum { VIEWS = 4000 };

/* ---- what it is, and the mappings -------------------------------------------------------- */

START_TEST(shapes_and_mappings)
{
    for (uint64_t s = 1; s <= cases(VIEWS); s++) {
        struct model m = {0};
        struct zc_view *v;

        seed(s);
        random_model(&m);
        v = view_of(&m);
        same_shape(&m, v);
        same_mappings(&m, v);
        zc_view_put(v);
        model_free(&m);
    }
}
END_TEST

/* ---- walking ------------------------------------------------------------------------------ */

static void walk_pieces(const struct model *m, const struct zc_view *v)
{
    int64_t disp = below(1000), x = below(3 * m->size),
            most = below(2) ? INT64_MAX : between(1, 40);
    struct zc_view_iter it;

    REQUIRE(zc_view_start(&it, v, disp, x) == 0);
    if (zc_view_contiguous(v))
        most = between(1, 1000);
    for (int i = 0; i < 100; i++) {
        int64_t off, len, behind, max = below(2) ? most : between(1, most), want;
        struct piece p = at_view(m, x, &behind);

        REQUIRE(zc_view_next(&it, max, &off, &len) == 0);
        want = zc_view_contiguous(v) || p.len - behind > max ? max : p.len - behind;
        REQUIRE(off == disp + p.off + behind);
        REQUIRE(len == want);
        x += len;
    }
}

/* Piece k of a row of the chunk: its file offset in the first row, and its length. */
static int64_t in_row(const struct zc_vchunk *c, int64_t k, int64_t *len)
{
    *len = c->len;
    if (c->ents) {
        int64_t end = k + 1 < c->count ? c->ents[k + 1].before : c->ents[0].before + c->bytes;

        *len = end - c->ents[k].before;
        return c->off + c->ents[k].off;
    }
    return c->off + (c->offs ? c->offs[k] : k * c->stride);
}

static void walk_chunks(const struct model *m, const struct zc_view *v)
{
    int64_t disp = below(1000), x = below(3 * m->size), most = between(1, 1000);
    struct zc_view_iter it;

    REQUIRE(zc_view_start(&it, v, disp, x) == 0);
    for (int i = 0; i < 30; i++) {
        int64_t max = between(1, most);
        struct zc_vchunk c;

        REQUIRE(zc_view_chunk(&it, max, &c) == 0);
        REQUIRE(c.rows > 0 && c.count > 0 && c.rows * c.bytes <= max);
        for (int64_t n = 0; n < c.rows * c.count; n++) {
            int64_t behind, len, off = in_row(&c, n % c.count, &len);
            struct piece p = at_view(m, x, &behind);

            REQUIRE(off + n / c.count * c.row_stride == disp + p.off + behind);
            REQUIRE(len > 0 && (zc_view_contiguous(v) || len <= p.len - behind));
            x += len;
        }
    }
}

START_TEST(walks)
{
    for (uint64_t s = 1; s <= cases(VIEWS); s++) {
        struct model m = {0};
        struct zc_view *v;

        seed(s);
        random_model(&m);
        v = view_of(&m);
        for (int i = 0; i < 3; i++) {
            walk_pieces(&m, v);
            walk_chunks(&m, v);
        }
        zc_view_put(v);
        model_free(&m);
    }
}
END_TEST

/* ---- slices --- */

/* What a model at `disp` shows of a slice in its first tile; a byte of it at a time. */
static struct model model_of_slice(const struct model *m, int64_t disp,
                                   const struct zc_view_slice *s)
{
    struct model out = {.extent = m->extent};

    for (size_t i = 0; i < m->n; i++)
        for (int64_t at = m->p[i].off; at < m->p[i].off + m->p[i].len; at++)
            if ((uint64_t)(disp + at) / s->unit % s->count == s->index)
                put(&out, at, 1);
    settle(&out);
    return out;
}

/* Every byte is in the one slice it belongs to, and is found there. */
static void slices_of(const struct model *m, struct zc_view *v)
{
    uint32_t count = (uint32_t)between(1, 5);
    struct zc_view_slice s = {.unit = (uint64_t)between(1, 300), .count = count};
    int64_t disp = between(lower(m) < 0 ? -lower(m) : 0, 2000), sum = 0;
    bool alike = m->extent % (int64_t)(s.unit * count) == 0;

    REQUIRE(zc_view_slices_alike(v, &s) == alike);
    for (s.index = 0; s.index < count; s.index++) {
        struct model want = model_of_slice(m, disp, &s);
        int64_t x = want.size ? below(want.size * (alike ? 3 : 1)) : -1;
        struct zc_view *cut, *other = view_of(&want);

        REQUIRE(zc_view_cut(v, disp, &s, &cut) == 0);
        REQUIRE(zc_view_equal(cut, other));
        sum += zc_view_size(cut);
        if (x >= 0) {
            int64_t at, whole, same, again;

            REQUIRE(zc_view_to_file(cut, disp, x, &at) == 0);
            REQUIRE((uint64_t)at / s.unit % count == s.index);
            REQUIRE(zc_view_before(cut, disp, at, &again) == 0 && again == x);
            REQUIRE(zc_view_before(v, disp, at, &whole) == 0);
            REQUIRE(zc_view_to_file(v, disp, whole, &same) == 0 && same == at);
        }
        zc_view_put(cut);
        zc_view_put(other);
        model_free(&want);
    }
    REQUIRE(sum == zc_view_size(v));
}

START_TEST(slices)
{
    struct zc_view_slice s = {.unit = 1, .count = 1};

    for (uint64_t n = 1; n <= cases(VIEWS); n++) {
        struct model m = {0};
        struct zc_view *v, *cut;

        seed(n);
        random_model(&m);
        if (below(2))
            m.extent += 300 - m.extent % 300;
        v = view_of(&m);
        if (monotone(&m) && m.size < 20000)
            slices_of(&m, v);
        else if (!monotone(&m))
            REQUIRE(zc_view_cut(v, 2000, &s, &cut) == -ENOTSUP && !cut);
        zc_view_put(v);
        model_free(&m);
    }
}
END_TEST

/* ---- copying ------------------------------------------------------------------------------ */

enum { WINDOW = 3000, VISIBLE = 3000 };

struct copies {
    unsigned char data[VISIBLE], back[VISIBLE], want_back[VISIBLE];
    unsigned char file[WINDOW], want[WINDOW];
    bool touched[WINDOW];
};

/* What scatter, gather and touched must do, byte by byte; how many bytes. */
static int64_t expect_copies(const struct model *m, struct copies *c, int64_t x, int64_t len,
                             int64_t window)
{
    int64_t n = 0;

    for (int64_t i = 0; i < len; i++) {
        int64_t behind, at = at_view(m, x + i, &behind).off + behind - window;

        if (at < 0 || at >= WINDOW)
            continue;
        c->want[at] = c->data[i];
        c->touched[at] = true;
        n++;
    }
    for (int64_t i = 0; i < len; i++) {
        int64_t behind, at = at_view(m, x + i, &behind).off + behind - window;

        if (at >= 0 && at < WINDOW)
            c->want_back[i] = c->want[at];
    }
    return n;
}

static void same_ranges(const struct copies *c, const struct zc_view_ranges *r)
{
    uint32_t k = 0, at = 0;

    while (at < WINDOW) {
        uint32_t end = at;

        while (end < WINDOW && c->touched[end] == c->touched[at])
            end++;
        if (c->touched[at]) {
            REQUIRE(k < r->n && r->r[k].lo == at && r->r[k].hi == end);
            k++;
        }
        at = end;
    }
    REQUIRE(k == r->n);
}

static void one_copy(const struct model *m, const struct zc_view *v, struct zc_view_ranges *r)
{
    static struct copies c;
    int64_t disp = below(2) ? 0 : below(5000), x = below(3 * m->size), behind, n;
    int64_t window = at_view(m, x, &behind).off - between(-20, 1500);
    int64_t len = below(8) ? between(0, 400) : between(0, VISIBLE);

    memset(&c, 0, sizeof(c));
    for (int i = 0; i < VISIBLE; i++)
        c.data[i] = (unsigned char)rng();
    for (int i = 0; i < WINDOW; i++)
        c.file[i] = c.want[i] = (unsigned char)rng();
    n = expect_copies(m, &c, x, len, window);
    REQUIRE(zc_view_scatter(v, disp, x, c.data, len, c.file, window + disp, WINDOW) == n);
    REQUIRE(memcmp(c.file, c.want, WINDOW) == 0);
    REQUIRE(zc_view_gather(v, disp, x, c.back, len, c.file, window + disp, WINDOW) == n);
    REQUIRE(memcmp(c.back, c.want_back, VISIBLE) == 0);
    r->n = 0;
    REQUIRE(zc_view_touched(v, disp, x, len / 2, window + disp, WINDOW, r) == 0);
    REQUIRE(zc_view_touched(v, disp, x + len / 2, len - len / 2, window + disp, WINDOW, r) == 0);
    same_ranges(&c, r);
    REQUIRE(zc_view_touched(v, disp, x, len / 2, window + disp, WINDOW, r) == 0);
    same_ranges(&c, r);
}

START_TEST(copies)
{
    struct zc_view_ranges r = {0};

    for (uint64_t s = 1; s <= cases(VIEWS / 2); s++) {
        struct model m = {0};
        struct zc_view *v;

        seed(s);
        random_model(&m);
        v = view_of(&m);
        one_copy(&m, v, &r);
        if (m.n < 100)
            one_copy(&m, v, &r);
        zc_view_put(v);
        model_free(&m);
    }
    free(r.r);
}
END_TEST

/* Each length has its own loop: all of them, runs and lists, and both directions. */
START_TEST(every_length)
{
    struct zc_view_ranges r = {0};

    for (int64_t len = 1; len <= 70; len++) {
        for (int irregular = 0; irregular < 3; irregular++) {
            struct model m = {0};
            struct zc_view *v;
            int64_t at = 0;

            seed((uint64_t)(len * 3 + irregular));
            for (int i = 0; i < 30; i++) {
                put(&m, at, irregular == 2 ? between(1, len) : len);
                at += len + (irregular ? between(1, 9) : 5);
            }
            settle(&m);
            m.extent = at;
            v = view_of(&m);
            for (int i = 0; i < 10; i++)
                one_copy(&m, v, &r);
            zc_view_put(v);
            model_free(&m);
        }
    }
    free(r.r);
}
END_TEST

/* ---- edges ------------------------------------------------------------------------------------
 */

static struct zc_view *single(int64_t off, int64_t len, int64_t extent)
{
    struct zc_view *v;

    REQUIRE(zc_view_create(&off, &len, 1, extent, &v) == 0);
    return v;
}

START_TEST(nothing_visible)
{
    int64_t off[] = {5, 3}, len[] = {0, 0}, x;
    struct zc_view *v, *w;
    struct zc_view_iter it;
    unsigned char buf[16];
    size_t n;

    REQUIRE(zc_view_create(off, len, 2, 0, &v) == 0);
    REQUIRE(zc_view_size(v) == 0 && zc_view_monotone(v) && !zc_view_contiguous(v));
    REQUIRE(zc_view_to_file(v, 0, 0, &x) == -ERANGE);
    REQUIRE(zc_view_before(v, 0, 1000, &x) == 0 && x == 0);
    REQUIRE(zc_view_start(&it, v, 0, 0) == -ERANGE);
    REQUIRE(zc_view_next(&it, 1, &x, &x) == -ERANGE);
    REQUIRE(zc_view_scatter(v, 0, 0, "", 1, &x, 0, 8) == 0);
    n = zc_view_encoded(v);
    REQUIRE(n <= sizeof(buf) && zc_view_encode(v, buf, n) == 0);
    REQUIRE(zc_view_decode(buf, n, SIZE_MAX, &w) == 0 && zc_view_equal(v, w));
    zc_view_put(w);
    zc_view_put(v);
}
END_TEST

START_TEST(refused)
{
    static const struct {
        int64_t off[2], len[2], extent;
        int rc;
    } bad[] = {
        {{0, 8}, {4, 4}, 0, -EINVAL},
        {{0, 8}, {4, 4}, -8, -EINVAL},
        {{8, 0}, {4, 4}, 16, -EINVAL},
        {{0, 8}, {4, -4}, 16, -EINVAL},
        {{0, 8}, {4, INT64_MAX}, 16, -EOVERFLOW},
        {{INT64_MIN, 8}, {4, 4}, 16, -EOVERFLOW},
        {{0, INT64_MAX}, {4, 4}, 16, -EOVERFLOW},
        {{-(INT64_C(1) << 61), INT64_C(1) << 61}, {4, INT64_C(1) << 61}, 16, -EOVERFLOW},
        {{-(INT64_C(1) << 62), 0}, {INT64_C(1) << 62, INT64_C(1) << 62}, 16, -EOVERFLOW},
        {{0, 8}, {4, 4}, INT64_MAX, -EINVAL},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct zc_view *v;
        int rc = zc_view_create(bad[i].off, bad[i].len, 2, bad[i].extent, &v);

        ck_assert_msg(rc == bad[i].rc, "case %zu: %d", i, rc);
    }
}
END_TEST

START_TEST(refused_runs)
{
    static const struct {
        int64_t off, len, stride, count;
        int rc;
    } run[] = {
        {0, 4, 8, -1, -EINVAL},
        {0, 4, -8, 2, -EINVAL},
        {0, -4, 8, 2, -EINVAL},
        {0, 4, INT64_MAX, 3, -EOVERFLOW},
        {0, 4, INT64_C(1) << 50, INT64_C(1) << 13, -EOVERFLOW},
        {-(INT64_C(1) << 62), 4, 4, INT64_C(1) << 61, -EOVERFLOW},
        {0, INT64_MAX, 1, 1, -EOVERFLOW},
        {0, 4, INT64_MAX, 1, 0},
        {0, 0, 4, 9, 0},
        {0, 4, 4, 0, 0},
        {-(INT64_C(1) << 61), 2, 4, INT64_C(1) << 60, 0},
        {7, 8, 0, INT64_C(1) << 50, 0},
    };

    for (size_t i = 0; i < sizeof(run) / sizeof(run[0]); i++) {
        struct zc_view_builder *b;
        struct zc_view *v;
        int rc;

        ck_assert_int_eq(zc_view_builder_create(&b), 0);
        rc = zc_view_add_run(b, run[i].off, run[i].len, run[i].stride, run[i].count);
        ck_assert_msg(rc == run[i].rc, "case %zu: %d", i, rc);
        ck_assert_int_eq(zc_view_add(b, 1, 0), rc); /* an error stays */
        ck_assert_int_eq(zc_view_finish(b, INT64_C(1) << 62, &v), rc);
        if (rc == 0) {
            ck_assert_int_eq(zc_view_size(v), run[i].len * run[i].count);
            zc_view_put(v);
        }
    }
}
END_TEST

/* The last offsets that are taken, and a run without gaps. */
START_TEST(just_inside)
{
    const int64_t limit = INT64_C(1) << 62;
    struct zc_view *v;
    struct zc_view_builder *b;
    int64_t x;

    v = single(limit - 8, 8, 16);
    REQUIRE(zc_view_upper(v) == limit);
    zc_view_put(v);
    v = single(-limit, 8, limit);
    REQUIRE(zc_view_lower(v) == -limit && zc_view_to_file(v, 5, 9, &x) == 0 && x == 6);
    zc_view_put(v);
    REQUIRE(zc_view_builder_create(&b) == 0);
    REQUIRE(zc_view_add(b, limit - 7, 8) == -EOVERFLOW);
    zc_view_builder_destroy(b);
    REQUIRE(zc_view_builder_create(&b) == 0);
    REQUIRE(zc_view_add(b, -limit - 1, 8) == -EOVERFLOW);
    zc_view_builder_destroy(b);
    REQUIRE(zc_view_builder_create(&b) == 0);
    REQUIRE(zc_view_add_run(b, 8, 8, 8, 9) == 0);
    REQUIRE(zc_view_finish(b, 72, &v) == 0);
    REQUIRE(zc_view_contiguous(v) && zc_view_size(v) == 72 && zc_view_lower(v) == 8);
    zc_view_put(v);
}
END_TEST

START_TEST(far_out)
{
    const int64_t huge = INT64_C(1) << 62;
    struct zc_view *v = single(0, 8, 16), *w = single(-24, 8, huge);
    struct zc_view_iter it;
    int64_t x, len;

    REQUIRE(zc_view_to_file(v, -1, 0, &x) == -EINVAL);
    REQUIRE(zc_view_to_file(v, 0, -1, &x) == -EINVAL);
    REQUIRE(zc_view_before(v, -1, 0, &x) == -EINVAL);
    REQUIRE(zc_view_to_file(v, 0, INT64_MAX, &x) == -EOVERFLOW);
    REQUIRE(zc_view_to_file(v, 0, INT64_MAX / 2, &x) == 0 && x == INT64_MAX - 8);
    REQUIRE(zc_view_to_file(v, 9, INT64_MAX / 2, &x) == -EOVERFLOW);
    REQUIRE(zc_view_before(v, 0, INT64_MAX, &x) == 0 && x == INT64_C(1) << 62);
    REQUIRE(zc_view_before(v, INT64_MAX, INT64_MIN, &x) == 0 && x == 0);
    REQUIRE(zc_view_before(v, INT64_MAX, INT64_MAX, &x) == 0 && x == 0);
    REQUIRE(zc_view_to_file(w, 0, 0, &x) == 0 && x == -24);
    REQUIRE(zc_view_to_file(w, 0, 16, &x) == 0 && x == INT64_MAX - 23);
    REQUIRE(zc_view_to_file(w, 24, 16, &x) == -EOVERFLOW);
    REQUIRE(zc_view_before(w, 0, INT64_MAX, &x) == 0 && x == 24);
    REQUIRE(zc_view_start(&it, v, -1, 0) == -EINVAL);
    REQUIRE(zc_view_start(&it, v, 0, -1) == -EINVAL);
    REQUIRE(zc_view_start(&it, v, 0, INT64_MAX / 2) == 0);
    REQUIRE(zc_view_next(&it, 64, &x, &len) == 0 && x == INT64_MAX - 8 && len == 1);
    REQUIRE(zc_view_next(&it, 64, &x, &len) == -EOVERFLOW);
    REQUIRE(zc_view_next(&it, 0, &x, &len) == -EINVAL);
    zc_view_put(v);
    zc_view_put(w);
}
END_TEST

/* Files end before 2^63, and so does the last page, whatever its size. */
START_TEST(pages_at_the_end)
{
    static const int64_t at[] = {INT64_MAX - 1, INT64_MAX - 8, INT64_MAX - 4096};
    struct zc_view *v = single(0, 8, 16);
    int64_t first, len;

    for (unsigned i = 0; i < sizeof at / sizeof *at; i++)
        for (uint64_t unit = 4096; unit <= 1 << 22; unit <<= 10) {
            REQUIRE(zc_vspan(v, at[i], 0, 8, unit, &first, &len) == 0);
            REQUIRE(first == at[i] && len > 0 && len <= INT64_MAX - at[i]);
        }
    REQUIRE(zc_vspan(v, INT64_MAX - 8, 7, 8, 4096, &first, &len) == 0);
    REQUIRE(first == INT64_MAX - 1 && len == 1);
    REQUIRE(zc_vspan(v, INT64_MAX, 0, 8, 4096, &first, &len) == -EOVERFLOW);
    zc_view_put(v);
}
END_TEST

START_TEST(contiguous_never_ends)
{
    struct zc_view *v = single(100, 16, 16);
    struct zc_view_iter it;
    struct zc_vchunk run;
    int64_t x, len;

    REQUIRE(zc_view_contiguous(v));
    REQUIRE(zc_view_start(&it, v, 1000, 37) == 0);
    REQUIRE(zc_view_next(&it, 1000000, &x, &len) == 0 && x == 1137 && len == 1000000);
    REQUIRE(zc_view_chunk(&it, INT64_MAX, &run) == 0);
    REQUIRE(run.off == 1001137 && run.count == 1 && run.len == INT64_MAX - 1001137);
    REQUIRE(zc_view_next(&it, 1, &x, &len) == -EOVERFLOW);
    zc_view_put(v);
}
END_TEST

/* Pieces of a tile that is one piece come as one run. */
START_TEST(tile_of_one_piece)
{
    struct zc_view *v = single(3, 8, 32);
    struct zc_view_iter it;
    struct zc_vchunk run;

    REQUIRE(zc_view_start(&it, v, 0, 4) == 0);
    REQUIRE(zc_view_chunk(&it, 8004, &run) == 0);
    REQUIRE(run.off == 7 && run.len == 4 && run.count == 1);
    REQUIRE(zc_view_chunk(&it, 8004, &run) == 0);
    REQUIRE(run.off == 35 && run.len == 8 && run.count == 1000 && run.stride == 32);
    REQUIRE(zc_view_chunk(&it, 4, &run) == 0);
    REQUIRE(run.off == 32035 && run.len == 4 && run.count == 1);
    REQUIRE(zc_view_chunk(&it, INT64_MAX, &run) == 0 && run.len == 4);
    REQUIRE(zc_view_chunk(&it, INT64_MAX, &run) == 0);
    REQUIRE(run.count == (INT64_MAX - 8 - run.off) / 32 + 1);
    REQUIRE(zc_view_chunk(&it, INT64_MAX, &run) == -EOVERFLOW);
    zc_view_put(v);
}
END_TEST

/* Units of which the tile has billions that are others'. */
START_TEST(slices_far_apart)
{
    struct zc_view_slice s = {.unit = 1, .count = UINT32_MAX, .index = 5};
    struct zc_view *v = single(0, INT64_C(1) << 40, (INT64_C(1) << 40) + 1), *cut;
    int64_t at;

    REQUIRE(zc_view_cut(v, 0, &s, &cut) == 0);
    REQUIRE(zc_view_size(cut) == 257);
    REQUIRE(zc_view_to_file(cut, 0, 256, &at) == 0 && at == 5 + 256 * (int64_t)UINT32_MAX);
    zc_view_put(cut);
    s = (struct zc_view_slice){.unit = UINT64_MAX, .count = 7, .index = 6};
    REQUIRE(zc_view_cut(v, 0, &s, &cut) == 0);
    REQUIRE(zc_view_size(cut) == 0);
    zc_view_put(cut);
    zc_view_put(v);
}
END_TEST

START_TEST(references)
{
    struct zc_view *v = single(0, 8, 32);

    REQUIRE(zc_view_get(v) == v);
    zc_view_put(v);
    REQUIRE(zc_view_size(v) == 8); /* a sanitizer would say that it is gone */
    zc_view_put(v);
    zc_view_put(NULL);
    zc_view_builder_destroy(NULL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("view");

    CASE(s, "model", 300, shapes_and_mappings, walks, slices, copies, every_length);
    CASE(s, "edges", 10, nothing_visible, refused, refused_runs, just_inside, far_out,
         pages_at_the_end, contiguous_never_ends, tile_of_one_piece, references, slices_far_apart);
    add_wire_cases(s);
    return run_suite(s);
}
