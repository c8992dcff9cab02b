/* zc_export.c - open files of this process that all clients may use.
 *
 * An aggregator opens a file once for all ranks of an open, which learn its number by MPI and need
 * no open of their own.  It does so for a communicator that it is a member of (zc_server_export()),
 * or on request of a member of another one (OPEN for all): such a file is closed by its opener, or
 * when that is gone; with ZC_EXPORTS_STAY, when no session is left.  Numbers have the highest bit
 * set, handles of sessions do not.
 *
 * Entries stay in place until the server ends.  While an entry is in use, its handle, generation
 * and coord do not change, and need no lock: zc_server_unexport() waits.  One exception:
 * zc_export_close() takes coord while locks of vanished clients are searched, and then waits for
 * the users that have found it (get_nth()).
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

/* Returns a free entry; NULL: no memory. */
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
        e->leaving = e->left = e->orphan = e->closing = e->shut = false;
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

/* On the pool; may_close() has agreed. */
static void submit_close(struct zc_server *s, struct zc_export *e)
{
    e->close_work.key = zc_cache_key(e->handle);
    zc_pool_submit(s->pool, &e->close_work);
}

/* With the lock: whether it has to be closed now; true only once. */
static bool may_close(struct zc_server *s, struct zc_export *e)
{
    bool yes = e->orphan && e->busy == 0 && !e->closing;

    zc_assert_held(&s->lock);
    e->closing = e->closing || yes;
    return yes;
}

/* Returns the coord of an orphan; NULL: it is none, or is being closed, with all locks.  Valid
 * while the caller uses the export. */
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

    if (coord) /* a lock holder cannot release it, and others wait */
        zc_request_forget_locks(coord, NULL);
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
        zc_coord_use_ring(coord, ss->server->cfg.shmring);
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
    while (e->busy > mine) /* for locks of a vanished client, or another client's write */
        zc_cond_wait(&e->server->export_idle, &e->server->lock);
    e->shut = true;
    zc_lock_put(&e->server->lock);
    rc = zc_cache_close(e->handle);
    if (e->server->cfg.detach)
        e->server->cfg.detach(e->group);
    zc_request_forget_locks(coord, NULL);
    zc_lock_get(&e->server->lock);
    e->handle = NULL;
    e->orphan = false;
    zc_lock_put(&e->server->lock);
    zc_coord_destroy(coord);
    return rc;
}

/* Closes an orphan.  Dirty bytes of its opener are written back, and the next flush reports errors.
 * Ring entries of others are applied before. */
static void close_orphan(struct zc_work *w)
{
    struct zc_export *e = zc_list_entry(w, struct zc_export, close_work);
    int rc;

    zc_shmring_drain(e->server->cfg.shmring);
    rc = zc_export_close(e, 0);
    if (rc)
        zc_warn("closing what a process that is gone had opened: %s", zc_error_text(rc));
}

/* Closes the i-th, if it is the session's, when it is not busy; false: there is none at i or
 * beyond.  `stay`: notes instead that it was the session's; without, what was noted goes, too. */
static bool orphan(struct zc_server *s, uint32_t i, uint64_t session, bool stay)
{
    struct zc_export *e = NULL;
    bool end, idle = false;

    zc_lock_get(&s->lock);
    end = i >= s->nexports;
    if (!end && s->exports[i]->handle && !s->exports[i]->leaving &&
        (s->exports[i]->opener == session || s->exports[i]->left))
        e = s->exports[i];
    if (e && stay) {
        e->left = true;
        e = NULL;
    }
    if (e) {
        e->leaving = e->orphan = true;
        e->close_work.run = close_orphan;
        idle = may_close(s, e);
    }
    zc_lock_put(&s->lock);
    if (idle)
        submit_close(s, e);
    else if (e)
        zc_request_forget_locks(e->coord, NULL);
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

/* Entries are few: as many as exports were ever open at a time. */
struct zc_session_errseq *zc_export_errseq(struct zc_session *ss, const struct zc_export *e)
{
    struct zc_session_errseq *t = NULL;

    zc_list_each (&ss->errseqs, n)
        if (zc_list_entry(n, struct zc_session_errseq, link)->export == e)
            t = zc_list_entry(n, struct zc_session_errseq, link);
    if (!t) {
        t = calloc(1, sizeof *t);
        if (!t)
            return NULL;
        zc_list_add_tail(&ss->errseqs, &t->link);
        t->export = e;
    } else if (t->generation == e->generation) {
        return t;
    }
    t->generation = e->generation;
    t->syncs = ZC_ERRSEQ_NONE;
    t->unsynced = (struct zc_unsynced){0, 0};
    return t;
}

/* Gets the i-th if clients' locks have to be searched there, in use until put: not one that is
 * being closed, with all of them.  *coord has the locks, and is valid until put, even if the export
 * drops it meanwhile.  *end: there are no more. */
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
    bool end = false, stay;

    for (uint32_t i = 0; !end; i++) {
        struct zc_export *e = get_nth(s, i, &coord, &end);

        if (!e)
            continue;
        zc_request_forget_locks(coord, &session);
        zc_export_put(s, e);
    }
    stay = s->cfg.exports == ZC_EXPORTS_STAY && !zc_list_empty(&s->sessions);
    for (uint32_t i = 0; orphan(s, i, session, stay);)
        i++;
}

void zc_exports_free(struct zc_server *s)
{
    for (uint32_t i = 0; i < s->nexports; i++)
        free(s->exports[i]);
    free(s->exports);
}
