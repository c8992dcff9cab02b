/* iod_poly1305.h - Poly1305 by libcrypto, which takes a third of libsodium's time for a page.
 *
 * For daemons alone: the plugin is preloaded into programs that may have another libcrypto, and
 * has its libsodium inside.
 */
#ifndef IOD_POLY1305_H
#define IOD_POLY1305_H

#include <stdbool.h>

#include "zc_mac.h"

/* Returns the function for zc_mac_sum_with().  NULL, with ENOSYS explained: this build has none,
 * the policy of libcrypto forbids it, this version corrupts registers on this processor, or its
 * sums differ from libsodium's.  To call once, before the first thread. */
zc_poly1305_fn *iod_poly1305(void);

/* Writes the library and its version, "libcrypto 3.0.17", to `buf`; returns it. */
const char *iod_poly1305_name(char *buf, size_t len);

/* Whether the version has OpenSSL's CVE-2023-6129: on PowerPC it corrupts vector registers of its
 * caller. */
bool iod_poly1305_does_harm(bool powerpc, unsigned major, unsigned minor, unsigned patch);

#endif
