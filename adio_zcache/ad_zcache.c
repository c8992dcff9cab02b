/*
 * ad_zcache.c - the driver table, and nothing else.
 *
 * What ROMIO expects of the slots, as far as its code shows:
 *
 * All   A slot stores MPI_SUCCESS or an MPI error code in *error_code (mpi/zcache_error.h makes
 *       them) and returns; it must always store. It never raises the error itself. STATUS may be
 *       MPI_STATUS_IGNORE: MPIR_Status_set_bytes(status, type, n) copes with that. OFFSET is in
 *       etypes, relative to the view, for the strided slots with ADIO_EXPLICIT_OFFSET; with
 *       ADIO_INDIVIDUAL it is 0, and the slot uses fd->fp_ind, which is an absolute byte offset,
 *       and moves it. In the contiguous slots OFFSET is an absolute byte offset in both cases, and
 *       with ADIO_INDIVIDUAL the slot still has to move fd->fp_ind. Shared-pointer accesses come
 *       in as ADIO_EXPLICIT_OFFSET. COUNT is an int, or after MPICH 4.0 an MPI_Aint (zcache_count):
 *       the bytes are COUNT * MPI_Type_size_x, and can be more than 2 GiB. Callers have checked
 *       handle, count, access mode, etype, and dealt with accesses of 0 bytes where the call is
 *       independent.
 * Open  The name has lost its prefix: MPI_File_open cuts at the first colon (if it is not the
 *       second character), after the type was found by comparing the prefix in ROMIO's table
 *       without regard to case. So a path may contain colons. MPI_File_delete cuts likewise.
 *       ROMIO_FSTYPE_FORCE=zcache: also leads here, with a name that had no prefix.
 *       ROMIO calls this slot itself only for a deferred open (ADIO_ImmediateOpen, below).
 * OpenColl  Called by ADIO_Open on all ranks of fd->comm, with hints->ranklist (the aggregators)
 *       set and before fd->is_open; the slot opens on all ranks, sets fd->is_open and fd->blksize.
 *       The generic one opens with MPI_COMM_SELF on one rank to create and calls Close for that
 *       on the same fd, so it cannot be used by a driver with state. After it ADIO_Open reduces the
 *       codes: if any rank failed, it calls Close on those that did not, then frees fd. fd->fs_ptr
 *       of a rank that fails must therefore be freed by OpenColl. It is also called with a
 *       communicator of one rank (MPI_COMM_SELF) when a shared pointer is first used.
 *       CREATE and EXCL have to mean: one rank creates, the others find it. ADIO_APPEND: fd->fp_ind
 *       is the end of the file on every rank (and MPI_File_open sets the shared pointer from it).
 *       If ADIO_SCALABLE_OPEN is reported, deferred open is off: one rank may open for all.
 * Close Called on all ranks, also after a failed open elsewhere. Afterwards ROMIO deletes the
 *       file (DELETE_ON_CLOSE) on ranklist[0] alone through Delete. The slot frees fd->fs_ptr.
 *       An error is returned to the caller, and the handle is gone all the same.
 * ReadContig, WriteContig   Independent. Memory and file view are contiguous. Also what the
 *       generic strided and two-phase code reads and writes through.
 * ReadStrided, WriteStrided   Independent; memory or view is not contiguous; OFFSET as above.
 * ReadStridedColl, WriteStridedColl   Collective: every *_all, *_at_all and ordered access,
 *       contiguous or not, also with nothing to do on this rank. The slot moves fd->fp_ind.
 *       Split collectives are these, run in the begin function.
 * IreadContig, IwriteContig, IreadStrided, IwriteStrided   As above, with an MPI_Request to be
 *       made: a generalized request (MPI_Grequest_start), or MPIO_Completed_request_create when
 *       it is done already, which also copies the error: the request's user sees it only then as
 *       the result of the starting call. On an error the slot leaves *request a request or
 *       MPI_REQUEST_NULL, since the caller returns it. The buffer and its type belong to the user
 *       until completion; the user may free the type at once. MPI_Grequest_complete may be
 *       called by another thread only if MPI allows threads. fd->async_count has to be 0 at Close.
 * IreadStridedColl, IwriteStridedColl   The same for nonblocking collectives. The generic ones need
 *       the MPIX_Grequest extension.
 * ReadDone, WriteDone, ReadComplete, WriteComplete   Left over from before requests were MPI's:
 *       never called.
 * SeekIndividual   Local. Called by MPI_File_seek after SEEK_CUR and SEEK_END were resolved, with
 *       SEEK_SET and an offset in etypes of the view: sets the pointer.
 * Fcntl   GET_FSIZE by any one rank, alone (also from SEEK_END and seek_shared on one rank);
 *       SET_DISKSPACE by rank 0 alone, the others wait in a barrier, then all learn of an error;
 *       SET_ATOMICITY by all, only if it changes: sets fd->atomicity.
 * SetInfo   By all, once in ADIO_Open before OpenColl (info may be MPI_INFO_NULL; fd->info is
 *       MPI_INFO_NULL and has to be made), and on every set_info and set_view. The generic one
 *       handles the standard hints; call it first, then read zcache_* ones. In ADIO_Open its error
 *       code is ignored.
 * Flush   MPI_File_sync is collective by the standard, but programs call it on one rank: no
 *       communication unless hints->synchronizing_flush. Here also for files opened read-only.
 * Resize  By all ranks; the standard wants the same size everywhere and ROMIO has checked.
 * Delete  By one rank, a path without prefix, no file handle.
 * Feature Local, may be asked with any flag at any time after fd->fns is set, so also before the
 *       file is open. ADIO_SHARED_FP off means that shared and ordered access are refused.
 *       ADIO_LOCKS on means that SetLock is called around contiguous accesses in atomic mode.
 * SetLock  fcntl-like range lock in bytes, F_SETLKW to lock, F_SETLK with F_UNLCK to unlock. Result
 *       ignored. Called by shared-pointer writes in atomic mode even without ADIO_LOCKS.
 * fsname  Shown as the info value romio_filesystem_type.
 *
 * Without a slot: the shared pointer, views, and the conversion between etypes and bytes, see
 * ad_zcache_seams.h (the generic shared pointer is a hidden file opened through this table with
 * MPI_COMM_SELF, and SetLock); ADIO_ImmediateOpen, the late open of a deferred one, which sets
 * state independent of fd->comm with Open alone and does not occur unless romio_no_indep_rw was
 * given and ADIO_SCALABLE_OPEN is not reported.
 *
 * Of nonblocking calls the entry functions turn those in atomic mode and on external32 files into
 * blocking ones, since ROMIO gets these wrong; their Iread slots are not called then.
 */
#include "config.h"

#include "ad_zcache.h"

struct ADIOI_Fns_struct ADIO_ZCACHE_operations = {
    .ADIOI_xxx_Open = ADIOI_ZCACHE_Open,
    .ADIOI_xxx_OpenColl = ADIOI_ZCACHE_OpenColl,
    .ADIOI_xxx_ReadContig = ADIOI_ZCACHE_ReadContig,
    .ADIOI_xxx_WriteContig = ADIOI_ZCACHE_WriteContig,
    .ADIOI_xxx_ReadStridedColl = ADIOI_ZCACHE_ReadStridedColl,
    .ADIOI_xxx_WriteStridedColl = ADIOI_ZCACHE_WriteStrided,
    .ADIOI_xxx_SeekIndividual = ADIOI_ZCACHE_SeekIndividual,
    .ADIOI_xxx_Fcntl = ADIOI_ZCACHE_Fcntl,
    .ADIOI_xxx_SetInfo = ADIOI_ZCACHE_SetInfo,
    .ADIOI_xxx_ReadStrided = ADIOI_ZCACHE_ReadStrided,
    .ADIOI_xxx_WriteStrided = ADIOI_ZCACHE_WriteStrided,
    .ADIOI_xxx_Close = ADIOI_ZCACHE_Close,
    .ADIOI_xxx_IreadContig = ADIOI_ZCACHE_IreadContig,
    .ADIOI_xxx_IwriteContig = ADIOI_ZCACHE_IwriteContig,
    .ADIOI_xxx_ReadDone = ADIOI_FAKE_IODone,
    .ADIOI_xxx_WriteDone = ADIOI_FAKE_IODone,
    .ADIOI_xxx_ReadComplete = ADIOI_FAKE_IOComplete,
    .ADIOI_xxx_WriteComplete = ADIOI_FAKE_IOComplete,
    .ADIOI_xxx_IreadStrided = ADIOI_ZCACHE_IreadStrided,
    .ADIOI_xxx_IwriteStrided = ADIOI_ZCACHE_IwriteStrided,
    .ADIOI_xxx_Flush = ADIOI_ZCACHE_Flush,
    .ADIOI_xxx_Resize = ADIOI_ZCACHE_Resize,
    .ADIOI_xxx_Delete = ADIOI_ZCACHE_Delete,
    .ADIOI_xxx_Feature = ADIOI_ZCACHE_Feature,
    .fsname = "zcache: staged through aggregators and I/O nodes",
    .ADIOI_xxx_IreadStridedColl = ADIOI_ZCACHE_IreadStridedColl,
    .ADIOI_xxx_IwriteStridedColl = ADIOI_ZCACHE_IwriteStrided,
    .ADIOI_xxx_SetLock = ADIOI_ZCACHE_SetLock,
};
