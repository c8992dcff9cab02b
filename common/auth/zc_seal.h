/* zc_seal.h - seals: a message is of its session, of this side, as it was sent, and came once.
 *
 * The last bytes of a sealed message are SipHash-2-4 of all others, keyed with a key of the session
 * and of the direction.  Who does not have that cannot make one, change one, use one in another
 * session, or send one back to where it came from.
 *
 * Between processes of one host, whose channel nobody else can write to (zc_tp_is_local()), only
 * the first ZC_SEAL_BRIEF bytes are hashed, where the fields stand, and not the data, which the
 * kernel carries as it is.
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
    ZC_SEAL_KEY_SIZE = 16,
    ZC_SEAL_BRIEF = 256,
    ZC_LANES = 65, /* requests that a client may have under way, and lane 0 */
};

/* Of a session, for one of its sides. */
struct zc_keys {
    unsigned char ours[ZC_SEAL_KEY_SIZE];   /* of what we send */
    unsigned char theirs[ZC_SEAL_KEY_SIZE]; /* of what we receive */
    bool brief;                             /* the channel is local */
};

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
