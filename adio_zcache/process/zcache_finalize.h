/* zcache_finalize.h - the end of what a process keeps open between its files.
 *
 * MPI_Finalize deletes the attributes of MPI_COMM_SELF first, while MPI still works.  Attributes
 * that were set before ours are deleted after it, and their callbacks may still use and close files
 * (HDF5 does that for its users); other ranks may still be computing.  So while a file is open all
 * services stay, until the last is closed or the process ends.  They also stay while another rank
 * has files open at an aggregator of this process: the end of the process waits for that, after it
 * has closed its own connections, so that no two processes wait for each other.  A rank that has
 * died is detected by its silence.
 */
#ifndef ZCACHE_FINALIZE_H
#define ZCACHE_FINALIZE_H

#include <stdbool.h>

/* The parts that end, in this order. */
enum zcache_end {
    ZCACHE_END_MEETING,     /* withdraws rendezvous records: no new opens find us */
    ZCACHE_END_WORK,        /* accesses of threads of their own */
    ZCACHE_END_CONNECTIONS, /* to other ranks */
    ZCACHE_END_ATTACHED,    /* waits until other ranks have closed what they have open here */
    ZCACHE_END_GROUPS,      /* owner sets */
    ZCACHE_END_STORES,      /* and what stands on them */
    ZCACHE_ENDS
};

/* Adds a function that is called once, when no file is open any more.  Any thread, any number of
 * times. */
void zcache_finalize_add(enum zcache_end what, void (*fn)(void));
/* Sets the function that tells whether other ranks have files open here; there is one. */
void zcache_finalize_ask(bool (*attached)(void));
/* Makes MPI_Finalize call this module, from now on.  Calls MPI. */
void zcache_finalize_watch(void);
/* Calls the function of one part, unless that was done.  Also called by zcache_exit.c, when a
 * process ends without MPI_Finalize. */
void zcache_finalize_end(enum zcache_end what);
/* True: MPI_Finalize has begun. */
bool zcache_finalize_begun(void);
/* True: other ranks have files open here. */
bool zcache_finalize_shared(void);

/* Call _opened() when a file of this process is open on all ranks, and _closed() after its last use
 * of other ranks: the last close after MPI_Finalize has begun may end all parts. */
void zcache_finalize_file_opened(void);
void zcache_finalize_file_closed(void);

#endif
