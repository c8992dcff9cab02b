/*
 * Creates files in threads: t_create BASE COUNT THREADS. Thread t opens BASE.t.0 and so on, each
 * alone and with MPI_MODE_CREATE, and writes a byte. The umask is 027, still is at the end, and is
 * not changed in between, not even for a moment: other threads would create files with that.
 */
#include <stdatomic.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "t_mpiio.h"

enum { THREADS_MAX = 16 };

static const char *base;
static int count;
static MPI_Comm comms[THREADS_MAX];

/* Replaces the C library's umask(), also for the plugin. */
static atomic_int times_set;
mode_t umask(mode_t mask);

mode_t umask(mode_t mask)
{
    times_set++;
    return (mode_t)syscall(SYS_umask, mask);
}

static void *create(void *number)
{
    int t = (int)(intptr_t)number;
    char name[4096];
    MPI_File fh;

    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s.%d.%d", base, t, i);
        OK(MPI_File_open(comms[t], name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
        OK(MPI_File_write_at(fh, 0, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE));
        OK(MPI_File_close(&fh));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS_MAX];
    int provided, threads;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (argc != 4 || provided != MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 2);
    base = argv[1];
    count = atoi(argv[2]);
    threads = atoi(argv[3]);
    umask(027);
    times_set = 0;
    for (int i = 0; i < threads; i++)
        MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
    for (int i = 0; i < threads; i++)
        pthread_create(&t[i], NULL, create, (void *)(intptr_t)i);
    for (int i = 0; i < threads; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < threads; i++)
        MPI_Comm_free(&comms[i]);
    if (times_set || umask(027) != 027) {
        fprintf(stderr, "t_create: the umask was set %d times\n", times_set);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
