/* iod_fence.h - ends a daemon that is fenced or was replaced: see zc_fence.h. */
#ifndef IOD_FENCE_H
#define IOD_FENCE_H

#include <stdbool.h>
#include <stdint.h>

struct iod_fence {
    const char *address_file; /* constant */
    uint64_t boot_id;         /* constant */
    bool published;           /* atomic; the address file was written */
    uint64_t looked;          /* atomic; time of the last check, ns of CLOCK_BOOTTIME */
};

/* Ends the process if a job goes on without this daemon, or another daemon has its address file.
 * `lost` is a struct iod_fence.  Called by any thread before it changes a file. */
void iod_fence_check(void *lost);

/* To call when the address file was written.  `replaces`: it named a daemon that did not answer,
 * but may be alive; then returns only when that one begins no change of a file any more. */
void iod_fence_published(struct iod_fence *l, bool replaces);

#endif
