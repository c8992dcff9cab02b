/* zc_behind.c - which clients leave writes in memory (zc_posts.h), and messages that come after
 * writes which are not made yet, since the cache has no room or reads what they change.
 *
 * Such a message waits, and all that come later and see files wait behind it, in order, until the
 * writes are made; not for those that are left meanwhile, or it might wait for ever.  A client has
 * as many waiting as it may have requests under way; it is told that they are worked on.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_posts.h"
#include "zc_server_internal.h"

struct behind {
    struct zc_list link; /* zc_server.behind */
    uint64_t session, tag;
    uint64_t until; /* of what was left before it (zc_posts_now()) */
    uint64_t last_sign;
    size_t len;
    unsigned char bytes[];
};

/* ---- messages that wait ---- */

/* Whether nothing has to be waited for; else we are told when that is over. */
static bool settled(struct zc_server *s, uint64_t until)
{
    if (!s->behind_told) {
        s->behind_wait.until = until;
        s->behind_told = !zc_posts_settled(s->cfg.posts, &s->behind_wait);
    }
    return !s->behind_told;
}

static void over(struct zc_posts_wait *w)
{
    struct zc_server *s = zc_list_entry(w, struct zc_server, behind_wait);

    zc_server_notify(s, &s->behind_over);
}

static void go_on(struct zc_server *s, struct behind *b)
{
    struct zc_session *ss = zc_session_find(s, b->session);
    struct zc_msg m;

    if (!ss) /* it is gone, and so is who would hear the answer */
        return;
    ss->behind--;
    if (zc_msg_decode(&m, b->bytes, b->len) == 0)
        zc_request_arrived(s, ss, &m);
}

static void serve(struct zc_server *s, struct zc_notice *n)
{
    (void)n;
    s->behind_told = false;
    while (!zc_list_empty(&s->behind)) {
        struct behind *b = zc_list_entry(s->behind.next, struct behind, link);

        if (!settled(s, b->until))
            break;
        zc_list_del(&b->link);
        go_on(s, b);
        free(b);
    }
}

static bool sees_bytes(const struct zc_msg *m)
{
    const struct zc_request_kind *k = zc_request_kind(m->type);

    return k && k->flags & ZC_KIND_BYTES;
}

bool zc_behind_keep(struct zc_session *ss, const struct zc_msg *m, const void *buf, size_t len)
{
    struct zc_server *s = ss->server;
    struct behind *b;
    uint64_t until;

    if (!s->cfg.posts || !sees_bytes(m))
        return false;
    until = zc_posts_now(s->cfg.posts);
    zc_debug_assert(s->behind_told || zc_list_empty(&s->behind)); /* else serve() had gone on */
    if (settled(s, until))
        return false;
    b = ss->behind < ss->purse.credits * 2 ? malloc(sizeof *b + len) : NULL;
    if (!b) {
        struct zc_msg reply = {.type = m->type, .tag = m->tag};

        s->stats.requests_refused++;
        zc_session_reply(ss, &reply, -EBUSY, "too many requests at once, or no memory for them");
        return true;
    }
    b->session = ss->id;
    b->tag = m->tag;
    b->until = until;
    b->last_sign = zc_now();
    b->len = len;
    memcpy(b->bytes, buf, len);
    ss->behind++;
    zc_list_add_tail(&s->behind, &b->link);
    return true;
}

void zc_behind_tick(struct zc_server *s, uint64_t now)
{
    zc_list_each (&s->behind, n) {
        struct behind *b = zc_list_entry(n, struct behind, link);
        struct zc_session *ss = zc_session_find(s, b->session);
        struct zc_msg m = {.type = ZC_T_PENDING, .tag = b->tag};

        if (!ss || now - b->last_sign < ss->silence_ns / 4)
            continue;
        b->last_sign = now;
        if (zc_session_notify(ss, &m) == 0)
            s->stats.pending_sent++;
    }
}

/* ---- who leaves writes ---- */

static struct zc_handle *get(void *server, uint64_t number, void **kept)
{
    struct zc_export *e;
    struct zc_handle *h = zc_export_hold(server, number, &e);

    *kept = e;
    return h;
}

static void put(void *server, void *kept)
{
    zc_export_release(server, kept);
}

/* Pages are shown: where that is. */
static void show_where(const struct zc_server *s, struct zc_msg *reply)
{
    size_t len;
    int fd;

    if (!s->cfg.shows || !zc_cache_glances(s->cfg.cache, &fd, &reply->glances, &len))
        return;
    reply->glances_fd = (uint32_t)fd;
    reply->glances_len = len;
}

void zc_request_postbox(struct zc_request *r)
{
    struct zc_session *ss = r->session;
    struct zc_server *s = ss->server;
    const struct zc_posts_files files = {get, put, s};
    int rc = 0, board, box;

    if (!s->cfg.posts || !zc_tp_is_local(s->tp, ss->peer))
        rc = zc_errorf(EOPNOTSUPP, "nothing is left in memory here");
    else if (ss->box)
        rc = zc_errorf(EEXIST, "there is one already");
    else if (!zc_account_keep(&s->account, &ss->purse, ZC_POSTBOX))
        rc = zc_errorf(ENOMEM, "no memory to share with this process");
    if (rc == 0) {
        rc = zc_posts_open(s->cfg.posts, &files, &ss->box);
        if (rc)
            zc_account_give(&s->account, &ss->purse, ZC_POSTBOX);
    }
    if (rc == 0) {
        zc_posts_descriptors(ss->box, &board, &box);
        r->reply.board_fd = (uint32_t)board;
        r->reply.box_fd = (uint32_t)box;
        show_where(s, &r->reply);
    }
    zc_request_check(r, rc);
    zc_request_finish(r);
}

void zc_behind_leave(struct zc_session *ss)
{
    if (ss->box)
        zc_posts_close(ss->box);
    ss->box = NULL;
}

/* ---- beginning and end ---- */

void zc_behind_init(struct zc_server *s)
{
    zc_list_init(&s->behind);
    zc_list_init(&s->behind_wait.link);
    s->behind_wait.over = over;
    s->behind_over.handle = serve;
}

void zc_behind_end(struct zc_server *s)
{
    struct zc_list *n;

    while ((n = zc_list_pop(&s->behind)))
        free(zc_list_entry(n, struct behind, link));
    if (s->cfg.posts)
        zc_posts_unwait(s->cfg.posts, &s->behind_wait);
}

void zc_behind_empty(struct zc_server *s)
{
    if (s->cfg.posts)
        zc_posts_end(s->cfg.posts, s);
}
