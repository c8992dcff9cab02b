/* zc_open_conflict.c - OPENs that meet a file open in another way: through another set of daemons,
 * or in blocks of another size than the opener's other daemons have agreed to.
 *
 * Clients that were killed keep their files open until their silence is long enough (reliable
 * datagrams hide dead peers), and shall not keep a new job from its file; those that live shall. So
 * the OPEN waits for a sign of life of a session that has the file:
 *
 *     OPEN, others have it so --> waits --> one of those sessions was heard since: refused
 *            ^                      |
 *            +----------------------+  none of them is left
 *
 * Clients say something every quarter of their silence.  PENDING tells the opener that it waits.
 */
#include "config.h"

#include <errno.h>

#include "zc_log.h"
#include "zc_server_internal.h"

static bool excludes(const struct zc_attr *a, const struct zc_request *r)
{
    bool set = a->set.id && r->msg.set && a->set.id != r->msg.set;
    bool blocks = r->block_size &&
                  (a->block_size != r->block_size || a->width != r->width || a->first != r->first);

    return a->dev == r->attr.dev && a->ino == r->attr.ino && (set || blocks);
}

static bool has_it(const struct zc_session *ss, const struct zc_request *r)
{
    for (uint32_t i = 0; i < ss->nslots; i++)
        if (ss->slots[i].handle && excludes(&ss->slots[i].attr, r))
            return true;
    return false;
}

enum holders { NONE, UNHEARD, ALIVE };

static enum holders holders(struct zc_server *s, const struct zc_request *r)
{
    enum holders most = NONE;

    zc_list_each (&s->sessions, n) {
        const struct zc_session *ss = zc_list_entry(n, struct zc_session, link);

        if (ss->state != ZC_SESSION_ALIVE || !has_it(ss, r))
            continue;
        if (ss == r->session || ss->heard > r->conflict_since)
            return ALIVE;
        most = UNHEARD;
    }
    return most;
}

bool zc_open_conflict_wait(struct zc_request *r)
{
    struct zc_server *s = r->session->server;

    if (!r->conflict_since)
        r->conflict_since = zc_now();
    if (s->stopping || zc_session_gone(r->session) || holders(s, r) == ALIVE)
        return false;
    zc_list_add_tail(&s->conflicts, &r->conflict);
    return true;
}

void zc_open_conflicts_check(struct zc_server *s)
{
    zc_list_each_safe (&s->conflicts, n) {
        struct zc_request *r = zc_list_entry(n, struct zc_request, conflict);

        if (!s->stopping && !zc_session_gone(r->session) && holders(s, r) == UNHEARD)
            continue;
        zc_list_del(&r->conflict);
        if (s->stopping || zc_session_gone(r->session) || holders(s, r) == ALIVE) {
            zc_request_finish(r);
        } else {
            r->error.rc = 0;
            zc_request_open(r);
        }
    }
}
