/* test_auth.c - a peer without the secret achieves nothing, and disturbs no other session.
 *
 * Raw peers are attackers: they send messages that they have recorded, changed, or invented.  The
 * owner's client continues throughout.  Messages reach the server in order, so everything sent
 * before has been handled when the owner's PING is answered.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>

#include "iod_poly1305.h"
#include "raw_peer.h"
#include "rig.h"
#include "zc_clock_sim.h"
#include "traces.h"
#include "zc_munge.h"
#include "zc_net_internal.h"
#include "zc_secretbox.h"
#include "zc_tp_local.h"

static struct rig rig;
static struct zc_net *net;
static struct zc_client *owner;
static uint64_t file;
static struct raw raw;

static void up(void)
{
    rig_up(&rig, NULL, NULL);
    net = rig_net(60000);
    owner = rig_connect(&rig, net);
    file = rig_open(owner, "/owners");
    ck_assert_int_eq(zc_client_write(owner, file, "mine", 4, 0), 4);
    raw_up(&raw, &rig);
}

static void down(void)
{
    char buf[5] = "";

    ck_assert_int_eq(zc_client_read(owner, file, buf, 4, 0), 4);
    ck_assert_str_eq(buf, "mine");
    ck_assert_uint_eq(zc_net_refused(net), 0);
    zc_tp_close(raw.tp);
    zc_client_disconnect(owner);
    zc_net_destroy(net);
    rig_down(&rig);
}

/* Waits until the server has handled everything sent before, and its replies are here. */
static void settle(struct raw *r)
{
    ck_assert_int_eq(zc_client_ping(owner), 0);
    while (zc_tp_progress(r->tp, 0) > 0)
        ;
}

/* ---- afterwards ---- */

/* Neither freed memory nor stacks contain secrets and keys after their users are gone. */
START_TEST(nothing_is_left_of_secrets_and_keys)
{
    struct trace secret, key, said;

    if (!TRACES_CAN_BE_SEEN) {
        puts("skipped: what is left of secrets, which a sanitizer's memory is too large for");
        return;
    }
    ck_assert_int_eq(zc_secret_make(&rig_secret), 0);
    secret = trace_of(rig_secret.bytes);
    up();
    key = trace_of(owner->keys.ours.rest);
    said = trace_of(owner->handshake.said);
    ck_assert_uint_ge(traces(&secret), 3); /* ours, the server's, the client's */
    ck_assert_uint_ge(traces(&key), 2);
    ck_assert_uint_ge(traces(&said), 1);
    down();
    zc_secret_forget(&rig_secret);
    ck_assert_uint_eq(traces(&secret), 0);
    ck_assert_uint_eq(traces(&key), 0);
    ck_assert_uint_eq(traces(&said), 0);
    ck_assert_int_eq(zc_secret_make(&rig_secret), 0);
}
END_TEST

/* ---- the handshake ---- */

START_TEST(a_wrong_secret)
{
    struct zc_secret wrong = rig_secret;
    struct zc_client *c;

    up();
    wrong.bytes[31] ^= 1;
    ck_assert_int_eq(zc_client_connect(net, rig.addr, rig.addr_len, &wrong, "it", &c), -ESTALE);
    ck_assert_msg(strstr(zc_error_text(ESTALE), "secret") != NULL, "%s", zc_error_text(ESTALE));
    ck_assert_uint_eq(rig_stat(owner, "sessions"), 1);
    ck_assert_uint_eq(rig_stat(owner, "sessions_opened"), 1);
    down();
}
END_TEST

/* A session without a proof accepts no message, and a wrong proof is none. */
START_TEST(no_secret)
{
    unsigned char proof[ZC_PROOF_SIZE], wrong[ZC_PROOF_SIZE];
    struct zc_msg auth, ping = {.type = ZC_T_PING};

    up();
    raw_greet(&raw, 60000, ZC_PROTOCOL);
    auth = raw_auth(&raw, proof);
    ping.session = auth.session;
    raw_send(&raw, &ping);
    memcpy(wrong, proof, sizeof wrong);
    wrong[7] ^= 0x10;
    auth.proof.p = wrong;
    raw_send(&raw, &auth);
    auth.proof.n = 31;
    raw_send(&raw, &auth);
    auth.proof.n = 0;
    raw_send(&raw, &auth);
    settle(&raw);
    ck_assert_uint_eq(raw.received, 1); /* R-HELLO */
    ck_assert_uint_eq(rig_stat(owner, "handshakes_refused"), 3);
    ck_assert_uint_eq(rig_stat(owner, "malformed"), 1);
    ck_assert_uint_eq(rig_stat(owner, "handshakes"), 1);
    ck_assert_uint_eq(rig_stat(owner, "sessions"), 1);
    auth.proof = (struct zc_bytes){proof, sizeof proof}; /* the honest peer is not locked out */
    raw_call(&raw, &auth);
    ck_assert_int_eq(raw.last.status, 0);
    ck_assert_uint_eq(rig_stat(owner, "handshakes"), 0);
    ck_assert_uint_eq(rig_stat(owner, "sessions"), 2);
    raw_call(&raw, &ping);
    ck_assert_int_eq(raw.last.status, 0);
    down();
}
END_TEST

static size_t hello_bytes(struct raw *r, unsigned char *buf)
{
    static const unsigned char nonce[ZC_NONCE_SIZE] = {1, 2, 3};
    unsigned char addr[64];
    size_t len = sizeof addr;
    struct zc_msg m = {.type = ZC_T_HELLO,
                       .magic = ZC_MAGIC,
                       .version_min = ZC_PROTOCOL,
                       .version_max = ZC_PROTOCOL,
                       .client_id = 99,
                       .silence_ms = 60000,
                       .name = {"raw", 3},
                       .method = ZC_METHOD_SECRET,
                       .nonce = {nonce, sizeof nonce}};

    zc_tp_address(r->tp, addr, &len);
    m.address = (struct zc_bytes){addr, (uint32_t)len};
    return raw_encode(r, &m, buf);
}

/* A peer sends a recorded handshake again. */
START_TEST(a_replayed_handshake)
{
    unsigned char hello[ZC_MAX_MESSAGE], auth[ZC_MAX_MESSAGE], proof[ZC_PROOF_SIZE];
    struct zc_msg m;
    size_t nh, na;

    up();
    nh = hello_bytes(&raw, hello);
    raw_bytes(&raw, hello, nh);
    WAIT_FOR((zc_tp_progress(raw.tp, 10), raw.received == 1));
    m = raw_auth(&raw, proof);
    na = raw_encode(&raw, &m, auth);
    raw_bytes(&raw, auth, na);
    WAIT_FOR((zc_tp_progress(raw.tp, 10), raw.received == 2));
    ck_assert_int_eq(raw.last.status, 0);
    ck_assert_uint_eq(rig_stat(owner, "sessions"), 2);

    raw_bytes(&raw, auth, na); /* that session has begun */
    raw_bytes(&raw, hello, nh);
    WAIT_FOR((zc_tp_progress(raw.tp, 10), raw.received == 3)); /* another nonce, another number */
    ck_assert_uint_ne(raw.last.session, m.session);
    raw_bytes(&raw, auth, na);
    memcpy(auth + 16, raw.bytes + 16, 8); /* the old proof for the new number */
    raw_bytes(&raw, auth, na);
    settle(&raw);
    ck_assert_uint_eq(rig_stat(owner, "handshakes_refused"), 3);
    ck_assert_uint_eq(rig_stat(owner, "sessions"), 2); /* the first one goes on */
    ck_assert_uint_eq(rig_stat(owner, "sessions_opened"), 2);
    m = (struct zc_msg){.type = ZC_T_PING, .session = m.session};
    raw_call(&raw, &m);
    ck_assert_int_eq(raw.last.status, 0);
    down();
}
END_TEST

/* Whichever byte is changed on its way to the server, the client sees it in the reply. */
START_TEST(an_altered_hello)
{
    unsigned char hello[ZC_MAX_MESSAGE], altered[ZC_MAX_MESSAGE];
    unsigned answered = 0;
    size_t n;

    up();
    n = hello_bytes(&raw, hello);
    for (size_t i = 0; i < n; i++) {
        unsigned before = raw.received;
        struct zc_handshake said = raw.shake;

        memcpy(altered, hello, n);
        altered[i] ^= 1;
        raw_bytes(&raw, altered, n);
        settle(&raw);
        if (raw.received == before || raw.last.status)
            continue;
        answered++;
        ck_assert_msg(!zc_handshake_check_answer(&said, raw.bytes, raw.len), "byte %zu", i);
    }
    ck_assert_uint_gt(answered, 40); /* the nonce, at least */
    ck_assert_uint_eq(rig_stat(owner, "sessions_opened"), 1);
    down();
}
END_TEST

START_TEST(an_altered_answer)
{
    unsigned char hello[ZC_MAX_MESSAGE];
    struct zc_handshake said;
    size_t n;

    up();
    n = hello_bytes(&raw, hello);
    raw_bytes(&raw, hello, n);
    WAIT_FOR((zc_tp_progress(raw.tp, 10), raw.received == 1));
    for (size_t i = 0; i < raw.len; i++)
        for (unsigned bit = 1; bit < 256; bit <<= 1) {
            said = raw.shake;
            raw.bytes[i] ^= (unsigned char)bit;
            ck_assert_msg(!zc_handshake_check_answer(&said, raw.bytes, raw.len), "byte %zu", i);
            ck_assert_mem_eq(&said, &raw.shake, sizeof said);
            raw.bytes[i] ^= (unsigned char)bit;
        }
    said = raw.shake;
    ck_assert(!zc_handshake_check_answer(&said, raw.bytes, raw.len - 1));
    ck_assert(!zc_handshake_check_answer(&said, raw.bytes, 10));
    ck_assert(zc_handshake_check_answer(&said, raw.bytes, raw.len));
    down();
}
END_TEST

START_TEST(an_altered_auth)
{
    unsigned char auth[ZC_MAX_MESSAGE], altered[ZC_MAX_MESSAGE], proof[ZC_PROOF_SIZE];
    uint64_t thrown_away;
    unsigned tried = 0;
    struct zc_msg m;
    size_t n;

    up();
    raw_greet(&raw, 60000, ZC_PROTOCOL);
    m = raw_auth(&raw, proof);
    n = raw_encode(&raw, &m, auth);
    for (size_t i = 0; i < n; i++) {
        if (i >= 5 && i < 16) /* version, flags and tag are not covered by the proof */
            continue;
        memcpy(altered, auth, n);
        altered[i] ^= 1;
        raw_bytes(&raw, altered, n);
        tried++;
    }
    settle(&raw);
    thrown_away = rig_stat(owner, "handshakes_refused") + rig_stat(owner, "malformed");
    ck_assert_uint_eq(thrown_away, tried);
    ck_assert_uint_eq(raw.received, 1);
    ck_assert_uint_eq(rig_stat(owner, "sessions"), 1);
    raw_bytes(&raw, auth, n);
    WAIT_FOR((zc_tp_progress(raw.tp, 10), raw.received == 2));
    ck_assert_int_eq(raw.last.status, 0);
    down();
}
END_TEST

/* Unfinished handshakes are dropped, and their number is limited. */
START_TEST(half_a_handshake)
{
    unsigned char hello[ZC_MAX_MESSAGE];
    uint64_t opened;
    size_t n;

    up();
    raw_greet(&raw, 200, ZC_PROTOCOL);
    ck_assert_uint_eq(rig_stat(owner, "handshakes"), 1);
    WAIT_FOR(rig_stat(owner, "handshakes") == 0);
    ck_assert_uint_eq(rig_stat(owner, "handshakes_lapsed"), 1);

    n = hello_bytes(&raw, hello);
    for (int i = 0; i < 4096 + 300; i++) {
        raw_bytes(&raw, hello, n);
        if (i % 64 == 0)
            settle(&raw);
    }
    settle(&raw);
    WAIT_FOR(rig_stat(owner, "handshakes") <= 4096);
    ck_assert_uint_ge(rig_stat(owner, "handshakes_lapsed"), 300);
    opened = raw_hello(&raw, 60000, ZC_PROTOCOL); /* there is room for an honest peer */
    ck_assert_uint_ne(opened, 0);
    down();
}
END_TEST

/* ---- a session ---- */

static struct zc_msg write_to(uint64_t session, uint64_t handle, const char *text)
{
    return (struct zc_msg){.type = ZC_T_WRITE,
                           .session = session,
                           .handle = handle,
                           .len = strlen(text),
                           .data = {text, (uint32_t)strlen(text)}};
}

static uint64_t raw_open(struct raw *r, uint64_t session, const char *path)
{
    struct zc_msg m = {.type = ZC_T_OPEN,
                       .session = session,
                       .open_flags = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE,
                       .mode = 0600,
                       .path = {path, (uint32_t)strlen(path)}};

    raw_call(r, &m);
    ck_assert_int_eq(r->last.status, 0);
    return r->last.handle;
}

static uint64_t not_taken(void)
{
    return rig_stat(owner, "forged") + rig_stat(owner, "malformed");
}

START_TEST(an_altered_request)
{
    unsigned char buf[ZC_MAX_MESSAGE], altered[ZC_MAX_MESSAGE], out[8] = "";
    uint64_t session, handle, h, before;
    unsigned received;
    struct zc_msg m;
    size_t n;

    up();
    session = raw_hello(&raw, 60000, ZC_PROTOCOL);
    handle = raw_open(&raw, session, "/f");
    received = raw.received;
    m = write_to(session, handle, "written");
    n = raw_encode(&raw, &m, buf);
    before = not_taken();
    for (size_t i = 0; i < n; i++) {
        memcpy(altered, buf, n);
        altered[i] ^= 0x20;
        raw_bytes(&raw, altered, n);
    }
    settle(&raw);
    ck_assert_uint_eq(not_taken() - before, n);
    ck_assert_uint_ge(rig_stat(owner, "forged"), n - 4 - 8); /* except size and session */
    ck_assert_uint_eq(raw.received, received);
    h = rig_open(owner, "/f");
    ck_assert_int_eq(zc_client_read(owner, h, out, sizeof out, 0), 0);
    raw_bytes(&raw, buf, n); /* unchanged */
    WAIT_FOR((zc_tp_progress(raw.tp, 10), raw.received == received + 1));
    ck_assert_int_eq(raw.last.status, 0);
    ck_assert_int_eq(zc_client_read(owner, h, out, sizeof out, 0), 7);
    ck_assert_str_eq((char *)out, "written");
    down();
}
END_TEST

START_TEST(a_request_comes_once)
{
    unsigned char buf[ZC_MAX_MESSAGE];
    struct zc_msg m = {.type = ZC_T_PING};
    unsigned received;
    size_t n;

    up();
    m.session = raw_hello(&raw, 60000, ZC_PROTOCOL);
    received = raw.received;
    n = raw_encode(&raw, &m, buf);
    for (int i = 0; i < 3; i++)
        raw_bytes(&raw, buf, n);
    settle(&raw);
    ck_assert_uint_eq(raw.received, received + 1);
    ck_assert_uint_eq(rig_stat(owner, "replayed"), 2);

    m.tag = zc_tag(7, 1000); /* other slots have counts of their own, in any order */
    raw_call(&raw, &m);
    m.tag = zc_tag(8, 999);
    raw_call(&raw, &m);
    m.tag = zc_tag(7, 1001);
    raw_call(&raw, &m);
    ck_assert_uint_eq(rig_stat(owner, "replayed"), 2);
    received = raw.received;
    m.tag = zc_tag(7, 1000);
    raw_send(&raw, &m);
    m.tag = zc_tag(8, 1);
    raw_send(&raw, &m);
    m.tag = zc_tag(ZC_SESSION_SLOTS, 1);
    raw_send(&raw, &m);
    m.tag = UINT64_MAX;
    raw_send(&raw, &m);
    settle(&raw);
    ck_assert_uint_eq(raw.received, received);
    ck_assert_uint_eq(rig_stat(owner, "replayed"), 6);
    down();
}
END_TEST

/* The number of a session does not grant access to it: neither without a session nor with another
 * one. */
START_TEST(a_hijacked_session)
{
    struct zc_msg m, bye = {.type = ZC_T_BYE},
                     stop = {.type = ZC_T_CONTROL, .what = ZC_CONTROL_STOP};
    uint64_t theirs, mine;
    unsigned received;

    up();
    theirs = bye.session = stop.session = owner->session;
    m = write_to(theirs, file, "HACK");
    m.tag = bye.tag = stop.tag = zc_tag(60, UINT64_MAX);
    raw_send(&raw, &m); /* the keys are zeros */
    raw_send(&raw, &bye);
    mine = raw_hello(&raw, 60000, ZC_PROTOCOL);
    ck_assert(mine - theirs > 1000 && theirs - mine > 1000);
    received = raw.received;
    raw_send(&raw, &m);
    raw_send(&raw, &bye);
    raw_send(&raw, &stop);
    settle(&raw);
    ck_assert_uint_eq(raw.received, received);
    ck_assert_uint_eq(rig_stat(owner, "forged"), 5);
    ck_assert_uint_eq(rig_stat(owner, "sessions"), 2);
    down();
}
END_TEST

/* The server's own messages, reflected, are refused. */
START_TEST(a_reflected_reply)
{
    struct zc_msg m = {.type = ZC_T_PING};
    unsigned char request[ZC_MAX_MESSAGE];
    size_t n;

    up();
    m.session = raw_hello(&raw, 60000, ZC_PROTOCOL);
    raw_call(&raw, &m);
    raw_bytes(&raw, raw.bytes, raw.len);
    settle(&raw);
    ck_assert_uint_eq(rig_stat(owner, "forged"), 1);
    n = raw_encode(&raw, &m, request); /* nor in the form of a request, with the server's MAC */
    zc_mac_put(&(struct zc_keys){.brief = false}, request, n);
    raw_bytes(&raw, request, n);
    settle(&raw);
    ck_assert_uint_eq(rig_stat(owner, "forged"), 2);
    down();
}
END_TEST

/* No key, however guessed, gives access to the server's memory. */
static int moved;

static void was_moved(struct zc_op *op, int status)
{
    (void)op;
    moved = status ? status : 1;
}

START_TEST(the_servers_memory)
{
    char here[64];
    struct zc_op op = {.done = was_moved, .local = here, .len = sizeof here};
    struct zc_mr mine;
    size_t len;
    void *base;

    up();
    zc_cache_arena(rig.cache, &base, &len);
    ck_assert_int_eq(zc_tp_reg(raw.tp, here, sizeof here, &mine), 0);
    op.desc = mine.desc;
    ck_assert_uint_gt(mine.rkey, 0);
    for (uint64_t key = mine.rkey > 200 ? mine.rkey - 200 : 0; key < mine.rkey; key++) {
        op.raddr = (uintptr_t)base;
        op.rkey = key;
        moved = 0;
        if (zc_tp_rma(raw.tp, raw.peer, ZC_RMA_PULL, &op))
            continue;
        WAIT_FOR((zc_tp_progress(raw.tp, 10), moved != 0));
        ck_assert_msg(moved < 0, "key %llu opens it", (unsigned long long)key);
    }
    zc_tp_dereg(raw.tp, &mine);
    down();
}
END_TEST

/* ---- memory of a client ---- */

/* A server that moves data once more: with the key of the previous transfer, just before the next
 * one, to and from the memory that it was granted for. */
static int (*opened_by)(const struct zc_tp_config *cfg, struct zc_tp **out);
static struct zc_tp_ops again;
static const struct zc_tp_ops *once;
static struct zc_op stale;
static unsigned char stale_bytes[64];
static struct zc_mr stale_mr;
static uint64_t old_addr, old_key, now_addr, now_key;
static atomic_int stale_tries, stale_ends, stale_moves;

static void stale_done(struct zc_op *op, int status)
{
    (void)op;
    atomic_fetch_add(&stale_ends, 1);
    atomic_fetch_add(&stale_moves, status == 0);
}

static int rma_again(struct zc_tp *tp, zc_peer peer, enum zc_rma_dir dir, struct zc_op *op)
{
    if (old_key && op->rkey == now_key && atomic_load(&stale_tries) == atomic_load(&stale_ends)) {
        stale = (struct zc_op){.done = stale_done,
                               .local = stale_bytes,
                               .len = sizeof stale_bytes,
                               .desc = stale_mr.desc,
                               .raddr = old_addr,
                               .rkey = old_key};
        atomic_fetch_add(&stale_tries, 1);
        if (once->rma(tp, peer, dir, &stale))
            atomic_fetch_add(&stale_ends, 1);
    }
    if (op->rkey != now_key) {
        old_addr = now_addr;
        old_key = now_key;
        now_addr = op->raddr;
        now_key = op->rkey;
    }
    return once->rma(tp, peer, dir, op);
}

static void close_again(struct zc_tp *tp)
{
    once->dereg(tp, &stale_mr);
    once->close(tp);
}

static int open_again(const struct zc_tp_config *cfg, struct zc_tp **out)
{
    int rc = opened_by(cfg, out);

    if (rc)
        return rc;
    once = (*out)->ops;
    again = *once;
    again.rma = rma_again;
    again.close = close_again;
    (*out)->ops = &again;
    return once->reg(*out, stale_bytes, sizeof stale_bytes, &stale_mr);
}

static void keys_of_transfers(int (*open)(const struct zc_tp_config *, struct zc_tp **))
{
    enum { LONG = 128 << 10, TIMES = 8 };
    static unsigned char mine[TIMES][LONG];
    struct rig r;
    struct zc_net *n;
    struct zc_client *c;
    uint64_t h;

    atomic_store(&stale_tries, 0);
    atomic_store(&stale_ends, 0);
    atomic_store(&stale_moves, 0);
    old_key = now_key = 0;
    memset(stale_bytes, 'x', sizeof stale_bytes);
    opened_by = open;
    rig_transport = open_again;
    rig_up(&r, NULL, NULL);
    rig_transport = open;
    n = rig_net(60000);
    c = rig_connect(&r, n);
    h = rig_open(c, "/mine");
    for (int i = 0; i < TIMES; i++) {
        bool read = i >= TIMES / 2;

        fill(mine[i], LONG, 0, read ? 7 : 1);
        ck_assert_int_eq(read ? zc_client_read(c, h, mine[i], LONG, 0)
                              : zc_client_write(c, h, mine[i], LONG, 0),
                         LONG);
    }
    for (int i = 0; i < TIMES; i++)
        expect(mine[i], LONG, 0, 1);
    WAIT_FOR(atomic_load(&stale_tries) == atomic_load(&stale_ends));
    printf("%d transfers with a key that had been used: %d moved anything\n",
           atomic_load(&stale_tries), atomic_load(&stale_moves));
    ck_assert_int_gt(atomic_load(&stale_tries), 0);
    ck_assert_int_eq(atomic_load(&stale_moves), 0);
    zc_client_disconnect(c);
    zc_net_destroy(n);
    rig_down(&r);
    rig_transport = zc_tp_loop_open;
}

START_TEST(a_key_is_of_one_transfer)
{
    keys_of_transfers(zc_tp_loop_open);
    keys_of_transfers(zc_tp_local_open);
}
END_TEST

/* ---- MACs by themselves ---- */

/* The keys of both sides of the session whose transcript begins with `first`. */
static void keys_of(unsigned char first, bool local, struct zc_keys *client, struct zc_keys *server)
{
    struct zc_handshake shake = {{first}};

    zc_handshake_keys(&shake, false, local, client);
    zc_handshake_keys(&shake, true, local, server);
}

/* On a local channel a MAC covers the beginning, on any other one every bit. */
static void each_bit(unsigned char *msg, size_t len, bool local)
{
    struct zc_keys ours, theirs;

    keys_of(7, local, &ours, &theirs);
    zc_mac_put(&ours, msg, len);
    ck_assert(zc_mac_check(&theirs, msg, len));
    for (size_t i = 0; i < 8 * len; i++) {
        bool data = local && i / 8 >= ZC_MAC_BRIEF && i / 8 < len - ZC_MAC_SIZE;

        msg[i / 8] ^= (unsigned char)(1 << i % 8);
        ck_assert_msg(zc_mac_check(&theirs, msg, len) == data, "bit %zu of %zu bytes", i, len);
        msg[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    ck_assert(zc_mac_check(&theirs, msg, len));
}

START_TEST(a_seal_is_of_each_bit)
{
    static const size_t around[] = {ZC_MAC_BRIEF + ZC_MAC_SIZE - 1, ZC_MAC_BRIEF + ZC_MAC_SIZE,
                                    ZC_MAC_BRIEF + ZC_MAC_SIZE + 1, ZC_MAC_BRIEF + ZC_MAC_SIZE + 16,
                                    4096 + 100};
    unsigned char msg[4096 + 100] = {0};

    for (int local = 0; local < 2; local++) {
        for (size_t len = ZC_HEADER_SIZE + ZC_MAC_SIZE; len <= 1000; len += 113)
            each_bit(msg, len, local);
        for (size_t i = 0; i < sizeof around / sizeof around[0]; i++)
            each_bit(msg, around[i], local);
    }
}
END_TEST

/* Known answers, from another implementation of doc/PROTOCOL.md: a changed MAC is a changed
 * protocol. */
static void known_answers(void)
{
    static const struct {
        size_t n; /* bytes before the MAC */
        bool server, local;
        unsigned char seal[ZC_MAC_SIZE];
    } known[] = {
        {100, false, false, {0x80, 0xf1, 0xb9, 0x46, 0xde, 0x47, 0x62, 0xf2}},
        {256, false, false, {0xfb, 0xe8, 0x9e, 0x6f, 0x5c, 0xcf, 0x78, 0x3f}},
        {257, false, false, {0x48, 0x6d, 0xc4, 0xab, 0x78, 0x7d, 0x85, 0x7c}},
        {4196, false, false, {0x5a, 0xa0, 0xec, 0xd9, 0x38, 0x87, 0x24, 0x61}},
        {4196, false, true, {0xfb, 0xe8, 0x9e, 0x6f, 0x5c, 0xcf, 0x78, 0x3f}},
        {100, true, false, {0x27, 0x07, 0x55, 0x0f, 0xfa, 0xf9, 0x5d, 0xc6}},
        {4196, true, false, {0x49, 0x10, 0x74, 0x12, 0x44, 0x13, 0x52, 0x10}},
    };
    unsigned char msg[4196 + ZC_MAC_SIZE];
    struct zc_keys side[2];

    for (size_t i = 0; i < sizeof msg; i++)
        msg[i] = (unsigned char)(i * i + i / 251);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        keys_of(7, known[i].local, &side[0], &side[1]);
        memcpy(msg + known[i].n, known[i].seal, ZC_MAC_SIZE);
        ck_assert_msg(zc_mac_check(&side[!known[i].server], msg, known[i].n + ZC_MAC_SIZE),
                      "answer %zu", i);
        for (size_t j = known[i].n; j < sizeof msg; j++)
            msg[j] = (unsigned char)(j * j + j / 251);
    }
}

START_TEST(a_seal_is_what_the_protocol_says)
{
    known_answers();
}
END_TEST

static void *sums_are_the_same(void *arg)
{
    zc_poly1305_fn **sum = arg;
    unsigned char text[9000], key[32], a[16], b[16];

    for (size_t len = 0; len < sizeof text; len += 1 + len / 8) {
        randombytes_buf(text, len);
        randombytes_buf(key, sizeof key);
        (*sum)(a, text, len, key);
        zc_mac_sum_default(b, text, len, key);
        ck_assert_mem_eq(a, b, sizeof a);
    }
    return NULL;
}

/* A daemon uses another library's hash where available; each thread has its own state. */
START_TEST(a_daemons_seal_is_the_same)
{
    zc_poly1305_fn *sum = iod_poly1305();
    pthread_t threads[4];

#ifdef HAVE_LIBCRYPTO
    ck_assert_msg(sum || strstr(zc_error_text(ENOSYS), "CVE-2023-6129"), "there is none: %s",
                  zc_error_text(ENOSYS));
#endif
    if (!sum)
        return;
    for (unsigned i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, sums_are_the_same, &sum), 0);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    zc_mac_sum_with(sum);
    known_answers();
    zc_mac_sum_with(zc_mac_sum_default);
}
END_TEST

/* CVE-2023-6129: of 3.0 before 3.0.13, of 3.1 before 3.1.5, of 3.2 before 3.2.1; on PowerPC. */
START_TEST(a_libcrypto_that_does_harm_is_known)
{
    static const struct {
        unsigned major, minor, patch;
        bool harm;
    } of[] = {{1, 1, 1, false}, {3, 0, 0, true},  {3, 0, 12, true}, {3, 0, 13, false},
              {3, 1, 4, true},  {3, 1, 5, false}, {3, 2, 0, true},  {3, 2, 1, false},
              {3, 3, 0, false}, {4, 0, 0, false}};

    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        ck_assert_msg(iod_poly1305_does_harm(true, of[i].major, of[i].minor, of[i].patch) ==
                          of[i].harm,
                      "%u.%u.%u", of[i].major, of[i].minor, of[i].patch);
        ck_assert(!iod_poly1305_does_harm(false, of[i].major, of[i].minor, of[i].patch));
    }
}
END_TEST

/* The keys of sessions, directions and functions all differ, and a MAC made with one is not
 * accepted with another. */
START_TEST(keys_are_of_a_session_and_a_direction)
{
    enum { SESSIONS = 8 };
    static const size_t lens[] = {100, ZC_MAC_BRIEF + ZC_MAC_SIZE, 5000};
    unsigned char msg[5000] = {1, 2, 3};
    struct zc_keys side[2 * SESSIONS]; /* clients at even indices, their servers behind them */

    for (unsigned i = 0; i < SESSIONS; i++)
        keys_of((unsigned char)i, false, &side[2 * i], &side[2 * i + 1]);
    for (unsigned i = 0; i < 2 * SESSIONS; i++) {
        ck_assert_mem_ne(side[i].ours.seal, side[i].ours.rest, sizeof side[i].ours.seal);
        ck_assert_mem_ne(side[i].ours.seal, side[i].ours.rest + 16, sizeof side[i].ours.seal);
        for (unsigned j = 0; j < 2 * SESSIONS; j++) {
            bool peer = j == (i ^ 1);

            if (i != j)
                ck_assert_mem_ne(side[i].ours.seal, side[j].ours.seal, sizeof side[i].ours.seal);
            if (i != j)
                ck_assert_mem_ne(side[i].ours.rest, side[j].ours.rest, sizeof side[i].ours.rest);
            for (size_t k = 0; k < sizeof lens / sizeof lens[0]; k++) {
                zc_mac_put(&side[i], msg, lens[k]);
                ck_assert_int_eq(zc_mac_check(&side[j], msg, lens[k]), peer);
            }
        }
    }
}
END_TEST

/* One of the two keys alone cannot make the MAC of a long message. */
START_TEST(a_seal_needs_both_keys)
{
    unsigned char msg[1000] = {0};
    struct zc_keys ours, theirs, half;

    keys_of(7, false, &ours, &theirs);
    for (unsigned i = 0; i < 2; i++) {
        half = ours;
        memset(i ? half.ours.seal : half.ours.rest, 0,
               i ? sizeof half.ours.seal : sizeof half.ours.rest);
        zc_mac_put(&half, msg, sizeof msg);
        ck_assert(!zc_mac_check(&theirs, msg, sizeof msg));
    }
}
END_TEST

/* Two messages with one key cannot be combined into a third: not the data of one with the fields of
 * the other, nor data that is shorter, extended by zeros, or reordered.  The same data under
 * another tag has another MAC, so a MAC reveals nothing about its message. */
START_TEST(parts_of_messages_are_no_message)
{
    enum { LEN = 4096 + 100, END = LEN - ZC_MAC_SIZE };
    unsigned char one[LEN] = {1}, two[LEN] = {2}, mixed[LEN + 64] = {0};
    struct zc_keys ours, theirs;

    keys_of(7, false, &ours, &theirs);
    memset(one + ZC_MAC_BRIEF, 'a', END - ZC_MAC_BRIEF - 160);
    memcpy(two + ZC_MAC_BRIEF, one + ZC_MAC_BRIEF, END - ZC_MAC_BRIEF);
    zc_mac_put(&ours, one, LEN);
    zc_mac_put(&ours, two, LEN);
    ck_assert_mem_ne(one + END, two + END, ZC_MAC_SIZE);
    two[END - 1] = 'b';
    zc_mac_put(&ours, two, LEN);
    for (unsigned i = 0; i < 2; i++) { /* with either one's MAC */
        memcpy(mixed, one, LEN);
        memcpy(mixed + ZC_MAC_BRIEF, two + ZC_MAC_BRIEF, END - ZC_MAC_BRIEF);
        memcpy(mixed + END, (i ? one : two) + END, ZC_MAC_SIZE);
        ck_assert(!zc_mac_check(&theirs, mixed, LEN));
    }
    for (int more = -64; more <= 64; more++) { /* it ends with zeros, truncated or extended */
        memset(mixed, 0, sizeof mixed);
        memcpy(mixed, one, END);
        memcpy(mixed + END + more, one + END, ZC_MAC_SIZE);
        ck_assert_int_eq(zc_mac_check(&theirs, mixed, (size_t)(LEN + more)), more == 0);
    }
    memcpy(mixed, one, LEN); /* blocks of Poly1305 in each other's place */
    memcpy(mixed + END - 16, one + ZC_MAC_BRIEF, 16);
    memcpy(mixed + ZC_MAC_BRIEF, one + END - 16, 16);
    ck_assert(!zc_mac_check(&theirs, mixed, LEN));
}
END_TEST

/* A secret box is readable with the secret only, and unchanged. */
START_TEST(a_box)
{
    static const char text[] = "how to reach those who own the file";
    unsigned char box[sizeof text + ZC_SECRETBOX_EXTRA], other[sizeof box];
    struct zc_secret wrong = rig_secret;
    char out[sizeof text];

    ck_assert_int_eq(zc_secretbox_close(&rig_secret, text, sizeof text, box), 0);
    ck_assert_int_eq(zc_secretbox_close(&rig_secret, text, sizeof text, other), 0);
    ck_assert_mem_ne(box, other, sizeof box);
    ck_assert_ptr_null(memmem(box, sizeof box, "reach", 5));
    for (size_t i = 0; i < sizeof box; i++) {
        box[i] ^= 1;
        ck_assert_msg(!zc_secretbox_open(&rig_secret, box, sizeof box, out), "byte %zu", i);
        box[i] ^= 1;
        ck_assert(!zc_secretbox_open(&rig_secret, box, i, out));
    }
    wrong.bytes[0] ^= 1;
    ck_assert(!zc_secretbox_open(&wrong, box, sizeof box, out));
    ck_assert(zc_secretbox_open(&rig_secret, box, sizeof box, out));
    ck_assert_str_eq(out, text);
}
END_TEST

/* ---- a client and a false server ---- */

/* Knows the secret, and precedes each reply to PING by all kinds of replies to be refused. */
static struct liar {
    struct zc_tp *tp;
    zc_peer peer;
    struct zc_handshake shake;
    struct zc_keys keys;
    unsigned char last[ZC_MAX_MESSAGE]; /* the last correct reply */
    size_t last_len;
    uint64_t count;
    bool stop, wrong_proof;
    pthread_t thread;
} liar;

static void say(const struct zc_msg *m, bool sealed, size_t damage)
{
    unsigned char buf[ZC_MAX_MESSAGE];
    int n = zc_msg_encode(m, buf, sizeof buf);

    ck_assert_int_gt(n, 0);
    if (m->type == (ZC_T_HELLO | ZC_REPLY))
        zc_handshake_answer(&liar.shake, buf, (size_t)n);
    else if (sealed)
        zc_mac_put(&liar.keys, buf, (size_t)n);
    if (damage)
        buf[damage % (size_t)n] ^= 4;
    else if (m->type == (ZC_T_PING | ZC_REPLY) && sealed)
        memcpy(liar.last, buf, liar.last_len = (size_t)n);
    ck_assert_int_eq(zc_tp_send(liar.tp, liar.peer, buf, (size_t)n), 0);
}

enum { LIES_OF_A_PING = 6 };

static void answer_ping(const struct zc_msg *m, const void *msg, size_t len)
{
    struct zc_msg r = {.type = ZC_T_PING | ZC_REPLY, .tag = m->tag, .session = m->session};
    struct zc_msg pending = {.type = ZC_T_PENDING, .tag = m->tag, .session = m->session};
    struct zc_msg dropped = {
        .type = ZC_T_EVICTED, .session = m->session, .count = 1000, .status = -ECONNRESET};
    struct zc_msg open = {.type = ZC_T_HELLO | ZC_REPLY, .tag = m->tag, .session = m->session};

    say(&r, false, 0);                                             /* 1: no MAC */
    say(&r, true, 6);                                              /* 2: damaged */
    ck_assert_int_eq(zc_tp_send(liar.tp, liar.peer, msg, len), 0); /* 3: the client's own message */
    pending.count = ++liar.count;
    say(&pending, true, 0);
    say(&pending, true, 0); /* 4: a second time */
    open.status = -EPERM;
    say(&open, false, 0);    /* 5: of the only type without a MAC */
    say(&dropped, false, 0); /* 6: the end of the session, not by the server */
    if (liar.last_len)       /* an earlier reply, which no call waits for */
        ck_assert_int_eq(zc_tp_send(liar.tp, liar.peer, liar.last, liar.last_len), 0);
    say(&r, true, 0);
}

static void on_message(void *arg, const void *msg, size_t len)
{
    static const unsigned char nonce[ZC_NONCE_SIZE] = {9}, room[ZC_PROOF_SIZE];
    struct zc_msg m, r = {.credits = 4, .max_inline = 100, .page_size = 4096, .silence_ms = 60000};

    (void)arg;
    ck_assert_int_eq(zc_msg_decode(&m, msg, len), 0);
    r.type = m.type | ZC_REPLY;
    r.tag = m.tag;
    r.session = 4242;
    switch (m.type) {
    case ZC_T_HELLO:
        ck_assert_int_eq(zc_tp_peer_add(liar.tp, m.address.p, m.address.n, &liar.peer), 0);
        zc_handshake_begin(&liar.shake, &rig_secret, msg, len);
        r.nonce = (struct zc_bytes){nonce, sizeof nonce};
        r.proof = (struct zc_bytes){room, sizeof room};
        say(&r, false, liar.wrong_proof ? 110 : 0);
        break;
    case ZC_T_AUTH:
        ck_assert(zc_handshake_check_proof(&liar.shake, m.proof.p, m.proof.n));
        zc_handshake_keys(&liar.shake, true, false, &liar.keys);
        say(&r, false, 0); /* one more false reply */
        say(&r, true, 0);
        break;
    case ZC_T_PING:
        ck_assert(zc_mac_check(&liar.keys, msg, len));
        answer_ping(&m, msg, len);
        break;
    default:
        say(&r, true, 0);
    }
}

static void *serve(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&liar.stop, __ATOMIC_ACQUIRE))
        zc_tp_progress(liar.tp, 5);
    return NULL;
}

static void liar_up(unsigned char *addr, size_t *len)
{
    struct zc_tp_config tp = {.max_msg = ZC_MAX_MESSAGE, .nrecv = 4, .recv = on_message};

    memset(&liar, 0, sizeof liar);
    ck_assert_int_eq(zc_tp_loop_open(&tp, &liar.tp), 0);
    ck_assert_int_eq(zc_tp_address(liar.tp, addr, len), 0);
    ck_assert_int_eq(pthread_create(&liar.thread, NULL, serve, NULL), 0);
}

static void liar_down(void)
{
    __atomic_store_n(&liar.stop, true, __ATOMIC_RELEASE);
    pthread_join(liar.thread, NULL);
    zc_tp_close(liar.tp);
}

START_TEST(a_client_takes_what_its_server_has_sealed)
{
    unsigned char addr[64];
    size_t len = sizeof addr;
    struct zc_client *c;

    liar_up(addr, &len);
    net = rig_net(60000);
    ck_assert_int_eq(zc_client_connect(net, addr, len, &rig_secret, "liar", &c), 0);
    ck_assert_uint_eq(zc_net_refused(net), 1);
    for (unsigned i = 1; i <= 3; i++) {
        ck_assert_int_eq(zc_client_ping(c), 0);
        ck_assert_uint_eq(zc_net_refused(net), 1 + i * LIES_OF_A_PING);
    }
    zc_client_disconnect(c);
    __atomic_store_n(&liar.wrong_proof, true, __ATOMIC_RELEASE);
    ck_assert_int_eq(zc_client_connect(net, addr, len, &rig_secret, "liar", &c), -ESTALE);
    zc_net_destroy(net);
    liar_down();
}
END_TEST

static int vouch_for_nobody(uid_t reader, const void *bytes, size_t len, char **credential)
{
    (void)reader, (void)bytes, (void)len;
    *credential = strdup("MUNGE:nobody:");
    return 0;
}

/* The number in the address file of a daemon of many users is public; what munge encrypted for it
 * only that daemon can read.  A server that cannot is refused at once. */
START_TEST(a_server_that_cannot_read_a_credential)
{
    static const struct zc_munge_ops munge = {.encode = vouch_for_nobody};
    unsigned char addr[64];
    size_t len = sizeof addr;
    struct zc_client *c;

    liar_up(addr, &len);
    zc_munge_replace(&munge);
    rig_munge = true;
    net = rig_net(20000);
    ck_assert_int_eq(zc_client_connect(net, addr, len, &rig_secret, "liar", &c), -ESTALE);
    ck_assert_msg(strstr(zc_error_text(ESTALE), "munge") != NULL, "%s", zc_error_text(ESTALE));
    ck_assert_uint_eq(zc_net_refused(net), 1);
    zc_net_destroy(net);
    rig_munge = false;
    zc_munge_replace(NULL);
    liar_down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("auth");

    zc_log_init(NULL);
    CASE(s, "handshake", 60, a_wrong_secret, no_secret, a_replayed_handshake, an_altered_hello,
         an_altered_answer, an_altered_auth, half_a_handshake);
    CASE(s, "session", 60, an_altered_request, a_request_comes_once, a_hijacked_session,
         a_reflected_reply, the_servers_memory, a_key_is_of_one_transfer, a_box,
         a_client_takes_what_its_server_has_sealed, a_server_that_cannot_read_a_credential);
    CASE(s, "seal", 60, a_seal_is_of_each_bit, a_seal_is_what_the_protocol_says,
         a_daemons_seal_is_the_same, a_libcrypto_that_does_harm_is_known,
         keys_are_of_a_session_and_a_direction, a_seal_needs_both_keys,
         parts_of_messages_are_no_message);
    CASE(s, "afterwards", 60, nothing_is_left_of_secrets_and_keys);
    zc_clock = zc_clock_sim();
    return run_suite(s);
}
