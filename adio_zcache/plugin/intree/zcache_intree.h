/*
 * What ROMIO's functions ask of the driver when it is built into an MPICH: the seams, and where the
 * exported functions of the plugin do more than those of ROMIO. romio-register --in-tree puts this
 * header among ROMIO's, and the calls into its functions, for "zcache:" files alone.
 */
#ifndef ZCACHE_INTREE_H
#define ZCACHE_INTREE_H

#include "ad_zcache_seams.h"

/*
 * Closes *FH for MPI_File_close. The handle is gone afterwards, also after an error, which is
 * raised by the handler that the file had, on MPI_FILE_NULL. ROMIO looks for one in memory that it
 * has freed.
 */
int zcache_close(MPI_File *fh);

/* Ends a split collective access and fills in STATUS. Returns an MPI error code, raised. */
int zcache_split_finish(ADIO_File fd, MPI_Status *status);

/* Raises CODE, if it is an error. Returns what the function that met it is to return. */
int zcache_raised(ADIO_File fd, int code);

/* MPI_File_sync, which for zcache a file needs not be writable for. Returns an MPI error code,
 * raised. */
int zcache_sync(ADIO_File fd);

/*
 * Makes a request that is done of a blocking access that returned CODE and filled in STATUS: for a
 * nonblocking access to a file in the representation external32, which ROMIO forgets to convert.
 */
int zcache_request_done(ADIO_File fd, int code, MPI_Status *status, MPI_Request *request);

#endif
