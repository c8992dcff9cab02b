/*
 * A program that writes a last checkpoint when it is told that its time is over: t_last FILE.
 * Each rank writes to FILE.open, and keeps that open, says "PID waits", and waits for SIGTERM; then
 * all write FILE, which has not been open before, add to FILE.open, and close both.
 *
 * t_last FILE check: compares both.
 */
#include "t_mpiio.h"

#include <signal.h>
#include <unistd.h>

enum { BLOCK = 1 << 20, BLOCKS = 2 };

static unsigned char data[BLOCK], found[BLOCK];

static void fill(int i)
{
    for (int k = 0; k < BLOCK; k++)
        data[k] = (unsigned char)(k * 7 + (k >> 8) + t_rank * 31 + i);
}

static void put(MPI_File fh, int i)
{
    MPI_Status status;

    fill(i);
    OK(MPI_File_write_at_all(fh, ((MPI_Offset)i * t_size + t_rank) * BLOCK, data, BLOCK, MPI_BYTE,
                             &status));
}

static MPI_File open_file(const char *name, int amode)
{
    MPI_File fh;

    OK(MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &fh));
    return fh;
}

static void check(const char *name)
{
    MPI_File fh = open_file(name, MPI_MODE_RDONLY);

    for (int i = 0; i < BLOCKS; i++) {
        MPI_Status status;
        int n;

        fill(i);
        OK(MPI_File_read_at(fh, ((MPI_Offset)i * t_size + t_rank) * BLOCK, found, BLOCK, MPI_BYTE,
                            &status));
        MPI_Get_count(&status, MPI_BYTE, &n);
        CHECK(n == BLOCK && !memcmp(found, data, BLOCK));
    }
    OK(MPI_File_close(&fh));
}

static void write_last(const char *name, const char *open_name)
{
    const int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY;
    MPI_File fh, open = open_file(open_name, mode);
    sigset_t set;
    int sig;

    put(open, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    printf("%ld waits\n", (long)getpid());
    fflush(stdout);
    sigwait(&set, &sig);
    fh = open_file(name, mode);
    for (int i = 0; i < BLOCKS; i++)
        put(fh, i);
    OK(MPI_File_close(&fh));
    put(open, 1);
    OK(MPI_File_close(&open));
}

int main(int argc, char **argv)
{
    const char *name;
    char open_name[4096];
    sigset_t set;

    sigemptyset(&set); /* before there are other threads */
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    snprintf(open_name, sizeof open_name, "%s.open", name);
    if (argc == 2) {
        write_last(name, open_name);
    } else {
        check(name);
        check(open_name);
    }
    return t_end("last");
}
