/*
 * Functions of the driver that ROMIO has no slot for.
 *
 * ROMIO keeps a shared file pointer in a hidden file under a lock, and sets views without asking
 * the driver. Its functions are led here (zcache_seams.c); for "zcache:" files they call these,
 * which the driver defines. Like slots they store an MPI error code and do not raise it.
 */
#ifndef AD_ZCACHE_SEAMS_H
#define AD_ZCACHE_SEAMS_H

#include "adio.h"

/*
 * Add INCR etypes of the view, maybe 0, to the shared pointer of the file and store what it was; -1
 * on an error, since ROMIO goes on to nonblocking accesses there.
 * Called by one rank, or by all one after the other; must not need others to call in.
 */
void zcache_shared_pointer_add(ADIO_File fd, ADIO_Offset incr, ADIO_Offset *was, int *error_code);

/*
 * Collective: moves the shared pointer past what all ranks ask for and stores where this rank's
 * part begins, after those of the ranks before it. Returns an MPI error code, on all ranks or on
 * none.
 */
int zcache_ordered_offset(ADIO_File fd, MPI_Aint count, MPI_Datatype type, MPI_Offset *at);

/*
 * Set it, in etypes of the view. Called by one rank while the others wait in a barrier (an open
 * with MPI_MODE_APPEND).
 */
void zcache_shared_pointer_set(ADIO_File fd, ADIO_Offset value, int *error_code);

/*
 * Collective calls whose arguments ROMIO refuses on one rank while the others wait for it. Here
 * all get an error, and nothing is changed: of the rank's own kind where an argument is wrong,
 * elsewhere one that names that rank, and on all where arguments differ that must not. An MPI
 * error code. Setting a view sets the shared pointer to 0.
 */
int zcache_set_view(ADIO_File fd, ADIO_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                    const char *datarep, MPI_Info info);
int zcache_set_size(ADIO_File fd, MPI_Offset size);
int zcache_preallocate(ADIO_File fd, MPI_Offset size);
int zcache_set_atomicity(ADIO_File fd, int flag);

/*
 * The same for the access mode of MPI_File_open, of whatever file. What ROMIO is to open it with,
 * local; and, when that has failed with CODE, the error instead: collective, where any rank's mode
 * was refused or theirs differ.
 */
int zcache_amode_to_try(MPI_Comm comm, const char *name, int amode);
int zcache_amode_verdict(MPI_Comm comm, const char *name, int amode, int code);
enum { ZCACHE_AMODE_REFUSED = 1 << 24 }; /* in a mode to try: the driver opens nothing with it */

/* Local: the individual pointer; the byte that etype OFFSET begins at; the first etype at or
 * after the end of the file, the one it lies in included. */
ADIO_Offset zcache_position(ADIO_File fd);
ADIO_Offset zcache_byte_offset(ADIO_File fd, ADIO_Offset offset);
ADIO_Offset zcache_eof_offset(ADIO_File fd);

/* Whether etype OFFSET lies beyond all files; an MPI error code. */
int zcache_offset_error(ADIO_File fd, MPI_Offset offset);

/* MPI_File_seek, and MPI_File_seek_shared, by all ranks, all of which get the same error; an MPI
 * error code. */
int zcache_seek(ADIO_File fd, MPI_Offset offset, int whence);
int zcache_seek_shared(ADIO_File fd, MPI_Offset offset, int whence);

/*
 * The end of a split collective access: waits for what the begin function left under way and fills
 * in fd->split_status. Returns an MPI error code.
 */
int zcache_split_end(ADIO_File fd);

/*
 * MPI_File_close begins: this rank's accesses end, before ROMIO lets all ranks meet in a barrier.
 * Without this call they meet once more, when ROMIO closes the file.
 */
void zcache_close_begins(ADIO_File fd);

/*
 * A collective read that has failed on this rank, maybe before it came to wait for the others
 * (zcache_order.h): they wait for it no longer. TURN is what zcache_read_turn() was before.
 */
unsigned zcache_read_turn(ADIO_File fd);
void zcache_read_left(ADIO_File fd, unsigned turn, int nonblocking);

/* Completes REQUEST if it is an access to a file of zcache that is done; any request. */
void zcache_request_poll(MPI_Request request);

/* While YES, a collective read is made for a nonblocking one, and so waits for no other rank. */
void zcache_reads_at_once(ADIO_File fd, int yes);

/*
 * MPI_File_set_info has given FD new hints. Called by all ranks, whatever came of it; every rank
 * gets the same error.
 */
void zcache_info_changed(ADIO_File fd, int *error_code);

/* Adds to INFO, which MPI_File_get_info returns, what is counted when asked. Local. */
void zcache_info_report(ADIO_File fd, MPI_Info info, int *error_code);

/* ROMIO's own ways, for a driver that has nothing better. */
void __real_ADIO_Get_shared_fp(ADIO_File fd, ADIO_Offset incr, ADIO_Offset *was, int *error_code);
void __real_ADIO_Set_shared_fp(ADIO_File fd, ADIO_Offset value, int *error_code);

#endif
