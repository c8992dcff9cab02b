/* test_munge.c - a server of many users: identity, permissions, and refused attackers.
 *
 * Functions here play munge: a credential is text with the current user; it can be decoded any
 * number of times, so that a refusal of its second use is the server's.
 */
#include "config.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "raw_peer.h"
#include "rig.h"
#include "zc_clock_sim.h"
#include "traces.h"
#include "zc_audit.h"
#include "zc_cred.h"
#include "zc_munge.h"
#include "zc_net_internal.h"

enum { ALICE = 20001, BOB = 20002, OWNER = 0, PAYLOAD = 80 };

/* ---- munge ---- */

static uid_t now_is; /* the user that makes credentials */
static bool munge_is_down;
static struct trace key_of_pledge; /* of the last one */

static int encode(uid_t reader, const void *bytes, size_t len, char **out)
{
    const unsigned char *p = bytes;

    ck_assert_uint_eq(reader, ZC_MUNGE_SERVER);
    *out = NULL;
    if (munge_is_down)
        return zc_errorf(EIO, "munged does not run");
    ck_assert_uint_eq(len, PAYLOAD);
    key_of_pledge = trace_of(p + len - ZC_PLEDGE_PART);
    *out = calloc(1, 64 + 2 * len);
    snprintf(*out, 32, "MUNGE:%08x:", (unsigned)now_is);
    for (size_t i = 0; i < len; i++)
        snprintf(*out + 15 + 2 * i, 3, "%02x", p[i]);
    return 0;
}

static int decode(const char *credential, void *bytes, size_t cap, size_t *len, uid_t *uid,
                  gid_t *gid)
{
    unsigned char *p = bytes;

    *len = 0;
    if (strncmp(credential, "MUNGE:", 6) != 0)
        return zc_errorf(EACCES, "munge cannot vouch for this client: Invalid credential");
    *uid = *gid = (uid_t)strtoul(credential + 6, NULL, 16);
    for (credential += 15; *credential && *len < cap; credential += 2, ++*len) {
        char byte[3] = {credential[0], credential[1], 0};

        p[*len] = (unsigned char)strtoul(byte, NULL, 16);
    }
    return 0;
}

static const struct zc_munge_ops fake = {encode, decode};

/* ---- a store that notes the thread's user ---- */

static uid_t opened_by; /* -1: none */
static struct zc_store *memory;
static struct zc_store_ops noting;

static int open_noting(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                       struct zc_sfile **out, struct zc_attr *attr)
{
    const struct zc_cred *c = zc_cred_used();

    opened_by = c ? c->uid : (uid_t)-1;
    if (strstr(path, "alices") && opened_by != ALICE)
        return zc_errorf(EACCES, "open %s: Permission denied", path);
    return borrowed_open(s, path, flags, mode, out, attr);
}

static struct zc_store *noting_store(void)
{
    struct zc_store *s;

    ck_assert_int_eq(zc_store_mem_create(&memory), 0);
    s = borrow(memory);
    noting = *s->ops;
    noting.open = open_noting;
    s->ops = &noting;
    return s;
}

/* ---- */

static struct rig rig;

static void up(void)
{
    zc_munge_replace(&fake);
    rig_munge = true;
    rig_up(&rig, NULL, noting_store());
}

static void down(void)
{
    rig_down(&rig);
    zc_store_destroy(memory);
    zc_munge_replace(NULL);
}

struct user {
    struct zc_net *net;
    struct zc_client *client;
};

static struct user come(uid_t uid)
{
    struct user u = {.net = rig_net(60000)};

    now_is = uid;
    u.client = rig_connect(&rig, u.net);
    return u;
}

static void go(struct user *u)
{
    zc_client_disconnect(u->client);
    zc_net_destroy(u->net);
}

static int open_file(struct user *u, const char *path, uint64_t *h)
{
    struct zc_attr attr = {.block_size = 8192};

    return zc_client_open(u->client, path, ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE, 0644, h,
                          &attr);
}

START_TEST(calls_are_made_as_the_caller)
{
    struct user alice, bob;
    uint64_t h, g;
    char buf[5] = "";

    up();
    alice = come(ALICE);
    bob = come(BOB);
    ck_assert_int_eq(open_file(&alice, "/alices", &h), 0);
    ck_assert_uint_eq(opened_by, ALICE);
    ck_assert_int_eq(zc_client_write(alice.client, h, "hers", 4, 0), 4);
    ck_assert_int_eq(open_file(&bob, "/alices", &g), -EACCES); /* although it is cached */
    ck_assert_int_eq(zc_client_read(bob.client, h, buf, 4, 0), -EBADF);
    ck_assert_int_eq(open_file(&bob, "/bobs", &g), 0);
    ck_assert_uint_eq(opened_by, BOB);
    ck_assert_int_eq(zc_client_read(alice.client, h, buf, 4, 0), 4);
    ck_assert_str_eq(buf, "hers");
    ck_assert_uint_eq(rig_stat(alice.client, "users"), 2);
    go(&bob);
    WAIT_FOR(rig_stat(alice.client, "users") == 1);
    go(&alice);
    down();
}
END_TEST

/* All jobs of a user are one tenant, whatever job names they give: a user gains nothing by
 * names. */
START_TEST(a_user_is_a_tenant)
{
    struct user alice, again, bob;

    rig_shares = true;
    up();
    setenv("SLURM_JOB_ID", "17", 1);
    alice = come(ALICE);
    setenv("SLURM_JOB_ID", "18", 1);
    again = come(ALICE);
    ck_assert_uint_eq(rig_stat(alice.client, "sharers"), 1);
    bob = come(BOB);
    ck_assert_uint_eq(rig_stat(alice.client, "sharers"), 2);
    go(&bob);
    go(&again);
    WAIT_FOR(rig_stat(alice.client, "sharers") == 1);
    go(&alice);
    down();
}
END_TEST

START_TEST(what_concerns_all_is_for_the_owner)
{
    struct user alice, root;
    uint64_t h;
    char *text;

    up();
    alice = come(ALICE);
    root = come(OWNER);
    for (uint32_t what = ZC_CONTROL_FLUSH; what <= ZC_CONTROL_RESUME; what++)
        ck_assert_int_eq(zc_client_control(alice.client, what, NULL), -EPERM);
    ck_assert_int_eq(zc_client_control(root.client, ZC_CONTROL_FLUSH, NULL), 0);
    ck_assert_int_eq(open_file(&alice, "/alices", &h), 0);
    ck_assert_int_eq(open_file(&root, "/roots", &h), 0);
    ck_assert_int_eq(zc_client_info(alice.client, ZC_INFO_FILES, &text), 0);
    ck_assert_ptr_nonnull(strstr(text, "/alices"));
    ck_assert_ptr_null(strstr(text, "/roots"));
    free(text);
    ck_assert_int_eq(zc_client_info(root.client, ZC_INFO_FILES, &text), 0);
    ck_assert_ptr_nonnull(strstr(text, "/alices"));
    ck_assert_ptr_nonnull(strstr(text, "/roots"));
    free(text);
    go(&alice);
    go(&root);
    down();
}
END_TEST

START_TEST(one_user_leaves_something_to_others)
{
    struct user a, b, c, bob, root;
    struct zc_net *net;
    uint64_t h[3];

    rig_user = (struct zc_user_limits){.sessions = 3, .opens = 2};
    up();
    a = come(ALICE);
    b = come(ALICE);
    c = come(ALICE);
    net = rig_net(60000);
    now_is = ALICE;
    ck_assert_int_eq(zc_client_connect(net, rig.addr, rig.addr_len, &rig_secret, "it", &bob.client),
                     -EUSERS);
    ck_assert_ptr_nonnull(strstr(zc_error_text(EUSERS), "--user-sessions"));
    zc_net_destroy(net);
    bob = come(BOB);
    root = come(OWNER);
    ck_assert_int_eq(open_file(&a, "/1", &h[0]), 0);
    ck_assert_int_eq(open_file(&b, "/2", &h[1]), 0);
    ck_assert_int_eq(open_file(&b, "/3", &h[2]), -EMFILE);
    ck_assert_int_eq(open_file(&bob, "/3", &h[2]), 0);
    ck_assert_int_eq(zc_client_close(a.client, h[0], ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(open_file(&b, "/3", &h[2]), 0);
    go(&b); /* and what it had open, which is closed behind that */
    WAIT_FOR(rig_stat(a.client, "sessions") == 4 && open_file(&a, "/1", &h[0]) == 0);
    ck_assert_int_eq(open_file(&a, "/2", &h[1]), 0);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(open_file(&root, "/4", &h[2]), 0);
    go(&a);
    go(&c);
    go(&bob);
    go(&root);
    down();
    rig_user = (struct zc_user_limits){0};
}
END_TEST

START_TEST(without_munged_it_says_so)
{
    struct zc_net *net;
    struct zc_client *c;

    up();
    munge_is_down = true;
    net = rig_net(60000);
    ck_assert_int_eq(zc_client_connect(net, rig.addr, rig.addr_len, &rig_secret, "it", &c), -EIO);
    ck_assert_ptr_nonnull(strstr(zc_error_text(EIO), "munged"));
    munge_is_down = false;
    zc_net_destroy(net);
    down();
}
END_TEST

START_TEST(nothing_is_left_of_a_pledge)
{
    struct user alice;
    struct trace key;

    if (!TRACES_CAN_BE_SEEN) {
        puts("skipped: what is left of keys, which a sanitizer's memory is too large for");
        return;
    }
    up();
    alice = come(ALICE);
    key = trace_of(alice.client->keys.theirs.rest);
    ck_assert_uint_ge(traces(&key), 2);    /* hers, and the server's */
    WAIT_FOR(traces(&key_of_pledge) == 0); /* the server erases it after its reply */
    go(&alice);
    down();
    ck_assert_uint_eq(traces(&key), 0);
}
END_TEST

/* ---- attackers ---- */

static struct raw raw;
static char credential[ZC_MAX_CREDENTIAL];

/* Reads R-HELLO and makes a credential of that user for this handshake. */
static struct zc_msg vouch(struct raw *r, uid_t uid, char text[ZC_MAX_CREDENTIAL])
{
    struct zc_pledge pledge;

    ck_assert_int_eq(r->last.status, 0);
    ck_assert_msg(zc_handshake_check_answer(&r->shake, r->bytes, r->len), "the server's proof");
    memcpy(pledge.said, r->shake.said, sizeof pledge.said);
    memset(pledge.key, 7, sizeof pledge.key);
    now_is = uid;
    ck_assert_int_eq(zc_munge_credential(&pledge, text, ZC_MAX_CREDENTIAL), 0);
    zc_handshake_confirmed(&r->shake, pledge.key);
    zc_handshake_keys(&r->shake, false, false, &r->keys);
    return (struct zc_msg){.type = ZC_T_CREDENTIAL,
                           .session = r->last.session,
                           .credential = {text, (uint32_t)strlen(text)}};
}

static struct zc_msg raw_vouch(uid_t uid)
{
    return vouch(&raw, uid, credential);
}

static void raw_begin(void)
{
    raw_up(&raw, &rig);
    raw.method = ZC_METHOD_MUNGE;
}

START_TEST(another_method)
{
    up();
    raw_up(&raw, &rig);
    raw_greet(&raw, 60000, ZC_PROTOCOL); /* knows the number in the address file */
    ck_assert_int_eq(raw.last.status, -EOPNOTSUPP);
    ck_assert_ptr_nonnull(strstr(raw.text, "munge"));
    zc_tp_close(raw.tp);
    down();
}
END_TEST

/* The number in the address file would be enough for AUTH, which is refused. */
START_TEST(auth_is_nothing)
{
    unsigned char proof[ZC_PROOF_SIZE];
    struct user root;
    struct zc_msg m;

    up();
    root = come(OWNER);
    raw_begin();
    raw_greet(&raw, 60000, ZC_PROTOCOL);
    m = raw_auth(&raw, proof);
    raw_send(&raw, &m);
    WAIT_FOR(rig_stat(root.client, "handshakes_refused") == 1);
    ck_assert_uint_eq(rig_stat(root.client, "sessions"), 1);
    ck_assert_uint_eq(raw.received, 1);
    zc_tp_close(raw.tp);
    go(&root);
    down();
}
END_TEST

/* A recorded credential, or one of another handshake, opens no session although munge would decode
 * it; and the real owner of the handshake is not locked out by attempts. */
START_TEST(a_credential_is_of_one_handshake)
{
    char first[ZC_MAX_CREDENTIAL];
    struct user root;
    struct zc_msg m;

    up();
    root = come(OWNER);
    raw_begin();
    raw_greet(&raw, 60000, ZC_PROTOCOL);
    m = raw_vouch(ALICE);
    memcpy(first, credential, sizeof first);
    raw_call(&raw, &m);
    ck_assert_int_eq(raw.last.status, 0);
    ck_assert_int_eq(raw.last.type, ZC_T_CREDENTIAL | ZC_REPLY);
    ck_assert(zc_mac_check(&raw.keys, raw.bytes, raw.len));
    raw_send(&raw, &m); /* again, in its session */
    WAIT_FOR(rig_stat(root.client, "handshakes_refused") == 1);
    zc_tp_close(raw.tp);

    raw_begin();
    raw.id = 4712;
    raw_greet(&raw, 60000, ZC_PROTOCOL);
    m = raw_vouch(ALICE);
    m.credential = (struct zc_bytes){first, (uint32_t)strlen(first)};
    raw_call(&raw, &m);
    ck_assert_int_eq(raw.last.type, ZC_T_HELLO | ZC_REPLY);
    ck_assert_int_eq(raw.last.status, -EACCES);
    ck_assert_ptr_nonnull(strstr(raw.text, "another handshake"));
    m.credential = (struct zc_bytes){credential, (uint32_t)strlen(credential)};
    raw_call(&raw, &m);
    ck_assert_int_eq(raw.last.status, 0);
    ck_assert_uint_eq(rig_stat(root.client, "handshakes_refused"), 2);
    ck_assert_uint_eq(rig_stat(root.client, "users"), 2);
    zc_tp_close(raw.tp);
    go(&root);
    down();
}
END_TEST

static void refused(const struct zc_msg *like, const char *text, uint32_t n)
{
    struct zc_msg m = *like;

    m.tag = 0;
    m.credential = (struct zc_bytes){text, n};
    raw_call(&raw, &m);
    ck_assert_msg(raw.last.type == (ZC_T_HELLO | ZC_REPLY), "taken: %.*s", (int)n, text);
    ck_assert_int_eq(raw.last.status, -EACCES);
}

/* Each of its bytes changed, one at a time; truncated; empty. */
START_TEST(an_altered_credential)
{
    char changed[ZC_MAX_CREDENTIAL];
    struct user root;
    struct zc_msg m;
    uint32_t n;

    up();
    root = come(OWNER);
    raw_begin();
    raw_greet(&raw, 60000, ZC_PROTOCOL);
    m = raw_vouch(ALICE);
    n = m.credential.n;
    for (uint32_t i = 0; i < 15 + 2 * (PAYLOAD - 32); i++) { /* the rest is the key */
        if (i >= 6 && i < 15)
            continue; /* munge's own part */
        memcpy(changed, credential, sizeof changed);
        changed[i] = changed[i] == '0' ? '1' : '0';
        refused(&m, changed, n);
    }
    refused(&m, credential, n - 2);
    refused(&m, credential, 0);
    ck_assert_uint_eq(rig_stat(root.client, "sessions"), 1);
    /* the key: it is accepted, but neither the attacker nor the client can speak with it */
    memcpy(changed, credential, sizeof changed);
    changed[n - 1] ^= 1;
    m.credential.p = changed;
    raw_call(&raw, &m);
    ck_assert(!zc_mac_check(&raw.keys, raw.bytes, raw.len));
    zc_tp_close(raw.tp);
    go(&root);
    down();
}
END_TEST

/* Knowing the numbers of another user's session does not allow ending it by a reconnect, nor by
 * using its client id. */
START_TEST(sessions_of_others_stay)
{
    struct user alice;
    struct zc_past past;
    struct zc_msg m;
    uint64_t h;

    up();
    alice = come(ALICE);
    ck_assert_int_eq(open_file(&alice, "/alices", &h), 0);
    past = zc_client_past(alice.client);
    raw_begin();
    raw.id = past.client_id;
    raw.replaces = past.session;
    raw.replaces_client = past.client_id;
    raw_greet(&raw, 60000, ZC_PROTOCOL);
    m = raw_vouch(BOB);
    raw_call(&raw, &m);
    ck_assert_int_eq(raw.last.type, ZC_T_CREDENTIAL | ZC_REPLY);
    ck_assert_int_eq(raw.last.status, 0);
    ck_assert_int_eq(zc_client_ping(alice.client), 0);
    ck_assert_int_eq(zc_client_write(alice.client, h, "hers", 4, 0), 4);
    ck_assert_uint_eq(rig_stat(alice.client, "sessions"), 2);
    ck_assert_uint_eq(rig_stat(alice.client, "sessions_replaced"), 0);
    zc_tp_close(raw.tp);
    go(&alice);
    down();
}
END_TEST

static void is_let_in(struct raw *r, const struct zc_msg *m)
{
    raw_call(r, m);
    ck_assert_int_eq(r->last.type, ZC_T_CREDENTIAL | ZC_REPLY);
    ck_assert_int_eq(r->last.status, 0);
}

/* Nor an unfinished handshake, which belongs to no user yet. */
START_TEST(handshakes_of_others_go_on)
{
    char hers[ZC_MAX_CREDENTIAL];
    struct raw alice;
    struct zc_msg m;

    up();
    raw_up(&alice, &rig);
    alice.method = ZC_METHOD_MUNGE;
    raw_greet(&alice, 60000, ZC_PROTOCOL);
    raw_begin(); /* with the same client_id */
    raw_greet(&raw, 60000, ZC_PROTOCOL);
    m = raw_vouch(BOB);
    is_let_in(&raw, &m);
    m = vouch(&alice, ALICE, hers);
    is_let_in(&alice, &m);
    zc_tp_close(alice.tp);
    zc_tp_close(raw.tp);
    down();
}
END_TEST

/* munge's answer to the first attempt of a client comes when the second one has its session. */
START_TEST(a_handshake_that_comes_late)
{
    char late[ZC_MAX_CREDENTIAL];
    struct zc_msg m, before, ping = {.type = ZC_T_PING};
    struct raw first;
    struct user root;

    up();
    root = come(OWNER);
    raw_up(&first, &rig);
    first.method = ZC_METHOD_MUNGE;
    raw_greet(&first, 60000, ZC_PROTOCOL);
    before = vouch(&first, ALICE, late);
    raw_begin();
    raw_greet(&raw, 60000, ZC_PROTOCOL);
    m = raw_vouch(ALICE);
    is_let_in(&raw, &m);
    raw_send(&first, &before);
    WAIT_FOR(rig_stat(root.client, "handshakes") == 0);
    ping.session = m.session;
    raw_call(&raw, &ping);
    ck_assert_int_eq(raw.last.type, ZC_T_PING | ZC_REPLY);
    ck_assert_uint_eq(rig_stat(root.client, "sessions"), 2);
    ck_assert_uint_eq(rig_stat(root.client, "sessions_opened"), 2);
    while (zc_tp_progress(first.tp, 0) > 0)
        ;
    ck_assert_uint_eq(first.received, 1);
    zc_tp_close(first.tp);
    zc_tp_close(raw.tp);
    go(&root);
    down();
}
END_TEST

/* Whatever sessions and spellings a user opens a file by, room for others' files remains. */
START_TEST(open_files_of_one_user_leave_memory_to_others)
{
    enum { SESSIONS = 4, FOR_BOB = 300 };
    struct user alice[SESSIONS], bob;
    unsigned n = 0;
    uint64_t h;

    rig_user = (struct zc_user_limits){.share = 50};
    rig_budget = 8 << 20;
    up();
    for (int i = 0; i < SESSIONS; i++) {
        alice[i] = come(ALICE);
        while (open_file(&alice[i], "/f", &h) == 0)
            n++;
        ck_assert_ptr_nonnull(strstr(zc_error_text(EMFILE), i ? "--user-share" : "memory"));
    }
    ck_assert_uint_ge(n, FOR_BOB);
    bob = come(BOB);
    for (int i = 0; i < FOR_BOB; i++)
        ck_assert_int_eq(open_file(&bob, "/g", &h), 0);
    go(&alice[0]); /* and what she had open */
    WAIT_FOR(open_file(&alice[1], "/f", &h) == 0);
    for (int i = 1; i < SESSIONS; i++)
        go(&alice[i]);
    go(&bob);
    down();
    rig_user = (struct zc_user_limits){0};
    rig_budget = 0;
}
END_TEST

/* ---- log messages about users ---- */

static int log_file = -1;

static void log_begins(void)
{
    log_file = memfd_create("log", MFD_CLOEXEC);
    ck_assert_int_ge(log_file, 0);
    zc_log_to_fd(log_file);
    zc_log_level(ZC_LOG_INFO);
}

/* Returns all that was logged, allocated. */
static char *log_ends(void)
{
    off_t n = lseek(log_file, 0, SEEK_END);
    char *text = calloc(1, (size_t)n + 1);

    ck_assert_int_eq(pread(log_file, text, (size_t)n, 0), n);
    zc_log_to_fd(STDERR_FILENO);
    zc_log_level(ZC_LOG_WARN);
    close(log_file);
    return text;
}

/* Counts lines that contain both. */
static unsigned lines(const char *log, const char *one, const char *two)
{
    char *copy = strdup(log), *rest = copy, *line;
    unsigned n = 0;

    while ((line = strsep(&rest, "\n")))
        n += strstr(line, one) && strstr(line, two);
    free(copy);
    return n;
}

static int look(struct user *u, const char *path)
{
    struct zc_attr attr = {.block_size = 8192};
    uint64_t h;

    return zc_client_open(u->client, path, ZC_OPEN_READ, 0, &h, &attr);
}

/* A user that is refused all the time, and strangers, use up only their own part of the log, and do
 * not suppress messages about another user; each line names its user. */
START_TEST(one_user_fills_its_part_of_the_log)
{
    struct user alice, bob;
    struct zc_msg m;
    char *log;

    rig_audit = true;
    log_begins();
    up();
    bob = come(BOB);
    raw_begin();
    raw_greet(&raw, 60000, ZC_PROTOCOL);
    m = raw_vouch(ALICE);
    for (int i = 0; i < ZC_AUDIT_LINES + 80; i++) {
        ck_assert_int_eq(look(&bob, "/alices"), -EACCES);
        refused(&m, "nothing", 7);
    }
    alice = come(ALICE);
    ck_assert_int_eq(look(&alice, "/not there"), -ENOENT);
    go(&alice);
    go(&bob);
    zc_tp_close(raw.tp);
    down();
    log = log_ends();
    ck_assert_uint_eq(lines(log, "of user 20002, test (uid ", "may not open /alices to read"),
                      ZC_AUDIT_LINES);
    ck_assert_uint_eq(lines(log, "of user 20001, test (uid ", "may not open /not there"), 1);
    ck_assert_uint_eq(lines(log, "of user 20001, test (uid ", "begins: by munge, over"), 1);
    ck_assert_uint_eq(lines(log, "of user 20001, test (uid ", "ends: "), 1);
    ck_assert_uint_eq(lines(log, "audit: host without an IP address, ", "is refused"),
                      ZC_AUDIT_HOST_LINES);
    ck_assert_uint_eq(lines(log, "audit: 80 more refused requests, of user 20002", ""), 1);
    ck_assert_uint_eq(lines(log, "audit: 170 more clients that were refused, of host ", ""), 1);
    free(log);
    rig_audit = false;
}
END_TEST

/* The same for messages about a user that connects and leaves again and again. */
START_TEST(one_user_comes_back_and_back)
{
    enum { TIMES = ZC_AUDIT_LINES + 30 };
    uint64_t before = 0;
    char *log;

    log_begins();
    up();
    for (int i = 0; i <= TIMES; i++) {
        struct zc_msg m;

        raw_begin();
        raw.replaces = before;
        raw.replaces_client = 4711;
        raw_greet(&raw, 60000, ZC_PROTOCOL);
        m = raw_vouch(ALICE);
        raw_send(&raw, &m);
        WAIT_FOR((zc_tp_progress(raw.tp, 10), raw.last.type == (ZC_T_CREDENTIAL | ZC_REPLY)));
        ck_assert_int_eq(raw.last.status, 0);
        before = m.session;
        zc_tp_close(raw.tp);
    }
    down();
    log = log_ends();
    ck_assert_uint_eq(lines(log, "client raw is back", ""), ZC_AUDIT_LINES);
    ck_assert_uint_eq(lines(log, "30 more clients that came back, of user 20001", ""), 1);
    free(log);
}
END_TEST

/* Addresses are chosen by strangers: however many they use, memory and log stay bounded, and users
 * get their messages as without them.  The same for more users than places. */
START_TEST(many_addresses_fill_their_part_of_the_log)
{
    enum { MANY = 5000, TIMES = 40, USERS = ZC_AUDIT_USERS + 100 };
    static struct zc_audit audit;
    char whom[ZC_AUDIT_WHOM], *log;

    log_begins();
    for (int i = 0; i < MANY * TIMES; i++) {
        snprintf(whom, sizeof whom, "host 10.0.%d.%d", i % MANY / 250, i % MANY % 250);
        zc_audit(&audit, whom, false, ZC_AUDIT_KEPT_OUT, "%s, is refused", whom);
    }
    for (int i = 0; i < USERS; i++) {
        snprintf(whom, sizeof whom, "user %d", i);
        zc_audit(&audit, whom, true, ZC_AUDIT_DOES, "%s, does it", whom);
    }
    zc_audit_rest(&audit);
    zc_audit(&audit, "user 7", true, ZC_AUDIT_DOES, "user 7, is back");
    log = log_ends();
    ck_assert_uint_eq(lines(log, "is refused", ""), (ZC_AUDIT_HOSTS + 1) * ZC_AUDIT_HOST_LINES);
    ck_assert_uint_eq(lines(log, "does it", ""), USERS);
    ck_assert_uint_le(lines(log, "more clients that were refused", ""), ZC_AUDIT_HOSTS + 1);
    ck_assert_uint_eq(lines(log, "more clients that were refused, of other hosts", ""), 1);
    ck_assert_uint_eq(lines(log, "is back", ""), 1);
    free(log);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("munge");

    CASE(s, "users", 60, calls_are_made_as_the_caller, a_user_is_a_tenant,
         what_concerns_all_is_for_the_owner, one_user_leaves_something_to_others,
         open_files_of_one_user_leave_memory_to_others, without_munged_it_says_so,
         nothing_is_left_of_a_pledge);
    CASE(s, "attackers", 60, another_method, auth_is_nothing, a_credential_is_of_one_handshake,
         an_altered_credential, sessions_of_others_stay, handshakes_of_others_go_on,
         a_handshake_that_comes_late);
    CASE(s, "audit", 60, one_user_fills_its_part_of_the_log, one_user_comes_back_and_back,
         many_addresses_fill_their_part_of_the_log);
    zc_clock = zc_clock_sim();
    return run_suite(s);
}
