/* zc_mac.c - MACs of messages, and which tags have been used. */
#include "config.h"

#include <sodium.h>
#include <string.h>

#include "zc_mac.h"
#include "zc_wire.h"

_Static_assert(crypto_shorthash_KEYBYTES == sizeof((struct zc_mac_key *)0)->seal, "a key");
_Static_assert(crypto_onetimeauth_KEYBYTES == sizeof((struct zc_mac_key *)0)->rest, "a key");
_Static_assert(crypto_onetimeauth_BYTES == 16, "what zc_poly1305_fn writes");
_Static_assert(crypto_shorthash_BYTES == ZC_MAC_SIZE, "the size of a MAC");

void zc_mac_sum_default(unsigned char sum[crypto_onetimeauth_BYTES], const void *p, size_t len,
                        const unsigned char key[crypto_onetimeauth_KEYBYTES])
{
    crypto_onetimeauth(sum, p, len, key);
}

static zc_poly1305_fn *sum_with = zc_mac_sum_default;

void zc_mac_sum_with(zc_poly1305_fn *fn)
{
    sum_with = fn;
}

/* Makes the MAC of a message of `len` bytes.  The input to the hash of a long message is longer
 * than that of any short one, so that no two have the same MAC. */
static void seal(unsigned char out[ZC_MAC_SIZE], const unsigned char *msg, size_t len, bool brief,
                 const struct zc_mac_key *key)
{
    unsigned char both[ZC_MAC_BRIEF + crypto_onetimeauth_BYTES];
    size_t n = len - ZC_MAC_SIZE;

    if (n <= ZC_MAC_BRIEF || brief) {
        crypto_shorthash(out, msg, n < ZC_MAC_BRIEF ? n : ZC_MAC_BRIEF, key->seal);
        return;
    }
    memcpy(both, msg, ZC_MAC_BRIEF);
    sum_with(both + ZC_MAC_BRIEF, msg + ZC_MAC_BRIEF, n - ZC_MAC_BRIEF, key->rest);
    crypto_shorthash(out, both, sizeof both, key->seal);
    sodium_memzero(both + ZC_MAC_BRIEF, sizeof both - ZC_MAC_BRIEF); /* two give the key away */
}

void zc_mac_put(const struct zc_keys *k, void *msg, size_t len)
{
    unsigned char *p = msg;

    seal(p + len - ZC_MAC_SIZE, p, len, k->brief, &k->ours);
}

bool zc_mac_check(const struct zc_keys *k, const void *msg, size_t len)
{
    const unsigned char *p = msg;
    unsigned char right[ZC_MAC_SIZE];
    bool same;

    if (len < ZC_HEADER_SIZE + ZC_MAC_SIZE)
        return false;
    seal(right, p, len, k->brief, &k->theirs);
    same = sodium_memcmp(right, p + len - ZC_MAC_SIZE, sizeof right) == 0;
    sodium_memzero(right, sizeof right);
    return same;
}

bool zc_session_slots_take(struct zc_session_slots *l, uint64_t tag)
{
    unsigned lane = zc_tag_slot(tag);

    if (lane >= ZC_SESSION_SLOTS || tag <= l->last[lane])
        return false;
    l->last[lane] = tag;
    return true;
}
