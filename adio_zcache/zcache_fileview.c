/* zcache_fileview.c - the view of a file, made of ROMIO's flattened filetype. */
#include "config.h"

#include <errno.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zcache_file.h"
#include "zcache_pieces.h"

static struct zc_lock lock = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int make(ADIO_File fd, struct zc_view **out)
{
    const ADIOI_Flatlist_node *flat = ADIOI_Flatten_and_find(fd->filetype);
    struct zc_view_builder *b;
    MPI_Count lb, extent;
    int rc = zc_view_builder_create(&b);

    for (MPI_Count i = 0; rc == 0 && i < flat->count; i++)
        if (flat->blocklens[i])
            rc = zc_view_add(b, flat->indices[i], flat->blocklens[i]);
    if (rc) {
        zc_view_builder_destroy(b);
        return rc;
    }
    MPI_Type_get_extent_x(fd->filetype, &lb, &extent);
    return zc_view_finish(b, extent, out);
}

int zcache_file_view(ADIO_File fd, const struct zc_view **out)
{
    struct zcache_file *f = zcache_file_of(fd);
    int contiguous, rc = 0;

    zc_lock_get(&lock);
    if (!f->view_made) {
        ADIOI_Datatype_iscontig(fd->filetype, &contiguous);
        if (!contiguous)
            rc = make(fd, &f->view);
        f->view_made = rc == 0;
    }
    *out = f->view;
    zc_lock_put(&lock);
    return rc;
}

MPI_Offset zcache_view_offset(ADIO_File fd, MPI_Offset off)
{
    const struct zc_view *v;
    int64_t before;

    if (zcache_file_view(fd, &v) == 0 && v && zc_view_monotone(v) &&
        zc_view_before(v, fd->disp, off, &before) == 0)
        return before;
    return zcache_pieces_view_offset(fd, off);
}

void zcache_file_view_drop(struct zcache_file *f)
{
    zc_view_put(f->view);
    f->view = NULL;
    f->view_made = false;
}
