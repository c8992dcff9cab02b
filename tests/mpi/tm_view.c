/* tm_view.c - file views, and the offsets of their bytes. */
#include <stdlib.h>

#include "tm_shape.h"
#include "tm_view.h"

int tm_views_irregular;

void tm_view_default(struct tm_view *v, int64_t limit)
{
    v->disp = 0;
    v->etype = v->filetype = tm_type_named(MPI_BYTE, "byte");
    v->limit = limit;
}

/* ---- walking ---- */

struct tm_walk tm_walk_view(const struct tm_view *v, int64_t view_offset)
{
    const struct tm_type *t = v->filetype;
    struct tm_walk w = {.type = t, .base = v->disp};
    int lo = 0, hi = t->npieces;
    int64_t rest;

    if (!t->size)
        return w;
    w.tile = view_offset / t->size;
    rest = view_offset % t->size;
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;

        if (t->before[mid] <= rest)
            lo = mid;
        else
            hi = mid;
    }
    w.index = lo;
    w.within = rest - t->before[lo];
    return w;
}

struct tm_walk tm_walk_memory(const struct tm_type *t)
{
    return (struct tm_walk){.type = t};
}

int64_t tm_walk_next(struct tm_walk *w, int64_t max, int64_t *at)
{
    const struct tm_piece *p = &w->type->pieces[w->index];
    int64_t len = p->len - w->within < max ? p->len - w->within : max;

    *at = w->base + w->tile * w->type->extent + p->off + w->within;
    w->within += len;
    if (w->within == p->len) {
        w->within = 0;
        if (++w->index == w->type->npieces) {
            w->index = 0;
            w->tile++;
        }
    }
    return len;
}

int64_t tm_view_place(const struct tm_view *v, int64_t view_offset)
{
    struct tm_walk w = tm_walk_view(v, view_offset);
    int64_t at;

    tm_walk_next(&w, 1, &at);
    return at;
}

int64_t tm_view_before(const struct tm_view *v, int64_t off)
{
    const struct tm_type *t = v->filetype;
    int64_t tile, n;

    off -= v->disp + t->low;
    if (off <= 0 || !t->size)
        return 0;
    tile = off / t->extent; /* no piece of a tile lies before the tile before it */
    off += t->low - tile * t->extent;
    n = tile * t->size;
    for (int i = 0; i < t->npieces && t->pieces[i].off < off; i++)
        n += off - t->pieces[i].off < t->pieces[i].len ? off - t->pieces[i].off : t->pieces[i].len;
    return n;
}

/* ---- views that keep ranks apart ---- */

static void same_place(struct tm_view *views, int n, int64_t disp, struct tm_type *etype,
                       int64_t max)
{
    for (int i = 0; i < n; i++)
        views[i] = (struct tm_view){disp, etype, etype, max};
}

/* Each rank has a part of the file for itself, with any type. */
static const char *regions(struct tm_rng *r, struct tm_view *views, int n, int64_t max)
{
    int64_t part = max / n;

    for (int i = 0; i < n; i++) {
        views[i].disp += i * part;
        views[i].limit = (i + 1) * part;
        views[i].filetype = tm_shape_file(r, views[i].etype, part / 2);
    }
    return "regions";
}

/* Ranks alternate, as in a record file. */
static const char *turns(struct tm_rng *r, struct tm_view *views, int n, int64_t max)
{
    struct tm_type *e = views[0].etype;
    int count = (int)tm_between(r, 1, 4), len = (int)tm_between(r, 1, 12);

    (void)max;
    for (int i = 0; i < n; i++) {
        struct tm_type *t = tm_type_vector(e, count, len, len * n);

        views[i].disp += i * len * e->extent;
        views[i].filetype = tm_type_resized(t, 0, (int64_t)count * len * n * e->extent);
    }
    return "turns";
}

/* Every slot of a tile goes to some rank, or to none. */
static const char *lots(struct tm_rng *r, struct tm_view *views, int n, int64_t max)
{
    struct tm_type *e = views[0].etype;
    int slots = (int)tm_between(r, n, 6 * n < TM_MAX_BLOCKS ? 6 * n : TM_MAX_BLOCKS);
    int owner[TM_MAX_BLOCKS], lens[TM_MAX_BLOCKS], at[TM_MAX_BLOCKS];
    int how = tm_pick(r, 2);

    (void)max;
    for (int s = 0; s < slots; s++) /* the first n slots: one for each */
        owner[s] = s < n ? s : (int)tm_between(r, -1, n - 1);
    for (int s = slots - 1; s > 0; s--) {
        int k = tm_pick(r, s + 1), o = owner[s];

        owner[s] = owner[k];
        owner[k] = o;
    }
    for (int i = 0; i < n; i++) {
        struct tm_type *t;
        int blocks = 0;

        for (int s = 0; s < slots; s++) {
            if (owner[s] != i)
                continue;
            lens[blocks] = 1;
            at[blocks++] = s;
        }
        t = how ? tm_type_indexed(e, blocks, lens, at) : tm_type_block(e, blocks, 1, at);
        views[i].filetype = tm_type_resized(t, 0, slots * e->extent);
    }
    return "lots";
}

/* An array cut into equal boxes. */
static const char *boxes(struct tm_rng *r, struct tm_view *views, int n, int64_t max)
{
    struct tm_type *e = views[0].etype;
    int box[TM_MAX_DIMS], start[TM_MAX_DIMS], coords[TM_MAX_DIMS];
    struct tm_grid g;

    (void)max;
    tm_shape_grid(r, &g, 4, n);
    for (int d = 0; d < g.ndims; d++) {
        box[d] = (int)tm_between(r, 1, g.ndims > 2 ? 3 : 6);
        g.sizes[d] = box[d] * g.procs[d];
    }
    for (int i = 0; i < n; i++) {
        tm_grid_coords(&g, i, coords);
        for (int d = 0; d < g.ndims; d++)
            start[d] = coords[d] * box[d];
        views[i].filetype = tm_type_subarray(e, &g, box, start);
    }
    return "boxes";
}

/* An array distributed as in High Performance Fortran.  A rank without a part sees the whole array,
 * which the check for overlaps keeps from being written. */
static const char *shares(struct tm_rng *r, struct tm_view *views, int n, int64_t max)
{
    struct tm_grid g;

    if (views[0].etype->size != views[0].etype->extent)
        return boxes(r, views, n, max); /* MPICH itself gets some of these wrong */
    tm_shape_grid(r, &g, 3, n);
    tm_shape_distribute(r, &g);
    for (int i = 0; i < n; i++) {
        struct tm_type *t = tm_type_darray(views[i].etype, &g, n, i);

        if (t->size)
            views[i].filetype = t;
    }
    return "shares";
}

/* As in an irregular mesh: each of many elements belongs to a rank, or to none. */
static const char *map(struct tm_rng *r, struct tm_view *views, int n, int64_t max)
{
    struct tm_type *e = views[0].etype;
    int64_t most = max / 2 / e->extent;
    int most_slots = most < tm_views_irregular ? (int)most : tm_views_irregular;
    int slots = (int)tm_between(r, n, most_slots + n);
    int *at = calloc((size_t)slots, sizeof *at);
    uint64_t salt = tm_draw(r);

    for (int i = 0; i < n && at; i++) {
        struct tm_type *t;
        int blocks = 0;

        for (int s = 0; s < slots; s++) /* the first n slots: one for each */
            if (s < n ? s == i : (int)(tm_mix(salt + (uint64_t)s) % (uint64_t)(n + 1)) == i)
                at[blocks++] = s;
        t = tm_type_block(e, blocks, 1, at);
        views[i].filetype = tm_type_resized(t, 0, slots * e->extent);
    }
    free(at);
    return "map";
}

/* Any view for each rank. */
static const char *any(struct tm_rng *r, struct tm_view *views, int n, int64_t max)
{
    for (int i = 0; i < n; i++) {
        views[i].disp = tm_between(r, 0, max / 4);
        views[i].etype = tm_shape_etype(r);
        views[i].filetype = tm_shape_file(r, views[i].etype, max / 4);
    }
    return "any";
}

const char *tm_views_random(struct tm_rng *r, struct tm_view *views, int n, int64_t max)
{
    static const char *(*const kinds[])(struct tm_rng *, struct tm_view *, int, int64_t) = {
        regions, turns, lots, boxes, shares, any, map, map, map, map};
    enum { MAPS = 4 };
    struct tm_type *etype = tm_shape_etype(r), *grain = etype;
    int64_t disp = tm_chance(r, 50) ? tm_between(r, 0, max / 8) : 0;
    int kind = tm_pick(r, (int)(sizeof kinds / sizeof *kinds) - (tm_views_irregular ? 0 : MAPS));
    const char *name;

    if (tm_chance(r, 40))
        grain = tm_type_contiguous(etype, (int)tm_between(r, 2, 40));
    same_place(views, n, disp, grain, max);
    name = kinds[kind](r, views, n, max);
    for (int i = 0; i < n && kinds[kind] != any; i++)
        views[i].etype = etype;
    return name;
}
