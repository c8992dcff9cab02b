/* zcache_order.c - collective reads come after what the ranks wrote before. */
#include "config.h"

#include "zcache_file.h"
#include "zcache_order.h"
#include "zcache_outcome.h"

bool zcache_order_wanted(ADIO_File fd)
{
    const struct zcache_file *f = zcache_file_of(fd);
    int size;

    MPI_Comm_size(fd->comm, &size);
    return size > 1 && f->settings.read_after_write && !f->order_waived &&
           !(fd->access_mode & ADIO_RDONLY);
}

int zcache_order_wait(ADIO_File fd)
{
    return zcache_order_wanted(fd) ? zcache_outcome_barrier(fd->comm) : 0;
}
