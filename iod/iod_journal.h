/* iod_journal.h - the daemon's journal, its cache and its store, put together. */
#ifndef IOD_JOURNAL_H
#define IOD_JOURNAL_H

#include <stdbool.h>

#include "zc_cache.h"
#include "zc_journal.h"
#include "zc_options.h"

/* Opens the journal that is asked for, or leaves *out NULL; 0 or a negative errno, explained. */
int iod_journal_open(const struct zc_settings *s, struct zc_journal **out);

/* Gives the cache, which stands on zc_store_journal_create(), what an earlier daemon had not
 * stored; *lost: not all of it came back, as the log says.  `bypassed`: a job has gone on without
 * that daemon.  Before anybody else uses the cache. */
int iod_journal_replay(struct zc_journal *j, struct zc_cache *c, struct zc_store *store,
                       bool bypassed, bool *lost);

/* The cache will end: nothing of it is asked any more, and what it gives up stays in the journal.
 * True: there is nothing to give up. */
bool iod_journal_end(struct zc_journal *j, struct zc_cache *c);

#endif
