/* test_tp_fault.c - client and server over a transport that loses, delays and fails messages and
 * transfers.
 *
 * Whatever fault hits whichever message or transfer: no call takes longer than its deadlines, bytes
 * reported as written are there, and no buffer is touched once its call has returned.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>

#include "rig.h"
#include "zc_clock_sim.h"
#include "zc_tp_fault.h"

enum {
    LARGE = 40000,
    TIMEOUT_MS = 250, /* for each fault in turn */
    CALM_MS = 2000,   /* where a call has to succeed first */
    LONG_MS = 20000,  /* no call may take so long, even on a loaded machine */
    PATTERN = 0x5a,
};

static struct rig rig;
static struct zc_net *net;
static struct zc_tp *server_end, *client_end;

static void up(uint64_t timeout_ms)
{
    rig_transport = zc_tp_fault_open;
    rig_up(&rig, NULL, NULL);
    server_end = zc_tp_fault_last();
    net = rig_net(timeout_ms);
    client_end = zc_tp_fault_last();
}

static void well(void)
{
    zc_tp_fault_set(server_end, 0, ZC_TP_FAULT_DROP, 1, 0);
    zc_tp_fault_set(client_end, 0, ZC_TP_FAULT_DROP, 1, 0);
    zc_tp_fault_delay(server_end, 0, 0);
    zc_tp_fault_delay(client_end, 0, 0);
}

static void down(void)
{
    well();
    zc_net_destroy(net);
    rig_down(&rig);
}

/* Compares the file, through a sound transport. */
static void expect_in_file(const char *path, size_t len, unsigned gen)
{
    struct zc_net *sound = rig_net(10000);
    struct zc_client *c = rig_connect(&rig, sound);
    unsigned char *buf = malloc(len);
    uint64_t h = rig_open(c, path);

    ck_assert_int_eq(zc_client_read(c, h, buf, len, 0), (int)len);
    expect(buf, len, 0, gen);
    free(buf);
    ck_assert_int_eq(zc_client_close(c, h, ZC_LEVEL_STORED), 0);
    zc_client_disconnect(c);
    zc_net_destroy(sound);
}

/* ---- one fault after the other ---- */

static struct zc_client *connect_or_not(void)
{
    struct zc_client *c;

    return zc_client_connect(net, rig.addr, rig.addr_len, &rig_secret, "the server", &c) ? NULL : c;
}

/* A small session; true if the server reported all of `buf` as stored. */
static bool session(const char *path, unsigned char *buf, unsigned char *back)
{
    struct zc_client *c = connect_or_not();
    struct zc_attr attr = {.block_size = 8192};
    bool stored = false;
    uint64_t h;

    if (!c)
        return false;
    if (zc_client_open(c, path, ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE, 0600, &h, &attr) ==
        0) {
        bool all = zc_client_write(c, h, buf, LARGE, 0) == LARGE;

        all = zc_client_write(c, h, buf, 100, 0) == 100 && all;
        stored = zc_client_flush(c, h, ZC_LEVEL_STORED) == 0 && all;
        if (zc_client_read(c, h, back, LARGE, 0) == LARGE && all)
            expect(back, LARGE, 0, 1);
        zc_client_close(c, h, ZC_LEVEL_VISIBLE);
    }
    zc_client_disconnect(c);
    return stored;
}

/* Makes the nth event fail; false if there were fewer. */
static bool one_fault(bool at_server, unsigned ops, enum zc_tp_fault_how how, uint64_t nth)
{
    unsigned char *buf = malloc(LARGE), *back = malloc(LARGE);
    uint64_t began = zc_now(), raised;
    bool stored;

    up(TIMEOUT_MS);
    fill(buf, LARGE, 0, 1);
    zc_tp_fault_set(at_server ? server_end : client_end, ops, how, nth, 1);
    stored = session("/sweep", buf, back);
    ck_assert_msg(zc_now() - began < LONG_MS * ZC_NS_PER_MS, "fault %llu took too long",
                  (unsigned long long)nth);
    raised = zc_tp_fault_raised(at_server ? server_end : client_end);
    memset(buf, PATTERN, LARGE);
    memset(back, PATTERN, LARGE);
    well();
    if (stored)
        expect_in_file("/sweep", LARGE, 1);
    down();
    expect_all(buf, LARGE, PATTERN, "exposed memory");
    expect_all(back, LARGE, PATTERN, "exposed memory");
    free(buf);
    free(back);
    return raised > 0;
}

/* A session delayed by the machine may end early: faults not reached are tried again. */
static void sweep(unsigned ops, enum zc_tp_fault_how how)
{
    uint64_t n = 1;

    while (one_fault(false, ops, how, n) || one_fault(false, ops, how, n))
        n++;
    ck_assert_uint_gt(n, ops == ZC_TP_FAULT_SEND ? 5 : 1);
    for (n = 1; one_fault(true, ops, how, n) || one_fault(true, ops, how, n); n++)
        ;
    ck_assert_uint_gt(n, 2);
}

START_TEST(every_message_lost)
{
    sweep(ZC_TP_FAULT_SEND, ZC_TP_FAULT_DROP);
}
END_TEST

START_TEST(every_send_fails)
{
    sweep(ZC_TP_FAULT_SEND, ZC_TP_FAULT_FAIL);
    sweep(ZC_TP_FAULT_SEND, ZC_TP_FAULT_BREAK);
}
END_TEST

/* Without transfers that never end while messages still pass: the server keeps reporting the
 * request as under way, and the client waits. */
START_TEST(every_transfer_fails)
{
    for (unsigned how = ZC_TP_FAULT_FAIL; how <= ZC_TP_FAULT_BREAK; how++) {
        uint64_t n = 1;

        while (one_fault(true, ZC_TP_FAULT_PULL | ZC_TP_FAULT_PUSH, (enum zc_tp_fault_how)how, n) ||
               one_fault(true, ZC_TP_FAULT_PULL | ZC_TP_FAULT_PUSH, (enum zc_tp_fault_how)how, n))
            n += 4;
        ck_assert_uint_gt(n, 16); /* of LARGE bytes in pages of 4 KiB, there and back */
    }
}
END_TEST

/* ---- silence and delays ---- */

START_TEST(silent_server)
{
    struct zc_client *c;
    uint64_t h, began;

    up(CALM_MS);
    c = rig_connect(&rig, net);
    h = rig_open(c, "/silent");
    zc_tp_fault_set(server_end, ZC_TP_FAULT_SEND | ZC_TP_FAULT_RECV, ZC_TP_FAULT_DROP, 1,
                    UINT64_MAX);
    began = zc_now();
    ck_assert_int_eq(zc_client_write(c, h, "abc", 3, 0), -ETIMEDOUT);
    ck_assert_uint_lt(zc_now() - began, LONG_MS * ZC_NS_PER_MS);
    ck_assert(zc_client_broken(c));
    ck_assert_int_eq(zc_client_flush(c, h, ZC_LEVEL_STORED), -ETIMEDOUT);
    zc_client_disconnect(c);
    down();
}
END_TEST

/* The bytes of a client that fell silent stay, and are written back. */
START_TEST(silent_client)
{
    unsigned char buf[1000];
    struct zc_client *c, *other;
    struct zc_net *sound;

    up(CALM_MS);
    c = rig_connect(&rig, net);
    fill(buf, sizeof buf, 0, 1);
    ck_assert_int_eq(zc_client_write(c, rig_open(c, "/kept"), buf, sizeof buf, 0), sizeof buf);
    zc_tp_fault_set(client_end, ZC_TP_FAULT_SEND, ZC_TP_FAULT_DROP, 1, UINT64_MAX);
    sound = rig_net(10000);
    other = rig_connect(&rig, sound);
    WAIT_FOR(rig_stat(other, "sessions_lost") == 1);
    WAIT_FOR(rig_stat(other, "dirty_bytes") == 0);
    zc_client_disconnect(other);
    zc_net_destroy(sound);
    expect_in_file("/kept", sizeof buf, 1);
    zc_client_disconnect(c);
    down();
}
END_TEST

START_TEST(everything_late)
{
    unsigned char *buf = malloc(LARGE), *back = malloc(LARGE);

    up(LONG_MS);
    fill(buf, LARGE, 0, 1);
    zc_tp_fault_delay(client_end, 20, 20);
    zc_tp_fault_delay(server_end, 20, 5);
    ck_assert(session("/late", buf, back));
    expect(back, LARGE, 0, 1);
    down();
    free(buf);
    free(back);
}
END_TEST

/* The server falls silent with a read under way, and moves the data after the client has given up
 * and reused its memory. */
START_TEST(late_transfer)
{
    unsigned char *buf = malloc(LARGE);
    struct zc_client *c;
    uint64_t h;

    up(CALM_MS);
    c = rig_connect(&rig, net);
    h = rig_open(c, "/transfer");
    fill(buf, LARGE, 0, 1);
    ck_assert_int_eq(zc_client_write(c, h, buf, LARGE, 0), LARGE);
    zc_tp_fault_set(server_end, ZC_TP_FAULT_SEND, ZC_TP_FAULT_DROP, 1, UINT64_MAX);
    zc_tp_fault_delay(server_end, 0, 3 * CALM_MS);
    ck_assert_int_eq(zc_client_read(c, h, buf, LARGE, 0), -ETIMEDOUT);
    memset(buf, PATTERN, LARGE);
    zc_client_disconnect(c);
    down();
    expect_all(buf, LARGE, PATTERN, "exposed memory");
    free(buf);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fault transport");

    zc_log_init(NULL);
    zc_clock = zc_clock_sim();
    CASE(s, "sweep", 240, every_message_lost, every_send_fails, every_transfer_fails);
    CASE(s, "silence", 120, silent_server, silent_client, everything_late, late_transfer);
    return run_suite(s);
}
