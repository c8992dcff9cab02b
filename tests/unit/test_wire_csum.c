/* test_wire_csum.c - checksums of transfers between a rank, an aggregator and a daemon: a flipped
 * bit is detected, none of the data is used, and the bytes are sent again. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "raw_peer.h"
#include "splitmix.h"
#include "zc_crc.h"
#include "zc_net_internal.h"
#include "zc_store_remote.h"
#include "zc_tp_fault.h"
#include "zc_view.h"

enum {
    LARGE = 5 * 4096 + 13, /* by RMA, of several pages */
    HUGE = 700001,         /* ... and of several stretches, through a view */
    PIECE = 5000,          /* bytes that the view shows ... */
    STRIDE = 9000,         /* ... once in so many */
    SMALL = 5000,          /* in a message */
    OFF = 2999,
    FOREVER = 1000000,
    ROUNDS = 20,
    BEYOND = 3 << 20, /* more than is checksummed at once */
    NEW = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE,
};

static struct rig rig;
static struct zc_net *net;
static struct zc_client *client;
static struct zc_tp *server_end;
static uint64_t file;
static unsigned char out[LARGE], in[LARGE];

static void up_with(const struct zc_cache_config *cfg)
{
    rig_transport = zc_tp_fault_open;
    rig_up(&rig, cfg, NULL);
    server_end = zc_tp_fault_last();
    net = rig_net(60000);
    client = rig_connect(&rig, net);
    file = rig_open(client, "/f");
}

static void up(void)
{
    up_with(NULL);
}

static void down(void)
{
    zc_client_disconnect(client);
    zc_net_destroy(net);
    rig_down(&rig);
}

static ssize_t transfer(bool write, unsigned char *buf, size_t len, uint64_t off)
{
    struct zc_io io = {
        .write = write, .handle = file, .buf = buf, .len = len, .off = off, .checked = true};

    zc_io_start(client, &io);
    return zc_io_wait(client, &io);
}

static void flips(unsigned ops, uint64_t nth, uint64_t count)
{
    zc_tp_fault_set(server_end, ops, ZC_TP_FAULT_FLIP, nth, count);
}

START_TEST(known_value)
{
    ck_assert_int_eq(zc_crc_load(), 0);
    ck_assert_uint_eq(zc_crc("123456789", 9), 0xe3069283);
    ck_assert_uint_eq(zc_crc("", 0), 0);
}
END_TEST

START_TEST(sizes_and_offsets)
{
    static const size_t sizes[] = {1, 4095, 4096, 4097, 16120, 16124, 16125, 16128, 16129, LARGE};

    up();
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint64_t off = 0; off < 9000; off += OFF) {
            fill(out, sizes[i], off, i);
            ck_assert_int_eq(transfer(true, out, sizes[i], off), (ssize_t)sizes[i]);
            memset(in, 0, sizeof in);
            ck_assert_int_eq(transfer(false, in, sizes[i], off), (ssize_t)sizes[i]);
            expect(in, sizes[i], off, i);
        }
    ck_assert_int_eq(transfer(false, in, LARGE, OFF + LARGE), 2 * OFF);
    ck_assert_int_eq(transfer(false, in, LARGE, 1 << 20), 0);
    ck_assert_int_eq(transfer(false, in, 10, 1 << 20), 0);
    ck_assert_uint_eq(rig_stat(client, "checksum_errors"), 0);
    ck_assert_uint_gt(rig_stat(client, "checksum_bytes"), 0);
    down();
}
END_TEST

/* In each page of the range in turn. */
START_TEST(flipped_in_a_write)
{
    up();
    for (unsigned nth = 1; nth <= 6; nth++) {
        fill(out, LARGE, OFF, nth);
        flips(ZC_TP_FAULT_PULL, nth, 1);
        ck_assert_int_eq(transfer(true, out, LARGE, OFF), LARGE);
        ck_assert_int_eq(zc_client_read(client, file, in, LARGE, OFF), LARGE);
        expect(in, LARGE, OFF, nth);
        ck_assert_uint_eq(rig_stat(client, "checksum_errors"), nth);
    }
    down();
}
END_TEST

/* Data damaged at every attempt is an error that names the range, and none of it is in the file. */
START_TEST(flipped_in_each_write)
{
    up();
    fill(out, LARGE, 0, 1);
    ck_assert_int_eq(transfer(true, out, LARGE, 0), LARGE);
    ck_assert_int_eq(zc_client_flush(client, file, ZC_LEVEL_STORED), 0);
    fill(out, LARGE, 0, 2);
    flips(ZC_TP_FAULT_PULL, 1, FOREVER);
    ck_assert_int_eq(transfer(true, out, LARGE, 0), -EIO);
    ck_assert_msg(strstr(zc_error_text(-EIO), "bytes 0-20492") != NULL, "%s", zc_error_text(-EIO));
    flips(0, 1, 0);
    ck_assert_int_eq(zc_client_read(client, file, in, LARGE, 0), LARGE);
    expect(in, LARGE, 0, 1);
    down();
}
END_TEST

static void expect_in_store(size_t len, uint64_t off, unsigned gen)
{
    struct zc_attr attr = {0};
    struct iovec iov = {in, len};
    struct zc_sfile *sf;

    ck_assert_int_eq(zc_store_open_file(rig.store, "/f", ZC_OPEN_READ, 0, &sf, &attr), 0);
    ck_assert_int_eq(zc_store_preadv(sf, &iov, 1, off), (ssize_t)len);
    zc_store_close_file(sf, ZC_LEVEL_VISIBLE);
    expect(in, len, off, gen);
}

/* Bytes there before are not in the store yet: they are read and written back meanwhile, also while
 * the damaged ones are requested again. */
START_TEST(flipped_over_unwritten)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;

    cfg.capacity = 64 * 4096;
    cfg.page_size = 4096;
    cfg.idle_ms = 0;
    up_with(&cfg);
    fill(out, LARGE, OFF, 1);
    ck_assert_int_eq(transfer(true, out, LARGE, OFF), LARGE);
    fill(out, LARGE, OFF, 2);
    for (unsigned nth = 1; nth <= 6; nth++) {
        flips(ZC_TP_FAULT_PULL, nth, FOREVER);
        ck_assert_int_eq(transfer(true, out, LARGE, OFF), -EIO);
        flips(0, 1, 0);
        ck_assert_int_eq(zc_client_read(client, file, in, LARGE, OFF), LARGE);
        for (size_t i = 0, cut = nth == 1 ? 0 : (nth - 1) * 4096 - OFF; i < LARGE; i += 61)
            ck_assert_msg(in[i] == stamp(OFF + i, 1) || (i < cut && in[i] == stamp(OFF + i, 2)),
                          "damaged at %u: byte %zu is of neither write", nth, i);
    }
    fill(out, LARGE, OFF, 1);
    ck_assert_int_eq(transfer(true, out, LARGE, OFF), LARGE);
    fill(out, LARGE, OFF, 2);
    flips(ZC_TP_FAULT_PULL, 1, FOREVER);
    ck_assert_int_eq(transfer(true, out, LARGE, OFF), -EIO);
    flips(0, 1, 0);
    ck_assert_int_eq(zc_client_flush(client, file, ZC_LEVEL_STORED), 0);
    expect_in_store(4096 - OFF, OFF, 1);
    down();
}
END_TEST

/* With several stretches of checksums in a page. */
START_TEST(flipped_in_a_large_page)
{
    enum { LEN = 700001, FIRST = 100003 };
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    unsigned char *a = malloc(LEN), *b = malloc(LEN);

    cfg.capacity = 4 << 20;
    cfg.page_size = 1 << 20;
    up_with(&cfg);
    for (unsigned nth = 1; nth <= 4; nth++) {
        fill(a, LEN, FIRST, nth);
        flips(ZC_TP_FAULT_PULL, nth, 1);
        ck_assert_int_eq(transfer(true, a, LEN, FIRST), LEN);
        flips(ZC_TP_FAULT_PUSH, 1, 1);
        ck_assert_int_eq(transfer(false, b, LEN, FIRST), LEN);
        expect(b, LEN, FIRST, nth);
        ck_assert_uint_eq(rig_stat(client, "checksum_errors"), 2 * nth);
    }
    free(a);
    free(b);
    down();
}
END_TEST

/* ---- through a view, or a list where the server has no memory for views ---- */

static struct zc_view *view_of(int64_t piece, int64_t stride)
{
    struct zc_view_builder *b;
    struct zc_view *v;

    ck_assert_int_eq(zc_view_builder_create(&b), 0);
    ck_assert_int_eq(zc_view_add(b, 0, piece), 0);
    ck_assert_int_eq(zc_view_finish(b, stride, &v), 0);
    return v;
}

static ssize_t through(struct zc_view *v, bool write, unsigned char *buf, size_t len, uint64_t off)
{
    rig_checked = true;
    return rig_through_view(client, file, write, v, 0, buf, len, (int64_t)off);
}

/* Checks that a piece is in its place. */
static void expect_piece(int64_t piece, int64_t stride, uint64_t off, unsigned gen)
{
    unsigned char got[PIECE];
    uint64_t n = off / (uint64_t)piece;

    ck_assert_int_eq(zc_client_read(client, file, got, (size_t)piece, (n + 1) * (uint64_t)stride),
                     piece);
    expect(got, (size_t)piece, (n + 1) * (uint64_t)piece, gen);
}

static void views_of_all_sizes(int64_t piece, int64_t stride, const size_t *sizes)
{
    static const uint64_t offs[] = {0, OFF, (256 << 10) - 1};
    struct zc_view *v = view_of(piece, stride);
    unsigned char *a = malloc(HUGE), *b = malloc(HUGE);

    up();
    for (unsigned i = 0; sizes[i]; i++)
        for (unsigned j = 0; j < 3; j++) {
            fill(a, sizes[i], offs[j], i);
            ck_assert_int_eq(through(v, true, a, sizes[i], offs[j]), (ssize_t)sizes[i]);
            memset(b, 0, sizes[i]);
            ck_assert_int_eq(through(v, false, b, sizes[i], offs[j]), (ssize_t)sizes[i]);
            expect(b, sizes[i], offs[j], i);
            if (sizes[i] > 2 * PIECE)
                expect_piece(piece, stride, offs[j], i);
        }
    ck_assert_int_eq(through(v, false, b, HUGE, 8 * HUGE), 0);
    ck_assert_uint_eq(rig_stat(client, "checksum_errors"), 0);
    ck_assert_uint_gt(rig_stat(client, "checksum_bytes"), 2 * HUGE);
    down();
    free(a);
    free(b);
    zc_view_put(v);
}

START_TEST(views_and_lists)
{
    static const size_t all[] = {1, 4097, 16000, 16124, 17000, 300000, HUGE, 0}, few[] = {HUGE, 0};

    for (unsigned listed = 0; listed < 2; listed++) {
        rig_views = listed ? 0 : 16 << 20;
        views_of_all_sizes(PIECE, STRIDE, all);
        views_of_all_sizes(100, 300, all);
        views_of_all_sizes(PIECE, PIECE + 1, few);
        views_of_all_sizes(1000, 8192, few); /* a page has none of it */
    }
}
END_TEST

/* In each stretch in turn, in both directions. */
static void flipped_in_stretches(void)
{
    struct zc_view *v = view_of(PIECE, STRIDE);
    unsigned char *a = malloc(HUGE), *b = malloc(HUGE);

    up();
    for (unsigned nth = 1; nth <= 3; nth++) {
        fill(a, HUGE, OFF, nth);
        flips(ZC_TP_FAULT_PULL, nth, 1);
        ck_assert_int_eq(through(v, true, a, HUGE, OFF), HUGE);
        ck_assert_uint_eq(zc_tp_fault_raised(server_end), 2 * nth - 1);
        flips(ZC_TP_FAULT_PUSH, nth, 1);
        ck_assert_int_eq(through(v, false, b, HUGE, OFF), HUGE);
        ck_assert_uint_eq(zc_tp_fault_raised(server_end), 2 * nth);
        expect(b, HUGE, OFF, nth);
        ck_assert_uint_eq(rig_stat(client, "checksum_errors"), 2 * nth);
    }
    down();
    free(a);
    free(b);
    zc_view_put(v);
}

START_TEST(flipped_through_a_view)
{
    flipped_in_stretches();
}
END_TEST

START_TEST(flipped_through_a_list)
{
    rig_views = 0;
    flipped_in_stretches();
}
END_TEST

/* The error has the file range, and the old contents stay. */
static void flipped_for_good(void)
{
    struct zc_view *v = view_of(PIECE, STRIDE);

    up();
    fill(out, LARGE, 0, 1);
    ck_assert_int_eq(through(v, true, out, LARGE, 0), LARGE);
    fill(out, LARGE, 0, 2);
    flips(ZC_TP_FAULT_PULL, 1, FOREVER);
    ck_assert_int_eq(through(v, true, out, LARGE, 0), -EIO);
    ck_assert_msg(strstr(zc_error_text(-EIO), "bytes within 0-36492:") != NULL, "%s",
                  zc_error_text(-EIO));
    flips(ZC_TP_FAULT_PUSH, 1, FOREVER);
    ck_assert_int_eq(through(v, false, in, LARGE, 0), -EIO);
    ck_assert_msg(strstr(zc_error_text(-EIO), "bytes within 0-36492:") != NULL, "%s",
                  zc_error_text(-EIO));
    flips(0, 1, 0);
    ck_assert_int_eq(through(v, false, in, LARGE, 0), LARGE);
    expect(in, LARGE, 0, 1);
    down();
    zc_view_put(v);
}

START_TEST(flipped_for_good_through_a_view)
{
    flipped_for_good();
}
END_TEST

START_TEST(flipped_for_good_through_a_list)
{
    rig_views = 0;
    flipped_for_good();
}
END_TEST

/* The store fails for one page of many in a stretch: an error, and everything held for it is
 * released: there are fewer buffers than rounds. */
static void failing_in_the_middle(void)
{
    struct zc_view *v = view_of(100, 300);
    unsigned char *a = malloc(HUGE), *b = malloc(HUGE);
    unsigned failed = 0;

    up();
    fill(a, HUGE, 0, 1);
    ck_assert_int_eq(through(v, true, a, HUGE, 0), HUGE);
    ck_assert_int_eq(zc_client_flush(client, file, ZC_LEVEL_STORED), 0);
    for (unsigned nth = 1; nth <= ROUNDS; nth++) {
        ssize_t got;

        zc_store_fault_set(rig.store, ZC_FAULT_READ, nth, 1, EIO);
        got = through(v, false, b, HUGE, 0);
        zc_store_fault_set(rig.store, 0, 1, 0, 0);
        ck_assert(got == HUGE || got == -EIO);
        failed += got < 0;
        ck_assert_int_eq(through(v, false, b, HUGE, 0), HUGE);
        expect(b, HUGE, 0, 1);
    }
    ck_assert_uint_gt(failed, ROUNDS / 2);
    down();
    free(a);
    free(b);
    zc_view_put(v);
}

START_TEST(failing_in_the_middle_of_a_view)
{
    failing_in_the_middle();
}
END_TEST

START_TEST(failing_in_the_middle_of_a_list)
{
    rig_views = 0;
    failing_in_the_middle();
}
END_TEST

/* ---- at random, against plain memory ---- */

enum {
    AREA = 3 << 20, /* bytes of the file in use */
    MOST = 900000,  /* bytes of a transfer */
    PROGRAM = 40,   /* transfers of a program */
};

struct program {
    uint64_t random;
    unsigned char *image, *buf; /* of the file, and of a transfer */
    uint64_t size;
    struct zc_view *view; /* NULL: none */
    int64_t piece, stride;
};

static uint64_t below(struct program *p, uint64_t n)
{
    return splitmix(&p->random) % n;
}

/* File offset of byte `at` of a transfer. */
static uint64_t place_of(const struct program *p, uint64_t at)
{
    uint64_t piece = (uint64_t)p->piece;

    return p->view ? at / piece * (uint64_t)p->stride + at % piece : at;
}

static void look_through_another(struct program *p)
{
    static const int64_t pieces[] = {1, 7, 100, 4096, 5000, 70000, 300000};

    zc_view_put(p->view);
    p->view = NULL;
    p->piece = pieces[below(p, 7)];
    p->stride = p->piece + (int64_t)below(p, below(p, 2) ? 64 : 20000);
    if (below(p, 4))
        p->view = view_of(p->piece, p->stride);
}

static ssize_t move_some(struct program *p, bool write, size_t len, uint64_t off)
{
    return p->view ? through(p->view, write, p->buf, len, off) : transfer(write, p->buf, len, off);
}

static void write_some(struct program *p, size_t len, uint64_t off)
{
    for (size_t i = 0; i < len; i++)
        p->buf[i] = (unsigned char)splitmix(&p->random);
    ck_assert_int_eq(move_some(p, true, len, off), (ssize_t)len);
    for (size_t i = 0; i < len; i++)
        p->image[place_of(p, off + i)] = p->buf[i];
    if (place_of(p, off + len - 1) >= p->size)
        p->size = place_of(p, off + len - 1) + 1;
}

static void read_some(struct program *p, size_t len, uint64_t off)
{
    ssize_t got;
    size_t n = 0;

    while (n < len && place_of(p, off + n) < p->size)
        n++;
    got = move_some(p, false, len, off);
    ck_assert_int_eq(got, (ssize_t)n);
    for (size_t i = 0; i < n; i++)
        if (p->buf[i] != p->image[place_of(p, off + i)])
            ck_abort_msg("%zu bytes at %llu, pieces of %lld in %lld: byte %zu is wrong", len,
                         (unsigned long long)off, (long long)p->piece, (long long)p->stride, i);
}

/* Short, long, and about the limit of a message. */
static size_t length(struct program *p)
{
    static const uint64_t most[] = {20000, MOST, 300};
    uint64_t which = below(p, 3);

    return 1 + below(p, most[which]) + (which == 2 ? ZC_MAX_INLINE - 250 : 0);
}

static void step(struct program *p)
{
    size_t len = length(p);
    uint64_t off = below(p, AREA / 2);

    if (p->view) { /* all of it in the area */
        uint64_t shown = AREA / (uint64_t)p->stride * (uint64_t)p->piece;

        off %= shown / 2 + 1;
        len = len > shown / 2 ? shown / 2 : len;
        len = len ? len : 1;
    }
    if (below(p, 3) == 0)
        flips(below(p, 2) ? ZC_TP_FAULT_PULL : ZC_TP_FAULT_PUSH, 1 + below(p, 4), 1);
    if (below(p, 2))
        write_some(p, len, off);
    else
        read_some(p, len, off);
    flips(0, 1, 0);
}

static void run_program(uint64_t seed)
{
    static const uint32_t pages[] = {4096, 16384, 1 << 20};
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct program p = {.random = seed, .image = calloc(1, AREA), .buf = malloc(MOST)};

    cfg.page_size = pages[below(&p, 3)];
    cfg.capacity = (2 + below(&p, 40)) * (size_t)cfg.page_size;
    cfg.idle_ms = 1;
    rig_views = below(&p, 2) ? 0 : 16 << 20;
    up_with(&cfg);
    for (unsigned i = 0; i < PROGRAM; i++) {
        if (i % 4 == 0)
            look_through_another(&p);
        step(&p);
    }
    down();
    zc_view_put(p.view);
    free(p.image);
    free(p.buf);
}

START_TEST(at_random)
{
    for (unsigned i = 0; i < cases(12); i++)
        run_program(i);
}
END_TEST

/* ---- transfers during writes ---- */

enum { RACED = 64 << 10 };

static bool over;

/* By this process, in its own cache, like a rank that owns the block. */
static void *keep_writing(void *other)
{
    struct zc_attr attr = {.block_size = 8192};
    unsigned char *buf = malloc(RACED);
    struct zc_handle *h;

    ck_assert_int_eq(zc_cache_open(rig.cache, "/f", ZC_OPEN_WRITE, 0, &h, &attr), 0);
    for (unsigned gen = 0; !__atomic_load_n(&over, __ATOMIC_RELAXED); gen++) {
        memset(buf, (int)gen, RACED);
        ck_assert_int_eq(zc_cache_write(h, buf, RACED, 0), RACED);
    }
    ck_assert_int_eq(zc_cache_close(h), 0);
    free(buf);
    return other;
}

/* They are of one write or the other: this is not damage. */
START_TEST(read_while_they_are_written)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    unsigned char *buf = calloc(1, RACED);
    pthread_t writer;

    cfg.capacity = 4 << 20;
    cfg.page_size = 1 << 20;
    up_with(&cfg);
    ck_assert_int_eq(zc_client_write(client, file, buf, RACED, 0), RACED);
    ck_assert_int_eq(pthread_create(&writer, NULL, keep_writing, NULL), 0);
    for (unsigned i = 0; i < cases(2000); i++) {
        ssize_t got = transfer(false, buf, RACED, 0);

        ck_assert_msg(got == RACED, "read %u: %s", i, got < 0 ? zc_error_text((int)got) : "short");
    }
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
    pthread_join(writer, NULL);
    free(buf);
    down();
}
END_TEST

/* A damaged reply may come again and again: the client repeats the request, and gives up in the
 * end. */
START_TEST(wrong_in_a_reply)
{
    unsigned char sums[ZC_CSUM_SIZE];
    struct zc_io io = {.handle = 1, .buf = in, .len = SMALL, .off = OFF, .csums = sums};
    struct zc_msg reply = {.count = SMALL, .csums = {sums, sizeof sums}};

    up();
    ck_assert_int_eq(zc_crc_load(), 0);
    fill(in, SMALL, OFF, 1);
    zc_wire_csum_make(sums, in, OFF, SMALL, 0);
    ck_assert_int_eq(zc_io_check(client, &io, 0, &reply), 0);
    in[SMALL - 1] ^= 1;
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(zc_io_check(client, &io, 0, &reply), -EAGAIN);
    ck_assert_int_eq(zc_io_check(client, &io, 0, &reply), -EIO);
    ck_assert_msg(strstr(zc_error_text(-EIO), "bytes 2999-7998"), "%s", zc_error_text(-EIO));
    reply.csums.n = 0;
    ck_assert_int_eq(zc_io_check(client, &io, 0, &reply), -EPROTO);
    down();
}
END_TEST

START_TEST(flipped_in_a_read)
{
    up();
    fill(out, LARGE, OFF, 1);
    ck_assert_int_eq(transfer(true, out, LARGE, OFF), LARGE);
    for (unsigned nth = 1; nth <= 6; nth++) {
        flips(ZC_TP_FAULT_PUSH, nth, 1);
        memset(in, 0, sizeof in);
        ck_assert_int_eq(transfer(false, in, LARGE, OFF), LARGE);
        expect(in, LARGE, OFF, 1);
        ck_assert_uint_eq(rig_stat(client, "checksum_errors"), nth);
    }
    flips(ZC_TP_FAULT_PUSH, 1, FOREVER);
    ck_assert_int_eq(transfer(false, in, LARGE, OFF), -EIO);
    ck_assert_msg(strstr(zc_error_text(-EIO), "damaged") != NULL, "%s", zc_error_text(-EIO));
    flips(0, 1, 0);
    down();
}
END_TEST

/* Without the option nothing is checked: so the other tests have seen real damage. */
START_TEST(off_it_is_not_seen)
{
    up();
    fill(out, LARGE, 0, 1);
    flips(ZC_TP_FAULT_PULL, 1, 1);
    ck_assert_int_eq(zc_client_write(client, file, out, LARGE, 0), LARGE);
    ck_assert_int_eq(zc_client_read(client, file, in, LARGE, 0), LARGE);
    ck_assert_int_ne(memcmp(in, out, LARGE), 0);
    ck_assert_uint_eq(rig_stat(client, "checksum_errors"), 0);
    ck_assert_uint_eq(rig_stat(client, "checksum_bytes"), 0);
    down();
}
END_TEST

/* A payload in a message, which the MAC protects on a network, but not within a host. */
START_TEST(wrong_in_a_message)
{
    unsigned char sums[ZC_CSUM_SIZE];
    struct raw raw;
    struct zc_msg m = {.type = ZC_T_OPEN, .open_flags = NEW, .mode = 0600, .path = {"/f", 2}};

    up();
    raw_up(&raw, &rig);
    m.session = raw_hello(&raw, 60000, ZC_PROTOCOL);
    raw_call(&raw, &m);
    ck_assert_int_eq(raw.last.status, 0);
    fill(out, SMALL, 0, 1);
    ck_assert_int_eq(zc_crc_load(), 0);
    zc_wire_csum_make(sums, out, 0, SMALL, 0);
    out[SMALL - 1] ^= 1;
    m = (struct zc_msg){.type = ZC_T_WRITE,
                        .flags = ZC_F_SUMS,
                        .session = m.session,
                        .handle = raw.last.handle,
                        .len = SMALL,
                        .csums = {sums, sizeof sums},
                        .data = {out, SMALL}};
    raw_call(&raw, &m);
    ck_assert_int_eq(raw.last.status, -EBADMSG);
    ck_assert_uint_eq(raw.last.flags, ZC_F_SUMS);
    ck_assert_int_eq(zc_client_read(client, file, in, SMALL, 0), 0);
    out[SMALL - 1] ^= 1;
    m.flags |= ZC_F_AGAIN;
    raw_call(&raw, &m);
    ck_assert_int_eq(raw.last.status, 0);
    ck_assert_uint_eq(rig_stat(client, "checksum_errors"), 1);
    m.csums.n = 0;
    raw_call(&raw, &m);
    ck_assert_int_eq(raw.last.status, -EPROTO);
    zc_tp_close(raw.tp);
    down();
}
END_TEST

/* A bit of the list, which would have put the right bytes in a wrong place. */
START_TEST(wrong_in_a_list)
{
    unsigned char sums[ZC_CSUM_SIZE], list[64];
    struct raw raw;
    struct zc_view_list l;
    struct zc_msg m = {.type = ZC_T_OPEN, .open_flags = NEW, .mode = 0600, .path = {"/f", 2}};

    up();
    raw_up(&raw, &rig);
    m.session = raw_hello(&raw, 60000, ZC_PROTOCOL);
    raw_call(&raw, &m);
    fill(out, 16, 0, 1);
    ck_assert_int_eq(zc_crc_load(), 0);
    zc_wire_csum_make(sums, out, 0, 16, 0);
    zc_view_list_begin(&l, list, sizeof list);
    ck_assert(zc_view_list_add(&l, 0, 8) && zc_view_list_add(&l, 100, 8));
    m = (struct zc_msg){.type = ZC_T_LIST_WRITE,
                        .flags = ZC_F_SUMS,
                        .session = m.session,
                        .handle = raw.last.handle,
                        .len = 16,
                        .list = {list, (uint32_t)zc_view_list_end(&l)},
                        .csums = {sums, sizeof sums},
                        .data = {out, 16}};
    raw_call(&raw, &m); /* the checksum does not cover the list here */
    ck_assert_int_eq(raw.last.status, -EBADMSG);
    ck_assert_uint_eq(raw.last.flags, ZC_F_SUMS);
    ck_assert_int_eq(zc_client_read(client, file, in, SMALL, 0), 0);
    zc_wire_csum_fold(sums, 1, zc_crc(list, m.list.n));
    raw_call(&raw, &m);
    ck_assert_int_eq(raw.last.status, 0);
    ck_assert_int_eq(zc_client_read(client, file, in, SMALL, 0), 108);
    zc_tp_close(raw.tp);
    down();
}
END_TEST

/* An aggregator's store, including writes in pieces. */
START_TEST(through_the_store)
{
    struct zc_range pieces[] = {{0, 100}, {200, 5000}, {6000, 6001}, {7000, LARGE - 1}};
    struct zc_attr attr = {.block_size = 8192};
    struct zc_store *store;
    struct zc_sfile *sf;
    struct iovec iov = {out, LARGE};

    up();
    ck_assert_int_eq(zc_store_remote_over(net, &client, 1, &store), 0);
    ck_assert_int_eq(zc_store_open_file(store, "/g", NEW | ZC_OPEN_CHECKSUM, 0600, &sf, &attr), 0);
    fill(out, LARGE, 0, 1);
    flips(ZC_TP_FAULT_PULL, 2, 1);
    ck_assert_int_eq(zc_store_pwritev(sf, &iov, 1, 0), LARGE);
    ck_assert_uint_eq(zc_tp_fault_raised(server_end), 1);
    iov.iov_base = in;
    flips(ZC_TP_FAULT_PUSH, 2, 1);
    ck_assert_int_eq(zc_store_preadv(sf, &iov, 1, 0), LARGE);
    ck_assert_uint_eq(zc_tp_fault_raised(server_end), 2);
    expect(in, LARGE, 0, 1);
    fill(out, LARGE, 0, 2);
    flips(ZC_TP_FAULT_PULL, 1, 1);
    ck_assert_int_eq(zc_store_write_ranges(sf, (char *)out, pieces, 4, 0, NULL),
                     4901 + LARGE - 7001);
    ck_assert_uint_eq(zc_tp_fault_raised(server_end), 3);
    ck_assert_int_eq(zc_store_write_ranges(sf, (char *)out, pieces, 3, 0, NULL), 4901);
    ck_assert_int_eq(zc_store_preadv(sf, &iov, 1, 0), LARGE);
    for (unsigned i = 0; i < LARGE; i++) {
        bool again = i < 100 || (i >= 200 && i < 5000) || i == 6000 || (i >= 7000 && i < LARGE - 1);

        ck_assert_msg(in[i] == stamp(i, again ? 2 : 1), "wrong byte at %u", i);
    }
    ck_assert_int_eq(zc_store_close_file(sf, ZC_LEVEL_STORED), 0);
    zc_store_destroy(store);
    rig_down(&rig);
}
END_TEST

/* A daemon with little memory negotiates short messages: they have room for the checksums of a
 * store's largest write. */
START_TEST(by_short_messages)
{
    struct zc_attr attr = {.block_size = 8192};
    unsigned char *buf = malloc(BEYOND);
    struct iovec iov = {buf, BEYOND};
    struct zc_store *store;
    struct zc_sfile *sf;

    rig_budget = 64 << 10;
    up();
    ck_assert_uint_lt(zc_client_max_inline(client), 2048);
    ck_assert_int_eq(zc_store_remote_over(net, &client, 1, &store), 0);
    ck_assert_int_eq(zc_store_open_file(store, "/g", NEW | ZC_OPEN_CHECKSUM, 0600, &sf, &attr), 0);
    fill(buf, BEYOND, OFF, 1);
    ck_assert_int_eq(zc_store_pwritev(sf, &iov, 1, OFF), BEYOND);
    memset(buf, 0, BEYOND);
    ck_assert_int_eq(zc_store_preadv(sf, &iov, 1, OFF), BEYOND);
    expect(buf, BEYOND, OFF, 1);
    ck_assert_int_eq(zc_store_close_file(sf, ZC_LEVEL_STORED), 0);
    zc_store_destroy(store);
    rig_down(&rig);
    free(buf);
}
END_TEST

/* In the daemon's page, between reply and store write: never in the file, and reported. */
START_TEST(flipped_in_a_daemons_cache)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_attr attr = {.block_size = 8192};
    struct iovec iov = {out, 4096};
    struct zc_store *store;
    struct zc_sfile *sf;
    size_t len;
    void *base;
    char *at;
    int rc;

    cfg.page_size = 4096;
    cfg.capacity = 64 * 4096;
    cfg.idle_ms = 0; /* no background write-back */
    up_with(&cfg);
    ck_assert_int_eq(zc_store_remote_over(net, &client, 1, &store), 0);
    ck_assert_int_eq(zc_store_open_file(store, "/g", NEW | ZC_OPEN_CHECKSUM, 0600, &sf, &attr), 0);
    fill(out, LARGE, 0, 1);
    ck_assert_int_eq(zc_store_pwritev(sf, &iov, 1, 0), 4096);
    zc_cache_arena(rig.cache, &base, &len);
    at = memmem(base, len, out, 4096);
    ck_assert_ptr_nonnull(at);
    at[1500] ^= 1;
    rc = zc_store_sync(sf, ZC_LEVEL_STORED);
    ck_assert_int_eq(rc, -EIO);
    ck_assert_msg(strstr(zc_error_text(rc), "1024 bytes within 1024-2047") &&
                      strstr(zc_error_text(rc), "damaged in memory"),
                  "%s", zc_error_text(rc));
    iov.iov_base = in;
    ck_assert_int_eq(zc_store_preadv(sf, &iov, 1, 0), 4096);
    ck_assert_mem_eq(in, out, 1024);
    for (unsigned i = 1024; i < 2048; i++)
        ck_assert_int_eq(in[i], 0);
    ck_assert_mem_eq(in + 2048, out + 2048, 2048);
    ck_assert_int_eq(zc_store_sync(sf, ZC_LEVEL_STORED), -EIO); /* reported more than once */
    ck_assert_int_eq(zc_store_truncate(sf, 0), 0);
    ck_assert_int_eq(zc_store_sync(sf, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_store_close_file(sf, ZC_LEVEL_STORED), 0);
    zc_store_destroy(store);
    rig_down(&rig);
}
END_TEST

static atomic_bool hammering;

/* Overwrites the buffer being sent, all the time. */
static void *hammer(void *arg)
{
    (void)arg;
    for (unsigned char byte = 0; atomic_load(&hammering); byte++)
        memset(out, byte, sizeof out);
    return NULL;
}

/* This is not damage, is not counted as such, and never becomes an error. */
START_TEST(overwritten_while_it_is_sent)
{
    pthread_t thread;

#ifdef ZC_TSAN
    return; /* the race is intended */
#endif
    up();
    atomic_store(&hammering, true);
    ck_assert_int_eq(pthread_create(&thread, NULL, hammer, NULL), 0);
    for (int i = 0; i < 20000 && rig_stat(client, "checksum_races") < 3; i++)
        ck_assert_int_eq(transfer(true, out, LARGE, 0), LARGE);
    atomic_store(&hammering, false);
    pthread_join(thread, NULL);
    ck_assert_uint_ge(rig_stat(client, "checksum_races"), 3);
    ck_assert_uint_eq(rig_stat(client, "checksum_errors"), 0);
    ck_assert_int_eq(transfer(true, out, LARGE, 0), LARGE);
    ck_assert_int_eq(transfer(false, in, LARGE, 0), LARGE);
    ck_assert_mem_eq(in, out, LARGE);
    down();
}
END_TEST

/* A client ended without explaining a mismatch: it counts as damage. */
START_TEST(never_explained)
{
    unsigned char sums[ZC_CSUM_SIZE] = {0};
    struct raw raw;
    struct zc_msg m = {.type = ZC_T_OPEN, .open_flags = NEW, .mode = 0600, .path = {"/f", 2}};

    up();
    raw_up(&raw, &rig);
    m.session = raw_hello(&raw, 60000, ZC_PROTOCOL);
    raw_call(&raw, &m);
    fill(out, SMALL, 0, 1);
    m = (struct zc_msg){.type = ZC_T_WRITE,
                        .flags = ZC_F_SUMS,
                        .session = m.session,
                        .handle = raw.last.handle,
                        .len = SMALL,
                        .csums = {sums, sizeof sums},
                        .data = {out, SMALL}};
    raw_call(&raw, &m);
    ck_assert_int_eq(raw.last.status, -EBADMSG);
    ck_assert_uint_eq(rig_stat(client, "checksum_errors"), 0);
    m = (struct zc_msg){.type = ZC_T_BYE, .session = m.session};
    raw_call(&raw, &m);
    while (rig_stat(client, "checksum_errors") == 0)
        zc_clock_sleep(1 * ZC_NS_PER_MS);
    ck_assert_uint_eq(rig_stat(client, "checksum_errors"), 1);
    ck_assert_uint_eq(rig_stat(client, "checksum_races"), 0);
    zc_tp_close(raw.tp);
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sums");

    zc_log_init(NULL);
    if (!getenv("ZCACHE_LOG"))
        zc_log_to_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    CASE(s, "transfers", 60, known_value, sizes_and_offsets, flipped_in_a_write,
         flipped_in_each_write, flipped_over_unwritten, flipped_in_a_large_page, flipped_in_a_read,
         off_it_is_not_seen, wrong_in_a_message, wrong_in_a_reply, read_while_they_are_written,
         overwritten_while_it_is_sent, never_explained);
    CASE(s, "views", 60, views_and_lists, flipped_through_a_view, flipped_through_a_list,
         flipped_for_good_through_a_view, flipped_for_good_through_a_list, wrong_in_a_list);
    CASE(s, "faults", 60, failing_in_the_middle_of_a_view, failing_in_the_middle_of_a_list);
    CASE(s, "random", 600, at_random);
    CASE(s, "store", 60, through_the_store, by_short_messages, flipped_in_a_daemons_cache);
    return run_suite(s);
}
