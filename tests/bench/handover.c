/* handover.c - for benchmarks: hands steps of a file over from one job to another.
 *
 *     handover produce|consume steps|marker FILE MARKERS STEPS BYTES PAUSE
 *
 *     produce  all ranks write a record of BYTES bytes together, STEPS times, and sync after each;
 *              the next one follows after PAUSE milliseconds
 *     consume  reads each record as soon as it is announced, and compares every byte
 *
 *     steps    uses zcache's hints: zcache_steps in the producer, zcache_wait_step in the consumer
 *     marker   works with any MPI-IO: after the sync rank 0 makes a file MARKERS.N; the consumer
 *              looks for it every millisecond, and opens the file again
 *
 * Prints a JSON array with a time for each step, in nanoseconds of the host's clock: when the sync
 * was called, or when all ranks of the consumer had the bytes.  Takes hints from HANDOVER_HINTS,
 * "key=value key=value".
 */
#include "config.h"

#include <fcntl.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, ranks, steps, pause_ms;
static long long bytes, first, mine; /* of a record: all bytes, offset and bytes of this rank */
static bool by_steps;
static const char *path, *markers;
static MPI_Info hints;
static unsigned char *buf;
static long long *times;

static void check(int rc, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;

    if (rc == MPI_SUCCESS)
        return;
    MPI_Error_string(rc, text, &len);
    fprintf(stderr, "handover: rank %d: %s: %s\n", rank, what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

#define OK(call) check(call, #call)

static long long now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void make_hints(void)
{
    char *words = getenv("HANDOVER_HINTS");

    MPI_Info_create(&hints);
    for (char *w = words ? strtok(words, " ") : NULL; w; w = strtok(NULL, " ")) {
        char *value = strchr(w, '=');

        if (!value)
            continue;
        *value++ = 0;
        MPI_Info_set(hints, w, value);
    }
}

static unsigned char byte_of(int step, long long i)
{
    return (unsigned char)(1 + (i * 31 + i / 251 + step * 7) % 255);
}

static MPI_Offset place(int step)
{
    return (MPI_Offset)(bytes * (step - 1) + first);
}

static void marker(char *name, size_t len, int step)
{
    snprintf(name, len, "%s.%d", markers, step);
}

static void produce(void)
{
    MPI_File file;
    char name[4096];

    if (by_steps)
        MPI_Info_set(hints, "zcache_steps", "true");
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, hints, &file));
    for (int step = 1; step <= steps; step++) {
        for (long long i = 0; i < mine; i++)
            buf[i] = byte_of(step, first + i);
        OK(MPI_File_write_at_all(file, place(step), buf, (int)mine, MPI_BYTE, MPI_STATUS_IGNORE));
        MPI_Barrier(MPI_COMM_WORLD);
        times[step - 1] = now();
        OK(MPI_File_sync(file));
        if (!by_steps) {
            MPI_Barrier(MPI_COMM_WORLD); /* a sync waits for no other rank */
            marker(name, sizeof name, step);
            if (rank == 0)
                close(open(name, O_CREAT | O_WRONLY, 0600));
        }
        usleep((useconds_t)pause_ms * 1000);
    }
    OK(MPI_File_close(&file));
}

static void wait_for_marker(int step)
{
    char name[4096];

    marker(name, sizeof name, step);
    while (rank == 0 && access(name, F_OK))
        usleep(1000);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void open_step(MPI_File *file, int step)
{
    char number[16];

    snprintf(number, sizeof number, "%d", step);
    if (!by_steps)
        wait_for_marker(step);
    else
        MPI_Info_set(hints, "zcache_wait_step", number);
    if (by_steps && step > 1)
        OK(MPI_File_set_info(*file, hints));
    else
        OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, hints, file));
}

static void consume(void)
{
    MPI_File file = MPI_FILE_NULL;
    MPI_Status status;
    int got;

    for (int step = 1; step <= steps; step++) {
        open_step(&file, step);
        memset(buf, 0, (size_t)mine);
        OK(MPI_File_read_at_all(file, place(step), buf, (int)mine, MPI_BYTE, &status));
        MPI_Barrier(MPI_COMM_WORLD);
        times[step - 1] = now();
        MPI_Get_count(&status, MPI_BYTE, &got);
        for (long long i = 0; i < mine; i++)
            if (got != mine || buf[i] != byte_of(step, first + i)) {
                fprintf(stderr, "handover: rank %d: step %d: byte %lld is wrong\n", rank, step, i);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        if (!by_steps)
            OK(MPI_File_close(&file));
    }
    if (by_steps)
        OK(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 8) {
        fprintf(stderr, "usage: handover produce|consume steps|marker FILE MARKERS STEPS BYTES "
                        "PAUSE\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    by_steps = !strcmp(argv[2], "steps");
    path = argv[3];
    markers = argv[4];
    steps = atoi(argv[5]);
    bytes = atoll(argv[6]);
    pause_ms = atoi(argv[7]);
    first = bytes * rank / ranks;
    mine = bytes * (rank + 1) / ranks - first;
    buf = malloc((size_t)mine + 1);
    times = calloc((size_t)steps, sizeof *times);
    make_hints();
    if (!strcmp(argv[1], "produce"))
        produce();
    else
        consume();
    if (rank == 0) {
        for (int i = 0; i < steps; i++)
            printf("%s%lld", i ? "," : "[", times[i]);
        printf("]\n");
    }
    MPI_Finalize();
    return 0;
}
