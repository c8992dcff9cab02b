/* zc_export.c - open files of this process that all clients may use.
 *
 * An aggregator opens a file once for all ranks of an open; they learn its number by MPI and need
 * not open it each.  It does that for a communicator it is in itself (zc_server_export()), or is
 * asked to by a member of another one (OPEN for all): such an open file is closed by who asked for
 * it, or when he is gone.  Numbers have the highest bit set, handles of sessions have not.
 *
 * Entries stay where they are until the server ends.  While somebody has one in use, its handle,
 * generation and coord do not change, and need no lock: zc_server_unexport() waits.  But coord goes
 * while clients that are gone are looked for: zc_export_close() takes it, and then waits for who
 * had found it (get_nth()).
 */
#include "config.h"

#include <stdlib.h>

#include "zc_server_internal.h"

#define EXPORT_BIT (1ull << 63)

bool zc_export_number(uint64_t handle)
{
    return handle & EXPORT_BIT;
}

static uint64_t number_of(const struct zc_export *e)
{
    return EXPORT_BIT | (uint64_t)(e->generation & 0x7fffffff) << 32 | (e->index + 1);
}

static struct zc_export *find(struct zc_server *s, uint64_t number)
{
    uint32_t index = (uint32_t)number - 1;

    zc_assert_held(&s->lock);
    if (index >= s->nexports || !s->exports[index]->handle ||
        number_of(s->exports[index]) != number)
        return NULL;
    return s->exports[index];
}

/* One that is free; NULL: no memory. */
static struct zc_export *entry(struct zc_server *s)
{
    struct zc_export **more, *e;

    zc_assert_held(&s->lock);
    for (uint32_t i = 0; i < s->nexports; i++)
        if (!s->exports[i]->handle && !s->exports[i]->busy)
            return s->exports[i];
    more = realloc(s->exports, (s->nexports + 1) * sizeof *more);
    if (!more)
        return NULL;
    s->exports = more;
    e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->index = s->nexports;
    e->server = s;
    s->exports[s->nexports++] = e;
    return e;
}

static uint64_t add(struct zc_server *s, struct zc_handle *h, struct zc_coord *coord,
                    uint64_t opener, uint64_t group)
{
    struct zc_export *e;
    uint64_t number = 0;

    zc_lock_get(&s->lock);
    e = entry(s);
    if (e) {
        e->handle = h;
        e->coord = coord;
        e->opener = opener;
        e->group = group;
        e->leaving = e->orphan = e->closing = e->shut = false;
        e->generation++;
        number = number_of(e);
    }
    zc_lock_put(&s->lock);
    return number;
}

uint64_t zc_server_export(struct zc_server *s, struct zc_handle *h, struct zc_coord *coord)
{
    return add(s, h, coord, 0, 0);
}

void zc_server_unexport(struct zc_server *s, uint64_t number)
{
    struct zc_export *e;

    zc_lock_get(&s->lock);
    e = find(s, number);
    if (e) {
        e->leaving = true;
        while (e->busy)
            zc_cond_wait(&s->export_idle, &s->lock);
        e->handle = NULL;
    }
    zc_lock_put(&s->lock);
}

struct zc_export *zc_export_get(struct zc_server *s, uint64_t number)
{
    struct zc_export *e;

    zc_lock_get(&s->lock);
    e = find(s, number);
    if (e && e->leaving)
        e = NULL;
    if (e)
        e->busy++;
    zc_lock_put(&s->lock);
    return e;
}

/* On the pool; may_close() has said so. */
static void submit_close(struct zc_server *s, struct zc_export *e)
{
    e->close_work.key = zc_cache_key(e->handle);
    zc_pool_submit(s->pool, &e->close_work);
}

/* With the lock: it is to be closed now, which is said once. */
static bool may_close(struct zc_server *s, struct zc_export *e)
{
    bool yes = e->orphan && e->busy == 0 && !e->closing;

    zc_assert_held(&s->lock);
    e->closing = e->closing || yes;
    return yes;
}

/* What the clients of an orphan share; NULL: it is none, or is being closed, with all locks.  It
 * stays while the caller uses the export. */
static struct zc_coord *coord_of_orphan(struct zc_server *s, struct zc_export *e)
{
    struct zc_coord *coord;

    zc_lock_get(&s->lock);
    coord = e->orphan ? e->coord : NULL;
    zc_lock_put(&s->lock);
    return coord;
}

void zc_export_put(struct zc_server *s, struct zc_export *e)
{
    struct zc_coord *coord = coord_of_orphan(s, e);

    if (coord) /* whoever has one cannot give it back, and others wait */
        zc_request_forget_all_locks(coord);
    zc_export_release(s, e);
}

struct zc_handle *zc_export_hold(struct zc_server *s, uint64_t number, struct zc_export **out)
{
    struct zc_handle *h = NULL;

    zc_lock_get(&s->lock);
    *out = find(s, number);
    if (*out && !(*out)->shut) {
        (*out)->busy++;
        h = (*out)->handle;
    }
    zc_lock_put(&s->lock);
    return h;
}

void zc_export_release(struct zc_server *s, struct zc_export *e)
{
    bool close;

    zc_lock_get(&s->lock);
    e->busy--;
    if (e->leaving)
        pthread_cond_broadcast(&s->export_idle);
    close = may_close(s, e);
    zc_lock_put(&s->lock);
    if (close)
        submit_close(s, e);
}

/* ---- opened for all ---- */

uint64_t zc_export_open(struct zc_session *ss, struct zc_handle *h, uint64_t group)
{
    struct zc_coord *coord = zc_coord_create();
    uint64_t number;

    if (coord)
        zc_coord_share(coord, ss->server->cfg.posts);
    number = coord ? add(ss->server, h, coord, ss->id, group) : 0;

    if (!number)
        zc_coord_destroy(coord);
    return number;
}

bool zc_export_leave(struct zc_server *s, struct zc_export *e)
{
    bool alone;

    zc_lock_get(&s->lock);
    alone = e->busy == 1;
    e->leaving = e->leaving || alone;
    zc_lock_put(&s->lock);
    return alone;
}

int zc_export_close(struct zc_export *e, unsigned mine)
{
    struct zc_coord *coord;
    int rc;

    zc_lock_get(&e->server->lock);
    coord = e->coord;
    e->coord = NULL;
    while (e->busy > mine) /* for locks of a client that is gone, or with a write of another's */
        zc_cond_wait(&e->server->export_idle, &e->server->lock);
    e->shut = true;
    zc_lock_put(&e->server->lock);
    rc = zc_cache_close(e->handle);
    if (e->server->cfg.detach)
        e->server->cfg.detach(e->group);
    zc_request_forget_all_locks(coord);
    zc_lock_get(&e->server->lock);
    e->handle = NULL;
    e->orphan = false;
    zc_lock_put(&e->server->lock);
    zc_coord_destroy(coord);
    return rc;
}

/* What its opener wrote stays dirty and is written back: errors are the next flush's to tell.  What
 * others have left for it is made before. */
static void close_orphan(struct zc_work *w)
{
    struct zc_export *e = zc_list_entry(w, struct zc_export, close_work);
    int rc;

    zc_posts_settle(e->server->cfg.posts);
    rc = zc_export_close(e, 0);
    if (rc)
        zc_warn("closing what a process that is gone had opened: %s", zc_error_text(rc));
}

/* The i-th, if it is the session's, is closed when nobody is busy with it; false: there is no such
 * one, nor any behind. */
static bool orphan(struct zc_server *s, uint32_t i, uint64_t session)
{
    struct zc_export *e = NULL;
    bool end, idle = false;

    zc_lock_get(&s->lock);
    end = i >= s->nexports;
    if (!end && s->exports[i]->handle && s->exports[i]->opener == session &&
        !s->exports[i]->leaving)
        e = s->exports[i];
    if (e) {
        e->leaving = e->orphan = true;
        e->close_work.run = close_orphan;
        idle = may_close(s, e);
    }
    zc_lock_put(&s->lock);
    if (idle)
        submit_close(s, e);
    else if (e)
        zc_request_forget_all_locks(e->coord);
    return !end;
}

bool zc_export_there(struct zc_server *s, uint64_t number)
{
    bool yes;

    zc_lock_get(&s->lock);
    yes = find(s, number) != NULL;
    zc_lock_put(&s->lock);
    return yes;
}

/* Entries are few: as many as exports ever were open at a time. */
struct zc_told *zc_export_told(struct zc_session *ss, const struct zc_export *e)
{
    struct zc_told *t = NULL;

    zc_list_each (&ss->told, n)
        if (zc_list_entry(n, struct zc_told, link)->export == e)
            t = zc_list_entry(n, struct zc_told, link);
    if (!t) {
        t = calloc(1, sizeof *t);
        if (!t)
            return NULL;
        zc_list_add_tail(&ss->told, &t->link);
        t->export = e;
    } else if (t->generation == e->generation) {
        return t;
    }
    t->generation = e->generation;
    t->syncs = ZC_TOLD_NOTHING;
    return t;
}

/* The i-th if there are clients' locks to look for, in use until put: not in one that is being
 * closed, with all of them.  *coord is what they are in, which the export itself may say no more
 * when this has returned, and stays until put.  *end: there are no more. */
static struct zc_export *get_nth(struct zc_server *s, uint32_t i, struct zc_coord **coord,
                                 bool *end)
{
    struct zc_export *e = NULL;

    zc_lock_get(&s->lock);
    *end = i >= s->nexports;
    if (!*end && s->exports[i]->handle && s->exports[i]->coord && !s->exports[i]->closing)
        e = s->exports[i];
    if (e) {
        e->busy++;
        *coord = e->coord;
    }
    zc_lock_put(&s->lock);
    return e;
}

void zc_exports_forget(struct zc_server *s, uint64_t session)
{
    struct zc_coord *coord = NULL;
    bool end = false;

    for (uint32_t i = 0; !end; i++) {
        struct zc_export *e = get_nth(s, i, &coord, &end);

        if (!e)
            continue;
        zc_request_forget_locks(coord, session);
        zc_export_put(s, e);
    }
    for (uint32_t i = 0; orphan(s, i, session);)
        i++;
}

void zc_exports_free(struct zc_server *s)
{
    for (uint32_t i = 0; i < s->nexports; i++)
        free(s->exports[i]);
    free(s->exports);
}
