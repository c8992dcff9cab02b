/* write_read.c - steps of a computation, each written as a record of one file.
 *
 *     mpicc -o write_read write_read.c
 *     mpiexec -n 4 ./write_read zcache:/scratch/steps.dat
 *
 * A grid of ROWS x COLS doubles; each rank has some columns of it, so that in the file pieces of
 * all ranks alternate.  Computes and writes STEPS of them, closes the file, opens it again, and
 * reads and compares what another rank wrote.  Nothing in here depends on zcache: "ufs:" works as
 * well.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 256, COLS = 96, STEPS = 8 };

static int rank, ranks;

/* Ends the program on an error.  Files return errors unless set otherwise. */
static void must(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;

    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &len);
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* First column of a rank; all ranks have nearly as many. */
static int first_column(int r)
{
    return (int)((long)COLS * r / ranks);
}

/* The value of a cell: some work, the same for writer and reader. */
static double cell(int step, int row, int col)
{
    double x = 1.0 / (1 + row + step) + col;

    for (int i = 0; i < 50; i++)
        x += 1.0 / (i + x);
    return x;
}

static void compute(double *part, int step, int r)
{
    int from = first_column(r), n = first_column(r + 1) - from;

    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < n; i++)
            part[row * n + i] = cell(step, row, from + i);
}

/* Sets the view: the file shows the columns of rank r only, record after record. */
static void view_columns(MPI_File file, int r)
{
    int sizes[2] = {ROWS, COLS}, parts[2] = {ROWS, first_column(r + 1) - first_column(r)};
    int starts[2] = {0, first_column(r)};
    MPI_Datatype columns;

    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &columns);
    MPI_Type_commit(&columns);
    must(MPI_File_set_view(file, 0, MPI_DOUBLE, columns, "native", MPI_INFO_NULL), "set_view");
    MPI_Type_free(&columns);
}

static void write_steps(const char *name)
{
    int n = ROWS * (first_column(rank + 1) - first_column(rank));
    double *part = malloc((size_t)n * sizeof *part);
    MPI_File file;

    must(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                       &file),
         "open for writing");
    view_columns(file, rank);
    for (int step = 0; step < STEPS; step++) {
        compute(part, step, rank); /* meanwhile the step before is on its way */
        must(MPI_File_write_all(file, part, n, MPI_DOUBLE, MPI_STATUS_IGNORE), "write");
    }
    /* The bytes are in the file if this succeeds; a program that ignores the result may miss a
     * loss.
     */
    must(MPI_File_close(&file), "close");
    free(part);
}

/* Returns how many values are wrong. */
static long read_steps(const char *name)
{
    int other = (rank + 1) % ranks, n = ROWS * (first_column(other + 1) - first_column(other));
    double *part = malloc((size_t)n * sizeof *part), *want = malloc((size_t)n * sizeof *want);
    long wrong = 0;
    MPI_File file;

    must(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
         "open for reading");
    view_columns(file, other);
    for (int step = 0; step < STEPS; step++) {
        MPI_Status status;
        int got;

        compute(want, step, other); /* meanwhile the next step is read ahead */
        must(MPI_File_read_all(file, part, n, MPI_DOUBLE, &status), "read");
        MPI_Get_count(&status, MPI_DOUBLE, &got);
        wrong += n - got;
        for (int i = 0; i < got; i++)
            wrong += part[i] != want[i];
    }
    must(MPI_File_close(&file), "close");
    free(part);
    free(want);
    return wrong;
}

int main(int argc, char **argv)
{
    long wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 2) {
        if (rank == 0)
            fprintf(stderr, "usage: write_read FILE\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    write_steps(argv[1]);
    wrong = read_steps(argv[1]);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d steps of %d ranks: %ld values are wrong\n", STEPS, ranks, wrong);
    MPI_Finalize();
    return wrong != 0;
}
