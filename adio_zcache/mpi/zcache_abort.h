/* zcache_abort.h - a function to call before MPI_Abort. */
#ifndef ZCACHE_ABORT_H
#define ZCACHE_ABORT_H

/* Makes MPI_Abort, called by the program or for a fatal error of a file, call `before` first.  Any
 * thread.  Built into an MPICH: only for such an error. */
void zcache_abort_watch(void (*before)(void));

#endif
