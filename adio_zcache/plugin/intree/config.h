/*
 * Replaces the configuration header of zcache when the driver is built into an MPICH.
 *
 * ROMIO's functions that ask the driver (zcache_seams.c) have their own names here: those of ROMIO
 * were renamed when the driver was registered (romio-register --in-tree).
 */
#ifndef ZCACHE_INTREE_CONFIG_H
#define ZCACHE_INTREE_CONFIG_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#define ZCACHE_IN_TREE 1

#define __wrap_ADIO_Get_shared_fp    ADIO_Get_shared_fp
#define __real_ADIO_Get_shared_fp    zcache_romio_ADIO_Get_shared_fp
#define __wrap_ADIO_Set_shared_fp    ADIO_Set_shared_fp
#define __real_ADIO_Set_shared_fp    zcache_romio_ADIO_Set_shared_fp
#define __wrap_ADIOI_Shfp_fname      ADIOI_Shfp_fname
#define __real_ADIOI_Shfp_fname      zcache_romio_ADIOI_Shfp_fname
#define __wrap_ADIOI_Get_position    ADIOI_Get_position
#define __real_ADIOI_Get_position    zcache_romio_ADIOI_Get_position
#define __wrap_ADIOI_Get_byte_offset ADIOI_Get_byte_offset
#define __real_ADIOI_Get_byte_offset zcache_romio_ADIOI_Get_byte_offset
#define __wrap_ADIOI_Get_eof_offset  ADIOI_Get_eof_offset
#define __real_ADIOI_Get_eof_offset  zcache_romio_ADIOI_Get_eof_offset

#endif
