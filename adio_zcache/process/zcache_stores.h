/* zcache_stores.h - the stores this process has open, shared by its files.
 *
 * Connections to daemons cost more than a small file: they are kept until MPI_Finalize, or as long
 * as files are open while that is under way.
 * Threads: any; one lock inside.
 */
#ifndef ZCACHE_STORES_H
#define ZCACHE_STORES_H

#include <stdbool.h>

#include "zc_settings.h"
#include "zc_store.h"

/* The store that `s` asks for: daemons, or the file system itself when there are none.  Asks
 * daemons we are connected to whether they are there, and connects again if they are not: they
 * may have been started again.  `rank` is for the daemon's log.  Give it back with
 * zcache_store_put(). */
int zcache_store_get(const struct zc_settings *s, int rank, struct zc_store **out);

/* Whether this error means that daemons cannot be reached any more. */
bool zcache_is_loss(int rc);

/* `broken`: do not offer it again; it is closed with its last user. */
void zcache_store_put(struct zc_store *store, int broken);

/* A file of this process is open on all ranks, and was closed, after the last it needed of them:
 * with it all that is kept may go. */
void zcache_stores_file_opened(void);
void zcache_stores_file_closed(void);

/* Connections are shared, and made with the timeout and the provider of the first open that
 * succeeds.  keep() remembers these; adopt() takes them over and returns whether that changed
 * anything. */
void zcache_net_keep(const struct zc_settings *s);
bool zcache_net_adopt(struct zc_settings *s);

/* The provider between ranks, for transports: NULL, what there is, where nothing else is asked. */
const char *zcache_net_provider(const struct zc_settings *s);

#endif
