/* zcache_fileview.h - what a file handle shows, and where its pointer is in it.
 *
 * View offsets count visible bytes from the view's first one on, as in zc_view.h.  The
 * individual pointer is kept as one; fd->fp_ind follows it for those who look there.
 * Calls by one thread at a time, as for ROMIO's own state.
 */
#ifndef ZCACHE_FILEVIEW_H
#define ZCACHE_FILEVIEW_H

#include <stdint.h>

#include "adio.h"
#include "zc_view.h"

/* One that is to be set when all ranks have theirs.  All zero: nothing is prepared. */
struct zcache_new_view {
    struct zcache_layout *layout; /* of the filetype */
    MPI_Datatype types[2];        /* copies of etype and filetype, which the program may free */
    MPI_Count etype_size;
};

/* Checks what MPI asks of the types; 0 or a negative errno, explained, and nothing is prepared. */
int zcache_view_prepare(ADIO_File fd, MPI_Datatype etype, MPI_Datatype filetype,
                        struct zcache_new_view *v);
void zcache_view_drop(struct zcache_new_view *v);
/* Sets it at displacement `disp`, 0 or more; *v is nobody's any more. */
void zcache_view_take(ADIO_File fd, ADIO_Offset disp, struct zcache_new_view *v);

/* The view, NULL when every byte from the displacement on is visible.  Borrowed: valid
 * until the view is set again. */
struct zc_view *zcache_view_of(ADIO_File fd);

/* Where visible byte `view_off` lies in the file; 0 or a negative errno. */
int zcache_view_to_file(ADIO_File fd, int64_t view_off, int64_t *file_off);
/* Visible bytes before file offset `off`, 0 when it lies before the view. */
int64_t zcache_view_before(ADIO_File fd, int64_t off);
/* `n` etypes in bytes; -EOVERFLOW (explained) when no file is so large, -EINVAL when n < 0. */
int zcache_view_etypes(ADIO_File fd, int64_t n, int64_t *bytes);

/* The individual pointer as a view offset. */
int64_t zcache_pointer(ADIO_File fd);
void zcache_pointer_set(ADIO_File fd, int64_t view_off);

#endif
