/* Memory that the processor reads and the kernel cannot pin, as that of a device is which is mapped
 * into the process: here the page that the kernel keeps the time in.  write(2) takes it, and so
 * does MPI_File_write. */
#define _GNU_SOURCE
#include <sys/uio.h>
#include <unistd.h>

#include "t_mpiio.h"

enum { LEN = 512 };

static char *find_page(void)
{
    FILE *f = fopen("/proc/self/maps", "re");
    unsigned long at = 0;
    char line[400];

    while (f && !at && fgets(line, sizeof line, f))
        if (strstr(line, "[vvar]"))
            at = strtoul(line, NULL, 16);
    if (f)
        fclose(f);
    return (char *)at;
}

static int can_be_pinned(char *page)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {page, 1};

    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    char *page = find_page();
    MPI_Offset size;
    MPI_File f;

    if (!page || can_be_pinned(page)) {
        if (t_rank == 0)
            puts("skipped: no such page here");
        MPI_Finalize();
        return 0;
    }
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f));
    OK(MPI_File_write_at(f, t_rank * LEN, page, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_write_at_all(f, (t_size + t_rank) * LEN, page, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_sync(f));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_get_size(f, &size));
    CHECK(size == 2 * t_size * LEN);
    OK(MPI_File_close(&f));
    return t_end("t_device");
}
