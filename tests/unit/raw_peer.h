/* raw_peer.h - a peer of a rig's server that speaks for itself, over the loop transport. */
#ifndef RAW_PEER_H
#define RAW_PEER_H

#include "rig.h"

struct raw {
    struct zc_tp *tp;
    zc_peer peer;
    uint64_t id; /* 0: any */
    struct zc_msg last;
    char text[256];
    unsigned received;
};

static inline void raw_recv(void *arg, const void *msg, size_t len)
{
    struct raw *r = arg;

    if (zc_msg_decode(&r->last, msg, len) == 0 || r->last.type) {
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

static inline void raw_send(struct raw *r, struct zc_msg *m)
{
    unsigned char buf[ZC_MAX_MESSAGE];
    int n = zc_msg_encode(m, buf, sizeof buf);

    ck_assert_int_gt(n, 0);
    ck_assert_int_eq(zc_tp_send(r->tp, r->peer, buf, (size_t)n), 0);
}

static inline void raw_call(struct raw *r, struct zc_msg *m)
{
    unsigned before = r->received;

    raw_send(r, m);
    WAIT_FOR((zc_tp_progress(r->tp, 10), r->received > before));
}

static inline uint64_t raw_hello(struct raw *r, uint32_t silence_ms, uint16_t version)
{
    unsigned char addr[64];
    size_t len = sizeof addr;
    struct zc_msg m = {.type = ZC_T_HELLO,
                       .magic = ZC_MAGIC,
                       .version_min = version,
                       .version_max = version,
                       .client_id = r->id ? r->id : 4711,
                       .silence_ms = silence_ms,
                       .name = {"raw", 3}};

    zc_tp_address(r->tp, addr, &len);
    m.address = (struct zc_bytes){addr, (uint32_t)len};
    raw_call(r, &m);
    return r->last.session;
}

#endif
