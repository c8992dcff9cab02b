/* iod_address.h - the daemon's address file, and the daemon that may already own it. */
#ifndef IOD_ADDRESS_H
#define IOD_ADDRESS_H

#include "zc_addrfile.h"
#include "zc_server.h"
#include "zc_settings.h"

/* Whether the address file may be (over)written.  -EBUSY: it names a daemon that runs; the
 * explanation says how to stop it.  -EEXIST: the file is something else.  *replaces: it names one
 * that does not answer, and may be alive all the same, on another host. */
int iod_address_claim(const struct zc_settings *s, bool *replaces);

/* A job has gone on without the daemon that has left the address file (zc_lost_mark.h). */
bool iod_address_was_bypassed(const struct zc_settings *s);

/* What the daemon is in sets of daemons (zc_server_config.identity): the same for one that is
 * started again, or takes its place on another host, with the same address file and root. */
uint64_t iod_address_identity(const struct zc_settings *s);

/* Tells the world that the daemon is ready.  -EBUSY: another one has done so since the claim.
 * *replaces becomes true where the file is by now one of which the claim would say so. */
int iod_address_publish(const struct zc_settings *s, struct zc_server *server, uint64_t boot_id,
                        const struct zc_secret *secret, bool *replaces);

/* The same with an address file that is made up. */
int iod_address_put(const struct zc_settings *s, const struct zc_addrfile *a, bool *replaces);

#endif
