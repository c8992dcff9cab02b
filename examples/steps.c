/* steps.c - one job computes steps, another one reads each as soon as it is finished.
 *
 *     mpicc -o steps steps.c
 *     mpiexec -n 4 ./steps zcache:/scratch/field produce 20 &
 *     mpiexec -n 2 ./steps zcache:/scratch/field consume 20
 *
 * Both jobs need the same daemons.  The file has a record for each step, which all ranks of the
 * producer write together; MPI_File_sync with the hint zcache_steps publishes it.  The consumer
 * waits for a step with zcache_wait_step: at the open, at which the file need not be there yet, and
 * with MPI_File_set_info later.  It sees whole steps only, from the daemons' memory.  It compares
 * each value, and prints the sum of each step.
 *
 * If the producer ends or dies before step N, the consumer's wait fails with an error that names
 * the last whole step.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES = 1 << 16 }; /* doubles per step */

static int rank, ranks;

static void ok(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;

    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &len);
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static MPI_Info hint(const char *key, const char *value)
{
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    return info;
}

static double value_of(int step, long i)
{
    return step + i / (double)VALUES;
}

/* This rank's values of a step: from *first on; returns how many. */
static int part(long *first)
{
    *first = (long)VALUES * rank / ranks;
    return (int)((long)VALUES * (rank + 1) / ranks - *first);
}

static MPI_Offset place(int step, long i)
{
    return (MPI_Offset)sizeof(double) * ((MPI_Offset)(step - 1) * VALUES + i);
}

static void produce(const char *name, int steps)
{
    MPI_Info info = hint("zcache_steps", "true");
    long first;
    int n = part(&first);
    double *values = malloc((size_t)n * sizeof *values);
    MPI_File file;

    MPI_Info_set(info, "zcache_sync_level", "staged"); /* published when the daemons have it */
    ok(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, info, &file), name);
    MPI_Info_free(&info);
    for (int step = 1; step <= steps; step++) {
        for (int i = 0; i < n; i++)
            values[i] = value_of(step, first + i);
        ok(MPI_File_write_at_all(file, place(step, first), values, n, MPI_DOUBLE,
                                 MPI_STATUS_IGNORE),
           "write");
        ok(MPI_File_sync(file), "sync"); /* all ranks come: the step is finished */
    }
    ok(MPI_File_close(&file), "close");
    free(values);
}

/* Returns the number of wrong values. */
static long check(MPI_File file, int step, double *values, double *sum)
{
    long first, wrong = 0;
    int n = part(&first);

    ok(MPI_File_read_at_all(file, place(step, first), values, n, MPI_DOUBLE, MPI_STATUS_IGNORE),
       "read");
    for (int i = 0; i < n; i++) {
        wrong += values[i] != value_of(step, first + i);
        *sum += values[i];
    }
    return wrong;
}

static void wait_for(MPI_File file, int step)
{
    char number[16];
    MPI_Info info;

    snprintf(number, sizeof number, "%d", step);
    info = hint("zcache_wait_step", number);
    ok(MPI_File_set_info(file, info), "the next step");
    MPI_Info_free(&info);
}

static void consume(const char *name, int steps)
{
    MPI_Info info = hint("zcache_wait_step", "1");
    double *values = malloc((size_t)(VALUES / ranks + 1) * sizeof *values);
    double sum = 0, all = 0;
    long wrong = 0, wrongs;
    MPI_File file;

    MPI_Info_set(info, "zcache_wait_limit", "1m");
    ok(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, info, &file), name);
    MPI_Info_free(&info);
    for (int step = 1; step <= steps; step++) {
        if (step > 1)
            wait_for(file, step);
        wrong += check(file, step, values, &sum);
    }
    ok(MPI_File_close(&file), "close");
    free(values);
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&wrong, &wrongs, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d steps, their sum is %g: %ld values are wrong\n", steps, all, wrongs);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 4 || (strcmp(argv[2], "produce") && strcmp(argv[2], "consume"))) {
        if (rank == 0)
            fprintf(stderr, "usage: steps FILE produce|consume STEPS\n");
        MPI_Finalize();
        return 2;
    }
    if (!strcmp(argv[2], "produce"))
        produce(argv[1], atoi(argv[3]));
    else
        consume(argv[1], atoi(argv[3]));
    MPI_Finalize();
    return 0;
}
