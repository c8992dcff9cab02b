/* test_sums.c - checksums of what moves between an aggregator and a daemon: a flipped bit is seen,
 * nothing of it is taken, and the bytes come again. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>

#include "raw_peer.h"
#include "zc_crc.h"
#include "zc_net_internal.h"
#include "zc_store_remote.h"
#include "zc_tp_fault.h"

enum {
    LARGE = 5 * 4096 + 13, /* by RMA, of several pages */
    SMALL = 5000,          /* in a message */
    OFF = 2999,
    FOREVER = 1000000,
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

/* What comes damaged each time is an error that names the range, and none of it is in the file. */
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

/* The bytes before it are not in the store yet: they are what is read, and what goes there, also
 * while the damaged ones are asked for again. */
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

/* Where a page is of several stretches that have sums of their own. */
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

/* What a message brings is as it may come: the client asks again, and gives up in the end. */
START_TEST(wrong_in_a_reply)
{
    unsigned char sums[ZC_SUM_SIZE];
    struct zc_io io = {.handle = 1, .buf = in, .len = SMALL, .off = OFF, .sums = sums};
    struct zc_msg reply = {.count = SMALL, .sums = {sums, sizeof sums}};

    up();
    ck_assert_int_eq(zc_crc_load(), 0);
    fill(in, SMALL, OFF, 1);
    zc_sums_make(sums, in, OFF, SMALL, 0);
    ck_assert_int_eq(zc_io_check(client, &io, 0, &reply), 0);
    in[SMALL - 1] ^= 1;
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(zc_io_check(client, &io, 0, &reply), -EAGAIN);
    ck_assert_int_eq(zc_io_check(client, &io, 0, &reply), -EIO);
    ck_assert_msg(strstr(zc_error_text(-EIO), "bytes 2999-7998"), "%s", zc_error_text(-EIO));
    reply.sums.n = 0;
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

/* Nobody looks where it was not asked for: what the others have caught was real. */
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

/* A payload in a message, which its seal protects on a network, but not within a host. */
START_TEST(wrong_in_a_message)
{
    unsigned char sums[ZC_SUM_SIZE];
    struct raw raw;
    struct zc_msg m = {.type = ZC_T_OPEN, .open_flags = NEW, .mode = 0600, .path = {"/f", 2}};

    up();
    raw_up(&raw, &rig);
    m.session = raw_hello(&raw, 60000, ZC_PROTOCOL);
    raw_call(&raw, &m);
    ck_assert_int_eq(raw.last.status, 0);
    fill(out, SMALL, 0, 1);
    ck_assert_int_eq(zc_crc_load(), 0);
    zc_sums_make(sums, out, 0, SMALL, 0);
    out[SMALL - 1] ^= 1;
    m = (struct zc_msg){.type = ZC_T_WRITE,
                        .flags = ZC_F_SUMS,
                        .session = m.session,
                        .handle = raw.last.handle,
                        .len = SMALL,
                        .sums = {sums, sizeof sums},
                        .data = {out, SMALL}};
    raw_call(&raw, &m);
    ck_assert_int_eq(raw.last.status, -EBADMSG);
    ck_assert_uint_eq(raw.last.flags, ZC_F_SUMS);
    ck_assert_uint_eq(rig_stat(client, "checksum_errors"), 1);
    ck_assert_int_eq(zc_client_read(client, file, in, SMALL, 0), 0);
    out[SMALL - 1] ^= 1;
    raw_call(&raw, &m);
    ck_assert_int_eq(raw.last.status, 0);
    m.sums.n = 0;
    raw_call(&raw, &m);
    ck_assert_int_eq(raw.last.status, -EPROTO);
    zc_tp_close(raw.tp);
    down();
}
END_TEST

/* An aggregator's store, with what is written in pieces, too. */
START_TEST(through_the_store)
{
    struct zc_range pieces[] = {{0, 100}, {200, 5000}, {6000, 6001}, {7000, LARGE - 1}};
    struct zc_attr attr = {.block_size = 8192};
    struct zc_store *store;
    struct zc_sfile *sf;
    struct iovec iov = {out, LARGE};
    uint64_t n;

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
    ck_assert_int_eq(zc_store_write_ranges(sf, (char *)out, pieces, 4, 0), -EOPNOTSUPP);
    ck_assert_int_eq(zc_store_write_ranges(sf, (char *)out, pieces, 3, 0), 4901);
    n = zc_tp_fault_raised(server_end);
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq(zc_store_close_file(sf, ZC_LEVEL_STORED), 0);
    zc_store_destroy(store);
    rig_down(&rig);
}
END_TEST

/* In the daemon's page, between the answer and its store write: never in the file, and told. */
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
    cfg.idle_ms = 0; /* nothing is written back by itself */
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
    ck_assert_int_eq(zc_store_sync(sf, ZC_LEVEL_STORED), -EIO); /* not told once and forgotten */
    ck_assert_int_eq(zc_store_truncate(sf, 0), 0);
    ck_assert_int_eq(zc_store_sync(sf, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_store_close_file(sf, ZC_LEVEL_STORED), 0);
    zc_store_destroy(store);
    rig_down(&rig);
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
         off_it_is_not_seen, wrong_in_a_message, wrong_in_a_reply);
    CASE(s, "store", 60, through_the_store, flipped_in_a_daemons_cache);
    return run_suite(s);
}
