/* noseal.c - for tests/bench/seals.sh alone: preloaded into a daemon and its clients, all seals are
 * the same and cost nothing, so that what they cost shows beside those without it.
 *
 * It stands in front of the functions of libsodium that make them.  Who can preload something into
 * a daemon is its owner; to anybody else's client one with this is a daemon that forges.
 */
#include "config.h"

#include <string.h>

/* The declarations of libsodium; its header wants the attributes of its own. */
int crypto_shorthash(unsigned char *out, const unsigned char *in, unsigned long long inlen,
                     const unsigned char *k);
int crypto_onetimeauth(unsigned char *out, const unsigned char *in, unsigned long long inlen,
                       const unsigned char *k);

int crypto_shorthash(unsigned char *out, const unsigned char *in, unsigned long long inlen,
                     const unsigned char *k)
{
    (void)in;
    (void)inlen;
    (void)k;
    memset(out, 0, 8);
    return 0;
}

int crypto_onetimeauth(unsigned char *out, const unsigned char *in, unsigned long long inlen,
                       const unsigned char *k)
{
    (void)in;
    (void)inlen;
    (void)k;
    memset(out, 0, 16);
    return 0;
}
