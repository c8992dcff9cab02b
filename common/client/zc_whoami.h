/* zc_whoami.h - what this process is called where people read it.
 *
 * What it says of itself: only over a local socket does anybody else vouch for a part of it.
 */
#ifndef ZC_WHOAMI_H
#define ZC_WHOAMI_H

#include <stddef.h>

/* "rank 3 (uid 1000, node7:4711, job slurm 17.0)", of which the last is left out where nothing
 * tells; cut where `size` is too small.  Returns buf. */
char *zc_whoami(const char *name, char *buf, size_t size);

#endif
