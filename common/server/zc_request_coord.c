/* zc_request_coord.c - POINTER, LOCK and UNLOCK: shared state of an exported file.
 *
 * A LOCK request stays until it is granted; meanwhile its client gets PENDING.  A lock granted to a
 * client that is gone is released at once.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "zc_log.h"
#include "zc_server_internal.h"

/* A lock of a client; lives until it is unlocked. */
struct grant {
    struct zc_range_lock lock;
    struct zc_request *request; /* NULL once answered */
};

static struct grant *grant_of(struct zc_range_lock *l)
{
    return zc_list_entry(l, struct grant, lock);
}

/* Returns the state shared by the clients; NULL: the request has been ended. */
static struct zc_coord *coord_of(struct zc_request *r)
{
    struct zc_coord *coord = r->export ? r->export->coord : NULL;

    if (!coord) {
        zc_request_fail(r, -EOPNOTSUPP, "clients share nothing of this file here");
        zc_request_finish(r);
    }
    return coord;
}

void zc_request_pointer(struct zc_request *r)
{
    struct zc_coord *coord = coord_of(r);

    if (!coord)
        return;
    if (r->msg.what > ZC_POINTER_SET)
        zc_request_fail(r, -EINVAL, "neither adds nor sets");
    else
        zc_error_join(&r->error, zc_coord_pointer(coord, (enum zc_pointer)r->msg.what, r->msg.epoch,
                                                  r->msg.off, &r->reply.count));
    if (r->session->ring_writer)
        r->reply.control_at = zc_coord_shared(coord);
    zc_request_finish(r);
}

static void unlock(struct zc_coord *coord, struct zc_range_lock *l)
{
    zc_coord_unlock(coord, l);
    free(grant_of(l));
}

static void answer(struct zc_request *r)
{
    struct grant *g = r->grant;

    r->grant = NULL;
    r->reply.count = g->lock.number;
    if (zc_session_gone(r->session))
        unlock(r->export->coord, &g->lock);
    else
        g->request = NULL;
    zc_request_finish(r);
}

/* Called by any thread that unlocks. */
static void granted(struct zc_range_lock *l)
{
    zc_request_resume(grant_of(l)->request);
}

void zc_request_lock(struct zc_request *r)
{
    struct zc_coord *coord = coord_of(r);
    struct grant *g;

    if (!coord)
        return;
    if (r->msg.what > ZC_LOCK_EXCLUSIVE || r->msg.len == 0) {
        zc_request_fail(r, -EINVAL, "a lock of no kind or no bytes");
        zc_request_finish(r);
        return;
    }
    g = calloc(1, sizeof *g);
    if (!g) {
        zc_request_fail(r, -ENOMEM, "no memory for a lock");
        zc_request_finish(r);
        return;
    }
    g->lock = (struct zc_range_lock){.off = r->msg.off,
                                     .len = r->msg.len,
                                     .exclusive = r->msg.what == ZC_LOCK_EXCLUSIVE,
                                     .owner = r->session->id,
                                     .granted = granted};
    g->request = r;
    r->grant = g;
    r->then = answer;
    if (zc_coord_lock(coord, &g->lock))
        answer(r);
}

void zc_request_unlock(struct zc_request *r)
{
    struct zc_coord *coord = coord_of(r);
    struct zc_range_lock *l;

    if (!coord)
        return;
    l = zc_coord_find(coord, &r->session->id, r->msg.count);
    if (l && l->number == r->msg.count && !grant_of(l)->request)
        unlock(coord, l);
    else
        zc_request_fail(r, -EINVAL, "no such lock");
    zc_request_finish(r);
}

/* Requests that wait behind these are answered then. */
void zc_request_forget_locks(struct zc_coord *coord, const uint64_t *session)
{
    struct zc_range_lock *l;

    for (uint64_t from = 0; (l = zc_coord_find(coord, session, from));) {
        from = l->number + 1;
        if (!grant_of(l)->request) /* else its reply is under way, without a receiver */
            unlock(coord, l);
    }
}
