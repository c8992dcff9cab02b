/* zcache_dedicated.h - dedicated aggregators: processes that own all blocks in place of ranks.
 *
 * They are found by address files (hint zcache_aggregators, ZCACHE_AGGREGATORS), in the order of
 * the list, and serve one job.  An owner set of theirs is one without a member among the job's
 * processes: rank 0 of an open makes it out of the address files, and everything else is done as
 * for owners that belong to another communicator (zcache_open_join.h).
 *
 * Threads: any.
 */
#ifndef ZCACHE_DEDICATED_H
#define ZCACHE_DEDICATED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zc_settings.h"
#include "zcache_ownerset.h"

struct zcache_file;

/* Whether the settings name dedicated aggregators, or ... */
bool zcache_dedicated_wanted(const struct zc_settings *s);
/* ... the word "join": the ranks own nothing in any case, and use the owners that the file has. */
bool zcache_dedicated_joins(const struct zc_settings *s);
/* Whether they own the blocks of an open file. */
bool zcache_dedicated_owns(const struct zcache_file *f);
/* Returns how many there are, and the size of a block of the file that they can own, given the one
 * asked for: a multiple of their pages.  A negative errno, explained: one is missing, or cannot be
 * reached. */
int zcache_dedicated_ask(struct zcache_file *f, uint64_t *block_size);
/* Fills in the owners of a new owner set, with an id; 0 or a negative errno, explained. */
int zcache_dedicated_meet(const struct zcache_file *f, struct zcache_ownerset *g);

#endif
