/* iod_address.h - the daemon's address file, and the daemon that may already own it. */
#ifndef IOD_ADDRESS_H
#define IOD_ADDRESS_H

#include "zc_addrfile.h"
#include "zc_server.h"
#include "zc_settings.h"

/* Checks that the address file may be written.  -EBUSY: it names a daemon that runs; the
 * explanation says how to stop it.  -EEXIST: it is no address file.  *replaces: it names a daemon
 * that does not answer, but may be alive on another host. */
int iod_address_claim(const struct zc_settings *s, bool *replaces);

/* Returns whether a job went on without the daemon that left the address file (zc_fence.h). */
bool iod_address_was_bypassed(const struct zc_settings *s);

/* Returns the daemon's identity in sets of daemons (zc_server_config.identity): the same after a
 * restart, also on another host, with the same address file and root.  0: unknown. */
uint64_t iod_address_identity(const struct zc_settings *s);

/* Writes the address file, by which clients find the daemon.  -EBUSY: another daemon has done so
 * since the claim.  Sets *replaces as iod_address_claim() does, if the file has changed since. */
int iod_address_publish(const struct zc_settings *s, struct zc_server *server, uint64_t boot_id,
                        const struct zc_secret *secret, bool *replaces);

/* Writes the given address file. */
int iod_address_put(const struct zc_settings *s, const struct zc_addrfile *a, bool *replaces);

#endif
