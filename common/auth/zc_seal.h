/* zc_seal.h - seals: a message is of its session, of this side, as it was sent, and came once.
 *
 * The last bytes of a sealed message are SipHash-2-4 of all others, keyed with a key of the session
 * and of the direction.  Who does not have that cannot make one, change one, use one in another
 * session, or send one back to where it came from.
 *
 * In place of what is behind the first ZC_SEAL_BRIEF bytes, where the fields stand, its Poly1305 is
 * hashed, which takes a fifth less.  A key of Poly1305 is usually for one message, because two
 * results of one key give it away.  Here it is for all of a session's direction, because nobody
 * ever sees a result: what is sent is SipHash of it.  So it has to do one thing only, to tell two
 * messages apart, and for any two that somebody chooses without the key it fails with a probability
 * of 2^-93 (8 * 1008 / 2^106, for 1008 blocks of 16 bytes); to guess a seal is 2^-64.  No message
 * needs a number that is used once for that.  Since the tag is among the first bytes, not even two
 * equal results of two requests would show.
 *
 * Between processes of one host, whose channel nobody else can write to (zc_tp_is_local()), only
 * the first ZC_SEAL_BRIEF bytes are hashed, and not the data, which the kernel carries as it is.
 *
 * Nor send a request once more: its tag has been used.  A tag is a lane and a count.  A lane
 * carries one request at a time, and the next with a higher count; it is free again when the reply
 * has come, so messages of one lane cannot overtake each other, in whatever order a fabric
 * delivers.  Requests that nobody waits for go by lane 0, where one that was overtaken is thrown
 * away.  A reply is taken once, by its tag.  Other messages of the server are numbered, and taken
 * in that order only.
 */
#ifndef ZC_SEAL_H
#define ZC_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ZC_SEAL_BRIEF = 256,
    ZC_LANES = 65, /* requests that a client may have under way, and lane 0 */
};

/* Of a session and a direction. */
struct zc_seal_key {
    unsigned char seal[16]; /* SipHash-2-4's */
    unsigned char rest[32]; /* Poly1305's */
};

/* Of a session, for one of its sides. */
struct zc_keys {
    struct zc_seal_key ours;   /* of what we send */
    struct zc_seal_key theirs; /* of what we receive */
    bool brief;                /* the channel is local */
};

/* Poly1305 of `len` bytes at `p`. It is libsodium's, unless a program that has a faster one names
 * it before its first thread starts: the sum is the same. Threads call it at the same time. */
typedef void zc_poly1305_fn(unsigned char sum[16], const void *p, size_t len,
                            const unsigned char key[32]);
void zc_seal_sum_with(zc_poly1305_fn *fn);
zc_poly1305_fn zc_seal_sum_default;

/* Writes the seal of an encoded message into its last bytes; or looks whether it is right. */
void zc_seal_put(const struct zc_keys *k, void *msg, size_t len);
bool zc_seal_check(const struct zc_keys *k, const void *msg, size_t len);

/* The tag of a request; counts have 48 bits. */
static inline uint64_t zc_tag(unsigned lane, uint64_t count)
{
    return (uint64_t)lane << 48 | (count & (UINT64_MAX >> 16));
}

static inline unsigned zc_tag_lane(uint64_t tag)
{
    return (unsigned)(tag >> 48);
}

/* What has come by each lane. */
struct zc_lanes {
    uint64_t last[ZC_LANES];
};

/* Takes a request's tag; false: it has come before, or there is no such lane. */
bool zc_lanes_take(struct zc_lanes *l, uint64_t tag);

#endif
