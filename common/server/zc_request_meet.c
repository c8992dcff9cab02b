/* zc_request_meet.c - MEET: the cards that clients leave at files for others of their jobs.
 *
 * A card is its session's, and gone when that is.  What is longer than a message comes and goes in
 * pieces: a session leaves one card at a time and reads one at a time, and the one that it
 * reads stays for it, whatever becomes of it meanwhile.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_box.h"
#include "zc_log.h"
#include "zc_server_internal.h"

static void give(struct zc_session *ss, size_t bytes)
{
    zc_account_give(&ss->server->account, &ss->purse, bytes);
}

static bool keep(struct zc_session *ss, size_t bytes)
{
    return zc_account_keep(&ss->server->account, &ss->purse, bytes);
}

static void drop_pieces(struct zc_session *ss)
{
    struct zc_meeting *m = &ss->meeting;

    give(ss, m->room);
    free(m->buf);
    m->buf = NULL;
    m->size = m->at = m->room = 0;
}

/* Answers with bytes of the card that the session reads. */
static void tell(struct zc_request *r, uint64_t off)
{
    const struct zc_laid *l = r->session->meeting.reads;
    uint64_t left = l->len - off;

    r->reply.count = l->number;
    r->reply.size = l->len;
    r->reply.data.p = l->bytes + off;
    r->reply.data.n = left < ZC_MAX_CARD_PIECE ? (uint32_t)left : ZC_MAX_CARD_PIECE;
}

/* Memory for `n` bytes more: twice of what has come at most, whatever is announced. */
static int make_room(struct zc_session *ss, uint64_t n)
{
    struct zc_meeting *m = &ss->meeting;
    uint64_t room = m->room ? m->room : n;
    unsigned char *more;

    while (room < m->at + n)
        room *= 2;
    if (room > m->size)
        room = m->size;
    if (room == m->room)
        return 0;
    if (!keep(ss, room - m->room))
        return zc_errorf(EDQUOT, "no memory for a card more of this process");
    more = realloc(m->buf, room);
    if (!more) {
        give(ss, room - m->room);
        return zc_errorf(ENOMEM, "no memory for a card");
    }
    m->buf = more;
    m->room = room;
    return 0;
}

/* Pieces come in order, the first one at 0. */
static int add_piece(struct zc_session *ss, const struct zc_msg *msg)
{
    struct zc_meeting *m = &ss->meeting;
    int rc;

    if (msg->off == 0) {
        drop_pieces(ss);
        m->size = msg->size;
    }
    if (!m->size || msg->size != m->size || msg->off != m->at || msg->data.n == 0 ||
        msg->data.n > m->size - m->at)
        return zc_errorf(EINVAL, "a piece of a card out of order");
    rc = make_room(ss, msg->data.n);
    if (rc)
        return rc;
    memcpy(m->buf + m->at, msg->data.p, msg->data.n);
    m->at += msg->data.n;
    return 0;
}

/* Others may have replaced cards of ours. */
static void settle(struct zc_session *ss)
{
    struct zc_meeting *m = &ss->meeting;

    if (m->kept > m->cards.bytes)
        give(ss, m->kept - m->cards.bytes);
    m->kept = m->cards.bytes;
}

static int lay(struct zc_request *r, const struct zc_cards_key *key)
{
    struct zc_session *ss = r->session;
    struct zc_meeting *m = &ss->meeting;
    size_t cost = zc_cards_cost(key, m->size);
    struct zc_laid *l;

    settle(ss);
    if (m->cards.bytes + cost > ZC_SERVER_CARDS || !keep(ss, cost))
        return zc_errorf(EDQUOT, "this process has left too many cards at files");
    m->kept += cost;
    l = zc_cards_lay(&ss->server->cards, &m->cards, key, m->buf, m->size);
    settle(ss);
    if (!l)
        return zc_errorf(ENOMEM, "no memory for a card");
    r->reply.count = l->number;
    return 0;
}

/* Another one's is found as soon as it lies there, whichever piece has come. */
static int leave(struct zc_request *r)
{
    struct zc_session *ss = r->session;
    struct zc_meeting *m = &ss->meeting;
    const struct zc_msg *msg = &r->msg;
    const struct zc_slot *slot = zc_session_slot(ss, msg->handle);
    struct zc_cards_key key = {msg->job.p, msg->job.n, 0, 0};
    struct zc_laid *there;
    int rc;

    if (!slot)
        return zc_errorf(EBADF, "no such open file");
    if (msg->job.n == 0 || msg->size == 0 || msg->size > ZC_MAX_CARD + ZC_BOX_EXTRA)
        return zc_errorf(EINVAL, "a card without a job, or of %llu bytes",
                         (unsigned long long)msg->size);
    key.dev = slot->attr.dev;
    key.ino = slot->attr.ino;
    there = zc_cards_find(&ss->server->cards, &key, msg->count);
    if (there) {
        drop_pieces(ss);
        zc_laid_put(m->reads);
        m->reads = zc_laid_get(there);
        tell(r, 0);
        return 0;
    }
    rc = add_piece(ss, msg);
    if (rc == 0 && m->at < m->size)
        return 0;
    if (rc == 0)
        rc = lay(r, &key);
    drop_pieces(ss);
    return rc;
}

static int read_piece(struct zc_request *r)
{
    const struct zc_laid *l = r->session->meeting.reads;

    if (!l || l->number != r->msg.count || r->msg.off > l->len)
        return zc_errorf(EINVAL, "no such card to read");
    tell(r, r->msg.off);
    return 0;
}

void zc_request_meet(struct zc_request *r)
{
    if (r->session->server->cfg.munge) { /* cards have secrets, and no secret is theirs alone */
        zc_request_fail(r, -EOPNOTSUPP, "a daemon of many users keeps no cards");
        zc_request_finish(r);
        return;
    }
    struct zc_session *ss = r->session;

    if (r->msg.what == ZC_MEET_LEAVE)
        zc_request_check(r, leave(r));
    else if (r->msg.what == ZC_MEET_READ)
        zc_request_check(r, read_piece(r));
    else if (r->msg.what == ZC_MEET_PART)
        zc_cards_take_back(&ss->server->cards, &ss->meeting.cards, r->msg.count);
    else
        zc_request_fail(r, -EINVAL, "neither leaves, reads nor takes back a card");
    zc_request_finish(r);
}

void zc_session_leave_meeting(struct zc_session *ss)
{
    struct zc_meeting *m = &ss->meeting;

    zc_cards_forget(&m->cards);
    zc_laid_put(m->reads);
    m->reads = NULL;
    drop_pieces(ss);
    settle(ss);
}
