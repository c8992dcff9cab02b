/*
 * What ZCACHE_STATS is to tell of: t_stats FILE HOW.
 *     unused  the file is opened and closed
 *     again   ranks write the same bytes many times, through one of them and by messages: little is
 *             left to store in the close
 *     late    rank 1 comes to collective reads a quarter of a second after the others
 *     absent  as unused but for a byte, and rank 1 does not take part in what sums up the figures
 */
#include <time.h>
#include <unistd.h>

#include "t_mpiio.h"

static int absent;

/* In front of the MPI library's, for the plugin, too. */
int MPI_Ireduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm, MPI_Request *request)
{
    if (!absent || t_rank != 1)
        return PMPI_Ireduce(from, to, n, type, op, root, comm, request);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

static void come_late(MPI_File fh)
{
    const struct timespec quarter = {.tv_nsec = 250 * 1000 * 1000};
    static char buf[64 << 10];

    OK(MPI_File_write_at_all(fh, (MPI_Offset)sizeof buf * t_rank, buf, sizeof buf, MPI_BYTE,
                             MPI_STATUS_IGNORE));
    for (int i = 0; i < 8; i++) {
        if (t_rank == 1)
            nanosleep(&quarter, NULL);
        OK(MPI_File_read_at_all(fh, 0, buf, sizeof buf, MPI_BYTE, MPI_STATUS_IGNORE));
    }
}

static void write_again(MPI_File fh)
{
    static char buf[1 << 20];

    for (int i = 0; i < 64; i++)
        OK(MPI_File_write_at(fh, (MPI_Offset)sizeof buf * t_rank, buf, sizeof buf, MPI_BYTE,
                             MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE), *how = argc > 2 ? argv[2] : "unused";
    MPI_Info info;
    MPI_File fh;

    OK(MPI_Info_create(&info));
    if (!strcmp(how, "again")) {
        OK(MPI_Info_set(info, "cb_nodes", "1"));
        OK(MPI_Info_set(info, "zcache_local", "false"));
    }
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    OK(MPI_Info_free(&info));
    if (!strcmp(how, "late"))
        come_late(fh);
    if (!strcmp(how, "again"))
        write_again(fh);
    absent = !strcmp(how, "absent");
    if (absent)
        OK(MPI_File_write_at(fh, t_rank, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&fh));
    return t_end("t_stats");
}
