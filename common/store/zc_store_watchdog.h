/* zc_store_watchdog.h - a store in front of another that reports calls that take long.
 *
 * A hung file system returns no error: a call that exceeds a limit is logged, once per path, and
 * again when that path responds.  Calls are passed on unchanged.
 */
#ifndef ZC_STORE_WATCHDOG_H
#define ZC_STORE_WATCHDOG_H

#include "zc_store.h"

struct zc_store_watchdog_stats {
    uint64_t hung;       /* calls under way beyond the limit */
    uint64_t hangs;      /* all calls that exceeded it */
    uint64_t longest_ms; /* the longest call, including those under way */
};

/* Takes ownership of `below`, unless it fails.  `report_ms` is the limit, at least 1. */
int zc_store_watchdog_create(struct zc_store *below, uint64_t report_ms, struct zc_store **out);

/* Returns zeros for another kind of store, or NULL. */
void zc_store_watchdog_stats(struct zc_store *s, struct zc_store_watchdog_stats *out);

#endif
