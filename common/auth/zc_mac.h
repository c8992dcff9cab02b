/* zc_mac.h - message authentication codes: a message belongs to its session and direction, is
 * unchanged, and arrived once.
 *
 * The last bytes of a message are SipHash-2-4 of all others, with a key of the session and the
 * direction.  Without that key a message cannot be forged, changed, used in another session, or
 * reflected.
 *
 * The bytes after the first ZC_MAC_BRIEF, which hold the fields, enter as their Poly1305, which
 * saves a fifth of the time.  A Poly1305 key usually serves one message, because two results
 * disclose it. Here it serves all messages of a direction, because a result is never sent, only
 * SipHash of it. It only has to tell two messages apart: for any two chosen without the key it
 * fails with a probability of 2^-93 (8 * 1008 / 2^106, for 1008 blocks of 16 bytes); guessing a MAC
 * succeeds with 2^-64.  So no nonce is needed.  Since the tag is among the first bytes, even two
 * equal results of two requests would not show.
 *
 * Between processes of one host, whose channel no other process can write to (zc_tp_is_local()),
 * only the first ZC_MAC_BRIEF bytes are hashed; the kernel carries the data unchanged.
 *
 * Replay is detected by the tag, a slot and a count.  A slot carries one request at a time, each
 * with a higher count, and is free when the reply has come, so requests of one slot cannot overtake
 * each other, in whatever order a fabric delivers.  Requests without a reply use slot 0, where one
 * that was overtaken is dropped.  A reply is accepted once, by its tag.  Other messages of the
 * server are numbered, and accepted in rising order only.
 */
#ifndef ZC_MAC_H
#define ZC_MAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ZC_MAC_BRIEF = 256,
    ZC_SESSION_SLOTS = 65, /* requests a client may have under way, and slot 0 */
};

/* Keys of one direction of a session. */
struct zc_mac_key {
    unsigned char seal[16]; /* SipHash-2-4's */
    unsigned char rest[32]; /* Poly1305's */
};

/* Keys of a session, as one side holds them. */
struct zc_keys {
    struct zc_mac_key ours;   /* of what we send */
    struct zc_mac_key theirs; /* of what we receive */
    bool brief;               /* the channel is local */
};

/* Computes Poly1305 of `len` bytes at `p`.  It is libsodium's, unless the program sets a faster one
 * with the same result before its first thread starts.  Called by several threads at a time. */
typedef void zc_poly1305_fn(unsigned char sum[16], const void *p, size_t len,
                            const unsigned char key[32]);
void zc_mac_sum_with(zc_poly1305_fn *fn);
zc_poly1305_fn zc_mac_sum_default;

/* Writes the MAC of an encoded message into its last bytes, or checks it. */
void zc_mac_put(const struct zc_keys *k, void *msg, size_t len);
bool zc_mac_check(const struct zc_keys *k, const void *msg, size_t len);

/* The tag of a request; counts have 48 bits. */
static inline uint64_t zc_tag(unsigned lane, uint64_t count)
{
    return (uint64_t)lane << 48 | (count & (UINT64_MAX >> 16));
}

static inline unsigned zc_tag_slot(uint64_t tag)
{
    return (unsigned)(tag >> 48);
}

/* The last count received in each slot. */
struct zc_session_slots {
    uint64_t last[ZC_SESSION_SLOTS];
};

/* Accepts a request's tag; false: it is a repetition, or there is no such slot. */
bool zc_session_slots_take(struct zc_session_slots *l, uint64_t tag);

#endif
