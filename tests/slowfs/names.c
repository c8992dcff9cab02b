/* names.c - names, attributes, directories.
 *
 * The kernel checks permissions (default_permissions), so what arrives here is allowed.
 * Changes, opens of directories and renames cost a metadata round trip; lookups and attributes
 * cost nothing, because clients of network file systems have them cached.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "inode.h"
#include "ops.h"

/* ---- names ---- */

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct fuse_entry_param e;
    int err = inode_lookup(inode_get(parent), name, &e);

    if (err)
        fuse_reply_err(req, err);
    else
        fuse_reply_entry(req, &e);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups)
{
    inode_forget(inode_get(ino), lookups);
    fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
    for (size_t i = 0; i < count; i++)
        inode_forget(inode_get(forgets[i].ino), forgets[i].nlookup);
    fuse_reply_none(req);
}

int names_give(fuse_req_t req, int dir_fd, const char *name)
{
    const struct fuse_ctx *caller = fuse_req_ctx(req);
    struct stat dir;
    gid_t gid = caller->gid;

    if (!fs_of(req)->as_root)
        return 0;
    if (fstatat(dir_fd, "", &dir, AT_EMPTY_PATH) < 0)
        return errno;
    if (dir.st_mode & S_ISGID)
        gid = (gid_t)-1;
    return fchownat(dir_fd, name, caller->uid, gid, AT_SYMLINK_NOFOLLOW) < 0 ? errno : 0;
}

/* Answers with the new entry; `rc` is that of the call which made it. */
static void reply_made(fuse_req_t req, fuse_ino_t parent, const char *name, int rc)
{
    struct inode *dir = inode_get(parent);
    int err = rc < 0 ? errno : 0;

    if (!err)
        err = names_give(req, dir->fd, name);
    pay_meta(req);
    if (err)
        fuse_reply_err(req, err);
    else
        op_lookup(req, parent, name);
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev)
{
    reply_made(req, parent, name, mknodat(inode_get(parent)->fd, name, mode, dev));
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    reply_made(req, parent, name, mkdirat(inode_get(parent)->fd, name, mode));
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
    reply_made(req, parent, name, symlinkat(target, inode_get(parent)->fd, name));
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
    char path[INODE_PATH];
    int rc = linkat(AT_FDCWD, inode_path(inode_get(ino), path), inode_get(parent)->fd, name,
                    AT_SYMLINK_FOLLOW);
    int err = errno;

    pay_meta(req);
    if (rc < 0)
        fuse_reply_err(req, err);
    else
        op_lookup(req, parent, name);
}

static void reply_status(fuse_req_t req, int rc)
{
    int err = rc < 0 ? errno : 0;

    pay_meta(req);
    fuse_reply_err(req, err);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    reply_status(req, unlinkat(inode_get(parent)->fd, name, 0));
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    reply_status(req, unlinkat(inode_get(parent)->fd, name, AT_REMOVEDIR));
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
                      const char *new_name, unsigned flags)
{
    reply_status(
        req, renameat2(inode_get(parent)->fd, name, inode_get(new_parent)->fd, new_name, flags));
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(inode_get(ino)->fd, "", target, sizeof(target));

    if (n < 0)
        fuse_reply_err(req, errno);
    else if (n == sizeof(target))
        fuse_reply_err(req, ENAMETOOLONG);
    else {
        target[n] = '\0';
        fuse_reply_readlink(req, target);
    }
}

/* ---- attributes ---- */

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct stat st;

    (void)fi;
    if (fstatat(inode_get(ino)->fd, "", &st, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0)
        fuse_reply_err(req, errno);
    else
        fuse_reply_attr(req, &st, 1.0);
}

static int set_owner(const struct inode *i, const struct stat *attr, int what)
{
    return fchownat(i->fd, "", what & FUSE_SET_ATTR_UID ? attr->st_uid : (uid_t)-1,
                    what & FUSE_SET_ATTR_GID ? attr->st_gid : (gid_t)-1,
                    AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
}

static struct timespec time_to_set(struct timespec given, int set, int now)
{
    if (now)
        return (struct timespec){.tv_nsec = UTIME_NOW};
    if (!set)
        return (struct timespec){.tv_nsec = UTIME_OMIT};
    return given;
}

static int set_times(const struct inode *i, const struct stat *attr, int what)
{
    struct timespec times[2] = {
        time_to_set(attr->st_atim, what & FUSE_SET_ATTR_ATIME, what & FUSE_SET_ATTR_ATIME_NOW),
        time_to_set(attr->st_mtim, what & FUSE_SET_ATTR_MTIME, what & FUSE_SET_ATTR_MTIME_NOW),
    };

    return utimensat(i->fd, "", times, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
}

/* An open file can be truncated whatever its permissions are now. */
static int set_size(const struct inode *i, const struct stat *attr, struct fuse_file_info *fi)
{
    char path[INODE_PATH];

    if (fi)
        return ftruncate((int)fi->fh, attr->st_size);
    return truncate(inode_path(i, path), attr->st_size);
}

static int set_attributes(const struct inode *i, const struct stat *attr, int what,
                          struct fuse_file_info *fi)
{
    const int times = FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_ATIME_NOW |
                      FUSE_SET_ATTR_MTIME_NOW;
    char path[INODE_PATH];

    if (what & FUSE_SET_ATTR_MODE && chmod(inode_path(i, path), attr->st_mode) < 0)
        return errno;
    if (what & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID) && set_owner(i, attr, what) < 0)
        return errno;
    if (what & FUSE_SET_ATTR_SIZE && set_size(i, attr, fi) < 0)
        return errno;
    if (what & times && set_times(i, attr, what) < 0)
        return errno;
    return 0;
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int what,
                       struct fuse_file_info *fi)
{
    struct inode *i = inode_get(ino);
    int err = i == inode_counters() ? EPERM : set_attributes(i, attr, what, fi);

    pay_meta(req);
    if (err)
        fuse_reply_err(req, err);
    else
        op_getattr(req, ino, fi);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
    struct statvfs st;

    if (fstatvfs(inode_get(ino)->fd, &st) < 0)
        fuse_reply_err(req, errno);
    else
        fuse_reply_statfs(req, &st);
}

/* ---- directories ---- */

/* An open directory, and where in it the next entry will come from. */
struct dir {
    DIR *stream;
    off_t at;
};

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct dir *d = calloc(1, sizeof(*d));
    int fd, err;

    pay_meta(req);
    if (!d) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    fd = openat(inode_get(ino)->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    d->stream = fd < 0 ? NULL : fdopendir(fd);
    if (!d->stream) {
        err = errno;
        if (fd >= 0)
            close(fd);
        free(d);
        fuse_reply_err(req, err);
        return;
    }
    fi->fh = (uintptr_t)d;
    fuse_reply_open(req, fi);
}

/* As many entries as fit; an errno only when there is none to give. */
static int read_entries(fuse_req_t req, struct dir *d, char *buf, size_t size, size_t *used)
{
    *used = 0;
    for (;;) {
        struct dirent *e;
        struct stat st = {0};
        size_t n;

        errno = 0;
        e = readdir(d->stream);
        if (!e)
            return *used > 0 ? 0 : errno;
        st.st_ino = e->d_ino;
        st.st_mode = (mode_t)e->d_type << 12;
        n = fuse_add_direntry(req, buf + *used, size - *used, e->d_name, &st, e->d_off);
        if (n > size - *used) {
            seekdir(d->stream, d->at);
            return 0;
        }
        *used += n;
        d->at = e->d_off;
    }
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t at,
                       struct fuse_file_info *fi)
{
    struct dir *d = (struct dir *)(uintptr_t)fi->fh;
    char *buf = malloc(size);
    size_t used;
    int err;

    (void)ino;
    if (!buf) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    if (at == 0)
        rewinddir(d->stream);
    else if (at != d->at)
        seekdir(d->stream, at);
    d->at = at;
    err = read_entries(req, d, buf, size, &used);
    if (err)
        fuse_reply_err(req, err);
    else
        fuse_reply_buf(req, buf, used);
    free(buf);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct dir *d = (struct dir *)(uintptr_t)fi->fh;

    (void)ino;
    closedir(d->stream);
    free(d);
    fuse_reply_err(req, 0);
}

static void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int data_only, struct fuse_file_info *fi)
{
    (void)ino;
    (void)data_only;
    (void)fi;
    reply_status(req, 0);
}

void names_fill(struct fuse_lowlevel_ops *ops)
{
    ops->lookup = op_lookup;
    ops->forget = op_forget;
    ops->forget_multi = op_forget_multi;
    ops->mknod = op_mknod;
    ops->mkdir = op_mkdir;
    ops->symlink = op_symlink;
    ops->link = op_link;
    ops->unlink = op_unlink;
    ops->rmdir = op_rmdir;
    ops->rename = op_rename;
    ops->readlink = op_readlink;
    ops->getattr = op_getattr;
    ops->setattr = op_setattr;
    ops->statfs = op_statfs;
    ops->opendir = op_opendir;
    ops->readdir = op_readdir;
    ops->releasedir = op_releasedir;
    ops->fsyncdir = op_fsyncdir;
}
