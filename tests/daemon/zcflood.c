/* zcflood.c - for tests of the daemon: malicious clients that know its secret.
 *
 *     zcflood WHAT ADDRESS-FILE ROOT SESSIONS ENDPOINTS COUNT
 *
 * Begins so many sessions, whose replies go to so many endpoints, which are not driven any more
 * once the sessions have begun; another endpoint sends their messages, COUNT each:
 *
 *     sessions   nothing but PING
 *     crowd      the same; clients refused for want of memory are counted: prints
 *                "N let in, N refused"
 *     replies    reads of 15 KiB, whose replies are never received
 *     lists      writes with a list and data, 15 KiB together
 *     opens      one and the same file, again and again
 *     replied    the same, each after the reply to the one before
 *     paths      other files, with long names
 *     cards      rendezvous records, and one whose last piece never comes
 *     infos      text about the daemon that is never fetched
 *     hellos     handshakes that are never completed
 *
 * Meanwhile a well-behaved session sends PING now and then, and must get its reply.  Prints "done"
 * and stays, silent, until its standard input ends.  The address is the local one if ZCACHE_LOCAL
 * is 1, else the fabric's.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "zc_addrfile.h"
#include "zc_handshake.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_mac.h"
#include "zc_store.h"
#include "zc_tp_local.h"
#include "zc_tp_ofi.h"
#include "zc_view.h"
#include "zc_wire.h"

enum {
    PATIENCE_S = 60, /* for a reply */
    EVERY = 64,      /* messages between PINGs */
    LANES = 16,      /* slots that a session uses */
    PAYLOAD = 15 << 10,
    CARD = 1 << 20,
};

struct session {
    uint64_t id, handle, count;
    struct zc_keys keys;
};

struct endpoint {
    struct zc_tp *tp;
    zc_peer server;
    struct session *talks; /* whose reply is awaited */
    struct zc_handshake shake;
    struct zc_msg last;
    unsigned char bytes[ZC_MAX_MESSAGE];
    unsigned received;
};

static struct zc_addrfile file;
static bool local, crowd;
static struct endpoint speaker; /* which sends everything */
static struct session honest;
static unsigned char filler[ZC_MAX_MESSAGE];

static void die(const char *what, int rc)
{
    fprintf(stderr, "zcflood: %s: %s\n", what, rc ? zc_error_text(rc) : "no answer");
    exit(1);
}

static void on_message(void *arg, const void *msg, size_t len)
{
    struct endpoint *e = arg;
    struct zc_msg m;

    if (!e->talks || zc_msg_decode(&m, msg, len) || !(m.type & ZC_REPLY))
        return;
    if (m.type != (ZC_T_HELLO | ZC_REPLY) && m.session != e->talks->id)
        return;
    memcpy(e->bytes, msg, len);
    zc_msg_decode(&e->last, e->bytes, len);
    if (m.type == (ZC_T_HELLO | ZC_REPLY) && !m.status &&
        !zc_handshake_check_answer(&e->shake, e->bytes, len))
        die("HELLO", -EPROTO);
    e->received++;
}

static void endpoint_up(struct endpoint *e)
{
    size_t len;
    const void *addr = zc_addrfile_address(&file, local, &len);
    struct zc_tp_config cfg = {.provider = file.provider,
                               .toward = addr,
                               .toward_len = len,
                               .max_msg = ZC_MAX_MESSAGE,
                               .nrecv = 64,
                               .recv = on_message,
                               .arg = e};
    int rc = local ? zc_tp_local_open(&cfg, &e->tp) : zc_tp_ofi_open(&cfg, &e->tp);

    if (rc == 0)
        rc = zc_tp_peer_add(e->tp, addr, len, &e->server);
    if (rc)
        die("endpoint", rc);
}

/* ---- sending ---- */

static void say(const struct session *s, const struct zc_msg *m)
{
    unsigned char buf[ZC_MAX_MESSAGE];
    int n = zc_msg_encode(m, buf, sizeof buf), rc;

    if (n < 0)
        die("message", n);
    if (m->type == ZC_T_HELLO)
        zc_handshake_begin(&speaker.shake, &file.secret, buf, (size_t)n);
    else if (zc_msg_has_mac(m->type))
        zc_mac_put(&s->keys, buf, (size_t)n);
    rc = zc_tp_send(speaker.tp, speaker.server, buf, (size_t)n);
    if (rc)
        die("send", rc);
}

/* Waits for the next message; returns its status. */
static int status_of_next(struct endpoint *e, const char *what)
{
    uint64_t until = zc_now() + PATIENCE_S * 1000000000ull;

    for (unsigned before = e->received; e->received == before;) {
        zc_tp_progress(speaker.tp, e == &speaker ? 10 : 0);
        if (e != &speaker)
            zc_tp_progress(e->tp, 1);
        if (zc_now() > until)
            die(what, 0);
    }
    return e->last.status;
}

static void check_status(const struct endpoint *e, const char *what)
{
    if (!e->last.status)
        return;
    fprintf(stderr, "zcflood: %s: %.*s\n", what, (int)e->last.text.n, (const char *)e->last.text.p);
    exit(1);
}

static void hear(struct endpoint *e, const char *what)
{
    status_of_next(e, what);
    check_status(e, what);
}

static uint64_t next_tag(struct session *s)
{
    s->count++;
    return zc_tag(1 + (unsigned)(s->count % LANES), s->count);
}

static void greet(struct endpoint *e, struct session *s, uint64_t client)
{
    unsigned char addr[ZC_MAX_ADDRESS], nonce[ZC_NONCE_SIZE] = {1};
    size_t len = sizeof addr;
    struct zc_msg m = {.type = ZC_T_HELLO,
                       .tag = client,
                       .magic = ZC_MAGIC,
                       .version_min = ZC_PROTOCOL,
                       .version_max = ZC_PROTOCOL,
                       .client_id = client,
                       .silence_ms = 600000,
                       .name = {"zcflood", 7},
                       .method = ZC_METHOD_SECRET,
                       .nonce = {nonce, sizeof nonce}};

    zc_tp_address(e->tp, addr, &len);
    m.address = (struct zc_bytes){addr, (uint32_t)len};
    say(s, &m);
}

/* False: refused for want of memory, which is the result wanted. */
static bool begin(struct endpoint *e, struct session *s, uint64_t client)
{
    unsigned char proof[ZC_PROOF_SIZE];
    struct zc_msg auth = {.type = ZC_T_AUTH, .tag = client, .proof = {proof, sizeof proof}};

    e->talks = s;
    greet(e, s, client);
    e->shake = speaker.shake;
    if (status_of_next(e, "HELLO") == -EUSERS && crowd && e != &speaker)
        return false;
    check_status(e, "HELLO");
    auth.session = s->id = e->last.session;
    zc_handshake_prove(&e->shake, proof);
    zc_handshake_keys(&e->shake, false, local, &s->keys);
    say(s, &auth);
    hear(e, "AUTH");
    return true;
}

/* The daemon serves the well-behaved session. */
static void sign_of_life(void)
{
    struct zc_msg m = {.type = ZC_T_PING, .session = honest.id, .tag = next_tag(&honest)};

    speaker.talks = &honest;
    say(&honest, &m);
    hear(&speaker, "a sign of life");
}

static void open_file(struct endpoint *e, struct session *s, const char *path)
{
    struct zc_msg m = {.type = ZC_T_OPEN,
                       .session = s->id,
                       .tag = next_tag(s),
                       .open_flags = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE,
                       .mode = 0644,
                       .path = {path, (uint32_t)strlen(path)}};

    say(s, &m);
    hear(e, "OPEN");
    s->handle = e->last.handle;
}

/* ---- messages ---- */

static void fill_list(struct zc_msg *m)
{
    static unsigned char list[PAYLOAD / 2];
    static size_t len;
    struct zc_view_builder *b;
    struct zc_view *v;

    if (!len) {
        if (zc_view_builder_create(&b))
            exit(1);
        for (int64_t i = 0; i < 600; i++)
            zc_view_add(b, i * 40 + i * i % 5, 8 + i * i % 7);
        if (zc_view_finish(b, 40000, &v) || zc_view_encoded(v) > sizeof list)
            exit(1);
        len = zc_view_encoded(v);
        zc_view_encode(v, list, sizeof list);
        zc_view_put(v);
    }
    m->list = (struct zc_bytes){list, (uint32_t)len};
    m->len = 4000;
    m->data = (struct zc_bytes){filler, 4000};
}

static void fill(struct zc_msg *m, const char *what, const char *root, uint64_t i)
{
    static char path[ZC_MAX_PATH];

    if (!strcmp(what, "replies")) {
        m->type = ZC_T_READ;
        m->len = PAYLOAD;
    } else if (!strcmp(what, "lists")) {
        m->type = ZC_T_LIST_WRITE;
        fill_list(m);
    } else if (!strcmp(what, "opens") || !strcmp(what, "paths")) {
        m->type = ZC_T_OPEN;
        m->open_flags = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE;
        m->mode = 0644;
        if (!strcmp(what, "opens"))
            snprintf(path, sizeof path, "%s/f", root);
        else
            snprintf(path, sizeof path, "%s/%0200llu", root, (unsigned long long)i);
        m->path = (struct zc_bytes){path, (uint32_t)strlen(path)};
    } else if (!strcmp(what, "cards")) {
        m->type = ZC_T_RENDEZVOUS;
        m->what = ZC_RENDEZVOUS_PUBLISH;
        m->size = CARD;
        m->data = (struct zc_bytes){filler, ZC_MAX_RECORD_PIECE};
        m->off = i * ZC_MAX_RECORD_PIECE % CARD;
        snprintf(path, sizeof path, "%llx.%llu", (unsigned long long)m->session,
                 (unsigned long long)(i * ZC_MAX_RECORD_PIECE / CARD));
        m->job = (struct zc_bytes){path, (uint32_t)strlen(path)};
    } else if (!strcmp(what, "infos")) {
        m->type = ZC_T_INFO;
        m->what = ZC_INFO_STATS;
    } else {
        m->type = ZC_T_PING;
    }
}

static void attack(struct session *s, int n, const char *what, const char *root, uint64_t count)
{
    uint64_t said = 0;

    for (uint64_t i = 0; i < count; i++)
        for (int k = 0; k < n; k++) {
            struct zc_msg m = {.session = s[k].id, .handle = s[k].handle, .tag = next_tag(&s[k])};

            fill(&m, what, root, !strcmp(what, "cards") ? i : i * (uint64_t)n + (uint64_t)k);
            say(&s[k], &m);
            if (++said % EVERY == 0)
                sign_of_life();
        }
    sign_of_life();
}

static void open_again(struct endpoint *e, int endpoints, struct session *s, int n,
                       const char *path, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        for (int k = 0; k < n; k++)
            open_file(&e[k % endpoints], &s[k], path);
}

static void only_hellos(struct endpoint *e, int endpoints, uint64_t count)
{
    struct session none = {0};

    for (uint64_t i = 0; i < count; i++) {
        greet(&e[i % (unsigned)endpoints], &none, 1000000 + i);
        if (i % EVERY == 0)
            sign_of_life();
    }
}

/* Begins `n` sessions and opens the file; returns how many succeeded. */
static int come(struct endpoint *e, int endpoints, struct session *s, int n, const char *path)
{
    int in = 0;

    for (int i = 0; i < n; i++) {
        if (!begin(&e[i % endpoints], &s[in], 1000 + (uint64_t)i))
            continue;
        open_file(&e[i % endpoints], &s[in++], path);
        if (crowd && i % EVERY == 0)
            sign_of_life();
    }
    if (crowd)
        printf("%d let in, %d refused\n", in, n - in);
    return in;
}

static void as_many_files_as_possible(void)
{
    struct rlimit files;

    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

int main(int argc, char **argv)
{
    int n = argc == 7 ? atoi(argv[4]) : -1, endpoints = argc == 7 ? atoi(argv[5]) : 0;
    const char *wish = getenv("ZCACHE_LOCAL");
    struct endpoint *e;
    struct session *s;
    char path[ZC_MAX_PATH], c;
    int rc;

    zc_log_init("zcflood");
    if (n < 0 || endpoints < 1)
        return 2;
    as_many_files_as_possible();
    crowd = !strcmp(argv[1], "crowd");
    local = wish && !strcmp(wish, "1");
    rc = zc_addrfile_read(argv[2], &file);
    if (rc)
        die("address file", rc);
    e = calloc((size_t)endpoints, sizeof *e);
    s = calloc((size_t)n + 1, sizeof *s);
    if (!e || !s)
        return 1;
    endpoint_up(&speaker);
    begin(&speaker, &honest, 1);
    for (int i = 0; i < endpoints; i++)
        endpoint_up(&e[i]);
    snprintf(path, sizeof path, "%s/f", argv[3]);
    n = come(e, endpoints, s, n, path);
    if (!strcmp(argv[1], "hellos"))
        only_hellos(e, endpoints, strtoull(argv[6], NULL, 10));
    else if (!strcmp(argv[1], "replied"))
        open_again(e, endpoints, s, n, path, strtoull(argv[6], NULL, 10));
    else
        attack(s, n, argv[1], argv[3], strtoull(argv[6], NULL, 10));
    puts("done");
    fflush(stdout);
    while (read(STDIN_FILENO, &c, 1) > 0)
        ;
    _exit(0); /* without BYE */
}
