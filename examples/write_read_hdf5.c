/* write_read_hdf5.c - steps of a computation in a dataset of HDF5.
 *
 *     mpicc -o write_read_hdf5 write_read_hdf5.c $(pkg-config --cflags --libs hdf5-mpich)
 *     mpiexec -n 4 ./write_read_hdf5 zcache:/scratch/steps.h5
 *
 * Each rank has some columns of a grid.  Computes and writes the steps, closes the file, opens it
 * again, and reads and compares what another rank wrote.
 */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 256, COLS = 96, STEPS = 8 };

static int rank, ranks;

/* HDF5 prints what failed; the program ends. */
static hid_t must(hid_t rc)
{
    if (rc < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return rc;
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

/* One step of rank r: writes it, or reads and compares it.  Returns how many values are wrong. */
static long step_of(hid_t set, int step, int r, int writing)
{
    hsize_t from[3] = {step, 0, first_column(r)};
    hsize_t count[3] = {1, ROWS, first_column(r + 1) - first_column(r)};
    size_t n = (size_t)(count[1] * count[2]);
    double *want = malloc(n * sizeof *want), *part = malloc(n * sizeof *part);
    hid_t memory = must(H5Screate_simple(3, count, NULL)), space = must(H5Dget_space(set));
    hid_t how = must(H5Pcreate(H5P_DATASET_XFER));
    long wrong = 0;

    must(H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, count, NULL));
    must(H5Pset_dxpl_mpio(how, H5FD_MPIO_COLLECTIVE));
    compute(want, step, r);
    if (writing) {
        must(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, how, want));
    } else {
        must(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, how, part));
        for (size_t i = 0; i < n; i++)
            wrong += part[i] != want[i];
    }
    must(H5Pclose(how));
    must(H5Sclose(space));
    must(H5Sclose(memory));
    free(part);
    free(want);
    return wrong;
}

/* All steps of a rank, through an open of the file of their own. */
static long steps_of(const char *name, int r, int writing)
{
    hsize_t size[3] = {STEPS, ROWS, COLS};
    hid_t access = must(H5Pcreate(H5P_FILE_ACCESS)), file, set;
    long wrong = 0;

    must(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
    if (writing) {
        hid_t space = must(H5Screate_simple(3, size, NULL));

        file = must(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access));
        set = must(H5Dcreate2(file, "steps", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT,
                              H5P_DEFAULT));
        must(H5Sclose(space));
    } else {
        file = must(H5Fopen(name, H5F_ACC_RDONLY, access));
        set = must(H5Dopen2(file, "steps", H5P_DEFAULT));
    }
    for (int step = 0; step < STEPS; step++)
        wrong += step_of(set, step, r, writing);
    must(H5Dclose(set));
    must(H5Fclose(file)); /* here late errors of writes are told */
    must(H5Pclose(access));
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
    steps_of(argv[1], rank, 1);
    wrong = steps_of(argv[1], (rank + 1) % ranks, 0);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d steps of %d ranks: %ld values are wrong\n", STEPS, ranks, wrong);
    MPI_Finalize();
    return wrong != 0;
}
