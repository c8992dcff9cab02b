/* zc_store_mem.h - files in memory, for tests. */
#ifndef ZC_STORE_MEM_H
#define ZC_STORE_MEM_H

#include "zc_store.h"

/* Files live as long as the store. */
int zc_store_mem_create(struct zc_store **out);

/* One that is lossy (zc_progress), as a daemon is: it stores when a sync says so, or: */
int zc_store_mem_create_lossy(struct zc_store **out);
/* What every file has taken up to this number is stored; UINT64_MAX: all. */
void zc_store_mem_store(struct zc_store *s, uint64_t last);
/* What is not stored is gone; files that are open stay open. */
void zc_store_mem_die(struct zc_store *s);
/* The same, and nobody is told: who asks sees it. */
void zc_store_mem_die_unsaid(struct zc_store *s);

/* The next file gets the inode number of the last one, which was deleted. */
void zc_store_mem_reuse_number(struct zc_store *s);

#endif
