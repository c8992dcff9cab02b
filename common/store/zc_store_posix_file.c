/* zc_store_posix_file.c - a file of the posix store: open, close, and the file as a whole.
 *
 * Files are opened for reading as well as writing where permissions allow, because the
 * cache reads gaps of pages.  Only regular files are served; O_NONBLOCK keeps the open of
 * a FIFO or a device from hanging until that is known.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zc_log.h"
#include "zc_store_posix_internal.h"
#include "zc_store_posix_ranges.h"

enum { CREATE_TRIES = 8 };

/* ---- open and close ---- */

/* Opens in the best mode: a writer reads too if it may. */
static int open_best(const struct posix_store *ps, const char *path, unsigned flags, int extra,
                     mode_t mode)
{
    int fd;

    extra |= O_NONBLOCK | O_NOCTTY;
    if (!(flags & ZC_OPEN_WRITE))
        return zc_posix_open_path(ps, path, O_RDONLY | extra, mode);
    fd = zc_posix_open_path(ps, path, O_RDWR | extra, mode);
    if (fd < 0 && errno == EACCES && !(flags & ZC_OPEN_READ))
        fd = zc_posix_open_path(ps, path, O_WRONLY | extra, mode);
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

/* Removes a file this open has just created, without touching the thread's explanation. */
static void unlink_created(const struct posix_store *ps, const char *path)
{
    const char *base;
    int fd = zc_posix_open_parent(ps, path, &base);

    if (fd < 0)
        return;
    unlinkat(fd, base, 0);
    close(fd);
}

int zc_posix_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
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
                            : zc_posix_path_error(ps, errno, "open", path);
        goto fail;
    }
    f->locks = zc_ranges_may_lock(f->fd);
    if (fstat(f->fd, &st) < 0)
        rc = zc_posix_explain(errno, "stat", path);
    else
        rc = check_regular(&st, path);
    if (rc < 0)
        goto fail_close;
    zc_posix_attr(&st, attr);
    attr->born_ns = zc_posix_born(f->fd);
    f->exact = attr->exact = zc_posix_exact(f->fd);
    f->turns = zc_posix_turns(f->fd);
    zc_lock_init(&f->turn, ZC_ORDER_STORE);
    zc_posix_direct_open(ps, f, &st);
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
int zc_posix_close(struct zc_sfile *sf, enum zc_level level)
{
    struct posix_file *f = posix_file(sf);
    int rc = 0;

    if (level >= ZC_LEVEL_DURABLE && fdatasync(f->fd) < 0)
        rc = zc_posix_explain(errno, "fdatasync", f->path);
    if (close(f->fd) < 0 && errno != EINTR)
        rc = zc_posix_explain(errno, "close", f->path);
    zc_posix_direct_close(f);
    zc_lock_destroy(&f->turn);
    free(f->path);
    free(f);
    return rc;
}

/* ---- the file as a whole ---- */

int zc_posix_getattr(struct zc_sfile *sf, struct zc_attr *attr)
{
    struct stat st;

    if (fstat(posix_file(sf)->fd, &st) < 0)
        return zc_posix_explain(errno, "stat", posix_file(sf)->path);
    zc_posix_attr(&st, attr);
    attr->exact = posix_file(sf)->exact;
    return 0;
}

int zc_posix_truncate(struct zc_sfile *sf, uint64_t size)
{
    struct posix_file *f = posix_file(sf);
    int rc;

    if (size > INT64_MAX)
        return zc_errorf(EFBIG, "truncate %s: %llu bytes are more than a file can hold", f->path,
                         (unsigned long long)size);
    posix_ask(sf->store);
    do {
        rc = ftruncate(f->fd, (off_t)size);
    } while (rc < 0 && errno == EINTR);
    if (rc < 0) /* one of the errors would say that it has worked */
        rc = zc_posix_explain(errno == EREMOTEIO ? EIO : errno, "truncate", f->path);
    return rc;
}

/* For file systems without fallocate: the size grows, space is not reserved.  By a byte at the
 * end and not by ftruncate(), which would cut what others have written behind it since we looked;
 * who may write that byte is kept away, by the lock or by our caller. */
static int extend(struct posix_file *f, uint64_t size)
{
    int locked = zc_posix_lock(f, size - 1, 1), rc = 0;
    struct stat st;
    ssize_t put = 1;

    if (locked < 0)
        return locked;
    if (fstat(f->fd, &st) < 0)
        rc = zc_posix_explain(errno, "stat", f->path);
    else if ((uint64_t)st.st_size < size)
        do {
            put = pwrite(f->fd, "", 1, (off_t)(size - 1));
        } while (put < 0 && errno == EINTR);
    if (rc == 0 && put != 1)
        rc = zc_posix_explain(put < 0 ? errno : EIO, "allocate", f->path);
    if (locked)
        zc_ranges_unlock(f->fd, size - 1, 1);
    return rc;
}

int zc_posix_allocate(struct zc_sfile *sf, uint64_t off, uint64_t len)
{
    struct posix_file *f = posix_file(sf);
    int rc;

    if (off > INT64_MAX || len > INT64_MAX - off)
        return zc_errorf(EFBIG, "allocate %s: offset %llu + %llu is beyond what a file can hold",
                         f->path, (unsigned long long)off, (unsigned long long)len);
    if (len == 0)
        return 0;
    posix_ask(sf->store);
    do {
        rc = fallocate(f->fd, 0, (off_t)off, (off_t)len);
    } while (rc < 0 && errno == EINTR);
    if (rc < 0 && (errno == EOPNOTSUPP || errno == ENOSYS))
        return extend(f, off + len);
    return rc < 0 ? zc_posix_explain(errno, "allocate", f->path) : 0;
}

int zc_posix_sync(struct zc_sfile *sf, enum zc_level level)
{
    struct posix_file *f = posix_file(sf);
    int rc;

    if (level < ZC_LEVEL_DURABLE)
        return 0;
    do {
        rc = fdatasync(f->fd);
    } while (rc < 0 && errno == EINTR);
    return rc < 0 ? zc_posix_explain(errno, "fdatasync", f->path) : 0;
}
