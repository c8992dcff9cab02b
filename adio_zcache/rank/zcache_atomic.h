/* zcache_atomic.h - accesses in atomic mode. */
#ifndef ZCACHE_ATOMIC_H
#define ZCACHE_ATOMIC_H

#include "zcache_access.h"

/* Makes an access, as zcache_transfer(), while no other access in atomic mode touches the bytes
 * between its first and its last; readers share them. */
int64_t zcache_transfer_atomic(const struct zcache_access *a);

#endif
