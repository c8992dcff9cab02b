/* zc_fd.c - descriptors that are never 0, 1 or 2. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "zc_fd.h"

/* Puts a descriptor that can neither be read nor written in the place of a closed stream, so that
 * no later descriptor gets there, not even for a moment: another thread of the program may be
 * writing to it.  A program that opens the stream again replaces it. */
static void occupy(int fd)
{
    int none = open("/", O_PATH | O_CLOEXEC);

    if (none < 0 || dup3(none, fd, O_CLOEXEC) < 0)
        close(fd);
    if (none > STDERR_FILENO)
        close(none);
}

int zc_fd(int fd)
{
    int other, err;

    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    other = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    err = errno;
    occupy(fd);
    errno = err;
    return other;
}

FILE *zc_fopen(const char *path, const char *mode)
{
    FILE *f = fopen(path, mode), *other;
    int fd;

    if (!f || fileno(f) > STDERR_FILENO)
        return f;
    fd = zc_fd(dup(fileno(f)));
    other = fd < 0 ? NULL : fdopen(fd, mode);
    if (!other && fd >= 0)
        close(fd);
    fclose(f);
    return other;
}

DIR *zc_opendir(const char *path)
{
    int fd = zc_fd(open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC)), err;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);

    if (!d && fd >= 0) {
        err = errno;
        close(fd);
        errno = err;
    }
    return d;
}

int zc_fd_read_at(int fd, void *to, size_t len, off_t at)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = pread(fd, (char *)to + done, len - done, at + (off_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        done += (size_t)n;
    }
    return 0;
}

int zc_fd_write_at(int fd, const void *from, size_t len, off_t at)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = pwrite(fd, (const char *)from + done, len - done, at + (off_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        done += (size_t)n;
    }
    return 0;
}

void zc_fd_fill(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR); /* the lowest that is closed */
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* Calls cachestat(2) by its number, which is the same on all architectures but one, and with its
 * structs of <linux/mman.h>: headers of a distribution may be older than its users' kernels. */
int64_t zc_fd_cached(int fd, uint64_t off, uint64_t len)
{
#ifdef __alpha__
    enum { CACHESTAT = 561 };
#else
    enum { CACHESTAT = 451 };
#endif
    struct {
        uint64_t off, len;
    } range = {off, len};
    struct {
        uint64_t cached, dirty, under_writeback, evicted, recently_evicted;
    } pages = {0};
    long rc = syscall(CACHESTAT, fd, &range, &pages, 0);

    return rc == 0 ? (int64_t)pages.cached * sysconf(_SC_PAGESIZE) : -1;
}
