/* zc_backpressure.c - stops reading from clients that do not take their replies.
 *
 * A client that keeps to its credits and takes its replies never has more requests under way and
 * replies waiting than its quota (zc_session_mem.h).  From a client above it one message is kept
 * until enough has been released, and further ones, which only a client that ignores its credits
 * sends, are thrown away.  Other clients are not affected, and this one continues where it was when
 * it takes its replies.
 *
 * The fabric may report the delivery of a reply after its receiver's next message has arrived: that
 * message waits then, for moments.  Heartbeats and the end of a session never wait.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_server_internal.h"

enum { LONGEST = ZC_MAX_PATH + 1024 }; /* maximum from a correct client, without data */

struct zc_backpressure {
    struct zc_list link; /* zc_server.unread */
    struct zc_session *session;
    size_t len;
    unsigned char bytes[];
};

bool zc_session_overdrawn(const struct zc_session *ss)
{
    return ss->quota.active + zc_tp_backlog(ss->server->tp, ss->peer) > ss->quota.limit;
}

bool zc_session_stalled(const struct zc_session *ss)
{
    return zc_tp_backlog(ss->server->tp, ss->peer) > ss->quota.limit + ZC_SESSION_MEM_NOTICES;
}

static bool may_be_read(const struct zc_session *ss, const struct zc_msg *m)
{
    if (m->type == ZC_T_BYE)
        return true;
    if (m->type == ZC_T_PING)
        return !zc_session_stalled(ss);
    return !ss->unread && !zc_session_overdrawn(ss);
}

bool zc_backpressure_keep(struct zc_session *ss, const struct zc_msg *m, const void *buf,
                          size_t len)
{
    struct zc_server *s = ss->server;
    struct zc_backpressure *u;

    if (may_be_read(ss, m))
        return false;
    s->stats.unread++;
    if (ss->unread || m->type == ZC_T_PING || len > LONGEST + ss->quota.max_inline)
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

void zc_backpressure_forget(struct zc_session *ss)
{
    if (!ss->unread)
        return;
    zc_list_del(&ss->unread->link);
    free(ss->unread);
    ss->unread = NULL;
}

void zc_backpressure_serve(struct zc_server *s)
{
    zc_list_each_safe (&s->unread, n) {
        struct zc_backpressure *u = zc_list_entry(n, struct zc_backpressure, link);
        struct zc_session *ss = u->session;
        struct zc_msg m;

        if (ss->state != ZC_SESSION_ALIVE || zc_session_overdrawn(ss))
            continue;
        zc_list_del(&u->link);
        ss->unread = NULL;
        if (zc_msg_decode(&m, u->bytes, u->len) == 0)
            zc_request_arrived(s, ss, &m, (struct zc_bytes){u->bytes, (uint32_t)u->len});
        free(u);
    }
}
