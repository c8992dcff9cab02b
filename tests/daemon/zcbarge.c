/* zcbarge.c - for tests: a client without a server's secret that goes on all the same.
 *
 *     zcbarge ADDRESS-FILE PATH
 *
 * Sends HELLO, ignores that the proof in the reply is wrong, sends a proof of its own made with the
 * secret in the file, and then the messages of a session: opens the file at PATH, also as a rank of
 * the server's job does, reads and writes with handles that may exist, asks for counters, stops the
 * server, ends the session.  At last it sends another HELLO: when that is answered all before has
 * been handled.  Prints "tried N, answered N", and fails if the second is not 0; or "connection
 * lost", and fails.  The address is the local one if ZCACHE_LOCAL is 1, else the fabric's.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_addrfile.h"
#include "zc_handshake.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_mac.h"
#include "zc_store.h"
#include "zc_tp_local.h"
#include "zc_tp_ofi.h"
#include "zc_wire.h"

enum { PATIENCE_S = 60, HANDLES = 4 };

static struct zc_addrfile file;
static bool local, lost;
static struct zc_tp *tp;
static zc_peer server;
static struct zc_handshake shake;
static struct zc_keys keys;
static uint64_t session, count;
static unsigned hellos, tried, answered;

static void die(const char *what, int rc)
{
    fprintf(stderr, "zcbarge: %s: %s\n", what, rc ? zc_error_text(rc) : "no answer");
    exit(1);
}

static void on_message(void *arg, const void *buf, size_t len)
{
    struct zc_msg m;

    (void)arg;
    if (zc_msg_decode(&m, buf, len) || m.type != (ZC_T_HELLO | ZC_REPLY) || m.status) {
        answered++;
        return;
    }
    if (zc_handshake_check_answer(&shake, buf, len))
        die("it knows the secret", -EPROTO);
    hellos++;
    if (!session)
        session = m.session;
}

static void on_error(void *arg, zc_peer peer, int err)
{
    (void)arg;
    (void)peer;
    (void)err;
    lost = true;
}

static void endpoint_up(void)
{
    size_t len = local ? file.local_len : file.address_len;
    const void *addr = local ? file.local : file.address;
    struct zc_tp_config cfg = {.provider = file.provider,
                               .toward = addr,
                               .toward_len = len,
                               .max_msg = ZC_MAX_MESSAGE,
                               .nrecv = 64,
                               .recv = on_message,
                               .peer_error = on_error};
    int rc = local ? zc_tp_local_open(&cfg, &tp) : zc_tp_ofi_open(&cfg, &tp);

    if (rc == 0)
        rc = zc_tp_peer_add(tp, addr, len, &server);
    if (rc)
        die("endpoint", rc);
}

static void say(struct zc_msg *m)
{
    unsigned char buf[ZC_MAX_MESSAGE];
    int n, rc;

    m->session = m->type == ZC_T_HELLO ? 0 : session;
    m->tag = zc_tag(1, ++count);
    n = zc_msg_encode(m, buf, sizeof buf);
    if (n < 0)
        die("message", n);
    if (m->type == ZC_T_HELLO)
        zc_handshake_begin(&shake, &file.secret, buf, (size_t)n);
    else if (zc_msg_has_mac(m->type))
        zc_mac_put(&keys, buf, (size_t)n);
    rc = zc_tp_send(tp, server, buf, (size_t)n);
    if (rc == -EPIPE || rc == -ECONNRESET)
        lost = true;
    else if (rc && !lost)
        die("send", rc);
}

static void greet(void)
{
    unsigned char addr[ZC_MAX_ADDRESS], nonce[ZC_NONCE_SIZE];
    uint64_t until = zc_now() + PATIENCE_S * 1000 * ZC_NS_PER_MS;
    unsigned before = hellos;
    size_t len = sizeof addr;
    struct zc_msg m = {.type = ZC_T_HELLO,
                       .magic = ZC_MAGIC,
                       .version_min = ZC_PROTOCOL,
                       .version_max = ZC_PROTOCOL,
                       .client_id = 1 + hellos,
                       .silence_ms = 30000,
                       .name = {"stranger", 8},
                       .method = ZC_METHOD_SECRET,
                       .nonce = {nonce, sizeof nonce}};

    if (zc_tp_address(tp, addr, &len) || zc_nonce_make(nonce))
        die("HELLO", 0);
    m.address = (struct zc_bytes){addr, (uint32_t)len};
    say(&m);
    while (hellos == before && !lost) {
        zc_tp_progress(tp, 10);
        if (zc_now() > until)
            die("HELLO", 0);
    }
    if (lost)
        die("connection lost", -ECONNRESET);
}

static void try(struct zc_msg m)
{
    say(&m);
    tried++;
}

/* As if it had been admitted. */
static void go_on(const char *path)
{
    static const char text[] = "by a stranger";
    struct zc_bytes name = {path, (uint32_t)strlen(path)}, data = {text, sizeof text - 1};
    const unsigned how = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE;

    try((struct zc_msg){.type = ZC_T_PING});
    try((struct zc_msg){.type = ZC_T_OPEN, .open_flags = how, .mode = 0644, .path = name});
    try((struct zc_msg){.type = ZC_T_OPEN, .open_flags = how | ZC_OPEN_EXPORTED, .path = name});
    for (uint64_t h = 1; h <= HANDLES; h++) {
        try((struct zc_msg){.type = ZC_T_READ, .handle = h, .len = 1000});
        try((struct zc_msg){.type = ZC_T_WRITE, .handle = h, .len = data.n, .data = data});
        try((struct zc_msg){.type = ZC_T_TRUNCATE, .handle = h, .size = 1});
    }
    try((struct zc_msg){.type = ZC_T_UNLINK, .path = name});
    try((struct zc_msg){.type = ZC_T_INFO, .what = ZC_INFO_STATS});
    try((struct zc_msg){.type = ZC_T_CONTROL, .what = ZC_CONTROL_STOP});
    try((struct zc_msg){.type = ZC_T_BYE});
}

int main(int argc, char **argv)
{
    const char *wish = getenv("ZCACHE_LOCAL");
    unsigned char proof[ZC_PROOF_SIZE];
    int rc;

    zc_log_init("zcbarge");
    if (argc != 3)
        return 2;
    local = wish && !strcmp(wish, "1");
    rc = zc_addrfile_read(argv[1], &file);
    if (rc)
        die("address file", rc);
    endpoint_up();
    greet();
    zc_handshake_prove(&shake, proof);
    zc_handshake_keys(&shake, false, local, &keys);
    try((struct zc_msg){.type = ZC_T_AUTH, .proof = {proof, sizeof proof}});
    go_on(argv[2]);
    greet();
    printf("tried %u, answered %u\n", tried, answered);
    zc_tp_close(tp);
    return answered ? 1 : 0;
}
