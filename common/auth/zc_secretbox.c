/* zc_secretbox.c - authenticated encryption with a shared secret. */
#include "config.h"

#include <errno.h>
#include <sodium.h>
#include <sys/random.h>

#include "zc_log.h"
#include "zc_secretbox.h"

enum { NONCE = crypto_secretbox_NONCEBYTES };

_Static_assert(ZC_SECRETBOX_EXTRA == NONCE + crypto_secretbox_MACBYTES, "the size of a box");

/* Differs from the keys of handshakes. */
static void key_of(const struct zc_secret *secret, unsigned char key[crypto_secretbox_KEYBYTES])
{
    static const unsigned char label[] = "zcache box";

    crypto_generichash(key, crypto_secretbox_KEYBYTES, label, sizeof label, secret->bytes,
                       sizeof secret->bytes);
}

int zc_secretbox_close(const struct zc_secret *secret, const void *bytes, size_t len, void *box)
{
    unsigned char key[crypto_secretbox_KEYBYTES], *nonce = box;

    if (getrandom(nonce, NONCE, 0) != NONCE)
        return zc_errorf(errno, "no random numbers for a nonce");
    key_of(secret, key);
    crypto_secretbox_easy(nonce + NONCE, bytes, len, nonce, key);
    sodium_memzero(key, sizeof key);
    return 0;
}

bool zc_secretbox_open(const struct zc_secret *secret, const void *box, size_t len, void *bytes)
{
    unsigned char key[crypto_secretbox_KEYBYTES];
    const unsigned char *nonce = box;
    bool opened;

    if (len < ZC_SECRETBOX_EXTRA)
        return false;
    key_of(secret, key);
    opened = crypto_secretbox_open_easy(bytes, nonce + NONCE, len - NONCE, nonce, key) == 0;
    sodium_memzero(key, sizeof key);
    return opened;
}
