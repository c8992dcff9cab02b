/*
 * An open after the daemon was away for longer than zcache_timeout.
 *
 *     t_gone FILE MARK
 *
 * Rank 0 makes MARK.0, and waits until it is deleted, when the daemon has gone: so a sync of FILE.0
 * fails.  Then it does the same with MARK.1, and the daemon is there again: FILE.1 can be opened.
 */
#include <unistd.h>

#include "t_mpiio.h"

static MPI_File open_one(const char *name, int number)
{
    MPI_File fh;
    char file[4096];

    snprintf(file, sizeof file, "%s.%d", name, number);
    OK(MPI_File_open(MPI_COMM_WORLD, file, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    OK(MPI_File_write_at(fh, t_rank, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE));
    return fh;
}

static void hand_over(const char *mark, int number)
{
    char file[4096];
    FILE *f;

    if (t_rank == 0) {
        snprintf(file, sizeof file, "%s.%d", mark, number);
        f = fopen(file, "w");
        CHECK(f && fclose(f) == 0);
        while (access(file, F_OK) == 0)
            usleep(10000);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    MPI_File kept = open_one(name, 0), other;

    hand_over(argv[2], 0);
    CHECK(MPI_File_sync(kept) != MPI_SUCCESS);
    hand_over(argv[2], 1);
    other = open_one(name, 1);
    OK(MPI_File_close(&other));
    MPI_File_close(&kept); /* what was lost is an error there, or was sent again */
    return t_end("t_gone");
}
