/* zcache_stats.h - what ZCACHE_STATS=1 prints when a file is closed. */
#ifndef ZCACHE_STATS_H
#define ZCACHE_STATS_H

#include "adio.h"

/* Prints what was accessed and what the caches did; collective, before the caches close. */
void zcache_stats_report(ADIO_File fd);

#endif
