/* zc_store_journal.h - a store in front of another that notes in a journal which bytes of a file
 * are stored, truncated or deleted.
 *
 * It stands right below a cache and passes calls on unchanged.  The journal learns of a completed
 * store write before the cache does, so that no bytes are reported as stored that the next start of
 * the daemon would write again.
 */
#ifndef ZC_STORE_JOURNAL_H
#define ZC_STORE_JOURNAL_H

#include "zc_journal.h"
#include "zc_store.h"

/* Takes ownership of `below`, unless it fails; borrows the journal. */
int zc_store_journal_create(struct zc_store *below, struct zc_journal *j, struct zc_store **out);

#endif
