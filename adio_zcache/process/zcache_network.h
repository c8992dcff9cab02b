/* zcache_network.h - what connections of this process are made with.
 *
 * They are shared, so the timeout and the provider are those of the first that is made.
 * Threads: any.
 */
#ifndef ZCACHE_NETWORK_H
#define ZCACHE_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_settings.h"
#include "zcache_jobs.h"

/* keep() remembers timeout and provider; adopt() takes them over and returns whether that changed
 * anything. */
void zcache_network_keep(const struct zc_settings *s);
bool zcache_network_adopt(struct zc_settings *s);

/* The timeout that it remembers, ms; INT64_MAX: there is none yet. */
int64_t zcache_network_timeout(void);

/* The provider between ranks, for transports: NULL, what there is, where nothing else is asked. */
const char *zcache_network_provider(const struct zc_settings *s);

/* Has libfabric start in the background, by a job of `together`; the first time in this process. */
void zcache_network_warm(const struct zc_settings *s, struct zcache_jobs *together);

/* Whether this error means that who was to answer cannot be reached any more. */
bool zcache_network_is_loss(int rc);

#endif
