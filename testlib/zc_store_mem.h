/* zc_store_mem.h - files in memory, for tests. */
#ifndef ZC_STORE_MEM_H
#define ZC_STORE_MEM_H

#include "zc_store.h"

/* Files live as long as the store. */
int zc_store_mem_create(struct zc_store **out);

/* Makes a store that is lossy (zc_progress), like a daemon: it stores at a sync, or at: */
int zc_store_mem_create_lossy(struct zc_store **out);
/* Stores what every file has taken up to this number; UINT64_MAX: all. */
void zc_store_mem_store(struct zc_store *s, uint64_t last);
/* Discards what is not stored; files that are open stay open. */
void zc_store_mem_die(struct zc_store *s);
/* Does the same without calling the watchers: only zc_store_progress() shows it. */
void zc_store_mem_die_unsaid(struct zc_store *s);

/* Gives the next file the inode number of the last one, which was deleted. */
void zc_store_mem_reuse_number(struct zc_store *s);

#endif
