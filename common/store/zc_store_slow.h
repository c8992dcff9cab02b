/* zc_store_slow.h - a store, in front of any other, that says which calls of it take long.
 *
 * A file system that hangs gives no error: a call that has lasted longer than a limit is told in
 * the log, once for its path, and again when that path answers.  Calls are passed on as they are.
 */
#ifndef ZC_STORE_SLOW_H
#define ZC_STORE_SLOW_H

#include "zc_store.h"

struct zc_store_slow_stats {
    uint64_t hung;       /* calls that have taken longer than the limit, and go on */
    uint64_t hangs;      /* calls that ever did */
    uint64_t longest_ms; /* the longest call, those that go on included */
};

/* Takes ownership of `below`, unless it fails.  `report_ms` is the limit, at least 1. */
int zc_store_slow_create(struct zc_store *below, uint64_t report_ms, struct zc_store **out);

/* Zeros for a store that is not of this kind, or NULL. */
void zc_store_slow_stats(struct zc_store *s, struct zc_store_slow_stats *out);

#endif
