/* tm_file.c - opening, closing, deleting, views, and meeting at a barrier. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tm.h"

/* In strict mode also what a file system without promises of its own needs.  ROMIO refuses
 * to sync what is open for reading only. */
void tm_meet(struct tm *tm)
{
    bool sync = tm->opt.strict && !(tm->amode & MPI_MODE_RDONLY);

    if (tm->me < 0)
        return;
    if (sync)
        tm_ok(tm, MPI_File_sync(tm->fh), "sync");
    MPI_Barrier(tm->comm);
    if (sync)
        tm_ok(tm, MPI_File_sync(tm->fh), "sync");
}

void tm_barrier(struct tm *tm)
{
    tm_image_barrier(&tm->image);
    tm_meet(tm);
}

/* ---- who opens it, and how ---- */

/* All ranks in their order, or some of them in any order. */
static void draw_members(struct tm *tm)
{
    for (int i = 0; i < tm->nranks; i++)
        tm->members[i] = i;
    tm->n = tm->nranks;
    if (!tm->opt.subsets || tm_chance(&tm->rng, 40))
        return;
    for (int i = tm->nranks - 1; i > 0; i--) {
        int k = tm_pick(&tm->rng, i + 1), m = tm->members[i];

        tm->members[i] = tm->members[k];
        tm->members[k] = m;
    }
    tm->n = (int)tm_between(&tm->rng, 1, tm->nranks);
}

static void make_comm(struct tm *tm)
{
    tm->me = -1;
    for (int i = 0; i < tm->n; i++)
        if (tm->members[i] == tm->rank)
            tm->me = i;
    MPI_Comm_split(MPI_COMM_WORLD, tm->me < 0 ? MPI_UNDEFINED : 0, tm->me, &tm->comm);
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
    int nodes = (int)tm_between(r, 1, tm->n), size = tm_pick(r, 4);
    int each = (int)tm_between(r, 1, tm->n); /* of this host */

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

void tm_open(struct tm *tm)
{
    MPI_Info info;

    tm_types_release(0);
    draw_members(tm);
    make_comm(tm);
    tm->amode = draw_amode(tm);
    info = make_info(tm);
    tm_say(tm, "open by %d ranks, mode %d", tm->n, tm->amode);
    if (tm->me >= 0)
        tm_ok(tm, MPI_File_open(tm->comm, tm->opt.name, tm->amode, info, &tm->fh), "open");
    MPI_Info_free(&info);
    if (tm->amode & MPI_MODE_EXCL || !tm->exists)
        tm_image_resize(&tm->image, 0);
    tm->exists = true;
    for (int i = 0; i < tm->n; i++) {
        tm_view_default(&tm->views[i], tm->image.max);
        tm->pos[i] = tm->amode & MPI_MODE_APPEND ? tm->image.size : 0;
    }
    tm->mark = tm_types_mark();
    tm_image_barrier(&tm->image);
}

void tm_close(struct tm *tm)
{
    tm_say(tm, "close");
    if (tm->me >= 0) {
        tm_barrier(tm);
        tm_ok(tm, MPI_File_close(&tm->fh), "close");
        MPI_Comm_free(&tm->comm);
    }
    tm->exists = !(tm->amode & MPI_MODE_DELETE_ON_CLOSE);
    MPI_Barrier(MPI_COMM_WORLD);
    tm_check_file(tm);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- what happens between close and open ---- */

static int64_t ctime_ns(int fd)
{
    struct stat st;

    return fstat(fd, &st) ? 0 : st.st_ctim.tv_sec * 1000000000ll + st.st_ctim.tv_nsec;
}

/* Another program writes.  Clocks of file systems are coarse: it goes on until it shows. */
static void write_outside(struct tm *tm, int64_t off, int64_t len)
{
    int fd = open(tm->opt.path, O_WRONLY);
    uint8_t *bytes = malloc((size_t)len);
    int64_t before;

    if (fd < 0 || !bytes)
        tm_fail(tm, "cannot open %s", tm->opt.path);
    for (int64_t i = 0; i < len; i++)
        bytes[i] = tm_stamp(off + i, tm->last);
    before = ctime_ns(fd);
    do
        if (pwrite(fd, bytes, (size_t)len, off) != len)
            tm_fail(tm, "cannot write %s: %s", tm->opt.path, strerror(errno));
    while (ctime_ns(fd) == before);
    close(fd);
    free(bytes);
}

static void change_outside(struct tm *tm)
{
    struct tm_rng *r = &tm->rng;
    int64_t off = tm_between(r, 0, tm->image.max - 1), len = tm_between(r, 1, 5000);
    bool cut = tm_chance(r, 30);

    if (cut) {
        tm_say(tm, "another program truncates to %lld", (long long)off);
        if (tm->rank == 0 && truncate(tm->opt.path, off))
            tm_fail(tm, "cannot truncate %s: %s", tm->opt.path, strerror(errno));
        tm_image_resize(&tm->image, off);
        return;
    }
    if (len > tm->image.max - off)
        len = tm->image.max - off;
    tm->last++;
    tm_say(tm, "another program writes %lld bytes at %lld, access %u", (long long)len,
           (long long)off, tm->last);
    if (tm->rank == 0)
        write_outside(tm, off, len);
    tm_image_write(&tm->image, off, len, tm->last);
}

void tm_reopen(struct tm *tm)
{
    tm_close(tm);
    if (tm->exists && tm_chance(&tm->rng, 30)) {
        change_outside(tm);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    tm_open(tm);
}

void tm_recreate(struct tm *tm)
{
    bool by_mpi = tm_chance(&tm->rng, 60);

    tm_close(tm);
    if (tm->exists) {
        tm_say(tm, by_mpi ? "delete" : "another program deletes");
        if (tm->rank == 0 && by_mpi)
            tm_ok(tm, MPI_File_delete(tm->opt.name, MPI_INFO_NULL), "delete");
        else if (tm->rank == 0 && unlink(tm->opt.path))
            tm_fail(tm, "cannot unlink %s: %s", tm->opt.path, strerror(errno));
        tm->exists = false;
        MPI_Barrier(MPI_COMM_WORLD);
        tm_check_file(tm);
    }
    tm_open(tm);
}

void tm_set_view(struct tm *tm)
{
    const char *kind;

    tm_types_release(0);
    kind = tm_views_random(&tm->rng, tm->views, tm->n, tm->image.max);
    tm->mark = tm_types_mark();
    memset(tm->pos, 0, sizeof tm->pos);
    tm_say(tm, "set_view: %s; rank 0: disp %lld, etype %s, filetype %s", kind,
           (long long)tm->views[0].disp, tm->views[0].etype->text, tm->views[0].filetype->text);
    if (tm->me >= 0) {
        struct tm_view *v = &tm->views[tm->me];

        tm_ok(tm,
              MPI_File_set_view(tm->fh, v->disp, v->etype->mpi, v->filetype->mpi, "native",
                                MPI_INFO_NULL),
              "set_view");
    }
}
