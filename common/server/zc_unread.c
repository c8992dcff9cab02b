/* zc_unread.c - clients that are not read any more.
 *
 * Who keeps to his credits and takes his answers has never more under way, and answers waiting for
 * him, than his allowance is (zc_account.h).  Who has more waits: one message stays until enough
 * has gone, and further ones, which only those send who do not keep to their credits, are
 * thrown away.  So nobody else notices, and he himself goes on where he was when he takes his
 * answers.
 *
 * The fabric may not have told yet that an answer has arrived whose taker speaks again already: his
 * message waits then, for moments.  What shows that a client is alive, or ends its session, waits
 * for nothing.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_server_internal.h"

enum { LONGEST = ZC_MAX_PATH + 1024 }; /* of who keeps to what he was told, but for his data */

struct zc_unread {
    struct zc_list link; /* zc_server.unread */
    struct zc_session *session;
    size_t len;
    unsigned char bytes[];
};

bool zc_session_overdrawn(const struct zc_session *ss)
{
    return ss->purse.active + zc_tp_backlog(ss->server->tp, ss->peer) > ss->purse.allowance;
}

bool zc_session_stalled(const struct zc_session *ss)
{
    return zc_tp_backlog(ss->server->tp, ss->peer) > ss->purse.allowance + ZC_ACCOUNT_NOTICES;
}

static bool may_be_read(const struct zc_session *ss, const struct zc_msg *m)
{
    if (m->type == ZC_T_BYE)
        return true;
    if (m->type == ZC_T_PING)
        return !zc_session_stalled(ss);
    return !ss->unread && !zc_session_overdrawn(ss);
}

bool zc_unread_keep(struct zc_session *ss, const struct zc_msg *m, const void *buf, size_t len)
{
    struct zc_server *s = ss->server;
    struct zc_unread *u;

    if (may_be_read(ss, m))
        return false;
    s->stats.unread++;
    if (ss->unread || m->type == ZC_T_PING || len > LONGEST + ss->purse.max_inline)
        return true;
    u = malloc(sizeof *u + len);
    if (!u)
        return true;
    u->session = ss;
    u->len = len;
    memcpy(u->bytes, buf, len);
    ss->unread = u;
    zc_list_add_tail(&s->unread, &u->link);
    return true;
}

void zc_unread_forget(struct zc_session *ss)
{
    if (!ss->unread)
        return;
    zc_list_del(&ss->unread->link);
    free(ss->unread);
    ss->unread = NULL;
}

void zc_unread_serve(struct zc_server *s)
{
    zc_list_each_safe (&s->unread, n) {
        struct zc_unread *u = zc_list_entry(n, struct zc_unread, link);
        struct zc_session *ss = u->session;
        struct zc_msg m;

        if (ss->state != ZC_SESSION_ALIVE || zc_session_overdrawn(ss))
            continue;
        zc_list_del(&u->link);
        ss->unread = NULL;
        if (zc_msg_decode(&m, u->bytes, u->len) == 0 && !zc_behind_keep(ss, &m, u->bytes, u->len))
            zc_request_arrived(s, ss, &m);
        free(u);
    }
}
