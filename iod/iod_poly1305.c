/* iod_poly1305.c - Poly1305 by libcrypto. */
#include "config.h"

#include "iod_poly1305.h"

#ifdef HAVE_LIBCRYPTO

#include <openssl/evp.h>
#include <pthread.h>
#include <string.h>

#include "zc_log.h"

enum { SUM = 16, KEY = 32 };

static EVP_MAC *mac;
static pthread_key_t contexts; /* of each thread its own */

static void end_context(void *ctx)
{
    EVP_MAC_CTX_free(ctx);
}

static EVP_MAC_CTX *own_context(void)
{
    EVP_MAC_CTX *ctx = pthread_getspecific(contexts);

    if (ctx)
        return ctx;
    ctx = EVP_MAC_CTX_new(mac);
    if (ctx && pthread_setspecific(contexts, ctx) != 0) {
        EVP_MAC_CTX_free(ctx);
        ctx = NULL;
    }
    return ctx;
}

/* Where libcrypto fails, as for want of memory, libsodium does not. */
static void poly1305(unsigned char sum[SUM], const void *p, size_t len,
                     const unsigned char key[KEY])
{
    EVP_MAC_CTX *ctx = own_context();
    size_t n = 0;

    if (!ctx || !EVP_MAC_init(ctx, key, KEY, NULL) || !EVP_MAC_update(ctx, p, len) ||
        !EVP_MAC_final(ctx, sum, &n, SUM) || n != SUM)
        zc_seal_sum_default(sum, p, len, key);
}

zc_poly1305_fn *iod_poly1305(void)
{
    static const unsigned char text[4100] = "some text", key[KEY] = "and a key";
    unsigned char ours[SUM], theirs[SUM];

    mac = EVP_MAC_fetch(NULL, "POLY1305", NULL);
    if (!mac || pthread_key_create(&contexts, end_context) != 0) {
        zc_debug("libcrypto has no Poly1305 here: libsodium makes the seals");
        EVP_MAC_free(mac);
        return NULL;
    }
    poly1305(ours, text, sizeof text, key);
    zc_seal_sum_default(theirs, text, sizeof text, key);
    if (memcmp(ours, theirs, SUM) == 0)
        return poly1305;
    zc_warn("libcrypto's Poly1305 is not libsodium's: libsodium makes the seals");
    return NULL;
}

#else

zc_poly1305_fn *iod_poly1305(void)
{
    return NULL;
}

#endif
