/* zc_export.c - open files of this process that all clients may use.
 *
 * An aggregator opens a file once for the whole job; the ranks learn its number by MPI and
 * need not open it each.  Numbers have the highest bit set, handles of sessions have not.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "zc_server_internal.h"

#define EXPORT_BIT (1ull << 63)

bool zc_export_number(uint64_t handle)
{
    return handle & EXPORT_BIT;
}

static uint64_t number_of(const struct zc_export *e, uint32_t index)
{
    return EXPORT_BIT | (uint64_t)(e->generation & 0x7fffffff) << 32 | (index + 1);
}

static struct zc_export *find(struct zc_server *s, uint64_t handle)
{
    uint32_t index = (uint32_t)handle - 1;

    zc_assert_held(&s->lock);
    if (index >= s->nexports || !s->exports[index].handle ||
        number_of(&s->exports[index], index) != handle)
        return NULL;
    return &s->exports[index];
}

/* A free entry; the array may move. */
static struct zc_export *entry(struct zc_server *s)
{
    struct zc_export *more;

    for (uint32_t i = 0; i < s->nexports; i++)
        if (!s->exports[i].handle)
            return &s->exports[i];
    more = realloc(s->exports, (s->nexports + 8) * sizeof *more);
    if (!more)
        return NULL;
    memset(more + s->nexports, 0, 8 * sizeof *more);
    s->exports = more;
    s->nexports += 8;
    return &more[s->nexports - 8];
}

uint64_t zc_server_export(struct zc_server *s, struct zc_handle *h, struct zc_coord *coord)
{
    struct zc_export *e;
    uint64_t number = 0;

    zc_lock_get(&s->lock);
    e = entry(s);
    if (e) {
        e->handle = h;
        e->coord = coord;
        e->busy = 0;
        e->leaving = false;
        e->generation++;
        number = number_of(e, (uint32_t)(e - s->exports));
    }
    zc_lock_put(&s->lock);
    return number;
}

void zc_server_unexport(struct zc_server *s, uint64_t number)
{
    struct zc_export *e;

    zc_lock_get(&s->lock);
    e = find(s, number);
    if (e)
        e->leaving = true;
    while ((e = find(s, number)) && e->busy)
        zc_cond_wait(&s->export_idle, &s->lock);
    if (e)
        e->handle = NULL;
    zc_lock_put(&s->lock);
}

struct zc_handle *zc_export_get(struct zc_server *s, uint64_t handle, uint32_t *index)
{
    struct zc_handle *h = NULL;
    struct zc_export *e;

    zc_lock_get(&s->lock);
    e = find(s, handle);
    if (e && !e->leaving) {
        e->busy++;
        h = e->handle;
        *index = (uint32_t)(e - s->exports);
    }
    zc_lock_put(&s->lock);
    return h;
}

void zc_export_put(struct zc_server *s, uint32_t index)
{
    zc_lock_get(&s->lock);
    if (--s->exports[index].busy == 0)
        pthread_cond_broadcast(&s->export_idle);
    zc_lock_put(&s->lock);
}

/* Entries are few: as many as exports ever were open at a time. */
struct zc_told *zc_export_told(struct zc_session *ss, uint32_t index)
{
    struct zc_told *t = NULL;
    uint32_t generation;

    zc_lock_get(&ss->server->lock);
    generation = ss->server->exports[index].generation;
    zc_lock_put(&ss->server->lock);
    zc_list_each (&ss->told, n)
        if (zc_list_entry(n, struct zc_told, link)->export == index)
            t = zc_list_entry(n, struct zc_told, link);
    if (!t) {
        t = calloc(1, sizeof *t);
        if (!t)
            return NULL;
        zc_list_add_tail(&ss->told, &t->link);
        t->export = index;
    } else if (t->generation == generation) {
        return t;
    }
    t->generation = generation;
    t->syncs = ZC_TOLD_NOTHING;
    return t;
}

struct zc_coord *zc_export_coord(struct zc_server *s, uint32_t index)
{
    struct zc_coord *coord;

    zc_lock_get(&s->lock);
    coord = s->exports[index].coord;
    zc_lock_put(&s->lock);
    return coord;
}

/* The i-th file, in use until put, if clients share something of it. */
static struct zc_coord *get_coord(struct zc_server *s, uint32_t i, bool *end)
{
    struct zc_coord *coord = NULL;

    zc_lock_get(&s->lock);
    *end = i >= s->nexports;
    if (!*end && s->exports[i].handle)
        coord = s->exports[i].coord;
    if (coord)
        s->exports[i].busy++;
    zc_lock_put(&s->lock);
    return coord;
}

void zc_exports_forget(struct zc_server *s, uint64_t session)
{
    bool end = false;

    for (uint32_t i = 0; !end; i++) {
        struct zc_coord *coord = get_coord(s, i, &end);

        if (!coord)
            continue;
        zc_request_forget_locks(coord, session);
        zc_export_put(s, i);
    }
}
