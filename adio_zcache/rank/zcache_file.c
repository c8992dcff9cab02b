/* zcache_file.c - what the driver keeps of an open file, and how long. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_log.h"
#include "zc_options.h"
#include "zcache_file.h"
#include "zcache_layout.h"
#include "zcache_measure.h"
#include "zcache_peer.h"

struct zcache_file *zcache_file_get(ADIO_File fd)
{
    struct zcache_file *f = fd->fs_ptr;
    int rc;

    if (f)
        return f;
    f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    zc_list_init(&f->requests);
    f->failures = zcache_peer_failures();
    rc = zc_settings_init(&f->settings);
    if (rc)
        snprintf(f->bad_env, sizeof f->bad_env, "%s", zc_error_text(rc));
    fd->fs_ptr = f;
    return f;
}

void zcache_file_forget_owners(struct zcache_file *f)
{
    if (f->owners)
        zc_forget(f->owners, f->nowners * sizeof *f->owners);
    free(f->owners);
    f->owners = NULL;
}

void zcache_file_free(ADIO_File fd)
{
    struct zcache_file *f = fd->fs_ptr;

    if (!f)
        return;
    zcache_layout_put(f->layout);
    zc_coord_destroy(f->coord);
    zcache_measure_free(f->measure);
    zc_settings_free(&f->settings);
    zcache_file_forget_owners(f);
    free(f->path);
    free(f);
    fd->fs_ptr = NULL;
}

int zcache_file_store(ADIO_File fd, int rank)
{
    struct zcache_file *f = fd->fs_ptr;

    if (!f->path)
        f->path = zcache_absolute(fd->filename);
    if (!f->path)
        return zc_errorf(errno ? errno : ENOMEM, "no absolute path for %s", fd->filename);
    return zcache_store_get(&f->settings, rank, &f->store);
}

char *zcache_absolute(const char *name)
{
    char cwd[4096], *path;

    if (name[0] == '/')
        return strdup(name);
    if (!getcwd(cwd, sizeof cwd))
        return NULL;
    return asprintf(&path, "%s/%s", cwd, name) < 0 ? NULL : path;
}
