/* zc_store_posix.c - files of a directory tree, or of the whole system.
 *
 * Levels: written bytes are in the file and visible to other programs, so STORED needs nothing
 * more; DURABLE is fdatasync().
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "zc_cred.h"
#include "zc_fd.h"
#include "zc_log.h"
#include "zc_root_record.h"
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

/* Returns the birth time; 0: not recorded by the file system. */
int64_t zc_posix_born(int fd)
{
    struct statx sx;

    if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &sx) < 0 || !(sx.stx_mask & STATX_BTIME))
        return 0;
    return (int64_t)sx.stx_btime.tv_sec * 1000000000 + sx.stx_btime.tv_nsec;
}

bool zc_posix_is_known(uint32_t magic)
{
    return magic == EXT4_SUPER_MAGIC || magic == XFS_SUPER_MAGIC || magic == BTRFS_SUPER_MAGIC ||
           magic == TMPFS_MAGIC;
}

static bool exact_kernel;

static void ask_kernel(void)
{
    unsigned major, minor;
    struct utsname u;

    exact_kernel = uname(&u) == 0 && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
                   (major > 6 || (major == 6 && minor >= 13));
}

/* Whether times are exact: since Linux 6.13 these file systems give a change a fine-grained time if
 * the times were read since the change before. */
bool zc_posix_exact(uint32_t magic)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, ask_kernel);
    return exact_kernel && zc_posix_is_known(magic);
}

/* ---- calls by name, as the thread's user; those that ask first are made as the process ---- */

static int posix_open(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                      struct zc_sfile **out, struct zc_attr *attr)
{
    struct posix_store *ps = posix_store(s);
    uint64_t mark = attr->mark ? attr->mark : attr->set.id ? attr->set.id : ps->who;
    int rc;

    *out = NULL;
    posix_ask(s);
    rc = zc_cred_enter();
    if (rc < 0)
        return rc;
    rc = zc_posix_open(s, path, flags, mode, out, attr);
    zc_cred_leave();
    if (rc < 0 || !(flags & ZC_OPEN_WRITE) || ps->unmarked)
        return rc;
    rc = zc_root_mark(posix_file(*out)->fd, path, mark);
    attr->mark = mark;
    if (rc < 0) {
        zc_posix_close(*out, ZC_LEVEL_VISIBLE);
        *out = NULL;
    }
    return rc;
}

int zc_store_posix_mark(struct zc_sfile *f)
{
    return zc_root_mark(posix_file(f)->fd, posix_file(f)->path, 0);
}

int zc_store_posix_check_seat(struct zc_sfile *f, uint64_t seat, uint64_t boot_id)
{
    return zc_root_seat_check(posix_file(f)->fd, posix_file(f)->path, seat, boot_id);
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

/* Whether unlinking the name would remove a symbolic link, not the file. */
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
    zc_lock_destroy(&ps->lock);
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
    .descriptor = zc_posix_descriptor,
    .write_ranges = zc_posix_write_ranges,
    .getattr = zc_posix_getattr,
    .truncate = zc_posix_truncate,
    .allocate = zc_posix_allocate,
    .sync = zc_posix_sync,
    .rendezvous = zc_posix_rendezvous,
    .withdraw = zc_posix_withdraw,
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
    ps->root_fd = zc_fd(open(root, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (ps->root_fd < 0)
        return zc_posix_explain(errno, "root", root);
    fd = zc_posix_open_path(ps, root, O_PATH | O_DIRECTORY, 0); /* as every file will be opened */
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

void zc_store_posix_mark_as(struct zc_store *s, uint64_t who)
{
    posix_store(s)->who = who;
}

void zc_store_posix_mark_later(struct zc_store *s)
{
    posix_store(s)->unmarked = true;
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
    zc_lock_init(&ps->lock, ZC_ORDER_STORE);
    zc_list_init(&ps->untrusted);
    rc = root ? open_root(ps, root) : 0;
    if (rc < 0) {
        posix_destroy(&ps->store);
        return rc;
    }
    *out = &ps->store;
    return 0;
}
