/* tm_file.c - opening, closing, deleting, views, and meeting at a barrier. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tm.h"

/* In strict mode also what a file system without guarantees of its own needs.  ROMIO refuses to
 * sync what is open for reading only. */
static void sync_strictly(struct tm *tm)
{
    for (int i = 0; i < tm->nopen && tm->opt.strict; i++) {
        struct tm_handle *h = &tm->handles[i];

        if (h->fh != MPI_FILE_NULL && !(h->amode & MPI_MODE_RDONLY))
            tm_ok(tm, MPI_File_sync(h->fh), "sync");
    }
}

/* With several opens, ranks of a closed one have touched the file as well. */
void tm_meet(struct tm *tm)
{
    bool several = tm->opt.opens > 1;

    if (!several && tm->h->me < 0)
        return;
    sync_strictly(tm);
    MPI_Barrier(several ? MPI_COMM_WORLD : tm->h->comm);
    sync_strictly(tm);
}

void tm_barrier(struct tm *tm)
{
    tm_image_barrier(&tm->image);
    tm_meet(tm);
}

/* ---- the members of an open, and its mode ---- */

/* All ranks in their order, or some of them in any order. */
static void draw_members(struct tm *tm)
{
    for (int i = 0; i < tm->nranks; i++)
        tm->h->members[i] = i;
    tm->h->n = tm->nranks;
    if (!tm->opt.subsets || tm_chance(&tm->rng, 40))
        return;
    for (int i = tm->nranks - 1; i > 0; i--) {
        int k = tm_pick(&tm->rng, i + 1), m = tm->h->members[i];

        tm->h->members[i] = tm->h->members[k];
        tm->h->members[k] = m;
    }
    tm->h->n = (int)tm_between(&tm->rng, 1, tm->nranks);
}

/* By its members alone: an open orders nothing for others. */
static void make_comm(struct tm *tm)
{
    MPI_Group world, group;

    tm->h->me = -1;
    tm->h->fh = MPI_FILE_NULL;
    for (int i = 0; i < tm->h->n; i++)
        if (tm->h->members[i] == tm->rank)
            tm->h->me = i;
    if (tm->h->me < 0)
        return;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, tm->h->n, tm->h->members, &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &tm->h->comm);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

static int draw_amode(struct tm *tm)
{
    struct tm_rng *r = &tm->rng;
    int amode = MPI_MODE_RDWR;

    if (!tm->exists) {
        amode |= MPI_MODE_CREATE;
        return tm_chance(r, 30) ? amode | MPI_MODE_EXCL : amode;
    }
    if (tm_chance(r, 10))
        return MPI_MODE_RDONLY;
    if (tm_chance(r, 10))
        amode = MPI_MODE_WRONLY;
    if (tm_chance(r, 50))
        amode |= MPI_MODE_CREATE;
    if (tm_chance(r, 10))
        amode |= MPI_MODE_APPEND;
    if (tm_chance(r, 10))
        amode |= MPI_MODE_DELETE_ON_CLOSE;
    return amode;
}

static MPI_Info make_info(struct tm *tm)
{
    static const char *const sizes[] = {"4K", "8K", "64K", "1M"};
    struct tm_rng *r = &tm->rng;
    MPI_Info info;
    char value[MPI_MAX_INFO_VAL];
    bool own = tm_chance(r, 60);
    int nodes = (int)tm_between(r, 1, tm->h->n), size = tm_pick(r, 4);
    int each = (int)tm_between(r, 1, tm->h->n); /* of this host */

    MPI_Info_create(&info);
    if (own) {
        snprintf(value, sizeof value, "%d", nodes);
        MPI_Info_set(info, "cb_nodes", value);
        snprintf(value, sizeof value, "*:%d", each);
        MPI_Info_set(info, "cb_config_list", value);
        MPI_Info_set(info, "zcache_block_size", sizes[size]);
    }
    for (int i = 0; i < tm->opt.nhints; i++) {
        const char *eq = strchr(tm->opt.hints[i], '=');
        char key[MPI_MAX_INFO_KEY];

        snprintf(key, sizeof key, "%.*s", (int)(eq - tm->opt.hints[i]), tm->opt.hints[i]);
        MPI_Info_set(info, key, eq + 1);
    }
    return info;
}

static void begin_handle(struct tm *tm)
{
    struct tm_handle *h = tm->h;

    h->id = (uint8_t)(1 + tm->opened++ % 250);
    for (int i = 0; i < h->n; i++) {
        tm_view_default(&h->views[i], tm->image.max);
        h->pos[i] = h->amode & MPI_MODE_APPEND ? tm->image.size : 0;
    }
    tm->mark = tm_types_mark();
}

void tm_open(struct tm *tm)
{
    bool first = tm->nopen == 0;
    MPI_Info info;

    if (first)
        tm_types_release(0);
    tm->h = &tm->handles[tm->nopen];
    draw_members(tm);
    make_comm(tm);
    tm->h->amode = draw_amode(tm);
    info = make_info(tm);
    tm_say(tm, "open by %d ranks, mode %d%s", tm->h->n, tm->h->amode, first ? "" : ", too");
    tm->nopen++;
    if (tm->h->amode & MPI_MODE_APPEND && !first)
        tm_settle_end(tm);
    if (tm->h->me >= 0)
        tm_ok(tm, MPI_File_open(tm->h->comm, tm->opt.name, tm->h->amode, info, &tm->h->fh), "open");
    MPI_Info_free(&info);
    if (tm->h->amode & MPI_MODE_EXCL || !tm->exists)
        tm_image_resize(&tm->image, 0);
    tm->exists = true;
    begin_handle(tm);
    if (first && tm->opt.opens > 1) /* others may open it from now on, as it exists */
        MPI_Barrier(MPI_COMM_WORLD);
    if (first)
        tm_image_barrier(&tm->image);
}

/* No open is left. */
static void look_at_file(struct tm *tm)
{
    MPI_Barrier(MPI_COMM_WORLD);
    tm_check_file(tm);
    MPI_Barrier(MPI_COMM_WORLD);
}

void tm_close(struct tm *tm)
{
    struct tm_handle *h = tm->h;
    bool last = tm->nopen == 1;

    tm_say(tm, last ? "close" : "close one of %d", tm->nopen);
    /* its name may be deleted: those that open it by name have done so */
    if (last || h->amode & MPI_MODE_DELETE_ON_CLOSE)
        tm_barrier(tm);
    if (h->me >= 0) {
        tm_ok(tm, MPI_File_close(&h->fh), "close");
        MPI_Comm_free(&h->comm);
    }
    if (h->amode & MPI_MODE_DELETE_ON_CLOSE)
        tm->exists = false;
    *h = tm->handles[--tm->nopen];
    tm->h = tm->handles;
    if (last)
        look_at_file(tm);
}

void tm_close_all(struct tm *tm)
{
    while (tm->nopen) {
        tm->h = tm->nopen > 1 ? &tm->handles[tm_pick(&tm->rng, tm->nopen)] : tm->handles;
        tm_close(tm);
    }
}

/* As on POSIX file systems: open handles keep the file. */
static void delete_name(struct tm *tm)
{
    tm_say(tm, "delete, while it is open");
    tm_barrier(tm);
    if (tm->rank == 0)
        tm_ok(tm, MPI_File_delete(tm->opt.name, MPI_INFO_NULL), "delete");
    tm->exists = false;
    tm_barrier(tm);
    tm_check_file(tm);
}

/* A file without a name is not opened any more. */
void tm_change_opens(struct tm *tm)
{
    int k = tm_pick(&tm->rng, 20);

    if (k == 0 && tm->exists)
        delete_name(tm);
    else if (tm->nopen > 1 && (k < 9 || !tm->exists || tm->nopen == tm->opt.opens))
        tm_close(tm);
    else if (tm->exists && tm->nopen < tm->opt.opens)
        tm_open(tm);
}

/* ---- between close and open ---- */

void tm_reopen(struct tm *tm)
{
    tm_close_all(tm);
    if (tm->exists && tm_chance(&tm->rng, 30)) {
        tm_outside(tm);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    tm_open(tm);
}

void tm_recreate(struct tm *tm)
{
    bool by_mpi = tm_chance(&tm->rng, 60);

    tm_close_all(tm);
    if (tm->exists) {
        tm_say(tm, by_mpi ? "delete" : "another program deletes");
        if (tm->rank == 0 && by_mpi)
            tm_ok(tm, MPI_File_delete(tm->opt.name, MPI_INFO_NULL), "delete");
        else if (tm->rank == 0 && unlink(tm->opt.path))
            tm_fail(tm, "cannot unlink %s: %s", tm->opt.path, strerror(errno));
        tm->exists = false;
        look_at_file(tm);
    }
    tm_open(tm);
}

void tm_set_view(struct tm *tm)
{
    const char *kind;

    if (tm->nopen == 1) /* views of others must stay */
        tm_types_release(0);
    kind = tm_views_random(&tm->rng, tm->h->views, tm->h->n, tm->image.max);
    tm->mark = tm_types_mark();
    memset(tm->h->pos, 0, sizeof tm->h->pos);
    tm_say(tm, "set_view: %s; rank 0: disp %lld, etype %s, filetype %s", kind,
           (long long)tm->h->views[0].disp, tm->h->views[0].etype->text,
           tm->h->views[0].filetype->text);
    if (tm->h->me >= 0) {
        struct tm_view *v = &tm->h->views[tm->h->me];

        tm_ok(tm,
              MPI_File_set_view(tm->h->fh, v->disp, v->etype->mpi, v->filetype->mpi, "native",
                                MPI_INFO_NULL),
              "set_view");
    }
}
