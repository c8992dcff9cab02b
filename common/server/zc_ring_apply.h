/* zc_ring_apply.h - applies ring entries (zc_ring.h) to a cache, page after page, in one run of the
 * file or through the view in the entry.
 *
 * The sink of zc_shmring.h.  The writer may change the entry at any time: its view is copied before
 * it is checked.  If the write fails, its bytes from there on are reported as lost; those before
 * are in the cache.
 */
#ifndef ZC_RING_APPLY_H
#define ZC_RING_APPLY_H

#include "zc_cache.h"
#include "zc_shmring.h"

/* Creates the rings of a cache, which must outlive them; as zc_shmring_create(). */
int zc_ring_apply_create(struct zc_cache *c, struct zc_shmring **out);

#endif
