/* ad_zcache_seek.c - file pointers and offsets in etypes of the view.
 *
 * ROMIO has generic functions for these, which use its own idea of datatypes.
 */
#include "config.h"

#include "ad_zcache.h"
#include "zc_log.h"
#include "zcache_fileview.h"
#include "zcache_seams.h"

ADIO_Offset ADIOI_ZCACHE_SeekIndividual(ADIO_File fd, ADIO_Offset offset, int whence,
                                        int *error_code)
{
    int64_t view_off;
    int rc;

    (void)whence;
    zc_error_clear();
    rc = zcache_view_etypes(fd, offset, &view_off);
    if (rc == 0)
        zcache_pointer_set(fd, view_off);
    zcache_set_error(error_code, rc, "cannot seek in", zcache_file_of(fd)->path);
    return fd->fp_ind;
}

ADIO_Offset zcache_position(ADIO_File fd)
{
    return zcache_pointer(fd) / fd->etype_size;
}

ADIO_Offset zcache_byte_offset(ADIO_File fd, ADIO_Offset offset)
{
    int64_t view_off, at;

    if (zcache_view_etypes(fd, offset, &view_off) ||
        zcache_view_to_file(fd, view_off, &at)) /* a view without bytes, or too far */
        return fd->disp;
    return at;
}

/* The etype the end lies in counts. */
ADIO_Offset zcache_eof_offset(ADIO_File fd)
{
    ADIO_Fcntl_t arg;
    int error_code;

    ADIO_Fcntl(fd, ADIO_FCNTL_GET_FSIZE, &arg, &error_code);
    if (error_code != MPI_SUCCESS)
        return 0;
    return (zcache_view_before(fd, arg.fsize) + fd->etype_size - 1) / fd->etype_size;
}
