/* iod_poly1305.h - Poly1305 by libcrypto, which takes a third of libsodium's time for a page.
 *
 * For daemons alone: the plugin is preloaded into programs that may have another libcrypto, and
 * has its libsodium inside.
 */
#ifndef IOD_POLY1305_H
#define IOD_POLY1305_H

#include <stdbool.h>

#include "zc_seal.h"

/* For zc_seal_sum_with(); to be called once, before the first thread. NULL, with ENOSYS explained:
 * there is none in this build, policy does not allow it, it is one that does harm here, or its sums
 * are not libsodium's. */
zc_poly1305_fn *iod_poly1305(void);

/* What makes it: "libcrypto 3.0.17". */
const char *iod_poly1305_name(char *buf, size_t len);

/* OpenSSL's CVE-2023-6129: on PowerPC that version leaves the caller's vector registers changed. */
bool iod_poly1305_does_harm(bool powerpc, unsigned major, unsigned minor, unsigned patch);

#endif
