/* zcache_network.h - timeout and provider of the connections of this process.
 *
 * Connections are shared, so timeout and provider are those of the first that is made.
 * Threads: any.
 */
#ifndef ZCACHE_NETWORK_H
#define ZCACHE_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_settings.h"
#include "zcache_async.h"

/* keep() remembers timeout and provider; adopt() takes them over and returns whether that changed
 * anything. */
void zcache_network_keep(const struct zc_settings *s);
bool zcache_network_adopt(struct zc_settings *s);

/* Returns the timeout that was kept, in ms; INT64_MAX if there is none yet. */
int64_t zcache_network_timeout(void);

/* Returns the provider for transports between ranks; NULL: any, where none is asked for. */
const char *zcache_network_provider(const struct zc_settings *s);

/* Starts libfabric in the background, as an operation of `together`; once in this process. */
void zcache_network_warm(const struct zc_settings *s, struct zcache_async_group *together);

/* Tells whether this error means that the server cannot be reached any more. */
bool zcache_network_is_loss(int rc);

#endif
