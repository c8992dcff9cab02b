/* zcache_stores.h - the stores this process has open, shared by its files.
 *
 * Connections to daemons cost more than a small file: they are kept until MPI_Finalize.
 * Threads: any; one lock inside.
 */
#ifndef ZCACHE_STORES_H
#define ZCACHE_STORES_H

#include "zc_settings.h"
#include "zc_store.h"

/* The store that `s` asks for: daemons, or the file system itself when there are none.
 * `rank` is for the daemon's log.  Give it back with zcache_store_put(). */
int zcache_store_get(const struct zc_settings *s, int rank, struct zc_store **out);

/* `broken`: do not offer it again; it is closed with its last user. */
void zcache_store_put(struct zc_store *store, int broken);

#endif
