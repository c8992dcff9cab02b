/* zcache_fileview.h - the view of a file handle, and its individual pointer.
 *
 * View offsets count visible bytes from the view's first one on, as in zc_view.h.  The individual
 * pointer is kept as one; fd->fp_ind follows it for ROMIO.  Calls by one thread at a time, as for
 * ROMIO's own state.
 */
#ifndef ZCACHE_FILEVIEW_H
#define ZCACHE_FILEVIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "adio.h"
#include "zc_view.h"

/* A view to be set when all ranks have prepared theirs.  All zero: none. */
struct zcache_new_view {
    struct zcache_layout *layout; /* of the filetype */
    MPI_Datatype types[2];        /* copies of etype and filetype, which the program may free */
    MPI_Count etype_size;
    const char *datarep_name;             /* as zcache_file has it, and the next ones */
    const struct zcache_datarep *datarep; /* then all above is of the types in the file */
    MPI_Datatype asked[2];
};

/* Whether it is a data representation for a view: a predefined or a registered one. */
bool zcache_view_knows_datarep(const char *name);

/* Checks MPI's rules for the types and prepares the view; 0 or a negative errno, explained, and
 * nothing is prepared. */
int zcache_view_prepare(ADIO_File fd, MPI_Datatype etype, MPI_Datatype filetype,
                        const char *datarep, struct zcache_new_view *v);
void zcache_view_drop(struct zcache_new_view *v);
/* Sets it at displacement `disp`, 0 or more, and takes over *v. */
void zcache_view_take(ADIO_File fd, ADIO_Offset disp, struct zcache_new_view *v);

/* Corrects what ROMIO tells of the view: copies of etype and filetype, which the caller frees, and
 * the representation, MPI_MAX_DATAREP_STRING bytes.  0 or a negative errno, explained. */
int zcache_view_asked(ADIO_File fd, MPI_Datatype *etype, MPI_Datatype *filetype, char *datarep);
/* Before the file's state goes. */
struct zcache_file;
void zcache_view_forget_asked(struct zcache_file *f);

/* Returns the view, NULL if every byte from the displacement on is visible.  Borrowed: valid until
 * the view is set again. */
struct zc_view *zcache_view_of(ADIO_File fd);

/* Returns the file offset of visible byte `view_off`; 0 or a negative errno. */
int zcache_view_to_file(ADIO_File fd, int64_t view_off, int64_t *file_off);
/* Returns the number of visible bytes before file offset `off`, 0 if it lies before the view. */
int64_t zcache_view_before(ADIO_File fd, int64_t off);
/* Converts `n` etypes to bytes; -EOVERFLOW (explained) beyond any file, -EINVAL if n < 0. */
int zcache_view_etypes(ADIO_File fd, int64_t n, int64_t *bytes);

/* Returns the individual pointer as a view offset. */
int64_t zcache_pointer(ADIO_File fd);
void zcache_pointer_set(ADIO_File fd, int64_t view_off);

#endif
