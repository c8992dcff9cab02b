/* iod_journal.h - connects the daemon's journal with its cache and store. */
#ifndef IOD_JOURNAL_H
#define IOD_JOURNAL_H

#include <stdbool.h>

#include "zc_cache.h"
#include "zc_journal.h"
#include "zc_options.h"

/* Opens the journal of the settings; *out NULL: there is none.  `seat` and `boot_id` of this daemon
 * go into the root's record.  Returns 0 or a negative errno, explained. */
int iod_journal_open(const struct zc_settings *s, uint64_t seat, uint64_t boot_id,
                     struct zc_journal **out);

/* Makes this daemon the holder of its seat, with or without a journal; before the first session. */
int iod_journal_serve(const struct zc_settings *s, uint64_t seat, uint64_t boot_id,
                      struct zc_journal *j);

/* Writes to the cache, whose store is of zc_store_journal_create(), the bytes that an earlier
 * daemon had not stored.  *lost: some could not be restored, which was logged.  `bypassed`: a job
 * has gone on without that daemon.  Before any other use of the cache. */
int iod_journal_replay(struct zc_journal *j, struct zc_cache *c, struct zc_store *store,
                       bool bypassed, bool *lost);

/* Detaches the journal from the cache, which ends: bytes that are still dirty stay in the journal.
 * Returns whether there are none. */
bool iod_journal_end(struct zc_journal *j, struct zc_cache *c);

#endif
