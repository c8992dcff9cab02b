/* zc_box.h - bytes that only those read and make who know a secret.
 *
 * For what lies with somebody in between, or travels past eavesdroppers: XSalsa20 and Poly1305,
 * with a key made of the secret, and a random nonce in front.  Pure functions; any thread.
 */
#ifndef ZC_BOX_H
#define ZC_BOX_H

#include <stdbool.h>
#include <stddef.h>

#include "zc_shake.h"

enum { ZC_BOX_EXTRA = 24 + 16 }; /* bytes that a box is longer than what is in it */

/* `box` has room for len + ZC_BOX_EXTRA bytes.  0 or a negative errno, explained. */
int zc_box_close(const struct zc_secret *secret, const void *bytes, size_t len, void *box);
/* `len` bytes of a box; `bytes` has room for ZC_BOX_EXTRA less.  False: it was made, or changed, by
 * somebody else. */
bool zc_box_open(const struct zc_secret *secret, const void *box, size_t len, void *bytes);

#endif
