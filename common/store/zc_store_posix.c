/* zc_store_posix.c - files of a directory tree, or of the whole system.
 *
 * Levels: after a write the data is in the file and other programs see it, so STORED asks
 * for nothing more; DURABLE is fdatasync().
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "zc_cred.h"
#include "zc_log.h"
#include "zc_store_posix_internal.h"

/* ---- names ---- */

void zc_posix_attr(const struct stat *st, struct zc_attr *a)
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

/* Not all file systems know. */
int64_t zc_posix_born(int fd)
{
    struct statx sx;

    if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &sx) < 0 || !(sx.stx_mask & STATX_BTIME))
        return 0;
    return (int64_t)sx.stx_btime.tv_sec * 1000000000 + sx.stx_btime.tv_nsec;
}

/* One of the local file systems whose ways are known here. */
static bool is_known(int fd)
{
    struct statfs fs;

    return fstatfs(fd, &fs) == 0 &&
           (fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC ||
            fs.f_type == BTRFS_SUPER_MAGIC || fs.f_type == TMPFS_MAGIC);
}

/* Since Linux 6.13 these give a change a time of its own when somebody has asked for the times
 * since the one before. */
bool zc_posix_exact(int fd)
{
    unsigned major, minor;
    struct utsname u;

    if (uname(&u) < 0 || sscanf(u.release, "%u.%u", &major, &minor) != 2 || major < 6 ||
        (major == 6 && minor < 13))
        return false;
    return is_known(fd);
}

/* A write through the page cache has the inode's lock (i_rwsem) to itself there. */
bool zc_posix_turns(int fd)
{
    return is_known(fd);
}

/* ---- calls by name, as whom the thread works for; who asks first is ourselves ---- */

static int posix_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                      struct zc_sfile **out, struct zc_attr *attr)
{
    int rc;

    *out = NULL;
    posix_ask(s);
    rc = zc_cred_enter();
    if (rc < 0)
        return rc;
    rc = zc_posix_open(s, path, flags, mode, out, attr);
    zc_cred_leave();
    return rc;
}

static int unlink_it(struct zc_store *s, const char *path)
{
    const struct posix_store *ps = posix_store(s);
    const char *base;
    int fd = zc_posix_open_parent(ps, path, &base), rc = 0;

    if (fd < 0)
        return zc_posix_path_error(ps, errno, "unlink", path);
    if (unlinkat(fd, base, 0) < 0)
        rc = zc_posix_explain(errno, "unlink", path);
    close(fd);
    return rc;
}

static int posix_unlink(struct zc_store *s, const char *path)
{
    int rc;

    posix_ask(s);
    rc = zc_cred_enter();
    if (rc < 0)
        return rc;
    rc = unlink_it(s, path);
    zc_cred_leave();
    return rc;
}

/* What an unlink of the name would take away is not the file. */
static bool is_link(const struct posix_store *ps, const char *path)
{
    const char *base;
    int fd = zc_posix_open_parent(ps, path, &base), rc;
    struct stat st;

    if (fd < 0)
        return true;
    rc = fstatat(fd, base, &st, AT_SYMLINK_NOFOLLOW);
    close(fd);
    return rc < 0 || S_ISLNK(st.st_mode);
}

static int stat_it(struct zc_store *s, const char *path, struct zc_attr *attr)
{
    const struct posix_store *ps = posix_store(s);
    int fd = zc_posix_open_path(ps, path, O_PATH, 0), rc = 0;
    struct stat st;

    if (fd < 0)
        return zc_posix_path_error(ps, errno, "stat", path);
    if (fstat(fd, &st) < 0)
        rc = zc_posix_explain(errno, "stat", path);
    else
        zc_posix_attr(&st, attr);
    if (rc == 0)
        attr->born_ns = zc_posix_born(fd);
    if (rc == 0)
        attr->link = is_link(ps, path);
    close(fd);
    return rc;
}

static int posix_stat(struct zc_store *s, const char *path, struct zc_attr *attr)
{
    int rc = zc_cred_enter();

    if (rc < 0)
        return rc;
    rc = stat_it(s, path, attr);
    zc_cred_leave();
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
    .close = zc_posix_close,
    .preadv = zc_posix_preadv,
    .pwritev = zc_posix_pwritev,
    .write_ranges = zc_posix_write_ranges,
    .getattr = zc_posix_getattr,
    .truncate = zc_posix_truncate,
    .allocate = zc_posix_allocate,
    .sync = zc_posix_sync,
    .meet = zc_posix_meet,
    .part = zc_posix_part,
    .unlink = posix_unlink,
    .stat = posix_stat,
    .destroy = posix_destroy,
};

static int open_root(struct posix_store *ps, const char *root)
{
    size_t len = strlen(root);
    int fd;

    if (root[0] != '/')
        return zc_errorf(EINVAL, "root %s: must be an absolute path", root);
    while (len > 0 && root[len - 1] == '/')
        len--; /* "/" becomes "" */
    ps->given = strndup(root, len);
    ps->resolved = realpath(root, NULL);
    if (!ps->given)
        return zc_errorf(ENOMEM, "root %s: out of memory", root);
    if (!ps->resolved)
        return zc_posix_explain(errno, "root", root);
    if (strcmp(ps->resolved, "/") == 0)
        ps->resolved[0] = '\0';
    ps->root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (ps->root_fd < 0)
        return zc_posix_explain(errno, "root", root);
    fd = zc_posix_open_path(ps, root, O_PATH | O_DIRECTORY, 0); /* as every file will be */
    if (fd < 0)
        return zc_posix_path_error(ps, errno, "root", root);
    close(fd);
    return 0;
}

void zc_store_posix_ask_first(struct zc_store *s, void (*fn)(void *arg), void *arg)
{
    struct posix_store *ps = posix_store(s);

    ps->ask = fn;
    ps->ask_arg = arg;
}

void zc_store_posix_direct(struct zc_store *s)
{
    posix_store(s)->direct = true;
}

int zc_store_posix_create(const char *root, struct zc_store **out)
{
    struct posix_store *ps = calloc(1, sizeof(*ps));
    int rc;

    *out = NULL;
    if (!ps)
        return zc_errorf(ENOMEM, "posix store: out of memory");
    ps->store.ops = &posix_ops;
    ps->store.names_bytes = true;
    ps->root_fd = -1;
    rc = root ? open_root(ps, root) : 0;
    if (rc < 0) {
        posix_destroy(&ps->store);
        return rc;
    }
    *out = &ps->store;
    return 0;
}
