/* noseal.c - for tests/bench/seals.sh alone: preloaded into a daemon and its clients, all seals are
 * the same and cost nothing, so that what they cost shows beside those without it.
 *
 * It stands in front of the functions of libsodium and libcrypto that make them.  Who can preload
 * something into a daemon is its owner; to anybody else's client one with this is a daemon that
 * forges.
 */
#include "config.h"

#include <string.h>

struct evp_mac_ctx_st;

/* The declarations of both; their headers want attributes of their own. */
int crypto_shorthash(unsigned char *out, const unsigned char *in, unsigned long long inlen,
                     const unsigned char *k);
int crypto_onetimeauth(unsigned char *out, const unsigned char *in, unsigned long long inlen,
                       const unsigned char *k);
int EVP_MAC_init(struct evp_mac_ctx_st *ctx, const unsigned char *key, size_t keylen,
                 const void *params);
int EVP_MAC_update(struct evp_mac_ctx_st *ctx, const unsigned char *data, size_t datalen);
int EVP_MAC_final(struct evp_mac_ctx_st *ctx, unsigned char *out, size_t *outl, size_t outsize);

int EVP_MAC_init(struct evp_mac_ctx_st *ctx, const unsigned char *key, size_t keylen,
                 const void *params)
{
    (void)ctx;
    (void)key;
    (void)keylen;
    (void)params;
    return 1;
}

int EVP_MAC_update(struct evp_mac_ctx_st *ctx, const unsigned char *data, size_t datalen)
{
    (void)ctx;
    (void)data;
    (void)datalen;
    return 1;
}

int EVP_MAC_final(struct evp_mac_ctx_st *ctx, unsigned char *out, size_t *outl, size_t outsize)
{
    (void)ctx;
    memset(out, 0, outsize);
    *outl = outsize;
    return 1;
}

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
