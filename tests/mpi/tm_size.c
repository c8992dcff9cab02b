/* tm_size.c - pointers, sizes, sync: what moves no data. */
#include "tm.h"
#include "tm_shape.h"

void tm_settle_end(struct tm *tm)
{
    if (tm->image.grown)
        tm_barrier(tm);
    tm->image.end_seen = true;
}

/* The first etype behind the end of the file. */
static int64_t end_of_view(const struct tm *tm, int rank)
{
    const struct tm_view *v = &tm->h->views[rank];
    int64_t esize = v->etype->size;

    return (tm_view_before(v, tm->image.size) + esize - 1) / esize;
}

static void seek(struct tm *tm, int rank, int whence, int64_t target)
{
    int64_t from = whence == MPI_SEEK_SET   ? 0
                   : whence == MPI_SEEK_CUR ? tm->h->pos[rank]
                                            : end_of_view(tm, rank);
    const struct tm_view *v = &tm->h->views[rank];
    MPI_Offset now, place;

    tm->h->pos[rank] = target;
    if (rank != tm->h->me)
        return;
    tm_ok(tm, MPI_File_seek(tm->h->fh, target - from, whence), "seek");
    tm_ok(tm, MPI_File_get_position(tm->h->fh, &now), "get_position");
    tm_ok(tm, MPI_File_get_byte_offset(tm->h->fh, target, &place), "get_byte_offset");
    if (now != target)
        tm_fail(tm, "the pointer is at etype %lld, and should be at %lld (view: %s)",
                (long long)now, (long long)target, v->filetype->text);
    if (place != tm_view_place(v, target * v->etype->size))
        tm_fail(tm, "etype %lld is said to be at byte %lld, not %lld (view: disp %lld, %s)",
                (long long)target, (long long)place,
                (long long)tm_view_place(v, target * v->etype->size), (long long)v->disp,
                v->filetype->text);
}

void tm_seek(struct tm *tm)
{
    static const int kinds[] = {MPI_SEEK_SET, MPI_SEEK_CUR, MPI_SEEK_END};
    int whence = kinds[tm_pick(&tm->rng, 3)];

    /* ROMIO takes the end for negative where a contiguous view begins behind it. */
    for (int i = 0; i < tm->h->n && tm_shape_only_romio; i++)
        if (tm->h->views[i].disp > tm->image.size)
            whence = MPI_SEEK_SET;
    if (whence == MPI_SEEK_END)
        tm_settle_end(tm);
    tm_say(tm, "seek %s",
           whence == MPI_SEEK_SET ? "set" : (whence == MPI_SEEK_CUR ? "cur" : "end"));
    for (int i = 0; i < tm->h->n; i++) {
        const struct tm_view *v = &tm->h->views[i];
        int64_t most = tm_view_before(v, tm->image.max) / v->etype->size;
        int64_t end = end_of_view(tm, i);

        if (end < most && tm_chance(&tm->rng, 70))
            most = end;
        seek(tm, i, whence, tm_between(&tm->rng, 0, most));
    }
}

static void check_size(struct tm *tm, const struct tm_handle *h)
{
    MPI_Offset size;

    if (h->me < 0)
        return;
    tm_ok(tm, MPI_File_get_size(h->fh, &size), "get_size");
    if (size != tm->image.size)
        tm_fail(tm, "the size is said to be %lld, and should be %lld", (long long)size,
                (long long)tm->image.size);
}

/* Through every open. */
void tm_get_size(struct tm *tm)
{
    tm_say(tm, "get_size");
    tm_settle_end(tm);
    for (int i = 0; i < tm->nopen; i++)
        check_size(tm, &tm->handles[i]);
}

static int64_t draw_size(struct tm *tm)
{
    switch (tm_pick(&tm->rng, 6)) {
    case 0:
        return 0;
    case 1:
        return tm->image.size;
    case 2:
        return tm_between(&tm->rng, 0, tm->image.max);
    default:
        return tm_between(&tm->rng, 0, tm->image.size);
    }
}

void tm_set_size(struct tm *tm)
{
    int64_t size = draw_size(tm);

    if (tm->h->amode & MPI_MODE_RDONLY)
        return;
    tm_say(tm, "set_size %lld (it was %lld)", (long long)size, (long long)tm->image.size);
    tm_barrier(tm);
    if (tm->h->me >= 0)
        tm_ok(tm, MPI_File_set_size(tm->h->fh, size), "set_size");
    tm_image_resize(&tm->image, size);
    tm_barrier(tm);
    tm_get_size(tm);
}

void tm_preallocate(struct tm *tm)
{
    int64_t size = draw_size(tm);

    /* ROMIO's generic one reads the file, which a file opened for writing only refuses. */
    if (tm->h->amode & MPI_MODE_RDONLY || (tm->opt.reference && tm->h->amode & MPI_MODE_WRONLY))
        return;
    tm_say(tm, "preallocate %lld", (long long)size);
    tm_barrier(tm);
    if (tm->h->me >= 0)
        tm_ok(tm, MPI_File_preallocate(tm->h->fh, size), "preallocate");
    if (size > tm->image.size)
        tm_image_resize(&tm->image, size);
    tm_barrier(tm);
    tm_get_size(tm);
}

static void sync_one(struct tm *tm, const struct tm_handle *h)
{
    if (h->me >= 0 && !(h->amode & MPI_MODE_RDONLY))
        tm_ok(tm, MPI_File_sync(h->fh), "sync");
}

/* What all opens have written is in the file once all have synced. */
void tm_sync(struct tm *tm)
{
    bool look = tm_chance(&tm->rng, 60);

    if (tm->h->amode & MPI_MODE_RDONLY)
        return;
    tm_say(tm, "sync%s", look ? " and look at the file" : "");
    if (!look) {
        sync_one(tm, tm->h);
        return;
    }
    for (int i = 0; i < tm->nopen; i++)
        sync_one(tm, &tm->handles[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    tm_check_file(tm);
    MPI_Barrier(MPI_COMM_WORLD);
    tm_image_barrier(&tm->image);
}
