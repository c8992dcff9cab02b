/* zc_seal.c - seals of messages, and which tags have been used. */
#include "config.h"

#include <sodium.h>
#include <string.h>

#include "zc_seal.h"
#include "zc_wire.h"

_Static_assert(crypto_shorthash_KEYBYTES == ZC_SEAL_KEY_SIZE, "the size of a key");
_Static_assert(crypto_shorthash_BYTES == ZC_SEAL_SIZE, "the size of a seal");

/* The seal of a message of `len` bytes. */
static void seal(unsigned char out[ZC_SEAL_SIZE], const unsigned char *msg, size_t len, bool brief,
                 const unsigned char *key)
{
    size_t n = len - ZC_SEAL_SIZE;

    crypto_shorthash(out, msg, brief && n > ZC_SEAL_BRIEF ? ZC_SEAL_BRIEF : n, key);
}

void zc_seal_put(const struct zc_keys *k, void *msg, size_t len)
{
    unsigned char *p = msg;

    seal(p + len - ZC_SEAL_SIZE, p, len, k->brief, k->ours);
}

bool zc_seal_check(const struct zc_keys *k, const void *msg, size_t len)
{
    const unsigned char *p = msg;
    unsigned char right[ZC_SEAL_SIZE];

    if (len < ZC_HEADER_SIZE + ZC_SEAL_SIZE)
        return false;
    seal(right, p, len, k->brief, k->theirs);
    return sodium_memcmp(right, p + len - ZC_SEAL_SIZE, sizeof right) == 0;
}

bool zc_lanes_take(struct zc_lanes *l, uint64_t tag)
{
    unsigned lane = zc_tag_lane(tag);

    if (lane >= ZC_LANES || tag <= l->last[lane])
        return false;
    l->last[lane] = tag;
    return true;
}
