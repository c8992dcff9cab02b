/* iod_path.c - absolute paths. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "iod_path.h"
#include "zc_log.h"

int iod_path_absolute(char **path)
{
    const char *rest = *path;
    char *cwd, *full = NULL;

    if (*rest == '/')
        return 0;
    while (rest[0] == '.' && rest[1] == '/')
        rest += 2;
    if (strcmp(rest, ".") == 0)
        rest = "";
    cwd = get_current_dir_name(); /* $PWD when that is right, so links stay */
    if (!cwd)
        return zc_errorf(errno, "%s: the current directory has no name: %s", *path,
                         strerror(errno));
    if (asprintf(&full, "%s%s%s", strcmp(cwd, "/") ? cwd : "",
                 *rest || !strcmp(cwd, "/") ? "/" : "", rest) < 0)
        full = NULL;
    free(cwd);
    if (!full)
        return zc_errorf(ENOMEM, "%s: out of memory", *path);
    free(*path);
    *path = full;
    return 0;
}

int iod_path_dirname(const char *path, char *buf, size_t len)
{
    const char *slash = strrchr(path, '/');
    int n = slash ? (int)(slash - path) : 0;

    if (snprintf(buf, len, "%.*s", n ? n : 1, n ? path : "/") >= (int)len)
        return zc_errorf(ENAMETOOLONG, "%.100s...: name too long", path);
    return 0;
}
