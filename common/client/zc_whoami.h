/* zc_whoami.h - the name of this process in logs of other processes.
 *
 * It is this process's own claim; only over a local socket does the kernel verify a part of it.
 */
#ifndef ZC_WHOAMI_H
#define ZC_WHOAMI_H

#include <stddef.h>

/* Writes "rank 3 (uid 1000, node7:4711, job slurm 17.0)", the job if known; truncated if `size` is
 * too small.  Returns buf. */
char *zc_whoami(const char *name, char *buf, size_t size);

#endif
