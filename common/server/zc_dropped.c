/* zc_dropped.c - clients whose session the server has ended, and who are told so.
 *
 * A client that was dropped may be alive: it was stopped, or the network was away.  It is told at
 * once, by DROPPED with the reason, so that it need not wait for a deadline; and again when it
 * speaks of its session, for the first message may have been lost with the network, or been said
 * while it was stopped.
 *
 * The last ZC_SERVER_DROPPED of them are remembered by number, address and keys: DROPPED is sealed
 * like all that is said in a session, and who speaks without its seal is told nothing.  So a client
 * need not believe anybody else.  Who is forgotten, as after a new start of this server, hears
 * nothing, and finds out by a deadline or the address file.
 *
 * Their peers are there for a moment only, after each message (removing them cancels it).
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_server_internal.h"

enum { AGAIN_MS = 100 }; /* a client is told this often at most */

struct zc_dropped {
    struct zc_list link;
    uint64_t session, told;
    struct zc_keys keys;
    uint64_t notices; /* as in zc_session */
    bool has_peer;
    zc_peer peer;
    char why[128];
    size_t address_len;
    unsigned char address[];
};

static struct zc_dropped *dropped_of(struct zc_list *n)
{
    return zc_list_entry(n, struct zc_dropped, link);
}

static void hang_up(struct zc_server *s, struct zc_dropped *d)
{
    if (d->has_peer)
        zc_tp_peer_remove(s->tp, d->peer);
    d->has_peer = false;
}

static void forget(struct zc_server *s, struct zc_dropped *d)
{
    hang_up(s, d);
    zc_list_del(&d->link);
    s->ndropped--;
    zc_forget(&d->keys, sizeof d->keys);
    free(d);
}

/* What cannot be told is told when the client speaks. */
static void tell(struct zc_server *s, struct zc_dropped *d)
{
    struct zc_msg m = {.type = ZC_T_DROPPED,
                       .session = d->session,
                       .count = ++d->notices,
                       .status = -ECONNRESET,
                       .text = {d->why, (uint32_t)strlen(d->why)}};
    unsigned char buf[256];
    int len = zc_msg_encode(&m, buf, sizeof buf);

    d->told = zc_now();
    if (!d->has_peer && zc_tp_peer_add(s->tp, d->address, d->address_len, &d->peer))
        return;
    d->has_peer = true;
    if (len <= 0)
        return;
    zc_seal_put(&d->keys, buf, (size_t)len);
    zc_tp_send(s->tp, d->peer, buf, (size_t)len);
}

void zc_dropped_add(struct zc_server *s, const struct zc_session *ss, const char *why)
{
    struct zc_dropped *d = calloc(1, sizeof *d + ss->address_len);

    if (!d)
        return; /* its deadlines tell it */
    d->session = ss->id;
    d->keys = ss->keys;
    d->notices = ss->notices;
    d->address_len = ss->address_len;
    memcpy(d->address, ss->address, ss->address_len);
    snprintf(d->why, sizeof d->why, "%s", why);
    if (s->ndropped == ZC_SERVER_DROPPED)
        forget(s, dropped_of(s->dropped.next));
    zc_list_add_tail(&s->dropped, &d->link);
    s->ndropped++;
    tell(s, d);
}

bool zc_dropped_spoke(struct zc_server *s, uint64_t session, const void *buf, size_t len)
{
    zc_list_each (&s->dropped, n) {
        struct zc_dropped *d = dropped_of(n);

        if (d->session != session)
            continue;
        if (!zc_seal_check(&d->keys, buf, len))
            return false;
        if (zc_now() - d->told >= AGAIN_MS * ZC_NS_PER_MS)
            tell(s, d);
        return true;
    }
    return false;
}

void zc_dropped_tick(struct zc_server *s, uint64_t now)
{
    zc_list_each (&s->dropped, n)
        if (now - dropped_of(n)->told > ZC_SERVER_REFUSED_MS * ZC_NS_PER_MS)
            hang_up(s, dropped_of(n));
}

void zc_dropped_forget(struct zc_server *s)
{
    while (!zc_list_empty(&s->dropped))
        forget(s, dropped_of(s->dropped.next));
}
