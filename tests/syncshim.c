/* syncshim.c - preloaded: a disk that has what was written when the write returns.
 *
 * Each write to a regular file below a directory is followed by fdatasync, as a store without a
 * page cache would have it: in the ranks of a program, whose MPI library or libzcache.so writes,
 * and in a daemon.  Only the calls are there by which these move a file's data.
 *
 *     SYNCSHIM_UNDER=DIR      files below it
 */
#include "config.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static bool below(int fd)
{
    const char *under = getenv("SYNCSHIM_UNDER");
    char link[40], path[PATH_MAX];
    struct stat st;
    ssize_t n;

    if (!under || fstat(fd, &st) || !S_ISREG(st.st_mode))
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path - 1);
    if (n < 0)
        return false;
    path[n] = '\0';
    return !strncmp(path, under, strlen(under)) && path[strlen(under)] == '/';
}

/* What a write has put is stored before it returns that, or it fails. */
static ssize_t stored(int fd, ssize_t put)
{
    return put > 0 && below(fd) && fdatasync(fd) ? -1 : put;
}

/* The function that ours stands in front of, in `next`. */
#define FIND(name)                                                                                 \
    do                                                                                             \
        if (!next)                                                                                 \
            *(void **)&next = dlsym(RTLD_NEXT, name);                                              \
    while (0)

ssize_t pwrite(int fd, const void *buf, size_t n, off_t off)
{
    static ssize_t (*next)(int, const void *, size_t, off_t);

    FIND("pwrite");
    return stored(fd, next(fd, buf, n, off));
}

ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t off)
{
    static ssize_t (*next)(int, const struct iovec *, int, off_t);

    FIND("pwritev");
    return stored(fd, next(fd, iov, n, off));
}
