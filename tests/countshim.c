/* countshim.c - preloaded: counts calls that cost time at an open or a close.
 *
 *     COUNTSHIM_OUT=FILE      at its end, a process adds a line to FILE.PMI_RANK for each counter:
 *
 *     opens N         open, openat and fopen
 *     stats N         stat
 *     statfs N        fstatfs
 *     processors N    sysconf, which reads a file for the number of processors
 *     unlinks N       unlinkat
 *     locks N         fcntl with a lock
 *     rounds N        collective calls of MPI by libzcache.so that do not block
 *     threads N       pthread_create
 *     kallsyms N      opens of /proc/kallsyms
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static atomic_llong opens, stats, statfs_calls, processors, unlinks, locks, rounds, threads,
    kallsyms;

/* Returns the next function of that name. */
static void *next(const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);

    if (!f)
        abort();
    return f;
}

static void opened(const char *path)
{
    opens++;
    kallsyms += !strcmp(path, "/proc/kallsyms");
}

/* ---- files ---- */

static mode_t mode_of(int flags, va_list args)
{
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

#define OPEN(name, params, args)                                                                   \
    int name params                                                                                \
    {                                                                                              \
        int(*real) params = (int(*) params)next(#name);                                            \
        va_list more;                                                                              \
        mode_t mode;                                                                               \
                                                                                                   \
        va_start(more, flags);                                                                     \
        mode = mode_of(flags, more);                                                               \
        va_end(more);                                                                              \
        opened(path);                                                                              \
        return real args;                                                                          \
    }

OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat, (int dir, const char *path, int flags, ...), (dir, path, flags, mode))
OPEN(openat64, (int dir, const char *path, int flags, ...), (dir, path, flags, mode))

FILE *fopen(const char *path, const char *mode)
{
    FILE *(*real)(const char *, const char *) =
        (FILE * (*)(const char *, const char *)) next("fopen");

    opened(path);
    return real(path, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
    FILE *(*real)(const char *, const char *) =
        (FILE * (*)(const char *, const char *)) next("fopen64");

    opened(path);
    return real(path, mode);
}

int stat(const char *path, struct stat *st)
{
    int (*real)(const char *, struct stat *) = (int (*)(const char *, struct stat *))next("stat");

    stats++;
    return real(path, st);
}

int stat64(const char *path, struct stat64 *st)
{
    int (*real)(const char *, struct stat64 *) =
        (int (*)(const char *, struct stat64 *))next("stat64");

    stats++;
    return real(path, st);
}

long sysconf(int name)
{
    long (*real)(int) = (long (*)(int))next("sysconf");

    processors += name == _SC_NPROCESSORS_ONLN;
    return real(name);
}

int fstatfs(int fd, struct statfs *st)
{
    int (*real)(int, struct statfs *) = (int (*)(int, struct statfs *))next("fstatfs");

    statfs_calls++;
    return real(fd, st);
}

int fstatfs64(int fd, struct statfs64 *st)
{
    int (*real)(int, struct statfs64 *) = (int (*)(int, struct statfs64 *))next("fstatfs64");

    statfs_calls++;
    return real(fd, st);
}

int unlinkat(int dir, const char *path, int flags)
{
    int (*real)(int, const char *, int) = (int (*)(int, const char *, int))next("unlinkat");

    unlinks++;
    return real(dir, path, flags);
}

static void count_lock(int cmd)
{
    locks += cmd == F_OFD_SETLK || cmd == F_OFD_SETLKW || cmd == F_SETLK || cmd == F_SETLKW;
}

#define FCNTL(name)                                                                                \
    int name(int fd, int cmd, ...)                                                                 \
    {                                                                                              \
        int (*real)(int, int, ...) = (int (*)(int, int, ...))next(#name);                          \
        va_list args;                                                                              \
        void *arg;                                                                                 \
                                                                                                   \
        va_start(args, cmd);                                                                       \
        arg = va_arg(args, void *);                                                                \
        va_end(args);                                                                              \
        count_lock(cmd);                                                                           \
        return real(fd, cmd, arg);                                                                 \
    }

FCNTL(fcntl)
FCNTL(fcntl64)

/* ---- threads and MPI ---- */

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = (int (*)(
        pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))next("pthread_create");

    threads++;
    return real(thread, attr, run, arg);
}

#define ROUND(name, params, args)                                                                  \
    int MPI_##name params                                                                          \
    {                                                                                              \
        rounds++;                                                                                  \
        return PMPI_##name args;                                                                   \
    }

ROUND(Ibarrier, (MPI_Comm comm, MPI_Request *r), (comm, r))
ROUND(Ibcast, (void *buf, int n, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *r),
      (buf, n, type, root, comm, r))
ROUND(Ireduce,
      (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
       MPI_Request *r),
      (in, out, n, type, op, root, comm, r))
ROUND(Iallreduce,
      (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
       MPI_Request *r),
      (in, out, n, type, op, comm, r))
ROUND(Igather,
      (const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype out_type, int root,
       MPI_Comm comm, MPI_Request *r),
      (in, n, type, out, m, out_type, root, comm, r))
ROUND(Iallgatherv,
      (const void *in, int n, MPI_Datatype type, void *out, const int *counts, const int *at,
       MPI_Datatype out_type, MPI_Comm comm, MPI_Request *r),
      (in, n, type, out, counts, at, out_type, comm, r))

/* ---- the end ---- */

static void __attribute__((destructor)) report(void)
{
    const char *out = getenv("COUNTSHIM_OUT"), *rank = getenv("PMI_RANK");
    char name[4096];
    FILE *f;

    if (!out || !rank)
        return;
    snprintf(name, sizeof name, "%s.%s", out, rank);
    f = fopen(name, "w");
    if (!f)
        return;
    fprintf(f,
            "opens %lld\nstats %lld\nstatfs %lld\nprocessors %lld\nunlinks %lld\nlocks %lld\n"
            "rounds %lld\nthreads %lld\nkallsyms %lld\n",
            opens, stats, statfs_calls, processors, unlinks, locks, rounds, threads, kallsyms);
    fclose(f);
}
