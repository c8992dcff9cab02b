/* zc_store_mem.h - files in memory, for tests. */
#ifndef ZC_STORE_MEM_H
#define ZC_STORE_MEM_H

#include "zc_store.h"

/* Files live as long as the store. */
int zc_store_mem_create(struct zc_store **out);

#endif
