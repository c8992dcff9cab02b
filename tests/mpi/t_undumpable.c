/* Ranks that become undumpable after the open, all or one of them: the kernel then lets no other
 * process reach their memory, and data arrives all the same, small and large, both ways.
 *
 *     t_undumpable NAME RANK     that rank does; -1: all
 */
#define _GNU_SOURCE
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "t_mpiio.h"

enum { BIG = 3 << 20, SMALL = 1000 };

static char out[BIG], in[BIG];

/* Everybody's neighbour. */
static long told[2]; /* process id, address */

static void exchange(void)
{
    long mine[2] = {(long)getpid(), (long)&told[0]};

    MPI_Sendrecv(mine, 2, MPI_LONG, (t_rank + 1) % t_size, 0, told, 2, MPI_LONG,
                 (t_rank + t_size - 1) % t_size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Whether it is as the test wants to have it: with all privileges it is not. */
static int neighbour_is_shut(void)
{
    long seen;
    struct iovec here = {&seen, sizeof seen}, there = {(void *)told[1], sizeof seen};

    return process_vm_readv((pid_t)told[0], &here, 1, &there, 1, 0) < 0;
}

static void round_trip(MPI_File f, int round, int len)
{
    MPI_Offset at = (MPI_Offset)round * t_size * BIG;

    for (int i = 0; i < len; i++)
        out[i] = (char)(i * 7 + t_rank + round + i / 4096);
    OK(MPI_File_write_at(f, at + (MPI_Offset)t_rank * len, out, len, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_sync(f));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_read_at(f, at + (MPI_Offset)((t_rank + 1) % t_size) * len, in, len, MPI_BYTE,
                        MPI_STATUS_IGNORE));
    for (int i = 0; i < len; i++)
        if (in[i] != (char)(i * 7 + (t_rank + 1) % t_size + round + i / 4096)) {
            fprintf(stderr, "rank %d, round %d: byte %d is wrong\n", t_rank, round, i);
            t_failures++;
            break;
        }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    int which = atoi(argv[2]), shut, any;
    MPI_File f;

    exchange();
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f));
    round_trip(f, 0, BIG);
    if (which < 0 || which == t_rank)
        prctl(PR_SET_DUMPABLE, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    shut = neighbour_is_shut();
    MPI_Allreduce(&shut, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    round_trip(f, 1, BIG);
    round_trip(f, 2, SMALL);
    round_trip(f, 3, BIG);
    OK(MPI_File_close(&f));
    prctl(PR_SET_DUMPABLE, 1); /* UCX waits in MPI_Finalize for ever for those that are not */
    if (!any && t_rank == 0)
        puts("no process is shut");
    return t_end("t_undumpable");
}
