/* iod_poly1305.c - Poly1305 by libcrypto. */
#include "config.h"

#include <errno.h>
#include <stdio.h>

#include "iod_poly1305.h"
#include "zc_log.h"

/* A distribution may have corrected it under the old number; then libsodium is used needlessly. */
bool iod_poly1305_does_harm(bool powerpc, unsigned major, unsigned minor, unsigned patch)
{
    static const unsigned mended[] = {13, 5, 1}; /* 3.0.13, 3.1.5, 3.2.1 */

    return powerpc && major == 3 && minor < sizeof mended / sizeof *mended && patch < mended[minor];
}

#ifdef HAVE_LIBCRYPTO

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <string.h>

enum { SUM = 16, KEY = 32 };

#if defined(__powerpc__) || defined(__powerpc64__) || defined(__PPC__)
enum { POWERPC = 1 };
#else
enum { POWERPC = 0 };
#endif

static EVP_MAC *mac;
static pthread_key_t contexts; /* one per thread */

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

/* Falls back to libsodium if libcrypto fails, for example without memory. */
static void poly1305(unsigned char sum[SUM], const void *p, size_t len,
                     const unsigned char key[KEY])
{
    EVP_MAC_CTX *ctx = own_context();
    size_t n = 0;

    if (!ctx || !EVP_MAC_init(ctx, key, KEY, NULL) || !EVP_MAC_update(ctx, p, len) ||
        !EVP_MAC_final(ctx, sum, &n, SUM) || n != SUM)
        zc_mac_sum_default(sum, p, len, key);
}

/* Whether sums equal those of clients, which use libsodium. */
static bool is_the_same(void)
{
    static const unsigned char text[4100] = "some text", key[KEY] = "and a key";
    unsigned char ours[SUM], theirs[SUM];

    poly1305(ours, text, sizeof text, key);
    zc_mac_sum_default(theirs, text, sizeof text, key);
    return memcmp(ours, theirs, SUM) == 0;
}

const char *iod_poly1305_name(char *buf, size_t len)
{
    snprintf(buf, len, "libcrypto %s", OpenSSL_version(OPENSSL_VERSION_STRING));
    return buf;
}

zc_poly1305_fn *iod_poly1305(void)
{
    char name[64];

    iod_poly1305_name(name, sizeof name);
    if (iod_poly1305_does_harm(POWERPC, OPENSSL_version_major(), OPENSSL_version_minor(),
                               OPENSSL_version_patch())) {
        zc_errorf(ENOSYS, "%s changes registers of its caller on this processor (CVE-2023-6129)",
                  name);
        return NULL;
    }
    mac = EVP_MAC_fetch(NULL, "POLY1305", NULL);
    if (!mac || pthread_key_create(&contexts, end_context) != 0) {
        zc_errorf(ENOSYS, "%s has no Poly1305 here, as where its settings want FIPS", name);
        EVP_MAC_free(mac);
        return NULL;
    }
    if (is_the_same())
        return poly1305;
    zc_errorf(ENOSYS, "the Poly1305 of %s is another one", name);
    zc_warn("%s", zc_error_text(ENOSYS));
    return NULL;
}

#else

const char *iod_poly1305_name(char *buf, size_t len)
{
    snprintf(buf, len, "no libcrypto");
    return buf;
}

zc_poly1305_fn *iod_poly1305(void)
{
    zc_errorf(ENOSYS, "it was built without libcrypto");
    return NULL;
}

#endif
