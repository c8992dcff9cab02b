/*
 * climate_nc FILE serial|parallel|calls STEPS SECONDS LATITUDES PATH - files of a climate model
 * through PnetCDF.
 *
 * The grid has half as many longitudes again as latitudes.  Each rank has a band of latitudes.  In
 * each step it computes SECONDS (sleeping) and writes the step of the history: float variables of
 * two and of three dimensions; after the last step a restart file, FILE.r, of double variables.
 * parallel: all ranks write, the variables of a step in one flush of nonblocking requests; calls:
 * one after the other.  serial: rank 0 gathers each variable and writes it alone, as models do over
 * serial netCDF, in the same format.  Then rank 0 reads all values of PATH and PATH.r, which are
 * the files as the file system names them, and compares.
 *
 * Prints {"bytes": N, "io_seconds": X, "io_close_seconds": Y, "wrong": N}: X is what the slowest
 * rank waited for in gathering and writing, Y with the close.  The status is 1 where values are
 * wrong.  More ranks than latitudes or an error of PnetCDF aborts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mpi.h>
#include <pnetcdf.h>

enum { LEVELS = 26, FLAT = 8, DEEP = 4, VARIABLES = FLAT + DEEP };

static int rank, nranks;
static int latitudes, longitudes; /* of the grid */
static int parallel, calls;       /* calls: parallel, too */

/* One file: history with as many times as steps, or restart with one. */
struct file {
    int id, times, var[VARIABLES];
    MPI_Datatype type; /* MPI_FLOAT or MPI_DOUBLE */
};

static void check(int err, const char *what)
{
    if (err == NC_NOERR)
        return;
    fprintf(stderr, "climate_nc: %s: %s\n", what, ncmpi_strerror(err));
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static int levels_of(int v)
{
    return v < FLAT ? 1 : LEVELS;
}

static int first_latitude(int r)
{
    return latitudes * r / nranks;
}

/* The value at a place: exact in a float. */
static double value(int v, int time, long place)
{
    return (double)((place * 7 + v * 1009 + time * 31) % 1000003);
}

/* Fills the rank's band of a variable, in the order (level, latitude, longitude). */
static void fill(double *buf, int v, int time)
{
    for (int l = 0; l < levels_of(v); l++)
        for (int y = first_latitude(rank); y < first_latitude(rank + 1); y++)
            for (int x = 0; x < longitudes; x++)
                *buf++ = value(v, time, ((long)l * latitudes + y) * longitudes + x);
}

static void define(struct file *f, const char *name, MPI_Comm comm)
{
    int dims[4];
    check(ncmpi_create(comm, name, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &f->id), name);
    check(ncmpi_def_dim(f->id, "time", f->times, &dims[0]), "time");
    check(ncmpi_def_dim(f->id, "lev", LEVELS, &dims[1]), "lev");
    check(ncmpi_def_dim(f->id, "lat", latitudes, &dims[2]), "lat");
    check(ncmpi_def_dim(f->id, "lon", longitudes, &dims[3]), "lon");
    for (int v = 0; v < VARIABLES; v++) {
        int flat[3] = {dims[0], dims[2], dims[3]};
        char var[16];
        snprintf(var, sizeof var, "v%02d", v);
        check(ncmpi_def_var(f->id, var, f->type == MPI_FLOAT ? NC_FLOAT : NC_DOUBLE,
                            v < FLAT ? 3 : 4, v < FLAT ? flat : dims, &f->var[v]),
              var);
    }
    check(ncmpi_enddef(f->id), "enddef");
}

/* Sets start and count of a variable's latitudes from `y` on at a time. */
static void place(int v, int time, int y, int n, MPI_Offset start[4], MPI_Offset count[4])
{
    int d = 0;
    start[d] = time;
    count[d++] = 1;
    if (v >= FLAT) {
        start[d] = 0;
        count[d++] = LEVELS;
    }
    start[d] = y;
    count[d++] = n;
    start[d] = 0;
    count[d] = longitudes;
}

static void put_parallel(struct file *f, int time, double *const data[VARIABLES])
{
    MPI_Offset start[4], count[4];
    int y = first_latitude(rank), n = first_latitude(rank + 1) - y;
    for (int v = 0; v < VARIABLES; v++) {
        place(v, time, y, n, start, count);
        if (calls)
            check(ncmpi_put_vara_double_all(f->id, f->var[v], start, count, data[v]), "put");
        else
            check(ncmpi_iput_vara_double(f->id, f->var[v], start, count, data[v], NULL), "write");
    }
    if (calls)
        return;
    check(ncmpi_wait_all(f->id, NC_REQ_ALL, NULL, NULL), "wait_all");
}

/* Copies a rank's band of a variable to its places in the whole one. */
static void put_band(int v, int r, const double *band, double *whole)
{
    size_t row = (size_t)(first_latitude(r + 1) - first_latitude(r)) * longitudes;
    for (int l = 0; l < levels_of(v); l++)
        memcpy(whole + ((size_t)l * latitudes + (size_t)first_latitude(r)) * longitudes,
               band + (size_t)l * row, row * sizeof *band);
}

/* Rank 0 gathers a variable in `whole`, by way of `band`. */
static void put_serial(struct file *f, int time, double *const data[VARIABLES], double *band,
                       double *whole)
{
    MPI_Offset start[4], count[4];
    for (int v = 0; v < VARIABLES; v++) {
        for (int r = 0; r < nranks; r++) {
            int n = first_latitude(r + 1) - first_latitude(r);
            int elements = levels_of(v) * n * longitudes;
            if (rank == r && r != 0)
                MPI_Send(data[v], elements, MPI_DOUBLE, 0, v, MPI_COMM_WORLD);
            if (rank == 0 && r != 0)
                MPI_Recv(band, elements, MPI_DOUBLE, r, v, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == 0)
                put_band(v, r, r == 0 ? data[v] : band, whole);
        }
        if (rank != 0)
            continue;
        place(v, time, 0, latitudes, start, count);
        check(ncmpi_put_vara_double_all(f->id, f->var[v], start, count, whole), "put");
    }
}

/* Counts the wrong values of a file on rank 0. */
static long wrong_values(const char *name, const struct file *f, double *buf)
{
    long wrong = 0;
    int id;
    check(ncmpi_open(MPI_COMM_SELF, name, NC_NOWRITE, MPI_INFO_NULL, &id), name);
    for (int time = 0; time < f->times; time++) {
        for (int v = 0; v < VARIABLES; v++) {
            MPI_Offset start[4], count[4];
            long n = (long)levels_of(v) * latitudes * longitudes;
            place(v, time, 0, latitudes, start, count);
            check(ncmpi_get_vara_double_all(id, v, start, count, buf), "get");
            for (long i = 0; i < n; i++)
                wrong += buf[i] != value(v, time, i);
        }
    }
    check(ncmpi_close(id), name);
    return wrong;
}

static void compute(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

/* Writes a file; adds to the seconds of this rank without and with the close. */
static void write_file(struct file *f, const char *name, double seconds, double *buf,
                       double took[2])
{
    MPI_Comm comm = parallel ? MPI_COMM_WORLD : MPI_COMM_SELF;
    double *data[VARIABLES], start;
    for (int v = 0; v < VARIABLES; v++)
        data[v] = v == 0 ? buf : data[v - 1] + (long)levels_of(v - 1) * latitudes * longitudes;
    double *band = data[VARIABLES - 1] + (long)LEVELS * latitudes * longitudes;
    double *whole = band + (long)LEVELS * latitudes * longitudes;
    if (parallel || rank == 0)
        define(f, name, comm);
    for (int time = 0; time < f->times; time++) {
        compute(seconds);
        for (int v = 0; v < VARIABLES; v++)
            fill(data[v], v, time);
        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        if (parallel)
            put_parallel(f, time, data);
        else
            put_serial(f, time, data, band, whole);
        took[0] += MPI_Wtime() - start;
    }
    start = MPI_Wtime();
    if (parallel || rank == 0)
        check(ncmpi_close(f->id), name);
    took[1] += MPI_Wtime() - start;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    if (argc != 7 || atoi(argv[5]) < nranks) {
        fprintf(stderr,
                "usage: climate_nc FILE serial|parallel|calls STEPS SECONDS LATITUDES PATH\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    latitudes = atoi(argv[5]);
    longitudes = latitudes + latitudes / 2;
    calls = strcmp(argv[2], "calls") == 0;
    parallel = calls || strcmp(argv[2], "parallel") == 0;
    struct file history = {.times = atoi(argv[3]), .type = MPI_FLOAT};
    struct file restart = {.times = 1, .type = MPI_DOUBLE};
    long step = (long)(FLAT + DEEP * LEVELS) * latitudes * longitudes;
    double *buf = malloc((size_t)(step + 2L * LEVELS * latitudes * longitudes) * sizeof *buf);
    double took[2] = {0, 0}, most[2];
    char name[4096], path[4096];
    long wrong = 0;
    if (buf == NULL)
        MPI_Abort(MPI_COMM_WORLD, 3);
    snprintf(name, sizeof name, "%s.r", argv[1]);
    snprintf(path, sizeof path, "%s.r", argv[6]);
    write_file(&history, argv[1], atof(argv[4]), buf, took);
    write_file(&restart, name, atof(argv[4]), buf, took);
    took[1] += took[0];
    MPI_Reduce(took, most, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        wrong = wrong_values(argv[6], &history, buf) + wrong_values(path, &restart, buf);
        printf(
            "{\"bytes\": %ld, \"io_seconds\": %.6f, \"io_close_seconds\": %.6f, \"wrong\": %ld}\n",
            step * (4 * history.times + 8), most[0], most[1], wrong);
    }
    free(buf);
    MPI_Bcast(&wrong, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong != 0;
}
