/* zc_store_example.c - the operations that every store has, over the files of a directory.
 *
 * A store may be called by several threads at once; this one keeps nothing that changes, so it
 * needs no lock.  Each error is explained where its name is known: zc_errorf().
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zc_log.h"
#include "zc_store_example.h"

struct ex_store {
    struct zc_store store; /* first: the seam hands out its address */
    int dir;
};

struct ex_sfile {
    struct zc_sfile sfile; /* first */
    int fd;
};

static int dir_of(struct zc_store *s)
{
    return ((struct ex_store *)s)->dir;
}

static int fd_of(struct zc_sfile *f)
{
    return ((struct ex_sfile *)f)->fd;
}

static void fill_attr(const struct stat *st, struct zc_attr *attr)
{
    attr->size = (uint64_t)st->st_size;
    attr->dev = st->st_dev; /* with ino: the same file under any name */
    attr->ino = st->st_ino;
    attr->nlink = st->st_nlink;
    attr->mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
    attr->ctime_ns = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
    attr->exact = false; /* two changes within a tick of the clock look alike */
}

static int ex_getattr(struct zc_sfile *f, struct zc_attr *attr)
{
    struct stat st;

    if (fstat(fd_of(f), &st) < 0)
        return zc_errorf(errno, "stat: %s", strerror(errno));
    *attr = (struct zc_attr){0};
    fill_attr(&st, attr);
    return 0;
}

/* Opens or creates; *created: this call has made the file. */
static int open_or_create(int dir, const char *path, unsigned flags, mode_t mode, bool *created)
{
    int how = O_CLOEXEC | (flags & ZC_OPEN_WRITE ? O_RDWR : O_RDONLY), fd;

    *created = false;
    for (int tries = 0; tries < 8; tries++) {
        if (!(flags & ZC_OPEN_EXCL)) {
            fd = openat(dir, path, how);
            if (fd >= 0 || errno != ENOENT || !(flags & ZC_OPEN_CREATE))
                return fd;
        }
        fd = openat(dir, path, how | O_CREAT | O_EXCL, mode);
        *created = fd >= 0;
        if (fd >= 0 || errno != EEXIST || flags & ZC_OPEN_EXCL)
            return fd;
    }
    return openat(dir, path, how | O_CREAT, mode); /* a symbolic link to nothing */
}

static int ex_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                   struct zc_sfile **out, struct zc_attr *attr)
{
    struct ex_sfile *f = calloc(1, sizeof *f);
    struct stat st;
    bool created;

    *out = NULL;
    if (!f)
        return zc_errorf(ENOMEM, "open %s: out of memory", path);
    f->sfile.store = s;
    f->fd = open_or_create(dir_of(s), path + 1, flags, mode, &created);
    if (f->fd < 0 || fstat(f->fd, &st) < 0) {
        int err = errno;

        if (f->fd >= 0)
            close(f->fd);
        free(f);
        return zc_errorf(err, "open %s: %s", path, strerror(err));
    }
    fill_attr(&st, attr); /* block_size stays what the opener wishes */
    attr->created = created;
    *out = &f->sfile;
    return 0;
}

/* Frees the file whatever it returns. */
static int ex_close(struct zc_sfile *f, enum zc_level level)
{
    int rc = level >= ZC_LEVEL_DURABLE && fsync(fd_of(f)) < 0 ? -errno : 0;

    if (close(fd_of(f)) < 0 && rc == 0)
        rc = -errno;
    free(f);
    return rc < 0 ? zc_errorf(-rc, "close: %s", strerror(-rc)) : 0;
}

static uint64_t bytes_of(const struct iovec *iov, int n)
{
    uint64_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += iov[i].iov_len;
    return sum;
}

/* Moves all bytes, one vector at a time; a read ends early at the end of the file. */
static ssize_t move(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off, bool write)
{
    ssize_t sum = 0;

    for (int i = 0; i < n; i++) {
        for (size_t at = 0; at < iov[i].iov_len;) {
            char *p = (char *)iov[i].iov_base + at;
            off_t where = (off_t)(off + (uint64_t)sum);
            ssize_t got = write ? pwrite(fd_of(f), p, iov[i].iov_len - at, where)
                                : pread(fd_of(f), p, iov[i].iov_len - at, where);

            if (got < 0 && errno != EINTR)
                return zc_errorf(errno, "%s: %s", write ? "write" : "read", strerror(errno));
            if (got == 0)
                return sum;
            at += got > 0 ? (size_t)got : 0;
            sum += got > 0 ? got : 0;
        }
    }
    return sum;
}

static ssize_t ex_preadv(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off)
{
    return move(f, iov, n, off, false);
}

static ssize_t ex_pwritev(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off)
{
    ssize_t rc = move(f, iov, n, off, true);

    if (rc >= 0 && (uint64_t)rc != bytes_of(iov, n))
        return zc_errorf(EIO, "write: %zd of %llu bytes", rc, (unsigned long long)bytes_of(iov, n));
    return rc;
}

static int ex_truncate(struct zc_sfile *f, uint64_t size)
{
    return ftruncate(fd_of(f), (off_t)size) < 0 ? zc_errorf(errno, "truncate: %s", strerror(errno))
                                                : 0;
}

/* The size is all that it reserves. */
static int ex_allocate(struct zc_sfile *f, uint64_t off, uint64_t len)
{
    struct zc_attr attr = {0};
    int rc = ex_getattr(f, &attr);

    return rc == 0 && attr.size < off + len ? ex_truncate(f, off + len) : rc;
}

static int ex_sync(struct zc_sfile *f, enum zc_level level)
{
    return level >= ZC_LEVEL_DURABLE && fsync(fd_of(f)) < 0
               ? zc_errorf(errno, "sync: %s", strerror(errno))
               : 0;
}

static int ex_unlink(struct zc_store *s, const char *path)
{
    return unlinkat(dir_of(s), path + 1, 0) < 0
               ? zc_errorf(errno, "delete %s: %s", path, strerror(errno))
               : 0;
}

static int ex_stat(struct zc_store *s, const char *path, struct zc_attr *attr)
{
    struct stat st;

    if (fstatat(dir_of(s), path + 1, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return zc_errorf(errno, "stat %s: %s", path, strerror(errno));
    *attr = (struct zc_attr){.link = S_ISLNK(st.st_mode)};
    fill_attr(&st, attr);
    return 0;
}

static void ex_destroy(struct zc_store *s)
{
    close(dir_of(s));
    free(s);
}

static const struct zc_store_ops ex_ops = {
    .name = "example",
    .open = ex_open,
    .close = ex_close,
    .preadv = ex_preadv,
    .pwritev = ex_pwritev,
    .getattr = ex_getattr,
    .truncate = ex_truncate,
    .allocate = ex_allocate,
    .sync = ex_sync,
    .unlink = ex_unlink,
    .stat = ex_stat,
    .destroy = ex_destroy,
};

int zc_store_example_create(const char *dir, struct zc_store **out)
{
    struct ex_store *s = calloc(1, sizeof *s);

    *out = NULL;
    if (!s)
        return zc_errorf(ENOMEM, "example store: out of memory");
    s->store.ops = &ex_ops;
    s->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->dir < 0) {
        int err = errno;

        free(s);
        return zc_errorf(err, "%s: %s", dir, strerror(err));
    }
    *out = &s->store;
    return 0;
}
