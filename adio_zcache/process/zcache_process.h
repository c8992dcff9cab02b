/* zcache_process.h - which process of the job this is, and where the others are.
 *
 * Calls MPI; threads: any.
 */
#ifndef ZCACHE_PROCESS_H
#define ZCACHE_PROCESS_H

#include <mpi.h>
#include <stdbool.h>

enum { ZCACHE_PROCESS_ID = 16 }; /* bytes */

/* Returns a random id of this process, made once.  0 or a negative errno, explained. */
int zcache_process_id(unsigned char id[ZCACHE_PROCESS_ID]);

/* Return whether MPI_COMM_WORLD has no other member (alone), and whether all its members are on
 * this host, according to the launcher (one_host). */
bool zcache_process_alone(void);
/* Whether no other open in this job can run while the ranks of `comm` open a file: they are all
 * processes of the job, and no other threads of theirs call MPI.  May differ between ranks. */
bool zcache_process_whole_job(MPI_Comm comm);
bool zcache_process_one_host(void);
/* Returns how many members MPI_COMM_WORLD has on this host, according to the launcher; where that
 * says nothing, as many as there may be: one for each processor. */
unsigned zcache_process_on_host(void);

#endif
