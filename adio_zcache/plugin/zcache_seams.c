/* Where ROMIO's functions without a slot part for the driver; see the header. */
#include "config.h"

#include "ad_zcache_seams.h"

void __wrap_ADIO_Get_shared_fp(ADIO_File fd, ADIO_Offset incr, ADIO_Offset *was, int *error_code);
void __wrap_ADIO_Set_shared_fp(ADIO_File fd, ADIO_Offset value, int *error_code);
void __real_ADIOI_Shfp_fname(ADIO_File fd, int rank, int *error_code);
void __wrap_ADIOI_Shfp_fname(ADIO_File fd, int rank, int *error_code);
void __real_ADIOI_Get_position(ADIO_File fd, ADIO_Offset *offset);
void __wrap_ADIOI_Get_position(ADIO_File fd, ADIO_Offset *offset);
void __real_ADIOI_Get_byte_offset(ADIO_File fd, ADIO_Offset offset, ADIO_Offset *disp);
void __wrap_ADIOI_Get_byte_offset(ADIO_File fd, ADIO_Offset offset, ADIO_Offset *disp);
void __real_ADIOI_Get_eof_offset(ADIO_File fd, ADIO_Offset *offset);
void __wrap_ADIOI_Get_eof_offset(ADIO_File fd, ADIO_Offset *offset);

/* Callers look at the code, and not all of them have set it. */
void __wrap_ADIO_Get_shared_fp(ADIO_File fd, ADIO_Offset incr, ADIO_Offset *was, int *error_code)
{
    *error_code = MPI_SUCCESS;
    if (fd->file_system == ADIO_ZCACHE)
        zcache_shared_pointer_add(fd, incr, was, error_code);
    else
        __real_ADIO_Get_shared_fp(fd, incr, was, error_code);
}

void __wrap_ADIO_Set_shared_fp(ADIO_File fd, ADIO_Offset value, int *error_code)
{
    *error_code = MPI_SUCCESS;
    if (fd->file_system == ADIO_ZCACHE)
        zcache_shared_pointer_set(fd, value, error_code);
    else
        __real_ADIO_Set_shared_fp(fd, value, error_code);
}

/* Names the hidden file that ROMIO keeps a shared pointer in: with this driver there is no such
 * file, and the name is empty. */
void __wrap_ADIOI_Shfp_fname(ADIO_File fd, int rank, int *error_code)
{
    if (fd->file_system == ADIO_ZCACHE)
        fd->shared_fp_fname = ADIOI_Calloc(1, 1);
    else
        __real_ADIOI_Shfp_fname(fd, rank, error_code);
}

void __wrap_ADIOI_Get_position(ADIO_File fd, ADIO_Offset *offset)
{
    if (fd->file_system == ADIO_ZCACHE)
        *offset = zcache_position(fd);
    else
        __real_ADIOI_Get_position(fd, offset);
}

void __wrap_ADIOI_Get_byte_offset(ADIO_File fd, ADIO_Offset offset, ADIO_Offset *disp)
{
    if (fd->file_system == ADIO_ZCACHE)
        *disp = zcache_byte_offset(fd, offset);
    else
        __real_ADIOI_Get_byte_offset(fd, offset, disp);
}

void __wrap_ADIOI_Get_eof_offset(ADIO_File fd, ADIO_Offset *offset)
{
    if (fd->file_system == ADIO_ZCACHE)
        *offset = zcache_eof_offset(fd);
    else
        __real_ADIOI_Get_eof_offset(fd, offset);
}
