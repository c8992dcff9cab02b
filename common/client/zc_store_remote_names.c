/* zc_store_remote_names.c - a file under another name of it.
 *
 * A daemon serves names that begin with its root, as it was given or as it resolves.  A name that
 * reaches the root by a symbolic link elsewhere is none of these, but this process may see where
 * it leads: what was refused is asked for once more by that name.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_realpath.h"
#include "zc_store_remote_internal.h"

/* What `path` is called without links, when it was refused and that is another name; or NULL.  The
 * caller frees it. */
static char *another_name(const char *path, int rc, char *(*resolve)(const char *))
{
    char *real = rc == -EACCES ? resolve(path) : NULL;

    if (real && strcmp(real, path) != 0)
        return real;
    free(real);
    return NULL;
}

/* Returns the result of trying both names; `first`: why the first one was refused. */
static int outcome(int rc, const struct zc_error *first)
{
    return rc == -EACCES ? zc_error_raise(first) : rc;
}

int zc_remote_open_named(struct zc_store *s, const char *path, unsigned flags, mode_t mode,
                         struct zc_sfile **out, struct zc_attr *attr)
{
    struct zc_attr wish = *attr;
    int rc = zc_remote_open(s, path, flags, mode, out, attr);
    char *real = another_name(path, rc, zc_realpath);
    struct zc_error e;

    if (!real)
        return rc;
    zc_error_keep(&e, rc);
    *attr = wish;
    rc = outcome(zc_remote_open(s, real, flags, mode, out, attr), &e);
    free(real);
    return rc;
}

int zc_remote_stat_named(struct zc_store *s, const char *path, struct zc_attr *attr)
{
    int rc = zc_remote_stat(s, path, attr);
    char *real = another_name(path, rc, zc_realpath);
    struct zc_error e;

    if (!real)
        return rc;
    zc_error_keep(&e, rc);
    rc = outcome(zc_remote_stat(s, real, attr), &e);
    free(real);
    return rc;
}

int zc_remote_unlink_named(struct zc_store *s, const char *path)
{
    int rc = zc_remote_unlink(s, path);
    char *real = another_name(path, rc, zc_realpath_of_parent);
    struct zc_error e;

    if (!real)
        return rc;
    zc_error_keep(&e, rc);
    rc = outcome(zc_remote_unlink(s, real), &e);
    free(real);
    return rc;
}
