/* noseal.c - for tests/bench/seals.sh alone: preloaded into a daemon and its clients, it makes all
 * MACs equal and free, so that a comparison shows what they cost.
 *
 * It replaces the functions of libsodium and libcrypto that compute them.  Only the owner of a
 * daemon can preload it there; to a client without it, such a daemon fails authentication.
 */
#include "config.h"

#include <string.h>

struct evp_mac_ctx_st;

/* Declarations of both; their headers want attributes of their own. */
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
