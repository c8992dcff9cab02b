/* zcache_mpi_lock.h - locks that may be held across MPI calls.
 *
 * A zc_lock is held briefly and never across MPI.  These are a flag and a condition: other threads
 * wait on the condition for as long as the work takes.  A thread that holds one may take those
 * below it in the table, and those of further files; a build with --enable-debug aborts otherwise.
 */
#ifndef ZCACHE_MPI_LOCK_H
#define ZCACHE_MPI_LOCK_H

#include "zc_lock.h"

enum zcache_mpi_lock_order {
    ZCACHE_MPI_LOCK_FILE,     /* a file's pointers, and ROMIO's state of it */
    ZCACHE_MPI_LOCK_DATAREPS, /* the list of data representations */
    ZCACHE_MPI_LOCK_TYPES,    /* what is remembered with a datatype */
    ZCACHE_MPI_LOCK_HANDLERS, /* references of error handlers */
    ZCACHE_MPI_LOCK_CODES,    /* error codes that take turns themselves */
    ZCACHE_MPI_LOCK_CLASS,    /* the class of our requests */
};

struct zcache_mpi_lock {
    struct zc_lock lock;
    zc_cond given;
    bool taken; /* under lock */
    enum zcache_mpi_lock_order order;
};

#define ZCACHE_MPI_LOCK_INITIALIZER(o)                                                             \
    {                                                                                              \
        .lock = ZC_LOCK_INITIALIZER(ZC_ORDER_MPI_LOCK), .given = PTHREAD_COND_INITIALIZER,         \
        .order = (o)                                                                               \
    }

void zcache_mpi_lock_init(struct zcache_mpi_lock *t, enum zcache_mpi_lock_order order);
void zcache_mpi_lock_destroy(struct zcache_mpi_lock *t);
void zcache_mpi_lock_get(struct zcache_mpi_lock *t); /* no lock held */
void zcache_mpi_lock_put(struct zcache_mpi_lock *t);

#endif
