/* test_rpc_stuck.c - requests that are stuck in the store keep nobody else's waiting. */
#include "config.h"

#include <errno.h>

#include "raw_peer.h"
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

/* So many; those the store holds are `held`, and nothing comes back yet. */
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
    send_stuck(&m, STUCK, 1); /* the others wait for it in the cache, or their turn */
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

/* Each path of its own: more than there are threads. */
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

/* They are decoded by the threads for calls, all of which are stuck; the server's own goes on. */
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
    raw_call(&peer, &install); /* which is there */
    ck_assert_int_eq(peer.last.type, ZC_T_VIEW_INSTALL | ZC_REPLY);
    ck_assert_int_eq(peer.last.status, 0);
    zc_view_put(v);
    down();
}
END_TEST

/* A client with all requests it may have under way can say that it lives, and that it goes. */
START_TEST(signs_of_life_are_always_taken)
{
    enum { MOST = 2 * 16 }; /* twice the credits: what a server takes */
    struct zc_msg m = {.type = ZC_T_TRUNCATE, .size = 10};
    struct zc_msg ping = {.type = ZC_T_PING}, bye = {.type = ZC_T_BYE};

    up();
    m.handle = raw_open("/stuck");
    zc_store_fault_hold_path(rig.store, ZC_FAULT_TRUNCATE, "/stuck");
    send_stuck(&m, MOST, 1);
    WAIT_FOR(rig_stat(client, "requests_active") == MOST + 1); /* with the one that asks */
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

/* One handle of a client that is gone cannot be closed: its others can. */
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
    CASE(s, "stuck", 60, calls_about_a_file, calls_about_a_path, calls_about_many_paths,
         views_are_decoded_beside, signs_of_life_are_always_taken, what_a_client_leaves_behind);
    return run_suite(s);
}
