/*
 * What the functions that move data have in common: macros for their parameters and arguments.
 *
 * AT and NO_AT say whether there is an explicit offset; STATUS, REQUEST and NOTHING what comes
 * last.
 */
#ifndef ZCACHE_ENTRY_DATA_H
#define ZCACHE_ENTRY_DATA_H

#include "zcache_entry.h"

#define AT_P MPI_Offset offset,
#define AT_A offset,
#define AT_V offset
#define NO_AT_P
#define NO_AT_A
#define NO_AT_V   0
#define STATUS_P  , MPI_Status *status
#define STATUS_A  , status
#define REQUEST_P , MPI_Request *request
#define REQUEST_A , request
#define NOTHING_P
#define NOTHING_A

#define READ          void *
#define WRITE         const void *
#define READ_IS_READ  true
#define WRITE_IS_READ false

/* Makes a request that is done of a blocking access that returned `rc`, and filled in `status` if
 * that is no error.  Returns an MPI error code. */
int zcache_entry_completed(MPI_File fh, int rc, MPI_Status *status, MPI_Request *request);

#endif
