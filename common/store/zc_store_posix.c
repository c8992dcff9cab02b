/* zc_store_posix.c - files of a directory tree, or of the whole system.
 *
 * With a root, every path is resolved by openat2(RESOLVE_BENEATH): whatever happens to the
 * tree meanwhile, the kernel never lets a name leave it.  An absolute symbolic link inside
 * the tree is refused by that; when it leads back into the tree, the path it resolves to is
 * opened instead, again beneath the root.
 *
 * Files are opened for reading as well as writing where permissions allow, because the
 * cache reads gaps of pages.  Only regular files are served; O_NONBLOCK keeps the open of
 * a FIFO or a device from hanging until that is known.
 *
 * Levels: after a write the data is in the file and other programs see it, so STORED asks
 * for nothing more; DURABLE is fdatasync().
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "zc_log.h"
#include "zc_racy.h"
#include "zc_store.h"
#include "zc_store_posix.h"
#include "zc_store_posix_ranges.h"

enum { CREATE_TRIES = 8, BATCH_IOV = IOV_MAX };

struct posix_store {
    struct zc_store store;
    int root_fd;    /* -1: no confinement */
    char *given;    /* root as given, without trailing slashes */
    char *resolved; /* root without symbolic links */
};

struct posix_file {
    struct zc_sfile sfile;
    int fd;
    char *path;     /* for messages */
    bool shared;    /* by writers that do not know each other, see zc_store_posix_ranges.h */
    bool locks;     /* they keep out of each other's way; atomic: any thread may give that up */
    bool impatient; /* what a program has locked is not waited for any more; atomic */
};

static struct posix_store *posix_store(struct zc_store *s)
{
    return (struct posix_store *)s;
}

static struct posix_file *posix_file(struct zc_sfile *f)
{
    return (struct posix_file *)f;
}

/* ---- explaining ---- */

static const char *remedy(int err)
{
    switch (err) {
    case EACCES:
    case EPERM:
        return "; check the permissions of the file and of the directories above it";
    case ENOENT:
        return "; check the path, or open with create";
    case ENOSPC:
    case EDQUOT:
        return "; free space or raise the quota";
    case EROFS:
        return "; the file system is mounted read-only";
    case ENOSYS:
        return "; confinement needs Linux 5.6 and a container that allows openat2";
    case EMFILE:
    case ENFILE:
        return "; raise the limit on open files (ulimit -n)";
    default:
        return "";
    }
}

static int explain(int err, const char *what, const char *path)
{
    return zc_errorf(err, "%s %s: %s%s", what, path, strerror(err), remedy(err));
}

static int outside(const struct posix_store *ps, const char *path)
{
    return zc_errorf(EACCES, "path %s leads outside the root %s; only files below it are served",
                     path, ps->given);
}

/* ---- paths ---- */

/* What follows the directory `dir` in `path`; NULL when path is not below it. */
static const char *below_dir(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    if (strncmp(path, dir, len) != 0)
        return NULL;
    path += len;
    if (*path != '\0' && *path != '/' && len > 0)
        return NULL; /* /scratch2 is not below /scratch */
    while (*path == '/')
        path++;
    return *path ? path : ".";
}

static const char *below_root(const struct posix_store *ps, const char *path)
{
    const char *rel = NULL;

    if (path[0] != '/')
        return NULL;
    rel = below_dir(path, ps->given);
    return rel ? rel : below_dir(path, ps->resolved);
}

/* Opens `rel` beneath the root; a descriptor or -1 with errno. */
static int open_beneath(const struct posix_store *ps, const char *rel, int flags, mode_t mode)
{
    struct open_how how = {
        .flags = (uint64_t)(flags | O_CLOEXEC),
        .mode = flags & O_CREAT ? mode & 07777 : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    int fd;

    do {
        fd = (int)syscall(SYS_openat2, ps->root_fd, rel, &how, sizeof(how));
    } while (fd < 0 && (errno == EINTR || errno == EAGAIN)); /* EAGAIN: a rename was in the way */
    return fd;
}

/* The path with its symbolic links resolved, the last component too if it exists; NULL with
 * errno.  To be freed. */
static char *resolve(const char *path)
{
    char *real = realpath(path, NULL), *dir, *slash, *out = NULL;

    if (real || errno != ENOENT)
        return real;
    dir = strdup(path);
    if (!dir)
        return NULL;
    slash = strrchr(dir, '/');
    if (slash && slash != dir && slash[1] != '\0' && strcmp(slash, "/..") != 0) {
        *slash = '\0';
        real = realpath(dir, NULL);
        if (real && asprintf(&out, "%s/%s", real, slash + 1) < 0)
            out = NULL;
        free(real);
    }
    free(dir);
    return out;
}

/* Opens a path of the store: a descriptor, -1 with errno; EXDEV: outside the root. */
static int open_path(const struct posix_store *ps, const char *path, int flags, mode_t mode)
{
    const char *rel;
    char *real;
    int fd, err;

    if (ps->root_fd < 0) {
        do {
            fd = open(path, flags | O_CLOEXEC, mode);
        } while (fd < 0 && errno == EINTR);
        return fd;
    }
    rel = below_root(ps, path);
    if (!rel) {
        errno = EXDEV;
        return -1;
    }
    fd = open_beneath(ps, rel, flags, mode);
    if (fd >= 0 || errno != EXDEV)
        return fd;
    real = resolve(path);
    rel = real ? below_dir(real, ps->resolved) : NULL;
    if (rel)
        fd = open_beneath(ps, rel, flags, mode);
    err = rel ? errno : EXDEV;
    free(real);
    errno = err;
    return fd;
}

static int path_error(const struct posix_store *ps, int err, const char *what, const char *path)
{
    return err == EXDEV && ps->root_fd >= 0 ? outside(ps, path) : explain(err, what, path);
}

/* ---- open ---- */

static void attr_of(const struct stat *st, struct zc_attr *a)
{
    *a = (struct zc_attr){
        .size = (uint64_t)st->st_size,
        .dev = st->st_dev,
        .ino = st->st_ino,
        .nlink = st->st_nlink,
        .mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
        .ctime_ns = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec,
    };
}

/* Opens in the best mode: a writer reads too if it may. */
static int open_best(const struct posix_store *ps, const char *path, unsigned flags, int extra,
                     mode_t mode)
{
    int fd;

    extra |= O_NONBLOCK | O_NOCTTY;
    if (!(flags & ZC_OPEN_WRITE))
        return open_path(ps, path, O_RDONLY | extra, mode);
    fd = open_path(ps, path, O_RDWR | extra, mode);
    if (fd < 0 && errno == EACCES && !(flags & ZC_OPEN_READ))
        fd = open_path(ps, path, O_WRONLY | extra, mode);
    return fd;
}

/* Opens or creates; *created says which, so that a failure later can undo it. */
static int open_or_create(const struct posix_store *ps, const char *path, unsigned flags,
                          mode_t mode, bool *created)
{
    int fd;

    *created = false;
    if (!(flags & ZC_OPEN_CREATE))
        return open_best(ps, path, flags, 0, 0);
    for (int i = 0; i < CREATE_TRIES; i++) {
        if (!(flags & ZC_OPEN_EXCL)) {
            fd = open_best(ps, path, flags, 0, 0);
            if (fd >= 0 || errno != ENOENT)
                return fd;
        }
        fd = open_best(ps, path, flags, O_CREAT | O_EXCL, mode);
        *created = fd >= 0;
        if (fd >= 0 || errno != EEXIST || (flags & ZC_OPEN_EXCL))
            return fd;
        /* it appeared meanwhile, or is a symbolic link to nothing */
    }
    return open_best(ps, path, flags, O_CREAT, mode);
}

static int check_regular(const struct stat *st, const char *path)
{
    if (S_ISDIR(st->st_mode))
        return zc_errorf(EISDIR, "open %s: it is a directory; only regular files are served", path);
    if (!S_ISREG(st->st_mode))
        return zc_errorf(EINVAL,
                         "open %s: it is a FIFO, socket or device; only regular files are "
                         "served",
                         path);
    return 0;
}

static int open_parent(const struct posix_store *ps, const char *path, const char **base);

/* Removes a file this open has just created, without touching the thread's explanation. */
static void unlink_created(const struct posix_store *ps, const char *path)
{
    const char *base;
    int fd = open_parent(ps, path, &base);

    if (fd < 0)
        return;
    unlinkat(fd, base, 0);
    close(fd);
}

static int posix_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                      struct zc_sfile **out, struct zc_attr *attr)
{
    struct posix_store *ps = posix_store(s);
    struct posix_file *f = calloc(1, sizeof(*f));
    uint64_t block_size = attr->block_size;
    bool created = false;
    struct stat st;
    int rc;

    *out = NULL;
    if (f)
        f->path = strdup(path);
    if (!f || !f->path) {
        free(f);
        return zc_errorf(ENOMEM, "open %s: out of memory", path);
    }
    f->sfile.store = s;
    f->fd = open_or_create(ps, path, flags, mode, &created);
    if (f->fd < 0) {
        rc = errno == ENXIO ? zc_errorf(EINVAL,
                                        "open %s: it is a FIFO, socket or device; only "
                                        "regular files are served",
                                        path)
                            : path_error(ps, errno, "open", path);
        goto fail;
    }
    f->shared = ps->root_fd < 0;
    f->locks = f->shared && zc_ranges_may_lock(f->fd);
    if (fstat(f->fd, &st) < 0)
        rc = explain(errno, "stat", path);
    else
        rc = check_regular(&st, path);
    if (rc < 0)
        goto fail_close;
    attr_of(&st, attr);
    attr->block_size = block_size; /* any will do */
    *out = &f->sfile;
    return 0;

fail_close:
    close(f->fd);
    if (created)
        unlink_created(ps, path);
fail:
    free(f->path);
    free(f);
    return rc;
}

/* close() may report a write that failed late (NFS, quota); the descriptor is gone anyway. */
static int posix_close(struct zc_sfile *sf, enum zc_level level)
{
    struct posix_file *f = posix_file(sf);
    int rc = 0;

    if (level >= ZC_LEVEL_DURABLE && fdatasync(f->fd) < 0)
        rc = explain(errno, "fdatasync", f->path);
    if (close(f->fd) < 0 && errno != EINTR)
        rc = explain(errno, "close", f->path);
    free(f->path);
    free(f);
    return rc;
}

/* ---- data ---- */

/* Total length; -EFBIG when the range does not fit a file. */
static ssize_t check_range(const struct posix_file *f, const struct iovec *iov, int n, uint64_t off)
{
    size_t len = 0;

    for (int i = 0; i < n; i++) {
        if (iov[i].iov_len > (size_t)SSIZE_MAX - len)
            return zc_errorf(EINVAL, "%s: a transfer of more than %zd bytes", f->path,
                             (ssize_t)SSIZE_MAX);
        len += iov[i].iov_len;
    }
    if (off > (uint64_t)INT64_MAX - len)
        return zc_errorf(EFBIG, "%s: offset %llu + %zu is beyond what a file can hold", f->path,
                         (unsigned long long)off, len);
    return (ssize_t)len;
}

/* A walk over an iovec array that may stop anywhere. */
struct walk {
    const struct iovec *iov;
    int n;
    size_t skip; /* bytes of iov[0] that are done */
};

/* The next call's worth, the first entry shortened by what is done. */
static int walk_batch(const struct walk *w, struct iovec *batch)
{
    int n = w->n < BATCH_IOV ? w->n : BATCH_IOV;

    memcpy(batch, w->iov, (size_t)n * sizeof(*batch));
    batch[0].iov_base = (char *)batch[0].iov_base + w->skip;
    batch[0].iov_len -= w->skip;
    return n;
}

static void walk_on(struct walk *w, size_t done)
{
    while (w->n > 0 && done >= w->iov->iov_len - w->skip) {
        done -= w->iov->iov_len - w->skip;
        w->skip = 0;
        w->iov++;
        w->n--;
    }
    w->skip += done;
}

static ssize_t posix_preadv(struct zc_sfile *sf, const struct iovec *iov, int n, uint64_t off)
{
    struct posix_file *f = posix_file(sf);
    struct walk w = {.iov = iov, .n = n};
    struct iovec batch[BATCH_IOV];
    ssize_t total = 0, got;
    ssize_t len = check_range(f, iov, n, off);

    if (len < 0)
        return len;
    walk_on(&w, 0);
    while (total < len) {
        int nb = walk_batch(&w, batch);

        got = preadv(f->fd, batch, nb, (off_t)(off + (uint64_t)total));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return zc_errorf(errno, "read of %s, %zd bytes at %llu: %s%s", f->path, len,
                             (unsigned long long)off, strerror(errno), remedy(errno));
        if (got == 0)
            break;
        total += got;
        walk_on(&w, (size_t)got);
    }
    return total;
}

/* 1: locked; 0: to be written without; or a negative errno: not to be written now. */
static int lock(struct posix_file *f, uint64_t off, uint64_t len)
{
    int rc;

    if (!__atomic_load_n(&f->locks, __ATOMIC_RELAXED))
        return 0;
    rc = zc_ranges_lock(f->fd, off, len, !__atomic_load_n(&f->impatient, __ATOMIC_RELAXED));
    if (rc == 0)
        return 1;
    if (rc == -EBUSY)
        return zc_errorf(EBUSY,
                         "write of %s, %llu bytes at %llu: another process holds a lock on them "
                         "for a minute; was it stopped?",
                         f->path, (unsigned long long)len, (unsigned long long)off);
    if (rc != -EAGAIN)
        __atomic_store_n(&f->locks, false, __ATOMIC_RELAXED);
    else if (!__atomic_exchange_n(&f->impatient, true, __ATOMIC_RELAXED))
        zc_warn("%s: the program, or another, holds an fcntl lock on bytes %llu+%llu; what it has "
                "locked is written without locks from here on, scattered pieces one by one",
                f->path, (unsigned long long)off, (unsigned long long)len);
    return 0;
}

static ssize_t posix_pwritev(struct zc_sfile *sf, const struct iovec *iov, int n, uint64_t off)
{
    struct posix_file *f = posix_file(sf);
    struct walk w = {.iov = iov, .n = n};
    struct iovec batch[BATCH_IOV];
    ssize_t total = 0, put;
    ssize_t len = check_range(f, iov, n, off);
    int locked;

    if (len < 0)
        return len;
    locked = lock(f, off, (uint64_t)len);
    if (locked < 0)
        return locked;
    walk_on(&w, 0);
    while (total < len) {
        int nb = walk_batch(&w, batch);

        ZC_RACY_READ_BEGIN();
        put = pwritev(f->fd, batch, nb, (off_t)(off + (uint64_t)total));
        ZC_RACY_READ_END();
        if (put < 0 && errno == EINTR)
            continue;
        if (put == 0)
            errno = EIO;
        if (put <= 0) {
            total = zc_errorf(errno, "write of %s, %zd bytes at %llu: %s%s", f->path, len,
                              (unsigned long long)off, strerror(errno), remedy(errno));
            break;
        }
        total += put;
        walk_on(&w, (size_t)put);
    }
    if (locked)
        zc_ranges_unlock(f->fd, off, (uint64_t)len);
    return total;
}

static ssize_t posix_write_ranges(struct zc_sfile *sf, const char *data, const struct zc_range *r,
                                  uint32_t n, uint64_t off)
{
    struct posix_file *f = posix_file(sf);
    struct iovec whole = {NULL, r[n - 1].hi};
    ssize_t rc = check_range(f, &whole, 1, off);

    if (rc < 0)
        return rc;
    if (f->shared) {
        uint64_t len = r[n - 1].hi - r[0].lo;
        int locked = lock(f, off + r[0].lo, len);

        if (locked <= 0)
            return locked < 0 ? locked : -EOPNOTSUPP;
        rc = zc_ranges_write(f->fd, data, r, n, off);
        zc_ranges_unlock(f->fd, off + r[0].lo, len);
    } else {
        rc = zc_ranges_write(f->fd, data, r, n, off);
    }
    if (rc < 0 && rc != -EOPNOTSUPP)
        return zc_errorf((int)-rc, "write of %s, %u pieces at %llu: %s%s", f->path, n,
                         (unsigned long long)off, strerror((int)-rc), remedy((int)-rc));
    return rc;
}

/* ---- the file as a whole ---- */

static int posix_getattr(struct zc_sfile *sf, struct zc_attr *attr)
{
    struct stat st;

    if (fstat(posix_file(sf)->fd, &st) < 0)
        return explain(errno, "stat", posix_file(sf)->path);
    attr_of(&st, attr);
    return 0;
}

static int posix_truncate(struct zc_sfile *sf, uint64_t size)
{
    struct posix_file *f = posix_file(sf);
    int rc;

    if (size > INT64_MAX)
        return zc_errorf(EFBIG, "truncate %s: %llu bytes are more than a file can hold", f->path,
                         (unsigned long long)size);
    do {
        rc = ftruncate(f->fd, (off_t)size);
    } while (rc < 0 && errno == EINTR);
    return rc < 0 ? explain(errno, "truncate", f->path) : 0;
}

/* For file systems without fallocate: the size grows, space is not reserved.  By a byte at the
 * end and not by ftruncate(), which would cut what others have written behind it since we looked;
 * who may write that byte is kept away, by the lock or by our caller. */
static int extend(struct posix_file *f, uint64_t size)
{
    int locked = lock(f, size - 1, 1), rc = 0;
    struct stat st;
    ssize_t put = 1;

    if (locked < 0)
        return locked;
    if (fstat(f->fd, &st) < 0)
        rc = explain(errno, "stat", f->path);
    else if ((uint64_t)st.st_size < size)
        do {
            put = pwrite(f->fd, "", 1, (off_t)(size - 1));
        } while (put < 0 && errno == EINTR);
    if (rc == 0 && put != 1)
        rc = explain(put < 0 ? errno : EIO, "allocate", f->path);
    if (locked)
        zc_ranges_unlock(f->fd, size - 1, 1);
    return rc;
}

static int posix_allocate(struct zc_sfile *sf, uint64_t off, uint64_t len)
{
    struct posix_file *f = posix_file(sf);
    int rc;

    if (off > INT64_MAX || len > INT64_MAX - off)
        return zc_errorf(EFBIG, "allocate %s: offset %llu + %llu is beyond what a file can hold",
                         f->path, (unsigned long long)off, (unsigned long long)len);
    if (len == 0)
        return 0;
    do {
        rc = fallocate(f->fd, 0, (off_t)off, (off_t)len);
    } while (rc < 0 && errno == EINTR);
    if (rc < 0 && (errno == EOPNOTSUPP || errno == ENOSYS))
        return extend(f, off + len);
    return rc < 0 ? explain(errno, "allocate", f->path) : 0;
}

static int posix_sync(struct zc_sfile *sf, enum zc_level level)
{
    struct posix_file *f = posix_file(sf);
    int rc;

    if (level < ZC_LEVEL_DURABLE)
        return 0;
    do {
        rc = fdatasync(f->fd);
    } while (rc < 0 && errno == EINTR);
    return rc < 0 ? explain(errno, "fdatasync", f->path) : 0;
}

/* ---- names ---- */

/* The directory above `path`, opened, and the last component; -1 with errno. */
static int open_parent(const struct posix_store *ps, const char *path, const char **base)
{
    const char *slash = strrchr(path, '/');
    char *dir;
    int fd, err;

    *base = slash ? slash + 1 : path;
    if (ps->root_fd >= 0 && !below_root(ps, path)) {
        errno = EXDEV;
        return -1;
    }
    if (**base == '\0' || strcmp(*base, ".") == 0 || strcmp(*base, "..") == 0 ||
        (ps->root_fd >= 0 && strcmp(below_root(ps, path), ".") == 0)) {
        errno = EISDIR;
        return -1;
    }
    dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    if (!dir) {
        errno = ENOMEM;
        return -1;
    }
    fd = open_path(ps, dir, O_PATH | O_DIRECTORY, 0);
    err = errno;
    free(dir);
    errno = err;
    return fd;
}

static int posix_unlink(struct zc_store *s, const char *path)
{
    const struct posix_store *ps = posix_store(s);
    const char *base;
    int fd = open_parent(ps, path, &base), rc = 0;

    if (fd < 0)
        return path_error(ps, errno, "unlink", path);
    if (unlinkat(fd, base, 0) < 0)
        rc = explain(errno, "unlink", path);
    close(fd);
    return rc;
}

static int posix_stat(struct zc_store *s, const char *path, struct zc_attr *attr)
{
    const struct posix_store *ps = posix_store(s);
    int fd = open_path(ps, path, O_PATH, 0), rc = 0;
    struct stat st;

    if (fd < 0)
        return path_error(ps, errno, "stat", path);
    if (fstat(fd, &st) < 0)
        rc = explain(errno, "stat", path);
    else
        attr_of(&st, attr);
    close(fd);
    return rc;
}

/* ---- the store ---- */

static void posix_destroy(struct zc_store *s)
{
    struct posix_store *ps = posix_store(s);

    if (ps->root_fd >= 0)
        close(ps->root_fd);
    free(ps->given);
    free(ps->resolved);
    free(ps);
}

static const struct zc_store_ops posix_ops = {
    .name = "posix",
    .open = posix_open,
    .close = posix_close,
    .preadv = posix_preadv,
    .pwritev = posix_pwritev,
    .write_ranges = posix_write_ranges,
    .getattr = posix_getattr,
    .truncate = posix_truncate,
    .allocate = posix_allocate,
    .sync = posix_sync,
    .unlink = posix_unlink,
    .stat = posix_stat,
    .destroy = posix_destroy,
};

static int open_root(struct posix_store *ps, const char *root)
{
    size_t len = strlen(root);

    if (root[0] != '/')
        return zc_errorf(EINVAL, "root %s: must be an absolute path", root);
    while (len > 0 && root[len - 1] == '/')
        len--; /* "/" becomes "" */
    ps->given = strndup(root, len);
    ps->resolved = realpath(root, NULL);
    if (!ps->given)
        return zc_errorf(ENOMEM, "root %s: out of memory", root);
    if (!ps->resolved)
        return explain(errno, "root", root);
    if (strcmp(ps->resolved, "/") == 0)
        ps->resolved[0] = '\0';
    ps->root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (ps->root_fd < 0)
        return explain(errno, "root", root);
    return 0;
}

int zc_store_posix_create(const char *root, struct zc_store **out)
{
    struct posix_store *ps = calloc(1, sizeof(*ps));
    int rc;

    *out = NULL;
    if (!ps)
        return zc_errorf(ENOMEM, "posix store: out of memory");
    ps->store.ops = &posix_ops;
    ps->root_fd = -1;
    rc = root ? open_root(ps, root) : 0;
    if (rc < 0) {
        posix_destroy(&ps->store);
        return rc;
    }
    *out = &ps->store;
    return 0;
}
