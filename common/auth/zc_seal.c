/* zc_seal.c - seals of messages, and which tags have been used. */
#include "config.h"

#include <sodium.h>
#include <string.h>

#include "zc_seal.h"
#include "zc_wire.h"

_Static_assert(crypto_shorthash_KEYBYTES == sizeof((struct zc_seal_key *)0)->seal, "a key");
_Static_assert(crypto_onetimeauth_KEYBYTES == sizeof((struct zc_seal_key *)0)->rest, "a key");
_Static_assert(crypto_onetimeauth_BYTES == 16, "what zc_poly1305_fn writes");
_Static_assert(crypto_shorthash_BYTES == ZC_SEAL_SIZE, "the size of a seal");

void zc_seal_sum_default(unsigned char sum[crypto_onetimeauth_BYTES], const void *p, size_t len,
                         const unsigned char key[crypto_onetimeauth_KEYBYTES])
{
    crypto_onetimeauth(sum, p, len, key);
}

static zc_poly1305_fn *sum_with = zc_seal_sum_default;

void zc_seal_sum_with(zc_poly1305_fn *fn)
{
    sum_with = fn;
}

/* The seal of a message of `len` bytes.  What is hashed of a long one is longer than any short one
 * is, so that none has the seal of the other. */
static void seal(unsigned char out[ZC_SEAL_SIZE], const unsigned char *msg, size_t len, bool brief,
                 const struct zc_seal_key *key)
{
    unsigned char both[ZC_SEAL_BRIEF + crypto_onetimeauth_BYTES];
    size_t n = len - ZC_SEAL_SIZE;

    if (n <= ZC_SEAL_BRIEF || brief) {
        crypto_shorthash(out, msg, n < ZC_SEAL_BRIEF ? n : ZC_SEAL_BRIEF, key->seal);
        return;
    }
    memcpy(both, msg, ZC_SEAL_BRIEF);
    sum_with(both + ZC_SEAL_BRIEF, msg + ZC_SEAL_BRIEF, n - ZC_SEAL_BRIEF, key->rest);
    crypto_shorthash(out, both, sizeof both, key->seal);
    sodium_memzero(both + ZC_SEAL_BRIEF, sizeof both - ZC_SEAL_BRIEF); /* two give the key away */
}

void zc_seal_put(const struct zc_keys *k, void *msg, size_t len)
{
    unsigned char *p = msg;

    seal(p + len - ZC_SEAL_SIZE, p, len, k->brief, &k->ours);
}

bool zc_seal_check(const struct zc_keys *k, const void *msg, size_t len)
{
    const unsigned char *p = msg;
    unsigned char right[ZC_SEAL_SIZE];
    bool same;

    if (len < ZC_HEADER_SIZE + ZC_SEAL_SIZE)
        return false;
    seal(right, p, len, k->brief, &k->theirs);
    same = sodium_memcmp(right, p + len - ZC_SEAL_SIZE, sizeof right) == 0;
    sodium_memzero(right, sizeof right);
    return same;
}

bool zc_lanes_take(struct zc_lanes *l, uint64_t tag)
{
    unsigned lane = zc_tag_lane(tag);

    if (lane >= ZC_LANES || tag <= l->last[lane])
        return false;
    l->last[lane] = tag;
    return true;
}
