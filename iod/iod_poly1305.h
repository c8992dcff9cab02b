/* iod_poly1305.h - Poly1305 by libcrypto, which takes a third of libsodium's time for a page.
 *
 * For daemons alone: the plugin is preloaded into programs that may have another libcrypto, and
 * has its libsodium inside.
 */
#ifndef IOD_POLY1305_H
#define IOD_POLY1305_H

#include "zc_seal.h"

/* For zc_seal_sum_with(); to be called once. NULL: there is none in this build, policy does not
 * allow it, or its sums are not libsodium's. */
zc_poly1305_fn *iod_poly1305(void);

#endif
