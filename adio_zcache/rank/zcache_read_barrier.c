/* zcache_read_barrier.c - collective reads come after earlier writes of all ranks. */
#include "config.h"

#include <stdlib.h>

#include "zcache_collective_error.h"
#include "zcache_file.h"
#include "zcache_read_barrier.h"

bool zcache_read_barrier_wanted(ADIO_File fd)
{
    const struct zcache_file *f = zcache_file_of(fd);
    int size;

    MPI_Comm_size(fd->comm, &size);
    return size > 1 && f->settings.read_after_write && !f->order_waived &&
           !(fd->access_mode & ADIO_RDONLY);
}

int zcache_read_barrier_wait(ADIO_File fd)
{
    if (!zcache_read_barrier_wanted(fd))
        return 0;
    zcache_file_of(fd)->orders++;
    return zcache_collective_error_barrier(fd->comm);
}

void zcache_read_barrier_begin(ADIO_File fd, MPI_Request *others)
{
    zcache_file_of(fd)->orders++;
    if (MPI_Ibarrier(fd->comm, others) != MPI_SUCCESS)
        *others = MPI_REQUEST_NULL;
}

/* Drops requests that are complete by now, or have failed. */
static void drop_complete(struct zcache_file *f)
{
    int left = 0, done;

    for (int i = 0; i < f->nowed; i++) {
        if (MPI_Test(&f->owed[i], &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
            f->owed[left++] = f->owed[i];
    }
    f->nowed = left;
}

/* Keeps a request until it is complete, or the close.  Without memory: waits now. */
static void keep(struct zcache_file *f, MPI_Request r)
{
    MPI_Request *more;

    drop_complete(f);
    more = realloc(f->owed, ((size_t)f->nowed + 1) * sizeof *more);
    if (!more) {
        zcache_collective_error_wait(MPI_SUCCESS, &r);
        return;
    }
    f->owed = more;
    f->owed[f->nowed++] = r;
}

void zcache_read_barrier_join(ADIO_File fd, bool waits)
{
    MPI_Request r = MPI_REQUEST_NULL;

    if (waits) {
        zcache_read_barrier_wait(fd);
    } else if (zcache_read_barrier_wanted(fd)) {
        zcache_read_barrier_begin(fd, &r);
        keep(zcache_file_of(fd), r);
    }
}

void zcache_read_barrier_end(ADIO_File fd)
{
    struct zcache_file *f = zcache_file_of(fd);

    for (int i = 0; i < f->nowed; i++)
        zcache_collective_error_wait(MPI_SUCCESS, &f->owed[i]);
    free(f->owed);
    f->owed = NULL;
    f->nowed = 0;
}
