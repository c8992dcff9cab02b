/* write_read_netcdf.c - steps of a computation in a variable of netCDF, as netCDF-4 (HDF5 below it)
 * or, with a second argument "classic", in a classic file (PnetCDF below it).
 *
 *     mpicc -o write_read_netcdf write_read_netcdf.c $(nc-config --cflags --libs)
 *     mpiexec -n 4 ./write_read_netcdf zcache:/scratch/steps.nc
 *
 * Each rank has some columns of a grid.  Computes and writes the steps, closes the file, opens it
 * again, and reads and compares what another rank wrote.
 */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 256, COLS = 96, STEPS = 8 };

static int rank, ranks;

static void must(int rc)
{
    if (rc == NC_NOERR)
        return;
    fprintf(stderr, "rank %d: %s\n", rank, nc_strerror(rc));
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

/* All steps of a rank, written, or read and compared; returns how many values are wrong. */
static long steps_of(int file, int var, int r, int writing)
{
    size_t count[3] = {1, ROWS, (size_t)(first_column(r + 1) - first_column(r))};
    size_t values = count[1] * count[2];
    double *part = malloc(values * sizeof *part), *want = malloc(values * sizeof *want);
    long wrong = 0;

    must(nc_var_par_access(file, var, NC_COLLECTIVE));
    for (int step = 0; step < STEPS; step++) {
        size_t from[3] = {(size_t)step, 0, (size_t)first_column(r)};

        compute(want, step, r);
        if (writing) {
            must(nc_put_vara_double(file, var, from, count, want));
            continue;
        }
        must(nc_get_vara_double(file, var, from, count, part));
        for (size_t i = 0; i < values; i++)
            wrong += part[i] != want[i];
    }
    free(part);
    free(want);
    return wrong;
}

int main(int argc, char **argv)
{
    int file, var, dims[3], kind = NC_NETCDF4;
    long wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (argc > 2 && !strcmp(argv[2], "classic"))
        kind = NC_64BIT_OFFSET;

    must(nc_create_par(argv[1], NC_CLOBBER | kind, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
    must(nc_def_dim(file, "step", STEPS, &dims[0]));
    must(nc_def_dim(file, "row", ROWS, &dims[1]));
    must(nc_def_dim(file, "col", COLS, &dims[2]));
    must(nc_def_var(file, "steps", NC_DOUBLE, 3, dims, &var));
    must(nc_enddef(file));
    steps_of(file, var, rank, 1);
    must(nc_close(file)); /* here late errors of writes are told */

    must(nc_open_par(argv[1], NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
    must(nc_inq_varid(file, "steps", &var));
    wrong = steps_of(file, var, (rank + 1) % ranks, 0);
    must(nc_close(file));

    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d steps of %d ranks: %ld values are wrong\n", STEPS, ranks, wrong);
    MPI_Finalize();
    return wrong != 0;
}
