/* iod_lost.h - a daemon that others have given up ends: see zc_lost_mark.h. */
#ifndef IOD_LOST_H
#define IOD_LOST_H

#include <stdint.h>

struct iod_lost {
    const char *address_file; /* fixed, as is this: */
    uint64_t boot_id;
    uint64_t looked; /* CLOCK_BOOTTIME in ns, when it last looked; atomic */
};

/* Does not return when a job goes on without this daemon (struct iod_lost); any thread. */
void iod_lost_look(void *lost);

#endif
