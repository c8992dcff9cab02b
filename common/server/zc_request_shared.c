/* zc_request_shared.c - POINTER, LOCK and UNLOCK: what the clients share of a lent file.
 *
 * A LOCK request stays until it is granted; meanwhile PENDING tells its client to wait.  A
 * lock granted to a client that is gone is given back at once.
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

static void pointer(struct zc_request *r, struct zc_shared *shared)
{
    int rc;

    if (r->msg.what > ZC_POINTER_SET) {
        zc_request_fail(r, -EINVAL, "neither adds nor sets");
        return;
    }
    rc = zc_shared_pointer(shared, (enum zc_pointer)r->msg.what, r->msg.epoch, r->msg.off,
                           &r->reply.count);
    if (rc)
        zc_request_fail(r, rc, zc_error_text(rc));
}

static void unlock(struct zc_shared *shared, struct zc_range_lock *l)
{
    zc_shared_unlock(shared, l);
    free(grant_of(l));
}

static void answer(struct zc_server *s, struct zc_notice *n)
{
    struct zc_request *r = zc_list_entry(n, struct zc_request, finished);
    struct grant *g = r->grant;

    r->grant = NULL;
    r->reply.count = g->lock.number;
    if (r->session->dead)
        unlock(zc_export_shared(s, r->lent - 1), &g->lock);
    else
        g->request = NULL;
    zc_request_finish(r);
}

/* By any thread that unlocked something. */
static void granted(struct zc_range_lock *l)
{
    struct zc_request *r = grant_of(l)->request;

    zc_server_notify(r->session->server, &r->finished);
}

static void start_lock(struct zc_request *r, struct zc_shared *shared)
{
    struct grant *g =
        r->msg.what > ZC_LOCK_EXCLUSIVE || r->msg.len == 0 ? NULL : calloc(1, sizeof *g);

    if (!g) {
        zc_request_fail(r, -EINVAL, "a lock of no kind or no bytes");
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
    r->finished.handle = answer;
    if (zc_shared_lock(shared, &g->lock))
        answer(r->session->server, &r->finished);
}

static void end_lock(struct zc_request *r, struct zc_shared *shared)
{
    struct zc_range_lock *l = zc_shared_find(shared, r->session->id, r->msg.count);

    if (l && l->number == r->msg.count && !grant_of(l)->request)
        unlock(shared, l);
    else
        zc_request_fail(r, -EINVAL, "no such lock");
}

void zc_request_shared_start(struct zc_request *r)
{
    struct zc_shared *shared = r->lent ? zc_export_shared(r->session->server, r->lent - 1) : NULL;

    if (!shared) {
        zc_request_fail(r, -EOPNOTSUPP, "clients share nothing of this file here");
    } else if (r->msg.type == ZC_T_LOCK) {
        start_lock(r, shared);
        return;
    } else if (r->msg.type == ZC_T_POINTER) {
        pointer(r, shared);
    } else {
        end_lock(r, shared);
    }
    zc_request_finish(r);
}

void zc_request_forget_locks(struct zc_shared *shared, uint64_t session)
{
    struct zc_range_lock *l;

    for (uint64_t from = 0; (l = zc_shared_find(shared, session, from));) {
        from = l->number + 1;
        if (!grant_of(l)->request) /* else its answer is on the way, and finds nobody */
            unlock(shared, l);
    }
}
