/* zcache_stores.h - the stores this process has open, shared by its files.
 *
 * Connections to daemons cost more than a small file: they are kept until MPI_Finalize, or as long
 * as files are open while that is under way.
 * Threads: any; stores of different daemons are opened at the same time.
 */
#ifndef ZCACHE_STORES_H
#define ZCACHE_STORES_H

#include <stdbool.h>

#include "zc_settings.h"
#include "zc_store.h"

struct zcache_store;

/* Finds or opens the store that `s` asks for: daemons, or the file system itself when there are
 * none.  Asks daemons with a connection whether they are there, and connects again to those that do
 * not answer: they may have been started again.  `rank` is for the daemon's log.  Calls MPI.
 * Returns 0, or a negative errno, explained.  zcache_store_put() gives it back. */
int zcache_store_get(const struct zc_settings *s, int rank, struct zcache_store **out);
/* The same without asking a single daemon, for a caller that calls zcache_store_get() if its own
 * first request, of a kind that may be repeated, is not answered. */
int zcache_store_get_unasked(const struct zc_settings *s, int rank, struct zcache_store **out);
/* Whether that request's result means that: a daemon has gone, and another may be in its place. */
bool zcache_store_is_gone(int rc);
/* Counts one more user of it. */
void zcache_store_hold(struct zcache_store *s);
/* Counts one user less; the last closes it.  `broken`: no later call finds it. */
void zcache_store_put(struct zcache_store *s, bool broken);

struct zc_store *zcache_store_files(const struct zcache_store *s);

/* Sets a function to be called once, before the store is closed, when it has no users any more: it
 * ends what uses the store.  All callers give the same function; each is a user of the store. */
void zcache_store_before_close(struct zcache_store *s, void (*fn)(struct zcache_store *s));

#endif
