/* Error handlers of files. */
#ifndef ZCACHE_ERRH_H
#define ZCACHE_ERRH_H

#include <mpi.h>
#include <stdbool.h>

/* Whether ERRH ends the program. MPI_ERRORS_ABORT is MPI-4; libraries before do not name it. */
static inline bool zcache_errh_is_fatal(MPI_Errhandler errh)
{
#ifdef MPI_ERRORS_ABORT
    if (errh == MPI_ERRORS_ABORT)
        return true;
#endif
    return errh == MPI_ERRORS_ARE_FATAL;
}

/*
 * Raise RC, which function FN returned for FH: call the handler of the file, or the one of
 * MPI_FILE_NULL for a bad handle. Returns RC, or what the handler made of it, which is what FN
 * returns; unless the handler ends the program. No lock held. Also for errors of nonblocking
 * accesses, which no entry function sees.
 */
int zcache_raise(MPI_File fh, int rc, const char *fn);

/* A new file gets the handler of MPI_FILE_NULL. */
struct zcache_handle;
void zcache_errh_inherit(struct zcache_handle *h);

/*
 * The handler of FH, with a reference to give back, for errors that are met when FH may be closed:
 * they are raised by the handler that the file had, on MPI_FILE_NULL. Any handler may be given
 * back, also predefined ones.
 */
MPI_Errhandler zcache_errh_get(MPI_File fh);
void zcache_errh_release(MPI_Errhandler errh);
int zcache_raise_closed(MPI_Errhandler errh, int rc, const char *fn);

#endif
