/* tm_plan.c - draws the accesses of one step, for all ranks.
 *
 * Nothing may be undefined: no byte that a write of the step touches is touched by another access
 * of it, except blocking ones of the same rank; no rank queries the end of the file while others
 * move it.  An access that would break this is reduced to no bytes.
 */
#include <stdio.h>
#include <string.h>

#include "tm.h"
#include "tm_shape.h"

enum { MAX_MEMORY = 4 << 20 };

typedef bool (*touch_fn)(struct tm_image *m, const struct tm_touch *t);

/* Whether it sees what was written through the same open, without a barrier. */
static bool waits(const struct tm *tm, const struct tm_access *a)
{
    return tm->opt.waits && a->collective && !a->write;
}

/* Calls fn for every contiguous piece, until it returns true. */
static bool each_piece(struct tm *tm, const struct tm_access *a, touch_fn fn)
{
    const struct tm_view *v = &tm->h->views[a->rank];
    struct tm_walk w = tm_walk_view(v, a->at * v->etype->size);
    struct tm_touch t = {.rank = tm->h->members[a->rank],
                         .open = tm->h->id,
                         .write = a->write,
                         .alone = a->how != TM_NONBLOCKING,
                         .waits = waits(tm, a)};

    for (int64_t left = a->len; left; left -= t.len) {
        t.len = tm_walk_next(&w, left, &t.off);
        if (fn(&tm->image, &t))
            return true;
    }
    return false;
}

static bool conflicts(struct tm_image *m, const struct tm_touch *t)
{
    return tm_image_conflict(m, t);
}

static bool touch(struct tm_image *m, const struct tm_touch *t)
{
    tm_image_touch(m, t);
    return false;
}

static void enter_write(struct tm *tm, const struct tm_access *a)
{
    const struct tm_view *v = &tm->h->views[a->rank];
    struct tm_walk w = tm_walk_view(v, a->at * v->etype->size);
    int64_t at;

    for (int64_t left = a->len; left;) {
        int64_t len = tm_walk_next(&w, left, &at);

        tm_image_write(&tm->image, at, len, a->id);
        left -= len;
    }
}

/* ---- one access ---- */

static int64_t draw_length(struct tm_rng *r, int64_t room)
{
    int64_t most = room;

    switch (tm_pick(r, 10)) {
    case 0:
        return 0;
    case 1:
    case 2:
        most = 3;
        break;
    case 3:
    case 4:
    case 5:
    case 6:
        most = 64;
        break;
    case 7:
    case 8:
        most = 1000;
        break;
    }
    return tm_between(r, room ? 1 : 0, most < room ? most : room);
}

/* Memory for `len` bytes, or somewhat fewer.  It is made of etypes, as MPI wants it. */
static void draw_memory(struct tm *tm, struct tm_access *a, int64_t len)
{
    static const struct {
        MPI_Datatype type;
        const char *name;
    } simple[] = {
        {MPI_BYTE, "byte"}, {MPI_INT, "int"}, {MPI_SHORT, "short"}, {MPI_DOUBLE, "double"}};
    struct tm_rng *r = &tm->rng;
    struct tm_type *base = tm->h->views[a->rank].etype;

    if (base->named && base->size == 1) {
        int k = tm_pick(r, 4);

        base = tm_type_named(simple[k].type, simple[k].name);
    }
    a->mem = tm_shape_memory(r, base);
    if (len && len < a->mem->size)
        a->mem = base;
    a->count = (int)(len / a->mem->size);
    if ((int64_t)a->count * a->mem->extent > MAX_MEMORY)
        a->count = (int)(MAX_MEMORY / a->mem->extent);
    a->len = a->count * a->mem->size;
    /* Often nothing; ROMIO then leaves the status unchanged. */
    if (!a->count && tm_chance(r, 20) && !tm->opt.reference) {
        a->mem = tm_type_contiguous(base, 0);
        a->count = 3;
    }
}

static void draw_access(struct tm *tm, struct tm_access *a)
{
    const struct tm_view *v = &tm->h->views[a->rank];
    const struct tm_image *m = &tm->image;
    struct tm_rng *r = &tm->rng;
    int64_t esize = v->etype->size, reach = a->write ? v->limit : m->max, near, room;

    if (tm->broken && a->write && reach > m->size)
        reach = m->size; /* the end of the file must be known */
    room = tm_view_before(v, reach) / esize;
    if (a->individual)
        a->at = tm->h->pos[a->rank];
    if (!a->individual || (a->at >= room && !a->collective)) {
        near = m->size + m->max / 16;
        near = tm_view_before(v, near < reach ? near : reach) / esize;
        a->individual = false;
        a->at = tm_between(r, 0, near);
    }
    room = a->at < room ? room - a->at : 0;
    draw_memory(tm, a, draw_length(r, room) * esize);
    if (tm->opt.reference && !a->write && a->len) {
        /* ROMIO's strided reads report all of it, and move what lies behind the end. */
        int64_t there = tm_view_before(v, m->size) - a->at * esize;

        if (there < a->len)
            a->len = a->count = 0;
    }
    if (a->individual)
        tm->h->pos[a->rank] = a->at + a->len / esize;
}

/* ---- one step ---- */

static bool draw_direction(struct tm *tm)
{
    bool write = tm_chance(&tm->rng, tm->image.size < tm->image.max / 8 ? 70 : 50);

    if (tm->h->amode & MPI_MODE_RDONLY)
        return false;
    if (tm->h->amode & MPI_MODE_WRONLY)
        return true;
    return write;
}

static int draw_collective(struct tm *tm, struct tm_access *a)
{
    bool write = draw_direction(tm), individual = tm_chance(&tm->rng, 40);
    enum tm_how how = (enum tm_how)tm_pick(&tm->rng, 3);
    int each = 1, n = 0;

    if (how == TM_NONBLOCKING && tm_chance(&tm->rng, 30))
        each = 2;
    /* ROMIO moves the individual pointer when such an access ends, not when it begins. */
    if (how == TM_NONBLOCKING && tm->opt.reference)
        individual = false;
    for (int k = 0; k < each; k++) {
        for (int i = 0; i < tm->h->n; i++) {
            a[n] = (struct tm_access){.rank = i,
                                      .write = write,
                                      .collective = true,
                                      .individual = individual,
                                      .how = how};
            draw_access(tm, &a[n++]);
        }
    }
    return n;
}

static int draw_independent(struct tm *tm, struct tm_access *a)
{
    int n = 0, writer = tm_pick(&tm->rng, tm->h->n);

    for (int i = 0; i < tm->h->n; i++) {
        int each = (int)tm_between(&tm->rng, 0, TM_PER_RANK);

        for (int k = 0; k < each; k++) {
            a[n] = (struct tm_access){.rank = i};
            a[n].write = draw_direction(tm);
            a[n].individual = tm_chance(&tm->rng, 40);
            a[n].how = tm_chance(&tm->rng, 40) ? TM_NONBLOCKING : TM_BLOCKING;
            /* Data sieving writes back bytes that others write at the same time. */
            if (tm->opt.reference && a[n].write) {
                a[n].how = TM_BLOCKING;
                if (i != writer)
                    continue;
            }
            draw_access(tm, &a[n++]);
        }
    }
    return n;
}

/* Enters the access: drops it if it conflicts, else updates the model. */
static void enter(struct tm *tm, struct tm_access *a)
{
    const struct tm_view *v = &tm->h->views[a->rank];
    int64_t there;

    a->id = ++tm->last;
    if (a->individual)
        a->at = tm->h->pos[a->rank];
    if (each_piece(tm, a, conflicts))
        a->len = a->count = 0;
    each_piece(tm, a, touch);
    a->got = a->len;
    there = tm_view_before(v, tm->image.size) - a->at * v->etype->size;
    if (!a->write && there < a->len)
        a->got = there > 0 ? there : 0;
    if (a->individual)
        tm->h->pos[a->rank] += a->len / v->etype->size;
    if (a->rank == tm->h->me)
        tm_buffer_make(tm, a);
    if (a->write)
        enter_write(tm, a);
}

/* Every rank reads all it sees. */
static int read_whole(struct tm *tm, struct tm_access *a)
{
    bool collective = tm_chance(&tm->rng, 50);

    for (int i = 0; i < tm->h->n; i++) {
        const struct tm_view *v = &tm->h->views[i];

        a[i] = (struct tm_access){.rank = i, .collective = collective, .mem = v->etype};
        a[i].count = (int)(tm_view_before(v, tm->image.size) / v->etype->size);
        if ((int64_t)a[i].count * v->etype->extent > MAX_MEMORY)
            a[i].count = (int)(MAX_MEMORY / v->etype->extent);
        a[i].len = a[i].count * v->etype->size;
    }
    return tm->h->n;
}

int tm_plan(struct tm *tm, struct tm_access *a, bool *barrier)
{
    bool whole = tm->whole && !(tm->h->amode & MPI_MODE_WRONLY);
    int64_t pos[TM_MAX_RANKS];
    int n;

    tm->whole = false;
    memcpy(pos, tm->h->pos, sizeof pos);
    if (whole)
        n = read_whole(tm, a);
    else
        n = tm_chance(&tm->rng, 50) ? draw_collective(tm, a) : draw_independent(tm, a);
    memcpy(tm->h->pos, pos, sizeof pos);
    *barrier = tm->opt.strict && !(n && waits(tm, &a[0]));
    for (int i = 0; i < n && !*barrier; i++)
        *barrier = each_piece(tm, &a[i], conflicts);
    if (*barrier)
        tm_image_barrier(&tm->image);
    for (int i = 0; i < n; i++)
        enter(tm, &a[i]);
    return n;
}

void tm_plan_describe(const struct tm *tm, const struct tm_access *a, char *text, int len)
{
    static const char *const how[] = {"", "i", ""};
    const struct tm_view *v = &tm->h->views[a->rank];

    snprintf(text, (size_t)len,
             "access %u: rank %d %s%s%s%s%s, etype %lld on, %d x %s = %lld bytes; "
             "view: disp %lld, etype %s, filetype %s",
             a->id, a->rank, how[a->how], a->write ? "write" : "read", a->individual ? "" : "_at",
             a->collective ? "_all" : "", a->how == TM_SPLIT ? "_begin" : "", (long long)a->at,
             a->count, a->mem->text, (long long)a->len, (long long)v->disp, v->etype->text,
             v->filetype->text);
}
