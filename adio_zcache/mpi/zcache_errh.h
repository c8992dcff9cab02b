/* Error handlers of files. */
#ifndef ZCACHE_ERRH_H
#define ZCACHE_ERRH_H

#include <mpi.h>
#include <stdbool.h>

/* Tells whether ERRH ends the program. MPI_ERRORS_ABORT is MPI-4; libraries before do not name
 * it. */
static inline bool zcache_errh_is_fatal(MPI_Errhandler errh)
{
#ifdef MPI_ERRORS_ABORT
    if (errh == MPI_ERRORS_ABORT)
        return true;
#endif
    return errh == MPI_ERRORS_ARE_FATAL;
}

/*
 * Raises RC, which function FN returned for FH: calls the handler of the file, or the one of
 * MPI_FILE_NULL for a bad handle. Returns RC, or what the handler made of it, which is what FN
 * returns; unless the handler ends the program. No lock held. Also for errors of nonblocking
 * accesses, which no entry function sees.
 */
int zcache_raise(MPI_File fh, int rc, const char *fn);

/* A new file gets the handler of MPI_FILE_NULL. */
struct zcache_handle;
void zcache_errh_inherit(struct zcache_handle *h);

/*
 * Returns the handler of FH, with a reference to give back, for errors that are met when FH may be
 * closed: they are raised by the handler that the file had, on MPI_FILE_NULL. Any handler may be
 * given back, also predefined ones.
 */
MPI_Errhandler zcache_errh_get(MPI_File fh);
void zcache_errh_release(MPI_Errhandler errh);
int zcache_raise_closed(MPI_Errhandler errh, int rc, const char *fn);

/* Notes that ERRH, which the MPI library has made, stands for FN. Returns an MPI error code, not
 * raised. */
int zcache_errh_note(MPI_Errhandler errh, MPI_File_errhandler_function *fn);

/* Sets the handler of FH, one of the plugin's files, or of MPI_FILE_NULL as far as the plugin
 * raises errors on that. Returns an MPI error code, not raised. */
int zcache_errh_set(MPI_File fh, MPI_Errhandler errhandler);

/* MPI_File_get_errhandler and MPI_File_call_errhandler for one of the plugin's files. */
int zcache_entry_get_errhandler(MPI_File fh, MPI_Errhandler *errhandler);
int zcache_entry_call_errhandler(MPI_File fh, int errorcode);

#endif
