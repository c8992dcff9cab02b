/*
 * profiler.c - a library to preload that looks at MPI-IO as Darshan does, and stands for it here.
 *
 * What it has in common with Darshan's runtime library is all that matters to another library that
 * is preloaded: MPI_File_x and PMPI_File_x are both defined, and go on to the PMPI_File_x that the
 * dynamic linker finds behind this library; writes of descriptors that open() gave are counted in
 * any thread; and MPI_Finalize() first writes what was counted through MPI-IO, a line for each
 * rank, to the file that PROFILE names:
 *
 *     rank N: O opens, R reads of B bytes, W writes of B bytes, S syncs, C closes, P below: NAME
 *
 * P are writes of descriptors; NAME is what was opened last, as the program gave it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LINE = 4096, DESCRIPTORS = 4096 };

static atomic_llong opens, reads, read_bytes, writes, write_bytes, syncs, closes, posix_writes;
static char last[LINE / 2];
static atomic_bool ours[DESCRIPTORS]; /* a descriptor that open() gave */

/* What comes behind us. */
static void *next(const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);

    if (!f) {
        fprintf(stderr, "profiler: there is no %s behind this library\n", name);
        exit(1);
    }
    return f;
}

#define WRAP(name, params, args, count)                                                            \
    int MPI_##name params                                                                          \
    {                                                                                              \
        static int(*real) params;                                                                  \
        int rc;                                                                                    \
                                                                                                   \
        if (!real)                                                                                 \
            real = (int(*) params)next("PMPI_" #name);                                             \
        rc = real args;                                                                            \
        if (rc == MPI_SUCCESS) {                                                                   \
            count;                                                                                 \
        }                                                                                          \
        return rc;                                                                                 \
    }                                                                                              \
    int PMPI_##name params __attribute__((alias("MPI_" #name)))

static void moved(atomic_llong *calls, atomic_llong *bytes, int count, MPI_Datatype type)
{
    int size = 0;

    PMPI_Type_size(type, &size);
    (*calls)++;
    *bytes += (long long)count * size;
}

static void opened(const char *name)
{
    opens++;
    snprintf(last, sizeof last, "%s", name);
}

WRAP(File_open, (MPI_Comm comm, const char *name, int amode, MPI_Info info, MPI_File *fh),
     (comm, name, amode, info, fh), opened(name));
WRAP(File_close, (MPI_File * fh), (fh), closes++);
WRAP(File_sync, (MPI_File fh), (fh), syncs++);

#define READ  moved(&reads, &read_bytes, count, type)
#define WRITE moved(&writes, &write_bytes, count, type)
WRAP(File_read_all, (MPI_File fh, void *buf, int count, MPI_Datatype type, MPI_Status *status),
     (fh, buf, count, type, status), READ);
WRAP(File_write_all,
     (MPI_File fh, const void *buf, int count, MPI_Datatype type, MPI_Status *status),
     (fh, buf, count, type, status), WRITE);
WRAP(File_read_at,
     (MPI_File fh, MPI_Offset at, void *buf, int count, MPI_Datatype type, MPI_Status *status),
     (fh, at, buf, count, type, status), READ);
WRAP(File_write_at,
     (MPI_File fh, MPI_Offset at, const void *buf, int count, MPI_Datatype type,
      MPI_Status *status),
     (fh, at, buf, count, type, status), WRITE);
WRAP(File_iwrite_at,
     (MPI_File fh, MPI_Offset at, const void *buf, int count, MPI_Datatype type,
      MPI_Request *request),
     (fh, at, buf, count, type, request), WRITE);
WRAP(File_write_at_all,
     (MPI_File fh, MPI_Offset at, const void *buf, int count, MPI_Datatype type,
      MPI_Status *status),
     (fh, at, buf, count, type, status), WRITE);

/* ---- below MPI ---------------------------------------------------------------------- */
int open(const char *name, int flags, ...)
{
    static int (*real)(const char *, int, ...);
    va_list args;
    int mode, fd;

    va_start(args, flags);
    mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, int) : 0;
    va_end(args);
    if (!real)
        real = (int (*)(const char *, int, ...))next("open");
    fd = real(name, flags, mode);
    if (fd >= 0 && fd < DESCRIPTORS)
        ours[fd] = true;
    return fd;
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t at)
{
    static ssize_t (*real)(int, const void *, size_t, off_t);

    if (!real)
        real = (ssize_t(*)(int, const void *, size_t, off_t))next("pwrite");
    posix_writes += fd >= 0 && fd < DESCRIPTORS && ours[fd];
    return real(fd, buf, len, at);
}

ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t at)
{
    static ssize_t (*real)(int, const struct iovec *, int, off_t);

    if (!real)
        real = (ssize_t(*)(int, const struct iovec *, int, off_t))next("pwritev");
    posix_writes += fd >= 0 && fd < DESCRIPTORS && ours[fd];
    return real(fd, iov, n, at);
}

/* ---- the end -------------------------------------------------------------------------- */
/* Darshan's log is written so: a collective call with an offset for each rank. */
static void write_profile(const char *file)
{
    char line[LINE];
    MPI_File fh;
    int rank, len;
    long long mine, sum = 0;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    len = snprintf(line, sizeof line,
                   "rank %d: %lld opens, %lld reads of %lld bytes, %lld writes of %lld bytes, "
                   "%lld syncs, %lld closes, %lld below: %s\n",
                   rank, opens, reads, read_bytes, writes, write_bytes, syncs, closes, posix_writes,
                   last);
    mine = len;
    PMPI_Scan(&mine, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (PMPI_File_open(MPI_COMM_WORLD, file, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                       &fh) != MPI_SUCCESS) {
        fprintf(stderr, "profiler: cannot open %s\n", file);
        return;
    }
    if (PMPI_File_write_at_all(fh, sum - mine, line, len, MPI_CHAR, MPI_STATUS_IGNORE) !=
        MPI_SUCCESS)
        fprintf(stderr, "profiler: cannot write %s\n", file);
    PMPI_File_close(&fh);
}

int MPI_Finalize(void)
{
    const char *file = getenv("PROFILE");

    if (file)
        write_profile(file);
    return ((int (*)(void))next("PMPI_Finalize"))();
}
