/* zc_store_posix_path.c - names of files, and what keeps them below the root.
 *
 * With a root, every path is resolved by openat2(RESOLVE_BENEATH): however the tree changes
 * meanwhile, the kernel never lets a name leave it.  That refuses an absolute symbolic link inside
 * the tree; if it leads back into the tree, the path it resolves to is opened instead, again
 * beneath the root.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_realpath.h"
#include "zc_store_posix_internal.h"

enum { AT_ONCE = 64, PATIENCE_MS = 3000 }; /* immediate tries; limit for retries */

/* ---- explaining ---- */

const char *zc_posix_remedy(int err)
{
    switch (err) {
    case EACCES:
    case EPERM:
        return "; check the permissions of the file and of the directories above it";
    case ENOENT:
        return "; check the path";
    case ENOSPC:
    case EDQUOT:
        return "; free space or raise the quota";
    case EROFS:
        return "; open it for reading only, or mount the file system for writing";
    case ENOSYS:
        return "; confinement needs Linux 5.6 and a container that allows openat2";
    case EAGAIN:
        return "; another program has a lease on it, and does not let go";
    case EMFILE:
    case ENFILE:
        return "; raise the limit on open files (ulimit -n)";
    default:
        return "";
    }
}

/* Returns the first missing directory of `path`, NULL if only the file is missing; the caller frees
 * it. */
static char *missing_directory(const char *path)
{
    char *dir = strdup(path);
    struct stat st;

    for (char *end = dir && *dir ? strchr(dir + 1, '/') : NULL; end; end = strchr(end + 1, '/')) {
        *end = '\0';
        if (stat(dir, &st) < 0) {
            if (errno == ENOENT)
                return dir;
            break;
        }
        *end = '/';
    }
    free(dir);
    return NULL;
}

static int explain_missing(const char *what, const char *path)
{
    char *dir = missing_directory(path);
    const char *tilde = dir && strrchr(dir, '/') ? strrchr(dir, '/') : "";
    int rc;

    if (dir)
        rc = zc_errorf(
            ENOENT, "%s %s: %s; there is no directory %s%s", what, path, strerror(ENOENT), dir,
            tilde[0] && tilde[1] == '~' ? ": no shell replaces ~ here, write $HOME" : "");
    else
        rc = zc_errorf(ENOENT, "%s %s: %s; check the path%s", what, path, strerror(ENOENT),
                       strcmp(what, "open") == 0 ? ", or open with create" : "");
    free(dir);
    return rc;
}

int zc_posix_explain(int err, const char *what, const char *path)
{
    if (err == ENOENT)
        return explain_missing(what, path);
    return zc_errorf(err, "%s %s: %s%s", what, path, strerror(err), zc_posix_remedy(err));
}

static int outside(const struct posix_store *ps, const char *path)
{
    return zc_errorf(EACCES,
                     "path %s leads outside the root %s; only files below it are served: start the "
                     "daemon with another --root",
                     path, ps->given);
}

/* MPI_ERR_IO is the class that ROMIO gives to objects without offsets. */
int zc_posix_not_regular(const char *what, const char *path, const char *is)
{
    return zc_errorf(ESPIPE, "%s %s: it is %s; only regular files of file systems are served", what,
                     path, is);
}

int zc_posix_path_error(const struct posix_store *ps, int err, const char *what, const char *path)
{
    if (err == ESPIPE)
        return zc_posix_not_regular(what, path, "an open descriptor");
    return err == EXDEV && ps->root_fd >= 0 ? outside(ps, path) : zc_posix_explain(err, what, path);
}

/* ---- paths ---- */

/* Returns the part of `path` below the directory `dir`; NULL: it is not below it. */
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

/* Whether openat2() itself is refused: filters of containers return EPERM or ENOSYS, but EPERM is
 * also returned for immutable files. */
static bool refuses_openat2(void)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC};
    int fd = zc_fd((int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof how));

    if (fd < 0)
        return errno == EPERM;
    close(fd);
    return false;
}

/* Opens `rel` beneath the root; returns a descriptor, or -1 with errno. */
static int open_beneath(const struct posix_store *ps, const char *rel, int flags, mode_t mode)
{
    struct open_how how = {
        .flags = (uint64_t)(flags | O_CLOEXEC),
        .mode = flags & O_CREAT ? mode & 07777 : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    uint64_t until = zc_now() + PATIENCE_MS * ZC_NS_PER_MS;
    int fd;

    for (unsigned tries = 0;; tries++) {
        fd = zc_fd((int)syscall(SYS_openat2, ps->root_fd, rel, &how, sizeof(how)));
        if (fd < 0 && errno == EPERM)
            errno = refuses_openat2() ? ENOSYS : EPERM;
        if (fd >= 0 || (errno != EINTR && errno != EAGAIN))
            return fd;
        /* EAGAIN: a concurrent rename, or a lease on the file */
        if (errno == EAGAIN && tries >= AT_ONCE) {
            if (zc_now() > until)
                return -1;
            zc_clock_sleep(ZC_NS_PER_MS);
        }
    }
}

/* Whether a symbolic link on the way leads to an open descriptor (/proc/self/fd/1), not to a
 * name. */
static bool leads_to_descriptor(const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
    int without = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how), with = -1;

    if (without < 0 && errno == ELOOP)
        with = zc_fd(open(path, O_PATH | O_CLOEXEC));
    if (without >= 0)
        close(without);
    if (with >= 0)
        close(with);
    return with >= 0;
}

int zc_posix_open_path(const struct posix_store *ps, const char *path, int flags, mode_t mode)
{
    const char *rel;
    char *real;
    int fd, err;

    if (ps->root_fd < 0) {
        do {
            fd = zc_fd(open(path, flags | O_CLOEXEC, mode));
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
    real = zc_realpath(path);
    rel = real ? below_dir(real, ps->resolved) : NULL;
    err = EXDEV;
    if (rel && leads_to_descriptor(path)) {
        err = ESPIPE;
    } else if (rel) {
        fd = open_beneath(ps, rel, flags, mode);
        err = errno;
    }
    free(real);
    errno = err;
    return fd;
}

int zc_posix_open_parent(const struct posix_store *ps, const char *path, const char **base)
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
    fd = zc_posix_open_path(ps, dir, O_PATH | O_DIRECTORY, 0);
    err = errno;
    free(dir);
    errno = err;
    return fd;
}
