/* zc_store_journal.h - a store, in front of any other, that tells a journal what becomes of a file:
 * its bytes are stored, cut off, deleted.
 *
 * It stands right below a cache.  Calls are passed on as they are; the journal hears of a store
 * write before the cache does, so that nobody is told of bytes as stored that the next start of the
 * daemon would write again.
 */
#ifndef ZC_STORE_JOURNAL_H
#define ZC_STORE_JOURNAL_H

#include "zc_journal.h"
#include "zc_store.h"

/* Takes ownership of `below`, unless it fails; the journal is borrowed. */
int zc_store_journal_create(struct zc_store *below, struct zc_journal *j, struct zc_store **out);

#endif
