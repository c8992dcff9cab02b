/* raw_peer.h - a peer of a rig's server that speaks for itself, over the loop transport.
 *
 * It knows the secret, and seals what it sends; or sends bytes as they are. */
#ifndef RAW_PEER_H
#define RAW_PEER_H

#include "rig.h"
#include "zc_handshake.h"
#include "zc_mac.h"

struct raw {
    struct zc_tp *tp;
    zc_peer peer;
    uint64_t id;                        /* 0: any */
    uint64_t replaces, replaces_client; /* HELLO's */
    uint32_t method;                    /* the same; 0: by the secret */
    struct zc_handshake shake;
    struct zc_keys keys; /* of the session, when there is one */
    uint64_t count;      /* of tags */
    struct zc_msg last;  /* what came last, and its bytes */
    unsigned char bytes[ZC_MAX_MESSAGE];
    size_t len;
    char text[256];
    unsigned received;
};

static inline void raw_recv(void *arg, const void *msg, size_t len)
{
    struct raw *r = arg;

    r->len = len < sizeof r->bytes ? len : sizeof r->bytes;
    memcpy(r->bytes, msg, r->len);
    if (zc_msg_decode(&r->last, r->bytes, r->len) == 0 || r->last.type) {
        snprintf(r->text, sizeof r->text, "%.*s", (int)r->last.text.n,
                 (const char *)r->last.text.p);
        r->received++;
    }
}

static inline void raw_up(struct raw *r, const struct rig *to)
{
    struct zc_tp_config tp = {.max_msg = ZC_MAX_MESSAGE, .nrecv = 4, .recv = raw_recv, .arg = r};

    memset(r, 0, sizeof *r);
    ck_assert_int_eq(zc_tp_loop_open(&tp, &r->tp), 0);
    ck_assert_int_eq(zc_tp_peer_add(r->tp, to->addr, to->addr_len, &r->peer), 0);
}

static inline void raw_bytes(struct raw *r, const void *buf, size_t len)
{
    ck_assert_int_eq(zc_tp_send(r->tp, r->peer, buf, len), 0);
}

/* The message as it is sent; with a new tag where it has none. */
static inline size_t raw_encode(struct raw *r, const struct zc_msg *m, unsigned char *buf)
{
    struct zc_msg tagged = *m;
    int n;

    if (!tagged.tag)
        tagged.tag = zc_tag(1, ++r->count);
    n = zc_msg_encode(&tagged, buf, ZC_MAX_MESSAGE);
    ck_assert_int_gt(n, 0);
    if (m->type == ZC_T_HELLO)
        zc_handshake_begin(&r->shake, &rig_secret, buf, (size_t)n);
    else if (zc_msg_has_mac(m->type))
        zc_mac_put(&r->keys, buf, (size_t)n);
    return (size_t)n;
}

static inline void raw_send(struct raw *r, const struct zc_msg *m)
{
    unsigned char buf[ZC_MAX_MESSAGE];
    size_t n = raw_encode(r, m, buf);

    raw_bytes(r, buf, n);
}

static inline void raw_call(struct raw *r, const struct zc_msg *m)
{
    unsigned before = r->received;

    raw_send(r, m);
    WAIT_FOR((zc_tp_progress(r->tp, 10), r->received > before));
}

/* R-HELLO has come: what is to be said now. */
static inline struct zc_msg raw_auth(struct raw *r, unsigned char proof[ZC_PROOF_SIZE])
{
    ck_assert_int_eq(r->last.status, 0);
    ck_assert_msg(zc_handshake_check_answer(&r->shake, r->bytes, r->len), "the server's proof");
    zc_handshake_prove(&r->shake, proof);
    zc_handshake_keys(&r->shake, false, false, &r->keys);
    return (struct zc_msg){
        .type = ZC_T_AUTH, .session = r->last.session, .proof = {proof, ZC_PROOF_SIZE}};
}

/* HELLO and its reply. */
static inline void raw_greet(struct raw *r, uint32_t silence_ms, uint16_t version)
{
    unsigned char addr[64], nonce[ZC_NONCE_SIZE] = {1};
    size_t len = sizeof addr;
    struct zc_msg m = {.type = ZC_T_HELLO,
                       .magic = ZC_MAGIC,
                       .version_min = version,
                       .version_max = version,
                       .client_id = r->id ? r->id : 4711,
                       .silence_ms = silence_ms,
                       .replaces = r->replaces,
                       .replaces_client = r->replaces_client,
                       .name = {"raw", 3},
                       .method = r->method ? r->method : ZC_METHOD_SECRET,
                       .nonce = {nonce, sizeof nonce}};

    zc_tp_address(r->tp, addr, &len);
    m.address = (struct zc_bytes){addr, (uint32_t)len};
    raw_call(r, &m);
}

/* The session's number; 0: it was refused. */
static inline uint64_t raw_hello(struct raw *r, uint32_t silence_ms, uint16_t version)
{
    unsigned char proof[ZC_PROOF_SIZE];
    struct zc_msg m;

    raw_greet(r, silence_ms, version);
    if (r->last.status)
        return 0;
    m = raw_auth(r, proof);
    raw_call(r, &m);
    ck_assert(zc_mac_check(&r->keys, r->bytes, r->len));
    return r->last.status ? 0 : r->last.session;
}

#endif
