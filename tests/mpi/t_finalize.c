/*
 * A program that closes its file during MPI_Finalize, in the callback of an attribute of
 * MPI_COMM_SELF, as HDF5 does if its user does not. The attribute is set before the first open, so
 * that the callback comes last. Rank 0, which owns the blocks, arrives before the others, which
 * write and read meanwhile. With "never" as second argument the file is not closed at all; with
 * "apart" neither, and each rank has opened it by itself, attached to one that ends first.
 */
#include "t_mpiio.h"

#include <unistd.h>

enum { PER_RANK = 100000 };

static MPI_File fh;
static int never, apart;
static unsigned char data[PER_RANK], back[PER_RANK];

static void write_mine(MPI_Offset at)
{
    MPI_Status status;

    OK(MPI_File_write_at(fh, at + (MPI_Offset)t_rank * PER_RANK, data, PER_RANK, MPI_BYTE,
                         &status));
    OK(MPI_File_read_at(fh, at + (MPI_Offset)t_rank * PER_RANK, back, PER_RANK, MPI_BYTE, &status));
    CHECK(!memcmp(data, back, PER_RANK));
}

static int late_close(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    write_mine((MPI_Offset)t_size * PER_RANK);
    if (!never)
        OK(MPI_File_close(&fh));
    return t_failures ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* With "unused": no rank accesses or closes the file, and ranks are still connecting to its owners,
 * as between hosts. */
static void leave_at_once(const char *name)
{
    MPI_Info info;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "cb_nodes", "4"));
    OK(MPI_Info_set(info, "cb_config_list", "*:*"));
    OK(MPI_Info_set(info, "zcache_local", "false"));
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    OK(MPI_Info_free(&info));
    OK(MPI_Finalize());
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    int key;

    apart = argc > 2 && !strcmp(argv[2], "apart");
    never = apart || (argc > 2 && !strcmp(argv[2], "never"));
    for (int i = 0; i < PER_RANK; i++)
        data[i] = (unsigned char)(i * 7 + (i >> 8) + t_rank);
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, late_close, &key, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
    if (argc > 2 && !strcmp(argv[2], "unused")) {
        leave_at_once(name);
        return t_failures != 0;
    }
    if (apart && t_rank != 0)
        OK(MPI_Barrier(MPI_COMM_WORLD)); /* rank 0 is the owner */
    OK(MPI_File_open(apart ? MPI_COMM_SELF : MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR,
                     MPI_INFO_NULL, &fh));
    if (apart && t_rank == 0)
        OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (t_rank != 0)
        usleep(200000); /* rank 0 owns the file's blocks and is in MPI_Finalize by now */
    write_mine(0);
    OK(MPI_Finalize());
    return t_failures != 0;
}
