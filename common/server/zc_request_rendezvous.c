/* zc_request_rendezvous.c - RENDEZVOUS: the records that clients publish at files for others of
 * their jobs.
 *
 * A record belongs to its session, and is deleted with it.  A record longer than a message is sent
 * in pieces: a session publishes one record at a time and reads one at a time, and keeps the one
 * that it reads, even if that is replaced or deleted meanwhile.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_secretbox.h"
#include "zc_server_internal.h"

static void give(struct zc_session *ss, size_t bytes)
{
    zc_session_mem_give(&ss->server->session_mem, &ss->quota, bytes);
}

static bool keep(struct zc_session *ss, size_t bytes)
{
    return zc_session_mem_keep(&ss->server->session_mem, &ss->quota, bytes);
}

static void drop_pieces(struct zc_session *ss)
{
    struct zc_session_records *m = &ss->records;

    give(ss, m->room);
    free(m->buf);
    m->buf = NULL;
    m->size = m->at = m->room = 0;
}

/* Answers with bytes of the record that the session reads. */
static void tell(struct zc_request *r, uint64_t off)
{
    const struct zc_published_record *l = r->session->records.reads;
    uint64_t left = l->len - off;

    r->reply.count = l->number;
    r->reply.size = l->len;
    r->reply.data.p = l->bytes + off;
    r->reply.data.n = left < ZC_MAX_RECORD_PIECE ? (uint32_t)left : ZC_MAX_RECORD_PIECE;
}

/* Makes room for `n` bytes more: at most twice what has come, whatever length was announced. */
static int make_room(struct zc_session *ss, uint64_t n)
{
    struct zc_session_records *m = &ss->records;
    uint64_t room = m->room ? m->room : n;
    unsigned char *more;

    while (room < m->at + n)
        room *= 2;
    if (room > m->size)
        room = m->size;
    if (room == m->room)
        return 0;
    if (!keep(ss, room - m->room))
        return zc_errorf(EDQUOT, "no memory for a rendezvous record more of this process");
    more = realloc(m->buf, room);
    if (!more) {
        give(ss, room - m->room);
        return zc_errorf(ENOMEM, "no memory for a rendezvous record");
    }
    m->buf = more;
    m->room = room;
    return 0;
}

/* Pieces come in order, the first one at 0. */
static int add_piece(struct zc_session *ss, const struct zc_msg *msg)
{
    struct zc_session_records *m = &ss->records;
    int rc;

    if (msg->off == 0) {
        drop_pieces(ss);
        m->size = msg->size;
    }
    if (!m->size || msg->size != m->size || msg->off != m->at || msg->data.n == 0 ||
        msg->data.n > m->size - m->at)
        return zc_errorf(EINVAL, "a piece of a rendezvous record out of order");
    rc = make_room(ss, msg->data.n);
    if (rc)
        return rc;
    memcpy(m->buf + m->at, msg->data.p, msg->data.n);
    m->at += msg->data.n;
    return 0;
}

/* Other sessions may have replaced records of this one. */
static void settle(struct zc_session *ss)
{
    struct zc_session_records *m = &ss->records;

    if (m->kept > m->records.bytes)
        give(ss, m->kept - m->records.bytes);
    m->kept = m->records.bytes;
}

static int lay(struct zc_request *r, const struct zc_rendezvous_key *key)
{
    struct zc_session *ss = r->session;
    struct zc_session_records *m = &ss->records;
    size_t cost = zc_rendezvous_cost(key, m->size);
    struct zc_published_record *l;

    settle(ss);
    if (m->records.bytes + cost > ZC_SERVER_RECORDS || !keep(ss, cost))
        return zc_errorf(EDQUOT, "this process has left too many rendezvous records at files");
    m->kept += cost;
    l = zc_rendezvous_publish(&ss->server->records, &m->records, key, m->buf, m->size);
    settle(ss);
    if (!l)
        return zc_errorf(ENOMEM, "no memory for a rendezvous record");
    r->reply.count = l->number;
    return 0;
}

/* Names the record that the request is about.  `max`: its largest size, bytes. */
static int key_of(const struct zc_request *r, uint64_t max, struct zc_rendezvous_key *key)
{
    const struct zc_msg *msg = &r->msg;
    const struct zc_slot *slot = zc_session_slot(r->session, msg->handle);

    if (!slot)
        return zc_errorf(EBADF, "no such open file");
    if (msg->job.n == 0 || (msg->size == 0) != (max == 0) || msg->size > max)
        return zc_errorf(EINVAL, "a rendezvous record without a job, or of %llu bytes",
                         (unsigned long long)msg->size);
    *key = (struct zc_rendezvous_key){msg->job.p, msg->job.n, slot->attr.dev, slot->attr.ino};
    return 0;
}

/* Answers with the record of another session, if it is there. */
static bool finds(struct zc_request *r, const struct zc_rendezvous_key *key)
{
    struct zc_session_records *m = &r->session->records;
    struct zc_published_record *there =
        zc_rendezvous_find(&r->session->server->records, key, r->msg.count);

    if (!there)
        return false;
    drop_pieces(r->session);
    zc_published_record_put(m->reads);
    m->reads = zc_published_record_get(there);
    tell(r, 0);
    return true;
}

/* Without a record the reply has no size. */
static int find(struct zc_request *r)
{
    struct zc_rendezvous_key key;
    int rc = key_of(r, 0, &key);

    if (rc == 0)
        finds(r, &key);
    return rc;
}

/* Finds the record of another session as soon as it is there, whichever piece has come. */
static int leave(struct zc_request *r)
{
    struct zc_session *ss = r->session;
    struct zc_session_records *m = &ss->records;
    struct zc_rendezvous_key key;
    int rc = key_of(r, ZC_MAX_RECORD + ZC_SECRETBOX_EXTRA, &key);

    if (rc || finds(r, &key))
        return rc;
    rc = add_piece(ss, &r->msg);
    if (rc == 0 && m->at < m->size)
        return 0;
    if (rc == 0)
        rc = lay(r, &key);
    drop_pieces(ss);
    return rc;
}

static int read_piece(struct zc_request *r)
{
    const struct zc_published_record *l = r->session->records.reads;

    if (!l || l->number != r->msg.count || r->msg.off > l->len)
        return zc_errorf(EINVAL, "no such rendezvous record to read");
    tell(r, r->msg.off);
    return 0;
}

void zc_request_rendezvous(struct zc_request *r)
{
    if (r->session->server->cfg
            .munge) { /* records have secrets, which no secret of a job protects */
        zc_request_fail(r, -EOPNOTSUPP, "a daemon of many users keeps no rendezvous records");
        zc_request_finish(r);
        return;
    }
    struct zc_session *ss = r->session;

    if (r->msg.what == ZC_RENDEZVOUS_PUBLISH)
        zc_error_join(&r->error, leave(r));
    else if (r->msg.what == ZC_RENDEZVOUS_READ)
        zc_error_join(&r->error, read_piece(r));
    else if (r->msg.what == ZC_RENDEZVOUS_WITHDRAW)
        zc_rendezvous_withdraw(&ss->server->records, &ss->records.records, r->msg.count);
    else if (r->msg.what == ZC_RENDEZVOUS_FIND)
        zc_error_join(&r->error, find(r));
    else
        zc_request_fail(r, -EINVAL, "neither publishes, reads nor withdraws a rendezvous record");
    zc_request_finish(r);
}

void zc_session_withdraw_all(struct zc_session *ss)
{
    struct zc_session_records *m = &ss->records;

    zc_rendezvous_forget(&m->records);
    zc_published_record_put(m->reads);
    m->reads = NULL;
    drop_pieces(ss);
    settle(ss);
}
