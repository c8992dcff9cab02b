/* zc_store_posix_file.c - a file of the posix store: open, close, size, space, sync.
 *
 * Files are opened for reading as well as writing where permissions allow, because the cache reads
 * gaps of pages.  Only regular files are served; O_NONBLOCK keeps the open of a FIFO or a device
 * from hanging before the type is known.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "zc_cred.h"
#include "zc_log.h"
#include "zc_store_posix_internal.h"
#include "zc_store_posix_ranges.h"

enum { CREATE_TRIES = 8 };

/* ---- open and close ---- */

/* Opens in the best mode: for writing also with read access if permitted. */
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

/* Opens or creates; *created: a later failure has to remove the file. */
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
        /* created by others meanwhile, or a dangling symbolic link */
    }
    return open_best(ps, path, flags, O_CREAT, mode);
}

/* Whether it is on a pseudo file system of the kernel, whose files have size 0 and no bytes at
 * offsets. */
static bool is_pseudo(uint32_t magic)
{
    static const unsigned magics[] = {
        0x9fa0 /* proc */,        0x62656572 /* sysfs */,       0x64626720 /* debugfs */,
        0x74726163 /* tracefs */, 0x73636673 /* securityfs */,  0x27e0eb /* cgroup */,
        0x63677270 /* cgroup2 */, 0xcafe4a11 /* bpf */,         0x62656570 /* configfs */,
        0x6165676c /* pstore */,  0xde5e81e4 /* efivarfs */,    0x1cd1 /* devpts */,
        0x65735543 /* fusectl */, 0x42494e4d /* binfmt_misc */, 0xf97cff8c /* selinuxfs */,
        0x6e736673 /* nsfs */,
    };

    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (magic == magics[i])
            return true;
    return false;
}

/* Returns the magic number of the file system that an open file is on; 0: unknown.  Called once per
 * open. */
static uint32_t magic_of(int fd)
{
    struct statfs fs;

    return fstatfs(fd, &fs) == 0 ? (uint32_t)fs.f_type : 0;
}

static int check_regular(uint32_t magic, const struct stat *st, const char *path)
{
    if (S_ISDIR(st->st_mode))
        return zc_errorf(EISDIR, "open %s: it is a directory; only regular files are served", path);
    if (!S_ISREG(st->st_mode))
        return zc_posix_not_regular("open", path, "a FIFO, socket or device");
    return is_pseudo(magic) ? zc_posix_not_regular("open", path, "the kernel's, as in /proc") : 0;
}

/* Removes the file that this open has just created; keeps the thread's error text. */
static void unlink_created(const struct posix_store *ps, const char *path)
{
    const char *base;
    int fd = zc_posix_open_parent(ps, path, &base);

    if (fd < 0)
        return;
    unlinkat(fd, base, 0);
    close(fd);
}

/* Whether a new file takes its group from the directory, which has the set-group-ID bit; true as
 * well if the directory cannot be examined. */
static bool inherits_group(const struct posix_store *ps, const char *path)
{
    const char *base;
    int fd = zc_posix_open_parent(ps, path, &base), rc;
    struct stat st;

    if (fd < 0)
        return true;
    rc = fstat(fd, &st);
    close(fd);
    return rc < 0 || st.st_mode & S_ISGID;
}

/* Gives the new file the group of the client that creates it, and updates *st.  If the daemon may
 * not do that, the file stays as it was created, and a warning says so. */
static void give_group(const struct posix_store *ps, int fd, const char *path, struct stat *st)
{
    int rc;

    if (!zc_cred_gives_group(st) || inherits_group(ps, path))
        return;
    rc = zc_cred_give_group(fd);
    if (rc == 0)
        fstat(fd, st);
    else
        zc_warn("%s keeps the group %u of this process: it may not give the file the group of the "
                "program that creates it: %s",
                path, (unsigned)st->st_gid, strerror(-rc));
}

int zc_posix_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                  struct zc_sfile **out, struct zc_attr *attr)
{
    struct posix_store *ps = posix_store(s);
    struct posix_file *f = calloc(1, sizeof(*f));
    const struct zc_attr wish = *attr;
    bool created = false;
    uint32_t magic = 0;
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
        rc = errno == ENXIO ? zc_posix_not_regular("open", path, "a FIFO, socket or device")
                            : zc_posix_path_error(ps, errno, "open", path);
        goto fail;
    }
    if (fstat(f->fd, &st) < 0) {
        rc = zc_posix_explain(errno, "stat", path);
    } else {
        magic = magic_of(f->fd);
        rc = check_regular(magic, &st, path);
    }
    if (rc < 0)
        goto fail_close;
    if (created)
        give_group(ps, f->fd, path, &st);
    zc_posix_attr(&st, attr);
    attr->created = created;
    attr->born_ns = zc_posix_born(f->fd);
    f->exact = attr->exact = zc_posix_exact(magic);
    f->known = zc_posix_is_known(magic);
    attr->store_unit = zc_posix_store_unit(f->fd, &st);
    zc_lock_init(&f->serialize, ZC_ORDER_STORE);
    zc_posix_direct_open(ps, f, &st);
    zc_posix_merge_open(ps, f, &st, flags & ZC_OPEN_WRITE, created || flags & ZC_OPEN_SOLE);
    attr->merges = zc_posix_merges(f);
    attr->block_size = wish.block_size; /* any value is right */
    zc_posix_stripe_open(f, flags, created, &wish, attr);
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

/* close() may report a late write error (NFS, quota); the descriptor is closed in any case. */
int zc_posix_close(struct zc_sfile *sf, enum zc_level level)
{
    struct posix_file *f = posix_file(sf);
    int rc = 0;

    if (level >= ZC_LEVEL_DURABLE && fdatasync(f->fd) < 0)
        rc = zc_posix_explain(errno, "fdatasync", f->path);
    if (close(f->fd) < 0 && errno != EINTR)
        rc = zc_posix_explain(errno, "close", f->path);
    zc_posix_direct_close(f);
    zc_posix_merge_close(posix_store(sf->store), f);
    zc_lock_destroy(&f->serialize);
    free(f->path);
    free(f);
    return rc;
}

/* ---- the file as a whole ---- */

int zc_posix_descriptor(struct zc_sfile *sf)
{
    return posix_file(sf)->fd;
}

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
    if (rc < 0) /* keeps a partial success from being reported */
        rc = zc_posix_explain(errno == EREMOTEIO ? EIO : errno, "truncate", f->path);
    return rc;
}

/* Extends the size on file systems without fallocate; reserves no space.  Writes the last byte:
 * ftruncate() could cut bytes that others have written beyond it since the size was read.  The lock
 * or the caller keeps other writers of that byte away. */
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
    if (locked == POSIX_LOCKED)
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
