/* ad_zcache_view.c - setting the view of a file, by all ranks. */
#include "config.h"

#include "ad_zcache_hints.h"
#include "ad_zcache_seams.h"
#include "zc_log.h"
#include "zcache_error.h"
#include "zcache_file.h"
#include "zcache_fileview.h"

void zcache_view_set(ADIO_File fd, ADIO_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                     MPI_Info info, int *error_code)
{
    int ignored, rc;

    zc_error_clear();
    rc = zcache_view_take(fd, disp, etype, filetype);
    zcache_file_of(fd)->epoch++;
    if (rc == 0) {
        ADIO_SetInfo(fd, info, &ignored);
        zcache_hints_no_change(fd);
    } else {
        MPI_Barrier(fd->comm); /* ROMIO's, which those whose view is fine go to */
    }
    zcache_set_error(error_code, rc, "cannot set the view of", zcache_file_of(fd)->path);
}
