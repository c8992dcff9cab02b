/* zc_store_posix_direct.c - direct I/O past the system's page cache.
 *
 * A daemon caches in memory of its own; the page cache would hold the same data again, displace
 * pages of other programs on that host, and be written at times of the kernel's choice.  With
 * direct I/O a file is open twice.  Long runs aligned as the file system requires go through the
 * second descriptor; short ones, and unaligned ends, through the first: each page of the kernel is
 * used by one way only, so neither has to wait for the other.
 *
 * A file system without direct I/O is logged once, and the page cache is used.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zc_log.h"
#include "zc_store_posix_internal.h"

enum {
    ALIGN = 4096,     /* accepted by all file systems that report no alignment (open(2)) */
    LEAST = 64 << 10, /* shortest run worth it, bytes */
};

static void cannot(struct posix_store *ps, const char *path, const char *why)
{
    if (!__atomic_exchange_n(&ps->indirect, true, __ATOMIC_RELAXED))
        zc_warn("%s: its file system does no direct I/O (%s): what is read and written there is in "
                "the page cache, too",
                path, why);
}

/* Returns the required alignment of memory and offsets; 0: no direct I/O. */
static uint32_t alignment(int fd)
{
#ifdef STATX_DIOALIGN
    struct statx sx;

    if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &sx) == 0 && sx.stx_mask & STATX_DIOALIGN) {
        uint32_t most = sx.stx_dio_mem_align > sx.stx_dio_offset_align ? sx.stx_dio_mem_align
                                                                       : sx.stx_dio_offset_align;

        return most && most < ALIGN ? ALIGN : most;
    }
#else
    (void)fd;
#endif
    return ALIGN;
}

void zc_posix_direct_open(struct posix_store *ps, struct posix_file *f, const struct stat *st)
{
    int mode = fcntl(f->fd, F_GETFL) & O_ACCMODE, fd;
    struct stat now;
    uint32_t align;

    f->direct_fd = -1;
    if (!ps->direct)
        return;
    fd = zc_posix_open_path(ps, f->path, mode | O_DIRECT | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0) {
        cannot(ps, f->path, strerror(errno));
        return;
    }
    align = alignment(fd);
    if (align == 0)
        cannot(ps, f->path, "statx says so");
    /* The path may be another file's by now. */
    if (align == 0 || fstat(fd, &now) < 0 || now.st_dev != st->st_dev || now.st_ino != st->st_ino) {
        close(fd);
        return;
    }
    f->direct_fd = fd;
    f->align = align;
}

void zc_posix_direct_close(struct posix_file *f)
{
    if (f->direct_fd >= 0)
        close(f->direct_fd);
}

/* The aligned run at the beginning. */
struct run {
    int n;       /* entries, the last of them ... */
    size_t last; /* ... with so many bytes */
    size_t bytes;
};

static struct run whole(const struct posix_file *f, const struct iovec *iov, int n)
{
    struct run r = {0};

    while (r.n < n && (uintptr_t)iov[r.n].iov_base % f->align == 0) {
        size_t over = iov[r.n].iov_len % f->align;

        if (over == iov[r.n].iov_len)
            break;
        r.last = iov[r.n++].iov_len - over;
        r.bytes += r.last;
        if (over)
            break;
    }
    return r;
}

int zc_posix_direct_aim(struct posix_file *f, struct iovec *iov, int *n, uint64_t off)
{
    uint32_t before;
    struct run r;

    if (f->direct_fd < 0 || __atomic_load_n(&f->undirect, __ATOMIC_RELAXED))
        return f->fd;
    before = (uint32_t)(off % f->align);
    if (before) { /* up to the alignment, if much follows */
        if (iov[0].iov_len >= f->align - before + LEAST) {
            iov[0].iov_len = f->align - before;
            *n = 1;
        }
        return f->fd;
    }
    r = whole(f, iov, *n);
    if (r.bytes < LEAST)
        return f->fd;
    *n = r.n;
    iov[r.n - 1].iov_len = r.last;
    return f->direct_fd;
}

bool zc_posix_direct_refused(struct zc_store *s, struct posix_file *f, int fd, int err)
{
    if (fd != f->direct_fd || err != EINVAL)
        return false;
    __atomic_store_n(&f->undirect, true, __ATOMIC_RELAXED);
    cannot(posix_store(s), f->path, strerror(err));
    return true;
}
