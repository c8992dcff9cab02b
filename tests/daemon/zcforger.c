/* zcforger.c - for tests of the daemon: a false daemon.
 *
 *     zcforger ADDRESS-FILE CREDENTIAL
 *
 * Starts where the file's daemon would be reached, with its provider and by a local socket; prints
 * "ready ADDRESS LOCAL", in hexadecimal as in address files.  Answers each HELLO with the boot id
 * in the file, and a proof by the secret in it, or by the public number of a daemon of many users;
 * takes what follows for a session, and replies as if all were well.  A credential is decoded as
 * the user that runs this, and written to the file CREDENTIAL.  When its input ends it prints what
 * was sent to it, a line "HELLO N, AUTH N, CREDENTIAL N, others N", and before that munge's answer
 * about a credential.
 */
#include "config.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_addrfile.h"
#include "zc_handshake.h"
#include "zc_log.h"
#include "zc_mac.h"
#include "zc_munge.h"
#include "zc_tp_both.h"
#include "zc_wire.h"

enum { SESSION = 4711 };

static struct zc_addrfile file;
static struct zc_tp *tp;
static zc_peer client;
static struct zc_handshake shake;
static struct zc_keys keys;
static const char *credentials;
static unsigned hellos, auths, vouches, others;

static void say(const struct zc_msg *m)
{
    unsigned char buf[ZC_MAX_MESSAGE];
    int n = zc_msg_encode(m, buf, sizeof buf);

    if (n < 0)
        return;
    if (m->type == (ZC_T_HELLO | ZC_REPLY))
        zc_handshake_answer(&shake, buf, (size_t)n);
    else
        zc_mac_put(&keys, buf, (size_t)n);
    zc_tp_send(tp, client, buf, (size_t)n);
}

static void answer_hello(const struct zc_msg *m, const void *buf, size_t len, struct zc_msg *r)
{
    static const unsigned char nonce[ZC_NONCE_SIZE] = {9}, room[ZC_PROOF_SIZE];

    hellos++;
    if (zc_tp_peer_add(tp, m->address.p, m->address.n, &client))
        return;
    zc_handshake_begin(&shake, &file.secret, buf, len);
    r->version_min = r->version_max = ZC_PROTOCOL;
    r->boot_id = r->identity = file.boot_id;
    r->silence_ms = 60000;
    r->max_inline = ZC_MAX_INLINE;
    r->credits = 4;
    r->page_size = 4096;
    r->nonce = (struct zc_bytes){nonce, sizeof nonce};
    r->proof = (struct zc_bytes){room, sizeof room};
    say(r);
    zc_handshake_keys(&shake, true, false, &keys);
}

/* The credential was made for another user; does what is possible without the key in it. */
static void try_credential(const struct zc_msg *m)
{
    char text[ZC_MAX_CREDENTIAL + 1];
    struct zc_pledge pledge;
    uid_t uid;
    gid_t gid;
    FILE *f;
    int rc;

    vouches++;
    snprintf(text, sizeof text, "%.*s", (int)m->credential.n, (const char *)m->credential.p);
    rc = zc_munge_read(text, &pledge, &uid, &gid);
    printf("credential: %s\n", rc ? zc_error_text(rc) : "read");
    if (rc == 0) {
        zc_handshake_confirmed(&shake, pledge.key);
        zc_handshake_keys(&shake, true, false, &keys);
    }
    f = fopen(credentials, "w");
    if (f) {
        fprintf(f, "%s\n", text);
        fclose(f);
    }
}

static void on_message(void *arg, const void *buf, size_t len)
{
    struct zc_msg m, r = {.session = SESSION, .handle = 1};

    (void)arg;
    if (zc_msg_decode(&m, buf, len)) {
        others++;
        return;
    }
    r.type = m.type | ZC_REPLY;
    r.tag = m.tag;
    if (m.type == ZC_T_HELLO) {
        answer_hello(&m, buf, len, &r);
        return;
    }
    if (m.type == ZC_T_CREDENTIAL)
        try_credential(&m);
    else if (m.type == ZC_T_AUTH)
        auths++;
    else
        others++;
    say(&r);
}

static void print_hex(const unsigned char *p, size_t n)
{
    putchar(' ');
    while (n--)
        printf("%02x", *p++);
}

static int begin(void)
{
    struct zc_tp_config cfg = {.provider = file.provider,
                               .listen = "127.0.0.1",
                               .max_msg = ZC_MAX_MESSAGE,
                               .nrecv = 64,
                               .recv = on_message};
    unsigned char far[ZC_MAX_ADDRESS], near[ZC_MAX_ADDRESS];
    size_t far_len = sizeof far, near_len = sizeof near;
    int rc = zc_tp_both_open(&cfg, &tp);

    if (rc == 0)
        rc = zc_tp_address(tp, far, &far_len);
    if (rc == 0)
        rc = zc_tp_local_address(tp, near, &near_len);
    if (rc)
        return rc;
    printf("ready");
    print_hex(far, far_len);
    print_hex(near, near_len);
    putchar('\n');
    fflush(stdout);
    return 0;
}

int main(int argc, char **argv)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    int rc;

    zc_log_init("zcforger");
    if (argc != 3)
        return 2;
    credentials = argv[2];
    rc = zc_addrfile_read(argv[1], &file);
    if (rc == 0)
        rc = begin();
    while (rc >= 0 && poll(&input, 1, 0) == 0)
        rc = zc_tp_progress(tp, 10);
    if (rc < 0) {
        fprintf(stderr, "zcforger: %s\n", zc_error_text(rc));
        return 1;
    }
    printf("HELLO %u, AUTH %u, CREDENTIAL %u, others %u\n", hellos, auths, vouches, others);
    zc_tp_close(tp);
    return 0;
}
