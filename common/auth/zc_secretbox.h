/* zc_secretbox.h - authenticated encryption with a shared secret.
 *
 * For data that a third party stores or can read on its way: XSalsa20 and Poly1305, with a key
 * derived from the secret, and a random nonce in front.  Pure functions; any thread.
 */
#ifndef ZC_SECRETBOX_H
#define ZC_SECRETBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "zc_handshake.h"

enum { ZC_SECRETBOX_EXTRA = 24 + 16 }; /* size of a box minus that of its contents */

/* Encrypts; `box` has room for len + ZC_SECRETBOX_EXTRA bytes.  0 or a negative errno,
 * explained. */
int zc_secretbox_close(const struct zc_secret *secret, const void *bytes, size_t len, void *box);
/* Decrypts a box of `len` bytes; `bytes` has room for ZC_SECRETBOX_EXTRA less.  False: it was not
 * made with this secret, or was changed. */
bool zc_secretbox_open(const struct zc_secret *secret, const void *box, size_t len, void *bytes);

#endif
