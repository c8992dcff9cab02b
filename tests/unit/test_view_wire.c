/* test_view_wire.c - hashes, encodings sound and damaged, and what a view costs.
 *
 * The other half of test_view.
 */
#include "config.h"

#include <errno.h>

#include "test_view.h"
#include "zc_view_internal.h"
#include "zc_view_test.h"

enum { VIEWS = 4000 };

/* ---- one shape, one hash -------------------------------------------------------------------- */

static void add_split(struct zc_view_builder *b, int64_t off, int64_t len)
{
    while (len > 0) {
        int64_t part = below(3) ? len : between(0, len);

        REQUIRE(zc_view_add(b, off, part) == 0);
        off += part;
        len -= part;
    }
}

/* Other calls for the same pieces. */
static struct zc_view *built_otherwise(const struct model *m)
{
    struct zc_view_builder *b;
    struct zc_view *v;

    REQUIRE(zc_view_builder_create(&b) == 0);
    for (size_t i = 0; i < m->n;) {
        const struct piece *p = &m->p[i];
        int64_t n = 1, stride = i + 1 < m->n ? p[1].off - p[0].off : 0;

        while (i + (size_t)n < m->n && p[n].len == p->len && p[n].off == p->off + n * stride)
            n++;
        n = below(3) ? n : between(1, n);
        if (n > 1)
            REQUIRE(zc_view_add_run(b, p->off, p->len, stride, n) == 0);
        else
            add_split(b, p->off, p->len);
        i += (size_t)n;
    }
    REQUIRE(zc_view_finish(b, m->extent, &v) == 0);
    return v;
}

static bool same_hash(const struct zc_view *a, const struct zc_view *b)
{
    struct zc_view_hash x = zc_view_hash(a), y = zc_view_hash(b);

    return x.low == y.low && x.high == y.high;
}

/* Another shape: one piece longer, shorter, moved, gone, or another extent. */
static bool change(struct model *m)
{
    size_t i = (size_t)below((int64_t)m->n);
    struct piece before = m->p[i];
    int64_t room = i + 1 < m->n ? m->p[i + 1].off : INT64_MAX;

    switch (below(4)) {
    case 0:
        m->extent++;
        return true;
    case 1:
        m->p[i].len++;
        break;
    case 2:
        m->p[i].off++;
        break;
    default:
        m->p[i].len--;
        break;
    }
    if (m->p[i].len == 0 || m->p[i].off + m->p[i].len >= room) {
        m->p[i] = before; /* it would merge, or vanish */
        return false;
    }
    m->size += m->p[i].len - before.len;
    return true;
}

/* A few pieces again and again, then the same but for one of them: nodes that differ in one
 * number alone must not be taken for each other. */
START_TEST(nearly_the_same)
{
    for (uint64_t s = 1; s <= 500; s++) {
        struct model m = {.extent = 100000};
        int64_t n, odd, first = 0, len[8], off[8];
        struct zc_view *v, *w;

        seed(s);
        n = between(3, 8);
        odd = between(1, n - 2);
        for (int64_t i = 0, at = 0; i < n; i++) {
            len[i] = i > 0 && s % 2 ? len[0] : between(1, 9);
            off[i] = at;
            at += len[i] + between(3, 9);
        }
        for (int64_t c = 0; c < 40; c++) {
            first = c * 160 + c / 20 * 11;
            for (int64_t i = 0; i < n; i++)
                put(&m, first + off[i] + (c >= 20 && i == odd), len[i]);
        }
        settle(&m);
        v = view_of(&m);
        same_shape(&m, v);
        same_mappings(&m, v);
        m.p[m.n - (size_t)n + (size_t)odd].off--; /* and the last of them as before again */
        w = view_of(&m);
        same_mappings(&m, w);
        REQUIRE(!same_hash(v, w) && !zc_view_equal(v, w));
        zc_view_put(w);
        zc_view_put(v);
        model_free(&m);
    }
}
END_TEST

START_TEST(hashes)
{
    unsigned changed = 0;

    for (uint64_t s = 1; s <= cases(VIEWS); s++) {
        struct model m = {0};
        struct zc_view *v, *w;

        seed(s);
        random_model(&m);
        v = view_of(&m);
        w = built_otherwise(&m);
        REQUIRE(same_hash(v, w));
        REQUIRE(zc_view_equal(v, w));
        REQUIRE(zc_view_memory(v) == zc_view_memory(w));
        zc_view_put(w);
        if (change(&m)) {
            w = view_of(&m);
            REQUIRE(!same_hash(v, w));
            REQUIRE(!zc_view_equal(v, w));
            zc_view_put(w);
            changed++;
        }
        zc_view_put(v);
        model_free(&m);
    }
    REQUIRE(changed > cases(VIEWS) / 2);
}
END_TEST

/* ---- on the wire ------------------------------------------------------------------------------
 */

static unsigned char *encoded(const struct zc_view *v, size_t *n)
{
    unsigned char *buf;

    *n = zc_view_encoded(v);
    buf = malloc(*n);
    REQUIRE(zc_view_encode(v, buf, *n - 1) == -ENOSPC);
    REQUIRE(zc_view_encode(v, buf, *n) == 0);
    return buf;
}

/* Whatever was decoded can be used, and encoded again. */
static void use(struct zc_view *v, size_t n)
{
    static unsigned char data[256], file[256];
    struct zc_view *again;
    struct zc_view_iter it;
    int64_t off, x, len;
    unsigned char *buf;

    REQUIRE(zc_view_memory(v) <= 32 * n + 1024);
    if (zc_view_to_file(v, 0, below(INT64_MAX), &off) == 0 && zc_view_before(v, 0, off, &x) == 0)
        REQUIRE(x >= 0);
    zc_view_before(v, below(INT64_MAX), between(-1000, INT64_MAX / 2), &x);
    if (zc_view_start(&it, v, below(1000), below(zc_view_size(v) + 1)) == 0) {
        for (int i = 0; i < 20 && zc_view_next(&it, between(1, 64), &off, &len) == 0; i++)
            REQUIRE(len > 0);
        for (int i = 0; i < 20 && zc_view_start(&it, v, 0, below(INT64_MAX)) == 0; i++) {
            struct zc_vchunk c;

            zc_view_chunk(&it, INT64_MAX, &c);
        }
    }
    x = zc_view_lower(v) + below(1000);
    zc_view_scatter(v, 0, 0, data, 256, file, x, 256);
    buf = encoded(v, &n);
    REQUIRE(zc_view_decode(buf, n, SIZE_MAX, &again) == 0);
    REQUIRE(zc_view_equal(v, again));
    zc_view_put(again);
    free(buf);
}

static void damage(const unsigned char *buf, size_t n, unsigned *accepted)
{
    /* exactly as large as it is, so that a sanitizer sees a byte too far */
    size_t cut = below(4) ? n : (size_t)below((int64_t)n + 1);
    unsigned char *bad = malloc(cut + 1);
    struct zc_view *v;
    int rc;

    memcpy(bad, buf, cut);
    for (int64_t k = cut > 0 ? between(cut == n, 4) : 0; k > 0; k--) {
        size_t i = (size_t)below(below(2) ? (int64_t)cut : cut < 12 ? (int64_t)cut : 12);

        bad[i] = below(2) ? (unsigned char)rng() : (unsigned char)(bad[i] ^ 1 << below(8));
    }
    bad = realloc(bad, cut > 0 ? cut : 1);
    rc = zc_view_decode(bad, cut, SIZE_MAX, &v);
    REQUIRE(rc == 0 || rc == -EPROTO);
    if (rc == 0) {
        ++*accepted;
        use(v, cut);
        zc_view_put(v);
    }
    free(bad);
}

START_TEST(wire)
{
    unsigned accepted = 0;

    for (uint64_t s = 1; s <= cases(VIEWS); s++) {
        struct model m = {0};
        struct zc_view *v, *w;
        unsigned char *buf;
        size_t n;

        seed(s);
        random_model(&m);
        v = view_of(&m);
        buf = encoded(v, &n);
        REQUIRE(zc_view_decode(buf, n, zc_view_decoding(v) - 1, &w) == -EPROTO);
        REQUIRE(zc_view_decode(buf, n, zc_view_decoding(v), &w) == 0);
        REQUIRE(zc_view_memory(w) <= zc_view_decoding(v));
        REQUIRE(zc_view_equal(v, w) && same_hash(v, w));
        same_shape(&m, w);
        if (m.n < 500)
            same_mappings(&m, w);
        use(w, n);
        zc_view_put(w);
        for (int i = 0; i < 20; i++)
            damage(buf, n, &accepted);
        free(buf);
        zc_view_put(v);
        model_free(&m);
    }
    REQUIRE(accepted > 1000); /* some damage makes another view */
}
END_TEST

/* Bytes that are well-formed, but whose numbers do not hold together. */
START_TEST(senseless)
{
#define HUGE9 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40 /* 2^62 */
    static const struct {
        unsigned char len, byte[40];
    } bad[] = {
        {0, {0}},
        {7, {2, 0, 16, 0, 2, 16}},      /* version */
        {7, {1, 0, 16, 0, 2, 16, 0}},   /* left over */
        {5, {1, 0, 16, 0, 2}},          /* cut */
        {7, {1, 0, 16, 0, 2, 0x90, 0}}, /* a number in too many bytes */
        {6, {1, 0, 16, 0, 2, 0}},       /* a piece of nothing */
        {6, {1, 0, 0, 0, 2, 16}},       /* no extent */
        {15, {1, 0, 16, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 2, 16}}, /* 2^62 */
        {5, {1, 0, 16, 2, 0}},                      /* a lower bound of nothing */
        {5, {1, 0, 16, 0, 1}},                      /* an empty list that differs */
        {6, {1, 0, 16, 0, 2, 1}},                   /* node 0 of none */
        {6, {1, 0, 16, 0, 8, 16}},                  /* four entries in two bytes */
        {10, {1, 1, 16, 0, 4, 1, 2, 16, 2, 1}},     /* a node that comes once */
        {10, {1, 1, 16, 0, 4, 3, 2, 1, 2, 16}},     /* a node in itself */
        {9, {1, 1, 16, 0, 4, 3, 0, 2, 1}},          /* a node of nothing */
        {8, {1, 9, 16, 0, 4, 3, 2, 16}},            /* nine nodes in four bytes */
        {23, {1, 0, 16, 0, 4, 16, HUGE9}},          /* an offset of 2^62, and garbage */
        {15, {1, 0, 16, 0, 4, 16, HUGE9}},          /* an offset of 2^62 */
        {18, {1, 1, 16, 0, HUGE9, 3, 2, 16, 2, 1}}, /* a stride too far */
        {18, {1, 1, 16, 0, 1, HUGE9, 2, 16, 2, 1}}, /* too often */
        {14,
         {1, 0, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 0, 2,
          16}}, /* an extent beyond the limit */
    };
    static const unsigned char good[] = {1, 1, 16, 0, 4, 3, 2, 16, 2, 1};
    struct zc_view *v;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int rc = zc_view_decode(bad[i].byte, bad[i].len, SIZE_MAX, &v);

        ck_assert_msg(rc == -EPROTO, "case %zu: %d", i, rc);
    }
    ck_assert_int_eq(zc_view_decode(good, sizeof(good), SIZE_MAX, &v), 0);
    ck_assert_int_eq(zc_view_size(v), 24);
    zc_view_put(v);
}
END_TEST

/* A node in a node in a node: so many and no more. */
START_TEST(depth)
{
    unsigned char buf[100] = {1, 0, 1, 0};
    struct zc_view *v;

    for (unsigned char nodes = 1; nodes < 20; nodes++) {
        size_t n = 4;
        int rc;

        buf[1] = nodes;
        for (unsigned char i = 0; i < nodes; i++) {
            buf[n++] = 1; /* stride, count, list of one, what */
            buf[n++] = 2;
            buf[n++] = 2;
            buf[n++] = i == 0 ? 2 : (unsigned char)((i - 1) << 1 | 1);
        }
        buf[n++] = 2;
        buf[n++] = (unsigned char)((nodes - 1) << 1 | 1);
        rc = zc_view_decode(buf, n, SIZE_MAX, &v);
        ck_assert_int_eq(rc, nodes < ZC_VIEW_DEPTH ? 0 : -EPROTO);
        if (rc == 0) {
            use(v, n);
            zc_view_put(v);
        }
    }
}
END_TEST

START_TEST(noise)
{
    for (uint64_t s = 1; s <= 200000; s++) {
        unsigned char *buf = malloc(40);
        size_t n = (size_t)below(40);
        struct zc_view *v;

        seed(s);
        for (size_t i = 0; i < n; i++)
            buf[i] = (unsigned char)(below(2) ? below(6) : (int64_t)rng());
        if (n > 0)
            buf[0] = 1;
        buf = realloc(buf, n + !n);
        if (zc_view_decode(buf, n, SIZE_MAX, &v) == 0) {
            use(v, n);
            zc_view_put(v);
        }
        free(buf);
    }
}
END_TEST

/* ---- lists -------------------------------------------------------------------------------------
 */

/* The same bytes of the file, in the same order, though cut into other pieces. */
static void same_bytes(const struct zc_view *v, int64_t disp, int64_t from, const struct zc_view *w,
                       int64_t first, int64_t len)
{
    struct zc_view_iter a, b;
    int64_t x = 0, y = 0, xn = 0, yn = 0;

    REQUIRE(zc_view_start(&a, v, disp, from) == 0 && zc_view_start(&b, w, first, 0) == 0);
    while (len > 0) {
        int64_t n;

        if (xn == 0)
            REQUIRE(zc_view_next(&a, INT64_MAX, &x, &xn) == 0);
        if (yn == 0)
            REQUIRE(zc_view_next(&b, INT64_MAX, &y, &yn) == 0);
        REQUIRE(x == y);
        n = xn < yn ? xn : yn;
        n = n < len ? n : len;
        x += n;
        y += n;
        xn -= n;
        yn -= n;
        len -= n;
    }
}

/* An access as lists, one after the other, some in as little room as there may be. */
static void as_lists(struct zc_view *v)
{
    int64_t disp = below(1 << 20), at = below(2 * zc_view_size(v) + 1), left = 1 + below(20000);
    size_t room = below(3) ? (size_t)between(ZC_VIEW_LIST_MIN, 5000) : ZC_VIEW_LIST_MIN;
    unsigned char *buf = malloc(room);
    unsigned accepted = 0;

    for (int lists = 0; left > 0 && lists < 50; lists++) {
        struct zc_view_list l;
        struct zc_view *w;
        size_t n;

        zc_view_list_begin(&l, buf, room);
        REQUIRE(zc_view_list_fill(&l, v, disp, at, left) == 0);
        REQUIRE(l.bytes > 0 && l.bytes <= left);
        n = zc_view_list_end(&l);
        REQUIRE(n <= room);
        REQUIRE(zc_view_decode_list(buf, n, &w) == 0);
        REQUIRE(zc_view_size(w) == l.bytes);
        same_bytes(v, disp, at, w, l.first, l.bytes);
        zc_view_put(w);
        if (lists == 0)
            damage(buf, n, &accepted);
        at += l.bytes;
        left -= l.bytes;
    }
    free(buf);
}

START_TEST(lists)
{
    for (uint64_t s = 1; s <= cases(VIEWS); s++) {
        struct model m = {0};
        struct zc_view *v;

        seed(s);
        random_model(&m);
        v = view_of(&m);
        if (zc_view_size(v) > 0 && zc_view_lower(v) >= 0)
            as_lists(v);
        zc_view_put(v);
        model_free(&m);
    }
}
END_TEST

START_TEST(far_lists)
{
    unsigned char buf[ZC_VIEW_LIST_MIN];
    struct zc_view_list l;
    struct zc_view *v;

    zc_view_list_begin(&l, buf, sizeof buf);
    REQUIRE(zc_view_list_add(&l, 0, 1));
    REQUIRE(!zc_view_list_add(&l, INT64_MAX - 1, 1)); /* another list can have it */
    zc_view_list_begin(&l, buf, sizeof buf);
    REQUIRE(zc_view_list_add(&l, INT64_MAX - 1, 1));
    REQUIRE(!zc_view_list_add(&l, 5, 1));
    REQUIRE(zc_view_decode_list(buf, zc_view_list_end(&l), &v) == 0);
    REQUIRE(l.first == INT64_MAX - 1 && zc_view_size(v) == 1);
    zc_view_put(v);
}
END_TEST

/* ---- what it costs ------------------------------------------------------------------------------
 */

static struct zc_view *large_subarray(const int64_t *full, const int64_t *sub)
{
    static const int64_t start[4] = {0, 0, 0, 0};
    struct model m = {.extent = 1};
    struct zc_view *v;

    for (int d = 0; d < 4; d++)
        m.extent *= full[d];
    m.extent *= 8;
    subarray(&m, 0, 4, full, sub, start, 8);
    REQUIRE(m.n == 1000000);
    v = view_of(&m);
    model_free(&m);
    return v;
}

START_TEST(memory)
{
    static const int64_t full[][4] = {
        {120, 110, 130, 9}, {2600, 60, 9, 9}, {9, 60, 2600, 9}, {130000, 4, 6, 5}};
    static const int64_t sub[][4] = {
        {100, 100, 100, 3}, {2500, 50, 8, 3}, {8, 50, 2500, 3}, {125000, 2, 4, 3}};
    struct model same = {0}, any = {0};
    struct zc_view *v;

    seed(1);
    for (int i = 0; i < 4; i++) {
        v = large_subarray(full[i], sub[i]);
        REQUIRE(zc_view_memory(v) <= 1024);
        REQUIRE(zc_view_encoded(v) <= 100);
        REQUIRE(zc_view_nodes(v) <= 20);
        zc_view_put(v);
    }
    for (int64_t i = 0, x = 0, y = 0; i < 1000000; i++) {
        put(&same, x, 8);
        put(&any, y, between(1, 100));
        x += 8 * between(2, 30);
        y += 101 + below(1000);
    }
    same.extent = any.extent = INT64_C(1) << 40;
    settle(&same);
    v = view_of(&same);
    REQUIRE(zc_view_memory(v) <= 8 * same.n + 1024);
    REQUIRE(zc_view_encoded(v) <= 2 * same.n + 1024);
    zc_view_put(v);
    for (size_t i = 500; i < 700; i++) /* an accident is not worth 8 bytes a piece */
        same.p[i].off = same.p[500].off + (int64_t)(i - 500) * 16;
    v = view_of(&same);
    REQUIRE(zc_view_memory(v) <= 8 * same.n + 1024);
    for (int64_t i = 498; i < 702; i++)
        same_to_file(&same, v, 0, i * 8 + 3);
    zc_view_put(v);
    v = view_of(&any);
    REQUIRE(zc_view_memory(v) <= 16 * any.n + 1024);
    REQUIRE(zc_view_encoded(v) <= 4 * any.n + 1024);
    zc_view_put(v);
    model_free(&same);
    model_free(&any);
}
END_TEST

/* The example of zc_view.h. */
START_TEST(example)
{
    struct zc_view_builder *b;
    struct zc_view *v;
    int64_t off;

    REQUIRE(zc_view_builder_create(&b) == 0);
    for (int64_t row = 0; row < 50; row++)
        REQUIRE(zc_view_add_run(b, row * 4096, 8, 32, 20) == 0);
    REQUIRE(zc_view_finish(b, 50 * 4096, &v) == 0);
    REQUIRE(zc_view_nodes(v) == 5); /* two nodes of one entry, one entry of the tile */
    REQUIRE(zc_view_to_file(v, 0, 2000, &off) == 0 && off == 49472);
    zc_view_put(v);
}
END_TEST

/* Shapes that MPI programs have, and how many nodes they may become. */
START_TEST(compression)
{
    struct model m = {0};
    struct zc_view *v;

    seed(1);
    for (int64_t i = 0; i < 3000; i++) { /* an array of struct {int; double} in rows of 100 */
        put(&m, i * 24 + i / 100 * 1000, 4);
        put(&m, i * 24 + i / 100 * 1000 + 8, 8);
    }
    m.extent = 1 << 20;
    v = view_of(&m);
    REQUIRE(zc_view_nodes(v) <= 6);
    zc_view_put(v);
    m.n = 0;
    for (int64_t row = 0; row < 200; row++) { /* block-cyclic, its last block is short */
        for (int64_t i = 0; i < 50; i++)
            put(&m, row * 10000 + i * 160, 40);
        put(&m, row * 10000 + 50 * 160, 16);
    }
    m.extent = 1 << 24;
    v = view_of(&m);
    REQUIRE(zc_view_nodes(v) <= 8);
    zc_view_put(v);
    m.n = 0;
    for (int64_t i = 0; i < 5000; i++) /* five irregular pieces, again and again */
        put(&m, i / 5 * 777 + (i % 5) * (i % 5) * 20 + 3, 3 + i % 5);
    m.extent = 1 << 24;
    v = view_of(&m);
    REQUIRE(zc_view_nodes(v) <= 10);
    zc_view_put(v);
    m.n = 0;
    for (int64_t i = 0; i < 1600; i++) /* the longest period */
        put(&m, i / 16 * 7777 + (i % 16) * (i % 16) * 20, 3 + i % 16);
    m.extent = 1 << 24;
    v = view_of(&m);
    REQUIRE(zc_view_nodes(v) <= 20);
    zc_view_put(v);
    model_free(&m);
}
END_TEST

void add_wire_cases(Suite *s)
{
    CASE(s, "hash", 300, hashes, nearly_the_same);
    CASE(s, "wire", 300, wire, senseless, depth, noise);
    CASE(s, "lists", 300, lists, far_lists);
    CASE(s, "cost", 60, memory, example, compression);
}
