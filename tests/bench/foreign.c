/*
 * foreign FILE COUNT SIZE: writes and reads COUNT times SIZE bytes at the start of FILE by
 * independent calls, one after the other. Prints the processor time that this took, in
 * microseconds.
 *
 * For foreign.sh: what the plugin costs files that are not zcache's.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static double now(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return 1e6 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
    int count = argc > 3 ? atoi(argv[2]) : 0, size = argc > 3 ? atoi(argv[3]) : 0, bad = 0;
    char *buf = calloc(1, size > 0 ? (size_t)size : 1);
    double began;
    MPI_File fh;

    MPI_Init(&argc, &argv);
    if (size <= 0 || !buf ||
        MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                      &fh) != MPI_SUCCESS)
        return EXIT_FAILURE;
    began = now();
    for (int i = 0; i < count; i++) {
        bad |= MPI_File_write_at(fh, 0, buf, size, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
        bad |= MPI_File_read_at(fh, 0, buf, size, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    }
    printf("%.0f\n", now() - began);
    bad |= MPI_File_close(&fh) != MPI_SUCCESS;
    MPI_Finalize();
    free(buf);
    return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
