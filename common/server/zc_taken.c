/* zc_taken.c - telling clients which of what they have written is stored.
 *
 * A client may keep what it has written until it is in the file, to write it again if this server
 * dies (doc/PROTOCOL.md, "Taken and stored").  The cache numbers what it takes of a file
 * (zc_cache_taken()); a reply to a write tells the number and how far the file is stored, and as
 * long as a client was told a number that is not stored, each tick looks, and tells it by a STORED.
 * So a client that is silent hears of it within a tick, and none is told more often.  One that has
 * come back (HELLO names a session before) may have written in that: it is told of each file that
 * it opens.
 *
 * Only of open files of the session's own: what all clients of a server use is an aggregator's, and
 * nobody keeps anything for that.  All by the server's thread.
 */
#include "config.h"

#include "zc_log.h"
#include "zc_server_internal.h"

static bool owes(const struct zc_slot *slot)
{
    return slot->handle && slot->taken > slot->stored;
}

void zc_taken_begin(struct zc_session *ss, uint64_t handle)
{
    struct zc_slot *slot = zc_session_slot(ss, handle);
    uint64_t stored;

    if (!slot)
        return;
    slot->taken = slot->stored = 0;
    if (!ss->replaces)
        return;
    zc_cache_taken(slot->handle, false, &slot->taken, &stored);
    ss->owes_stored = true;
}

void zc_taken_reply(struct zc_request *r)
{
    struct zc_slot *slot = r->slot ? &r->session->slots[r->slot - 1] : NULL;

    if (!slot)
        return;
    zc_cache_taken(r->handle, false, &r->reply.taken, &r->reply.stored);
    slot->taken = r->reply.taken;
    if (r->reply.stored > slot->stored)
        slot->stored = r->reply.stored;
    r->session->owes_stored = r->session->owes_stored || owes(slot);
}

static void tell(struct zc_server *s, struct zc_session *ss, struct zc_slot *slot, uint64_t number)
{
    struct zc_msg m = {.type = ZC_T_STORED, .handle = number};
    uint64_t taken;

    zc_cache_taken(slot->handle, true, &taken, &m.stored);
    if (m.stored <= slot->stored)
        return;
    if (zc_session_notify(ss, &m))
        return; /* the next tick tries again */
    slot->stored = m.stored;
    s->stats.stored_sent++;
}

void zc_taken_tell(struct zc_server *s, struct zc_session *ss)
{
    bool more = false;

    if (!ss->owes_stored)
        return;
    for (uint32_t i = 0; i < ss->nslots; i++) {
        struct zc_slot *slot = &ss->slots[i];

        if (!owes(slot))
            continue;
        tell(s, ss, slot, zc_session_number(ss, slot));
        more = more || owes(slot);
    }
    ss->owes_stored = more;
}
