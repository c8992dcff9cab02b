/* zc_server_check.c - the invariants of zc_server_internal.h that can be checked from the main
 * loop.
 *
 * In a build with --enable-debug every tick checks them; else nothing is compiled in.
 */
#include "config.h"

#include "zc_transfer_internal.h"

#ifdef ZC_DEBUG

/* Sessions whose writes are taken out of shared memory use exports on other threads
 * (zc_request_ring.c). */
static bool in_use(struct zc_server *s, const struct zc_export *e)
{
    bool yes;

    zc_lock_get(&s->lock);
    yes = e->busy > 0;
    zc_lock_put(&s->lock);
    return yes;
}

/* 4 and 5; how many requests it has under way, and how many of them have a list in memory. */
static uint64_t check_session(struct zc_session *ss, unsigned *lists)
{
    uint64_t n = 0, with_slot = 0, busy = 0, cost = 0;

    zc_list_each (&ss->requests, i) {
        const struct zc_request *r = zc_list_entry(i, struct zc_request, link);

        assert(r->session == ss);
        assert(!r->export || in_use(ss->server, r->export));
        with_slot += r->slot != 0;
        cost += r->cost;
        *lists += r->transfer && r->transfer->listed;
        n++;
    }
    assert(n == ss->nrequests);
    assert(cost == ss->quota.active);
    assert(n == 0 || (ss->state != ZC_SESSION_REFUSED && ss->state != ZC_SESSION_CLOSING));
    for (uint32_t i = 0; i < ss->nslots; i++)
        busy += ss->slots[i].handle ? ss->slots[i].busy : 0;
    /* the pool owns a handle that it closes */
    assert(ss->state == ZC_SESSION_CLOSING || busy == with_slot);
    return n;
}

void zc_server_check(struct zc_server *s)
{
    uint64_t shaking = 0, sessions = 0, requests = 0;
    unsigned lists = 0;

    zc_list_each (&s->shaking, i) {
        struct zc_session *ss = zc_list_entry(i, struct zc_session, link);

        assert(!ss->accepted && ss->state != ZC_SESSION_ALIVE && ss->state < ZC_SESSION_LEAVING);
        assert(check_session(ss, &lists) == 0);
        shaking++;
    }
    zc_list_each (&s->sessions, i) {
        struct zc_session *ss = zc_list_entry(i, struct zc_session, link);

        assert(ss->accepted && ss->state < ZC_SESSION_LEAVING);
        requests += check_session(ss, &lists);
        sessions++;
    }
    zc_list_each (&s->leaving, i) {
        struct zc_session *ss = zc_list_entry(i, struct zc_session, link);

        assert(ss->state >= ZC_SESSION_LEAVING);
        requests += check_session(ss, &lists);
    }
    assert(sessions == s->stats.sessions);
    assert(shaking == s->stats.handshakes);
    assert(requests == s->stats.requests_active);
    assert(zc_few_is_served(&s->bounce.few) && zc_few_is_served(&s->lists));
    assert(s->bounce.few.free + s->bounce.lost <= s->bounce.nsets * ZC_SERVER_BOUNCE);
    assert(s->installs > 0 || zc_list_empty(&s->installs_waiting));
    assert(s->lists.all - s->lists.free == lists);
    zc_assert_none_held();
}

#else

void zc_server_check(struct zc_server *s)
{
    (void)s;
}

#endif
