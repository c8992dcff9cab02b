/* iod_memory.h - the size of a daemon's cache, by the limits on its memory. */
#ifndef IOD_MEMORY_H
#define IOD_MEMORY_H

#include "zc_settings.h"

/* Lowers the cache size, unless it was given, to a part of each limit on this process's memory
 * (zc_memory_limit.h), in whole pages.  Warns of one that was given and does not fit. */
void iod_memory_settle(struct zc_settings *s);

/* Logs the limits and the cache size. */
void iod_memory_tell(const struct zc_settings *s);

#endif
