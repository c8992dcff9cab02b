/* write_read_pnetcdf.c - steps of a computation as records of a PnetCDF variable.
 *
 *     mpicc -o write_read_pnetcdf write_read_pnetcdf.c -lpnetcdf
 *     mpiexec -n 4 ./write_read_pnetcdf zcache:/scratch/steps.nc
 *
 * Each rank has some columns of a grid.  Computes and writes the steps by nonblocking calls, closes
 * the file, opens it again, and reads and compares what another rank wrote.
 */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 256, COLS = 96, STEPS = 8 };

static int rank, ranks;

static void must(int rc)
{
    if (rc == NC_NOERR)
        return;
    fprintf(stderr, "rank %d: %s\n", rank, ncmpi_strerror(rc));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int first_column(int r)
{
    return (int)((long)COLS * r / ranks);
}

/* Some work, the same for writer and reader. */
static void compute(double *part, int step, int r)
{
    for (int row = 0; row < ROWS; row++)
        for (int col = first_column(r); col < first_column(r + 1); col++)
            *part++ = step + row / (1.0 + col);
}

static void write_steps(const char *name)
{
    int file, var, dims[3], n = first_column(rank + 1) - first_column(rank);
    MPI_Offset count[3] = {1, ROWS, n};
    double *part = malloc(sizeof *part * ROWS * (size_t)n);

    must(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
    must(ncmpi_def_dim(file, "step", NC_UNLIMITED, &dims[0]));
    must(ncmpi_def_dim(file, "row", ROWS, &dims[1]));
    must(ncmpi_def_dim(file, "col", COLS, &dims[2]));
    must(ncmpi_def_var(file, "steps", NC_DOUBLE, 3, dims, &var));
    must(ncmpi_enddef(file));
    for (int step = 0; step < STEPS; step++) {
        MPI_Offset from[3] = {step, 0, first_column(rank)};
        int request, status;

        compute(part, step, rank);
        must(ncmpi_iput_vara_double(file, var, from, count, part, &request));
        must(ncmpi_wait_all(file, 1, &request, &status));
        must(status);
    }
    must(ncmpi_close(file)); /* here late errors of writes are told */
    free(part);
}

static long read_steps(const char *name)
{
    int other = (rank + 1) % ranks, n = first_column(other + 1) - first_column(other), file, var;
    MPI_Offset count[3] = {1, ROWS, n};
    size_t values = (size_t)ROWS * (size_t)n;
    double *part = malloc(values * sizeof *part), *want = malloc(values * sizeof *want);
    long wrong = 0;

    must(ncmpi_open(MPI_COMM_WORLD, name, NC_NOWRITE, MPI_INFO_NULL, &file));
    must(ncmpi_inq_varid(file, "steps", &var));
    for (int step = 0; step < STEPS; step++) {
        MPI_Offset from[3] = {step, 0, first_column(other)};

        compute(want, step, other);
        must(ncmpi_get_vara_double_all(file, var, from, count, part));
        for (size_t i = 0; i < values; i++)
            wrong += part[i] != want[i];
    }
    must(ncmpi_close(file));
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
    if (argc != 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    write_steps(argv[1]);
    wrong = read_steps(argv[1]);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d steps of %d ranks: %ld values are wrong\n", STEPS, ranks, wrong);
    MPI_Finalize();
    return wrong != 0;
}
