/* test_rpc_stuck.c - requests that are stuck in the store do not delay those of other clients. */
#include "config.h"

#include <errno.h>

#include "raw_peer.h"
#include "zc_clock_sim.h"
#include "zc_tp_fault.h"
#include "zc_view.h"

enum { STUCK = 8 }; /* requests; more than the server has threads for calls */

static struct rig rig;
static struct zc_net *net;
static struct zc_client *client;
static struct raw peer; /* whose requests get stuck */

static void up(void)
{
    rig_up(&rig, NULL, NULL);
    net = rig_net(20000);
    client = rig_connect(&rig, net);
    raw_up(&peer, &rig);
    raw_hello(&peer, 60000, ZC_PROTOCOL);
}

static void down(void)
{
    zc_store_fault_release(rig.store);
    zc_tp_close(peer.tp);
    zc_client_disconnect(client);
    zc_net_destroy(net);
    rig_down(&rig);
}

static uint64_t raw_open(const char *path)
{
    struct zc_msg m = {.type = ZC_T_OPEN,
                       .session = peer.last.session,
                       .open_flags = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE,
                       .mode = 0644,
                       .path = {path, (uint32_t)strlen(path)}};

    raw_call(&peer, &m);
    ck_assert_int_eq(peer.last.status, 0);
    return peer.last.handle;
}

/* Sends so many; the store holds `held` of them, and nothing returns yet. */
static void send_stuck(struct zc_msg *m, unsigned n, unsigned held)
{
    m->session = peer.last.session;
    for (unsigned i = 0; i < n; i++) {
        m->tag = 100 + i;
        raw_send(&peer, m);
    }
    WAIT_FOR(zc_store_fault_held(rig.store) == held);
    peer.received = 0;
}

static void come_back(unsigned n)
{
    zc_store_fault_release(rig.store);
    WAIT_FOR((zc_tp_progress(peer.tp, 10), peer.received == n));
}

static void all_come_back(void)
{
    ck_assert_uint_eq(peer.received, 0);
    come_back(STUCK);
}

/* Another file is opened, written, truncated, flushed, closed and removed. */
static void others_go_on(void)
{
    uint64_t h = rig_open(client, "/other");

    ck_assert_int_eq(zc_client_write(client, h, "x", 1, 0), 1);
    ck_assert_int_eq(zc_client_truncate(client, h, 100), 0);
    ck_assert_int_eq(zc_client_flush(client, h, ZC_LEVEL_DURABLE), 0);
    ck_assert_int_eq(zc_client_close(client, h, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_client_unlink(client, "/other"), 0);
}

START_TEST(calls_about_a_file)
{
    struct zc_msg m = {.type = ZC_T_TRUNCATE, .size = 10};

    up();
    m.handle = raw_open("/stuck");
    zc_store_fault_hold_path(rig.store, ZC_FAULT_TRUNCATE, "/stuck");
    send_stuck(&m, STUCK, 1); /* the others wait for it in the cache, or for their turn */
    others_go_on();
    all_come_back();
    down();
}
END_TEST

START_TEST(calls_about_a_path)
{
    struct zc_msg m = {.type = ZC_T_STAT, .path = {"/stuck", 6}};

    up();
    raw_open("/stuck");
    zc_store_fault_hold_path(rig.store, ZC_FAULT_OPEN, "/stuck");
    send_stuck(&m, STUCK, 2);
    others_go_on();
    all_come_back();
    down();
}
END_TEST

/* Many calls, each for another path, are stuck at once, more than there are threads: all of them
 * begin, and all are answered. */
START_TEST(calls_about_many_paths)
{
    struct zc_msg m = {.type = ZC_T_STAT};
    char path[16];

    rig_stuck_ms = 10;
    up();
    zc_store_fault_hold(rig.store, ZC_FAULT_OPEN);
    m.session = peer.last.session;
    for (unsigned i = 0; i < STUCK; i++) {
        m.tag = 100 + i;
        m.path = (struct zc_bytes){path, (uint32_t)snprintf(path, sizeof path, "/%u", i)};
        raw_send(&peer, &m);
    }
    WAIT_FOR(zc_store_fault_held(rig.store) == STUCK);
    peer.received = 0;
    all_come_back();
    down();
}
END_TEST

/* They are decoded by the threads for calls, all of which are stuck; the server's own thread goes
 * on. */
START_TEST(views_are_decoded_beside)
{
    struct zc_msg m = {.type = ZC_T_STAT}, ping = {.type = ZC_T_PING}, install;
    unsigned char encoded[ZC_MAX_INLINE];
    struct zc_view_builder *b;
    struct zc_view_hash hash;
    struct zc_view *v;
    char path[16];

    ck_assert_int_eq(zc_view_builder_create(&b), 0);
    ck_assert_int_eq(zc_view_add(b, 3, 5), 0);
    ck_assert_int_eq(zc_view_add(b, 10, 1), 0);
    ck_assert_int_eq(zc_view_finish(b, 16, &v), 0);
    hash = zc_view_hash(v);
    ck_assert_uint_le(zc_view_encoded(v), sizeof encoded);
    ck_assert_int_eq(zc_view_encode(v, encoded, sizeof encoded), 0);
    rig_stuck_ms = 60000;
    up();
    install = (struct zc_msg){.type = ZC_T_VIEW_INSTALL,
                              .handle = raw_open("/f"),
                              .session = peer.last.session,
                              .tag = 200,
                              .view_low = hash.low,
                              .view_high = hash.high,
                              .size = zc_view_encoded(v),
                              .memory = zc_view_decoding(v),
                              .data = {encoded, (uint32_t)zc_view_encoded(v)}};
    zc_store_fault_hold(rig.store, ZC_FAULT_OPEN);
    m.session = ping.session = peer.last.session;
    for (unsigned i = 0; i < STUCK; i++) {
        m.tag = 100 + i;
        m.path = (struct zc_bytes){path, (uint32_t)snprintf(path, sizeof path, "/%u", i)};
        raw_send(&peer, &m);
    }
    raw_send(&peer, &install);
    peer.received = 0;
    raw_call(&peer, &ping);
    ck_assert_int_eq(peer.last.type, ZC_T_PING | ZC_REPLY);
    ck_assert_uint_eq(peer.received, 1);
    peer.received = 0;
    come_back(STUCK + 1);
    install.tag = 0;
    raw_call(&peer, &install); /* exists already */
    ck_assert_int_eq(peer.last.type, ZC_T_VIEW_INSTALL | ZC_REPLY);
    ck_assert_int_eq(peer.last.status, 0);
    zc_view_put(v);
    down();
}
END_TEST

static void list_write(struct raw *r, uint64_t handle, char *data, const struct zc_mr *mr)
{
    unsigned char list[200];
    struct zc_view_list l;
    struct zc_msg m = {.type = ZC_T_LIST_WRITE,
                       .flags = ZC_F_RMA,
                       .session = r->last.session,
                       .handle = handle,
                       .raddr = mr->raddr,
                       .rkey = mr->rkey,
                       .len = 16};
    size_t n;

    zc_view_list_begin(&l, list, sizeof list);
    ck_assert(zc_view_list_add(&l, 100, 8) && zc_view_list_add(&l, 20000, 8));
    n = zc_view_list_end(&l);
    m.disp = (uint64_t)l.first;
    m.list = (struct zc_bytes){list, (uint32_t)n};
    memset(data, 'x', 16);
    raw_send(r, &m);
}

/* Transfers with an unreachable client do not end at its eviction.  They hold all buffers and
 * places for lists, of which others get new ones. */
START_TEST(what_goes_with_a_client_that_is_gone)
{
    enum { MANY = 20 };
    struct zc_msg bye = {.type = ZC_T_BYE};
    struct zc_mr mine, theirs;
    struct zc_tp *tp;
    struct raw other;
    char data[32];
    uint64_t h;

    rig_transport = zc_tp_fault_open;
    rig_up(&rig, NULL, NULL);
    tp = zc_tp_fault_last();
    rig_transport = zc_tp_loop_open;
    net = rig_net(20000);
    client = rig_connect(&rig, net);
    raw_up(&peer, &rig);
    raw_hello(&peer, 60000, ZC_PROTOCOL);
    h = raw_open("/f");
    ck_assert_int_eq(zc_tp_reg(peer.tp, data, 16, &theirs), 0);
    zc_tp_fault_set(tp, ZC_TP_FAULT_PULL, ZC_TP_FAULT_HANG, 1, UINT64_MAX);
    for (int i = 0; i < MANY; i++)
        list_write(&peer, h, data, &theirs);
    WAIT_FOR(zc_tp_fault_raised(tp) >= 16);
    bye.session = peer.last.session;
    raw_send(&peer, &bye);
    WAIT_FOR(rig_stat(client, "sessions") == 1);
    zc_tp_fault_set(tp, 0, 0, 0, 0);

    raw_up(&other, &rig);
    other.id = 4712;
    raw_hello(&other, 60000, ZC_PROTOCOL);
    ck_assert_int_eq(zc_tp_reg(other.tp, data + 16, 16, &mine), 0);
    h = rig_open(client, "/g");
    ck_assert_int_eq(zc_client_write(client, h, "y", 1, 0), 1);
    {
        struct zc_msg m = {.type = ZC_T_OPEN,
                           .session = other.last.session,
                           .open_flags = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE,
                           .mode = 0644,
                           .path = {"/g", 2}};

        raw_call(&other, &m);
        ck_assert_int_eq(other.last.status, 0);
        list_write(&other, other.last.handle, data + 16, &mine);
        WAIT_FOR((zc_tp_progress(other.tp, 10), other.last.type == (ZC_T_LIST_WRITE | ZC_REPLY)));
        ck_assert_int_eq(other.last.status, 0);
    }
    ck_assert_uint_eq(rig_stat(client, "lists"), MANY + 1);
    zc_tp_dereg(other.tp, &mine);
    zc_tp_dereg(peer.tp, &theirs);
    zc_tp_close(other.tp);
    down();
}
END_TEST

/* A client with its maximum of requests under way can still send PING and BYE. */
START_TEST(pings_are_always_accepted)
{
    enum { MOST = 2 * 16 }; /* twice the credits: what a server accepts */
    struct zc_msg m = {.type = ZC_T_TRUNCATE, .size = 10};
    struct zc_msg ping = {.type = ZC_T_PING}, bye = {.type = ZC_T_BYE};

    up();
    m.handle = raw_open("/stuck");
    zc_store_fault_hold_path(rig.store, ZC_FAULT_TRUNCATE, "/stuck");
    send_stuck(&m, MOST, 1);
    WAIT_FOR(rig_stat(client, "requests_active") == MOST + 1); /* including that of rig_stat() */
    ping.session = bye.session = m.session;
    m.tag = 0; /* a new one */
    raw_call(&peer, &m);
    ck_assert_int_eq(peer.last.status, -EBUSY);
    raw_call(&peer, &ping);
    ck_assert_int_eq(peer.last.type, ZC_T_PING | ZC_REPLY);
    ck_assert_int_eq(peer.last.status, 0);
    raw_call(&peer, &bye);
    ck_assert_int_eq(peer.last.type, ZC_T_BYE | ZC_REPLY);
    ck_assert_int_eq(peer.last.status, 0);
    WAIT_FOR(rig_stat(client, "sessions") == 1);
    down();
}
END_TEST

/* One handle of a vanished client cannot be closed: its others can. */
START_TEST(what_a_client_leaves_behind)
{
    struct zc_msg bye = {.type = ZC_T_BYE};
    char path[16];

    up();
    for (int i = 0; i < STUCK; i++) {
        snprintf(path, sizeof path, "/%d", i);
        raw_open(path);
    }
    ck_assert_uint_eq(rig_stat(client, "handles"), STUCK);
    bye.session = peer.last.session;
    zc_store_fault_hold_path(rig.store, ZC_FAULT_CLOSE, "/0");
    raw_call(&peer, &bye);
    WAIT_FOR(zc_store_fault_held(rig.store) == 1);
    WAIT_FOR(rig_stat(client, "handles") == 0); /* closing the store's file comes last */
    WAIT_FOR(rig_stat(client, "files") == 1);
    others_go_on();
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rpc: stuck");

    zc_log_init(NULL);
    zc_clock = zc_clock_sim();
    CASE(s, "stuck", 60, calls_about_a_file, calls_about_a_path, calls_about_many_paths,
         views_are_decoded_beside, what_goes_with_a_client_that_is_gone, pings_are_always_accepted,
         what_a_client_leaves_behind);
    return run_suite(s);
}
