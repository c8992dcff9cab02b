/* iod_lost.h - a daemon that others have given up, or replaced, ends: see zc_lost_mark.h. */
#ifndef IOD_LOST_H
#define IOD_LOST_H

#include <stdbool.h>
#include <stdint.h>

struct iod_lost {
    const char *address_file; /* fixed, as is this: */
    uint64_t boot_id;
    bool published;  /* the address file was ours; atomic, as is this: */
    uint64_t looked; /* CLOCK_BOOTTIME in ns, when it last looked */
};

/* Does not return when a job goes on without this daemon (struct iod_lost), or another daemon has
 * its address file; any thread. */
void iod_lost_look(void *lost);

/* The address file is ours from now on.  `replaces`: it was that of a daemon that did not answer,
 * and is not known to be dead.  Returns when that one begins no change of a file any more. */
void iod_lost_published(struct iod_lost *l, bool replaces);

#endif
