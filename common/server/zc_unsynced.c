/* zc_unsynced.c - the files that a client has written and not synced when it vanishes.
 *
 * What a client has sent is kept.  But a client that writes may be one with a cache of its own, an
 * aggregator, and what that had not sent is lost with it.  A client that has synced or closed all
 * files that it wrote to had nothing to send; another one may have, so the server counts and logs
 * it when it goes without a goodbye.
 *
 * On the server's thread.
 */
#include "config.h"

#include <stdlib.h>

#include "zc_server_internal.h"

static struct zc_unsynced *of_request(struct zc_request *r)
{
    struct zc_session_errseq *t;

    if (r->slot)
        return &r->session->slots[r->slot - 1].unsynced;
    t = r->export ? zc_export_errseq(r->session, r->export) : NULL;
    return t ? &t->unsynced : NULL;
}

void zc_unsynced_wrote(struct zc_request *r)
{
    struct zc_unsynced *u = of_request(r);

    if (u)
        u->written++;
}

void zc_unsynced_flush(struct zc_request *r)
{
    struct zc_unsynced *u = of_request(r);

    r->written = u ? u->written : 0;
}

void zc_unsynced_flushed(struct zc_request *r)
{
    struct zc_unsynced *u = r->error.rc ? NULL : of_request(r);

    if (u && u->synced < r->written)
        u->synced = r->written;
}

static bool is_unsynced(const struct zc_unsynced *u)
{
    return u->synced < u->written;
}

bool zc_unsynced_any(struct zc_session *ss)
{
    struct zc_server *s = ss->server;
    bool any = false;

    for (uint32_t i = 0; i < ss->nslots; i++)
        any = any || (ss->slots[i].handle && is_unsynced(&ss->slots[i].unsynced));
    zc_lock_get(&s->lock);
    zc_list_each (&ss->errseqs, n) {
        const struct zc_session_errseq *t = zc_list_entry(n, struct zc_session_errseq, link);
        bool open = t->export->handle && t->export->generation == t->generation;

        any = any || (open && is_unsynced(&t->unsynced));
    }
    zc_lock_put(&s->lock);
    return any;
}
