/* iotasks.c - for benchmarks: writes a decomposed array by way of some I/O tasks, or without.
 *
 *     iotasks WAY TASKS ELEMENTS FILE PLAIN
 *
 * Each rank has ELEMENTS doubles of an array, in runs of RUN: of each group of one run of each rank
 * it has one, in a place that differs from group to group irregularly.  FILE has a prefix for
 * MPI-IO; PLAIN is a name without one, by which rank 0 reads and compares all elements afterwards,
 * and which may be one of the store behind a modelled slow one.  WAY:
 *
 *     filetype     all ranks write their elements by one filetype, collectively
 *     box          ranks send their elements to TASKS of them, which have a contiguous part of the
 *                  array each (the box rearrangement of PIO), and write it collectively
 *     serial       the same, but the first task writes the parts of all, one after the other, by
 *                  POSIX: with one task the whole array passes through its memory
 *     pnetcdf      filetype, as a variable of PnetCDF (ncmpi_put_varn_double_all())
 *     pnetcdf-box  box, as a variable of PnetCDF
 *     netcdf4-box  box, as a variable of netCDF-4, a dataset of HDF5 in one piece
 *
 * An I/O task takes from one rank at a time, which is the flow control that such layers need.
 * Prints a JSON object: seconds until the writes have returned and until the file is closed, each
 * of the slowest rank, by how much the resident memory of a rank grew at most, KiB, and the
 * processor time that the threads of a rank beside the program's took at most, in seconds.  Takes
 * hints from IOTASKS_HINTS, "key=value key=value".
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef WITH_PNETCDF
#include <pnetcdf.h>
#endif
#ifdef WITH_NETCDF4
#include <hdf5.h>
#include <netcdf.h>
#include <netcdf_par.h>
#endif

enum { RUN = 8, READ = 1 << 17 }; /* doubles */

static int rank, ranks, tasks;
static int64_t groups;      /* of one run of each rank */
static double *mine;        /* in the order of the array */
static double *box;         /* of an I/O task */
static int64_t box_groups;  /* in it */
static int64_t array_start; /* of the array in the file, bytes */
static double seconds, close_seconds;
static MPI_Info hints;

static void die(const char *what, const char *why)
{
    fprintf(stderr, "iotasks: rank %d: %s: %s\n", rank, what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void check(int rc, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;

    if (rc == MPI_SUCCESS)
        return;
    MPI_Error_string(rc, text, &len);
    die(what, text);
}

#define OK(call) check(call, #call)

static void *memory(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);

    if (!p)
        die("malloc", "no memory");
    return p;
}

/* ---- the decomposition ---- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Returns the first element of rank `r` in a group. */
static int64_t first_of(int r, int64_t group)
{
    uint64_t turn = mix((uint64_t)group + 1) % (uint64_t)ranks;

    return (group * ranks + (int64_t)(((uint64_t)r + turn) % (uint64_t)ranks)) * RUN;
}

static void fill(void)
{
    mine = memory((size_t)groups * RUN * sizeof *mine);
    for (int64_t g = 0; g < groups; g++)
        for (int i = 0; i < RUN; i++)
            mine[g * RUN + i] = (double)(first_of(rank, g) + i);
}

/* ---- boxes ---- */

/* Returns the first group of an I/O task. */
static int64_t begins(int task)
{
    return groups * task / tasks;
}

/* I/O tasks are spread over the ranks. */
static int rank_of(int task)
{
    return (int)((int64_t)ranks * task / tasks);
}

static int my_task(void)
{
    for (int t = 0; t < tasks; t++)
        if (rank_of(t) == rank)
            return t;
    return -1;
}

/* An I/O task takes the elements of rank `r`. */
static void take(int task, int r, double *part)
{
    int64_t from = begins(task);

    OK(MPI_Recv(part, (int)(box_groups * RUN), MPI_DOUBLE, r, 0, MPI_COMM_WORLD,
                MPI_STATUS_IGNORE));
    for (int64_t g = 0; g < box_groups; g++)
        memcpy(box + first_of(r, from + g) - from * ranks * RUN, part + g * RUN,
               RUN * sizeof *part);
}

static void rearrange(void)
{
    int task = my_task();
    double *part = NULL;
    MPI_Request *sends = memory((size_t)tasks * sizeof *sends);

    if (task >= 0) {
        box_groups = begins(task + 1) - begins(task);
        box = memory((size_t)(box_groups * ranks * RUN) * sizeof *box);
        part = memory((size_t)(box_groups * RUN) * sizeof *part);
    }
    for (int t = 0; t < tasks; t++)
        OK(MPI_Issend(mine + begins(t) * RUN, (int)((begins(t + 1) - begins(t)) * RUN), MPI_DOUBLE,
                      rank_of(t), 0, MPI_COMM_WORLD, &sends[t]));
    for (int r = 0; task >= 0 && r < ranks; r++)
        take(task, r, part);
    for (int t = 0; t < tasks; t++)
        OK(MPI_Wait(&sends[t], MPI_STATUS_IGNORE));
    free(part);
    free(sends);
}

/* ---- ways ---- */

static void write_by_filetype(MPI_File fh)
{
    MPI_Aint *at = memory((size_t)groups * sizeof *at);
    MPI_Datatype type;

    for (int64_t g = 0; g < groups; g++)
        at[g] = (MPI_Aint)(first_of(rank, g) * (int64_t)sizeof *mine);
    OK(MPI_Type_create_hindexed_block((int)groups, RUN, at, MPI_DOUBLE, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_File_set_view(fh, 0, MPI_DOUBLE, type, "native", MPI_INFO_NULL));
    OK(MPI_File_write_all(fh, mine, (int)(groups * RUN), MPI_DOUBLE, MPI_STATUS_IGNORE));
    OK(MPI_Type_free(&type));
    free(at);
}

static void write_box(MPI_File fh)
{
    int task;
    MPI_Offset at;

    rearrange();
    task = my_task();
    at = task < 0 ? 0 : begins(task) * ranks * RUN * (int64_t)sizeof *box;
    OK(MPI_File_write_at_all(fh, at, box, (int)(box_groups * ranks * RUN), MPI_DOUBLE,
                             MPI_STATUS_IGNORE));
}

static void by_mpi(const char *file, bool boxes)
{
    double start = MPI_Wtime();
    MPI_File fh;

    OK(MPI_File_open(MPI_COMM_WORLD, file, MPI_MODE_CREATE | MPI_MODE_WRONLY, hints, &fh));
    if (boxes)
        write_box(fh);
    else
        write_by_filetype(fh);
    seconds = MPI_Wtime() - start;
    OK(MPI_File_close(&fh));
    close_seconds = MPI_Wtime() - start;
}

static void store(int fd, const double *from, int64_t n, int64_t at)
{
    const char *p = (const char *)from;
    size_t left = (size_t)n * sizeof *from;

    while (left > 0) {
        ssize_t done = pwrite(fd, p, left, at);

        if (done < 0)
            die("write", strerror(errno));
        p += done;
        at += done;
        left -= (size_t)done;
    }
}

static void serially(const char *file)
{
    const char *plain = strchr(file, ':') ? strchr(file, ':') + 1 : file;
    double start = MPI_Wtime();
    int task, fd = -1;

    rearrange();
    task = my_task();
    if (task > 0)
        OK(MPI_Ssend(box, (int)(box_groups * ranks * RUN), MPI_DOUBLE, 0, 1, MPI_COMM_WORLD));
    if (task == 0) {
        fd = open(plain, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
        if (fd < 0)
            die(plain, strerror(errno));
        store(fd, box, box_groups * ranks * RUN, 0);
    }
    for (int t = 1; task == 0 && t < tasks; t++) {
        int64_t n = (begins(t + 1) - begins(t)) * ranks * RUN;

        box = realloc(box, (size_t)n * sizeof *box);
        OK(MPI_Recv(box, (int)n, MPI_DOUBLE, rank_of(t), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        store(fd, box, n, begins(t) * ranks * RUN * (int64_t)sizeof *box);
    }
    seconds = MPI_Wtime() - start;
    if (fd >= 0 && close(fd))
        die("close", strerror(errno));
    close_seconds = MPI_Wtime() - start;
}

/* ---- PnetCDF ---- */

#ifdef WITH_PNETCDF
static void nc(int rc, const char *what)
{
    if (rc != NC_NOERR)
        die(what, ncmpi_strerror(rc));
}

#define NC(call) nc(call, #call)

static void put_runs(int file, int var)
{
    MPI_Offset *flat = memory((size_t)groups * 2 * sizeof *flat);
    MPI_Offset **start = memory((size_t)groups * 2 * sizeof *start), **count = start + groups;

    for (int64_t g = 0; g < groups; g++) {
        flat[g] = first_of(rank, g);
        flat[groups + g] = RUN;
        start[g] = &flat[g];
        count[g] = &flat[groups + g];
    }
    NC(ncmpi_put_varn_double_all(file, var, (int)groups, start, count, mine));
    free(start);
    free(flat);
}

static void put_box(int file, int var)
{
    MPI_Offset start = 0, count;
    int task;

    rearrange();
    task = my_task();
    if (task >= 0)
        start = begins(task) * ranks * RUN;
    count = box_groups * ranks * RUN;
    NC(ncmpi_put_vara_double_all(file, var, &start, &count, box));
}

static void by_pnetcdf(const char *name, bool boxes)
{
    double start = MPI_Wtime();
    int file, dim, var;
    MPI_Offset at;

    NC(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER | NC_64BIT_DATA, hints, &file));
    NC(ncmpi_def_dim(file, "element", groups * ranks * RUN, &dim));
    NC(ncmpi_def_var(file, "array", NC_DOUBLE, 1, &dim, &var));
    NC(ncmpi_enddef(file));
    if (boxes)
        put_box(file, var);
    else
        put_runs(file, var);
    NC(ncmpi_inq_varoffset(file, var, &at));
    array_start = at;
    seconds = MPI_Wtime() - start;
    NC(ncmpi_close(file));
    close_seconds = MPI_Wtime() - start;
}
#else
static void by_pnetcdf(const char *name, bool boxes)
{
    (void)boxes;
    die(name, "built without PnetCDF");
}
#endif

/* ---- netCDF-4 ---- */

#ifdef WITH_NETCDF4
static void nc4(int rc, const char *what)
{
    if (rc != NC_NOERR)
        die(what, nc_strerror(rc));
}

#define NC4(call) nc4(call, #call)

static void by_netcdf4(const char *name)
{
    double at = MPI_Wtime();
    int file, dim, var, ignored, task;
    size_t start = 0, count;

    NC4(nc_create_par(name, NC_CLOBBER | NC_NETCDF4, MPI_COMM_WORLD, hints, &file));
    NC4(nc_set_fill(file, NC_NOFILL, &ignored));
    NC4(nc_def_dim(file, "element", (size_t)(groups * ranks * RUN), &dim));
    NC4(nc_def_var(file, "array", NC_DOUBLE, 1, &dim, &var));
    NC4(nc_enddef(file));
    NC4(nc_var_par_access(file, var, NC_COLLECTIVE));
    rearrange();
    task = my_task();
    if (task >= 0)
        start = (size_t)(begins(task) * ranks * RUN);
    count = (size_t)(box_groups * ranks * RUN);
    NC4(nc_put_vara_double(file, var, &start, &count, box));
    seconds = MPI_Wtime() - at;
    NC4(nc_close(file));
    close_seconds = MPI_Wtime() - at;
}

/* Returns where the array begins in the file. */
static int64_t netcdf4_start(const char *plain)
{
    hid_t file = H5Fopen(plain, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t array = H5Dopen2(file, "array", H5P_DEFAULT);
    haddr_t at = H5Dget_offset(array);

    if (at == HADDR_UNDEF)
        die(plain, "has no array in one piece");
    H5Dclose(array);
    H5Fclose(file);
    return (int64_t)at;
}
#else
static void by_netcdf4(const char *name)
{
    die(name, "built without netCDF-4");
}

static int64_t netcdf4_start(const char *plain)
{
    (void)plain;
    return 0;
}
#endif

/* ---- the result ---- */

/* Returns VmHWM or VmRSS, KiB. */
static long resident(const char *which)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[128];
    long kib = 0;

    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, which, strlen(which)))
            kib = atol(line + strlen(which) + 1);
    if (f)
        fclose(f);
    return kib;
}

/* Returns the processor time that RUSAGE_SELF or RUSAGE_THREAD has taken, in seconds. */
static double used(int which)
{
    struct rusage r = {0};

    getrusage(which, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
}

/* Returns that of other threads than this one. */
static double used_by_others(void)
{
    return used(RUSAGE_SELF) - used(RUSAGE_THREAD);
}

/* PnetCDF stores numbers with the most significant byte first. */
static double value(const unsigned char *at, bool swapped)
{
    unsigned char bytes[sizeof(double)];
    double d;

    for (size_t i = 0; i < sizeof d; i++)
        bytes[i] = at[swapped ? sizeof d - 1 - i : i];
    memcpy(&d, bytes, sizeof d);
    return d;
}

static void verify(const char *plain, bool swapped)
{
    unsigned char *buf = memory(READ * sizeof(double));
    int64_t all = groups * ranks * RUN;
    int fd = open(plain, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        die(plain, strerror(errno));
    for (int64_t i = 0; i < all; i += READ) {
        int64_t n = all - i < READ ? all - i : READ;
        int64_t bytes = n * (int64_t)sizeof(double);

        if (pread(fd, buf, (size_t)bytes, array_start + i * (int64_t)sizeof(double)) != bytes)
            die(plain, "too short");
        for (int64_t k = 0; k < n; k++)
            if (value(buf + k * (int64_t)sizeof(double), swapped) != (double)(i + k))
                die(plain, "an element is not what was written");
    }
    close(fd);
    free(buf);
}

static void make_hints(void)
{
    char *list = strdup(getenv("IOTASKS_HINTS") ? getenv("IOTASKS_HINTS") : ""), *rest = list;

    OK(MPI_Info_create(&hints));
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
        char *value = strchr(word, '=');

        if (!value)
            die(word, "no hint");
        *value = 0;
        OK(MPI_Info_set(hints, word, value + 1));
    }
    free(list);
}

static void write_it(const char *way, const char *file)
{
    bool boxes = strstr(way, "box") != NULL;

    if (!strcmp(way, "serial"))
        serially(file);
    else if (!strncmp(way, "pnetcdf", 7))
        by_pnetcdf(file, boxes);
    else if (!strcmp(way, "netcdf4-box"))
        by_netcdf4(file);
    else
        by_mpi(file, boxes);
}

int main(int argc, char **argv)
{
    double most[4], own[4], others;
    long before;
    bool swapped;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 6)
        die("usage", "iotasks WAY TASKS ELEMENTS FILE PLAIN");
    tasks = atoi(argv[2]) < ranks ? atoi(argv[2]) : ranks;
    groups = atoll(argv[3]) / RUN;
    swapped = !strncmp(argv[1], "pnetcdf", 7) &&
              value((const unsigned char *)"\0\0\0\0\0\0\360?", false) == 1.0;
    fill();
    make_hints();
    before = resident("VmRSS:");
    others = used_by_others();
    MPI_Barrier(MPI_COMM_WORLD);
    write_it(argv[1], argv[4]);
    own[0] = seconds;
    own[1] = close_seconds;
    own[2] = (double)(resident("VmHWM:") - before);
    own[3] = used_by_others() - others;
    MPI_Reduce(own, most, 4, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        if (!strcmp(argv[1], "netcdf4-box"))
            array_start = netcdf4_start(argv[5]);
        verify(argv[5], swapped);
        printf("{\"seconds\": %.6f, \"close_seconds\": %.6f, \"grown_kib\": %.0f, "
               "\"threads_seconds\": %.6f, \"bytes\": %lld}\n",
               most[0], most[1], most[2], most[3],
               (long long)(groups * ranks * RUN * (int64_t)sizeof(double)));
    }
    OK(MPI_Info_free(&hints));
    MPI_Finalize();
    return 0;
}
