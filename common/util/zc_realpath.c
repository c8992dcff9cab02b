/* zc_realpath.c - names without symbolic links. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_realpath.h"

char *zc_realpath_of_parent(const char *path)
{
    char *dir = strdup(path), *real, *slash, *out = NULL;

    if (!dir)
        return NULL;
    slash = strrchr(dir, '/');
    if (slash && slash != dir && slash[1] != '\0' && strcmp(slash, "/..") != 0) {
        *slash = '\0';
        real = realpath(dir, NULL);
        if (real && asprintf(&out, "%s/%s", strcmp(real, "/") ? real : "", slash + 1) < 0)
            out = NULL;
        free(real);
    } else {
        errno = ENOENT;
    }
    free(dir);
    return out;
}

char *zc_realpath(const char *path)
{
    char *real = realpath(path, NULL);

    return real || errno != ENOENT ? real : zc_realpath_of_parent(path);
}
