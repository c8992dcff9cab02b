/* ad_zcache.h - the driver: the functions that ROMIO calls for "zcache:" files.
 *
 * The top of ad_zcache.c tells what ROMIO expects of each.
 */
#ifndef AD_ZCACHE_H
#define AD_ZCACHE_H

#include "ad_zcache_slot.h"
#include "adio.h"

/* ROMIO declares it too, once the driver is registered in it (plugin/romio-register). */
extern struct ADIOI_Fns_struct ADIO_ZCACHE_operations;

/* The type in which a slot counts elements: int up to MPICH 4.0, MPI_Aint after.  ROMIO's own table
 * gives it; with any other type this does not compile. */
#define ZCACHE_READ_SLOT(count)                                                                    \
    void (*)(ADIO_File, void *, count, MPI_Datatype, int, ADIO_Offset, ADIO_Status *, int *)
/* clang-format off */
typedef __typeof__(_Generic(((struct ADIOI_Fns_struct *)0)->ADIOI_xxx_ReadContig,
                            ZCACHE_READ_SLOT(int): 0,
                            ZCACHE_READ_SLOT(MPI_Aint): (MPI_Aint)0)) zcache_count;
/* clang-format on */

/* ad_zcache_open.c */
void ADIOI_ZCACHE_Open(ADIO_File fd, int *error_code);
void ADIOI_ZCACHE_OpenColl(ADIO_File fd, int rank, int amode, int *error_code);
void ADIOI_ZCACHE_Close(ADIO_File fd, int *error_code);

/* ad_zcache_hints.c */
void ADIOI_ZCACHE_SetInfo(ADIO_File fd, MPI_Info users_info, int *error_code);

/* ad_zcache_seek.c */
ADIO_Offset ADIOI_ZCACHE_SeekIndividual(ADIO_File fd, ADIO_Offset offset, int whence,
                                        int *error_code);

/* ad_zcache_ctl.c */
void ADIOI_ZCACHE_Flush(ADIO_File fd, int *error_code);
void ADIOI_ZCACHE_Resize(ADIO_File fd, ADIO_Offset size, int *error_code);
void ADIOI_ZCACHE_Fcntl(ADIO_File fd, int flag, ADIO_Fcntl_t *arg, int *error_code);
void ADIOI_ZCACHE_Delete(const char *filename, int *error_code);
int ADIOI_ZCACHE_Feature(ADIO_File fd, int flag);
int ADIOI_ZCACHE_SetLock(ADIO_File fd, int cmd, int type, ADIO_Offset offset, int whence,
                         ADIO_Offset len);

/* ad_zcache_rdwr.c; collective writes are the independent ones */
void ADIOI_ZCACHE_ReadContig(ADIO_File fd, void *buf, zcache_count count, MPI_Datatype type,
                             int file_ptr_type, ADIO_Offset offset, ADIO_Status *status,
                             int *error_code);
void ADIOI_ZCACHE_WriteContig(ADIO_File fd, const void *buf, zcache_count count, MPI_Datatype type,
                              int file_ptr_type, ADIO_Offset offset, ADIO_Status *status,
                              int *error_code);
void ADIOI_ZCACHE_ReadStrided(ADIO_File fd, void *buf, zcache_count count, MPI_Datatype type,
                              int file_ptr_type, ADIO_Offset offset, ADIO_Status *status,
                              int *error_code);
void ADIOI_ZCACHE_ReadStridedColl(ADIO_File fd, void *buf, zcache_count count, MPI_Datatype type,
                                  int file_ptr_type, ADIO_Offset offset, ADIO_Status *status,
                                  int *error_code);
void ADIOI_ZCACHE_WriteStrided(ADIO_File fd, const void *buf, zcache_count count, MPI_Datatype type,
                               int file_ptr_type, ADIO_Offset offset, ADIO_Status *status,
                               int *error_code);

/* ad_zcache_nb.c */
/* Separates the requests of the file from it, before it is closed.  Its accesses are done; by MPI's
 * rules all its requests should be completed, and any that are not no longer refer to the file. */
void zcache_requests_leave(ADIO_File fd);
/* Starts the access of a split collective call and leaves it under way; the end, zcache_split_end()
 * (ad_zcache_seams.h), fills in ADIO_File.split_status. */
void zcache_split_begin(const struct zcache_slot_args *s, int *error_code);
void ADIOI_ZCACHE_IreadContig(ADIO_File fd, void *buf, zcache_count count, MPI_Datatype type,
                              int file_ptr_type, ADIO_Offset offset, ADIO_Request *request,
                              int *error_code);
void ADIOI_ZCACHE_IwriteContig(ADIO_File fd, const void *buf, zcache_count count, MPI_Datatype type,
                               int file_ptr_type, ADIO_Offset offset, ADIO_Request *request,
                               int *error_code);
void ADIOI_ZCACHE_IreadStrided(ADIO_File fd, void *buf, zcache_count count, MPI_Datatype type,
                               int file_ptr_type, ADIO_Offset offset, ADIO_Request *request,
                               int *error_code);
void ADIOI_ZCACHE_IreadStridedColl(ADIO_File fd, void *buf, zcache_count count, MPI_Datatype type,
                                   int file_ptr_type, ADIO_Offset offset, ADIO_Request *request,
                                   int *error_code);
void ADIOI_ZCACHE_IwriteStrided(ADIO_File fd, const void *buf, zcache_count count,
                                MPI_Datatype type, int file_ptr_type, ADIO_Offset offset,
                                ADIO_Request *request, int *error_code);

#endif
