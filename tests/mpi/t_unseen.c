/* t_unseen.c - which processes may access a rank's memory.
 *
 *     t_unseen FILE MISSING [seen]
 *
 * Without the local transport no rank gives others access (PR_SET_PTRACER), neither when it opens
 * FILE nor when it cannot open MISSING; with `seen`, all do.
 */
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "t_file.h"

static atomic_int times_opened;

/* Replaces the C library's prctl(), also for the plugin. */
int prctl(int option, ...)
{
    unsigned long a[4];
    va_list args;

    va_start(args, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(args, unsigned long);
    va_end(args);
    times_opened += option == PR_SET_PTRACER;
    return (int)syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    MPI_File fh;

    times_opened = 0; /* Intel MPI's MPI_Init() gives access for its own messages */
    CHECK(MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_RDONLY, MPI_INFO_NULL, &fh) !=
          MPI_SUCCESS);
    CHECK(times_opened == 0);
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    OK(MPI_File_write_at(fh, t_rank, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&fh));
    CHECK(argc > 3 ? times_opened > 0 : times_opened == 0);
    return t_end(argv[0]);
}
