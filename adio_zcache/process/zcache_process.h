/* zcache_process.h - which process of the job this is, and where the others are.
 *
 * Calls MPI; threads: any.
 */
#ifndef ZCACHE_PROCESS_H
#define ZCACHE_PROCESS_H

#include <stdbool.h>

enum { ZCACHE_PROCESS_ID = 16 }; /* bytes */

/* What no other process has: random, made once.  0 or a negative errno, explained. */
int zcache_process_id(unsigned char id[ZCACHE_PROCESS_ID]);

/* MPI_COMM_WORLD has no other member; all of its members are on this host, as far as the launcher
 * has told. */
bool zcache_process_alone(void);
bool zcache_process_one_host(void);

#endif
