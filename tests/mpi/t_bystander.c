/*
 * An aggregator that hangs in the middle of a transfer affects no other aggregator.
 *
 *     t_bystander FILE SECONDS
 *
 * By three ranks, each of which owns blocks, and which reach each other over libfabric, with a
 * time-out of SECONDS.  Rank 2 stops itself for longer than that; rank 0, which writes to it
 * meanwhile, gets an error, and reads and writes rank 1's blocks as before, through its existing
 * connection.
 */
#include <signal.h>
#include <unistd.h>

#include "t_mpiio.h"

enum { BLOCK = 1 << 20, RANKS = 3 };

static unsigned char out[BLOCK], in[BLOCK];

/* Block `b`, which rank b owns. */
static int move(MPI_File fh, int write, int b)
{
    MPI_Offset at = (MPI_Offset)b * BLOCK;

    return write ? MPI_File_write_at(fh, at, out, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE)
                 : MPI_File_read_at(fh, at, in, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void write_and_read(MPI_File fh, int b, int c)
{
    memset(out, c, BLOCK);
    OK(move(fh, 1, b));
    memset(in, 0, BLOCK);
    OK(move(fh, 0, b));
    CHECK(!memcmp(in, out, BLOCK));
}

/* Stops this process; a child wakes it. */
static void stand_still(unsigned seconds)
{
    pid_t me = getpid();

    if (fork() == 0) {
        sleep(seconds);
        kill(me, SIGCONT);
        _exit(0);
    }
    raise(SIGSTOP);
}

static void beside(MPI_File fh)
{
    MPI_Offset size;

    for (int b = 0; b < RANKS; b++)
        write_and_read(fh, b, 'a');
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(500000); /* until rank 2 has stopped; if not yet, it receives this, and fails us later */
    memset(out, 'x', BLOCK);
    CHECK(move(fh, 1, 2) != MPI_SUCCESS);
    for (int i = 0; i < 3; i++)
        write_and_read(fh, 1, 'b' + i);
    write_and_read(fh, 0, 'c');
    CHECK(move(fh, 0, 2) != MPI_SUCCESS); /* at once */
    CHECK(MPI_File_get_size(fh, &size) != MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    unsigned seconds = (unsigned)atoi(argv[2]);
    MPI_Info info;
    MPI_File fh;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "cb_nodes", "3"));
    OK(MPI_Info_set(info, "cb_config_list", "*:*"));
    OK(MPI_Info_set(info, "striping_unit", "1048576"));
    OK(MPI_Info_set(info, "zcache_local", "false"));
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    OK(MPI_Info_free(&info));
    if (t_rank == 0)
        beside(fh);
    else
        MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 2)
        stand_still(3 * seconds);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_close(&fh); /* with the error of the failed write */
    return t_end("t_bystander");
}
