/* zc_store_remote.h - a store kept by daemons: block b of a file at daemon b mod D. */
#ifndef ZC_STORE_REMOTE_H
#define ZC_STORE_REMOTE_H

#include "zc_client.h"
#include "zc_store.h"

/* Connects to every daemon named in `daemons` (zc_addrfile_list()), with the provider that they
 * have in their address files, each its own; not cfg->provider and cfg->toward.  Fails as a
 * whole: no connection stays open when one daemon cannot be reached. */
int zc_store_remote_create(const char *daemons, const struct zc_net_config *cfg,
                           struct zc_store **out);

/* For a process that writes back before it ends, and whose daemons may end before it: files are
 * found in the file system, too, as with ZC_OPEN_BYPASS.  From when *ending is set, atomically and
 * by any thread, a daemon that has ended is bypassed at once, and one that stops as soon as it has
 * ended.  To call before files are opened; `ending` must outlive the store. */
void zc_store_remote_bypass_at_end(struct zc_store *s, const int *ending);

/* A store over clients that are connected already (tests over the loop transport).  Takes
 * ownership of the clients and of the net, also when it fails. */
int zc_store_remote_over(struct zc_net *net, struct zc_client **clients, uint32_t n,
                         struct zc_store **out);

#endif
