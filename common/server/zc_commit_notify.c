/* zc_commit_notify.c - notifies clients which of their writes are committed.
 *
 * A client may keep its writes until they are in the file, to send them again if this server dies
 * (doc/PROTOCOL.md, "Taken and stored").  The cache numbers writes of a file (zc_cache_progress());
 * a reply to a write has its number and the committed one.  While a client has numbers that are not
 * committed, each tick checks them and sends COMMITTED.  So an idle client is notified within a
 * tick, and no more often than that.  A client that has reconnected (HELLO names the previous
 * session) may have writes from before: it is notified about each file that it opens.
 *
 * Only for files opened by the session itself: exported files are an aggregator's, and no client
 * keeps writes for these.  All by the server's thread.
 */
#include "config.h"

#include "zc_log.h"
#include "zc_server_internal.h"

static bool owes(const struct zc_slot *slot)
{
    return slot->handle && slot->unstable_seq > slot->committed_seq;
}

void zc_commit_notify_begin(struct zc_session *ss, uint64_t handle)
{
    struct zc_slot *slot = zc_session_slot(ss, handle);
    uint64_t stored;

    if (!slot)
        return;
    slot->unstable_seq = slot->committed_seq = 0;
    if (!ss->replaces)
        return;
    zc_cache_progress(slot->handle, false, &slot->unstable_seq, &stored);
    ss->owes_committed = true;
}

void zc_commit_notify_reply(struct zc_request *r)
{
    struct zc_slot *slot = r->slot ? &r->session->slots[r->slot - 1] : NULL;

    if (!slot)
        return;
    zc_cache_progress(r->handle, false, &r->reply.unstable_seq, &r->reply.committed_seq);
    slot->unstable_seq = r->reply.unstable_seq;
    if (r->reply.committed_seq > slot->committed_seq)
        slot->committed_seq = r->reply.committed_seq;
    r->session->owes_committed = r->session->owes_committed || owes(slot);
}

static void tell(struct zc_server *s, struct zc_session *ss, struct zc_slot *slot, uint64_t number)
{
    struct zc_msg m = {.type = ZC_T_COMMITTED, .handle = number};
    uint64_t taken;

    zc_cache_progress(slot->handle, true, &taken, &m.committed_seq);
    if (m.committed_seq <= slot->committed_seq)
        return;
    if (zc_session_notify(ss, &m))
        return; /* the next tick tries again */
    slot->committed_seq = m.committed_seq;
    s->stats.stored_sent++;
}

void zc_commit_notify_send(struct zc_server *s, struct zc_session *ss)
{
    bool more = false;

    if (!ss->owes_committed)
        return;
    for (uint32_t i = 0; i < ss->nslots; i++) {
        struct zc_slot *slot = &ss->slots[i];

        if (!owes(slot))
            continue;
        tell(s, ss, slot, zc_session_number(ss, slot));
        more = more || owes(slot);
    }
    ss->owes_committed = more;
}
