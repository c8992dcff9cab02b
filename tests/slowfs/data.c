/* data.c - open files.
 *
 * The kernel caches no data (direct I/O), unless --cached-reads; it never writes back later.
 * A request takes effect below while it is being paid for, and is answered when it is due.
 *
 * Writes of several processes to one file may be under way at a time, as from several
 * clients (FOPEN_PARALLEL_DIRECT_WRITES); the kernel makes an exception of those that
 * lengthen the file, which follow one another.  Since libfuse 3.14 knows no such flag, opens
 * are answered in the kernel's own words.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inode.h"
#include "ops.h"

#ifndef FOPEN_PARALLEL_DIRECT_WRITES
#define FOPEN_PARALLEL_DIRECT_WRITES (1 << 6) /* Linux 6.2 */
#endif

/* The kernel's part: buffers need not be aligned, appends come with their offset, and an fsync
 * follows where a synchronous write was asked for. */
static int flags_below(int flags)
{
    return (flags & ~(O_DIRECT | O_APPEND | O_SYNC | O_DSYNC | O_NOFOLLOW)) | O_CLOEXEC;
}

/* ---- opening ---- */

/* What is cached stays so between opens until size or times change, as with NFS. */
static struct fuse_open_out open_answer(fuse_req_t req, int fd, bool cached)
{
    cached = cached && fs_of(req)->cached_reads;
    return (struct fuse_open_out){
        .fh = (uint64_t)fd,
        .open_flags = cached ? FOPEN_KEEP_CACHE : FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES,
    };
}

/* What the counters are now, to be read like any file. */
static int open_counters(fuse_req_t req)
{
    char text[1024];
    int n = model_print(fs_of(req)->model, text, sizeof(text));
    int fd = memfd_create("slowfs", MFD_CLOEXEC);

    if (fd >= 0 && write(fd, text, (size_t)n) != n) {
        close(fd);
        errno = EIO;
        return -1;
    }
    return fd;
}

static int open_below(fuse_req_t req, const struct inode *i, int flags)
{
    char path[INODE_PATH];

    if (i != inode_counters()) {
        pay_meta(req);
        return open(inode_path(i, path), flags_below(flags));
    }
    if ((flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC) {
        errno = EACCES;
        return -1;
    }
    return open_counters(req);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    const struct inode *i = inode_get(ino);
    int fd = open_below(req, i, fi->flags & ~(O_CREAT | O_EXCL));
    struct fuse_open_out out;

    if (fd < 0) {
        fuse_reply_err(req, errno);
        return;
    }
    out = open_answer(req, fd, i != inode_counters());
    if (fuse_reply_buf(req, (const char *)&out, sizeof(out)) == -ENOENT)
        close(fd); /* the open was interrupted: no release will come */
}

static struct fuse_attr attr_answer(const struct stat *st)
{
    return (struct fuse_attr){
        .ino = st->st_ino,
        .size = (uint64_t)st->st_size,
        .blocks = (uint64_t)st->st_blocks,
        .atime = (uint64_t)st->st_atim.tv_sec,
        .mtime = (uint64_t)st->st_mtim.tv_sec,
        .ctime = (uint64_t)st->st_ctim.tv_sec,
        .atimensec = (uint32_t)st->st_atim.tv_nsec,
        .mtimensec = (uint32_t)st->st_mtim.tv_nsec,
        .ctimensec = (uint32_t)st->st_ctim.tv_nsec,
        .mode = st->st_mode,
        .nlink = (uint32_t)st->st_nlink,
        .uid = st->st_uid,
        .gid = st->st_gid,
        .blksize = (uint32_t)st->st_blksize,
    };
}

static struct fuse_entry_out entry_answer(const struct fuse_entry_param *e)
{
    return (struct fuse_entry_out){
        .nodeid = e->ino,
        .entry_valid = (uint64_t)e->entry_timeout,
        .attr_valid = (uint64_t)e->attr_timeout,
        .attr = attr_answer(&e->attr),
    };
}

/* Makes and opens; whether this made it matters only for its owner. */
static int create_below(fuse_req_t req, const struct inode *dir, const char *name, int flags,
                        mode_t mode)
{
    int fd = openat(dir->fd, name, flags_below(flags) | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    int err;

    if (fd < 0 && errno == EEXIST && !(flags & O_EXCL))
        return openat(dir->fd, name, flags_below(flags) | O_NOFOLLOW);
    if (fd < 0)
        return fd;
    err = names_give(req, dir->fd, name);
    if (err) {
        close(fd);
        unlinkat(dir->fd, name, 0);
        errno = err;
        return -1;
    }
    return fd;
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
                      struct fuse_file_info *fi)
{
    struct inode *dir = inode_get(parent);
    struct {
        struct fuse_entry_out entry;
        struct fuse_open_out open;
    } out;
    struct fuse_entry_param e;
    int fd, err;

    pay_meta(req);
    fd = create_below(req, dir, name, fi->flags, mode);
    err = fd < 0 ? errno : inode_lookup(dir, name, &e);
    if (err) {
        if (fd >= 0)
            close(fd);
        fuse_reply_err(req, err);
        return;
    }
    out.entry = entry_answer(&e);
    out.open = open_answer(req, fd, true);
    if (fuse_reply_buf(req, (const char *)&out, sizeof(out)) == -ENOENT) {
        close(fd);
        inode_forget(inode_get(e.ino), 1);
    }
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    close((int)fi->fh);
    fuse_reply_err(req, 0);
}

/* ---- data ---- */

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t at,
                    struct fuse_file_info *fi)
{
    char *buf = malloc(size);
    ssize_t n;
    int err;

    if (!buf) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    n = pread((int)fi->fh, buf, size, at);
    err = errno;
    if (inode_get(ino) != inode_counters())
        model_spend(fs_of(req)->model, MODEL_READ, n < 0 ? 0 : (size_t)n);
    if (n < 0)
        fuse_reply_err(req, err);
    else
        fuse_reply_buf(req, buf, (size_t)n);
    free(buf);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t at,
                     struct fuse_file_info *fi)
{
    int64_t due = model_book(fs_of(req)->model, MODEL_WRITE, size);
    ssize_t n = pwrite((int)fi->fh, buf, size, at);
    int err = errno;

    (void)ino;
    model_wait(due);
    if (n < 0)
        fuse_reply_err(req, err);
    else
        fuse_reply_write(req, (size_t)n);
}

/* What lies below is memory or a local disk, and safe enough: waiting for the server is all. */
static void op_fsync(fuse_req_t req, fuse_ino_t ino, int data_only, struct fuse_file_info *fi)
{
    (void)ino;
    (void)data_only;
    (void)fi;
    model_spend(fs_of(req)->model, MODEL_SYNC, 0);
    fuse_reply_err(req, 0);
}

static void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t at, off_t length,
                         struct fuse_file_info *fi)
{
    int err = fallocate((int)fi->fh, mode, at, length) < 0 ? errno : 0;

    (void)ino;
    pay_meta(req);
    fuse_reply_err(req, err);
}

static void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t at, int whence,
                     struct fuse_file_info *fi)
{
    off_t found = lseek((int)fi->fh, at, whence);

    (void)ino;
    if (found < 0)
        fuse_reply_err(req, errno);
    else
        fuse_reply_lseek(req, found);
}

void data_fill(struct fuse_lowlevel_ops *ops)
{
    ops->open = op_open;
    ops->create = op_create;
    ops->release = op_release;
    ops->read = op_read;
    ops->write = op_write;
    ops->fsync = op_fsync;
    ops->fallocate = op_fallocate;
    ops->lseek = op_lseek;
}
