/* A program whose main thread leaves by pthread_exit() after the open, while a thread of its own
 * does all that is MPI: the kernel then knows the process's memory by that thread only.
 *
 *     t_main_left NAME RANK     of that rank; -1: of all
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "t_mpiio.h"

enum { BIG = 3 << 20, SMALL = 1000 };

static char out[BIG], in[BIG];
static pthread_t main_thread;

static char value(int rank, int round, int i)
{
    return (char)(i * 7 + rank + round + i / 4096);
}

static void round_trip(MPI_File f, int round, int len)
{
    MPI_Offset at = (MPI_Offset)round * t_size * BIG;
    int next = (t_rank + 1) % t_size;

    for (int i = 0; i < len; i++)
        out[i] = value(t_rank, round, i);
    OK(MPI_File_write_at(f, at + (MPI_Offset)t_rank * len, out, len, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_sync(f));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_read_at(f, at + (MPI_Offset)next * len, in, len, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int i = 0; i < len; i++)
        if (in[i] != value(next, round, i)) {
            fprintf(stderr, "rank %d, round %d: byte %d is wrong\n", t_rank, round, i);
            t_failures++;
            break;
        }
    MPI_Barrier(MPI_COMM_WORLD);
}

struct arguments {
    int argc;
    char **argv;
    MPI_File f;
    pthread_barrier_t opened;
};

static void *all_of_mpi(void *arg)
{
    struct arguments *a = arg;
    const char *name = t_begin(a->argc, a->argv, MPI_THREAD_MULTIPLE);
    int which = atoi(a->argv[2]), status;

    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &a->f));
    round_trip(a->f, 0, BIG);
    if (which < 0 || which == t_rank) {
        pthread_barrier_wait(&a->opened);
        OK(pthread_join(main_thread, NULL) ? MPI_ERR_OTHER : MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    round_trip(a->f, 1, BIG);
    round_trip(a->f, 2, SMALL);
    OK(MPI_File_close(&a->f));
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &a->f));
    round_trip(a->f, 3, BIG);
    OK(MPI_File_close(&a->f));
    status = t_end("t_main_left");
    exit(status);
}

int main(int argc, char **argv)
{
    static struct arguments a;
    pthread_t thread;

    if (argc < 3) {
        fprintf(stderr, "usage: %s FILE RANK\n", argv[0]);
        return 2;
    }
    a.argc = argc;
    a.argv = argv;
    main_thread = pthread_self();
    pthread_barrier_init(&a.opened, NULL, 2);
    if (pthread_create(&thread, NULL, all_of_mpi, &a))
        return 2;
    pthread_barrier_wait(&a.opened); /* for ever where it is to stay */
    pthread_exit(NULL);
}
