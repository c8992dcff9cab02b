/* zcache_finalize.h - the end of what a process keeps open between its files.
 *
 * MPI_Finalize deletes the attributes of MPI_COMM_SELF first, while MPI still works.  Attributes
 * that were set before ours go after it, and their callbacks may yet use and close files (HDF5
 * does that for users who do not); other ranks may still be computing.  So with a file open all
 * goes on, until the last is closed or the process ends.  So it does while another rank has files
 * open at an aggregator of this process; at the end of the process we wait for that, when we have
 * said goodbye to all others: nobody waits for one who waits for him.  Who is gone is noticed by
 * his silence.
 */
#ifndef ZCACHE_FINALIZE_H
#define ZCACHE_FINALIZE_H

#include <stdbool.h>

/* What ends, in this order. */
enum zcache_end {
    ZCACHE_END_MEETING,     /* nobody finds us from now on */
    ZCACHE_END_WORK,        /* accesses of threads of their own */
    ZCACHE_END_CONNECTIONS, /* to other ranks */
    ZCACHE_END_ATTACHED,    /* waits until other ranks have closed what they have open here */
    ZCACHE_END_GROUPS,      /* those who owned files together */
    ZCACHE_END_STORES,      /* and what stands on them */
    ZCACHE_ENDS
};

/* `fn` is called once, when nobody has a file open any more.  Any thread, any number of times. */
void zcache_finalize_add(enum zcache_end what, void (*fn)(void));
/* Whether other ranks have files open here; one function. */
void zcache_finalize_ask(bool (*attached)(void));
/* From now on MPI_Finalize is noticed.  Calls MPI. */
void zcache_finalize_watch(void);

/* A file of this process is open on all ranks, and was closed, after the last it needed of them:
 * with it all that is kept may go. */
void zcache_finalize_file_opened(void);
void zcache_finalize_file_closed(void);

#endif
