/*
 * The file that a report goes to.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json_file.h"

/* ---- writing --------------------------------------------------------------------------------- */

/* Names of open files among them: another file must not take their names. */
static bool in_place(const char *name, const struct stat *sb)
{
    return !S_ISREG(sb->st_mode) || strncmp(name, "/dev/std", 8) == 0 ||
           strncmp(name, "/dev/fd/", 8) == 0;
}

/* Returns an open file beside `target`, with the permissions that `target` has or would get, or
 * NULL with errno. *name is for free(). */
static FILE *open_beside(const char *target, const struct stat *old, char **name)
{
    mode_t mask = umask(0);
    umask(mask);
    mode_t mode = old != NULL ? old->st_mode & 0777 : 0666 & ~mask;
    if (asprintf(name, "%s.XXXXXX", target) < 0) {
        *name = NULL;
        errno = ENOMEM;
        return NULL;
    }
    int fd = mkstemp(*name);
    FILE *f = fd >= 0 && fchmod(fd, mode) == 0 ? fdopen(fd, "w") : NULL;
    if (f == NULL && fd >= 0) {
        int error = errno;
        close(fd);
        unlink(*name);
        errno = error;
    }
    return f;
}

static int dump(FILE *f, const json_t *root)
{
    int rc = 0;
    errno = 0;
    if (json_dumpf(root, f, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) != 0 || fputc('\n', f) == EOF)
        rc = errno != 0 ? -errno : -EIO;
    if (fclose(f) != 0 && rc == 0)
        rc = -errno;
    return rc;
}

/* With NULL, whether it could be. */
static int write_beside(const char *target, const struct stat *old, const json_t *root)
{
    char *name;
    FILE *f = open_beside(target, old, &name);
    int rc = f == NULL ? -errno : 0;
    if (f != NULL && root == NULL)
        fclose(f);
    else if (f != NULL)
        rc = dump(f, root);
    if (f != NULL && rc == 0 && root != NULL && rename(name, target) != 0)
        rc = -errno;
    if (f != NULL && (rc != 0 || root == NULL))
        unlink(name);
    free(name);
    return rc;
}

/* With NULL nothing is done: that it may be written is known. */
static int write_in_place(const char *name, const json_t *root)
{
    if (root == NULL)
        return 0;
    FILE *f = fopen(name, "w");
    return f != NULL ? dump(f, root) : -errno;
}

static int write_to(const char *name, const json_t *root)
{
    struct stat sb;
    bool there = stat(name, &sb) == 0;
    if (there && S_ISDIR(sb.st_mode))
        return -EISDIR;
    if (there && access(name, W_OK) != 0)
        return -errno;
    if (there && in_place(name, &sb))
        return write_in_place(name, root);
    /* A symbolic link stays one. */
    char *target = there ? realpath(name, NULL) : strdup(name);
    int rc = target != NULL ? write_beside(target, there ? &sb : NULL, root) : -errno;
    free(target);
    /* Where its directory does not let it be replaced, as /tmp does not let files of others. */
    if (there && (rc == -EACCES || rc == -EPERM))
        rc = write_in_place(name, root);
    return rc;
}

int json_file_test(const char *name)
{
    return write_to(name, NULL);
}

int json_file_write(const char *name, const json_t *root)
{
    return root != NULL ? write_to(name, root) : -EINVAL;
}

/* ---- the data -------------------------------------------------------------------------------- */

/* The path without links; what is not there is named by its directory. For free(); NULL where there
 * is not even that. */
static char *resolve(const char *path)
{
    char *whole = realpath(path, NULL), *dir = NULL;
    if (whole != NULL)
        return whole;
    const char *slash = strrchr(path, '/');
    char *parent = slash != NULL ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (parent != NULL)
        dir = realpath(parent, NULL);
    if (dir == NULL || asprintf(&whole, "%s/%s", dir, slash != NULL ? slash + 1 : path) < 0)
        whole = NULL;
    free(parent);
    free(dir);
    return whole;
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    if (stat(a, &x) == 0 && stat(b, &y) == 0)
        return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    char *p = resolve(a), *q = resolve(b);
    bool same = p != NULL && q != NULL && strcmp(p, q) == 0;
    free(p);
    free(q);
    return same;
}

bool json_file_is(const char *name, const char *data, bool numbered)
{
    const char *path = data + strspn(data, "abcdefghijklmnopqrstuvwxyz0123456789");
    if (*path == ':' && path != data && json_file_is(name, path + 1, numbered))
        return true;
    const char *dot = strrchr(name, '.');
    if (!numbered)
        return same_file(name, data);
    if (dot == NULL || dot[1] == '\0' || dot[1 + strspn(dot + 1, "0123456789")] != '\0')
        return false;
    char *one = NULL;
    bool same = asprintf(&one, "%s%s", data, dot) >= 0 && same_file(name, one);
    free(one);
    return same;
}
