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

/* The store that `s` asks for: daemons, or the file system itself when there are none.  Asks
 * daemons we are connected to whether they are there, and connects again if they are not: they
 * may have been started again.  `rank` is for the daemon's log.  Calls MPI.  0, or a negative
 * errno, explained.  Give it back with zcache_store_put(). */
int zcache_store_get(const struct zc_settings *s, int rank, struct zcache_store **out);
/* One more user of it. */
void zcache_store_hold(struct zcache_store *s);
/* `broken`: do not offer it again; it is closed with its last user. */
void zcache_store_put(struct zcache_store *s, bool broken);

struct zc_store *zcache_store_files(const struct zcache_store *s);

/* `fn` is called once, before the store is closed, when it has no users any more: for what stands
 * on it.  One function for all that do; by a user of the store. */
void zcache_store_before_close(struct zcache_store *s, void (*fn)(struct zcache_store *s));

#endif
