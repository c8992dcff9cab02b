/* zc_paths.c - which files a list of directories selects. */
#include "config.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_log.h"
#include "zc_paths.h"

enum { LINKS_MAX = 40 }; /* symbolic links in a row, as in the kernel */

/* ---- names --------------------------------------------------------------------- */

/* Joins `dir` and `base` with a slash; false: too long. `out` may be neither. */
static bool join(char out[PATH_MAX], const char *dir, const char *base)
{
    size_t n = strlen(dir), m = strlen(base);
    bool slash = n == 0 || dir[n - 1] != '/';

    if (n + slash + m >= PATH_MAX)
        return false;
    memcpy(out, dir, n); // NOLINT(bugprone-not-null-terminated-result): the end follows
    if (slash)
        out[n] = '/';
    memcpy(out + n + slash, base, m + 1);
    return true;
}

/* Splits `name` into the directory and the last component, which is not empty. */
static bool split(const char *name, char dir[PATH_MAX], char base[PATH_MAX])
{
    size_t n = strlen(name), end, begin;

    for (end = n; end > 1 && name[end - 1] == '/'; end--)
        ;
    for (begin = end; begin > 0 && name[begin - 1] != '/'; begin--)
        ;
    if (end == begin || end - begin >= PATH_MAX || begin >= PATH_MAX)
        return false;
    memcpy(base, name + begin, end - begin);
    base[end - begin] = '\0';
    memcpy(dir, begin ? name : ".", begin ? begin : 1);
    dir[begin ? begin : 1] = '\0';
    return true;
}

/* Finds where a file that does not exist would be made; follows a last link with no target. */
static bool resolve_new(const char *name, char real[PATH_MAX])
{
    char at[PATH_MAX], dir[PATH_MAX], base[PATH_MAX];

    if (strlen(name) >= PATH_MAX)
        return false;
    strcpy(at, name);
    for (int links = 0; links < LINKS_MAX; links++) {
        char target[PATH_MAX];
        ssize_t n;

        if (!split(at, dir, base) || !realpath(dir, at) || !join(real, at, base))
            return false;
        n = readlink(real, target, sizeof target - 1);
        if (n < 0)
            return true;
        target[n] = '\0';
        strcpy(dir, at);
        if (target[0] == '/')
            strcpy(at, target);
        else if (!join(at, dir, target))
            return false;
    }
    return false;
}

static bool resolve(const char *name, char real[PATH_MAX])
{
    if (realpath(name, real))
        return true;
    return errno == ENOENT && resolve_new(name, real);
}

/* ---- paths of the list ------------------------------------------------------------ */

/* Returns how much of the path comes before the component with its first pattern. */
static size_t plain_part(const char *path, size_t len)
{
    size_t component = 0;

    for (size_t i = 0; i < len; i++) {
        if (path[i] == '/')
            component = i;
        if (strchr("*?[\\", path[i]))
            return component;
    }
    return len;
}

/* Returns the part of `real` below the directory `dir`, without a slash before it; NULL: it is
 * elsewhere. */
static const char *below(const char *real, const char *dir)
{
    size_t n = strlen(dir);

    while (n && dir[n - 1] == '/')
        n--;
    if (strncmp(real, dir, n) != 0 || (real[n] && real[n] != '/'))
        return NULL;
    return real + n + strspn(real + n, "/");
}

/* Tells whether the first components of `rest`, as many as `pattern` has, match it. */
static bool begins_with(const char *rest, const char *pattern)
{
    char first[PATH_MAX];
    size_t n = 0;

    for (const char *p = pattern; p; p = strchr(p, '/')) {
        p += *p == '/';
        n += rest[n] == '/';
        n += strcspn(rest + n, "/");
    }
    memcpy(first, rest, n);
    first[n] = '\0';
    return fnmatch(pattern, first, FNM_PATHNAME) == 0;
}

/* Does this for one path of the list, of `len` bytes without slashes at its end. */
static bool selects(const char *path, size_t len, const char *real)
{
    char plain[PATH_MAX], dir[PATH_MAX], pattern[PATH_MAX];
    size_t n = plain_part(path, len);
    const char *rest;

    if (len >= PATH_MAX)
        return false;
    memcpy(plain, path, n);
    plain[n] = '\0';
    memcpy(pattern, path + n, len - n);
    pattern[len - n] = '\0';
    if (!realpath(n ? plain : "/", dir))
        return false;
    rest = below(real, dir);
    if (!rest)
        return false;
    return n == len || begins_with(rest, pattern + strspn(pattern, "/"));
}

int zc_paths_select(const char *list, const char *name)
{
    char real[PATH_MAX];
    bool resolved = name && *name && resolve(name, real);
    int found = 0;

    for (const char *path = list, *end; *path; path = end + (*end == ':')) {
        size_t len;

        end = strchr(path, ':');
        if (!end)
            end = path + strlen(path);
        if (end == path)
            continue;
        if (*path != '/')
            return zc_errorf(EINVAL, "\"%.*s\" is no absolute path", (int)(end - path), path);
        for (len = (size_t)(end - path); len > 1 && path[len - 1] == '/'; len--)
            ;
        found |= resolved && selects(path, len, real);
    }
    return found;
}
