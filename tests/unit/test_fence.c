/* test_fence.c - after a client has reconnected nothing of its previous session takes effect. */
#include "config.h"

#include <errno.h>

#include "raw_peer.h"
#include "zc_clock_sim.h"
#include "zc_json.h"
#include "zc_tp_fault.h"

enum { SILENCE = 20000, RW = ZC_OPEN_READ | ZC_OPEN_WRITE };

static struct rig rig;
static struct zc_store *mem; /* the file system, which survives the server */

static void up(unsigned silence_ms)
{
    ck_assert_int_eq(zc_store_mem_create(&mem), 0);
    rig_up_silence(&rig, NULL, borrow(mem), silence_ms);
}

/* Ends the server; `want`: what the file has then, or NULL. */
static void down(const char *want)
{
    struct zc_attr attr = {0};
    char is[16] = "";
    struct iovec iov = {is, sizeof is - 1};
    struct zc_sfile *f;

    rig_down(&rig);
    if (want) {
        ck_assert_int_eq(zc_store_open_file(mem, "/f", ZC_OPEN_READ, 0, &f, &attr), 0);
        ck_assert_int_eq(zc_store_preadv(f, &iov, 1, 0), (ssize_t)strlen(want));
        ck_assert_str_eq(is, want);
        zc_store_close_file(f, ZC_LEVEL_VISIBLE);
    }
    zc_store_destroy(mem);
}

static uint64_t open_file(struct raw *p, uint64_t session)
{
    struct zc_msg m = {.type = ZC_T_OPEN,
                       .session = session,
                       .open_flags = RW | ZC_OPEN_CREATE,
                       .mode = 0600,
                       .block_size = 8192,
                       .path = {"/f", 2}};

    raw_call(p, &m);
    ck_assert_msg(p->last.type == (ZC_T_OPEN | ZC_REPLY) && p->last.status == 0, "%s", p->text);
    return p->last.handle;
}

static struct zc_msg writing(uint64_t session, uint64_t handle, uint64_t off, const char *data)
{
    return (struct zc_msg){.type = ZC_T_WRITE,
                           .session = session,
                           .handle = handle,
                           .off = off,
                           .len = strlen(data),
                           .data = {data, (uint32_t)strlen(data)}};
}

static uint64_t clients = 5000;

/* Sends HELLO and AUTH in place of a session; AUTH is not answered yet. */
static void come_back(struct raw *p, uint64_t replaces, uint64_t replaces_client)
{
    unsigned char proof[ZC_PROOF_SIZE];
    struct zc_msg m;

    p->id = ++clients;
    p->replaces = replaces;
    p->replaces_client = replaces_client;
    raw_greet(p, SILENCE, ZC_PROTOCOL);
    m = raw_auth(p, proof);
    m.tag = 99;
    p->received = 0;
    raw_send(p, &m);
}

static uint64_t answered(struct raw *p)
{
    WAIT_FOR((zc_tp_progress(p->tp, 10), p->last.type == (ZC_T_AUTH | ZC_REPLY)));
    ck_assert_msg(p->last.status == 0, "%s", p->text);
    ck_assert(zc_mac_check(&p->keys, p->bytes, p->len));
    return p->last.session;
}

/* A write under way arrives late and is ignored; earlier accepted ones stay. */
START_TEST(late_messages_have_no_effect)
{
    struct raw old, new;
    struct zc_msg m, late;
    uint64_t was, is, h;

    up(0);
    raw_up(&old, &rig);
    raw_up(&new, &rig);
    was = raw_hello(&old, SILENCE, ZC_PROTOCOL);
    h = open_file(&old, was);
    m = writing(was, h, 0, "old old old");
    raw_call(&old, &m);
    come_back(&new, was, 4711);
    is = answered(&new);
    ck_assert_uint_ne(is, was);
    late = m;
    h = open_file(&new, is);
    m = writing(is, h, 4, "new");
    raw_call(&new, &m);
    ck_assert_msg(new.last.status == 0, "%s", new.text);
    raw_send(&old, &late); /* was in flight */
    m = (struct zc_msg){.type = ZC_T_PING, .session = is};
    raw_call(&new, &m);
    zc_tp_close(old.tp);
    zc_tp_close(new.tp);
    down("old new old");
}
END_TEST

/* Requests of the previous session that the server works on complete first. */
START_TEST(requests_under_way_end_first)
{
    struct raw old, new;
    uint64_t was, h;
    struct zc_msg m;

    up(0);
    raw_up(&old, &rig);
    raw_up(&new, &rig);
    was = raw_hello(&old, SILENCE, ZC_PROTOCOL);
    h = open_file(&old, was);
    m = writing(was, h, 0, "old");
    raw_call(&old, &m);
    zc_store_fault_hold(rig.store, ZC_FAULT_TRUNCATE);
    m = (struct zc_msg){.type = ZC_T_TRUNCATE, .session = was, .handle = h, .size = 1};
    raw_send(&old, &m);
    WAIT_FOR(zc_store_fault_held(rig.store) == 1);
    come_back(&new, was, 4711);
    /* the client gets several notices that it takes time, and nothing else */
    WAIT_FOR((zc_tp_progress(new.tp, 10), new.received >= 2));
    ck_assert_int_eq(new.last.type, ZC_T_PENDING);
    ck_assert_uint_eq(new.last.tag, 99);
    ck_assert(zc_mac_check(&new.keys, new.bytes, new.len));
    zc_store_fault_release(rig.store);
    was = answered(&new);
    m = writing(was, open_file(&new, was), 1, "new");
    raw_call(&new, &m);
    ck_assert_msg(new.last.status == 0, "%s", new.text);
    zc_tp_close(old.tp);
    zc_tp_close(new.tp);
    down("onew");
}
END_TEST

/* Its number and keys exist since R-HELLO, but messages before R-AUTH are refused; so is one before
 * AUTH. */
START_TEST(nothing_is_taken_too_early)
{
    unsigned char proof[ZC_PROOF_SIZE];
    struct zc_msg m, auth, ping = {.type = ZC_T_PING};
    struct raw old, new;
    uint64_t was;

    up(0);
    raw_up(&old, &rig);
    raw_up(&new, &rig);
    was = raw_hello(&old, SILENCE, ZC_PROTOCOL);
    m = (struct zc_msg){
        .type = ZC_T_TRUNCATE, .session = was, .handle = open_file(&old, was), .size = 1};
    new.id = ++clients;
    new.replaces = was;
    new.replaces_client = 4711;
    raw_greet(&new, SILENCE, ZC_PROTOCOL);
    auth = raw_auth(&new, proof);
    ping.session = was;
    raw_call(&old, &ping); /* it is alive */
    ck_assert_int_eq(old.last.type, ZC_T_PING | ZC_REPLY);
    zc_store_fault_hold(rig.store, ZC_FAULT_TRUNCATE);
    raw_send(&old, &m);
    WAIT_FOR(zc_store_fault_held(rig.store) == 1);
    raw_send(&new, &auth);
    ping.session = auth.session;
    raw_send(&new, &ping);
    new.received = 0;
    WAIT_FOR((zc_tp_progress(new.tp, 10), new.received >= 2));
    ck_assert_int_eq(new.last.type, ZC_T_PENDING);
    zc_store_fault_release(rig.store);
    answered(&new);
    raw_call(&new, &ping);
    ck_assert_int_eq(new.last.type, ZC_T_PING | ZC_REPLY);
    zc_tp_close(old.tp);
    zc_tp_close(new.tp);
    down(NULL);
}
END_TEST

/* A server that cannot end the previous session returns an error in the end. */
START_TEST(a_session_that_does_not_end)
{
    struct raw old, new;
    struct zc_msg m;
    uint64_t was;

    up(700);
    raw_up(&old, &rig);
    raw_up(&new, &rig);
    was = raw_hello(&old, SILENCE, ZC_PROTOCOL);
    m = (struct zc_msg){
        .type = ZC_T_TRUNCATE, .session = was, .handle = open_file(&old, was), .size = 1};
    zc_store_fault_hold(rig.store, ZC_FAULT_TRUNCATE);
    raw_send(&old, &m);
    WAIT_FOR(zc_store_fault_held(rig.store) == 1);
    come_back(&new, was, 4711);
    WAIT_FOR((zc_tp_progress(new.tp, 10), new.last.type == (ZC_T_AUTH | ZC_REPLY)));
    ck_assert_int_eq(new.last.status, -EBUSY);
    zc_store_fault_release(rig.store);
    come_back(&new, was, 4711); /* as soon as that has ended */
    new.last.type = 0;
    WAIT_FOR((zc_tp_progress(new.tp, 10), new.last.type == (ZC_T_AUTH | ZC_REPLY)));
    zc_tp_close(old.tp);
    zc_tp_close(new.tp);
    down(NULL);
}
END_TEST

/* A transfer that never ends is cancelled, and writes nothing to the file. */
START_TEST(transfers_are_cut_off)
{
    static char memory[32 << 10];
    struct zc_tp *server;
    struct raw old, new;
    struct zc_mr mr;
    struct zc_msg m;
    uint64_t was, h;

    rig_transport = zc_tp_fault_open;
    up(0);
    server = zc_tp_fault_last();
    raw_up(&old, &rig);
    raw_up(&new, &rig);
    was = raw_hello(&old, SILENCE, ZC_PROTOCOL);
    h = open_file(&old, was);
    memset(memory, 'o', sizeof memory);
    ck_assert_int_eq(zc_tp_reg(old.tp, memory, sizeof memory, &mr), 0);
    zc_tp_fault_set(server, ZC_TP_FAULT_PULL, ZC_TP_FAULT_DROP, 1, 100);
    m = (struct zc_msg){.type = ZC_T_WRITE,
                        .flags = ZC_F_RMA,
                        .session = was,
                        .handle = h,
                        .len = sizeof memory,
                        .raddr = mr.raddr,
                        .rkey = mr.rkey};
    raw_send(&old, &m);
    WAIT_FOR(zc_tp_fault_raised(server) > 0);
    come_back(&new, was, 4711);
    was = answered(&new); /* until then each of its pages is lost, not the first alone */
    zc_tp_fault_set(server, 0, ZC_TP_FAULT_DROP, 1, 0);
    m = writing(was, open_file(&new, was), 0, "new");
    raw_call(&new, &m);
    ck_assert_msg(new.last.status == 0, "%s", new.text);
    zc_tp_dereg(old.tp, &mr);
    zc_tp_close(old.tp);
    zc_tp_close(new.tp);
    down("new");
}
END_TEST

/* Sends HELLO and AUTH of an earlier attempt again, by the same client. */
static void come_again(struct raw *p, uint64_t replaces, uint64_t replaces_client)
{
    clients--;
    come_back(p, replaces, replaces_client);
}

static void has_sessions(struct raw *p, uint64_t session, uint64_t count)
{
    struct zc_msg m = {.type = ZC_T_INFO, .session = session, .what = ZC_INFO_STATS};
    uint64_t is;
    char *text;

    do { /* dead ones are dropped by the tick */
        raw_call(p, &m);
        text = strndup((const char *)p->last.data.p, p->last.data.n);
        ck_assert_ptr_nonnull(text);
        is = zc_json_to_number(zc_json_find(zc_json_find(text, "stats"), "sessions"));
        free(text);
    } while (is != count);
}

/* Two attempts replace the same session, the first of them given up: one session results. */
START_TEST(an_attempt_that_was_given_up)
{
    struct raw old, first, second;
    struct zc_msg m;
    uint64_t was, is;

    up(0);
    raw_up(&old, &rig);
    raw_up(&first, &rig);
    raw_up(&second, &rig);
    was = raw_hello(&old, SILENCE, ZC_PROTOCOL);
    m = (struct zc_msg){
        .type = ZC_T_TRUNCATE, .session = was, .handle = open_file(&old, was), .size = 1};
    zc_store_fault_hold(rig.store, ZC_FAULT_TRUNCATE);
    raw_send(&old, &m);
    WAIT_FOR(zc_store_fault_held(rig.store) == 1);
    come_back(&first, was, 4711);
    WAIT_FOR((zc_tp_progress(first.tp, 10), first.last.type == ZC_T_PENDING));
    come_again(&second, was, 4711);
    WAIT_FOR((zc_tp_progress(second.tp, 10), second.last.type == ZC_T_PENDING));
    zc_store_fault_release(rig.store);
    is = answered(&second);
    has_sessions(&second, is, 1);
    while (zc_tp_progress(first.tp, 0) > 0)
        ;
    ck_assert_int_eq(first.last.type, ZC_T_PENDING);
    zc_tp_close(old.tp);
    zc_tp_close(first.tp);
    zc_tp_close(second.tp);
    down(NULL);
}
END_TEST

/* AUTH of the first attempt arrives when the second one has its session already. */
START_TEST(an_attempt_that_comes_late)
{
    unsigned char proof[ZC_PROOF_SIZE];
    struct raw first, second;
    struct zc_msg late, ping = {.type = ZC_T_PING};
    unsigned before;

    up(0);
    raw_up(&first, &rig);
    raw_up(&second, &rig);
    first.id = ++clients;
    raw_greet(&first, SILENCE, ZC_PROTOCOL);
    late = raw_auth(&first, proof);
    come_again(&second, 0, 0);
    ping.session = answered(&second);
    before = first.received;
    raw_send(&first, &late);
    has_sessions(&second, ping.session, 1);
    raw_call(&second, &ping);
    ck_assert_int_eq(second.last.type, ZC_T_PING | ZC_REPLY);
    while (zc_tp_progress(first.tp, 0) > 0)
        ;
    ck_assert_uint_eq(first.received, before);
    zc_tp_close(first.tp);
    zc_tp_close(second.tp);
    down(NULL);
}
END_TEST

/* Three connects of one client leave one session: each replaces the one before, because all carry
 * the same client id. */
START_TEST(attempts_of_a_client)
{
    struct zc_client *c[3];
    struct zc_net *net;
    struct zc_past past;

    up(0);
    net = rig_net(10000);
    c[0] = rig_connect(&rig, net);
    past = zc_client_past(c[0]);
    for (int i = 1; i < 3; i++)
        ck_assert_int_eq(zc_client_connect_again(net, rig.addr, rig.addr_len, &rig_secret,
                                                 "the server", &past, 2000, &c[i]),
                         0);
    WAIT_FOR(rig_stat(c[2], "sessions") == 1);
    for (int i = 0; i < 3; i++)
        zc_client_disconnect(c[i]);
    zc_net_destroy(net);
    down(NULL);
}
END_TEST

/* A session is not replaced without its client_id, nor by a session number of none. */
START_TEST(no_other_session_is_replaced)
{
    struct raw old, new;
    uint64_t was;
    struct zc_msg m;

    up(0);
    raw_up(&old, &rig);
    raw_up(&new, &rig);
    was = raw_hello(&old, SILENCE, ZC_PROTOCOL);
    come_back(&new, was, 4713);
    answered(&new);
    m = (struct zc_msg){.type = ZC_T_PING, .session = was};
    raw_call(&old, &m);
    ck_assert_int_eq(old.last.type, ZC_T_PING | ZC_REPLY);
    new.last.type = 0;
    come_back(&new, 12345, 4711);
    answered(&new);
    raw_call(&old, &m);
    ck_assert_int_eq(old.last.type, ZC_T_PING | ZC_REPLY);
    zc_tp_close(old.tp);
    zc_tp_close(new.tp);
    down(NULL);
}
END_TEST

/* An evicted client is notified, and again when it sends anything. */
START_TEST(an_evicted_client_is_notified)
{
    struct zc_msg m = {.type = ZC_T_PING};
    struct raw p;

    up(300);
    raw_up(&p, &rig);
    m.session = raw_hello(&p, SILENCE, ZC_PROTOCOL);
    for (int i = 0; i < 2; i++) {
        p.last.type = 0;
        WAIT_FOR((zc_tp_progress(p.tp, 10), p.last.type == ZC_T_EVICTED));
        ck_assert_uint_eq(p.last.session, m.session);
        ck_assert(zc_mac_check(&p.keys, p.bytes, p.len));
        ck_assert_int_eq(p.last.status, -ECONNRESET);
        ck_assert_msg(strstr(p.text, "nothing was heard") != NULL, "%s", p.text);
        zc_clock_sleep(150 * ZC_NS_PER_MS); /* it is notified at intervals only */
        raw_send(&p, &m);
    }
    zc_tp_close(p.tp);
    down(NULL);
}
END_TEST

/* The client's side: its calls fail at once, with the reason. */
START_TEST(an_evicted_client_gets_the_reason)
{
    struct zc_net *net;
    struct zc_client *c;
    struct zc_tp *tp;
    int rc;

    rig_transport = zc_tp_fault_open;
    up(400);
    net = rig_net(60000);
    tp = zc_tp_fault_last();
    c = rig_connect(&rig, net);
    zc_tp_fault_set(tp, ZC_TP_FAULT_SEND, ZC_TP_FAULT_DROP, 1, 1000000);
    WAIT_FOR(zc_client_broken(c));
    rc = zc_client_ping(c);
    ck_assert_int_eq(rc, -ECONNRESET);
    ck_assert_msg(strstr(zc_error_text(rc), "nothing was heard of it") != NULL, "%s",
                  zc_error_text(rc));
    zc_client_disconnect(c);
    zc_net_destroy(net);
    down(NULL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fence");

    zc_log_init(NULL);
    zc_clock = zc_clock_sim();
    CASE(s, "fence", 30, late_messages_have_no_effect, requests_under_way_end_first,
         nothing_is_taken_too_early, a_session_that_does_not_end, transfers_are_cut_off,
         no_other_session_is_replaced);
    CASE(s, "attempts", 30, an_attempt_that_was_given_up, an_attempt_that_comes_late,
         attempts_of_a_client);
    CASE(s, "dropped", 30, an_evicted_client_is_notified, an_evicted_client_gets_the_reason);
    return run_suite(s);
}
