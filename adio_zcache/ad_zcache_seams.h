/*
 * Functions of the driver that ROMIO has no slot for.
 *
 * ROMIO keeps a shared file pointer in a hidden file under a lock, and sets views without asking
 * the driver. zcache_seams.c redirects the functions of ROMIO that do so: for "zcache:" files they
 * call the functions below, which the driver defines. Like slots these store an MPI error code and
 * do not raise it.
 */
#ifndef AD_ZCACHE_SEAMS_H
#define AD_ZCACHE_SEAMS_H

#include <stdbool.h>

#include "adio.h"

struct zcache_datarep;

/*
 * Adds INCR etypes of the view, maybe 0, to the shared pointer of the file and stores the value
 * before; -1 on an error, since ROMIO goes on to nonblocking accesses there.
 * Called by one rank, or by all one after the other; must not need others to call in.
 */
void zcache_shared_pointer_add(ADIO_File fd, ADIO_Offset incr, ADIO_Offset *was, int *error_code);

/*
 * Moves the shared pointer past what all ranks ask for and stores where this rank's part begins,
 * after those of the ranks before it. Collective. Returns an MPI error code, on all ranks or on
 * none.
 */
int zcache_ordered_offset(ADIO_File fd, MPI_Aint count, MPI_Datatype type, MPI_Offset *at);

/*
 * Sets the shared pointer, in etypes of the view. Called by one rank while the others wait in a
 * barrier (an open with MPI_MODE_APPEND).
 */
void zcache_shared_pointer_set(ADIO_File fd, ADIO_Offset value, int *error_code);

/*
 * Sets a view, and the shared pointer to 0. Collective. Where ROMIO refuses the arguments of one
 * rank while the others wait for it, here all ranks get an error, and nothing is changed: a rank
 * with a wrong argument gets the error of its kind, the others one that names that rank; all get
 * one where arguments differ that must be equal. Returns an MPI error code.
 */
int zcache_set_view(ADIO_File fd, ADIO_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                    const char *datarep, MPI_Info info);
/* Returns the data representation of the file's view, if the driver's caller is to convert it. */
const struct zcache_datarep *zcache_view_datarep(ADIO_File fd);
/* Corrects what ROMIO tells of the view: types as the program set them, and the name of the
 * representation.  Returns an MPI error code. */
int zcache_view_get(ADIO_File fd, MPI_Datatype *etype, MPI_Datatype *filetype, char *datarep);
/* Whether its representation tells extents; and MPI_File_get_type_extent in that case, which
 * returns an MPI error code. */
bool zcache_view_extents(ADIO_File fd);
int zcache_view_type_extent(ADIO_File fd, MPI_Datatype type, MPI_Aint *extent);
int zcache_set_size(ADIO_File fd, MPI_Offset size);
int zcache_preallocate(ADIO_File fd, MPI_Offset size);
int zcache_set_atomicity(ADIO_File fd, int flag);

/*
 * Returns the access mode that ROMIO is to open a file with, of any driver, for the mode AMODE of
 * MPI_File_open. Local. When that open has failed with CODE, zcache_amode_verdict() returns the
 * error to give instead; collective, where the mode of any rank was refused or modes differ.
 */
int zcache_amode_to_try(MPI_Comm comm, const char *name, int amode);
int zcache_amode_verdict(MPI_Comm comm, const char *name, int amode, int code);
/* Bits in a mode to try.  REFUSED: the driver opens nothing with it.  OURS: this rank's driver is
 * zcache, so that ranks with another one, or without the plugin, find the modes different and do
 * not wait for ever; zcache_amode_opened() takes it out of the mode of an open file. */
enum { ZCACHE_AMODE_REFUSED = 1 << 24, ZCACHE_AMODE_OURS = 1 << 25 };

/* Restores the mode that the program asked for in an open file, of any driver.  Local. */
void zcache_amode_opened(ADIO_File fd);

/* Return the individual pointer; the byte that etype OFFSET begins at; the first etype at or after
 * the end of the file, the one that the end lies in included.  Local. */
ADIO_Offset zcache_position(ADIO_File fd);
ADIO_Offset zcache_byte_offset(ADIO_File fd, ADIO_Offset offset);
ADIO_Offset zcache_eof_offset(ADIO_File fd);

/* Checks that etype OFFSET of the view lies where a file can have bytes.  Returns an MPI error
 * code. */
int zcache_offset_error(ADIO_File fd, MPI_Offset offset);

/* MPI_File_seek, and MPI_File_seek_shared, which all ranks call and of which all get the same
 * error.  Return an MPI error code. */
int zcache_seek(ADIO_File fd, MPI_Offset offset, int whence);
int zcache_seek_shared(ADIO_File fd, MPI_Offset offset, int whence);

/*
 * Ends a split collective access: waits for what the begin function left under way and fills in
 * fd->split_status. Returns an MPI error code.
 */
int zcache_split_end(ADIO_File fd);

/*
 * Ends this rank's accesses when MPI_File_close begins, before ROMIO lets all ranks meet in a
 * barrier. Without this call they meet once more, when ROMIO closes the file.
 */
void zcache_close_begins(ADIO_File fd);

/*
 * Tell the other ranks that a collective read has failed on this one, maybe before it came to wait
 * for them (zcache_read_barrier.h): they wait for it no longer. TURN is what zcache_read_turn()
 * returned before the read.
 */
unsigned zcache_read_turn(ADIO_File fd);
void zcache_read_left(ADIO_File fd, unsigned turn, int nonblocking);

/* Completes REQUEST if it is an access to a file of zcache that is done.  Takes any request. */
void zcache_request_poll(MPI_Request request);

/* While YES, makes a collective read for a nonblocking one, which waits for no other rank. */
void zcache_reads_at_once(ADIO_File fd, int yes);

/*
 * Takes over the hints that MPI_File_set_info has given FD. Called by all ranks, also after an
 * error; every rank gets the same error.
 */
void zcache_info_changed(ADIO_File fd, int *error_code);

/* Adds to INFO, which MPI_File_get_info returns, what is read only when asked for: the cache size
 * in force, the bytes not yet written back or stored and, with the hint for them, the counters.
 * Local. */
void zcache_info_report(ADIO_File fd, MPI_Info info, int *error_code);

/* ROMIO's own functions, for a driver without these. */
void __real_ADIO_Get_shared_fp(ADIO_File fd, ADIO_Offset incr, ADIO_Offset *was, int *error_code);
void __real_ADIO_Set_shared_fp(ADIO_File fd, ADIO_Offset value, int *error_code);

#endif
