/* zc_evicted.c - notifies clients whose session the server has ended.
 *
 * An evicted client may be alive: it was stopped, or the network was down.  It gets EVICTED with
 * the reason at once, so that it need not wait for a deadline; and again when it sends a message in
 * its session, because the first EVICTED may have been lost, or sent while the client was stopped.
 *
 * The last ZC_SERVER_EVICTED of them are remembered by number, address and keys: EVICTED has a MAC
 * like all messages of a session, and only messages with a valid MAC are answered.  So no third
 * party can fake it.  A client that is forgotten, as after a restart of this server, gets nothing,
 * and learns it from a deadline or the address file.
 *
 * Their peers exist for a moment only, for each message (removing a peer cancels it).
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_server_internal.h"

enum { AGAIN_MS = 100 }; /* minimum interval between notices to a client */

struct zc_evicted {
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

static struct zc_evicted *evicted_of(struct zc_list *n)
{
    return zc_list_entry(n, struct zc_evicted, link);
}

static void hang_up(struct zc_server *s, struct zc_evicted *d)
{
    if (d->has_peer)
        zc_tp_peer_remove(s->tp, d->peer);
    d->has_peer = false;
}

static void forget(struct zc_server *s, struct zc_evicted *d)
{
    hang_up(s, d);
    zc_list_del(&d->link);
    s->nevicted--;
    zc_forget(&d->keys, sizeof d->keys);
    free(d);
}

/* A failed notice is repeated when the client sends something. */
static void tell(struct zc_server *s, struct zc_evicted *d)
{
    struct zc_msg m = {.type = ZC_T_EVICTED,
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
    zc_mac_put(&d->keys, buf, (size_t)len);
    zc_tp_send(s->tp, d->peer, buf, (size_t)len);
}

void zc_evicted_add(struct zc_server *s, const struct zc_session *ss, const char *why)
{
    struct zc_evicted *d = calloc(1, sizeof *d + ss->address_len);

    if (!d)
        return; /* the client has its deadlines */
    d->session = ss->id;
    d->keys = ss->keys;
    d->notices = ss->notices;
    d->address_len = ss->address_len;
    memcpy(d->address, ss->address, ss->address_len);
    snprintf(d->why, sizeof d->why, "%s", why);
    if (s->nevicted == ZC_SERVER_EVICTED)
        forget(s, evicted_of(s->evicted.next));
    zc_list_add_tail(&s->evicted, &d->link);
    s->nevicted++;
    tell(s, d);
}

bool zc_evicted_spoke(struct zc_server *s, uint64_t session, const void *buf, size_t len)
{
    zc_list_each (&s->evicted, n) {
        struct zc_evicted *d = evicted_of(n);

        if (d->session != session)
            continue;
        if (!zc_mac_check(&d->keys, buf, len))
            return false;
        if (zc_now() - d->told >= AGAIN_MS * ZC_NS_PER_MS)
            tell(s, d);
        return true;
    }
    return false;
}

void zc_evicted_tick(struct zc_server *s, uint64_t now)
{
    zc_list_each (&s->evicted, n)
        if (now - evicted_of(n)->told > ZC_SERVER_REFUSED_MS * ZC_NS_PER_MS)
            hang_up(s, evicted_of(n));
}

void zc_evicted_forget(struct zc_server *s)
{
    while (!zc_list_empty(&s->evicted))
        forget(s, evicted_of(s->evicted.next));
}
