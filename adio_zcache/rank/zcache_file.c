/* zcache_file.c - what the driver keeps of an open file, and how long. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_log.h"
#include "zc_options.h"
#include "zc_store.h"
#include "zcache_agg_conn.h"
#include "zcache_file.h"
#include "zcache_fileview.h"
#include "zcache_layout.h"
#include "zcache_timing.h"

struct zcache_file *zcache_file_get(ADIO_File fd)
{
    struct zcache_file *f = fd->fs_ptr;

    if (f)
        return f;
    f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    zc_list_init(&f->requests);
    zc_list_init(&f->open_link);
    zcache_read_around_init(&f->around);
    f->failures = zcache_agg_conn_failures();
    zc_error_keep(&f->bad_env, zc_settings_init(&f->settings));
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
    zcache_view_forget_asked(f);
    zc_coord_destroy(f->coord);
    zcache_timing_free(f->timing);
    zcache_read_around_free(&f->around);
    zc_settings_free(&f->settings);
    zcache_file_forget_owners(f);
    free(f->path);
    free(f);
    fd->fs_ptr = NULL;
}

static int need_path(ADIO_File fd)
{
    struct zcache_file *f = fd->fs_ptr;

    if (!f->path)
        f->path = zcache_absolute(fd->filename);
    return f->path ? 0 : zc_errorf(errno ? errno : ENOMEM, "no absolute path for %s", fd->filename);
}

int zcache_file_store(ADIO_File fd, int rank)
{
    struct zcache_file *f = fd->fs_ptr;
    int rc = need_path(fd);

    return rc ? rc : zcache_store_get(&f->settings, rank, &f->store);
}

int zcache_file_store_unasked(ADIO_File fd, int rank)
{
    struct zcache_file *f = fd->fs_ptr;
    int rc = need_path(fd);

    return rc ? rc : zcache_store_get_unasked(&f->settings, rank, &f->store);
}

unsigned zcache_file_flags(const struct zcache_file *f, unsigned access)
{
    const struct zc_settings *s = &f->settings;
    bool writes = s->steps && access & ZC_OPEN_WRITE, reads = s->wait_step || f->step_reader;

    return access | (s->on_daemon_loss == ZC_LOSS_BYPASS ? ZC_OPEN_BYPASS : 0) |
           (writes ? ZC_OPEN_STEPS : 0) | (reads ? ZC_OPEN_STEP_READER : 0);
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
