/* iod_memory.h - the size of a daemon's cache, by the limits on its memory. */
#ifndef IOD_MEMORY_H
#define IOD_MEMORY_H

#include "zc_settings.h"

/* Unless the cache size was given, lowers it to a quarter, of a dedicated aggregator to a 16th, of
 * the least shared and the least own limit (zc_memory_limit.h), in whole pages.  Warns of a size
 * that was given and does not fit.  To call when the log is open, before the cache is made. */
void iod_memory_settle(struct zc_settings *s);

/* Logs the limits and the cache size. */
void iod_memory_tell(const struct zc_settings *s);

#endif
